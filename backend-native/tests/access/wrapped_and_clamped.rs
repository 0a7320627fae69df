//! Loads at wrapped and clamped indices, which are contiguous up to the divisor or bound, against the interpreter.

use crate::common::{Rng, agree, array, int, parse};
use acc_core::data::ScalarType;

/// Programs over `a`, which is read at `INDEX` of `%i` and `n`.
const PROGRAMS: [&str; 6] = [
    // Stored; one leaf and several.
    "r: [1]T = generate(shape: || m[], f: |%i: i64| a[INDEX]) yield r",
    "p: [1](T, f64, T) = generate(shape: || m[], f: |%i: i64| { %x: T = a[INDEX] %y: T = a[NEXT] yield %x, cast(%i, f64), %y })
     yield p",
    // Under a condition.
    "r: [1]T = generate(shape: || m[], f: |%i: i64| {
       %c: bool = lt(rem(%i, 5i64), 3i64)
       %r: T = if %c { yield a[INDEX] } else { yield a[0i64] }
       yield %r })
     yield r",
    // The index is also used elsewhere.
    "r: [1](T, i64) = generate(shape: || m[], f: |%i: i64| { %k: i64 = INDEX yield a[%k], %k }) yield r",
    // Folded and scanned in both directions.
    "p: [1]T = generate(shape: || m[], f: |%i: i64| a[INDEX])
     s: [0]T = fold1(p, f: |%x: T, %y: T| max(%x, %y))
     yield s",
    "p: [1]T = generate(shape: || m[], f: |%i: i64| a[INDEX])
     s: [1]T = scanl1(p, f: |%x: T, %y: T| max(%x, %y))
     t: [1]T = scanr1(p, f: |%x: T, %y: T| min(%x, %y))
     yield s, t",
];

fn check(ty: &str, program: &str, index: &str, [extent, n, m]: [i64; 3]) {
    let next = index.replace("%i", "add(%i, 1i64)");
    let body = program.replace("NEXT", &next).replace("INDEX", index).replace("[1]T", &format!("[1]{ty}"));
    let body =
        body.replace(": T", &format!(": {ty}")).replace("(T,", &format!("({ty},")).replace(", T)", &format!(", {ty})"));
    let text = format!("program(a: [1]{ty}, n: [0]i64, m: [0]i64) {{ {} }}", body.replace("[0]T", &format!("[0]{ty}")));
    let elt = parse(&text).param_types().next().unwrap().elt.clone();
    agree(&text, &[array(&[extent as usize], &elt, &mut Rng(7)), int(n), int(m)]);
}

/// Runs every program with each index, extent and `n`.
fn check_all(cases: &[(&str, i64, i64)]) {
    for program in PROGRAMS {
        for &(index, extent, n) in cases {
            check("f32", program, index, [extent, n, 100]);
            check("u8", program, index, [extent, n, 250]);
        }
    }
}

#[test]
fn rows_that_start_again() {
    let indices = ["rem(%i, n[])", "rem(add(%i, 5i64), n[])", "mod_floor(sub(%i, 37i64), n[])", "mod_floor(%i, 7i64)"];
    for ty in ["u8", "i16", "f32", "i64", "bool"] {
        for program in PROGRAMS {
            for index in indices {
                for n in [7, 33, 64, 200, 1000] {
                    check(ty, program, index, [n, n, 130]);
                    check(ty, program, index, [n, n, 1030]);
                }
            }
        }
    }
}

#[test]
fn divisors_that_are_no_extent() {
    check_all(&[
        // Divisors less than the extent, and greater: the element may exist or not.
        ("rem(%i, n[])", 100, 60),
        ("rem(%i, n[])", 300, 5000),
        ("rem(%i, n[])", 100, 101),
        ("mod_floor(add(%i, 90i64), n[])", 100, 101),
        // Zero, negative ones, and negative remainders.
        ("rem(%i, n[])", 10, 0),
        ("mod_floor(%i, n[])", 10, -3),
        ("rem(sub(%i, 3i64), n[])", 10, 10),
        ("rem(%i, n[])", 0, 4),
        // Near the greatest integer.
        ("mod_floor(add(%i, 9223372036854775700i64), n[])", 50, 50),
        ("rem(%i, n[])", 100, 9223372036854775807),
    ]);
}

/// A step of the game of life on a torus, and rows of which each lane reads its own.
#[test]
fn planes_that_start_again() {
    for op in ["rem", "mod_floor"] {
        let text = format!(
            "program(x: [2]u8) {{
               y: [2]u8 = generate(shape: || (extent(x, 0), extent(x, 1)), f: |%i: i64, %j: i64| {{
                 %n: i64 = extent(x, 0)
                 %m: i64 = extent(x, 1)
                 %u: i64 = {op}(add(%i, sub(%n, 1i64)), %n)
                 %d: i64 = {op}(add(%i, 1i64), %n)
                 %l: i64 = {op}(add(%j, sub(%m, 1i64)), %m)
                 %r: i64 = {op}(add(%j, 1i64), %m)
                 %c: u8 = add(add(add(x[%u, %l], x[%u, %j]), add(x[%u, %r], x[%i, %l])),
                              add(add(x[%i, %r], x[%d, %l]), add(x[%d, %j], x[%d, %r])))
                 yield select(or(eq(%c, 3u8), and(eq(%c, 2u8), eq(x[%i, %j], 1u8))), 1u8, 0u8)
               }})
               z: [2]u8 = generate(shape: || (extent(x, 0), extent(x, 1)), f: |%i: i64, %j: i64|
                 x[{op}(%j, extent(x, 0)), {op}(add(%j, %i), extent(x, 1))])
               yield y, z
             }}"
        );
        for shape in [[1, 1], [2, 3], [5, 70], [40, 200], [3, 1000]] {
            agree(&text, &[array(&shape, &ScalarType::U8.into(), &mut Rng(11))]);
        }
    }
}

#[test]
fn neighbours_between_bounds() {
    let last = "sub(n[], 1i64)";
    let indices = [
        "max(sub(%i, 1i64), 0i64)".to_string(),
        format!("min(add(%i, 3i64), {last})"),
        format!("max(0i64, min({last}, sub(%i, 40i64)))"),
        format!("min(max(sub(%i, 200i64), 5i64), {last})"),
    ];
    for ty in ["u8", "i16", "f32", "i64", "bool"] {
        for program in PROGRAMS {
            for index in &indices {
                for n in [33, 200, 1030] {
                    check(ty, program, index, [n, n, n.min(130)]);
                    check(ty, program, index, [n, n, n]);
                }
            }
        }
    }
}

#[test]
fn bounds_that_are_not_within_the_array() {
    check_all(&[
        // Below the first element and beyond the last one; inactive lanes.
        ("max(sub(%i, 1i64), n[])", 100, -1),
        ("min(%i, n[])", 100, 100),
        ("min(%i, n[])", 300, 500),
        ("max(%i, n[])", 300, 299),
        ("max(%i, n[])", 10, 10),
        ("max(%i, n[])", 0, 0),
        // Near the greatest integer.
        ("min(add(%i, 9223372036854775700i64), n[])", 50, 49),
        ("max(add(%i, 9223372036854775700i64), n[])", 50, 49),
    ]);
}

/// The rows of a matrix, and the one before each; with short rows, lanes belong to several rows.
#[test]
fn rows_and_columns() {
    let text = "program(a: [2]f32) {
        r: [2]f32 = generate(shape: || (extent(a, 0), extent(a, 1)),
          f: |%i: i64, %j: i64| add(a[max(sub(%i, 1i64), 0i64), %j], a[%i, min(add(%j, 1i64), sub(extent(a, 1), 1i64))]))
        s: [2]f32 = generate(shape: || (extent(a, 1), extent(a, 0)),
          f: |%j: i64, %i: i64| a[max(sub(%i, 2i64), 0i64), %j])
        yield r, s
      }";
    let elt = parse(text).param_types().next().unwrap().elt.clone();
    for shape in [[1, 1], [3, 5], [40, 7], [17, 130], [64, 64], [2, 1000]] {
        agree(text, &[array(&shape, &elt, &mut Rng(3))]);
    }
}
