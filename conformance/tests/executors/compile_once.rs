//! One compiled program serves all extents and data, on every executor.

use acc_core::Executor;
use conformance::{executors, suite};

/// Runs a test program on an executor, twice, the second time from a text that is read again.
fn run_twice(executor: &dyn Executor, name: &str) {
    for _ in 0..2 {
        let tests = suite::load(None).unwrap_or_else(|e| panic!("{e}"));
        let test = tests.into_iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no test {name}"));
        assert_eq!(test.run(executor).failures, [""; 0], "{name} on {}", executor.name());
    }
}

#[test]
fn other_extents_and_data_compile_nothing() {
    for registered in executors::all() {
        let Some(executor) = registered.present() else { continue };
        let before = executor.compiled();
        run_twice(&**executor, "generate/index");
        run_twice(&**executor, "scan/E-SC-21-rows");
        run_twice(&**executor, "control/E-CF-07-awhile-doubles");
        assert_eq!(executor.compiled() - before, 3, "{}", registered.name);
    }
}
