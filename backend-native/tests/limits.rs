//! Limits hold from the preparation of a program to its end, whatever it does.

mod common;

use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::{CancelToken, Error, Executor, LimitError, RunLimits};
use backend_native::{Native, Options};
use common::{int, ints, parse};
use std::time::{Duration, Instant};

/// 64 MB, and optionally half a second from now on.
fn limits(time: bool) -> RunLimits {
    let deadline = time.then(|| Instant::now() + Duration::from_millis(500));
    RunLimits::none().max_bytes(64 << 20).deadline(deadline)
}

/// How late a run may end: the time between two polls, plus the slowdown on a busy machine without optimisation.
const LATE: Duration = Duration::from_millis(1500);

/// Runs a program, which must be stopped by a limit in time.
fn stopped(native: &Native, text: &str, args: &[ArrayData], limits: &RunLimits) -> LimitError {
    let begun = Instant::now();
    let result = native.run_untyped(&parse(text), args, limits);
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(500) + LATE, "{took:?}\n{text}");
    match result {
        Err(Error::Limit(limit)) => limit,
        other => panic!("{:?} after {took:?}\n{text}", other.map(|_| "done")),
    }
}

fn bytes(shape: &[usize], value: u8) -> ArrayData {
    let column = Column::from_vec(vec![value; shape.iter().product()]);
    ArrayData::new(shape.to_vec(), ScalarType::U8.into(), [column]).unwrap()
}

#[test]
fn memory_is_counted_before_it_is_taken() {
    let constant = "program(n: [0]i64) {
      g: [1]f64 = generate(shape: || n[], f: |%i: i64| 1.0f64)
      yield g
    }";
    let sorted = "program(n: [0]i64, x: [1]u8) {
      r: [2]u8 = replicate(x, axes: [fixed, all], extents: || n[])
      p: [2]i64 = argsort(r)
      s: [1]i64 = fold(p, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
      t: [0]i64 = fold(s, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
      yield t
    }";
    let scanned = "program(n: [0]i64, x: [1]u8) {
      r: [2]u8 = replicate(x, axes: [fixed, all], extents: || n[])
      f: [1]u8 = reshape(r, shape: || mul(n[], extent(x, 0)))
      s: [1]u8 = scanl1(f, f: |%a: u8, %b: u8| max(%a, %b))
      y: [0]u8 = generate(shape: || (), f: || s[5i64])
      yield y
    }";
    let programs = [
        (constant, vec![int(400_000_000)]),
        (sorted, vec![int(1), bytes(&[20_000_000], 3)]),
        (scanned, vec![int(1000), bytes(&[1_000_000], 3)]),
    ];
    for native in [Native::tiles(), Native::new(), Native::compiled()] {
        for (program, args) in &programs {
            // Either limit may be reached first: on a busy machine the code may not be ready in time.
            stopped(&native, program, args, &limits(true));
            let limit = stopped(&native, program, args, &limits(false));
            assert!(matches!(limit, LimitError::Memory { .. }), "{limit:?}");
        }
    }
}

/// Rows that are sorted by one thread and by several, with equal and with different elements.
#[test]
fn sorts_look_at_the_clock_and_at_the_token() {
    let text = "program(n: [0]i64, m: [0]i64, k: [0]i64) {
      g: [2]u32 = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| cast(rem(mul(%j, 2654435761i64), k[]), u32))
      p: [2]i64 = argsort(g)
      yield p
    }";
    for threads in [1, 2] {
        let native = Native::with(Options::new().threads(threads)).unwrap();
        for (rows, row, keys) in [(1, 30_000_000, 1), (1, 30_000_000, 4_000_000_000), (300_000, 100, 1000)] {
            let args = [int(rows), int(row), int(keys)];
            let cancel = CancelToken::new();
            let limits = RunLimits::none().cancel(cancel.clone());
            let (begun, program) = (Instant::now(), parse(text));
            std::thread::scope(|s| {
                let run = s.spawn(|| native.run_untyped(&program, &args, &limits));
                std::thread::sleep(Duration::from_millis(250));
                cancel.cancel();
                // It may have ended before.
                assert!(matches!(run.join().unwrap(), Ok(_) | Err(Error::Limit(LimitError::Cancelled))));
            });
            let took = begun.elapsed();
            assert!(took < Duration::from_millis(250) + LATE, "{took:?}: {threads} {rows} {row} {keys}");
        }
    }
}

/// A kernel of so many operations.
fn long(operations: usize) -> String {
    let mut text = String::from("program(xs: [1]i64) { a: [1]i64 = map(xs, f: |%x: i64| { %v0 = add(%x, 1i64)\n");
    for k in 1..operations {
        text += &format!("%v{k} = {}(%v{}, %v{})\n", ["mul", "xor", "add"][k % 3], k - 1, k / 2);
    }
    text + &format!("yield %v{} }}) yield a }}", operations - 1)
}

#[test]
fn preparation_looks_at_the_clock() {
    for native in [Native::new(), Native::compiled(), Native::tiles()] {
        for operations in [300, 3_000] {
            let program = parse(&long(operations));
            let begun = Instant::now();
            let deadline = Some(begun + Duration::from_millis(50));
            let result = native.run_untyped(&program, &[ints(&[1, 2, 3])], &RunLimits::none().deadline(deadline));
            let took = begun.elapsed();
            assert!(took < Duration::from_millis(50) + LATE, "{took:?} for {operations}: {:?}", result.map(|_| "done"));
        }
    }
}
