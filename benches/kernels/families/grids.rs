//! Matrices: stencils, sums along each axis, transposition.

use crate::data::floats;
use crate::pool::{Shared, part, run, split, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| five_point(2048)),
        Box::new(|| three_by_three(2048)),
        Box::new(|| row_sums(4096)),
        Box::new(|| column_sums(4096)),
        Box::new(|| transposed(4096)),
    ]
}

fn matrix(n: usize, values: &[f32]) -> Matrix<f32> {
    Matrix::from_vec((n, n), values.to_vec()).unwrap_or_else(|e| panic!("a square matrix: {e}"))
}

/// The nearest row or column that there is.
fn near(i: usize, by: isize, n: usize) -> usize {
    (i as isize + by).clamp(0, n as isize - 1) as usize
}

/// A kernel over the rows of a square matrix: each is computed from the rows above, at and below it, the middle of which
/// eight columns at a time and the first and last column on their own.
fn by_rows(
    n: usize,
    a: Vec<f32>,
    inner: unsafe fn(&mut [f32], [&[f32]; 3]),
    edge: fn([&[f32]; 3], [usize; 3]) -> f32,
) -> Box<dyn crate::row::Hand> {
    hand(vec![0f32; n * n], move |out| {
        let out = Shared::new(out);
        split(n, 1, |rows| {
            for i in rows {
                let at = |by| &a[near(i, by, n) * n..][..n];
                let around = [at(-1), at(0), at(1)];
                // SAFETY: each row is one thread's; the caller has seen the features.
                let row = unsafe { out.part(i * n..(i + 1) * n) };
                unsafe { inner(row, around) };
                for j in [0, n - 1] {
                    row[j] = edge(around, [near(j, -1, n), j, near(j, 1, n)]);
                }
            }
        });
    })
}

fn five_point(n: usize) -> Row {
    let a = floats(13, n * n, 0.0, 1.0);
    let (program, args) = program(
        |a: Acc<Matrix<f32>>| {
            a.stencil(Edge::Clamp, |Window2([[_, n, _], [w, c, e], [_, s, _]]): Stencil3x3<f32>| {
                0.5 * c + 0.125 * (n + s + w + e)
            })
        },
        (&matrix(n, &a),).into_data(),
    );
    let hand = by_rows(n, a, five_point_row, |[up, at, down], [w, j, e]| {
        0.5 * at[j] + 0.125 * (up[j] + down[j] + at[w] + at[e])
    });
    let cells = (n * n) as f64;
    Row {
        name: "stencil, 5 points",
        size: format!("{n}²"),
        bytes: 8.0 * cells,
        flops: 6.0 * cells,
        program,
        args,
        hand,
        tolerance: 1e-6,
    }
}

#[target_feature(enable = "avx2,fma")]
fn five_point_row(out: &mut [f32], [up, at, down]: [&[f32]; 3]) {
    for j in 1..out.len() - 1 {
        out[j] = 0.5 * at[j] + 0.125 * (up[j] + down[j] + at[j - 1] + at[j + 1]);
    }
}

/// A Gaussian blur.
const WEIGHTS: [f32; 3] = [0.0625, 0.125, 0.25];

fn three_by_three(n: usize) -> Row {
    let a = floats(14, n * n, 0.0, 1.0);
    let (program, args) = program(
        |a: Acc<Matrix<f32>>| {
            a.stencil(Edge::Clamp, |Window2([[a, b, c], [d, e, f], [g, h, i]]): Stencil3x3<f32>| {
                let [corner, side, middle] = WEIGHTS;
                corner * (a + c + g + i) + side * (b + d + f + h) + middle * e
            })
        },
        (&matrix(n, &a),).into_data(),
    );
    let hand = by_rows(n, a, three_by_three_row, |[up, at, down], [w, j, e]| {
        let [corner, side, middle] = WEIGHTS;
        corner * (up[w] + up[e] + down[w] + down[e]) + side * (up[j] + at[w] + at[e] + down[j]) + middle * at[j]
    });
    let cells = (n * n) as f64;
    Row {
        name: "stencil, 3x3",
        size: format!("{n}²"),
        bytes: 8.0 * cells,
        flops: 11.0 * cells,
        program,
        args,
        hand,
        tolerance: 1e-6,
    }
}

#[target_feature(enable = "avx2,fma")]
fn three_by_three_row(out: &mut [f32], [up, at, down]: [&[f32]; 3]) {
    let [corner, side, middle] = WEIGHTS;
    for j in 1..out.len() - 1 {
        let (w, e) = (j - 1, j + 1);
        let corners = up[w] + up[e] + down[w] + down[e];
        out[j] = corner * corners + side * (up[j] + at[w] + at[e] + down[j]) + middle * at[j];
    }
}

fn row_sums(n: usize) -> Row {
    let a = floats(15, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.sum(), (&matrix(n, &a),).into_data());
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        split(n, 16, |rows| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            let sums = unsafe { out.part(rows.clone()) };
            for (s, i) in sums.iter_mut().zip(rows) {
                *s = unsafe { sum(&a[i * n..][..n]) };
            }
        });
    });
    let cells = (n * n) as f64;
    Row {
        name: "sum of each row",
        size: format!("{n}²"),
        bytes: 4.0 * cells,
        flops: cells,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

#[target_feature(enable = "avx2,fma")]
fn sum(row: &[f32]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    for chunk in row.chunks_exact(32) {
        for (k, s) in sums.iter_mut().enumerate() {
            // SAFETY: the chunk has 32 elements.
            *s = _mm256_add_ps(*s, unsafe { _mm256_loadu_ps(chunk.as_ptr().add(8 * k)) });
        }
    }
    let total = sums.into_iter().reduce(|a, b| _mm256_add_ps(a, b)).unwrap_or(_mm256_setzero_ps());
    let mut lanes = [0f32; 8];
    // SAFETY: eight lanes fit.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), total) };
    lanes.iter().sum()
}

fn column_sums(n: usize) -> Row {
    let a = floats(16, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.transpose().sum(), (&matrix(n, &a),).into_data());
    let mut partial = vec![0f32; n * threads()];
    let hand = hand(vec![0f32; n], move |out| {
        partial.fill(0.0);
        let sums = Shared::new(&mut partial);
        run(&|t| {
            // SAFETY: each thread has sums of its own; the caller has seen the features.
            let own = unsafe { sums.part(t * n..(t + 1) * n) };
            for i in part(n, 1, t) {
                unsafe { add(own, &a[i * n..][..n]) };
            }
        });
        for (j, o) in out.iter_mut().enumerate() {
            *o = partial.iter().skip(j).step_by(n).sum();
        }
    });
    let cells = (n * n) as f64;
    Row {
        name: "sum of each column",
        size: format!("{n}²"),
        bytes: 4.0 * cells,
        flops: cells,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

#[target_feature(enable = "avx2,fma")]
fn add(sums: &mut [f32], row: &[f32]) {
    for (s, x) in sums.iter_mut().zip(row) {
        *s += x;
    }
}

fn transposed(n: usize) -> Row {
    let a = floats(17, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.transpose(), (&matrix(n, &a),).into_data());
    let hand = hand(vec![0f32; n * n], move |out| {
        let out = Shared::new(out);
        split(n, 16, |rows| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe { transpose_part(out.part(rows.start * n..rows.end * n), &a, n, rows.start) }
        });
    });
    let cells = (n * n) as f64;
    Row {
        name: "transposition",
        size: format!("{n}²"),
        bytes: 8.0 * cells,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// Rows of the transposed matrix, from blocks that fit in the cache.
#[target_feature(enable = "avx2,fma")]
fn transpose_part(out: &mut [f32], a: &[f32], n: usize, first: usize) {
    const B: usize = 16;
    let rows = out.len() / n;
    for i in (0..rows).step_by(B) {
        for j in (0..n).step_by(B) {
            for i in (i..(i + B).min(rows)).step_by(8) {
                for j in (j..(j + B).min(n)).step_by(8) {
                    // SAFETY: `n` and the number of rows are multiples of 8, so that the block is in bounds of both.
                    unsafe { block(out.as_mut_ptr().add(i * n + j), a.as_ptr().add(j * n + first + i), n) };
                }
            }
        }
    }
}

/// A block of 8 x 8.
///
/// # Safety
///
/// Eight rows of eight elements, `n` apart, can be written and read.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn block(out: *mut f32, a: *const f32, n: usize) {
    // SAFETY: by the contract.
    let r: [__m256; 8] = std::array::from_fn(|k| unsafe { _mm256_loadu_ps(a.add(k * n)) });
    let pairs: [__m256; 8] = std::array::from_fn(|k| {
        let (x, y) = (r[k / 2 * 2], r[k / 2 * 2 + 1]);
        if k % 2 == 0 { _mm256_unpacklo_ps(x, y) } else { _mm256_unpackhi_ps(x, y) }
    });
    let quads: [__m256; 8] = std::array::from_fn(|k| {
        let (x, y) = (pairs[k / 4 * 4 + k % 4 / 2], pairs[k / 4 * 4 + 2 + k % 4 / 2]);
        if k % 2 == 0 { _mm256_shuffle_ps::<0x44>(x, y) } else { _mm256_shuffle_ps::<0xee>(x, y) }
    });
    for k in 0..4 {
        // SAFETY: by the contract.
        unsafe {
            _mm256_storeu_ps(out.add(k * n), _mm256_permute2f128_ps::<0x20>(quads[k], quads[k + 4]));
            _mm256_storeu_ps(out.add((k + 4) * n), _mm256_permute2f128_ps::<0x31>(quads[k], quads[k + 4]));
        }
    }
}
