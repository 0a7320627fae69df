//! The kernels of all test programs: how long each takes LLVM, and each program the passes before.

use crate::quantiles;
use acc_core::timeline::{self, SpanRecord};
use backend_native::{Native, llvm};
use conformance::suite;
use std::collections::BTreeMap;
use std::time::Duration;

/// Stages, by the names of their spans, and what they are.
const STAGES: [(&str, &str); 9] = [
    ("verify", "verification of a program"),
    ("simplify", "simplification of a program"),
    ("fuse", "fusion of a program"),
    ("lower", "lowering of a program, without fusion"),
    ("emit", "LLVM text of a kernel"),
    ("parse", "LLVM reads it"),
    ("verify module", "LLVM verifies it"),
    ("optimise", "LLVM's passes"),
    ("generate code", "machine code"),
];

/// The stages of a kernel in LLVM all together.
const KERNEL: &str = "compile";

/// How long spans of one name took, without those of `inner` that lie in them.
fn durations(spans: &[SpanRecord], name: &str, inner: &str) -> Vec<Duration> {
    let within = |outer: &SpanRecord, s: &SpanRecord| {
        s.thread == outer.thread && s.start >= outer.start && s.start + s.duration <= outer.start + outer.duration
    };
    let of = |outer: &SpanRecord| {
        let less: u64 = spans.iter().filter(|s| s.name == inner && within(outer, s)).map(|s| s.duration).sum();
        Duration::from_nanos(outer.duration - less)
    };
    spans.iter().filter(|s| s.name == name && s.kind == timeline::Kind::Pass).map(of).collect()
}

/// Runs every test program, and prints the table.
pub fn measure() -> Result<(), String> {
    let native = Native::compiled();
    let tests = suite::load(None).map_err(|e| e.to_string())?;
    let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let mut programs = 0;
    for test in tests.iter().filter(|t| t.is_for("native")) {
        let recording = timeline::record();
        let outcome = test.run(&native);
        let spans = recording.stop().spans;
        if let Some(failure) = outcome.failures.first() {
            return Err(format!("{}: {failure}", test.name));
        }
        programs += spans.iter().filter(|s| s.name == "prepare").count();
        for name in STAGES.map(|(name, _)| name).into_iter().chain([KERNEL]) {
            let inner = if name == "lower" { "fuse" } else { "" };
            times.entry(name).or_default().extend(durations(&spans, name, inner));
        }
    }
    let of = |name: &str| quantiles(times.get(name).cloned().unwrap_or_default());
    let counts = llvm::counts();
    println!(
        "{programs} programs of the conformance suite, {} kernels compiled, nothing from the disk. In milliseconds:\n",
        counts.compiled
    );
    println!("| stage | median | nine in ten below |\n|---|--:|--:|");
    for (name, what) in STAGES {
        let [median, most] = of(name);
        println!("| {what} | {median:.3} | {most:.3} |");
    }
    let [median, most] = of(KERNEL);
    println!("| **a kernel in LLVM, from its text to code in memory** | **{median:.2}** | {most:.2} |");
    Ok(())
}
