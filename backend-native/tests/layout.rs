//! What walks across memory or moves through it by digits of keys: folds of columns, transpositions, sorts.

mod common;

use acc_core::data::{ArrayData, Column, ColumnElt, HasScalarType, Lit, Prim, ScalarType};
use acc_core::prelude::f16;
use acc_core::{Executor, RunLimits};
use backend_native::Native;
use common::{Rng, agree, agree_within, array, native, parse, scalar};

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
    // Lengths around those of a strip, and columns around those of steps of vectors.
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
                // Not commutative, and of no known operator.
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
fn transpositions_in_panels() {
    for (rows, columns) in [(129, 3), (130, 200), (257, 1000), (1024, 64)] {
        transposed(rows, columns, |x| x as u8);
        transposed(rows, columns, |x| x as i16);
        transposed(rows, columns, |x| x as u32);
        transposed(rows, columns, |x| x as i64);
        transposed(rows, columns, |x| f16::from_f32((x % 100) as f32));
    }
    // Written past the caches.
    transposed(2048, 2100, |x| x as u32);
    transposed(4096, 4200, |x| x as u8);
    transposed(1600, 1400, |x| x as f64);
    // Not: rows do not begin at lines.
    transposed(2050, 2100, |x| x as u32);
}

/// Positions that sort elements, which are lists of leaves.
fn order(elements: &[Vec<Lit>]) -> Vec<i64> {
    let keys: Vec<Vec<u64>> = elements.iter().map(|e| e.iter().map(|l| l.sort_key()).collect()).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    order.into_iter().map(|k| k as i64).collect()
}

fn sorted(types: &[ScalarType], n: usize, mut element: impl FnMut(usize, ScalarType) -> Lit) {
    let elements: Vec<Vec<Lit>> = (0..n).map(|k| types.iter().map(|&t| element(k, t)).collect()).collect();
    let columns: Vec<Column> =
        types.iter().enumerate().map(|(c, &t)| Column::from_lits(t, elements.iter().map(|e| e[c]))).collect();
    let names: Vec<String> = types.iter().map(ToString::to_string).collect();
    let elt = if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
    let program = parse(&format!("program(a: [1]{elt}) {{ r: [1]i64 = argsort(a) yield r }}"));
    let elt = program.param_types().next().unwrap().elt.clone();
    let args = [ArrayData::new([n], elt, columns).unwrap()];
    let want = order(&elements);
    for threads in [1, 3] {
        let backend = Native::with_threads(threads).unwrap();
        let got = backend.run_untyped(&program, &args, &RunLimits::none()).unwrap();
        assert!(got[0].columns()[0].as_slice::<i64>().unwrap() == want, "{names:?} {n} {threads}");
    }
}

/// Lengths around those where sorting changes its way.
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
    // One digit for nearly all, at the top and below.
    of(&mut |k, x| if k == 70_000 { u64::MAX } else { x >> 40 });
    of(&mut |k, x| if k % 1000 == 0 { x } else { 1 << 31 | (x & 3) });
    of(&mut |_, x| x & 0x8000_0001_8000_0001);
    of(&mut |k, x| if k % 2 == 0 { 5 } else { x << 20 });
}

#[test]
fn rows_are_sorted_each_on_its_own() {
    let mut r = Rng(31);
    let program = parse("program(a: [2]i32) { r: [2]i64 = argsort(a) yield r }");
    for (rows, row) in [(40, 700), (3, 20_000), (2, 70_000), (600, 100), (0, 5), (5, 0)] {
        let a = array(&[rows, row], &ScalarType::I32.into(), &mut r);
        let values = a.columns()[0].as_slice::<i32>().unwrap();
        let got = native(&program, std::slice::from_ref(&a)).unwrap();
        let got = got[0].columns()[0].as_slice::<i64>().unwrap();
        for (values, got) in values.chunks(row.max(1)).zip(got.chunks(row.max(1))) {
            let elements: Vec<Vec<Lit>> = values.iter().map(|x| vec![x.lit()]).collect();
            assert!(order(&elements) == got, "{rows} {row}");
        }
    }
}
