//! One pass over vectors: saxpy, a polynomial of ten operations, a dot product.

use super::{label, vector};
use crate::data::floats;
use crate::pool::{Shared, part, run, split, threads};
use crate::row::{Row, hand, program};
use crate::vectors::{across, all, store};
use acc_core::prelude::*;
use std::arch::x86_64::*;

/// Outputs of so many elements do not fit in the cache, and are written by non-temporal stores.
const MIN_STREAMED_ELEMENTS: usize = 1 << 22;
/// With fewer, a second thread costs more than it gains.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    let mut out: Vec<Box<dyn Fn() -> Row>> = Vec::new();
    for n in [10_000, 1_000_000, 16_000_000] {
        out.push(Box::new(move || saxpy(n)));
        out.push(Box::new(move || polynomial(n)));
    }
    for n in [1_000_000, 16_000_000] {
        out.push(Box::new(move || dot(n)));
    }
    out
}

/// Runs a kernel on parts of a vector, or on all of it if it is short.
fn over(n: usize, kernel: impl Fn(std::ops::Range<usize>) + Sync) {
    if n < MIN_PARALLEL_ELEMENTS { kernel(0..n) } else { split(n, 64, kernel) }
}

fn saxpy(n: usize) -> Row {
    let (x, y) = (floats(1, n, -1.0, 1.0), floats(2, n, -1.0, 1.0));
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>| x.zip_with(&y, |x, y| 2.5 * x + y),
        (&vector(&x), &vector(&y)).into_data(),
    );
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        // SAFETY: the parts are disjoint; the caller has seen the features.
        over(n, |r| unsafe { saxpy_part(out.part(r.clone()), &x[r.clone()], &y[r], n >= MIN_STREAMED_ELEMENTS) });
    });
    Row {
        name: "saxpy",
        size: label(n),
        read: 8.0 * n as f64,
        written: 4.0 * n as f64,
        flops: 2.0 * n as f64,
        program,
        args,
        hand,
        tolerance: 1e-6,
    }
}

#[target_feature(enable = "avx2,fma")]
fn saxpy_part(out: &mut [f32], x: &[f32], y: &[f32], streams: bool) {
    map2(out, x, y, streams, |x, y| _mm256_fmadd_ps(all(2.5), x, y));
}

/// An element-wise kernel over two vectors, with non-temporal stores or plain ones.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn map2(out: &mut [f32], x: &[f32], y: &[f32], streams: bool, f: impl Fn(__m256, __m256) -> __m256) {
    if streams && out.as_ptr().align_offset(32) == 0 {
        map2_to::<true>(out, x, y, f);
        _mm_sfence();
    } else {
        map2_to::<false>(out, x, y, f);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn map2_to<const STREAM: bool>(out: &mut [f32], x: &[f32], y: &[f32], f: impl Fn(__m256, __m256) -> __m256) {
    let n = out.len();
    // SAFETY: all three have `n` elements, and where the first is streamed to, it is aligned.
    unsafe {
        let (o, x, y) = (out.as_mut_ptr(), x.as_ptr(), y.as_ptr());
        for i in (0..n / 8 * 8).step_by(8) {
            store::<STREAM>(o.add(i), f(_mm256_loadu_ps(x.add(i)), _mm256_loadu_ps(y.add(i))));
        }
        for i in n / 8 * 8..n {
            *o.add(i) = _mm256_cvtss_f32(f(all(*x.add(i)), all(*y.add(i))));
        }
    }
}

fn polynomial(n: usize) -> Row {
    let x = floats(3, n, -1.0, 1.0);
    let (program, args) = program(
        |x: Acc<Vector<f32>>| {
            x.map(|x| {
                let t = x * 1.3 - 0.7;
                let u = t * t;
                let v = u - x;
                let w = (v * 0.25 + t).max(-0.7);
                (w * u + x).min(1.3) * v
            })
        },
        (&vector(&x),).into_data(),
    );
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        // SAFETY: as for saxpy.
        over(n, |r| unsafe { polynomial_part(out.part(r.clone()), &x[r], n >= MIN_STREAMED_ELEMENTS) });
    });
    Row {
        name: "polynomial",
        size: label(n),
        read: 4.0 * n as f64,
        written: 4.0 * n as f64,
        flops: 10.0 * n as f64,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

#[target_feature(enable = "avx2,fma")]
fn polynomial_part(out: &mut [f32], x: &[f32], streams: bool) {
    map2(out, x, x, streams, |x, _| {
        let t = _mm256_fmadd_ps(x, all(1.3), all(-0.7));
        let u = _mm256_mul_ps(t, t);
        let v = _mm256_sub_ps(u, x);
        let w = _mm256_max_ps(_mm256_fmadd_ps(v, all(0.25), t), all(-0.7));
        _mm256_mul_ps(_mm256_min_ps(_mm256_fmadd_ps(w, u, x), all(1.3)), v)
    });
}

fn dot(n: usize) -> Row {
    let (x, y) = (floats(4, n, -1.0, 1.0), floats(5, n, -1.0, 1.0));
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>| x.zip_with(&y, |x, y| x * y).sum(),
        (&vector(&x), &vector(&y)).into_data(),
    );
    let hand = hand(0f32, move |out| {
        let mut sums = vec![0f32; threads()];
        let shared = Shared::new(&mut sums);
        run(&|t| {
            let r = part(n, 64, t);
            // SAFETY: each thread writes its own sum; the caller has seen the features.
            unsafe { shared.part(t..t + 1)[0] = dot_part(&x[r.clone()], &y[r]) }
        });
        *out = sums.iter().sum();
    });
    // The sum of products of both signs is small against them.
    Row {
        name: "dot product",
        size: label(n),
        read: 8.0 * n as f64,
        written: 0.0,
        flops: 2.0 * n as f64,
        program,
        args,
        hand,
        tolerance: 1e-2,
    }
}

#[target_feature(enable = "avx2,fma")]
fn dot_part(x: &[f32], y: &[f32]) -> f32 {
    const U: usize = 8;
    let mut sums = [_mm256_setzero_ps(); U];
    let (xs, ys) = (x.chunks_exact(8 * U), y.chunks_exact(8 * U));
    let rest: f32 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for (k, s) in sums.iter_mut().enumerate() {
            // SAFETY: `8 * k + 8` is at most the length of a chunk.
            *s = unsafe {
                _mm256_fmadd_ps(_mm256_loadu_ps(x.as_ptr().add(8 * k)), _mm256_loadu_ps(y.as_ptr().add(8 * k)), *s)
            };
        }
    }
    let mut total = all(0.0);
    for s in sums {
        total = _mm256_add_ps(total, s);
    }
    across(total) + rest
}
