//! The tensor kernels with schedules, as a user writes them who tunes them.

use super::tensors::{Blocks, Channels, Cube};
use acc_core::prelude::*;

/// Some rows, for vectors of columns, with the terms innermost; the loop over tiles of rows.
fn register_tile(s: &mut Nest, [i, j, k]: [LoopVar; 3], rows: usize) -> LoopVar {
    let (tiles, i) = s.split(i, rows);
    s.order(&[tiles, j, k, i]).vectorize(j).unroll(i);
    tiles
}

/// Of a product of matrices: register tiles in panels of columns and of terms.
fn panels(s: &mut Nest, [i, j, k]: [LoopVar; 3]) {
    let ((ib, i), (jb, j), (kb, k)) = (s.split(i, 8), s.split(j, 64), s.split(k, 256));
    s.order(&[kb, jb, ib, j, k, i]).vectorize(j).unroll(i);
}

/// A product of matrices.
pub fn mm(a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    a.matmul(&b).schedule(panels)
}

/// A product whose first factor is transposed.
pub fn tmm(a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    a.transpose().matmul(&b).schedule(panels)
}

/// [`bmm`](super::tensors::bmm)
pub fn bmm(a: Cube, b: Cube) -> Cube {
    super::tensors::bmm(a, b).schedule(|s, [_, i, j, k]| _ = register_tile(s, [i, j, k], 6))
}

/// [`gconv`](super::tensors::gconv)
pub fn gconv(x: Channels, w: Channels) -> Channels {
    super::tensors::gconv(x, w).schedule(|s, [_, _, f, y, z, c, p, q]| {
        let ((fb, f), (yb, y)) = (s.split(f, 3), s.split(y, 7));
        s.order(&[fb, yb, z, c, p, q, f, y]).vectorize(z).unroll(f).unroll(y);
    })
}

/// [`mttkrp`](super::tensors::mttkrp)
pub fn mttkrp(b: Cube, d: Acc<Matrix<f64>>, c: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    let ((m, p, q), (_, n)) = (b.shape(), d.shape());
    let t = generate((m, p, n, q), |(i, k, j, l)| b.index((i, k, l)) * d.index((l, j))).sum();
    let t = t.schedule(|s, [_, k, j, l]| {
        register_tile(s, [k, j, l], 8);
        s.within(1);
    });
    let sums = generate((m, n, p), |(i, j, k)| t.index((i, k, j)) * c.index((k, j))).sum();
    sums.schedule(|s, [_, j, _]| _ = s.vectorize(j))
}

/// [`sddmm`](super::tensors::sddmm)
pub fn sddmm(s: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>, c: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    // An epilogue of the product: it has the product's extents, whatever those of the weights are.
    b.matmul(&c).imap(|(i, j), t| s.index((i, j)) * t).schedule(panels)
}

/// Rows of a cube at a time, for vectors along its last axis.
fn rows(s: &mut Nest, [_, x, y, z, k]: [LoopVar; 5]) {
    let (tiles, y) = s.split(y, 7);
    s.order(&[x, tiles, z, k, y]).vectorize(z).unroll(y);
}

/// The same, within the loop over elements of what reads it.
fn rows_within(s: &mut Nest, loops: [LoopVar; 5]) {
    rows(s, loops);
    s.within(1);
}

/// A matrix, which is also given transposed, along each axis of all elements; the last result is to be scheduled.
fn along_all([m, columns]: [&Acc<Matrix<f64>>; 2], u: &Blocks) -> Blocks {
    let ((e, i, j, k), n) = (u.shape(), m.shape().0);
    let u = generate((e, n, j, k, i), |(e, x, j, k, i)| m.index((x, i)) * u.index((e, i, j, k))).sum();
    let u = u.schedule(rows_within);
    let u = generate((e, n, n, k, j), |(e, x, y, k, j)| m.index((y, j)) * u.index((e, x, j, k))).sum();
    let u = u.schedule(rows_within);
    generate((e, n, n, n, k), |(e, x, y, z, k)| columns.index((k, z)) * u.index((e, x, y, k))).sum()
}

/// [`interp`](super::tensors::interp)
pub fn interp(u: Blocks, a: Acc<Matrix<f64>>) -> Blocks {
    let columns = a.transpose().compute();
    along_all([&columns.transpose(), &columns], &u).schedule(rows)
}

/// [`helm`](super::tensors::helm)
pub fn helm(u: Blocks, s: Acc<Matrix<f64>>, w: Acc<Vector<f64>>) -> Blocks {
    let t = s.transpose().compute();
    let inside = along_all([&t, &s], &u);
    let solved = inside.imap(|(_, i, j, k), v| v / (1.0 + w.index(i) * w.index(j) * w.index(k)));
    along_all([&s, &t], &solved.schedule(rows_within)).schedule(rows)
}

/// [`blur_at_once`](super::tensors::blur_at_once)
pub fn blur(x: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    super::tensors::blur_at_once(x).schedule(|s, [i, j]| {
        let (rows, _) = s.split(i, 8);
        s.parallel(rows).vectorize(j);
    })
}

/// [`coars`](super::tensors::coars)
pub fn coars(x: Acc<Matrix<f64>>, y: Acc<Matrix<f64>>, z: Acc<Matrix<f64>>) -> Acc<Matrix<f64>> {
    super::tensors::coars(x, y, z).schedule(|s, [_, j]| _ = s.vectorize(j))
}

#[cfg(test)]
mod tests {
    use super::super::tensors;
    use super::*;
    use backend_native::Native;

    fn array<Sh: Shape>(shape: impl IntoShape<Sh>, n: usize) -> Acc<Array<Sh, f64>> {
        let values = (0..n).map(|i| ((i * 7919) % 1000) as f64 / 500.0 - 1.0).collect();
        use_(&Array::from_vec(shape, values).expect("an array"))
    }

    /// Bits equal those without a schedule: products are in blocks of 256 terms either way.
    fn same<A: Arrays + PartialEq + std::fmt::Debug>(scheduled: Acc<A>, plain: Acc<A>) {
        let native = Native::compiled();
        assert_eq!(native.run(scheduled).expect("a result"), native.run(plain).expect("a result"));
    }

    #[test]
    fn schedules_change_no_result() {
        let square = |rows: usize, columns: usize| array((rows, columns), rows * columns);
        let (a, b) = (square(37, 300), square(300, 83));
        same(mm(a.clone(), b.clone()), a.matmul(&b));
        same(tmm(a.transpose(), b.clone()), a.transpose().transpose().matmul(&b));
        let (a, b) = (array((70, 40, 26), 70 * 40 * 26), array((70, 26, 50), 70 * 26 * 50));
        same(bmm(a.clone(), b.clone()), tensors::bmm(a, b));
        let (x, w) = (array((3, 4, 5, 9, 9), 3 * 4 * 5 * 81), array((4, 6, 5, 3, 3), 4 * 6 * 5 * 9));
        same(gconv(x.clone(), w.clone()), tensors::gconv(x, w));
        let (b, d, c) = (array((30, 20, 25), 30 * 20 * 25), square(25, 33), square(20, 33));
        same(mttkrp(b.clone(), d.clone(), c.clone()), tensors::mttkrp(b, d, c));
        let (s, b, c) = (square(64, 90), square(64, 40), square(40, 90));
        same(sddmm(s.clone(), b.clone(), c.clone()), tensors::sddmm(s, b, c));
        let (u, m) = (array((60, 7, 7, 7), 60 * 343), square(7, 7));
        same(interp(u.clone(), m.clone()), tensors::interp(u, m));
        let (u, m, w) = (array((9, 13, 13, 13), 9 * 2197), square(13, 13), array(13usize, 13));
        same(helm(u.clone(), m.clone(), w.clone()), tensors::helm(u, m, w));
        let x = square(50, 60);
        same(blur(x.clone()), tensors::blur_at_once(x.clone()));
        same(coars(x.clone(), x.clone(), x.clone()), tensors::coars(x.clone(), x.clone(), x));
    }
}
