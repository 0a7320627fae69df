//! Many short rows, each in a lane, with strided loads and stores.

use crate::common::{Rng, agree, agree_within, array, parse};
use acc_core::data::ScalarType;

/// Rows and their lengths, around those of vectors and of transposed blocks.
const SHAPES: [(usize, usize); 9] =
    [(70, 1), (200, 3), (131, 5), (64, 8), (300, 15), (97, 16), (130, 17), (75, 33), (129, 63)];

const TYPES: [&str; 8] = ["f32", "f64", "f16", "i8", "u16", "i32", "u64", "char"];

/// Runs a program over a matrix of each type and shape.
fn each(types: &[&str], text: &str) {
    let mut r = Rng(41);
    for ty in types {
        let text = text.replace("T", ty);
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for (rows, row) in SHAPES {
            agree_within(&text, &[array(&[rows, row], &elt, &mut r)], 1e-2);
        }
    }
}

#[test]
fn folds_of_known_and_unknown_operators() {
    each(&TYPES, "program(a: [2]T) { r: [1]T = fold1(a, f: |%x: T, %y: T| max(%x, %y)) yield r }");
    each(
        &["f32", "i64", "u8"],
        "program(a: [2]T) {
           b: [2](T, i64) = imap(a, f: |%i: i64, %j: i64, %x: T| (%x, add(mul(%i, 7i64), %j)))
           r: [1](T, i64) = fold1(b, f: |%x: T, %i: i64, %y: T, %j: i64|
             if lt(%y, %x) { yield %y, %j } else { yield %x, %i })
           yield r
         }",
    );
    each(
        &["f32", "i16"],
        "program(a: [2]T) {
           r: [1]T = fold1(a, f: |%x: T, %y: T| add(%x, %y))
           b: [2]T = imap(a, f: |%i: i64, %j: i64, %x: T| sub(%x, r[%i]))
           s: [1]T = fold1(b, f: |%x: T, %y: T| max(%x, %y))
           yield b, s
         }",
    );
}

#[test]
fn scans_from_both_ends() {
    for scan in ["scanl1(a, f: F)", "scanr1(a, f: F)", "scanl(a, f: F, init: || I)", "scanr(a, f: F, init: || I)"] {
        for (ty, init) in [("f32", "2.0f32"), ("f64", "2.0f64"), ("i8", "2i8"), ("u16", "2u16"), ("i64", "2i64")] {
            for f in ["|%x: T, %y: T| add(%x, %y)", "|%x: T, %y: T| sub(%x, %y)"] {
                let scan = scan.replace('F', f).replace('I', init);
                each(&[ty], &format!("program(a: [2]T) {{ r: [2]T = {scan} yield r }}"));
            }
        }
    }
}

#[test]
fn elements_beside_what_is_the_same_for_a_row() {
    each(
        &TYPES,
        "program(a: [2]T) {
           r: [1]T = generate(shape: || extent(a, 0), f: |%i: i64| a[%i, 0i64])
           b: [2]T = imap(a, f: |%i: i64, %j: i64, %x: T| max(%x, r[%i]))
           c: [2]bool = imap(a, f: |%i: i64, %j: i64, %x: T| lt(%x, r[%i]))
           yield b, c
         }",
    );
    let mut r = Rng(43);
    for (rows, row) in SHAPES {
        let flags = array(&[rows, row], &ScalarType::Bool.into(), &mut r);
        let text = "program(a: [2]bool) {
            r: [1]bool = fold1(a, f: |%x: bool, %y: bool| or(%x, %y))
            b: [2]bool = scanl1(a, f: |%x: bool, %y: bool| ne(%x, %y))
            yield r, b
          }";
        agree(text, &[flags]);
    }
}

#[test]
fn rows_of_planes_and_parts_of_rows() {
    let mut r = Rng(47);
    for (planes, rows, row) in [(3, 70, 8), (2, 130, 17), (5, 64, 4)] {
        let a = array(&[planes, rows, row], &ScalarType::I32.into(), &mut r);
        let text = "program(a: [3]i32) {
            d: [3]i32 = generate(shape: || (extent(a, 0), extent(a, 1), sub(extent(a, 2), 1i64)),
              f: |%p: i64, %i: i64, %j: i64| sub(a[%p, %i, add(%j, 1i64)], a[%p, %i, %j]))
            r: [2]i32 = fold1(d, f: |%x: i32, %y: i32| add(%x, %y))
            s: [3]i32 = scanl(d, f: |%x: i32, %y: i32| max(%x, %y), init: || 3i32)
            t: [3]i32 = generate(shape: || (extent(a, 0), extent(a, 1), quot(extent(a, 2), 2i64)),
              f: |%p: i64, %i: i64, %j: i64| sub(a[%p, sub(sub(extent(a, 1), 1i64), %i), %j], r[%p, %i]))
            yield r, s, t
          }";
        agree(text, &[a]);
    }
}
