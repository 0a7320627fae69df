//! Tensor expressions have the code of the same programs in combinators.

use crate::named::equal_code;
use acc_array::array::{Array, Dim, einsum, tensor};
use acc_array::prelude::*;

type M = Acc<Matrix<f32>>;
type Cube = Acc<Array<Dim<3>, f32>>;
type Five = Acc<Array<Dim<5>, f32>>;

#[test]
fn products_of_matrices() {
    equal_code(|a: M, b: M| tensor!([i, j] sum[k](a[i, k] * b[k, j])), |a: M, b: M| a.matmul(&b));
    equal_code(|a: M, b: M| einsum!("ij,jk->ik", a, b), |a: M, b: M| a.matmul(&b));
    equal_code(|a: M, b: M| tensor!([i, j] sum[k](a[k, i] * b[k, j])), |a: M, b: M| a.transpose().matmul(&b));
    equal_code(|a: M, b: M| einsum!("ki,kj->ij", a, b), |a: M, b: M| a.transpose().matmul(&b));
}

#[test]
fn what_is_around_a_product_is_computed_with_it() {
    equal_code(
        |s: M, b: M, c: M| tensor!([i, j] s[i, j] * sum[k](b[i, k] * c[k, j])),
        |s: M, b: M, c: M| {
            let (n, m) = s.shape();
            let same = s.check(n.eq(b.shape().0), "rows").check(m.eq(c.shape().1), "columns");
            b.matmul(&c).zip_with(&same, |t, s| s * t)
        },
    );
}

#[test]
fn convolutions_in_groups() {
    equal_code(
        |x: Five, w: Five| tensor!([n, g, f, y, z] sum[c, p, q](x[n, g, c, y + p, z + q] * w[g, f, c, p, q])),
        |x: Five, w: Five| {
            let ((n, g, c, h, wide), (g2, f, c2, p, q)) = (x.shape(), w.shape());
            let w = w.check(g.eq(g2), "groups").check(c.eq(c2), "channels");
            let terms = generate((n, g, f, h - p + 1, wide - q + 1, c, p, q), |(n, g, f, y, z, c, p, q)| {
                x.index((n, g, c, y + p, z + q)) * w.index((g, f, c, p, q))
            });
            terms.sum().sum().sum()
        },
    );
}

#[test]
fn contractions_from_the_left() {
    equal_code(
        |b: Cube, d: M, c: M| einsum!("ikl,lj,kj->ij", b, d, c),
        |b: Cube, d: M, c: M| {
            let t = tensor!([i, k, j] sum[l](b[i, k, l] * d[l, j]));
            tensor!([i, j] sum[k](t[i, k, j] * c[k, j]))
        },
    );
}

#[test]
fn a_softmax_is_one_operation() {
    equal_code(
        |x: M| {
            let powers = tensor!([i, j] (x[i, j] - max[k](x[i, k])).exp());
            tensor!([i, j] powers[i, j] / sum[k](powers[i, k]))
        },
        |x: M| x.softmax(),
    );
}
