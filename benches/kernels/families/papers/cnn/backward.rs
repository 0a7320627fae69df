//! A step of training by hand: of each image the outputs and back, while all of it is in the first cache.

use super::forward;
use super::network::{Gradient, Image, Lanes8, Network, PIXELS, SIDE};
use crate::pool::{Shared, part, run};
use crate::vectors::all;
use std::arch::x86_64::*;
use std::hint::black_box;

/// Trains the network on a batch; its loss before.
pub fn step(net: &mut Network, gradients: &mut [Gradient], images: &[f32], labels: &[u8], rate: f32) -> f32 {
    let of = &*net;
    let shared = Shared::new(gradients);
    run(&|t| {
        // SAFETY: each thread has its own.
        let sums = unsafe { &mut shared.part(t..t + 1)[0] };
        sums.clear();
        for n in part(labels.len(), 1, t) {
            let x = &images[n * PIXELS..][..PIXELS];
            forward::outputs(&mut sums.image, of, x);
            // SAFETY: the caller has seen the features.
            unsafe { back(sums, of, x, usize::from(labels[n])) };
        }
    });
    for sums in gradients.iter() {
        net.parameters_mut().zip(sums.parameters()).for_each(|(x, slope)| *x -= rate * slope);
    }
    gradients.iter().map(|sums| sums.loss).sum()
}

/// Adds the gradient of an image.
#[target_feature(enable = "avx2,fma")]
fn back(sums: &mut Gradient, net: &Network, x: &[f32], label: usize) {
    let Image { a1, s1, a2, s2, y, d1, ds1, d2, ds2 } = &mut sums.image;
    ds2.fill(0.0);
    for o in 0..10 {
        let miss = y[o] - f32::from(u8::from(o == label));
        let slope = miss * y[o] * (1.0 - y[o]);
        sums.loss += 0.5 * miss * miss;
        sums.b[o] += slope;
        let (w, gradient) = (&net.w[o * 192..][..192], &mut sums.w[o * 192..][..192]);
        for k in 0..192 {
            gradient[k] += slope * s2[k];
            ds2[k] += slope * w[k];
        }
    }
    // SAFETY: the extents are those of the network.
    unsafe {
        spread::<8>(d2, ds2, a2, &mut sums.b2);
        filters::<12, 6, 12, 1>(&mut sums.k2, d2, s1);
        input(ds1, d2, &net.k2);
        spread::<24>(d1, ds1, a1, &mut sums.b1);
        filters::<6, 1, SIDE, 3>(&mut sums.k1, d1, x);
    }
}

/// Adjoints before the sigmoids from those of the means, of channels of `SIDE` rows and columns; adds up those of each
/// channel.
///
/// # Safety
///
/// The extents are those of the slices; `SIDE` is a multiple of eight.
#[target_feature(enable = "avx2,fma")]
unsafe fn spread<const SIDE: usize>(out: &mut [f32], means: &[f32], a: &[f32], sums: &mut [Lanes8]) {
    let twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    for (channel, sums) in sums.iter_mut().enumerate() {
        // SAFETY: by the contract.
        unsafe {
            let mut sum = _mm256_loadu_ps(sums.as_ptr());
            for row in 0..SIDE {
                for column in (0..SIDE).step_by(8) {
                    let at = (channel * SIDE + row) * SIDE + column;
                    let mean = means.as_ptr().add((channel * (SIDE / 2) + row / 2) * (SIDE / 2) + column / 2);
                    let mean = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(mean)), twice);
                    let a = _mm256_loadu_ps(a.as_ptr().add(at));
                    let slope = _mm256_fnmadd_ps(a, a, a);
                    let adjoint = _mm256_mul_ps(_mm256_mul_ps(mean, all(0.25)), slope);
                    sum = _mm256_add_ps(sum, adjoint);
                    _mm256_storeu_ps(out.as_mut_ptr().add(at), adjoint);
                }
            }
            _mm256_storeu_ps(sums.as_mut_ptr(), sum);
        }
    }
}

/// Adds the gradient by `OUT` filters of five by five over `IN` channels of `SIDE` rows and columns, each sum spread over the
/// lanes: two filters, and a row of a window, at a time.
///
/// # Safety
///
/// The extents are those of the slices, and rows of results `VECTORS` long.
#[target_feature(enable = "avx2,fma")]
unsafe fn filters<const OUT: usize, const IN: usize, const SIDE: usize, const VECTORS: usize>(
    gradient: &mut [Lanes8],
    d: &[f32],
    x: &[f32],
) {
    // Unknown to the compiler, which would unroll the loop over rows and run out of registers.
    let side = black_box(SIDE - 4);
    for first in (0..OUT).step_by(2) {
        for (i, r) in (0..IN * 5).map(|k| (k / 5, k % 5)) {
            // SAFETY: by the contract.
            unsafe {
                let place = |o: usize, c: usize| (((first + o) * IN + i) * 5 + r) * 5 + c;
                let mut sums = [[all(0.0); 5]; 2];
                for y in 0..side {
                    for v in 0..VECTORS {
                        let from = x.as_ptr().add((i * SIDE + y + r) * SIDE + 8 * v);
                        let mut near = [all(0.0); 5];
                        for c in 0..5 {
                            near[c] = _mm256_loadu_ps(from.add(c));
                        }
                        for o in 0..2 {
                            let d = _mm256_loadu_ps(d.as_ptr().add(((first + o) * side + y) * side + 8 * v));
                            for c in 0..5 {
                                sums[o][c] = _mm256_fmadd_ps(d, near[c], sums[o][c]);
                            }
                        }
                    }
                }
                for o in 0..2 {
                    for c in 0..5 {
                        let to = gradient[place(o, c)].as_mut_ptr();
                        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), sums[o][c]));
                    }
                }
            }
        }
    }
}

/// The adjoints of the means that the second convolution reads: of each row what its columns add at each of five places, of
/// two channels at a time.
///
/// # Safety
///
/// The extents are those of the second convolution.
#[target_feature(enable = "avx2,fma")]
unsafe fn input(out: &mut [f32], d: &[f32], k: &[f32]) {
    // Between zeros, so that a vector may begin before and end behind.
    const APART: usize = 24;
    let mut shifted = [[0f32; 5 * APART]; 2];
    for first in (0..6).step_by(2) {
        for row in 0..12usize {
            // SAFETY: by the contract.
            unsafe {
                let mut sums = [[all(0.0); 5]; 2];
                for r in row.saturating_sub(7)..=row.min(4) {
                    for o in 0..12 {
                        let d = _mm256_loadu_ps(d.as_ptr().add((o * 8 + row - r) * 8));
                        let weights = k.as_ptr().add(((o * 6 + first) * 5 + r) * 5);
                        for i in 0..2 {
                            for c in 0..5 {
                                sums[i][c] = _mm256_fmadd_ps(d, all(*weights.add(i * 25 + c)), sums[i][c]);
                            }
                        }
                    }
                }
                for i in 0..2 {
                    for c in 0..5 {
                        _mm256_storeu_ps(shifted[i].as_mut_ptr().add(c * APART + 8), sums[i][c]);
                    }
                }
                for i in 0..2 {
                    let to = out.as_mut_ptr().add(((first + i) * 12 + row) * 12);
                    let (mut left, mut right) = (all(0.0), _mm_setzero_ps());
                    for c in 0..5 {
                        let from = shifted[i].as_ptr().add(c * APART + 8 - c);
                        left = _mm256_add_ps(left, _mm256_loadu_ps(from));
                        right = _mm_add_ps(right, _mm_loadu_ps(from.add(8)));
                    }
                    _mm256_storeu_ps(to, left);
                    _mm_storeu_ps(to.add(8), right);
                }
            }
        }
    }
}
