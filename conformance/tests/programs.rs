//! Every test on every executor that is there, each pair a test of its own; on the graph executor also in blocks of few
//! rows, since the arrays of tests are too small for its own.

use acc_core::Executor;
use conformance::{executors, structure, suite};
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
    let present = executors::all().into_iter().filter_map(|r| Some((r.name, "", r.present()?.clone())));
    let executors: Vec<(_, _, Arc<dyn Executor>)> = present.chain(in_blocks()).collect();
    for test in tests.into_iter().map(Arc::new) {
        for expected in test.file().into_iter().flat_map(|file| file.structures.clone()) {
            let (name, test) = (format!("{}::structure for {}", test.name, expected.executor.text), test.clone());
            trials.push(Trial::test(name, move || match test.file() {
                Some(file) => structure::check(file, &expected).map_err(Failed::from),
                None => Ok(()),
            }));
        }
        for (executor, how, it) in &executors {
            if !test.is_for(executor) {
                continue;
            }
            let (name, executor) = (format!("{}::{executor}{how}", test.name), it.clone());
            let test = test.clone();
            trials.push(Trial::test(name, move || {
                let failures = test.run(&*executor).failures;
                if failures.is_empty() { Ok(()) } else { Err(Failed::from(failures.join("\n"))) }
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

#[cfg(feature = "libtorch")]
fn in_blocks() -> Option<(&'static str, &'static str, Arc<dyn Executor>)> {
    Some((
        "graph",
        " in blocks",
        Arc::new(backend_graph::Libtorch::with(backend_graph::Options::new().block_bytes(16)).expect("the CPU")),
    ))
}

#[cfg(not(feature = "libtorch"))]
fn in_blocks() -> Option<(&'static str, &'static str, Arc<dyn Executor>)> {
    None
}
