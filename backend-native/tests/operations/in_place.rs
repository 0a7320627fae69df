//! Scatters into the memory of an array that has no other use, and into a copy of one that has.

use crate::common::{parse, reference};
use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::ir::Program;
use acc_core::{Error, Executor, RunLimits};
use backend_native::Native;
use std::sync::Arc;

fn numbers(values: impl Iterator<Item = i64>) -> ArrayData {
    let values: Vec<i64> = values.collect();
    ArrayData::new([values.len()], ScalarType::I64.into(), [Column::from_vec(values)]).unwrap()
}

/// Runs a program with a memory limit.
fn within(bytes: u64, native: &Native, program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
    native.run_untyped(program, args, &RunLimits::none().max_bytes(bytes))
}

/// Ten iterations of a loop that adds a few numbers to a large array.
const LOOP: &str = "program(xs: [1]i64, u: [1]i64) {
  n: [0]i64 = generate(shape: || (), f: || 0i64)
  k: [0]i64, r: [1]i64 = awhile(n, xs,
    test: |k: [0]i64, s: [1]i64| { t: [0]bool = map(k, f: |%k: i64| lt(%k, 10i64)) yield t },
    step: |k: [0]i64, s: [1]i64| {
      j: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
      r: [1]i64 = permute(u, into: s, combine: |%x: i64, %y: i64| add(%x, %y), target: |%i: i64| (1u8, mul(%i, 7i64)))
      yield j, r
    })
  yield r
}";

#[test]
fn a_loop_that_scatters_into_its_state_copies_it_once() {
    let n = 1_000_000;
    let args = [numbers(0..n), numbers(0..50)];
    let program = parse(LOOP);
    let want = reference(&program, &args).unwrap();
    for native in [Native::compiled(), Native::tiles()] {
        let run = |bytes: u64| within(bytes, &native, &program, &args);
        let one = 8 * n as u64;
        assert_eq!(run(one + one / 2).unwrap(), want, "a copy of the argument, and no other");
        assert!(matches!(run(one / 2), Err(Error::Limit(_))), "the argument itself is not written");
    }
    assert_eq!(args[0], numbers(0..n));
}

#[test]
fn what_is_needed_later_or_read_meanwhile_is_copied() {
    let with = |step: &str| {
        format!("program(xs: [1]i64, u: [1]i64) {{ a: [1]i64 = map(xs, f: |%x: i64| mul(%x, 3i64)) {step} }}")
    };
    let permute = |xs: &str| {
        format!(
            "r: [1]i64 = permute({xs}, into: a, combine: |%x: i64, %y: i64| add(%x, %y), target: |%i: i64| (1u8, mul(%i, 7i64)))"
        )
    };
    let programs = [
        LOOP.to_string(),
        with(&format!("{} yield r", permute("u"))),
        with(&format!("{} yield r, a", permute("u"))),
        with(&format!("b: [1]i64 = compute(a) {} yield b, r", permute("u"))),
        with(&format!("{} s: [1]i64 = zip_with(r, a, f: |%x: i64, %y: i64| sub(%x, %y)) yield s", permute("u"))),
        with(&format!("{} q: [1]i64 = map(r, f: |%x: i64| add(%x, a[3i64])) yield q", permute("u"))),
        with(&format!("v: [1]i64 = map(u, f: |%x: i64| a[%x]) {} yield r", permute("v"))),
        with(&format!("v: [1]i64 = map(u, f: |%x: i64| sub(a[%x], a[0i64])) {} yield r", permute("v"))),
        with(&format!("v: [1]i64 = map(u, f: |%x: i64| quot(%x, sub(%x, 40i64))) {} yield r", permute("v"))),
    ];
    for text in programs {
        let program = parse(&text);
        for args in
            [[numbers(0..400), numbers(0..50)], [numbers(5..20_000), numbers(0..39)], [numbers(0..0), numbers(0..0)]]
        {
            let want = reference(&program, &args);
            for native in [Native::compiled(), Native::tiles(), Native::with_threads(3).unwrap()] {
                let got = native.run_untyped(&program, &args, &RunLimits::none());
                assert_eq!(got.map_err(|e| e.to_string()), want.clone().map_err(|e| e.to_string()), "{text}");
            }
        }
    }
}

/// A loop that adds a few numbers to a large array in every other iteration, and returns it unchanged in the others.
const BRANCHES: &str = "program(xs: [1]i64, u: [1]i64) {
  n: [0]i64 = generate(shape: || (), f: || 0i64)
  k: [0]i64, r: [1]i64 = awhile(n, xs,
    test: |k: [0]i64, s: [1]i64| { t: [0]bool = map(k, f: |%k: i64| lt(%k, 10i64)) yield t },
    step: |k: [0]i64, s: [1]i64| {
      j: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
      r: [1]i64 = acond(cond: || eq(rem(k[], 2i64), 0i64),
        then: {
          w: [1]i64 = permute(u, into: s, combine: |%x: i64, %y: i64| add(%x, %y), target: |%i: i64| (1u8, mul(%i, 7i64)))
          yield w
        }, else: { yield s })
      yield j, r
    })
  yield r
}";

#[test]
fn a_branch_that_scatters_into_the_state_of_a_loop_copies_it_once() {
    let n = 1_000_000;
    let args = [numbers(0..n), numbers(0..50)];
    // The second one uses the state after the branch, and copies it.
    let later =
        BRANCHES.replace("yield j, r", "q: [1]i64 = zip_with(r, s, f: |%x: i64, %y: i64| sub(%x, %y)) yield j, q");
    for (text, copies) in [(BRANCHES, 1), (&later, 2)] {
        let program = parse(text);
        let want = reference(&program, &args).unwrap();
        for native in [Native::compiled(), Native::tiles()] {
            let run = |bytes: u64| within(bytes, &native, &program, &args);
            let one = 8 * n as u64;
            assert_eq!(run(copies * one + one / 2 + one * (copies - 1)).unwrap(), want);
            assert!(matches!(run(copies * one - one / 2), Err(Error::Limit(_))));
        }
    }
    assert_eq!(args[0], numbers(0..n));
}
