//! A sample of random programs on every executor.

use conformance::executors;
use conformance::fuzz::oracle::Oracle;
use conformance::fuzz::{derivatives, minimised, run};

/// Fixed seeds, so that the test says the same each time; about two minutes' worth on two cores where the graph
/// executor is built, less where it is not. `acc fuzz` takes others.
const PROGRAMS: u64 = if cfg!(debug_assertions) { 3_000 } else { 6_000 };

#[test]
fn executors_agree_on_random_programs() {
    let oracle = Oracle::new(executors::all()).unwrap_or_else(|e| panic!("{e}"));
    let (statistics, differences) = run(&oracle, 0, PROGRAMS, 2, 3, |_, _| {});
    for d in &differences {
        eprintln!("seed {} on {} {}: {}\n{}", d.seed, d.executor, d.variation, d.why, minimised(&oracle, d));
    }
    assert!(differences.is_empty(), "{statistics}");
    assert!(statistics.valid * 100 >= statistics.programs * 95, "{statistics}");
    // A single program with a large array of such elements can be a percent.
    assert!(statistics.excluded * 50 <= statistics.elements, "{statistics}");
    // Nearly every operation follows every other, and every rule has something to do.
    let operations = statistics.operations.len();
    assert!(statistics.pairs.len() * 10 >= operations * operations * 9, "{statistics}");
    assert!(statistics.rules.values().all(|n| *n > 0), "{statistics}");
}

/// How many of the programs are differentiated.
const DIFFERENTIATED: u64 = 150;

#[test]
fn executors_agree_on_derivatives_of_random_programs() {
    let executors = executors::all();
    let found = derivatives::run(&executors, 0, DIFFERENTIATED, 2, 3, |_, _| {}).unwrap();
    for d in &found.differences {
        eprintln!("{d}\n{}", derivatives::minimised(&executors, d).unwrap());
    }
    assert!(found.differences.is_empty(), "{found}");
    assert!(found.derivatives > DIFFERENTIATED, "{found}");
    assert!(found.second > 0 && found.exact * 10 > found.elements[0], "{found}");
    let mostly = |[compared, left_out]: [u64; 2], parts: u64| left_out * parts < compared;
    assert!(mostly(found.elements, 2) && mostly(found.products, 4), "{found}");
    assert!(mostly(found.differences_of_values, 5), "{found}");
}

#[test]
fn after_the_greatest_seed_comes_the_first() {
    let oracle = Oracle::new(executors::select(Some("interpreter")).unwrap_or_else(|e| panic!("{e}")));
    let oracle = oracle.unwrap_or_else(|e| panic!("{e}"));
    // On two threads: each of them looks for a program beyond the last one.
    let (statistics, differences) = run(&oracle, u64::MAX, 3, 2, 3, |_, _| {});
    assert_eq!((statistics.programs, differences.len()), (3, 0));
}
