//! Programs of great length and depth, on threads with the stack that threads have by default: no recursion as deep as
//! the program, and no step whose time grows with the square of its size.

use acc_core::prelude::*;
use acc_core::{RunLimits, text};
use conformance::executors;
use std::time::Instant;

type Xs = Acc<Vector<i64>>;

/// Debug builds are slower and check every pass.
const SCALE: usize = if cfg!(debug_assertions) { 20 } else { 1 };
/// Array operations, or scalar nodes, one after the other.
const CHAIN_LENGTH: usize = 100_000 / SCALE;
/// Conditionals or loops, one in the other.
const NESTING_DEPTH: usize = 1000 / if cfg!(debug_assertions) { 4 } else { 1 };
/// What no step may take: a quadratic one takes minutes.
const MAX_SECONDS: f64 = 60.0;

/// Builds, prints, parses, verifies, runs and drops a program on every executor, on a thread with 2 MiB of stack.
fn everything(build: impl FnOnce(Xs) -> Xs + Send + 'static) {
    let all = move || {
        let mut lap = Instant::now();
        let mut step = |what: &str| {
            let taken = lap.elapsed().as_secs_f64();
            assert!(taken < MAX_SECONDS, "{what} took {taken:.1} s");
            lap = Instant::now();
        };
        let expression = build(use_(&Vector::from([1i64, -2, 3])));
        let built = expression.program().unwrap();
        step("building");
        drop(expression);
        acc_core::verify::verify(&built.program, None).unwrap();
        step("verifying");
        let text = built.program.to_string();
        step("printing");
        let parsed = text::parse("deep.acc", &text).unwrap();
        step("parsing");
        assert!(text.len() < 400 * parsed.types.len().max(CHAIN_LENGTH), "{} bytes", text.len());
        assert!(text::canonical(&parsed) == text::canonical(&built.program));
        drop(parsed.clone());
        drop(parsed);
        step("comparing, copying and dropping");
        let mut want = None;
        for executor in executors::all().iter().filter_map(|e| e.present()) {
            executor.prepare(&built.program).unwrap();
            step(&format!("preparing for {}", executor.name()));
            let got = executor.run_untyped(&built.program, &built.embedded, &RunLimits::none()).unwrap();
            step(&format!("running on {}", executor.name()));
            let got: Vec<_> = (0..got[0].size()).map(|i| got[0].element(i)).collect();
            assert_eq!(got, *want.get_or_insert(got.clone()), "{}", executor.name());
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(all).unwrap().join().unwrap();
}

#[test]
fn a_long_chain_of_maps() {
    everything(|xs| (0..CHAIN_LENGTH).fold(xs, |xs, _| xs.map(|x| x + 1)));
}

#[test]
fn a_long_chain_of_operations_that_do_not_fuse() {
    everything(|xs| {
        (0..CHAIN_LENGTH).fold(xs, |xs, k| match k % 4 {
            0 => xs.scanl1(|a, b| a + b),
            1 => xs.map(|x| x * 3),
            2 => xs.reverse(),
            _ => xs.stencil(Edge::Wrap, |s: Stencil3<i64>| s[-1] - s[1]),
        })
    });
}

#[test]
fn many_scalar_nodes() {
    everything(|xs| xs.map(|x| (0..CHAIN_LENGTH as i64 / 3).fold(x, |a, k| (a + k) * 3 / 2)));
}

#[test]
fn conditionals_in_branches() {
    everything(|xs| xs.map(|x| (0..NESTING_DEPTH as i64).fold(x, |a, k| cond(x.lt(k), x / (k + 1), a / 3))));
}

#[test]
fn conditionals_in_conditions() {
    everything(|xs| xs.map(|x| (0..NESTING_DEPTH as i64).fold(x, |a, k| cond(a.lt(k), a / (k + 1), a + 3))));
}

#[test]
fn loops_in_loops() {
    fn nest(depth: usize, x: Exp<i64>) -> Exp<i64> {
        if depth == 0 {
            return x + 1;
        }
        iterate(1, x, |x| nest(depth - 1, x))
    }
    everything(|xs| xs.map(|x| nest(NESTING_DEPTH, x)));
}

#[test]
fn conditionals_of_arrays() {
    everything(|xs| {
        (0..NESTING_DEPTH as i64).fold(xs.clone(), |ys, k| acond(xs.length().gt(k - 5), ys.map(|y| y + k), xs.clone()))
    });
}

#[test]
fn loops_of_arrays() {
    fn nest(depth: usize, xs: Xs) -> Xs {
        if depth == 0 {
            return xs.map(|x| x + 1);
        }
        let once = |(k, xs): (Acc<Scalar<i64>>, Xs)| (k.map(|k| k + 1), nest(depth - 1, xs));
        awhile((unit(0i64), &xs), |(k, _)| k.the().lt(1), once).1
    }
    everything(|xs| nest(NESTING_DEPTH, xs));
}
