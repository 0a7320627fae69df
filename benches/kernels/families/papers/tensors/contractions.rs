//! Products of matrices: one, one with a transposed factor, many small ones, one that is summed with weights, one of which
//! elements are weighted.

use super::doubles::{Doubles, Rows, on_widest_doubles, pack, tile, tile_width};
use super::{TOLERANCE, tensor};
use crate::data::doubles;
use crate::pool::{Shared, each, split};
use crate::row::{Hand, Row, hand, program};
use acc_benches::papers::{scheduled, tensors as papers};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::prelude::*;
use std::sync::Arc;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| product("tensor: mm", 1024, |a, b| a.matmul(&b))),
        Box::new(|| product("scheduled: mm", 1024, scheduled::mm)),
        Box::new(|| transposed("tensor: tmm", 1024, |a, b| a.transpose().matmul(&b))),
        Box::new(|| transposed("scheduled: tmm", 1024, scheduled::tmm)),
        Box::new(|| batched("tensor: bmm", papers::bmm)),
        Box::new(|| batched("scheduled: bmm", scheduled::bmm)),
        Box::new(|| khatri_rao("tensor: mttkrp", 250, papers::mttkrp)),
        Box::new(|| khatri_rao("scheduled: mttkrp", 250, scheduled::mttkrp)),
        Box::new(|| sampled("tensor: sddmm", 4096, 256, papers::sddmm)),
        Box::new(|| sampled("scheduled: sddmm", 4096, 256, scheduled::sddmm)),
    ]
}

type Square = Acc<Matrix<f64>>;

/// By the `gemm` crate, a part of the rows on each thread.
fn square_product(n: usize, [a, b]: [Vec<f64>; 2], [row, column]: [usize; 2]) -> Box<dyn Hand> {
    hand(vec![0f64; n * n], move |c| {
        let c = Shared::new(c);
        split(n, 8, |r| {
            let (m, n, apart) = (r.len(), n, n as isize);
            // SAFETY: the parts are disjoint; the rows of the first factor are `row` apart, its columns `column`, and all
            // are matrices of `n` rows and columns.
            unsafe {
                let c = c.part(r.start * n..r.end * n).as_mut_ptr();
                let a = a.as_ptr().add(r.start * row);
                let (b, row, column) = (b.as_ptr(), row as isize, column as isize);
                let one_thread = gemm::Parallelism::None;
                gemm::gemm(
                    m, n, n, c, 1, apart, false, a, column, row, b, 1, apart, 0.0, 1.0, false, false, false, one_thread,
                );
            }
        });
    })
}

fn square_row(
    name: &'static str,
    n: usize,
    (program, args): (Arc<Program>, Vec<ArrayData>),
    hand: Box<dyn Hand>,
) -> Row {
    let bytes = 8.0 * (n * n) as f64;
    Row {
        name,
        size: format!("{n}²"),
        read: 2.0 * bytes,
        written: bytes,
        flops: 2.0 * (n as f64).powi(3),
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

fn factors(n: usize) -> [Vec<f64>; 2] {
    [60, 61].map(|seed| doubles(seed, n * n, -1.0, 1.0))
}

fn product(name: &'static str, n: usize, f: fn(Square, Square) -> Square) -> Row {
    let [a, b] = factors(n);
    let program = program(f, (&tensor((n, n), &a), &tensor((n, n), &b)).into_data());
    square_row(name, n, program, square_product(n, [a, b], [n, 1]))
}

fn transposed(name: &'static str, n: usize, f: fn(Square, Square) -> Square) -> Row {
    let [a, b] = factors(n);
    let program = program(f, (&tensor((n, n), &a), &tensor((n, n), &b)).into_data());
    square_row(name, n, program, square_product(n, [a, b], [1, n]))
}

const BATCH: usize = 8192;
/// Rows of each of the products.
const M: usize = 72;
/// Terms of a sum.
const K: usize = 26;
/// Columns.
const N: usize = 72;

type Cube = Acc<Array<DIM3, f64>>;

fn batched(name: &'static str, f: fn(Cube, Cube) -> Cube) -> Row {
    let (a, b) = (doubles(62, BATCH * M * K, -1.0, 1.0), doubles(63, BATCH * K * N, -1.0, 1.0));
    let (program, args) = program(f, (&tensor((BATCH, M, K), &a), &tensor((BATCH, K, N), &b)).into_data());
    let hand = hand(vec![0f64; BATCH * M * N], move |c| {
        let c = Shared::new(c);
        split(BATCH, 1, |r| {
            // SAFETY: the parts are disjoint.
            small_products(
                unsafe { c.part(r.start * M * N..r.end * M * N) },
                &a[r.start * M * K..],
                &b[r.start * K * N..],
            );
        });
    });
    Row {
        name,
        size: format!("{BATCH} of {M}x{K} by {K}x{N}"),
        read: 8.0 * (BATCH * K * (M + N)) as f64,
        written: 8.0 * (BATCH * M * N) as f64,
        flops: 2.0 * (BATCH * M * K * N) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

on_widest_doubles! {
    /// As many products as there is room for.
    fn small_products(c: &mut [f64], a: &[f64], b: &[f64]) = small_products_in;
}

/// Extents are whole numbers of tiles.
#[inline(always)]
unsafe fn small_products_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(c: &mut [f64], a: &[f64], b: &[f64]) {
    for ((c, a), b) in c.chunks_exact_mut(M * N).zip(a.chunks_exact(M * K)).zip(b.chunks_exact(K * N)) {
        for j in (0..N).step_by(VECTORS * V::LANES) {
            for i in (0..M).step_by(ROWS) {
                // SAFETY: by the contract; tiles are in bounds, and begin at multiples of the size of a vector.
                unsafe {
                    let rows = Rows { at: a.as_ptr().add(i * K), apart: K, step: 1 };
                    let sums = tile::<V, ROWS, VECTORS>(K, rows, b.as_ptr().add(j), N);
                    for r in 0..ROWS {
                        for v in 0..VECTORS {
                            sums[r][v].store(c.as_mut_ptr().add((i + r) * N + j + v * V::LANES));
                        }
                    }
                }
            }
        }
    }
}

/// All panels of a matrix, made on all threads.
fn panels(memory: &mut [f64], matrix: &[f64], columns: usize) {
    let (rows, width) = (matrix.len() / columns, tile_width());
    let memory = Shared::new(memory);
    each(columns.div_ceil(width), |p| {
        // SAFETY: the parts are disjoint.
        pack(unsafe { memory.part(p * rows * width..(p + 1) * rows * width) }, matrix, columns, p * width);
    });
}

fn panel_memory(rows: usize, columns: usize) -> Vec<f64> {
    vec![0.0; rows * columns.next_multiple_of(tile_width())]
}

/// A tensor unfolded, times the Khatri-Rao product of two matrices.
fn khatri_rao(name: &'static str, n: usize, f: fn(Cube, Square, Square) -> Square) -> Row {
    let b = doubles(64, n * n * n, -1.0, 1.0);
    let (d, c) = (doubles(65, n * n, -1.0, 1.0), doubles(66, n * n, -1.0, 1.0));
    let (program, args) = program(f, (&tensor((n, n, n), &b), &tensor((n, n), &d), &tensor((n, n), &c)).into_data());
    let mut memory = [panel_memory(n, n), panel_memory(n, n)];
    let hand = hand(vec![0f64; n * n], move |out| {
        let out = Shared::new(out);
        panels(&mut memory[0], &d, n);
        panels(&mut memory[1], &c, n);
        each(n, |i| {
            // SAFETY: the parts are disjoint.
            weighted_sums(unsafe { out.part(i * n..(i + 1) * n) }, &b[i * n * n..][..n * n], &memory);
        });
    });
    Row {
        name,
        size: format!("{n}³"),
        read: 8.0 * (n * n * n) as f64,
        written: 8.0 * (n * n) as f64,
        flops: 2.0 * (n as f64).powi(4),
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

on_widest_doubles! {
    /// Of a matrix of an even number of rows times the first of others, in panels, the sums of columns weighted with the second.
    fn weighted_sums(out: &mut [f64], b: &[f64], panels: &[Vec<f64>; 2]) = weighted_sums_in;
}

#[inline(always)]
unsafe fn weighted_sums_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    b: &[f64],
    [d, c]: &[Vec<f64>; 2],
) {
    let (n, width) = (out.len(), VECTORS * V::LANES);
    for ((d, c), out) in d.chunks_exact(n * width).zip(c.chunks_exact(n * width)).zip(out.chunks_mut(width)) {
        // SAFETY: by the contract; `b` has `n` rows and columns, and the panels have `n` rows.
        unsafe {
            let mut sums = [V::all(0.0); VECTORS];
            for k in (0..n / ROWS * ROWS).step_by(ROWS) {
                weigh::<V, ROWS, VECTORS>(&mut sums, n, b.as_ptr().add(k * n), d.as_ptr(), c.as_ptr().add(k * width));
            }
            for k in (n / ROWS * ROWS..n).step_by(2) {
                weigh::<V, 2, VECTORS>(&mut sums, n, b.as_ptr().add(k * n), d.as_ptr(), c.as_ptr().add(k * width));
            }
            let mut all = [0f64; WIDEST];
            for v in 0..VECTORS {
                sums[v].store(all.as_mut_ptr().add(v * V::LANES));
            }
            out.copy_from_slice(&all[..out.len()]);
        }
    }
}

/// Columns of the widest panel.
const WIDEST: usize = 24;

#[inline(always)]
unsafe fn weigh<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [V; VECTORS],
    n: usize,
    b: *const f64,
    d: *const f64,
    c: *const f64,
) {
    let width = VECTORS * V::LANES;
    // SAFETY: by the contract.
    unsafe {
        let products = tile::<V, ROWS, VECTORS>(n, Rows { at: b, apart: n, step: 1 }, d, width);
        for r in 0..ROWS {
            for v in 0..VECTORS {
                sums[v] = products[r][v].mul_add(V::load(c.add(r * width + v * V::LANES)), sums[v]);
            }
        }
    }
}

/// Rows that are computed with one panel after the other: they stay in the second cache. Whole tiles of either width.
const BLOCK: usize = 144;

/// A product of dense matrices, each element times that of another matrix.
fn sampled(name: &'static str, n: usize, k: usize, f: fn(Square, Square, Square) -> Square) -> Row {
    let s = doubles(67, n * n, -1.0, 1.0);
    let (b, c) = (doubles(68, n * k, -1.0, 1.0), doubles(69, k * n, -1.0, 1.0));
    let (program, args) = program(f, (&tensor((n, n), &s), &tensor((n, k), &b), &tensor((k, n), &c)).into_data());
    let mut memory = panel_memory(k, n);
    let hand = hand(vec![0f64; n * n], move |out| {
        let out = Shared::new(out);
        panels(&mut memory, &c, n);
        each(n.div_ceil(BLOCK), |block| {
            let rows = block * BLOCK..n.min((block + 1) * BLOCK);
            let r = rows.start * n..rows.end * n;
            // SAFETY: the parts are disjoint.
            let to = unsafe { out.part(r.clone()) };
            weighted_product(to, &s[r], &b[rows.start * k..rows.end * k], &memory, n);
        });
    });
    Row {
        name,
        size: format!("{n}², {k} inner"),
        read: 8.0 * (n * n + 2 * n * k) as f64,
        written: 8.0 * (n * n) as f64,
        flops: 2.0 * (n * n * k) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

on_widest_doubles! {
    /// A block of an even number of rows times a matrix of `n` columns in panels, each element times its weight.
    fn weighted_product(out: &mut [f64], s: &[f64], b: &[f64], panels: &[f64], n: usize) = weighted_product_in;
}

#[inline(always)]
unsafe fn weighted_product_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    s: &[f64],
    b: &[f64],
    panels: &[f64],
    n: usize,
) {
    let (rows, width) = (out.len() / n, VECTORS * V::LANES);
    let k = b.len() / rows;
    let whole = rows / ROWS * ROWS;
    for (p, panel) in panels.chunks_exact(k * width).enumerate() {
        let place = |i: usize| i * n + p * width;
        let left = (n - p * width) / V::LANES;
        // SAFETY: by the contract; the panel has `k` rows.
        unsafe {
            for i in (0..whole).step_by(ROWS) {
                let at = place(i);
                weighted::<V, ROWS, VECTORS>(&mut out[at..], &s[at..], &b[i * k..], k, panel, [n, left]);
            }
            for i in (whole..rows).step_by(2) {
                let at = place(i);
                weighted::<V, 2, VECTORS>(&mut out[at..], &s[at..], &b[i * k..], k, panel, [n, left]);
            }
        }
    }
}

/// A tile of rows `apart`, of which at most so many vectors are `left`.
#[inline(always)]
unsafe fn weighted<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    s: &[f64],
    b: &[f64],
    k: usize,
    panel: &[f64],
    [apart, left]: [usize; 2],
) {
    // SAFETY: by the contract.
    unsafe {
        let rows = Rows { at: b.as_ptr(), apart: k, step: 1 };
        let sums = tile::<V, ROWS, VECTORS>(k, rows, panel.as_ptr(), VECTORS * V::LANES);
        for r in 0..ROWS {
            for v in 0..VECTORS {
                if v < left {
                    let at = r * apart + v * V::LANES;
                    sums[r][v].times(V::load(s.as_ptr().add(at))).store(out.as_mut_ptr().add(at));
                }
            }
        }
    }
}
