//! Limits of runs, on every executor: bytes held at one time, deadlines and tokens, also inside long operations.

use acc_core::prelude::*;
use acc_core::{Executor, LimitError};
use conformance::executors;
use std::sync::Arc;
use std::time::{Duration, Instant};

const N: usize = 1000;
const ARRAY: u64 = 8 * N as u64;

fn each(mut test: impl FnMut(&Arc<dyn Executor>)) {
    executors::all().iter().filter_map(|e| e.present()).for_each(&mut test);
}

fn run<A: Arrays>(executor: &Arc<dyn Executor>, program: &Acc<A>, limits: &RunLimits) -> Result<(), Error> {
    let built = program.program()?;
    executor.run_untyped(&built.program, &built.embedded, limits).map(|_| ())
}

fn within(bytes: u64) -> RunLimits {
    RunLimits::none().max_bytes(bytes)
}

fn is_memory(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::Limit(LimitError::Memory { .. })))
}

#[test]
fn bytes_are_those_held_at_one_time() {
    // Each array is stored, and replaces the one before.
    let chain = (0..40).fold(generate(N, |i| i), |xs, _| xs.map(|x| x + 1).compute());
    // Each array is stored, and all are needed again after the last one.
    let mut stored = vec![generate(N, |i| i)];
    for _ in 0..40 {
        stored.push(stored[stored.len() - 1].map(|x| x + 1).compute());
    }
    let last = stored[stored.len() - 1].clone();
    let all = stored.iter().rev().fold(last, |a, b| a.zip_with(b, |x, y| x + y).compute());
    each(|e| {
        // The interpreter drops arrays at the end of their block.
        let few = if e.name() == executors::REFERENCE { 50 } else { 10 };
        assert_eq!(run(e, &chain, &within(few * ARRAY)), Ok(()), "{}", e.name());
        assert!(is_memory(&run(e, &chain, &within(ARRAY / 2))), "{}", e.name());
        // What a module of XLA holds between its operations is not counted (docs/GRAPHS.md).
        assert!(e.name() == "xla" || is_memory(&run(e, &all, &within(10 * ARRAY))), "{}", e.name());
        assert_eq!(run(e, &all, &within(100 * ARRAY)), Ok(()), "{}", e.name());
    });
}

#[test]
fn what_stopped_before_a_run_began_stops_the_shortest_one() {
    let one = generate(1, |i| i);
    let cancelled = CancelToken::new();
    cancelled.cancel();
    each(|e| {
        let late = RunLimits::none().deadline(Instant::now());
        assert_eq!(run(e, &one, &late), Err(Error::Limit(LimitError::Deadline)), "{}", e.name());
        let off = RunLimits::none().cancel(cancelled.clone());
        assert_eq!(run(e, &one, &off), Err(Error::Limit(LimitError::Cancelled)), "{}", e.name());
    });
}

#[test]
fn arguments_do_not_count() {
    let xs: Vector<i64> = (0..N as i64).collect();
    let sum = use_(&xs).fold(0, |a, b| a.max(b));
    each(|e| match e.name() {
        // Flattening folds in steps, each an array of half the length.
        "graph" | "graph-cuda" => assert_eq!(run(e, &sum, &within(4 * ARRAY)), Ok(())),
        _ => assert_eq!(run(e, &sum, &within(100)), Ok(()), "{}", e.name()),
    });
}

#[test]
fn results_count_while_the_run_lasts_and_are_whole_after_it() {
    each(|e| {
        let built = generate(N, |i| i * 2).program().unwrap();
        let results = e.run_untyped(&built.program, &built.embedded, &within(4 * ARRAY)).unwrap();
        assert_eq!(results[0].element(999).unwrap()[0].bits, 1998, "{}", e.name());
    });
}

#[test]
fn growth_in_a_loop_is_stopped() {
    let grow = awhile(
        generate(1, |i| i),
        |_| lift(true),
        |xs: Acc<Vector<i64>>| generate(xs.length() * 2, |i| xs.index(i / 2)),
    );
    each(|e| assert!(is_memory(&run(e, &grow, &within(1 << 20))), "{}", e.name()));
}

#[test]
fn no_memory_is_an_error() {
    let huge = generate(1usize << 56, |i| i);
    each(|e| {
        let failed = run(e, &huge, &RunLimits::none());
        assert!(matches!(failed, Err(Error::OutOfMemory { .. })), "{}: {failed:?}", e.name());
    });
}

/// Programs that take far longer than their limits, one per kind of long work.
fn endless() -> Vec<(&'static str, Acc<Vector<i64>>)> {
    let many = generate(1usize << 21, |i| i * 7919 % 65_537);
    // Fewer elements than libtorch takes 50 ms for.
    let some = generate(1usize << 14, |i| i * 7919 % 65_537);
    let forever = |xs: Acc<Vector<i64>>, f: fn(Acc<Vector<i64>>) -> Acc<Vector<i64>>| awhile(xs, |_| lift(true), f);
    vec![
        ("a loop of scalars", generate(4, |i| while_(i, |_| true, |x| x * 3 + 1))),
        ("a loop of arrays", forever(generate(2, |i| i), |xs| xs.map(|x| x + 1))),
        (
            "permutations",
            forever(some.clone(), |xs| {
                xs.permute(fill(xs.length(), 0i64), |a, b| a.max(b), |i| Some(xs.index(i).abs() % 64))
            }),
        ),
        ("sorts", forever(some.clone(), |xs| xs.map(|x| x * 31 % 1009).sort())),
        ("scans", forever(some.clone(), |xs| xs.scanl1(|a, b| a.max(b) + 1))),
        (
            "reductions",
            forever(some, |xs| {
                let total = xs.sum();
                xs.map(|x| x + &total)
            }),
        ),
        ("a large reduction", generate(2, |i| iterate(1i64 << 40, i, |x| x + many.index(x.abs() % 1000)))),
    ]
}

#[test]
fn a_deadline_stops_everything_soon() {
    each(|e| {
        for (what, program) in endless() {
            let built = program.program().unwrap();
            e.prepare(&built.program).unwrap();
            let start = Instant::now();
            let limits = RunLimits::none().deadline(start + Duration::from_millis(40));
            let got = e.run_untyped(&built.program, &built.embedded, &limits).map(|_| ());
            assert_eq!(got, Err(Error::Limit(LimitError::Deadline)), "{what} on {}", e.name());
            // 50 ms after the deadline, and as much again as a machine under load may take.
            assert!(start.elapsed() < Duration::from_secs(1), "{what} on {}: {:?}", e.name(), start.elapsed());
        }
    });
}

#[test]
fn a_token_stops_everything_soon() {
    each(|e| {
        for (what, program) in endless() {
            let cancel = CancelToken::new();
            let limits = RunLimits::none().cancel(cancel.clone());
            let stopper = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(40));
                cancel.cancel();
            });
            assert_eq!(run(e, &program, &limits), Err(Error::Limit(LimitError::Cancelled)), "{what} on {}", e.name());
            stopper.join().unwrap();
        }
    });
}
