//! Folds along the innermost dimension.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

/// An affine map, `x` to `a x + b`.
pub(in crate::cases) type Affine = (i64, i64);
type AffineExp = (Exp<i64>, Exp<i64>);

/// Composition: associative, not commutative.
pub(in crate::cases) fn compose((a, b): AffineExp, (c, d): AffineExp) -> AffineExp {
    (a * c, a * d + b)
}

/// What the reference folds and scans with [`compose`].
pub(in crate::cases) fn affine() -> Acc<Vector<Affine>> {
    use_(&Vector::from_iter([(2, 1), (3, 5), (7, 4)]))
}

pub fn cases() -> Vec<Case> {
    vec![
        case("fold/E-FD-03-initial-value-per-row", "FLD-01 E-FD-03 E-FD-04 E-FD-05 E-FD-06", |t| {
            t.gives(use_(&Matrix::from([[1, 2, 3], [4, 5, 6]])).fold(7, |a, b| a + b), Vector::from([13, 22]));
            t.gives(fill((3, 0), 1i32).fold(7, |a, b| a + b), Vector::from([7, 7, 7]));
            t.gives(fill((0, 3), 1i32).fold(7, |a, b| a + b), Vector::from([0i32; 0]));
            t.gives(fill(0, 1i32).fold(7, |a, b| a + b), Scalar::scalar(7));
            // Once, however many chunks there are.
            t.gives(fill(100_000, 1i64).fold(7, |a, b| a + b), Scalar::scalar(100_007));
        }),
        case("fold/E-FD-07-order", "FLD-01 FLD-02 E-FD-07 NOFIB-228", |t| {
            t.gives(affine().fold((2, 9), compose), Scalar::scalar((84, 79)));
            t.gives(affine().fold1(compose), Scalar::scalar((42, 35)));
            let segments = Vector::from([1i64, 0, 2]);
            t.gives(affine().fold_seg(&segments, (2, 9), compose), Vector::from_iter([(4, 11), (2, 9), (42, 43)]));
            t.gives(affine().take(0).fold((2, 9), compose), Scalar::scalar((2, 9)));
        }),
        case("fold/E-FD-08-fold1-of-nothing", "FLD-02 E-FD-08 E-FD-09", |t| {
            t.faults(fill(0, 1).fold1(|a, b| a + b), "empty_fold");
            t.faults(fill((3, 0), 1).fold1(|a, b| a + b), "empty_fold");
            t.faults(fill((0, 0), 1).fold1(|a, b| a + b), "empty_fold");
            t.gives(fill((0, 3), 1).fold1(|a, b| a + b), Vector::from([0; 0]));
            t.gives(use_(&Matrix::from([[1, 2], [3, 4]])).fold1(|a, b| a * b), Vector::from([2, 12]));
        }),
        case("fold/E-FD-13-all", "FLD-03 E-FD-13", |t| {
            t.gives(fill((0, 3), 1).fold_all(5, |a, b| a + b), Scalar::scalar(5));
            t.gives(unit(1).fold_all(5, |a, b| a + b), Scalar::scalar(6));
            t.gives(generate((2, 3, 4), |(i, j, k)| i + j + k).fold_all(0, |a, b| a + b), Scalar::scalar(72));
        }),
        case("fold/E-FD-14-all-of-nothing", "FLD-04 E-FD-14", |t| {
            t.faults(fill((0, 3), 1).fold1_all(|a, b| a + b), "empty_fold");
            t.gives(use_(&Matrix::from([[1i32, 5], [3, 4]])).fold1_all(|a, b| a.max(b)), Scalar::scalar(5));
            t.shape(use_(&Matrix::from([[1i32, 5], [3, 4]])).fold1_all(|a, b| a.max(b)), []);
        }),
        case("fold/E-FD-15-innermost", "FLD-01 RED-05 E-FD-15 E-FD-16", |t| {
            let c = generate((2, 2, 3), |(i, j, k)| (i * 2 + j) * 3 + k);
            t.gives(c.fold(0, |a, b| a + b), Matrix::from([[3, 12], [21, 30]]));
            t.gives(c.sum(), Matrix::from([[3, 12], [21, 30]]));
        }),
        case("fold/NOFIB-102", "NOFIB-102", |t| {
            // Reshaped, replicated and folded: what each of these does to the shape must not be lost.
            let xs = generate((2, 3), |(i, j)| i * 3 + j);
            let flat = xs.flatten().replicate((4, All)).reshape((4, 2, 3)).fold(0, |a, b| a + b);
            t.gives(flat, host((4, 2), [3, 12, 3, 12, 3, 12, 3, 12]));
        }),
        case("fold/NOFIB-114", "NOFIB-114", |t| {
            // A sum of pairs of value and error.
            let xs: Acc<Vector<(f64, f64)>> = fill(100, (1.01, 0.0));
            let add = |(a, ea): (Exp<f64>, Exp<f64>), (b, eb): (Exp<f64>, Exp<f64>)| {
                let sum = a + b;
                let beyond = sum - a;
                (sum, ea + eb + ((a - (sum - beyond)) + (b - beyond)))
            };
            let total = xs.fold1(add).map(|(sum, error)| sum + error);
            t.gives_within(total, Scalar::scalar(101.0), crate::compare::Near::Relative(1e-15));
            let last = xs.scanl1(add).map(|(sum, error)| sum + error).slice((99,));
            t.gives_within(last, Scalar::scalar(101.0), crate::compare::Near::Relative(1e-15));
        }),
        case("fold/NOFIB-119-sizes", "NOFIB-119 NOFIB-123", |t| {
            for (rows, columns) in [(5usize, 28usize), (28, 5), (4, 34), (27, 5), (1, 130)] {
                let xs = generate((rows, columns), |(i, j)| i * 1000 + j);
                let n = (rows * columns) as i64;
                let (r, c) = (rows as i64, columns as i64);
                t.gives(xs.fold_all(0, |a, b| a + b), Scalar::scalar(1000 * c * r * (r - 1) / 2 + r * c * (c - 1) / 2));
                t.gives(fill((rows, columns), 1i64).fold_all(0, |a, b| a + b), Scalar::scalar(n));
            }
            t.gives(fill(100, 1i64).fold(0, |a, b| a + b), Scalar::scalar(100));
        }),
    ]
}
