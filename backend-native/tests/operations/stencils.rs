//! Stencils in one to three dimensions with every boundary rule, against the interpreter.

use crate::common::{agree, agree_on, ints};

fn boundaries(rank: usize) -> [String; 4] {
    let params: Vec<String> = (0..rank).map(|k| format!("%i{k}: i64")).collect();
    let sum = (0..rank).fold("7i64".to_string(), |s, k| format!("add(mul({s}, 10i64), %i{k})"));
    ["clamp".into(), "mirror".into(), "wrap".into(), format!("|{}| {sum}", params.join(", "))]
}

fn stencil(window: &[usize], boundary: &str) -> String {
    let n: usize = window.iter().product();
    let params: Vec<String> = (0..n).map(|k| format!("%x{k}: i64")).collect();
    let sum = (0..n).fold("1i64".to_string(), |s, k| format!("add(mul({s}, 3i64), %x{k})"));
    let rank = window.len();
    let window = format!("{window:?}");
    format!(
        "program(a: [{rank}]i64) {{ r: [{rank}]i64 = stencil(a, window: {window}, boundary: {boundary}, f: |{}| {sum}) yield r }}",
        params.join(", ")
    )
}

#[test]
fn one_dimension() {
    for window in [1, 3, 5] {
        for b in boundaries(1) {
            for n in [0, 1, 2, 3, 5, 64, 1000, 1024, 1030, 3000] {
                agree_on(&stencil(&[window], &b), &[&[&[n]]]);
            }
        }
    }
}

#[test]
fn two_dimensions() {
    for window in [[3, 3], [1, 3], [5, 1], [3, 5]] {
        for b in boundaries(2) {
            for s in [[0, 4], [4, 0], [1, 1], [2, 2], [3, 3], [3, 8], [40, 3], [5, 191], [5, 192], [4, 1030], [150, 7]]
            {
                agree_on(&stencil(&window, &b), &[&[&s]]);
            }
        }
    }
}

#[test]
fn three_dimensions() {
    for b in boundaries(3) {
        for s in [[0, 2, 2], [2, 2, 2], [3, 4, 5], [9, 10, 11], [2, 3, 400], [30, 6, 7]] {
            agree_on(&stencil(&[3, 3, 3], &b), &[&[&s]]);
        }
    }
}

/// Vectors of other widths, at boundaries and at the ends of rows.
#[test]
fn elements_of_every_size() {
    for (ty, next) in [
        ("u8", "add(mul(S, 3u8), X)"),
        ("i16", "add(mul(S, 3i16), X)"),
        ("u32", "add(mul(S, 3u32), X)"),
        ("f16", "max(X, sub(S, X))"),
        ("f32", "add(mul(S, 0.5f32), X)"),
        ("f64", "add(mul(S, 0.5f64), X)"),
        ("bool", "xor(X, and(not(S), not(X)))"),
    ] {
        for (window, shapes) in [
            (&[5][..], &[&[1][..], &[2], &[31], &[64], &[65], &[130], &[1000]][..]),
            (&[3, 3], &[&[1, 1], &[2, 70], &[5, 129], &[40, 3]]),
            (&[1, 7], &[&[3, 4], &[3, 50], &[3, 200]]),
        ] {
            let rank = window.len();
            let n: usize = window.iter().product();
            let params: Vec<String> = (0..n).map(|k| format!("%x{k}: {ty}")).collect();
            let sum = |s: String, k: usize| next.replace('S', &s).replace('X', &format!("%x{k}"));
            let sum = (1..n).fold("%x0".to_string(), sum);
            for boundary in ["clamp", "mirror", "wrap"] {
                let text = format!(
                    "program(a: [{rank}]{ty}) {{ r: [{rank}]{ty} = stencil(a, window: {window:?}, boundary: {boundary}, f: |{}| {sum}) yield r }}",
                    params.join(", ")
                );
                for shape in shapes {
                    agree_on(&text, &[&[shape]]);
                }
            }
        }
    }
}

/// A stencil fused into its consumer, and one whose boundary function faults.
#[test]
fn stencils_with_neighbours() {
    let fused = "program(a: [2]i64) {
        b: [2]i64 = map(a, f: |%x: i64| mul(%x, 3i64))
        s: [2]i64 = stencil(b, window: [3, 3], boundary: mirror,
          f: |%a: i64, %b: i64, %c: i64, %d: i64, %e: i64, %f: i64, %g: i64, %h: i64, %i: i64| sub(add(%a, mul(%e, 4i64)), add(%c, %h)))
        t: [2]i64 = imap(s, f: |%i: i64, %j: i64, %x: i64| add(%x, sub(%i, %j)))
        r: [1]i64 = fold(t, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
        yield r
    }";
    agree_on(fused, &[&[&[2, 2]], &[&[5, 300]], &[&[300, 5]], &[&[100, 1000]]]);
    let faulting = "program(a: [1]i64) {
        s: [1]i64 = stencil(a, window: [3], boundary: |%i: i64| quot(%i, add(%i, 1i64)), f: |%a: i64, %b: i64, %c: i64| add(%a, %c))
        yield s
    }";
    agree(faulting, &[ints(&[1, 2, 3])]);
    agree(&faulting.replace("add(%i, 1i64)", "add(%i, 2i64)"), &[ints(&[1, 2, 3])]);
}
