//! Folds by partial results (`regroup`): how floats are grouped, which kernels there are, and what is said of folds that cannot be.

use crate::common::{Rng, array, parse, same_outcome};
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

fn numbers(n: usize) -> Vec<f32> {
    let mut rng = Rng(9);
    (0..n).map(|_| (rng.next() >> 40) as f32 / 1e5 - 80.0).collect()
}

/// The terms of a sum as `regroup` adds them, written by hand.
fn sum_by_hand(before: Option<f32>, terms: &[f32], per_tile: usize) -> f32 {
    let in_order = |terms: &[f32]| terms.iter().copied().reduce(|a, b| a + b);
    let tiles = terms.chunks_exact(per_tile);
    let last = tiles.remainder().iter().copied();
    let partial: Vec<f32> = tiles.filter_map(in_order).collect();
    before.into_iter().chain(partial).chain(last).reduce(|a, b| a + b).unwrap()
}

#[test]
fn floats_are_added_in_the_order_that_is_written_by_hand() {
    for (n, per_tile) in [(1, 2), (7, 2), (1000, 3), (1000, 250), (4099, 64), (100_003, 1024), (50, 64)] {
        let (xs, rows) = (numbers(n), numbers(13 * n));
        let sums = |xs: Acc<Vector<f32>>, rows: Acc<Matrix<f32>>| {
            let all = xs.map(|x| x + 0.5).fold(0.25, |a, b| a + b).schedule(|s, [k]| {
                let tiles = s.regroup(k, per_tile);
                let (outer, inner) = s.split(tiles, 16);
                s.order(&[outer, k, inner]).parallel(outer).vectorize(inner);
            });
            let each = rows.fold1(|a, b| a + b).schedule(|s, [i, k]| {
                let tiles = s.regroup(k, per_tile);
                s.order(&[tiles, k, i]).vectorize(i);
            });
            (all, each)
        };
        let terms: Vec<f32> = xs.iter().map(|x| x + 0.5).collect();
        let want = sum_by_hand(Some(0.25), &terms, per_tile);
        let want_each: Vec<f32> = rows.chunks(n).map(|row| sum_by_hand(None, row, per_tile)).collect();
        let (xs, rows) = (Vector::from(xs), Matrix::from_vec([13, n], rows).unwrap());
        for native in executors() {
            let (all, each) = native.compile(sums).unwrap().call((&xs, &rows)).unwrap();
            assert_eq!(all.value().to_bits(), want.to_bits(), "{n} terms, {per_tile} a tile");
            assert_eq!(each.to_vec(), want_each, "{n} terms, {per_tile} a tile");
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

/// The program that yields `x`, the result of the statements, computed by these loops.
fn program(statements: &str, ty: &str, loops: &str) -> Arc<Program> {
    parse(&format!(
        "program(a: [2]f32, b: [2]f32, v: [1]f32) {{
{statements}
s: {ty} = compute(x, loops: {loops})
yield s
}}"
    ))
}

const SUM: &str = "q: [1]f32 = map(v, f: |%x: f32| sin(mul(%x, %x)))
x: [0]f32 = fold(q, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)";
const PRODUCT: &str = "c: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
  f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
m: [2]f32 = fold(c, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
x: [2]f32 = map(m, f: |%x: f32| max(%x, 0f32))";
const WINDOWS: &str = "w: [4]f32 = generate(shape: || (sub(extent(a, 0), 4i64), sub(extent(a, 1), 2i64), 5i64, 3i64),
  f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(a[add(%i, %k), add(%j, %l)], b[%k, %l]))
r: [3]f32 = fold1(w, f: |%x: f32, %y: f32| add(%x, %y))
x: [2]f32 = fold1(r, f: |%x: f32, %y: f32| add(%x, %y))";
const MAP: &str = "x: [2]f32 = map(a, f: |%x: f32| add(%x, 1f32))";
const SCAN: &str = "x: [2]f32 = scanl1(a, f: |%x: f32, %y: f32| add(%x, %y))";
const TWO: &str = "r: [1]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
m: [1]f32 = fold(a, f: |%x: f32, %y: f32| max(%x, %y), init: || 0f32)
x: [1]f32 = zip_with(r, m, f: |%x: f32, %y: f32| div(%x, %y))";

#[test]
fn partial_results_have_the_same_bits_on_all_threads_and_over_tiles() {
    let mut rng = Rng(5);
    let float = acc_core::data::ScalarType::F32.into();
    let args =
        [array(&[37, 300], &float, &mut rng), array(&[300, 21], &float, &mut rng), array(&[9_999], &float, &mut rng)];
    for (statements, ty, loops) in [
        (SUM, "[0]f32", "[threads i0 by 16, i1, lanes i0] regroup i0 by 100"),
        (SUM, "[0]f32", "[i0, i1 by 4, i1] regroup i0 by 64"),
        (PRODUCT, "[2]f32", "[threads i0, i2, i3, lanes i1] regroup i2 by 64"),
        (PRODUCT, "[2]f32", "[i2, i0 by 4, lanes i1, i3, unrolled i0] regroup i2 by 270"),
        (WINDOWS, "[2]f32", "[i0, i2, i3, i4, lanes i1] regroup i2 by 2"),
    ] {
        let program = program(statements, ty, loops);
        let mut results = executors().map(|native| native.run_untyped(&program, &args, &RunLimits::none()));
        let tiles = results.next().unwrap();
        assert!(tiles.is_ok(), "{tiles:?}");
        for got in results {
            same_outcome(loops, &args, ("tiles", &tiles), ("machine code", &got), 0.0);
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

/// There are kernels for the partial results and for what they are folded to; what a fold reads is computed in both.
#[test]
fn what_is_folded_is_not_stored() {
    for (statements, ty, loops, kernels) in [
        (SUM, "[0]f32", "[lanes i0, i1] regroup i0 by 100", ["`partial x`", "`x`", "`x`"].as_slice()),
        (PRODUCT, "[2]f32", "[i0, i2, i3, lanes i1] regroup i2 by 64", &["`partial m`", "`m`"]),
    ] {
        let program = program(statements, ty, loops);
        let explained = Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap().explain();
        let text = explained.to_string();
        assert_eq!(explained.kernels.len(), kernels.len(), "{explained}");
        let (own, _) = loops.split_once(" regroup").unwrap();
        assert_eq!(explained.kernels[0].loops.as_deref(), Some(own), "{explained}");
        assert!(kernels.iter().all(|name| text.contains(name)), "{explained}");
    }
}

#[test]
fn folds_that_cannot_have_partial_results() {
    for (statements, ty, loops, want) in [
        (
            MAP,
            "[2]f32",
            "[i0, i1, i2, i3] regroup i2 by 4",
            "`regroup i2 by 4`: the nest of the array has not one fold",
        ),
        (
            SCAN,
            "[2]f32",
            "[i0, i1, i2, i3] regroup i2 by 4",
            "`regroup i2 by 4`: the nest of the array has not one fold",
        ),
        (TWO, "[1]f32", "[i0, i1, i2] regroup i1 by 4", "`regroup i1 by 4`: the nest of the array has not one fold"),
        (
            PRODUCT,
            "[2]f32",
            "[i0, i1, i2, i3, i4] regroup i2 by 4",
            "it has 5 axes, but the nest has 4: i0 its own, i1 its own, i2 its own, i3 folded",
        ),
        (
            SUM,
            "[0]f32",
            "[i0, lanes i1] regroup i0 by 4",
            "`lanes i1` would fold into partial results, lane by lane: i1 is folded; vectorize a loop over i0",
        ),
    ] {
        let program = program(statements, ty, loops);
        let refused = Backend::prepare(&Native::tiles(), &program, &RunLimits::none());
        let Err(Error::Build(error)) = refused else { panic!("{loops} of {statements}") };
        let BuildError::Schedule { why, .. } = &*error else { panic!("{error}") };
        assert_eq!(why, want, "{statements}");
    }
}

#[test]
fn one_fold_of_two_arrays_has_one_kind_of_partial_results() {
    let text = "program(a: [2]f32) {
r: [1]f32 = fold1(a, f: |%x: f32, %y: f32| add(%x, %y))
x: [1]f32 = map(r, f: |%x: f32| sqrt(%x))
s: [1]f32 = compute(r, loops: [i0, i1, i2] regroup i1 by 4)
t: [1]f32 = compute(x, loops: [i0, i1, i2] regroup i1 by 8)
yield s, t
}";
    let refused = Backend::prepare(&Native::tiles(), &parse(text), &RunLimits::none());
    let Err(Error::Build(error)) = refused else { panic!("{text}") };
    let BuildError::Schedule { why, .. } = &*error else { panic!("{error}") };
    assert_eq!(why, "`regroup i1 by 8`: another schedule has other partial results of what is folded");
}

/// Two schedules of one array have partial results of their own.
#[test]
fn an_array_with_several_schedules_has_several_partial_results() {
    let text = format!(
        "program(a: [2]f32, b: [2]f32, v: [1]f32) {{
{SUM}
r: [0]f32 = compute(x, loops: [lanes i0, i1] regroup i0 by 8)
s: [0]f32 = compute(x, loops: [lanes i0, i1] regroup i0 by 64)
t: [0]f32 = compute(x, loops: [i1 by 2, i0, i1] regroup i0 by 100)
yield r, s, t
}}"
    );
    let program = parse(&text);
    let v: Vec<f32> = numbers(1000);
    let none = Matrix::from_vec([0, 0], Vec::<f32>::new()).unwrap().data().clone();
    let args = [none.clone(), none, Vector::from(v).data().clone()];
    let mut results = executors().map(|native| native.run_untyped(&program, &args, &RunLimits::none()).unwrap());
    let tiles = results.next().unwrap();
    results.for_each(|got| assert_eq!(format!("{got:?}"), format!("{tiles:?}")));
    let explained = Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap().explain().to_string();
    assert_eq!(explained.matches("  `partial x` at").count(), 3, "{explained}");
}
