//! Loads of one of few interleaved channels, against the interpreter.

use crate::common::{Rng, agree, array, int, parse, same};
use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::Native;

/// Programs over an image `a` of rows, columns and channels; channel `k` is read.
const PROGRAMS: [&str; 9] = [
    // Stored; one load and several.
    "r: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| a[%i, %j, k[]]) yield r",
    "r: [2](T, T) = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| (a[%i, %j, k[]], a[%i, %j, 0i64])) yield r",
    // Channels as an axis, and columns combined with others.
    "r: [3]T = generate(shape: || (c[], n[], m[]), f: |%c: i64, %i: i64, %j: i64| a[%i, %j, %c]) yield r",
    "r: [2]T = generate(shape: || (n[], sub(m[], 1i64)), f: |%i: i64, %j: i64| max(a[%i, %j, k[]], a[%i, add(%j, 1i64), k[]]))
     yield r",
    // Under a condition.
    "r: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| {
       %c: bool = lt(rem(%j, 5i64), 3i64)
       %r: T = if %c { yield a[%i, %j, k[]] } else { yield a[%i, 0i64, 0i64] }
       yield %r })
     yield r",
    // Stencils, including points before the first and after the last one of the array.
    "r: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| {
       %l: T = if ge(%j, 2i64) { yield a[%i, sub(%j, 2i64), k[]] } else { yield a[0i64, %j, 0i64] }
       %r: T = if lt(add(%j, 40i64), m[]) { yield a[%i, add(%j, 40i64), k[]] } else { yield %l }
       yield max(%l, %r) })
     yield r",
    "r: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| {
       %k: i64, %r: T = while (0i64, a[%i, %j, 0i64])
         test |%k: i64, %r: T| { yield lt(%k, rem(%j, 4i64)) }
         step |%k: i64, %r: T| { yield add(%k, 1i64), max(%r, a[%i, sub(%j, %k), k[]]) }
       yield %r })
     yield r",
    // Folded and scanned in both directions.
    "p: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| a[%i, %j, k[]])
     s: [1]T = fold1(p, f: |%x: T, %y: T| max(%x, %y))
     yield s",
    "p: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| a[%i, %j, k[]])
     s: [2]T = scanl1(p, f: |%x: T, %y: T| max(%x, %y))
     t: [2]T = scanr1(p, f: |%x: T, %y: T| min(%x, %y))
     yield s, t",
];

fn text_of(program: &str, ty: &str) -> String {
    let typed = ["[1]T", "[2]T", "[3]T", ": T", "(T, T)"]
        .iter()
        .fold(program.to_string(), |text, from| text.replace(from, &from.replace('T', ty)));
    format!("program(a: [3]{ty}, n: [0]i64, m: [0]i64, c: [0]i64, k: [0]i64) {{ {typed} }}")
}

fn check(ty: &str, program: &str, extents: [usize; 3], k: i64) {
    let text = text_of(program, ty);
    let elt = parse(&text).param_types().next().unwrap().elt.clone();
    let [n, m, c] = extents.map(|n| int(n as i64));
    agree(&text, &[array(&extents, &elt, &mut Rng(11)), n, m, c, int(k)]);
}

#[test]
fn channels_of_every_distance() {
    for ty in ["u8", "i16", "f32", "i64", "bool"] {
        for program in PROGRAMS {
            for channels in 1..=6 {
                check(ty, program, [3, 130, channels], channels as i64 - 1);
                check(ty, program, [1, 7, channels], 0);
            }
            check(ty, program, [70, 65, 3], 1);
        }
    }
}

#[test]
fn channels_that_are_not_there() {
    for program in PROGRAMS {
        for k in [3, -1, i64::MAX] {
            check("f32", program, [2, 100, 3], k);
        }
        check("u8", program, [2, 100, 0], 0);
        check("u8", program, [0, 100, 3], 1);
    }
    // Columns out of bounds.
    let beyond = "r: [2]T = generate(shape: || (n[], add(m[], 1i64)), f: |%i: i64, %j: i64| a[%i, %j, k[]]) yield r";
    check("u8", beyond, [2, 100, 3], 1);
    check("u8", beyond, [2, 127, 4], 1);
}

#[test]
fn more_channels_than_have_ways_of_their_own() {
    let reads =
        |n: usize| (0..n).map(|k| format!("a[%i, %j, {k}i64]")).reduce(|a, b| format!("max({a}, {b})")).unwrap();
    for n in [8, 9, 12] {
        let program = format!("r: [2]T = generate(shape: || (n[], m[]), f: |%i: i64, %j: i64| {}) yield r", reads(n));
        for channels in [3, n, 2 * n] {
            check("f32", &program, [3, 100, channels], 0);
        }
    }
}

/// Deinterleaves the channels, and interleaves them again.
const APART_AND_BACK: &str = "program(a: [3]T) {
  t: [3]T = backpermute(a, shape: || (extent(a, 2), extent(a, 0), extent(a, 1)),
    index: |%c: i64, %i: i64, %j: i64| (%i, %j, %c))
  s: [3]T = compute(t)
  r: [3]T = backpermute(s, shape: || (extent(s, 1), extent(s, 2), extent(s, 0)),
    index: |%i: i64, %j: i64, %c: i64| (%c, %i, %j))
  yield s, r
}";

#[test]
fn images_by_channels_and_by_points() {
    let mut r = Rng(3);
    for ty in ["u8", "i16", "f16", "f32", "i64", "bool"] {
        let text = APART_AND_BACK.replace('T', ty);
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for channels in 1..=6 {
            for [n, m] in [[3, 130], [70, 64], [9, 66], [1, 1000], [200, 17], [150, 3], [0, 100]] {
                agree(&text, &[array(&[n, m, channels], &elt, &mut r)]);
            }
        }
    }
}

#[test]
fn large_images_by_channels_and_by_points() {
    // With non-temporal stores and without: rows that begin at cache lines, and rows that do not.
    for [n, m, channels] in [[1100, 1920, 3], [1001, 1203, 4], [3000, 3200, 1], [500, 997, 2]] {
        let values: Vec<f32> = (0..n * m * channels).map(|k| k as f32).collect();
        let a = ArrayData::new([n, m, channels], ScalarType::F32.into(), [Column::from_vec(values.clone())]).unwrap();
        let program = parse(&APART_AND_BACK.replace('T', "f32"));
        for backend in [Native::compiled(), Native::tiles(), Native::with_threads(3).unwrap()] {
            let got = backend.run_untyped(&program, std::slice::from_ref(&a), &RunLimits::none()).unwrap();
            let apart = got[0].columns()[0].as_slice::<f32>().unwrap();
            for c in 0..channels {
                let channel = &apart[c * n * m..][..n * m];
                assert!(channel.iter().enumerate().all(|(k, x)| *x == values[k * channels + c]), "{n} {m} {channels}");
            }
            same(&got[1], &a, 0.0).unwrap();
        }
    }
}

#[test]
fn neighbours_that_are_apart_under_a_condition() {
    for step in 2..=5 {
        for ty in ["u8", "i16", "f32", "i64", "bool"] {
            let program = |condition: &str, at: &str| {
                format!(
                    "program(a: [1]{ty}, m: [0]i64) {{
                       r: [1]{ty} = generate(shape: || m[], f: |%i: i64| {{
                         %p: i64 = mul(%i, {step}i64)
                         %q: i64 = {at}
                         %c: bool = {condition}
                         %r: {ty} = if %c {{ yield a[%q] }} else {{ yield a[0i64] }}
                         yield %r }})
                       yield r
                     }}"
                )
            };
            for n in [1, 90, 700] {
                let elt = parse(&program("true", "mul(%p, 1i64)")).param_types().next().unwrap().elt.clone();
                let a = array(&[n], &elt, &mut Rng(21));
                // All elements that exist, and inactive lanes beyond; from the end of the array, and beyond it.
                for m in [n / step, n / step + 1, n, n + 40] {
                    for at in ["add(%p, 0i64)", "sub(%p, 7i64)", "add(%p, 1i64)"] {
                        for condition in
                            ["and(ge(%q, 0i64), lt(%q, extent(a, 0)))", "lt(rem(%i, 5i64), 3i64)", "ge(%q, 0i64)"]
                        {
                            agree(&program(condition, at), &[a.clone(), int(m as i64)]);
                        }
                    }
                }
            }
        }
    }
}
