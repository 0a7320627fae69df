//! Permuted axes: scans along outer axes, and chains of elementwise statements over transposed arrays.

use crate::common::{Rng, agree, array, parse, same};
use acc_core::data::ScalarType;
use acc_core::ir::Program;
use acc_core::prelude::*;
use acc_core::{Executor, RunLimits};
use backend_native::Native;
use std::sync::Arc;

/// A scan along the first axis of a matrix, and a map of its results.
fn columns(ty: &str, scan: &str, map: &str) -> String {
    format!(
        "program(a: [2]{ty}, b: [2]{ty}) {{
           t: [2]{ty} = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
           s: [2]{ty} = {scan}
           u: [2]{ty} = backpermute(s, shape: || (extent(s, 1), extent(s, 0)), index: |%i: i64, %j: i64| (%j, %i))
           {map}
         }}"
    )
}

const SCANS: [&str; 7] = [
    "scanl1(t, f: |%x: T, %y: T| add(%x, %y))",
    "scanr1(t, f: |%x: T, %y: T| max(%x, %y))",
    // Not commutative, and not built in.
    "scanl1(t, f: |%x: T, %y: T| select(ne(%x, 3T), %x, %y))",
    "scanr1(t, f: |%x: T, %y: T| select(ne(%x, 3T), %x, %y))",
    // With an initial value, so that results are longer.
    "scanl(t, f: |%x: T, %y: T| add(%x, %y), init: || 3T)",
    "scanr(t, f: |%x: T, %y: T| max(%x, %y), init: || 3T)",
    "scanl(t, f: |%x: T, %y: T| select(ne(%x, 3T), %x, %y), init: || 3T)",
];

const MAPS: [&str; 3] = [
    "yield u",
    "r: [2]T = map(u, b, f: |%x: T, %y: T| sub(%x, %y))  yield r",
    // Results that two statements read are stored.
    "r: [2]T = map(s, f: |%x: T| add(%x, %x))  yield u, r",
];

#[test]
fn scans_along_the_first_axis() {
    // Column counts around those of steps of vectors, and too few for row lanes; row counts around those of strips.
    for (rows, columns_) in [(1, 70), (8, 64), (9, 65), (100, 63), (33, 257), (0, 70), (5, 0), (70, 1030)] {
        let mut r = Rng(rows as u64 * 1000 + columns_ as u64);
        for (ty, literal) in [("i32", "i32"), ("i64", "i64"), ("u8", "u8"), ("f32", ".0f32")] {
            for scan in SCANS {
                for map in MAPS {
                    let text = columns(ty, scan, map).replace("3T", &format!("3{literal}")).replace('T', ty);
                    let elt = parse(&text).param_types().next().unwrap().elt.clone();
                    let args = [array(&[rows, columns_], &elt, &mut r), array(&[rows, columns_], &elt, &mut r)];
                    crate::common::agree_within(&text, &args, if ty == "f32" { 1e-2 } else { 0.0 });
                }
            }
        }
    }
}

#[test]
fn results_of_several_leaves_and_of_statements_over_the_same_axes() {
    let text = "program(a: [2]i32, v: [1]i32) {
        t: [2](i32, i64) = generate(shape: || (extent(a, 1), extent(a, 0)), f: |%i: i64, %j: i64| (a[%j, %i], %j))
        s: [2](i32, i64) = scanl1(t, f: |%x: i32, %i: i64, %y: i32, %j: i64|
          if lt(%y, %x) { yield %y, %j } else { yield %x, %i })
        u: [2](i32, i64) = backpermute(s, shape: || (extent(s, 1), extent(s, 0)), index: |%i: i64, %j: i64| (%j, %i))
        w: [2]i32 = map(u, f: |%x: i32, %i: i64| add(%x, v[%i]))
        x: [2]i64 = imap(u, f: |%p: i64, %q: i64, %x: i32, %i: i64| add(mul(%i, %p), %q))
        yield u, w, x
      }";
    let mut r = Rng(3);
    for (rows, columns) in [(5, 100), (40, 64), (129, 333)] {
        let i32s = ScalarType::I32.into();
        agree(text, &[array(&[rows, columns], &i32s, &mut r), array(&[rows], &i32s, &mut r)]);
        // A load out of bounds, with the fault of the unfused program.
        agree(text, &[array(&[rows, columns], &i32s, &mut r), array(&[rows / 2], &i32s, &mut r)]);
    }
}

#[test]
fn scans_along_any_axis_of_rank_three() {
    let mut r = Rng(17);
    for [from, to] in [["%k, %j, %i", "%k, %j, %i"], ["%i, %k, %j", "%i, %k, %j"], ["%k, %i, %j", "%j, %k, %i"]] {
        // Index maps from the scan to its operand, and from the result to the scan.
        let extents = |array: &str, index: &str| {
            let along = |axis: &str| index.split(", ").position(|i| i == axis).unwrap();
            ["%i", "%j", "%k"].map(|axis| format!("extent({array}, {})", along(axis))).join(", ")
        };
        for (scan, init) in [("scanl1", ""), ("scanl", ", init: || 0i32")] {
            let text = format!(
                "program(a: [3]i32) {{
               t: [3]i32 = backpermute(a, shape: || ({}), index: |%i: i64, %j: i64, %k: i64| ({from}))
               s: [3]i32 = {scan}(t, f: |%x: i32, %y: i32| select(ne(%x, 0i32), %x, %y){init})
               u: [3]i32 = backpermute(s, shape: || ({}), index: |%i: i64, %j: i64, %k: i64| ({to}))
               yield u
             }}",
                extents("a", from),
                extents("s", to)
            );
            for shape in [[3, 5, 7], [20, 33, 70], [70, 9, 40], [9, 100, 65]] {
                agree(&text, &[array(&shape, &ScalarType::I32.into(), &mut r)]);
            }
        }
    }
}

#[test]
fn what_follows_a_scan_with_an_initial_value_knows_its_place() {
    let mut r = Rng(23);
    for scan in ["scanl", "scanr"] {
        let text = format!(
            "program(a: [2]i32, b: [2]i32) {{
               t: [2]i32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
               s: [2]i32 = {scan}(t, f: |%x: i32, %y: i32| add(%x, %y), init: || 5i32)
               u: [2]i32 = backpermute(s, shape: || (extent(s, 1), extent(s, 0)), index: |%i: i64, %j: i64| (%j, %i))
               r: [2]i32 = imap(u, f: |%i: i64, %j: i64, %x: i32| add(mul(%x, cast(%i, i32)), b[%i, %j]))
               yield r
             }}"
        );
        for [rows, columns] in [[1, 70], [20, 64], [100, 131], [0, 70], [33, 9]] {
            // As many rows as the results have, and one less.
            for more in [1, 0] {
                let args =
                    [[rows, columns], [rows + more, columns]].map(|s| array(&s, &ScalarType::I32.into(), &mut r));
                agree(&text, &args);
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let f = "f: |%x: f32, %y: f32| add(%x, %y)";
    for scan in [format!("scanl1(t, {f})"), format!("scanr(t, {f}, init: || 3.0f32)")] {
        let program = parse(&columns("f32", &scan, "yield u"));
        on_any_number_of_threads(&program);
    }
}

fn on_any_number_of_threads(program: &Arc<Program>) {
    for shape in [[300, 2100], [2100, 300], [5000, 65]] {
        let args = [0, 1].map(|k| array(&shape, &ScalarType::F32.into(), &mut Rng(5 + k)));
        let want = Native::tiles().run_untyped(program, &args, &RunLimits::none()).unwrap();
        for threads in [1, 2, 3, 7, 16] {
            let compile = backend_native::Compile::Now;
            let options = backend_native::Options::new().threads(threads).compile(compile);
            let got = Native::with(options).unwrap().run_untyped(program, &args, &RunLimits::none()).unwrap();
            same(&want[0], &got[0], 0.0).unwrap_or_else(|e| panic!("{shape:?}, {threads} threads: {e}"));
        }
    }
}

fn softmax(rows: &Acc<Matrix<f32>>) -> Acc<Matrix<f32>> {
    let n = rows.shape().1;
    let powers = rows.zip_with(rows.maximum().replicate((All, n)), |x, most| (x - most).exp());
    powers.zip_with(powers.sum().replicate((All, n)), |x, sum| x / sum)
}

#[test]
fn chains_over_transposed_arrays_are_the_same_as_those_over_rows() {
    let f = |a: Acc<Matrix<f32>>| softmax(&a.transpose()).transpose();
    for shape in [(1, 1), (7, 100), (130, 65), (300, 257)] {
        let mut r = Rng(shape.0 as u64);
        let a = Matrix::from_fn(shape, |_| (r.next() % 100) as f32 / 10.0).unwrap();
        let tiles = Native::tiles().compile(f).unwrap().call((&a,)).unwrap();
        let compiled = Native::compiled().compile(f).unwrap().call((&a,)).unwrap();
        let want = Interpreter::new().compile(f).unwrap().call((&a,)).unwrap();
        assert_eq!(tiles.to_vec(), compiled.to_vec());
        for (x, y) in want.to_vec().iter().zip(compiled.to_vec()) {
            assert!((x - y).abs() < 1e-5, "{x} and {y}");
        }
    }
}

/// The titles of kernels, and their IR.
fn kernels<Args, Out: Arrays>(f: impl acc_core::api::AccFn<Args, Out>) -> (Vec<String>, String) {
    let explanation = Native::new().compile(f).unwrap().prepared().explain();
    let axes = explanation.kernels.iter().map(|k| k.axes.clone()).collect();
    (axes, explanation.kernel_ir())
}

#[test]
fn a_scan_between_transpositions_is_one_kernel() {
    let f = |a: Acc<Matrix<f32>>| a.transpose().scanl1(|x, y| x + y).transpose().map(|x| x * 2.0);
    let initial = |a: Acc<Matrix<f32>>| a.transpose().scanl(0.0, |x, y| x + y).transpose().map(|x| x * 2.0);
    for (axes, ir) in [kernels(f), kernels(initial)] {
        assert_eq!(axes, ["parallel, scan left"], "{ir}");
        assert!(ir.contains("order: [i1, i0]"), "{ir}");
    }
}

#[test]
fn what_is_stored_of_transposed_arrays_has_the_order_of_these() {
    // The powers are computed in memory order, by a kernel without folds.
    let (axes, ir) = kernels(|a: Acc<Matrix<f32>>| softmax(&a.transpose()).transpose());
    assert_eq!(axes, ["parallel, reduce", "parallel, parallel", "parallel, reduce", "parallel, parallel"], "{ir}");
    for kernel in ir.split("kernel(").filter(|k| k.contains("parallel, parallel")) {
        let reads = |l: &&str| l.contains(" = a");
        assert!(kernel.lines().filter(reads).all(|l| !l.ends_with("[i1, i0]")), "{ir}");
    }
}
