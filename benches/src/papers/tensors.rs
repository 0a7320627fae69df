//! The tensor kernels of Susungi, Rink, Cohen, Castrillon, Tadonki: Meta-programming for Cross-Domain Tensor Optimizations
//! (2018). The product of two matrices is `matmul`.

use acc_core::prelude::*;

pub(super) type Cube = Acc<Array<DIM3, f64>>;
pub(super) type Blocks = Acc<Array<DIM4, f64>>;
pub(super) type Channels = Acc<Array<DIM5, f64>>;

/// Many small products.
pub fn bmm(a: Cube, b: Cube) -> Cube {
    let ((batch, m, k), (_, _, n)) = (a.shape(), b.shape());
    generate((batch, m, n, k), |(t, i, j, k)| a.index((t, i, k)) * b.index((t, k, j))).sum()
}

/// A grouped convolution: images whose channels are in groups, each with filters of its own.
pub fn gconv(x: Channels, w: Channels) -> Channels {
    let ((n, g, c, h, wide), (_, f, _, p, q)) = (x.shape(), w.shape());
    let terms = generate((n, g, f, h - p + 1, wide - q + 1, c, p, q), |(n, g, f, y, z, c, p, q)| {
        x.index((n, g, c, y + p, z + q)) * w.index((g, f, c, p, q))
    });
    terms.sum().sum().sum()
}

/// A tensor times a Khatri-Rao product.
pub fn mttkrp(b: Cube, d: Acc<Matrix<f64>>, c: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    let ((m, p, q), (_, n)) = (b.shape(), d.shape());
    let t = generate((m, p, n, q), |(i, k, j, l)| b.index((i, k, l)) * d.index((l, j))).sum();
    generate((m, n, p), |(i, j, k)| t.index((i, k, j)) * c.index((k, j))).sum()
}

/// A product of matrices whose elements are weighted.
pub fn sddmm(s: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>, c: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    b.matmul(&c).zip_with(&s, |t, s| s * t)
}

/// A matrix along each axis of all elements.
fn along_all(m: &Acc<Matrix<f64>>, u: &Blocks) -> Blocks {
    let ((e, i, j, k), (n, _)) = (u.shape(), m.shape());
    let u = generate((e, n, j, k, i), |(e, x, j, k, i)| m.index((x, i)) * u.index((e, i, j, k))).sum();
    let u = generate((e, n, n, k, j), |(e, x, y, k, j)| m.index((y, j)) * u.index((e, x, j, k))).sum();
    generate((e, n, n, n, k), |(e, x, y, z, k)| m.index((z, k)) * u.index((e, x, y, k))).sum()
}

/// Interpolation in finite elements: a matrix along each axis.
pub fn interp(u: Blocks, a: Acc<Matrix<f64>>) -> Blocks {
    along_all(&a, &u)
}

/// The inverse of a Helmholtz operator: to the eigenvectors, divided, and back.
pub fn helm(u: Blocks, s: Acc<Matrix<f64>>, w: Acc<Vector<f64>>) -> Blocks {
    let inside = along_all(&s.transpose(), &u);
    let solved = inside.imap(|(_, i, j, k), v| v / (1.0 + w.index(i) * w.index(j) * w.index(k)));
    along_all(&s, &solved)
}

/// Means of three by three: of three columns, then of three rows.
pub fn blur(x: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    let (n, m) = x.shape();
    let wide = generate((n, m - 2), |(i, j)| (x.index((i, j)) + x.index((i, j + 1)) + x.index((i, j + 2))) / 3.0);
    generate((n - 2, m - 2), |(i, j)| (wide.index((i, j)) + wide.index((i + 1, j)) + wide.index((i + 2, j))) / 3.0)
}

/// The same, of nine elements at once.
pub fn blur_at_once(x: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    let (n, m) = x.shape();
    generate((n - 2, m - 2), |(i, j)| {
        let row = |i: Exp<i64>| x.index((i, j)) + x.index((i, j + 1)) + x.index((i, j + 2));
        (row(i) + row(i + 1) + row(i + 2)) / 9.0
    })
}

/// How much of a trace is taken from a determinant.
pub const TRACE: f64 = 0.04;

/// The coarsity of a structure tensor, as in the detection of corners.
pub fn coars(x: Acc<Matrix<f64>>, y: Acc<Matrix<f64>>, z: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    x.zip_with3(&y, &z, |x, y, z| x * y - z * z - TRACE * (x + y) * (x + y))
}
