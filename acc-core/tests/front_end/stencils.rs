//! Stencils in one to three dimensions, with every edge.

use crate::support::{error_of, run};
use acc_core::prelude::*;

/// Where an edge leads from an index that may lie outside; `None` for the constant.
fn source(i: i64, n: i64, edge: &str) -> Option<i64> {
    match edge {
        _ if (0..n).contains(&i) => Some(i),
        "clamp" => Some(i.clamp(0, n - 1)),
        "mirror" => Some(if i < 0 { -i } else { 2 * (n - 1) - i }),
        "wrap" => Some(i.rem_euclid(n)),
        _ => None,
    }
}

fn edges() -> [(&'static str, Edge<i64>); 4] {
    [("clamp", Edge::Clamp), ("mirror", Edge::Mirror), ("wrap", Edge::Wrap), ("constant", Edge::Constant(-5))]
}

#[test]
fn vectors() {
    for n in [3i64, 4, 7] {
        let host: Vector<i64> = (0..n).map(|i| i * i + 1).collect();
        for (name, edge) in edges() {
            let got = run(use_(&host).stencil(edge, |s: Stencil5<i64>| s[-2] + 10 * s[-1] + 100 * s[0] + 1000 * s[2]));
            let at = |i: i64| source(i, n, name).map_or(-5, |i| i * i + 1);
            let want: Vec<i64> = (0..n).map(|i| at(i - 2) + 10 * at(i - 1) + 100 * at(i) + 1000 * at(i + 2)).collect();
            assert_eq!(got.to_vec(), want, "{name} {n}");
        }
    }
}

#[test]
fn matrices_with_windows_that_are_not_square() {
    let (rows, columns) = (3i64, 5i64);
    let host: Matrix<i64> = Array::from_elts((3, 5), (0..15).map(|k| k * k % 23)).unwrap();
    let xs = use_(&host);
    for (name, edge) in edges() {
        let got = run(xs.stencil(edge, |s: Stencil5x3<i64>| s[(-1, -2)] + 10 * s[(1, 2)] + 100 * s[(0, 1)]));
        let at = |i: i64, j: i64| match (source(i, rows, name), source(j, columns, name)) {
            (Some(i), Some(j)) => host.get((i as usize, j as usize)).unwrap(),
            _ => -5,
        };
        for i in 0..rows {
            for j in 0..columns {
                let want = at(i - 1, j - 2) + 10 * at(i + 1, j + 2) + 100 * at(i, j + 1);
                assert_eq!(got.get((i as usize, j as usize)), Some(want), "{name} ({i}, {j})");
            }
        }
    }
}

#[test]
fn cubes() {
    let host: Array<Dim<3>, i64> = Array::from_elts((2, 3, 4), 0..24).unwrap();
    let xs = use_(&host);
    for (name, edge) in edges() {
        let got =
            run(xs.stencil(edge, |s: Stencil3x3x3<i64>| s[(-1, -1, 1)] + 100 * s[(1, 0, -1)] + 10_000 * s[(0, 0, 0)]));
        let at = |i: i64, j: i64, k: i64| match (source(i, 2, name), source(j, 3, name), source(k, 4, name)) {
            (Some(i), Some(j), Some(k)) => (i * 3 + j) * 4 + k,
            _ => -5,
        };
        for (n, value) in got.iter().enumerate() {
            let (i, j, k) = ((n / 12) as i64, (n / 4 % 3) as i64, (n % 4) as i64);
            let want = at(i - 1, j - 1, k + 1) + 100 * at(i + 1, j, k - 1) + 10_000 * at(i, j, k);
            assert_eq!(value, want, "{name} ({i}, {j}, {k})");
        }
    }
}

#[test]
fn a_function_of_the_true_index_beyond_the_edge() {
    let m = use_(&Matrix::from([[0i64; 2]; 2]));
    let sum = |s: Stencil3x3<i64>| s.0.iter().flatten().copied().sum::<Exp<i64>>();
    // Around (0, 0): (-1, -1), (-1, 0), (-1, 1), (0, -1), (1, -1).
    let got = run(m.stencil(m.outside(|(i, j)| i * 10 + j), sum));
    assert_eq!(got.get((0, 0)), Some(-11 - 10 - 9 - 1 + 9));
}

#[test]
fn windows_are_patterns_and_elements_may_be_tuples() {
    let m = use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]));
    let laplace = m.stencil(Edge::Constant(0.0), |Window2([[_, n, _], [w, c, e], [_, s, _]]): Stencil3x3<f32>| {
        n + w + e + s - 4.0 * c
    });
    assert_eq!(run(laplace).to_vec(), [1.0, -3.0, -7.0, -11.0]);
    let pairs = use_(&Vector::from([1i32, 2, 3])).map(|x| (x, x.to::<f64>()));
    let got = run(pairs.stencil(Edge::Constant((9, 0.5)), |s: Stencil3<(i32, f64)>| (s[-1].0, s[1].1)));
    assert_eq!(got.to_vec(), [(9, 2.0), (1, 3.0), (2, 0.5)]);
}

#[test]
fn too_small_for_a_single_reflection() {
    let xs = use_(&Vector::from([1i64, 2]));
    let e = error_of(xs.stencil(Edge::Mirror, |s: Stencil5<i64>| s[-2]));
    assert!(e.to_string().contains("too small for a mirror boundary"), "{e}");
    assert!(e.to_string().contains("stencils.rs"), "{e}");
}
