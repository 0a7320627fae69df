//! Random programs on every executor.

use acc_core::text::{parse, parse_test_file};
use acc_core::verify::verify;
use acc_core::{Executor, Interpreter};
use conformance::{executors, random, runner};

/// Fixed seeds, so that the test says the same each time; `ACC_RANDOM_SEEDS=from..to` tries others.
fn seeds() -> std::ops::Range<u64> {
    let chosen = std::env::var("ACC_RANDOM_SEEDS").ok();
    let parse = |s: &str| s.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    match chosen {
        Some(s) => parse(&s).unwrap_or_else(|| panic!("ACC_RANDOM_SEEDS is {s:?}, not as in 0..1000")),
        None => 0..300,
    }
}

#[test]
fn executors_agree_on_random_programs() {
    let present: Vec<_> = executors::all().into_iter().filter_map(|r| r.present().cloned()).collect();
    let (mut faults, mut failures) = (0, Vec::new());
    for seed in seeds() {
        let text = random::program(seed);
        let file = parse_test_file("random.acc", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify(&file.program, None).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        let printed = file.program.to_string();
        let again = parse("printed.acc", &printed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{printed}"));
        assert_eq!(again, *file.program, "seed {seed} does not survive printing\n{printed}");
        let run = &file.runs[0];
        let want = runner::execute(&Interpreter::new(), &file, run);
        faults += usize::from(want.is_err());
        for executor in &present {
            let got = runner::execute(&**executor, &file, run);
            let verdict = match (&want, &got) {
                (Ok(_), _) => runner::judge(&file, run, &got, Default::default()),
                // A fault of the interpreter may be one that an optimisation found nobody to need; a panic never is.
                (Err(_), Err(acc_core::Error::Backend { message, .. })) => Err(message.clone()),
                (Err(_), Ok(_) | Err(_)) => Ok(()),
            };
            if let Err(e) = verdict {
                failures.push(format!("seed {seed} on {}: {e}\n{text}", Executor::name(&**executor)));
            }
        }
    }
    let n = seeds().count();
    assert!(failures.is_empty(), "{} of {n} seeds fail; the first:\n{}", failures.len(), failures[0]);
    assert!(n < 100 || faults < n / 2, "{faults} of {n} programs fault: too few compute something");
}
