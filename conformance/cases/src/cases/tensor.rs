//! Tensor expressions.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("tensor/products", "", |t| {
            let (a, b) =
                (use_(&Matrix::from([[1i64, 2, 3], [4, 5, 6]])), use_(&Matrix::from([[1i64, 0], [2, 1], [0, 3]])));
            let want = Matrix::from([[5i64, 11], [14, 23]]);
            t.gives(tensor!([i, j] sum[k](a[i, k] * b[k, j])), want.clone());
            t.gives(einsum!("ij,jk->ik", a, b), want.clone());
            t.gives(einsum!("ij,jk->ki", a, b), Matrix::from([[5i64, 14], [11, 23]]));
            let weights = use_(&Vector::from([10i64, 100]));
            t.gives(
                tensor!([i, j] weights[i] * sum[k](a[i, k] * b[k, j]) - 1),
                Matrix::from([[49i64, 109], [1399, 2299]]),
            );
            t.gives(einsum!("i,ij,jk->k", weights, a, b), Vector::from([1450i64, 2410]));
            t.gives(einsum!("ij,ij", a, a), Scalar::scalar(91i64));
            t.gives(einsum!("ii->i", use_(&want)), Vector::from([5i64, 23]));
            t.gives(einsum!("i,j->ij", weights, weights), Matrix::from([[100i64, 1000], [1000, 10000]]));
        }),
        case("tensor/windows", "", |t| {
            let x = generate((5, 6), |(i, j)| i * 6 + j);
            let w = use_(&Matrix::from([[1i64, 0, -1], [2, 0, 1]]));
            let of = |y: i64, z: i64| 6 * y + z - (6 * y + z + 2) + 2 * (6 * (y + 1) + z) + 6 * (y + 1) + z + 2;
            let every = (0..4).flat_map(|y| (0..4).map(move |z| (y, z)));
            t.gives(tensor!([y, z] sum[p, q](x[y + p, z + q] * w[p, q])), host((4, 4), every.map(|(y, z)| of(y, z))));
            let second = (0..2).flat_map(|y| (0..2).map(move |z| (2 * y, 2 * z)));
            t.gives(
                tensor!([y, z] sum[p, q](x[2 * y + p, 2 * z + q] * w[p, q])),
                host((2, 2), second.map(|(y, z)| of(y, z))),
            );
            let line = use_(&Vector::from([3i64, 1, 4, 1, 5, 9, 2]));
            t.gives(tensor!([i] max[p in 0..3](line[i + p])), Vector::from([4i64, 4, 5, 9, 9]));
            t.gives(tensor!([i in 0..6] line[i + 1] - line[i]), Vector::from([-2i64, 3, -3, 4, 4, -7]));
        }),
        case("tensor/reductions", "", |t| {
            let x = use_(&Matrix::from([[3i64, 1, 2], [5, 5, 4]]));
            t.gives(tensor!([j] product[i](x[i, j])), Vector::from([15i64, 5, 8]));
            t.gives(tensor!([i] min[j](x[i, j])), Vector::from([1i64, 4]));
            t.gives(tensor!([i, j] x[i, j] - max[k](x[i, k])), Matrix::from([[0i64, -2, -1], [0, 0, -1]]));
            t.gives(tensor!([] all[i, j](x[i, j].gt(0))), Scalar::scalar(true));
            t.gives(tensor!([i] any[j](x[i, j].eq(2))), Vector::from([true, false]));
            t.gives(tensor!([i] fold[j](10, |a, b| a * b, x[i, j])), Vector::from([60i64, 1000]));
            let empty = use_(&host((2, 0), [0i64; 0]));
            t.gives(tensor!([i] sum[j](empty[i, j])), Vector::from([0i64, 0]));
            t.faults(tensor!([i] max[j](empty[i, j])), "empty_fold");
        }),
        case("tensor/faults", "", |t| {
            let (a, b) = (use_(&host((2, 3), [1i64; 6])), use_(&host((2, 2), [1i64; 4])));
            t.faults(tensor!([i, j] sum[k](a[i, k] * b[k, j])), "check_failed");
            t.faults(einsum!("ij,jk->ik", a, b), "check_failed");
            t.faults(tensor!([i in 0..3] b[i, 0]), "index_out_of_bounds");
        }),
    ]
}
