//! Programs from the engine's bytes on every executor that needs no library; a difference is a crash, with the program made
//! small in its message.
#![no_main]

use conformance::executors;
use conformance::fuzz::oracle::{Oracle, Variation};
use conformance::fuzz::{Checked, Choices, Difference, Mode, check, minimised};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static ORACLE: LazyLock<Oracle> = LazyLock::new(|| match Oracle::new(executors::all()) {
    Ok(oracle) => oracle,
    Err(e) => panic!("{e}"),
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let mode = if first & 1 == 0 { Mode::Exact } else { Mode::Tolerant };
    let variation = Variation::draw(u64::from(first >> 1));
    let (text, checked) = check(&ORACLE, Choices::from_bytes(rest), mode, variation);
    match checked {
        Ok(Checked { findings, .. }) => {
            if let Some((executor, variation, why)) = findings.differences.into_iter().next() {
                let d = Difference { seed: 0, text, executor, variation, mode, why };
                panic!("{} {}: {}\n{}", d.executor, d.variation, d.why, minimised(&ORACLE, &d));
            }
        }
        Err(e) => panic!("{e}\n{text}"),
    }
});
