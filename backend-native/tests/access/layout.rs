//! Strided and permuting access: folds of columns, transpositions, sorts.

use crate::common::{Rng, agree, agree_within, array, native, parse, same, scalar};
use acc_core::data::{ArrayData, Column, ColumnElt, HasScalarType, Lit, Prim, ScalarType};
use acc_core::exec::Ready;
use acc_core::prelude::f16;
use acc_core::{Executor, RunLimits};
use backend_native::Native;

/// A matrix whose columns are folded, as rows of its transposition.
fn folded(ty: &str, fold: &str) -> String {
    format!(
        "program(a: [2]{ty}) {{
           t: [2]{ty} = generate(shape: || (extent(a, 1), extent(a, 0)), f: |%i: i64, %j: i64| a[%j, %i])
           s: [1]{ty} = {fold}
           yield s
         }}"
    )
}

#[test]
fn columns_are_folded_in_strips() {
    // Row lengths around that of a strip, and column counts around those of steps of vectors.
    for (rows, columns) in [(1, 70), (15, 64), (16, 65), (17, 100), (33, 257), (100, 300), (64, 1030)] {
        let mut r = Rng(rows as u64 * 1000 + columns as u64);
        for ty in ["f32", "f64", "f16", "i8", "u16", "i32", "u64"] {
            let elt =
                parse(&folded(ty, "fold(t, f: |%x: F, %y: F| add(%x, %y), init: || 0F)".replace('F', ty).as_str()));
            let elt = elt.param_types().next().unwrap().elt.clone();
            let args = [array(&[rows, columns], &elt, &mut r)];
            for fold in [
                "fold(t, f: |%x: F, %y: F| add(%x, %y), init: || 2F)",
                "fold1(t, f: |%x: F, %y: F| max(%x, %y))",
                // Not commutative, and not built in.
                "fold1(t, f: |%x: F, %y: F| sub(mul(%x, 3F), %y))",
                "fold(t, f: |%x: F, %y: F| sub(mul(%x, 3F), %y), init: || 1F)",
            ] {
                let two = if ty.starts_with('f') { format!(".0{ty}") } else { ty.to_string() };
                let fold = fold.replace("2F", &format!("2{two}")).replace("1F", &format!("1{two}"));
                let fold = fold.replace("3F", &format!("3{two}")).replace('F', ty);
                agree_within(&folded(ty, &fold), &args, 1e-2);
            }
        }
        let args = [array(&[rows, columns], &ScalarType::Bool.into(), &mut r)];
        agree(&folded("bool", "fold1(t, f: |%x: bool, %y: bool| and(%x, %y))"), &args);
        agree(&folded("bool", "fold(t, f: |%x: bool, %y: bool| ne(%x, %y), init: || false)"), &args);
    }
}

#[test]
fn folds_of_arrays_whose_axes_are_permuted() {
    for (shape, index) in [
        ("(extent(a, 2), extent(a, 1), extent(a, 0))", "%k, %j, %i"),
        ("(extent(a, 1), extent(a, 2), extent(a, 0))", "%k, %i, %j"),
        ("(extent(a, 2), extent(a, 0), extent(a, 1))", "%j, %k, %i"),
        ("(extent(a, 0), extent(a, 2), extent(a, 1))", "%i, %k, %j"),
    ] {
        for fold in [
            "fold(t, f: |%x: f32, %y: f32| add(%x, %y), init: || 2.0f32)",
            // Not commutative.
            "fold1(t, f: |%x: f32, %y: f32| %y)",
        ] {
            let text = format!(
                "program(a: [3]f32) {{
                   t: [3]f32 = backpermute(a, shape: || {shape}, index: |%i: i64, %j: i64, %k: i64| ({index}))
                   s: [2]f32 = {fold}
                   r: [2]f32 = backpermute(s, shape: || (extent(s, 1), extent(s, 0)), index: |%i: i64, %j: i64| (%j, %i))
                   yield s, r
                 }}"
            );
            let elt = parse(&text).param_types().next().unwrap().elt.clone();
            for shape in [[1, 2, 3], [9, 70, 5], [33, 4, 65], [70, 17, 20], [0, 3, 4]] {
                if shape[0] > 0 || fold.starts_with("fold(") {
                    agree_within(&text, &[array(&shape, &elt, &mut Rng(11))], 1e-2);
                }
            }
        }
    }
}

#[test]
fn two_folds_of_columns_and_what_is_made_of_them() {
    let text = "program(a: [2]i32) {
        t: [2](i32, i64) = generate(shape: || (extent(a, 1), extent(a, 0)), f: |%i: i64, %j: i64| (a[%j, %i], %j))
        s: [1](i32, i64) = fold1(t, f: |%x: i32, %i: i64, %y: i32, %j: i64|
          if lt(%y, %x) { yield %y, %j } else { yield %x, %i })
        r: [1]i64 = map(s, f: |%x: i32, %i: i64| mul(%i, 2i64))
        yield s, r
      }";
    let mut r = Rng(3);
    for (rows, columns) in [(5, 100), (40, 64), (129, 333)] {
        agree(text, &[array(&[rows, columns], &ScalarType::I32.into(), &mut r)]);
    }
}

fn transposed<T: ColumnElt + HasScalarType + Prim + PartialEq + std::fmt::Debug>(
    rows: usize,
    columns: usize,
    of: impl Fn(u64) -> T,
) {
    let mut r = Rng(9);
    let values: Vec<T> = (0..rows * columns).map(|_| of(r.next())).collect();
    let ty = T::TYPE;
    let a =
        ArrayData::new([rows, columns], ty.into(), [Column::from_lits(ty, values.iter().map(|x| x.lit()))]).unwrap();
    let program = parse(&format!(
        "program(a: [2]{ty}) {{
           t: [2]{ty} = generate(shape: || (extent(a, 1), extent(a, 0)), f: |%i: i64, %j: i64| a[%j, %i])
           yield t
         }}"
    ));
    for backend in [Native::compiled(), Native::tiles(), Native::with_threads(3).unwrap()] {
        let t = backend.run_untyped(&program, std::slice::from_ref(&a), &RunLimits::none()).unwrap();
        let t = t[0].columns()[0].as_slice::<T>().unwrap();
        for i in 0..columns {
            let row = &t[i * rows..][..rows];
            assert!(
                row.iter().enumerate().all(|(j, x)| *x == values[j * columns + i]),
                "{rows} {columns} {ty} row {i}"
            );
        }
    }
}

#[test]
fn elements_that_lie_apart() {
    // The last element of a row is the last one read, whatever comes in between.
    let mut r = Rng(31);
    for ty in ["bool", "u8", "i16", "f16", "i32", "f32", "f64", "u64"] {
        for step in [2, 3, 4, 5] {
            let text = format!(
                "program(a: [2]{ty}) {{
                   b: [2]{ty} = backpermute(a, shape: || (extent(a, 0), add(1i64, quot(sub(extent(a, 1), 1i64), {step}i64))),
                     index: |%i: i64, %j: i64| (%i, mul(%j, {step}i64)))
                   c: [2]{ty} = generate(shape: || (extent(a, 0), quot(extent(a, 1), {step}i64)),
                     f: |%i: i64, %j: i64| a[%i, sub(mul(add(%j, 1i64), {step}i64), 1i64)])
                   yield b, c
                 }}"
            );
            let elt = parse(&text).param_types().next().unwrap().elt.clone();
            for shape in [[3, 1], [2, 31], [1, 257], [5, 400], [0, 9]] {
                agree(&text, &[array(&shape, &elt, &mut r)]);
            }
        }
    }
}

#[test]
fn transpositions_in_panels() {
    for (rows, columns) in
        [(129, 3), (130, 200), (257, 1000), (1024, 64), (8, 8), (9, 17), (16, 16), (1000, 9), (33, 15)]
    {
        transposed(rows, columns, |x| x as u8);
        transposed(rows, columns, |x| x as i16);
        transposed(rows, columns, |x| x as u32);
        transposed(rows, columns, |x| x as i64);
        transposed(rows, columns, |x| f16::from_f32((x % 100) as f32));
    }
    // Non-temporal stores.
    transposed(2048, 2100, |x| x as u32);
    transposed(4096, 4200, |x| x as u8);
    transposed(1600, 1400, |x| x as f64);
    // The same with cache lines at any offset in the rows.
    for (rows, columns) in [(2050, 2100), (2101, 2003), (5_001, 1000), (4100, 1025)] {
        transposed(rows, columns, |x| x as u32);
    }
    transposed(4097, 4111, |x| x as u8);
    transposed(3001, 2999, |x| x as i16);
    transposed(1601, 1403, |x| x as f64);
    transposed(2_100_003, 9, |x| x as u8);
    // Few, long rows, whose columns threads split.
    for (rows, columns) in [(100_000, 3), (65_536, 70), (20_001, 33), (140_000, 2), (70_001, 1024)] {
        transposed(rows, columns, |x| x as u32);
    }
    transposed(90_000, 9, |x| x as f64);
    transposed(300_007, 9, |x| x as f64);
    transposed(200_001, 24, |x| x as u32);
    transposed(262_144, 17, |x| x as u8);
}

/// Arrays of other ranks; several arrays; transposed and other loads together; elements with several leaves.
#[test]
fn reads_across_rows_are_transposed() {
    let mut r = Rng(41);
    for ty in ["f32", "f64", "f16", "i8", "u16", "bool", "i64", "char"] {
        for [a, b, c] in
            [[3, 40, 50], [70, 40, 17], [1, 16, 130], [20, 9, 7], [2, 200, 33], [4, 0, 9], [4, 9, 0], [0, 9, 9]]
        {
            for (shape, read) in [
                ("(extent(a, 0), extent(a, 2), extent(a, 1))", "a[%x, %z, %y]"),
                ("(extent(a, 1), extent(a, 2), extent(a, 0))", "a[%z, %x, %y]"),
                ("(extent(a, 2), extent(a, 1), extent(a, 0))", "a[%z, %y, %x]"),
            ] {
                let text = format!(
                    "program(a: [3]{ty}) {{
                       t: [3]{ty} = generate(shape: || {shape}, f: |%x: i64, %y: i64, %z: i64| {read})
                       yield t
                     }}"
                );
                let elt = parse(&text).param_types().next().unwrap().elt.clone();
                agree(&text, &[array(&[a, b, c], &elt, &mut r)]);
            }
        }
    }
    // Axes in between, with enough work for several threads.
    for (shape, read) in [
        ("(extent(a, 3), extent(a, 1), extent(a, 2), extent(a, 0))", "a[%z, %x, %y, %w]"),
        ("(extent(a, 1), extent(a, 3), extent(a, 2), extent(a, 0))", "a[%z, %w, %y, %x]"),
    ] {
        let text = format!(
            "program(a: [4]f32) {{
               t: [4]f32 = generate(shape: || {shape}, f: |%w: i64, %x: i64, %y: i64, %z: i64| {read})
               yield t
             }}"
        );
        for extents in [[3, 20, 5, 40], [17, 2, 33, 18], [40, 1, 9, 16], [9, 10, 0, 11], [64, 9, 10, 70]] {
            agree(&text, &[array(&extents, &ScalarType::F32.into(), &mut r)]);
        }
    }
    // Non-temporal stores of several results of one size, with axes in between.
    let text = "program(a: [3](f32, i32)) {
        t: [3](f32, i32) = generate(shape: || (extent(a, 2), extent(a, 0), extent(a, 1)),
          f: |%k: i64, %i: i64, %j: i64| { %x: f32, %y: i32 = a[%i, %j, %k] yield neg(%x), add(%y, cast(%j, i32)) })
        yield t
      }";
    let pairs = parse(text).param_types().next().unwrap().elt.clone();
    for extents in [[130, 170, 203], [90, 1001, 33]] {
        agree(text, &[array(&extents, &pairs, &mut r)]);
    }
    let text = "program(a: [2](i32, f64), b: [2]i32) {
        t: [2](i32, f64, i32) = generate(shape: || (sub(extent(a, 1), 1i64), extent(a, 0)), f: |%i: i64, %j: i64| {
          %p: i32, %q: f64 = a[%j, %i]
          %r: i32, %s: f64 = a[%j, add(%i, 1i64)]
          %u: i32 = b[%i, %j]
          yield add(%p, mul(%r, %u)), sub(%q, %s), %u
        })
        yield t
      }";
    for (rows, columns) in [(100, 131), (17, 40), (300, 18), (9, 9)] {
        let pairs = parse(text).param_types().next().unwrap().elt.clone();
        let args = [array(&[rows, columns], &pairs, &mut r), array(&[columns, rows], &ScalarType::I32.into(), &mut r)];
        agree(text, &args);
    }
}

/// The permutation that sorts elements, given as lists of leaves.
fn order(elements: &[Vec<Lit>]) -> Vec<i64> {
    let keys: Vec<Vec<u64>> = elements.iter().map(|e| e.iter().map(|l| l.sort_key()).collect()).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    order.into_iter().map(|k| k as i64).collect()
}

/// A program that yields the permutation that sorts each row of an array, and its sorted elements.
fn sorts(elt: &str, rank: usize) -> String {
    let (outer, inner, extents) = match rank {
        1 => ("", "%i", "extent(a, 0)"),
        _ => ("%r, ", "%r, %i", "(extent(a, 0), extent(a, 1))"),
    };
    let params = if rank == 1 { "%i: i64" } else { "%r: i64, %i: i64" };
    format!(
        "program(a: [{rank}]{elt}) {{
           p: [{rank}]i64 = argsort(a)
           s: [{rank}]{elt} = backpermute(a, shape: || {extents}, index: |{params}| ({outer}p[{inner}]))
           yield p, s
         }}"
    )
}

fn sorted(types: &[ScalarType], n: usize, mut element: impl FnMut(usize, ScalarType) -> Lit) {
    let elements: Vec<Vec<Lit>> = (0..n).map(|k| types.iter().map(|&t| element(k, t)).collect()).collect();
    let columns = |elements: &[&Vec<Lit>]| -> Vec<Column> {
        let column = |(c, &t): (usize, &ScalarType)| Column::from_lits(t, elements.iter().map(|e| e[c]));
        types.iter().enumerate().map(column).collect()
    };
    let names: Vec<String> = types.iter().map(ToString::to_string).collect();
    let elt = if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
    let elt_type = parse(&sorts(&elt, 1)).param_types().next().unwrap().elt.clone();
    let args = [ArrayData::new([n], elt_type, columns(&elements.iter().collect::<Vec<_>>())).unwrap()];
    let want = order(&elements);
    let in_order: Vec<&Vec<Lit>> = want.iter().map(|&k| &elements[k as usize]).collect();
    let in_order: Vec<Vec<u64>> = in_order.iter().map(|e| e.iter().map(|l| l.bits).collect()).collect();
    // Positions and elements, and elements alone.
    let alone = |result: &str| parse(&sorts(&elt, 1).replace("yield p, s", &format!("yield {result}")));
    for threads in [1, 3] {
        let backend = Native::with_threads(threads).unwrap();
        let run = |result| backend.run_untyped(&alone(result), &args, &RunLimits::none()).unwrap().remove(0);
        assert!(run("p").columns()[0].as_slice::<i64>().unwrap() == want, "{names:?} {n} {threads}");
        let values = run("s");
        for (k, want) in in_order.iter().enumerate() {
            let got: Vec<u64> = values.columns().iter().map(|c| c.slice().get(k).unwrap().bits).collect();
            assert!(got == *want, "{names:?} {n} {threads}: element {k}");
        }
    }
}

/// Lengths around those where the sorting algorithm changes.
const LENGTHS: [usize; 9] = [0, 1, 100, 511, 513, 5000, (1 << 15) - 1, (1 << 15) + 1, 200_000];

#[test]
fn sorts_of_every_type_and_length() {
    use ScalarType::*;
    let mut r = Rng(17);
    for n in LENGTHS {
        for ty in [F16, F32, F64, Bool, Char, I8, I16, I32, I64, U8, U16, U32, U64] {
            sorted(&[ty], n, |_, t| scalar(t, &mut r));
        }
        sorted(&[Bool, F64], n, |_, t| scalar(t, &mut r));
        sorted(&[I16, U8, I64], n, |_, t| scalar(t, &mut r));
    }
}

#[test]
fn sorts_of_keys_that_are_spread_unevenly() {
    let n = 150_000;
    let mut r = Rng(23);
    let mut of = |f: &mut dyn FnMut(usize, u64) -> u64| {
        sorted(&[ScalarType::U64], n, |k, _| f(k, r.next()).lit());
        sorted(&[ScalarType::U32], n, |k, _| (f(k, r.next()) as u32).lit());
        sorted(&[ScalarType::F32, ScalarType::U32], n, |k, t| match t {
            ScalarType::F32 => f32::from_bits(f(k, r.next()) as u32).lit(),
            _ => ((f(k, r.next()) % 3) as u32).lit(),
        });
    };
    of(&mut |_, x| x);
    of(&mut |_, _| 7);
    of(&mut |k, _| k as u64);
    of(&mut |k, _| (n - k) as u64);
    // Nearly all keys with one digit value, in the most significant digit and below.
    of(&mut |k, x| if k == 70_000 { u64::MAX } else { x >> 40 });
    of(&mut |k, x| if k % 1000 == 0 { x } else { 1 << 31 | (x & 3) });
    of(&mut |_, x| x & 0x8000_0001_8000_0001);
    of(&mut |k, x| if k % 2 == 0 { 5 } else { x << 20 });
}

#[test]
fn rows_are_sorted_each_on_its_own() {
    let mut r = Rng(31);
    let alone = |elt: &str, result: &str| parse(&sorts(elt, 2).replace("yield p, s", &format!("yield {result}")));
    let few = [(600, 100), (100, 9), (33, 64), (1000, 2), (17, 1030), (0, 5), (5, 0), (70, 1)];
    for (rows, row) in [(40, 700), (3, 20_000), (2, 70_000)].into_iter().chain(few) {
        for elt in ["i32", "(u8, i64)", "(f32, f32)", "(i64, f32, u64)", "f64", "f32", "i8", "bool", "char", "u64"] {
            let program = alone(elt, "p");
            let a = array(&[rows, row], &program.param_types().next().unwrap().elt.clone(), &mut r);
            let element = |k: usize| -> Vec<Lit> { a.columns().iter().map(|c| c.slice().get(k).unwrap()).collect() };
            let got = native(&program, std::slice::from_ref(&a)).unwrap();
            let positions = got[0].columns()[0].as_slice::<i64>().unwrap();
            let values = native(&alone(elt, "s"), std::slice::from_ref(&a)).unwrap();
            for (at, got) in (0..).step_by(row.max(1)).zip(positions.chunks(row.max(1))) {
                let elements: Vec<Vec<Lit>> = (at..at + row).map(element).collect();
                assert!(order(&elements) == got, "{elt} {rows} {row}");
                for (k, &p) in got.iter().enumerate() {
                    let value: Vec<u64> =
                        values[0].columns().iter().map(|c| c.slice().get(at + k).unwrap().bits).collect();
                    let want: Vec<u64> = elements[p as usize].iter().map(|l| l.bits).collect();
                    assert!(value == want, "{elt} {rows} {row}: element {k}");
                }
            }
        }
    }
}

#[test]
fn sorted_elements_need_no_positions() {
    let explain = |text: &str| Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain();
    for elt in ["u32", "(i8, f64)"] {
        let both = sorts(elt, 1);
        let alone = both.replace("yield p, s", "yield s");
        let e = explain(&alone);
        assert_eq!((e.kernels.len(), e.intermediates.len()), (0, 0), "{e}");
        // Positions are a result here.
        let e = explain(&both);
        assert_eq!((e.kernels.len(), e.intermediates.len()), (1, 0), "{e}");
        // Positions of other elements here.
        let back = "index: |%i: i64| sub(sub(extent(a, 0), 1i64), %i)";
        let reversed = format!("b: [1]{elt} = backpermute(a, shape: || extent(a, 0), {back}) p: [1]i64 = argsort(b)");
        let e = explain(&alone.replace("p: [1]i64 = argsort(a)", &reversed));
        assert_eq!((e.kernels.len(), e.intermediates.len()), (2, 2), "{e}");
    }
}

/// Results beyond the caches whose rows do not begin at cache lines: stencils, windows, several results of one size and of others.
#[test]
fn rows_anywhere_in_a_cache_line_are_stored_non_temporally() {
    let programs = [
        "r: [2]f32 = generate(shape: || (sub(extent(a, 0), 2i64), sub(extent(a, 1), 3i64)),
           f: |%i: i64, %j: i64| add(a[%i, %j], mul(2.0f32, a[add(%i, 2i64), add(%j, 3i64)]))) yield r",
        "r: [2]f32 = stencil(a, window: [3, 3], boundary: clamp,
           f: |%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32, %i: f32| sub(add(%a, %i), mul(%e, sub(%c, %g))))
         yield r",
        "r: [2](f32, i32) = imap(a, f: |%i: i64, %j: i64, %x: f32| (add(%x, cast(%i, f32)), cast(sub(%i, %j), i32)))
         s: [2]f32 = generate(shape: || (extent(a, 0), extent(a, 1)), f: |%i: i64, %j: i64| a[%i, max(sub(%j, 1i64), 0i64)])
         yield r, s",
        "r: [2](f32, f64) = imap(a, f: |%i: i64, %j: i64, %x: f32| (add(%x, cast(%i, f32)), cast(sub(%i, %j), f64))) yield r",
        "r: [2]bool = imap(a, f: |%i: i64, %j: i64, %x: f32| lt(%x, cast(%i, f32)))
         s: [2]f32 = generate(shape: || (extent(a, 0), extent(a, 1)),
           f: |%i: i64, %j: i64| if lt(%j, 7i64) { yield a[%i, %j] } else { yield a[%i, sub(%j, 7i64)] }) yield r, s",
    ];
    let mut r = Rng(77);
    for [rows, columns] in [[2100, 2101], [9000, 523], [8200, 513], [40_000, 110]] {
        let a = array(&[rows, columns], &ScalarType::F32.into(), &mut r);
        for body in programs {
            let program = parse(&format!("program(a: [2]f32) {{ {body} }}"));
            let args = [a.clone()];
            let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let got = native(&program, &args).unwrap();
            for (want, got) in want.iter().zip(&got) {
                assert_eq!(same(want, got, 0.0), Ok(()), "{rows} {columns} {body}");
            }
        }
    }
}
