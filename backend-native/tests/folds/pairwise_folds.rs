//! Folds of long rows with operators that are not built in: blocks of elements that are combined pairwise.

use crate::common::{Rng, agree, array, parse};

/// Rows and their lengths, around those of vectors, steps, blocks and chunks.
const SHAPES: [(usize, usize); 14] = [
    (2, 64),
    (3, 65),
    (5, 95),
    (2, 128),
    (3, 511),
    (2, 1023),
    (1, 1024),
    (1, 1025),
    (3, 1056),
    (2, 2047),
    (1, 3 * 1024 + 17),
    (1, (1 << 16) - 1),
    (2, (1 << 16) + 1),
    (1, 200_003),
];

/// Runs a program of a matrix in each shape.
fn each(text: &str) {
    let mut r = Rng(47);
    let elt = parse(text).param_types().next().unwrap().elt.clone();
    for (rows, row) in SHAPES {
        agree(text, &[array(&[rows, row], &elt, &mut r)]);
    }
}

#[test]
fn functions_are_composed_in_their_order() {
    // Of x * a + b: the left one first.
    for ty in ["u8", "i16", "u32", "i64"] {
        let text = "program(a: [2]T) {
           f: [2](T, T) = imap(a, f: |%i: i64, %j: i64, %x: T| (or(%x, one), add(%x, cast(%j, T))))
           r: [1](T, T) = fold1(f, f: |%a: T, %b: T, %c: T, %d: T| (mul(%a, %c), add(mul(%c, %b), %d)))
           s: [1](T, T) = fold(f, f: |%a: T, %b: T, %c: T, %d: T| (mul(%a, %c), add(mul(%c, %b), %d)),
             init: || (one, two))
           yield r, s
         }";
        each(&text.replace("one", &format!("1{ty}")).replace("two", &format!("2{ty}")).replace('T', ty));
    }
}

#[test]
fn leaves_of_many_types_beside_what_is_known_and_what_is_stored() {
    each(
        "program(a: [2]f64) {
           p: [2](bool, char, i8, f64, i64) = imap(a, f: |%i: i64, %j: i64, %x: f64|
             (lt(%x, 0.0f64), 'k', cast(%j, i8), %x, %j))
           r: [1](bool, char, i8, f64, i64) = fold1(p,
             f: |%a: bool, %b: char, %c: i8, %d: f64, %e: i64, %u: bool, %v: char, %w: i8, %x: f64, %y: i64| {
               %k: i8 = if %u { yield %w } else { yield %c }
               %n: i64 = if %u { yield %y } else { yield %e }
               yield or(%a, %u), %v, %k, min(%d, %x), %n
             })
           q: [2]i64 = map(a, f: |%x: f64| if lt(%x, 1.0f64) { yield 1i64 } else { yield 0i64 })
           n: [1]i64 = fold(q, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
           d: [2]f64 = map(a, f: |%x: f64| mul(%x, 2.0f64))
           yield r, n, d
         }",
    );
}

/// Elements of so many leaves that a function cannot buffer a block of them.
#[test]
fn elements_of_many_leaves() {
    let of = |leaf: &dyn Fn(usize) -> String| (0..200).map(leaf).collect::<Vec<_>>().join(", ");
    let text = format!(
        "program(a: [2]f64) {{
           p: [2]({types}) = map(a, f: |%x: f64| {{
             %y: f64 = add(%x, 1.0f64)
             yield {elements}
           }})
           r: [1]({types}) = fold1(p, f: |{params}| {{ yield {results} }})
           yield r
         }}",
        types = of(&|_| "f64".into()),
        elements = of(&|k| format!("%{}", ["x", "y"][k % 2])),
        params = of(&|k| format!("%a{k}: f64")) + ", " + &of(&|k| format!("%b{k}: f64")),
        results = of(&|k| format!("%{}{k}", ["a", "b"][k % 2])),
    );
    let mut r = Rng(53);
    let elt = parse(&text).param_types().next().unwrap().elt.clone();
    for (rows, row) in [(2, 100), (1, 3000)] {
        agree(&text, &[array(&[rows, row], &elt, &mut r)]);
    }
}

/// A loop with a different number of iterations in each lane.
#[test]
fn operators_with_loops() {
    each(
        "program(a: [2]u32) {
           r: [1]u32 = fold1(a, f: |%x: u32, %y: u32| {
             %g: u32, %h: u32 = while (%x, %y) test |%g: u32, %h: u32| { yield ne(%h, 0u32) }
               step |%g: u32, %h: u32| { yield %h, rem(%g, max(%h, 1u32)) }
             yield %g
           })
           yield r
         }",
    );
}

#[test]
fn folds_beside_scans() {
    each(
        "program(a: [2]i32) {
           f: [2](i32, i32) = imap(a, f: |%i: i64, %j: i64, %x: i32| (or(%x, 1i32), add(%x, cast(%j, i32))))
           r: [1](i32, i32) = fold1(f, f: |%a: i32, %b: i32, %c: i32, %d: i32| (mul(%a, %c), add(mul(%c, %b), %d)))
           s: [2]i32 = scanl1(a, f: |%x: i32, %y: i32| add(%x, %y))
           t: [2](i32, i32) = scanl1(f, f: |%a: i32, %b: i32, %c: i32, %d: i32| (mul(%a, %c), add(mul(%c, %b), %d)))
           yield r, s, t
         }",
    );
}
