//! Neighbouring axes as one (`collapse`): the same bits on all threads and over tiles, what explanations say, and which axes cannot be one.

use crate::common::{Rng, array, parse, same_outcome};
use acc_core::data::{ArrayData, ScalarType};
use acc_core::exec::Backend;
use acc_core::ir::Program;
use acc_core::prelude::*;
use acc_core::{BuildError, Error, Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use std::sync::Arc;

/// The executors whose results must have the same bits: tiles, and machine code on different numbers of threads.
fn executors() -> impl Iterator<Item = Native> {
    let compiled = [1, 2, 7].map(|n| Native::with(Options::new().threads(n).compile(Compile::Now)).unwrap());
    [Native::tiles()].into_iter().chain(compiled)
}

/// The program that yields `x`, the result of the statements, computed by these loops.
fn program(statements: &str, ty: &str, loops: &str) -> Arc<Program> {
    parse(&format!(
        "program(a: [3]f32, b: [3]f32, m: [2]f32, v: [1]f32) {{
{statements}
s: {ty} = compute(x, loops: {loops})
yield s
}}"
    ))
}

const MAP: (&str, &str) = ("x: [3]f32 = zip_with(a, b, f: |%x: f32, %y: f32| sub(mul(%x, %y), 1f32))", "[3]f32");
/// Reads along one of the axes, along both in another order, with an offset, and the index itself.
const BROADCASTS: (&str, &str) = (
    "x: [3]f32 = imap(a, f: |%i: i64, %j: i64, %k: i64, %x: f32| {
       %moved: f32 = if lt(add(%j, 1i64), extent(a, 1)) { yield b[%i, add(%j, 1i64), %k] } else { yield cast(mul(%i, %k), f32) }
       yield add(mul(%x, v[%k]), add(m[%j, %i], %moved))
     })",
    "[3]f32",
);
const SUMS: (&str, &str) = ("x: [2]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 1f32)", "[2]f32");
const ROOTS: (&str, &str) = (
    "r: [2]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 1f32)
     x: [2]f32 = imap(r, f: |%i: i64, %j: i64, %x: f32| mul(sqrt(abs(%x)), m[%j, %i]))",
    "[2]f32",
);
/// A sum of products over two axes, whose blocks of terms are of whole rows.
const DOTS: (&str, &str) = (
    "c: [3]f32 = generate(shape: || (extent(m, 1), extent(a, 1), extent(a, 2)),
       f: |%i: i64, %j: i64, %k: i64| mul(a[0i64, %j, %k], b[%i, %j, %k]))
     r: [2]f32 = fold(c, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
     x: [1]f32 = fold(r, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)",
    "[1]f32",
);
const WINDOWS: (&str, &str) = (
    "w: [4]f32 = generate(shape: || (sub(extent(m, 0), 2i64), sub(extent(m, 1), 2i64), 3i64, 3i64),
       f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(m[add(%i, %k), add(%j, %l)], b[0i64, %k, %l]))
     r: [3]f32 = fold1(w, f: |%x: f32, %y: f32| add(%x, %y))
     x: [2]f32 = fold1(r, f: |%x: f32, %y: f32| add(%x, %y))",
    "[2]f32",
);
const SCAN: (&str, &str) = ("x: [3]f32 = scanl1(a, f: |%x: f32, %y: f32| add(%x, %y))", "[3]f32");

fn args(a: [usize; 3], b: [usize; 3], m: [usize; 2], v: usize) -> [ArrayData; 4] {
    let (mut rng, float) = (Rng(7), ScalarType::F32.into());
    [
        array(&a, &float, &mut rng),
        array(&b, &float, &mut rng),
        array(&m, &float, &mut rng),
        array(&[v], &float, &mut rng),
    ]
}

#[test]
fn collapsed_axes_change_no_bit() {
    let cases = [
        (MAP, "[lanes i0] collapse i0 to i2"),
        (MAP, "[threads i0 by 16, lanes i0, i2] collapse i0 to i1"),
        (MAP, "[threads i0, i1 by 8, unrolled i1] collapse i1 to i2"),
        (MAP, "[i1 by 64, i0, lanes i1] collapse i1 to i2"),
        (BROADCASTS, "[threads i0 by 64, lanes i0] collapse i0 to i2"),
        (BROADCASTS, "[threads i0, threads i2] collapse i0 to i1"),
        (BROADCASTS, "[lanes i0, i2] collapse i0 to i1"),
        (BROADCASTS, "[i0, lanes i1] collapse i1 to i2"),
        (SUMS, "[threads i0 by 4, i2, lanes i0] collapse i0 to i1"),
        (SUMS, "[i0 by 4, i2, unrolled i0] collapse i0 to i1"),
        (ROOTS, "[lanes i0, i2] collapse i0 to i1"),
        (DOTS, "[lanes i0, i1] collapse i1 to i2"),
        (DOTS, "[i1 by 256, i0, i1] collapse i1 to i2"),
        (WINDOWS, "[threads i0 by 16, lanes i0, i2] collapse i0 to i1 collapse i2 to i3"),
        (WINDOWS, "[i0, lanes i1, i2] collapse i2 to i3"),
        (SUMS, "[lanes i0, i3] regroup i2 by 4 collapse i0 to i2"),
    ];
    // Extents that agree, that are short, and of which the result has the least.
    let all = [
        args([5, 7, 13], [5, 7, 13], [13, 5], 13),
        args([6, 30, 40], [9, 30, 40], [30, 6], 40),
        args([5, 7, 13], [6, 8, 13], [9, 9], 15),
        args([5, 7, 13], [5, 8, 14], [9, 9], 15),
        args([1, 1, 1], [3, 3, 3], [3, 3], 3),
        args([3, 0, 4], [3, 3, 4], [3, 3], 4),
    ];
    for ((statements, ty), loops) in cases {
        let program = program(statements, ty, loops);
        for args in &all {
            let mut results = executors().map(|native| native.run_untyped(&program, args, &RunLimits::none()));
            let tiles = results.next().unwrap();
            for got in results {
                let what = format!("{loops} of {statements}");
                same_outcome(&what, args, ("tiles", &tiles), ("machine code", &got), 0.0);
            }
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

#[test]
fn explanations_say_how_collapsed_axes_are_read() {
    let explained = |(statements, ty): (&str, &str), loops: &str| {
        let program = program(statements, ty, loops);
        Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap().explain().to_string()
    };
    let text = explained(MAP, "[threads i0 by 64, lanes i0, i2] collapse i0 to i1");
    let want = "  loops [threads i0 by 64, lanes i0, i2] collapse i0 to i1, by the program's schedule
    if the extents of a0, a1 are those of collapsed axes; else [i0, lanes i1, i2]\n";
    assert!(text.contains(want), "{text}");
    let text = explained(BROADCASTS, "[lanes i0, i2] collapse i0 to i1");
    let want = "  loops [lanes i0, i2] collapse i0 to i1, by the program's schedule
    reads a0, a1, a2 at quotients and remainders of collapsed indices\n";
    assert!(text.contains(want), "{text}");
}

#[test]
fn axes_that_cannot_be_one() {
    for ((statements, ty), loops, want) in [
        (
            MAP,
            "[i0, i2, i3] collapse i0 to i1",
            "it has 4 axes, but the nest has 3: i0 its own, i1 its own, i2 its own",
        ),
        (
            SCAN,
            "[i0] collapse i0 to i2",
            "`scanl1` combines elements in row-major order: only [i0, i1, i2] is a schedule of it",
        ),
        (
            WINDOWS,
            "[i0, i1, lanes i2] collapse i2 to i3",
            "`lanes i2` would fold into partial results, lane by lane: i2 is folded; vectorize a loop over i0, i1",
        ),
        (
            WINDOWS,
            "[threads i2, i0] collapse i0 to i1 collapse i2 to i3",
            "`threads i2`: threads divide the first two axes of an array, here i0, i1",
        ),
    ] {
        let program = program(statements, ty, loops);
        for executor in [Native::tiles(), Native::compiled()] {
            let refused = Executor::prepare(&executor, &program);
            let Err(Error::Build(error)) = refused else { panic!("{loops} of {statements}") };
            let BuildError::Schedule { why, loops: shown, .. } = &*error else { panic!("{error}") };
            assert_eq!((why.as_str(), shown.as_str()), (want, loops), "{statements}");
        }
    }
}

/// What is computed within the loops of a reader is there for some of its rows.
#[test]
fn an_array_within_the_loops_of_collapsed_axes_is_refused() {
    let text = "program(a: [2]f32) {
x: [2]f32 = map(a, f: |%x: f32| mul(%x, 2f32))
s: [2]f32 = compute(x, loops: [i0, i1] within 1)
y: [2]f32 = map(s, f: |%x: f32| add(%x, 1f32))
r: [2]f32 = compute(y, loops: [lanes i0] collapse i0 to i1)
yield r
}";
    let Err(Error::Build(error)) = Executor::prepare(&Native::tiles(), &parse(text)) else { panic!("{text}") };
    let BuildError::Schedule { why, .. } = &*error else { panic!("{error}") };
    assert_eq!(
        why,
        "it cannot be computed within the loops of its reader: axes of the kernel that reads it are collapsed, so that it is not computed row by row"
    );
}

/// Short axes as one, by the typed interface.
#[test]
fn short_axes_fill_lanes() {
    let (a, b) = (Matrix::from_vec([7, 13], (0..91).collect::<Vec<i32>>()).unwrap(), Vector::from(vec![2; 13]));
    let scaled = |a: Acc<Matrix<i32>>, b: Acc<Vector<i32>>| {
        let (n, m) = a.shape();
        generate((n, m), |(i, j)| a.index((i, j)) * b.index(j)).schedule(|s, [i, j]| {
            let both = s.collapse(i, j);
            let (tiles, both) = s.split(both, 32);
            s.parallel(tiles).vectorize(both);
        })
    };
    for native in executors() {
        let got = native.compile(scaled).unwrap().call((&a, &b)).unwrap();
        assert_eq!(got.to_vec(), (0..91).map(|x| 2 * x).collect::<Vec<i32>>());
    }
}
