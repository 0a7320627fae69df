//! Stencils on a matrix, whose edge is repeated.

use super::matrix;
use crate::data::floats;
use crate::pool::{Shared, split};
use crate::row::{Hand, Row, hand, program};
use crate::vectors::{all, store};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| five_point(2048)), Box::new(|| three_by_three(2048))]
}

/// Runs a kernel over the rows of a square matrix, a part of them on each thread.
fn by_rows(n: usize, a: Vec<f32>, kernel: unsafe fn(&mut [f32], &[f32], usize, usize)) -> Box<dyn Hand> {
    hand(vec![0f32; n * n], move |out| {
        let out = Shared::new(out);
        split(n, 1, |rows| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe { kernel(out.part(rows.start * n..rows.end * n), &a, n, rows.start) }
        });
    })
}

/// Computes rows of a matrix from `first` on, eight columns at a time, from the three by three neighbours of each. The
/// number of columns is a multiple of eight.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sweep(out: &mut [f32], a: &[f32], n: usize, first: usize, f: impl Fn([[__m256; 3]; 3]) -> __m256) {
    let (left, right) = (_mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
    for (k, out) in out.chunks_exact_mut(n).enumerate() {
        let i = first + k;
        let rows = [i.saturating_sub(1), i, (i + 1).min(n - 1)].map(|i| &a[i * n..][..n]);
        for j in (0..n).step_by(8) {
            let mut near = [[all(0.0); 3]; 3];
            for k in 0..3 {
                // SAFETY: the row has eight elements from `j` on, one before them unless they are its first, and one
                // after them unless they are its last.
                unsafe {
                    let at = rows[k].as_ptr().add(j);
                    let here = _mm256_loadu_ps(at);
                    let before = if j == 0 { _mm256_permutevar8x32_ps(here, left) } else { _mm256_loadu_ps(at.sub(1)) };
                    let after =
                        if j + 8 == n { _mm256_permutevar8x32_ps(here, right) } else { _mm256_loadu_ps(at.add(1)) };
                    near[k] = [before, here, after];
                }
            }
            // SAFETY: the row has eight elements from `j` on, and begins at a multiple of 32 bytes.
            unsafe { store::<true>(out.as_mut_ptr().add(j), f(near)) };
        }
    }
    _mm_sfence();
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
    let hand = by_rows(n, a, five_point_rows);
    let cells = (n * n) as f64;
    Row {
        name: "stencil, 5 points",
        size: format!("{n}²"),
        read: 4.0 * cells,
        written: 4.0 * cells,
        flops: 6.0 * cells,
        program,
        args,
        hand,
        tolerance: 1e-6,
    }
}

#[target_feature(enable = "avx2,fma")]
fn five_point_rows(out: &mut [f32], a: &[f32], n: usize, first: usize) {
    sweep(out, a, n, first, |[[_, n, _], [w, c, e], [_, s, _]]| {
        let around = _mm256_add_ps(_mm256_add_ps(n, s), _mm256_add_ps(w, e));
        _mm256_fmadd_ps(around, all(0.125), _mm256_mul_ps(c, all(0.5)))
    });
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
    let hand = by_rows(n, a, three_by_three_rows);
    let cells = (n * n) as f64;
    Row {
        name: "stencil, 3x3",
        size: format!("{n}²"),
        read: 4.0 * cells,
        written: 4.0 * cells,
        flops: 11.0 * cells,
        program,
        args,
        hand,
        tolerance: 1e-6,
    }
}

#[target_feature(enable = "avx2,fma")]
fn three_by_three_rows(out: &mut [f32], a: &[f32], n: usize, first: usize) {
    let [corner, side, middle] = WEIGHTS;
    sweep(out, a, n, first, |[[a, b, c], [d, e, f], [g, h, i]]| {
        let corners = _mm256_add_ps(_mm256_add_ps(a, c), _mm256_add_ps(g, i));
        let sides = _mm256_add_ps(_mm256_add_ps(b, d), _mm256_add_ps(f, h));
        let sum = _mm256_fmadd_ps(sides, all(side), _mm256_mul_ps(e, all(middle)));
        _mm256_fmadd_ps(corners, all(corner), sum)
    });
}
