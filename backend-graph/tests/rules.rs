//! The rules over graphs keep what programs mean: with each alone, and with all others, results are the interpreter's.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use acc_desugar::{RULES, Rules};
use backend_graph::{Libtorch, Options};

/// By all rules, by each alone, by all others, and by none. Whole numbers are the same, others up to rounding.
#[track_caller]
fn agree<A: Arrays>(program: impl IntoAcc<A>, flat: impl Fn(&A) -> Vec<f32>) {
    let program = program.into_acc();
    let want = flat(&Interpreter::new().run(&program).unwrap());
    let mut all = vec![Rules::all(), Rules::none()];
    let of_graphs: Vec<&str> = RULES.iter().filter(|r| r.pass == "rewrite_graph").map(|r| r.name).collect();
    assert!(of_graphs.len() >= 5, "{of_graphs:?}");
    for name in of_graphs {
        all.push(Rules::none().with(name).unwrap());
        all.push(Rules::all().without(name).unwrap());
    }
    for rules in all {
        for checks in [true, false] {
            let options = Options::new().rules(rules.clone()).checks(checks);
            let got = flat(&Libtorch::with(options).unwrap().run(&program).unwrap());
            assert_eq!(got.len(), want.len());
            for (x, y) in got.iter().zip(&want) {
                let near = (x - y).abs() <= 1e-5 * y.abs().max(1.0);
                assert!(x == y || (x.is_nan() && y.is_nan()) || near, "{x}, not {y}, by {rules:?}: {got:?}, {want:?}");
            }
        }
    }
}

#[test]
fn rules_keep_the_meaning() {
    let matrix = |m: &Matrix<f32>| m.iter().collect::<Vec<f32>>();
    let vector = |v: &Vector<f32>| v.iter().collect::<Vec<f32>>();
    for special in [0.5, f32::NAN, f32::INFINITY, -f32::INFINITY] {
        for shape in [(3, 5), (1, 4), (4, 1), (0, 3), (3, 0)] {
            let at = |x: Exp<i64>| x.eq(7).then_else(special, (x % 23).to::<f32>() / 4.0);
            let m = generate(shape, |(i, j)| at(i * 5 + j * 3)).compute();
            agree(m.map(|x| x.max(0.25).min(1.5)), matrix);
            agree(m.map(|x| x.min(1.5)).map(|x| x.max(-1.0)), matrix);
            agree(m.zip_with(&m, |x, y| x * y).sum(), vector);
            let less = m.zip_with(m.reverse(), |x, y| x * y - y * 2.0);
            agree(less.sum(), vector);
            let (rows, inner) = m.shape();
            let other = m.transpose().compute();
            let products = generate((rows, rows, inner), |(i, j, k)| m.index((i, k)) * other.index((k, j)));
            agree(products.sum(), matrix);
            if shape.1 > 0 {
                let (top, n) = (m.maximum(), inner.to::<f32>());
                let powers = m.imap(|(i, _), x| (x - top.index(i)).exp());
                let sums = powers.sum();
                let softmax = powers.imap(|(i, _), x| x / sums.index(i));
                agree(&softmax, matrix);
                let less = m.imap(|(i, _), x| x - top.index(i));
                agree(less.imap(|(i, _), x| x - sums.index(i).ln()), matrix);
                let mean = m.sum().map(|sum| sum / n);
                let variance = m.imap(|(i, _), x| (x - mean.index(i)) * (x - mean.index(i))).sum().map(|sum| sum / n);
                let normal = m.imap(|(i, _), x| (x - mean.index(i)) / (variance.index(i) + 0.25).sqrt());
                agree(normal.imap(|(_, j), x| x * at(j) + at(j * 3 + 1)), matrix);
                // One rule's result in what another one looks at.
                let clipped = softmax.map(|x| x.max(0.125).min(0.5));
                agree(clipped.zip_with(&normal, |x, y| x * y).sum(), vector);
            }
        }
    }
    let xs = use_(&Vector::from([1.0f32, 2.5, -4.0, 8.0, 0.5, 3.0, -1.0]));
    let windows = || generate((2, 3), |(i, w)| xs.index(i * 2 + w));
    agree(windows().maximum(), vector);
    agree(windows().sum(), vector);
    let beyond = generate((7, 5), |(i, w)| {
        let at = i + w - 2;
        at.ge(0).and(at.lt(7)).then_else(xs.index(at), f32::INFINITY)
    });
    agree(beyond.minimum(), vector);
    let table = use_(&Vector::from([1.0f32, 2.0, 4.0, 8.0]));
    let ids = use_(&Vector::from([3i64, 0, 0, 2, 1]));
    for lengths in [vec![2i64, 0, 3], vec![5], vec![0, 0, 5, 0]] {
        let lengths = Vector::from(lengths);
        agree(ids.map(|k| table.index(k)).fold_seg(&lengths, 0.0, |a, b| a + b), vector);
        agree(ids.map(|k| table.index(k) * 2.0).fold_seg(&lengths, 1.0, |a, b| a + b), vector);
    }
}
