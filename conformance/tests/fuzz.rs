//! A sample of random programs on every executor.

use conformance::executors;
use conformance::fuzz::oracle::{Oracle, Variation};
use conformance::fuzz::{derivatives, minimised, run};

/// Fixed seeds, so that the test says the same each time; some minutes' worth on two cores where the graph executor is built,
/// less where it is not. `acc fuzz` takes others.
const PROGRAMS: u64 = 3_000;

#[test]
fn executors_agree_on_random_programs() {
    let oracle = Oracle::new(executors::all()).unwrap_or_else(|e| panic!("{e}"));
    let (statistics, differences) = run(&oracle, 0, PROGRAMS, 2, 3, Variation::draw, |_, _| {});
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

/// How many programs have schedules; the variable `SCHEDULED_PROGRAMS` says another number.
fn scheduled_programs() -> u64 {
    std::env::var("SCHEDULED_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

#[test]
fn programs_with_random_schedules_have_the_same_results() {
    let programs = scheduled_programs();
    let native = executors::all().into_iter().filter(|e| e.name.starts_with("native")).collect();
    let oracle = Oracle::new(native).unwrap_or_else(|e| panic!("{e}"));
    let (statistics, differences) = run(&oracle, 0, programs, 2, 3, Variation::Scheduled, |_, _| {});
    println!("{programs} programs, {:?}, {} differences", statistics.schedules, differences.len());
    for d in &differences {
        eprintln!("{d}\n{}", minimised(&oracle, d));
    }
    assert!(differences.is_empty(), "{statistics}");
    let at_least = |kind: &str, parts: u64| statistics.schedules.get(kind).is_some_and(|n| n * parts > programs);
    assert!(at_least("loops", 3) && at_least("regroup", 50) && at_least("within", 100), "{statistics}");
    assert!(at_least("collapse", 100), "{statistics}");
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
    let (statistics, differences) = run(&oracle, u64::MAX, 3, 2, 3, Variation::draw, |_, _| {});
    assert_eq!((statistics.programs, differences.len()), (3, 0));
}
