//! What a run on libtorch may take: memory is refused before it is taken, whichever operation asks for it, and time is looked
//! at between operations.
#![cfg(feature = "libtorch")]

use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::prelude::*;
use acc_core::{Executor, LimitError};
use backend_graph::Libtorch;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MB: u64 = 1 << 20;

fn bytes(max: u64) -> RunLimits {
    RunLimits::none().max_bytes(max)
}

/// How much more memory than now the process has had at most, in bytes, while `f` runs.
fn grown(f: impl FnOnce()) -> u64 {
    let status = |what: &str| -> u64 {
        let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with(what)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    // The peak begins anew.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    f();
    status("VmHWM:").saturating_sub(before)
}

fn program(name: &str, text: &str) -> Arc<Program> {
    Arc::new(acc_core::text::parse(name, text).unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// Runs a program under a limit of bytes that is too low: soon an error, and no more memory than allowed was taken.
fn refused(name: &str, text: &str, args: &[ArrayData], max: u64) {
    let program = program(name, text);
    let start = Instant::now();
    let grown = grown(|| {
        let outcome = Libtorch::cpu().run_untyped(&program, args, &bytes(max));
        let error = outcome.map(|_| ()).expect_err(name);
        assert!(matches!(error, Error::Limit(LimitError::Memory { .. })), "{name}: {error}");
    });
    assert!(grown < max + 64 * MB, "{name}: {} MB were taken", grown / MB);
    assert!(start.elapsed() < Duration::from_secs(10), "{name}: {:?}", start.elapsed());
}

fn scalar(n: i64) -> ArrayData {
    Scalar::scalar(n).data().clone()
}

fn repeated(n: usize, x: u8) -> ArrayData {
    Vector::from(vec![x; n]).data().clone()
}

/// What takes memory without a computation: an element at each place, rows repeated and then sorted or scanned.
#[test]
fn what_is_expanded_is_charged_where_it_becomes_memory() {
    let filled = "program(n: [0]i64) {
  g: [1]f64 = generate(shape: || n[], f: |%i: i64| 1.0f64)
  yield g
}";
    refused("filled", filled, &[scalar(400_000_000)], 64 * MB);
    let sorted = "program(n: [0]i64, x: [1]u8) {
  r: [2]u8 = replicate(x, axes: [fixed, all], extents: || n[])
  p: [2]i64 = argsort(r)
  s: [1]i64 = fold(p, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
  t: [0]i64 = fold(s, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
  yield t
}";
    refused("sorted", sorted, &[scalar(1), repeated(100_000_000, 3)], 64 * MB);
    let scanned = "program(n: [0]i64, x: [1]u8) {
  r: [2]u8 = replicate(x, axes: [fixed, all], extents: || n[])
  f: [1]u8 = reshape(r, shape: || mul(n[], extent(x, 0)))
  s: [1]u8 = scanl1(f, f: |%a: u8, %b: u8| max(%a, %b))
  y: [0]u8 = generate(shape: || (), f: || s[5i64])
  yield y
}";
    refused("scanned", scanned, &[scalar(1000), repeated(1_000_000, 3)], 64 * MB);
}

/// Statements on `xs: [1]f64`, `is: [1]i64`, `m: [2]f32` and `n: [0]i64` that take at least as much memory as one of them, for
/// their results or on the way.
const STATEMENTS: &[(&str, &str)] = &[
    ("map", "y: [1]f64 = map(xs, f: |%x: f64| add(%x, 1.0f64))"),
    ("a chain", "y: [1]f64 = map(xs, f: |%x: f64| sin(mul(add(%x, 1.0f64), div(%x, sub(%x, 3.0f64)))))"),
    ("a conversion", "y: [1]i16 = map(xs, f: |%x: f64| cast(%x, i16))"),
    ("a choice", "y: [1]f64 = map(xs, f: |%x: f64| select(lt(%x, 3.0f64), %x, 1.0f64))"),
    ("a branch", "y: [1]i64 = map(is, f: |%i: i64| if lt(%i, 3i64) { yield div_floor(%i, 7i64) } else { yield %i })"),
    (
        "a loop",
        "y: [1]i64 = map(is, f: |%i: i64| while (%i) test |%k: i64| { yield lt(%k, 9i64) } step |%k: i64| { yield add(%k, 2i64) })",
    ),
    ("bits", "y: [1]i32 = map(is, f: |%i: i64| count_ones(%i))"),
    ("indices", "y: [1]f32 = generate(shape: || extent(xs, 0), f: |%i: i64| cast(%i, f32))"),
    ("a read", "y: [1]f64 = map(is, f: |%i: i64| xs[%i])"),
    ("a part", "y: [1]f64 = backpermute(xs, shape: || quot(extent(xs, 0), 2i64), index: |%i: i64| add(%i, 1i64))"),
    (
        "a transposition",
        "y: [2]f32 = backpermute(m, shape: || (extent(m, 1), extent(m, 0)), index: |%i: i64, %j: i64| (%j, %i))",
    ),
    ("rows repeated", "y: [3]f32 = replicate(m, axes: [fixed, all, all], extents: || n[])"),
    (
        "a sum of rows",
        "a: [2]f32 = map(m, f: |%x: f32| exp(%x))\n  y: [1]f32 = fold(a, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)",
    ),
    ("any fold", "y: [0]i64 = fold(is, f: |%a: i64, %b: i64| or(%a, %b), init: || 0i64)"),
    ("a scan", "y: [1]f64 = scanl1(xs, f: |%a: f64, %b: f64| add(%a, %b))"),
    ("a scan from a value", "y: [1]i64 = scanl(is, f: |%a: i64, %b: i64| max(%a, %b), init: || 0i64)"),
    ("any scan", "y: [1]i64 = scanl1(is, f: |%a: i64, %b: i64| and(%a, %b))"),
    (
        "segments",
        "o: [1]i64 = generate(shape: || quot(extent(xs, 0), 2i64), f: |%i: i64| %i)\n  y: [1]f64 = fold_seg(xs, offsets: o, f: |%a: f64, %b: f64| max(%a, %b), init: || 0.0f64)",
    ),
    ("a sort", "y: [1]i64 = argsort(xs)"),
    ("a sort of rows", "y: [2]i64 = argsort(m)"),
    (
        "a permutation",
        "y: [1]f64 = permute(xs, into: xs, combine: |%a: f64, %b: f64| %a, target: |%i: i64| (1u8, is[%i]))",
    ),
    (
        "any permutation",
        "y: [1]i64 = permute(is, into: is, combine: |%a: i64, %b: i64| sub(%a, %b), target: |%i: i64| (1u8, is[%i]))",
    ),
    (
        "a stencil",
        "y: [2]f32 = stencil(m, window: [1, 3], boundary: wrap, f: |%a: f32, %b: f32, %c: f32| sub(add(%a, %c), %b))",
    ),
    (
        "a product",
        "y: [2]f32 = generate(shape: || (extent(m, 0), extent(m, 0)), f: |%i: i64, %j: i64| mul(m[%i, 0i64], m[%j, 1i64]))",
    ),
];

#[test]
fn every_operation_is_charged_before_it_takes_memory() {
    let n = 1 << 22;
    let xs: Vector<f64> = (0..n).map(|i| i as f64).collect();
    let is: Vector<i64> = (0..n as i64).collect();
    let m = Matrix::from_fn((1 << 13, 1 << 9), |at| (at[0] * at[1]) as f32).unwrap();
    let args = [xs.data().clone(), is.data().clone(), m.data().clone(), scalar(4)];
    for (name, statements) in STATEMENTS {
        let text = format!("program(xs: [1]f64, is: [1]i64, m: [2]f32, n: [0]i64) {{\n  {statements}\n  yield y\n}}");
        // Less than half of the smallest array that is made.
        refused(name, &text, &args, 3 * MB);
    }
}

/// Wherever in a run the memory is refused, the run ends with that error, and the next one with more has its result.
#[test]
fn a_run_may_be_refused_memory_at_any_place() {
    let n = 1 << 14;
    let xs: Vector<f64> = (0..n).map(|i| (i % 97) as f64).collect();
    let is: Vector<i64> = (0..n as i64).collect();
    let m = Matrix::from_fn((1 << 5, 1 << 9), |at| (at[0] * at[1] % 31) as f32).unwrap();
    let args = [xs.data().clone(), is.data().clone(), m.data().clone(), scalar(4)];
    for (name, statements) in STATEMENTS {
        let text = format!("program(xs: [1]f64, is: [1]i64, m: [2]f32, n: [0]i64) {{\n  {statements}\n  yield y\n}}");
        let program = program(name, &text);
        let torch = Libtorch::cpu();
        let wanted = torch.run_untyped(&program, &args, &RunLimits::none()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (mut max, mut refused) = (1u64, 0);
        loop {
            match torch.run_untyped(&program, &args, &bytes(max)) {
                Ok(found) => break assert!(found == wanted, "{name} with {max} bytes"),
                Err(Error::Limit(LimitError::Memory { asked, allowed })) => {
                    assert!(allowed == max && asked > max, "{name}: {asked} of {allowed}");
                    // As little more as lets it come one step further.
                    max = asked;
                    refused += 1;
                }
                Err(e) => panic!("{name} with {max} bytes: {e}"),
            }
        }
        assert!(refused > 0, "{name}");
    }
}

#[test]
fn a_deadline_stops_a_run_between_operations_and_before_memory_is_taken() {
    let late = || RunLimits::none().deadline(Instant::now() + Duration::from_millis(50));
    let start = Instant::now();
    // Of one operation that takes long many.
    let chain = (0..200).fold(generate(1usize << 22, |i| i), |xs, _| xs.scanl1(|a, b| a + b).compute());
    let error = Libtorch::cpu().run_with(chain, &late()).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::Limit(LimitError::Deadline));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_deadline_stops_the_preparation_of_a_program() {
    let xs = Vector::from([1i64]);
    // Nothing in it is known, or the same twice.
    let long = use_(&xs).map(|x| (0..4000i64).fold(x, |y, k| (y ^ k) * 3 + x));
    let built = long.program().unwrap();
    let torch = Libtorch::cpu();
    for time in [5, 20, 50] {
        let start = Instant::now();
        let limits = RunLimits::none().deadline(start + Duration::from_millis(time));
        let outcome = torch.run_untyped(&built.program, &built.embedded, &limits);
        assert!(outcome == Err(Error::Limit(LimitError::Deadline)), "{time} ms");
    }
    // What was stopped is not kept.
    let cancelled = CancelToken::new();
    cancelled.cancel();
    let off = RunLimits::none().cancel(cancelled);
    assert!(torch.run_untyped(&built.program, &built.embedded, &off) == Err(Error::Limit(LimitError::Cancelled)));
    assert!(torch.run_untyped(&built.program, &built.embedded, &RunLimits::none()).is_ok());
}
