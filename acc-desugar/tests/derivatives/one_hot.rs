//! Adjoints that are 0 but at one place of each row, against the interpreter's derivatives.

use super::support::{Numbers, check, check_with, expanded};
use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, Prim, ScalarType};
use acc_core::ir::Mode;
use acc_core::text;

/// Operators with and without an initial value, which wins some rows.
const EXTREMES: [&str; 4] = [
    "fold1(d, f: |%a: f64, %b: f64| min(%a, %b))",
    "fold1(d, f: |%a: f64, %b: f64| max(%b, %a))",
    "fold(d, f: |%a: f64, %b: f64| max(%a, %b), init: || 0.5f64)",
    "fold(d, f: |%a: f64, %b: f64| min(%b, %a), init: || 0.1f64)",
];

/// Distances of points to centres, by replicated arrays and by reads.
#[test]
fn nearest_centres() {
    for extreme in EXTREMES {
        for differences in [
            "p: [3]f64 = replicate(x, axes: [all, fixed, all], extents: || (extent(c, 0)))
             q: [3]f64 = replicate(c, axes: [fixed, all, all], extents: || (extent(x, 0)))
             s: [3]f64 = zip_with(p, q, f: |%x: f64, %c: f64| { %d: f64 = sub(%x, %c) yield mul(%d, %d) })",
            "s: [3]f64 = generate(shape: || (extent(x, 0), extent(c, 0), extent(x, 1)),
               f: |%i: i64, %j: i64, %k: i64| { %d: f64 = sub(x[%i, %k], c[%j, %k]) yield mul(%d, %d) })",
        ] {
            let source = format!(
                "program(x: [2]f64, c: [2]f64) {{
                   {differences}
                   d: [2]f64 = fold(s, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
                   m: [1]f64 = {extreme}
                   yield m
                 }}"
            );
            check_with(&source, &[&[5, 3], &[4, 3]]);
            check_with(&source, &[&[5, 0], &[4, 0]]);
            check_with(&source, &[&[0, 3], &[4, 3]]);
            if extreme.starts_with("fold(") {
                check_with(&source, &[&[5, 3], &[0, 3]]);
            }
        }
    }
}

/// Element-wise statements, with reads of arrays that have adjoints, of one array and of two of different extents.
#[test]
fn element_wise_statements() {
    for extreme in EXTREMES {
        for (statement, extents) in [
            ("map(x, f: |%x: f64| sin(%x))", [5, 2]),
            ("imap(x, f: |%i: i64, %j: i64, %x: f64| mul(%x, mul(y[%i, 0i64], y[1i64, %j])))", [4, 4]),
            ("imap(x, f: |%i: i64, %j: i64, %x: f64| mul(y[%j, %i], exp(%x)))", [4, 4]),
            ("zip_with(x, y, f: |%x: f64, %y: f64| mul(%x, exp(%y)))", [6, 3]),
            ("zip_with(x, y, f: |%x: f64, %y: f64| if gt(%x, 0.0f64) { yield mul(%x, %y) } else { yield %y })", [3, 6]),
            (
                "generate(shape: || (4i64, 4i64), f: |%i: i64, %j: i64| mul(x[%i, quot(%j, 2i64)], y[%i, sub(3i64, %j)]))",
                [4, 4],
            ),
        ] {
            let source = format!(
                "program(x: [2]f64, y: [2]f64) {{
                   e: [2]f64 = {statement}
                   d: [2]f64 = map(e, f: |%e: f64| mul(%e, %e))
                   m: [1]f64 = {extreme}
                   yield m
                 }}"
            );
            check_with(&source, &[&[4, 4], &extents]);
        }
    }
}

/// What moves elements.
#[test]
fn moved_elements() {
    for extreme in EXTREMES {
        for moved in [
            "backpermute(e, shape: || (extent(e, 1), extent(e, 0)), index: |%i: i64, %j: i64| (%j, %i))",
            "backpermute(e, shape: || (3i64, 2i64), index: |%i: i64, %j: i64| (%i, %i))",
            "backpermute(e, shape: || (3i64, 2i64), index: |%i: i64, %j: i64| (%j, add(%j, 1i64)))",
            "reshape(e, shape: || (2i64, 6i64))",
            "compute(e)",
            "check(e, ok: || (lt(extent(e, 0), 9i64)), message: \"many\")",
            "slice(f, axes: [all, fixed, all], index: || (2i64))",
        ] {
            let source = format!(
                "program(x: [2]f64) {{
                   e: [2]f64 = map(x, f: |%x: f64| exp(%x))
                   f: [3]f64 = replicate(e, axes: [all, all, fixed], extents: || (2i64))
                   d: [2]f64 = {moved}
                   m: [1]f64 = {extreme}
                   yield m
                 }}"
            );
            check_with(&source, &[&[3, 4]]);
        }
        // The axis of the winner is a new one; the array has other axes.
        for (axes, rank) in
            [("[all, all, fixed]", 2), ("[fixed, all, fixed]", 1), ("[fixed, fixed, all]", 1), ("[all, fixed, all]", 2)]
        {
            let extents = if rank == 2 { "(3i64)" } else { "(3i64, 2i64)" };
            let source = format!(
                "program(x: [{rank}]f64) {{
                   e: [{rank}]f64 = map(x, f: |%x: f64| exp(%x))
                   r: [3]f64 = replicate(e, axes: {axes}, extents: || {extents})
                   d: [3]f64 = imap(r, f: |%i: i64, %j: i64, %k: i64, %x: f64| mul(%x, cos(cast(add(mul(%i, 5i64), add(%j, mul(%k, %k))), f64))))
                   m: [2]f64 = {extreme}
                   yield m
                 }}"
            );
            check_with(&source, &[&[4, 3][..rank]]);
        }
    }
}

/// Extremes of extremes, and of all elements.
#[test]
fn extremes_of_extremes() {
    for extreme in EXTREMES {
        let source = format!(
            "program(x: [3]f64) {{
               d: [3]f64 = map(x, f: |%x: f64| sin(%x))
               m: [2]f64 = {extreme}
               n: [1]f64 = fold1(m, f: |%a: f64, %b: f64| max(%a, %b))
               r: [0]f64 = fold(n, f: |%a: f64, %b: f64| max(%a, %b), init: || 0.3f64)
               yield r, n
             }}"
        );
        check_with(&source, &[&[2, 3, 4]]);
        let source = format!(
            "program(x: [3]f64) {{
               e: [3]f64 = map(x, f: |%x: f64| sin(%x))
               d: [1]f64 = reshape(e, shape: || (mul(mul(extent(e, 0), extent(e, 1)), extent(e, 2))))
               m: [0]f64 = {extreme}
               yield m
             }}"
        );
        check_with(&source, &[&[2, 3, 4]]);
    }
}

/// Several contributions to one array: of the same places, of different ones, and of all elements.
#[test]
fn several_contributions() {
    for (first, second) in [
        ("fold1(e, f: |%a: f64, %b: f64| max(%a, %b))", "fold1(e, f: |%a: f64, %b: f64| min(%a, %b))"),
        ("fold1(e, f: |%a: f64, %b: f64| max(%a, %b))", "fold(e, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)"),
        ("fold(e, f: |%a: f64, %b: f64| mul(%a, %b), init: || 1.0f64)", "fold1(e, f: |%a: f64, %b: f64| max(%a, %b))"),
        (
            "generate(shape: || 3i64, f: |%i: i64| e[%i, rem(mul(%i, 2i64), 3i64)])",
            "fold1(e, f: |%a: f64, %b: f64| max(%a, %b))",
        ),
        (
            "fold1(e, f: |%a: f64, %b: f64| max(%a, %b))",
            "generate(shape: || 3i64, f: |%i: i64| e[%i, rem(mul(%i, 2i64), 3i64)])",
        ),
    ] {
        let source = format!(
            "program(x: [2]f64) {{
               e: [2]f64 = map(x, f: |%x: f64| exp(%x))
               a: [1]f64 = {first}
               b: [1]f64 = {second}
               c: [1]f64 = zip_with(a, b, f: |%a: f64, %b: f64| mul(%a, %b))
               yield c
             }}"
        );
        check_with(&source, &[&[3, 4]]);
    }
    let same = "program(x: [2]f64, y: [2]f64) {
       e: [2]f64 = map(x, f: |%x: f64| exp(%x))
       g: [2]f64 = map(e, f: |%x: f64| sin(%x))
       h: [2]f64 = map(e, f: |%x: f64| cos(%x))
       d: [2]f64 = zip_with(g, h, f: |%a: f64, %b: f64| add(%a, mul(%b, %b)))
       m: [1]f64 = fold1(d, f: |%a: f64, %b: f64| max(%a, %b))
       yield m
     }";
    check_with(same, &[&[3, 4], &[3, 4]]);
}

/// Within conditionals and loops.
#[test]
fn in_blocks() {
    for extreme in EXTREMES {
        let source = format!(
            "program(x: [2]f64, c: [0]i64) {{
               e: [2]f64 = map(x, f: |%x: f64| exp(%x))
               r: [1]f64 = acond(cond: || lt(c[], 2i64), then: {{
                   d: [2]f64 = map(e, f: |%x: f64| sin(%x))
                   m: [1]f64 = {extreme}
                   yield m
                 }}, else: {{ n: [1]f64 = fold1(e, f: |%a: f64, %b: f64| min(%a, %b)) yield n }})
               yield r
             }}"
        );
        check_with(&source, &[&[3, 4], &[]]);
    }
}

/// Two floats of each element, one of which is an extreme.
#[test]
fn several_leaves() {
    for f in [
        "|%a: f64, %n: i64, %b: f64, %m: i64| (max(%a, %b), add(%n, %m))",
        "|%a: f64, %n: f64, %b: f64, %m: f64| (max(%a, %b), add(%n, %m))",
        "|%a: f64, %n: f64, %b: f64, %m: f64| (max(%a, %b), min(%n, %m))",
    ] {
        let leaf = if f.contains("i64") { "i64" } else { "f64" };
        let square = if leaf == "i64" { "%n" } else { "mul(%n, %n)" };
        let source = format!(
            "program(x: [2](f64, {leaf})) {{
               e: [2](f64, {leaf}) = map(x, f: |%a: f64, %n: {leaf}| (exp(%a), {square}))
               m: [1](f64, {leaf}) = fold1(e, f: {f})
               yield m
             }}"
        );
        check_with(&source, &[&[3, 4]]);
    }
}

/// Operators that choose one of two elements.
#[test]
fn chosen_elements() {
    for f in [
        "|%a: f64, %n: f64, %b: f64, %m: f64| (%a, %n)",
        "|%a: f64, %n: f64, %b: f64, %m: f64| (%b, %m)",
        "|%a: f64, %n: f64, %b: f64, %m: f64| { %l: bool = lt(%a, %b) yield select(%l, %a, %b), select(%l, %n, %m) }",
        "|%a: f64, %n: f64, %b: f64, %m: f64| if le(%n, %m) { yield %b, %m } else { yield %a, %n }",
    ] {
        for (fold, rows) in [
            ("fold1(e, f: F)", 4),
            ("fold(e, f: F, init: || (0.4f64, 1.1f64))", 0),
            ("fold(e, f: F, init: || (s[], 1.1f64))", 3),
        ] {
            let source = format!(
                "program(x: [2]f64, s: [0]f64) {{
                   e: [2](f64, f64) = imap(x, f: |%i: i64, %j: i64, %x: f64| (sin(%x), exp(mul(%x, cast(%j, f64)))))
                   m: [1](f64, f64) = {}
                   yield m
                 }}",
                fold.replace('F', f)
            );
            check_with(&source, &[&[3, rows], &[]]);
        }
    }
}

/// Rows with numbers that are none, and with equal ones.
#[test]
fn rows_with_nan() {
    let numbers = [f64::NAN, 1.0, 2.0, 2.0, f64::INFINITY, 2.0, 1.0, 1.0, f64::NAN];
    let xs =
        ArrayData::from_leaves([3, 3], ScalarType::F64.into(), numbers.iter().map(|x| [x.lit()])).expect("an array");
    for extreme in EXTREMES {
        let source = format!(
            "program(x: [2]f64) {{ d: [2]f64 = map(x, f: |%x: f64| mul(%x, 2.0f64)) m: [1]f64 = {extreme} yield m }}"
        );
        check(&source, std::slice::from_ref(&xs));
    }
}

/// The derivative of a loss computes nothing for each pair of a point and a centre but the loss itself and the winners.
#[test]
fn places_are_scattered() {
    let source = "program(x: [2]f64, c: [2]f64) {
       p: [3]f64 = replicate(x, axes: [all, fixed, all], extents: || (extent(c, 0)))
       q: [3]f64 = replicate(c, axes: [fixed, all, all], extents: || (extent(x, 0)))
       s: [3]f64 = zip_with(p, q, f: |%x: f64, %c: f64| { %d: f64 = sub(%x, %c) yield mul(%d, %d) })
       d: [2]f64 = fold(s, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
       m: [1]f64 = fold1(d, f: |%a: f64, %b: f64| min(%a, %b))
       yield m }";
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}"));
    let made = format!("{:#}", expanded(&derivative_of(&p, Mode::Reverse)));
    assert_eq!(made.matches("permute(").count() - made.matches("backpermute(").count(), 1, "{made}");
    assert_eq!(made.matches(": [3]f64").count(), 3, "{made}");
    let mut numbers = Numbers(3);
    let args: Vec<ArrayData> = [[6, 2], [3, 2]].iter().map(|s| numbers.array(s, &ScalarType::F64.into())).collect();
    check(source, &args);
}
