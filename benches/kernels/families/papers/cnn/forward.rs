//! What the network says about an image, by hand: tiles of filters, rows and vectors in registers.

use super::network::{Image, Network, PIXELS, SIDE};
use crate::functions::exp;
use crate::lanes::{Lanes, on_widest};
use crate::vectors::{across, all};
use std::arch::x86_64::*;

/// The outputs, and all before them.
pub fn outputs(image: &mut Image, net: &Network, x: &[f32]) {
    assert_eq!(x.len(), PIXELS);
    // SAFETY: the caller has seen the features; extents are those of the network.
    unsafe {
        convolve::<6, 1, SIDE, 3, 1, 3>(&mut image.a1, x, &net.k1, &net.b1);
        sigmoid(&mut image.a1);
        means::<24>(&mut image.s1, &image.a1);
        convolve::<12, 6, 12, 4, 2, 1>(&mut image.a2, &image.s1, &net.k2, &net.b2);
        sigmoid(&mut image.a2);
        means::<8>(&mut image.s2, &image.a2);
        dense(&mut image.y, &image.s2, net);
        sigmoid(&mut image.y);
    }
}

/// `OUT` filters of five by five over `IN` channels of `SIDE` rows and columns: tiles of filters, rows, and vectors of a row.
///
/// # Safety
///
/// The extents are those of the slices; tiles are whole.
#[target_feature(enable = "avx2,fma")]
unsafe fn convolve<
    const OUT: usize,
    const IN: usize,
    const SIDE: usize,
    const FILTERS: usize,
    const ROWS: usize,
    const VECTORS: usize,
>(
    out: &mut [f32],
    x: &[f32],
    k: &[f32],
    b: &[f32],
) {
    let side = SIDE - 4;
    for first in (0..OUT).step_by(FILTERS) {
        for y in (0..side).step_by(ROWS) {
            let mut sums = [[[all(0.0); VECTORS]; ROWS]; FILTERS];
            for o in 0..FILTERS {
                sums[o] = [[all(b[first + o]); VECTORS]; ROWS];
            }
            for i in 0..IN {
                for r in 0..5 {
                    // SAFETY: by the contract.
                    unsafe {
                        let from = x.as_ptr().add((i * SIDE + y + r) * SIDE);
                        let weights = k.as_ptr().add((first * IN + i) * 25 + r * 5);
                        for c in 0..5 {
                            let mut near = [[all(0.0); VECTORS]; ROWS];
                            for row in 0..ROWS {
                                for v in 0..VECTORS {
                                    near[row][v] = _mm256_loadu_ps(from.add(row * SIDE + c + 8 * v));
                                }
                            }
                            for o in 0..FILTERS {
                                let weight = all(*weights.add(o * IN * 25 + c));
                                for row in 0..ROWS {
                                    for v in 0..VECTORS {
                                        sums[o][row][v] = _mm256_fmadd_ps(weight, near[row][v], sums[o][row][v]);
                                    }
                                }
                            }
                        }
                    }
                }
            }
            for o in 0..FILTERS {
                for row in 0..ROWS {
                    for v in 0..VECTORS {
                        let at = ((first + o) * side + y + row) * side + 8 * v;
                        // SAFETY: by the contract.
                        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(at), sums[o][row][v]) };
                    }
                }
            }
        }
    }
}

on_widest! {
    /// The sigmoids of whole vectors.
    fn sigmoid(x: &mut [f32]) = sigmoid_in;
}

#[inline(always)]
unsafe fn sigmoid_in<V: Lanes>(x: &mut [f32]) {
    for at in (0..x.len()).step_by(V::LANES) {
        // SAFETY: by the contract; there is a whole vector.
        unsafe {
            let z = V::load(x.as_ptr().add(at));
            let e = exp(V::all(0.0) - z.abs());
            let positive = V::all(1.0) / (V::all(1.0) + e);
            positive.or_if_negative(positive * e, z).store(x.as_mut_ptr().add(at));
        }
    }
}

/// Means of two by two, of channels of `SIDE` rows and columns.
#[target_feature(enable = "avx2,fma")]
fn means<const SIDE: usize>(out: &mut [f32], a: &[f32]) {
    for (out, rows) in out.chunks_exact_mut(SIDE / 2).zip(a.chunks_exact(2 * SIDE)) {
        let (upper, lower) = rows.split_at(SIDE);
        for ((out, u), l) in out.iter_mut().zip(upper.as_chunks::<2>().0).zip(lower.as_chunks::<2>().0) {
            *out = ((u[0] + u[1]) + (l[0] + l[1])) * 0.25;
        }
    }
}

/// All with all.
#[target_feature(enable = "avx2,fma")]
fn dense(y: &mut [f32; 16], s: &[f32; 192], net: &Network) {
    for (o, w) in net.w.as_chunks::<192>().0.iter().enumerate() {
        let mut sums = [all(0.0); 2];
        for (k, (w, s)) in w.as_chunks::<8>().0.iter().zip(s.as_chunks::<8>().0).enumerate() {
            // SAFETY: there are eight of each.
            let (w, s) = unsafe { (_mm256_loadu_ps(w.as_ptr()), _mm256_loadu_ps(s.as_ptr())) };
            sums[k % 2] = _mm256_fmadd_ps(w, s, sums[k % 2]);
        }
        y[o] = net.b[o] + across(_mm256_add_ps(sums[0], sums[1]));
    }
}
