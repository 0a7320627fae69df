//! Every test on every executor that is there, each pair a test of its own.

use conformance::{executors, suite};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let tests = match suite::load(None) {
        Ok(tests) => tests,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = Vec::new();
    for test in tests.into_iter().map(Arc::new) {
        for registered in executors::all() {
            let Some(executor) = registered.present().cloned() else { continue };
            if !test.is_for(registered.name) {
                continue;
            }
            let name = format!("{}::{}", test.name, registered.name);
            let test = test.clone();
            trials.push(Trial::test(name, move || {
                let failures = test.run(&*executor).failures;
                if failures.is_empty() { Ok(()) } else { Err(Failed::from(failures.join("\n"))) }
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
