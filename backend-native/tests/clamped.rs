//! Reads at clamped positions, which are runs of neighbours away from their bounds, against the interpreter.

mod common;

use common::{Rng, agree, array, int, parse};

/// Programs over `a`, which is read at `INDEX` of `%i` and `n`.
const PROGRAMS: [&str; 6] = [
    // Stored, of one leaf and of several.
    "r: [1]T = generate(shape: || m[], f: |%i: i64| a[INDEX]) yield r",
    "p: [1](T, f64, T) = generate(shape: || m[], f: |%i: i64| { %x: T = a[INDEX] %y: T = a[NEXT] yield %x, cast(%i, f64), %y })
     yield p",
    // Under a condition.
    "r: [1]T = generate(shape: || m[], f: |%i: i64| {
       %c: bool = lt(rem(%i, 5i64), 3i64)
       %r: T = if %c { yield a[INDEX] } else { yield a[0i64] }
       yield %r })
     yield r",
    // Taken for something else, too.
    "r: [1](T, i64) = generate(shape: || m[], f: |%i: i64| { %k: i64 = INDEX yield a[%k], %k }) yield r",
    // Folded and scanned, from both ends.
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
    agree(&text, &[array(&[extent as usize], &elt, &mut Rng(9)), int(n), int(m)]);
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
    for program in PROGRAMS {
        for (index, extent, n) in [
            // Below the first element and beyond the last one; there, but in no lane.
            ("max(sub(%i, 1i64), n[])", 100, -1),
            ("min(%i, n[])", 100, 100),
            ("min(%i, n[])", 300, 500),
            ("max(%i, n[])", 300, 299),
            ("max(%i, n[])", 10, 10),
            ("max(%i, n[])", 0, 0),
            // Near the end of the numbers.
            ("min(add(%i, 9223372036854775700i64), n[])", 50, 49),
            ("max(add(%i, 9223372036854775700i64), n[])", 50, 49),
        ] {
            check("f32", program, index, [extent, n, 100]);
            check("u8", program, index, [extent, n, 250]);
        }
    }
}

/// The rows of a matrix, and the one before each; the lanes of short rows are of one row, or of several.
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
