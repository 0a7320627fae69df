//! Schedules of the program's: what the executor says of those that a kernel cannot have, and what it makes of those that it can.

mod collapse;
#[path = "../common/mod.rs"]
mod common;
mod regroup;
mod within;

use acc_core::exec::Backend;
use acc_core::ir::Program;
use acc_core::prelude::Matrix;
use acc_core::{BuildError, Error, Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use common::{Rng, array, parse, same_outcome};
use std::sync::Arc;

/// The program that yields `x`, the result of the statements, computed by these loops.
fn program(statements: &str, ty: &str, loops: &str) -> Arc<Program> {
    parse(&format!(
        "program(a: [2]f32, b: [2]f32, n: [3]i32, v: [1]f32) {{
{statements}
s: {ty} = compute(x, loops: {loops})
yield s
}}"
    ))
}

const PRODUCT: (&str, &str) = (
    "c: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
       f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
     x: [2]f32 = fold(c, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)",
    "[2]f32",
);
const ROOT_OF_PRODUCT: (&str, &str) = (
    "c: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
       f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
     m: [2]f32 = fold(c, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
     x: [2]f32 = map(m, f: |%x: f32| sqrt(%x))",
    "[2]f32",
);
const MAP: (&str, &str) = ("x: [2]f32 = map(a, f: |%x: f32| add(%x, 1f32))", "[2]f32");
const WINDOWS: (&str, &str) = (
    "w: [4]f32 = generate(shape: || (sub(extent(a, 0), 2i64), sub(extent(a, 1), 2i64), 3i64, 3i64),
       f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(a[add(%i, %k), add(%j, %l)], b[%k, %l]))
     r: [3]f32 = fold1(w, f: |%x: f32, %y: f32| add(%x, %y))
     x: [2]f32 = fold1(r, f: |%x: f32, %y: f32| add(%x, %y))",
    "[2]f32",
);
const GREATEST: (&str, &str) = (
    "t: [3]i32 = generate(shape: || (extent(n, 2), extent(n, 0), extent(n, 1)), f: |%i: i64, %j: i64, %k: i64| n[%j, %k, %i])
     r: [2]i32 = fold1(t, f: |%x: i32, %y: i32| max(%x, %y))
     x: [1]i32 = fold1(r, f: |%x: i32, %y: i32| max(%x, %y))",
    "[1]i32",
);
const SCAN: (&str, &str) = ("x: [2]f32 = scanl1(a, f: |%x: f32, %y: f32| add(%x, %y))", "[2]f32");
const SCATTER: (&str, &str) = (
    "z: [1]f32 = generate(shape: || (9i64), f: |%i: i64| 0f32)
     x: [1]f32 = permute(a, into: z, combine: |%x: f32, %y: f32| add(%x, %y), target: |%i: i64, %j: i64| (1u8, rem(%j, 9i64)))",
    "[1]f32",
);
const SUM: (&str, &str) = ("x: [0]f32 = fold(v, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)", "[0]f32");
const ARGUMENT: (&str, &str) = ("x: [2]f32 = compute(a)", "[2]f32");
const SORTED: (&str, &str) = ("x: [1]i64 = argsort(v)", "[1]i64");

#[test]
fn schedules_that_a_kernel_cannot_have() {
    let cases: &[((&str, &str), &str, &str)] = &[
        (PRODUCT, "[i0, i1]", "it has 2 axes, but the nest has 3: i0 its own, i1 its own, i2 folded"),
        (MAP, "[i0, i1, i2]", "it has 3 axes, but the nest has 2: i0 its own, i1 its own"),
        (WINDOWS, "[i0, i1]", "it has 2 axes, but the nest has 3: i0 its own, i1 its own, i2 folded"),
        (SCAN, "[i1, i0]", "`scanl1` combines elements in row-major order: only [i0, i1] is a schedule of it"),
        (
            SCATTER,
            "[i0 by 4, i1, i0]",
            "`permute` combines elements in row-major order: only [i0, i1] is a schedule of it",
        ),
        (
            PRODUCT,
            "[i0, i1, lanes i2]",
            "`lanes i2` would fold into partial results, lane by lane: i2 is folded; vectorize a loop over i0, i1",
        ),
        (PRODUCT, "[threads i2, i0, i1]", "`threads i2`: threads divide the first two axes of an array, here i0, i1"),
        (GREATEST, "[threads i1, i0, i2]", "`threads i1`: threads divide the first two axes of an array, here i0"),
        (
            SUM,
            "[lanes i0]",
            "`lanes i0` would fold into partial results, lane by lane: i0 is folded; vectorize a loop over none: all its axes are folded",
        ),
        (SUM, "[i0]", "there is no machine code for its loops: a schedule without a loop for lanes"),
        (
            WINDOWS,
            "[i0, i1, i3, i2]",
            "i2 and i3 are folded in order: all loops over i2 are outside of those over i3, for another order would combine elements otherwise, and `i2` is inside of `i3`",
        ),
        (
            WINDOWS,
            "[i2 by 2, i0, i3, i1, i2]",
            "i2 and i3 are folded in order: all loops over i2 are outside of those over i3, for another order would combine elements otherwise, and `i2` is inside of `i3`",
        ),
        (
            ARGUMENT,
            "[i0, i1]",
            "no loop nest computes the array: it is an argument, a view of another array, or sorted",
        ),
        (SORTED, "[i0]", "no loop nest computes the array: it is an argument, a view of another array, or sorted"),
    ];
    for ((statements, ty), loops, want) in cases {
        let program = program(statements, ty, loops);
        for executor in [Native::tiles(), Native::compiled()] {
            let Err(Error::Build(error)) = Executor::prepare(&executor, &program) else {
                panic!("{loops} of {statements}")
            };
            let BuildError::Schedule { array, why, loops: shown, .. } = &*error else { panic!("{error}") };
            assert_eq!((why.as_str(), shown.as_str()), (*want, *loops), "{statements}");
            assert!(array.is_some());
        }
    }
}

#[test]
fn errors_name_the_array_and_the_line() {
    let text = r#"program(a: [2]f32) {
  sums: [1]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
  s: [1]f32 = compute(sums, loops: [i0 by 2, i1, lanes i0]) @ "src/blur.rs":14:11
  again: [1]f32 = compute(sums, loops: [i0, lanes i1]) @ "src/blur.rs":20:3
  yield s, again
}"#;
    let error = Executor::prepare(&Native::tiles(), &parse(text)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid program: the schedule of `sums` at src/blur.rs:20:3 cannot be: `lanes i1` would fold into partial results, lane by lane: i1 is folded; vectorize a loop over i0\n  its loops are [i0, lanes i1]"
    );
}

#[test]
fn schedules_are_followed_and_change_nothing() {
    let cases = [
        (PRODUCT, "[threads i1 by 16, i0 by 3, lanes i1, i2, unrolled i0]"),
        (PRODUCT, "[i2, i1, i0]"),
        (ROOT_OF_PRODUCT, "[threads i0 by 2, i1 by 8, i2 by 4, i0, i2, i1]"),
        (MAP, "[threads i0, threads i1 by 8, lanes i1]"),
        (MAP, "[lanes i1, i0]"),
        (WINDOWS, "[i2, i3, i0, i1]"),
        (GREATEST, "[i2, i0, i1]"),
        (SCAN, "[i0, i1]"),
    ];
    let (mut rng, float, int) =
        (Rng(5), acc_core::data::ScalarType::F32.into(), acc_core::data::ScalarType::I32.into());
    let args = [
        array(&[21, 13], &float, &mut rng),
        array(&[13, 37], &float, &mut rng),
        array(&[5, 6, 7], &int, &mut rng),
        array(&[9], &float, &mut rng),
    ];
    for ((statements, ty), loops) in cases {
        let program = program(statements, ty, loops);
        let text = program.to_string();
        let run = |native: Native| native.run_untyped(&program, &args, &RunLimits::none());
        let tiles = run(Native::tiles());
        for threads in [1, 2, 7] {
            let native = Native::with(Options::new().threads(threads).compile(Compile::Now)).unwrap();
            same_outcome(&text, &args, ("tiles", &tiles), ("machine code", &run(native)), 0.0);
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

/// Several optimisation paths of one expression in one program: a nest for each.
#[test]
fn an_array_with_several_schedules_is_computed_by_each() {
    let (statements, _) = ROOT_OF_PRODUCT;
    let text = format!(
        "program(a: [2]f32, b: [2]f32) {{
{statements}
r: [2]f32 = compute(x, loops: [i2, i0, i1])
s: [2]f32 = compute(x, loops: [threads i0, i1, i2])
t: [2]f32 = compute(x, loops: [i2, i0, i1])
yield r, s, t
}}"
    );
    let program = parse(&text);
    let prepared = Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap();
    let loops: Vec<Option<String>> = prepared.explain().kernels.into_iter().map(|k| k.loops).collect();
    assert_eq!(loops, [Some("[i2, i0, i1]".to_string()), Some("[threads i0, i1, i2]".to_string())]);
    let matrix = |rows: usize, columns: usize| {
        let values = (0..rows * columns).map(|k| (k % 13) as f32 / 3.0).collect();
        Matrix::from_vec([rows, columns], values).unwrap().data().clone()
    };
    let args = [matrix(9, 300), matrix(300, 11)];
    let results = Native::compiled().run_untyped(&program, &args, &RunLimits::none()).unwrap();
    assert_eq!((&results[0], &results[0]), (&results[1], &results[2]));
}

/// A fold of the results of a fold is one with it if the schedule has axes for both.
#[test]
fn the_axes_of_a_schedule_say_which_folds_are_one() {
    let kernels = |loops: &str| {
        let folds = "r: [2]i32 = fold1(n, f: |%x: i32, %y: i32| max(%x, %y))
     x: [1]i32 = fold1(r, f: |%x: i32, %y: i32| max(%x, %y))";
        let program = program(folds, "[1]i32", loops);
        Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap().explain().kernels.len()
    };
    assert_eq!((kernels("[i0, i1, i2]"), kernels("[i1, i0]")), (1, 2));
}

#[test]
fn explanations_show_the_loops() {
    let explained = |loops: &str| {
        let (statements, ty) = PRODUCT;
        let program = program(statements, ty, loops);
        Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap().explain().to_string()
    };
    let text = explained("[i2, i0, i1]");
    assert!(text.contains("  loops [i2, i0, i1], by the program's schedule\n"), "{text}");
    assert!(!text.contains("as a product of matrices"), "{text}");
}
