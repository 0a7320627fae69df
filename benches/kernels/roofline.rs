//! What the machine can do at best, measured in the same run (Williams, Waterman, Patterson: Roofline, 2009).

use crate::measure::median;
use crate::pool::{Shared, run, split, threads};
use crate::vectors::{streamed, sum};
use std::arch::x86_64::*;
use std::hint::black_box;
use std::time::Instant;

/// The machine's limits on all threads.
#[derive(Clone, Copy)]
pub struct Roofline {
    /// Bytes a second, reading.
    pub read: f64,
    /// Bytes a second, reading as much as is written, with non-temporal stores.
    pub copy: f64,
    /// Floating-point operations a second: fused multiplications and additions of single precision.
    pub flops: f64,
}

const VECTOR_LENGTH: usize = 1 << 24;
const ROUNDS: usize = 7;

fn best(work: f64, mut call: impl FnMut()) -> f64 {
    call();
    let rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            call();
            work / start.elapsed().as_secs_f64()
        })
        .collect();
    median(&rates)
}

impl Roofline {
    /// Measures them.
    pub fn measure() -> Roofline {
        let a = vec![1f32; VECTOR_LENGTH];
        let mut b = vec![0f32; VECTOR_LENGTH];
        let bytes = 4.0 * VECTOR_LENGTH as f64;
        let read = best(bytes, || {
            split(VECTOR_LENGTH, 64, |r| {
                // SAFETY: the caller has seen the features.
                black_box(unsafe { sum(&a[r]) });
            });
        });
        let copy = best(2.0 * bytes, || {
            let b = Shared::new(&mut b);
            // SAFETY: the parts are disjoint; the caller has seen the features.
            split(VECTOR_LENGTH, 64, |r| unsafe { streamed(b.part(r.clone()), &a[r]) });
        });
        const STEPS: usize = 4_000_000;
        let flops = best((STEPS * 12 * 16 * threads()) as f64, || {
            // SAFETY: the caller has seen the features.
            run(&|_| _ = black_box(unsafe { fused(STEPS) }));
        });
        Roofline { read, copy, flops }
    }

    /// Bytes a second, writing: what is left of a copy's time when its reading is taken off, which is not less than half
    /// of what reading takes.
    pub fn write(&self) -> f64 {
        1.0 / (2.0 / self.copy - 1.0 / self.read).max(0.5 / self.read)
    }
}

#[target_feature(enable = "avx2,fma")]
fn fused(steps: usize) -> f32 {
    let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(1e-4)));
    let mut x = [_mm256_set1_ps(0.1); 12];
    for _ in 0..steps {
        for x in &mut x {
            *x = _mm256_fmadd_ps(*x, a, b);
        }
    }
    x.into_iter().map(|x| _mm256_cvtss_f32(x)).sum()
}
