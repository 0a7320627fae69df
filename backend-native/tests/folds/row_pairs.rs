//! Folds of products over short rows, of which a vector holds two.

use crate::common::{Rng, ints, parse, reference, same_outcome};
use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::Native;

fn numbers(ty: &str, shape: &[usize], r: &mut Rng) -> ArrayData {
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| (r.next() % 2000) as f64 / 1000.0 - 0.9).collect();
    let (ty, column) = match ty {
        "f32" => (ScalarType::F32, Column::from_vec(values.iter().map(|x| *x as f32).collect())),
        _ => (ScalarType::F64, Column::from_vec(values)),
    };
    ArrayData::new(shape.iter().copied(), ty.into(), [column]).unwrap()
}

/// The same bits, or the same fault, on any number of threads and over tiles, and near the interpreter's.
fn agrees(text: &str, args: &[ArrayData]) {
    let program = parse(text);
    let run = |b: &Native| b.run_untyped(&program, args, &RunLimits::none());
    let want = run(&Native::tiles());
    for threads in [1, 2, 7] {
        let got = run(&Native::with_threads(threads).unwrap());
        same_outcome(text, args, ("tiles", &want), ("threads", &got), 0.0);
    }
    same_outcome(text, args, ("tiles", &want), ("machine code", &run(&Native::compiled())), 0.0);
    same_outcome(text, args, ("interpreter", &reference(&program, args)), ("tiles", &want), 1e-3);
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

/// The sum of a generated array over its last three axes, plus 0.5.
fn sum(ty: &str, extents: &str, term: &str) -> String {
    let fold = |to: &str, from: &str, rank: usize, init: &str| {
        format!("{to}: [{rank}]{ty} = fold({from}, f: |%x: {ty}, %y: {ty}| add(%x, %y), init: || {init}{ty})\n")
    };
    format!(
        "program(x: [4]{ty}, w: [4]{ty}, n: [1]i64) {{
           p: [7]{ty} = generate(shape: || ({extents}),
             f: |%a: i64, %b: i64, %c: i64, %d: i64, %k: i64, %l: i64, %m: i64| {term})
           {}{}{}
           yield s
         }}",
        fold("q", "p", 6, "0.0"),
        fold("r", "q", 5, "0.0"),
        fold("s", "r", 4, "0.5"),
    )
}

const ROWS: [usize; 5] = [1, 3, 4, 5, 8];

#[test]
fn convolutions() {
    let mut r = Rng(11);
    for ty in ["f32", "f64"] {
        let text = sum(
            ty,
            "extent(x, 0), extent(w, 0), n[0i64], n[1i64], extent(w, 1), extent(w, 2), extent(w, 3)",
            "mul(x[%a, %k, add(%c, %l), add(%d, %m)], w[%b, %k, %l, %m])",
        );
        for (k, columns) in ROWS.into_iter().enumerate() {
            for [images, filters, rows, channels, window] in
                [[3, 12, 8, 6, 5], [1, 4, 5, 3, 3], [9, 7, 1, 2, 2], [2, 6, 6, 20, 4]]
            {
                // Sometimes a row is missing.
                let missing = usize::from(k == 3 && images == 3);
                let x = [images, channels, rows + window - 1 - missing, columns + window - 1];
                let w = [filters, channels, window, window];
                let n = ints(&[rows as i64, columns as i64]);
                agrees(&text, &[numbers(ty, &x, &mut r), numbers(ty, &w, &mut r), n]);
            }
        }
    }
}

#[test]
fn gradients_by_filters() {
    let mut r = Rng(12);
    for ty in ["f32", "f64"] {
        let text = sum(
            ty,
            "extent(w, 1), extent(x, 1), n[0i64], n[1i64], extent(x, 0), extent(w, 2), extent(w, 3)",
            "mul(w[%k, %a, %l, %m], x[%k, %b, add(%l, %c), add(%m, %d)])",
        );
        for columns in ROWS {
            for [images, filters, rows, channels, side] in
                [[9, 12, 5, 6, 8], [2, 6, 5, 1, 15], [1, 3, 4, 5, 2], [5, 2, columns, 7, 9], [2, 1, 3, 1, 1]]
            {
                let x = [images, channels, side + rows - 1, side + columns - 1];
                let w = [images, filters, side, side];
                let n = ints(&[rows as i64, columns as i64]);
                agrees(&text, &[numbers(ty, &x, &mut r), numbers(ty, &w, &mut r), n]);
            }
        }
    }
}

/// What both rows of a vector read in common, or at other places than the lanes do, and factors that are computed.
#[test]
fn contractions() {
    let mut r = Rng(13);
    for ty in ["f32", "f64"] {
        for term in [
            "mul(x[%a, %k, %l, %d], w[%c, %b, %m, %k])",
            "mul(sub(x[%a, %l, %m, %d], w[%c, %b, %l, %m]), add(x[%a, %l, %m, %d], 1.0T))",
            "mul(x[%k, %c, %b, %d], w[%k, %c, %a, %d])",
            "mul(x[%c, %k, %l, %d], w[sub(%c, -1i64), %k, %m, %a])",
            "mul(x[%k, %l, %m, %a], w[%k, %l, %b, %c])",
        ] {
            let extents = "n[0i64], n[0i64], n[1i64], n[2i64], n[0i64], n[0i64], n[0i64]";
            let text = sum(ty, extents, &term.replace('T', ty));
            for columns in ROWS {
                for (side, rows) in [(6, 6), (7, 5), (4, 2), (3, 1)] {
                    let shape = [side.max(rows) + 1; 3];
                    let [x, w] = [(); 2].map(|()| {
                        numbers(ty, &[shape[0], shape[1], shape[2], columns.max(side).max(rows) + 1], &mut r)
                    });
                    let n = ints(&[side as i64, rows as i64, columns as i64]);
                    agrees(&text, &[x, w, n]);
                }
            }
        }
    }
}
