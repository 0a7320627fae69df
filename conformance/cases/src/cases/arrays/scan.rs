//! Scans along the innermost dimension.

use super::fold::{affine, compose};
use crate::cases::{Case, case, host};
use acc_core::prelude::*;

fn three() -> Acc<Vector<i32>> {
    use_(&Vector::from([1, 2, 3]))
}

fn add(a: Exp<i32>, b: Exp<i32>) -> Exp<i32> {
    a + b
}

fn none(shape: (usize, usize)) -> Acc<Matrix<i32>> {
    fill(shape, 1)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("scans/scanl", "SCN-01 E-SC-01 E-SC-03 E-SC-16 E-SC-21 E-SC-23", |t| {
            t.gives(three().scanl(10, add), Vector::from([10, 11, 13, 16]));
            t.gives(affine().scanl((2, 9), compose), Vector::from_iter([(2, 9), (4, 11), (12, 31), (84, 79)]));
            t.gives(fill(0, 1).scanl(10, add), Vector::from([10]));
            t.gives(none((2, 0)).scanl(10, add), Matrix::from([[10], [10]]));
            t.gives(none((0, 3)).scanl(10, add), host((0, 4), [0; 0]));
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(m.scanl(10, add), Matrix::from([[10, 11, 13, 16], [10, 14, 19, 25]]));
            let c = generate((2, 2, 2), |(i, j, k)| (i * 2 + j) * 2 + k);
            t.gives(c.scanl(0, |a, b| a + b), host((2, 2, 3), [0, 0, 1, 0, 2, 5, 0, 4, 9, 0, 6, 13]));
        }),
        case("scans/scanl1", "SCN-02 E-SC-01 E-SC-03 E-SC-18 E-SC-19", |t| {
            t.gives(three().scanl1(add), Vector::from([1, 3, 6]));
            t.gives(affine().scanl1(compose), Vector::from_iter([(2, 1), (6, 11), (42, 35)]));
            t.gives(fill(0, 1).scanl1(add), Vector::from([0; 0]));
            t.gives(none((2, 0)).scanl1(add), host((2, 0), [0; 0]));
        }),
        case("scans/scanl-with-total", "SCN-03 E-SC-01 E-SC-04 E-SC-17", |t| {
            t.gives(three().scanl_with_total(10, add), (Vector::from([10, 11, 13]), Scalar::scalar(16)));
            let want = (Vector::from_iter([(2, 9), (4, 11), (12, 31)]), Scalar::scalar((84, 79)));
            t.gives(affine().scanl_with_total((2, 9), compose), want);
            t.gives(fill(0, 1).scanl_with_total(10, add), (Vector::from([0; 0]), Scalar::scalar(10)));
            t.gives(none((2, 0)).scanl_with_total(10, add), (host((2, 0), [0; 0]), Vector::from([10, 10])));
            t.gives(none((0, 3)).scanl_with_total(10, add), (host((0, 3), [0; 0]), Vector::from([0; 0])));
        }),
        case("scans/scanr", "SCN-04 E-SC-02 E-SC-05 E-SC-16", |t| {
            t.gives(three().scanr(10, add), Vector::from([16, 15, 13, 10]));
            t.gives(affine().scanr((2, 9), compose), Vector::from_iter([(84, 413), (42, 206), (14, 67), (2, 9)]));
            t.gives(fill(0, 1).scanr(10, add), Vector::from([10]));
            t.gives(none((2, 0)).scanr(10, add), Matrix::from([[10], [10]]));
            t.gives(none((0, 3)).scanr(10, add), host((0, 4), [0; 0]));
        }),
        case("scans/scanr1", "SCN-05 E-SC-02 E-SC-05 E-SC-18", |t| {
            t.gives(three().scanr1(add), Vector::from([6, 5, 3]));
            t.gives(affine().scanr1(compose), Vector::from_iter([(42, 35), (21, 17), (7, 4)]));
            t.gives(fill(0, 1).scanr1(add), Vector::from([0; 0]));
        }),
        case("scans/scanr-with-total", "SCN-06 E-SC-02 E-SC-06 E-SC-17 E-SC-22", |t| {
            t.gives(three().scanr_with_total(10, add), (Vector::from([15, 13, 10]), Scalar::scalar(16)));
            let want = (Vector::from_iter([(42, 206), (14, 67), (2, 9)]), Scalar::scalar((84, 413)));
            t.gives(affine().scanr_with_total((2, 9), compose), want);
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            let want = (Matrix::from([[15, 13, 10], [21, 16, 10]]), Vector::from([16, 25]));
            t.gives(m.scanr_with_total(10, add), want);
            t.gives(fill(0, 1).scanr_with_total(10, add), (Vector::from([0; 0]), Scalar::scalar(10)));
            t.gives(none((2, 0)).scanr_with_total(10, add), (host((2, 0), [0; 0]), Vector::from([10, 10])));
            t.gives(none((0, 3)).scanr_with_total(10, add), (host((0, 3), [0; 0]), Vector::from([0; 0])));
        }),
        case("scans/prescanl", "SCN-07 E-SC-01 E-SC-04 E-SC-20", |t| {
            t.gives(three().prescanl(10, add), Vector::from([10, 11, 13]));
            t.gives(affine().prescanl((2, 9), compose), Vector::from_iter([(2, 9), (4, 11), (12, 31)]));
            t.gives(fill(0, 1).prescanl(10, add), Vector::from([0; 0]));
        }),
        case("scans/postscanl", "SCN-08 E-SC-01 E-SC-04 E-SC-20", |t| {
            t.gives(three().postscanl(10, add), Vector::from([11, 13, 16]));
            t.gives(affine().postscanl((2, 9), compose), Vector::from_iter([(4, 11), (12, 31), (84, 79)]));
            t.gives(fill(0, 1).postscanl(10, add), Vector::from([0; 0]));
        }),
        case("scans/prescanr", "SCN-09 E-SC-02 E-SC-06 E-SC-20", |t| {
            t.gives(three().prescanr(10, add), Vector::from([15, 13, 10]));
            t.gives(affine().prescanr((2, 9), compose), Vector::from_iter([(42, 206), (14, 67), (2, 9)]));
            t.gives(fill(0, 1).prescanr(10, add), Vector::from([0; 0]));
        }),
        case("scans/postscanr", "SCN-10 E-SC-02 E-SC-06 E-SC-20 BUG-07", |t| {
            t.gives(three().postscanr(10, add), Vector::from([16, 15, 13]));
            t.gives(affine().postscanr((2, 9), compose), Vector::from_iter([(84, 413), (42, 206), (14, 67)]));
            t.gives(fill(0, 1).postscanr(10, add), Vector::from([0; 0]));
        }),
        case("scans/E-SC-24-tuples", "E-SC-24 NOFIB-287 NOFIB-362", |t| {
            let xs = generate(6, |i| (i, i * 2, i * 3, i * 4, i * 5, i * 6));
            let sums = xs.scanl1(|(a, b, c, d, e, f), (g, h, i, j, k, l)| (a + g, b + h, c + i, d + j, e + k, f + l));
            let want = (0..6i64).map(|i| i * (i + 1) / 2).map(|s| (s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s));
            t.gives(sums, want.collect());
            let xs = generate(5, |i| (i, i + 1, 1i64, i * i));
            let sums = xs.scanl1(|(a, b, c, d), (e, f, g, h)| (a + e, b + f, c + g, d.max(h)));
            t.gives(
                sums,
                Vector::from_iter([(0, 1, 1, 0), (1, 3, 2, 1), (3, 6, 3, 4), (6, 10, 4, 9), (10, 15, 5, 16)]),
            );
            let xs = generate(3, |i| (i, 1i32, i, 2u8, i))
                .scanl1(|(a, b, c, d, e), (f, g, h, i, j)| (a + f, b + g, c + h, d + i, e + j));
            t.gives(xs, Vector::from_iter([(0, 1, 0, 2, 0), (1, 2, 1, 4, 1), (3, 3, 3, 6, 3)]));
            let marked = generate(5, |i| (i, i, i, i, i, i))
                .scanl1_seg(&Vector::from([2i64, 3]), |(a, b, c, d, e, f), (g, h, i, j, k, l)| {
                    (a + g, b + h, c + i, d + j, e + k, f + l)
                });
            t.gives(marked, [0, 1, 2, 5, 9].into_iter().map(|s| (s, s, s, s, s, s)).collect());
        }),
        case("scans/E-SC-25-chunks", "E-SC-25 NOFIB-364", |t| {
            for n in [1, 2, 63, 64, 65, 748, 1030] {
                let xs = enum_from(n, 1i64);
                t.gives(xs.scanl1(|a, b| a + b), (1..=n as i64).map(|i| i * (i + 1) / 2).collect());
                t.gives(xs.scanr1(|a, b| a + b), (1..=n as i64).map(|i| (i..=n as i64).sum::<i64>()).collect());
                t.gives(xs.scanl(7, |a, b| a.max(b)), (0..=n as i64).map(|i| i.max(7)).collect());
                // Intervals that may join if they touch: associative, not commutative.
                let joined = xs.map(|i| (i, i + 1)).scanl1(|(a, b), (c, d)| (b.eq(c).then_else(a, c), d));
                t.gives(joined, (1..=n as i64).map(|i| (1, i + 1)).collect());
            }
            let m = fill((257, 31), 1i32).scanl1(|a, b| a + b);
            t.gives(m, host((257, 31), (0..257).flat_map(|_| 1..=31)));
        }),
    ]
}
