//! A histogram in which each number counts for the two bins next to it, by weight: the loss is its dot product with given
//! numbers, the gradient by the weights and the positions.

use super::{What, both, label, vector};
use crate::data::floats;
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::store;
use acc_core::prelude::*;
use std::arch::x86_64::*;

const BINS: usize = 256;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    both(|what| histogram(what, 4_000_000))
}

fn loss(position: &Acc<Vector<f32>>, weight: &Acc<Vector<f32>>, by: &Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    let low = position.map(|p| p.floor());
    let upper = weight.zip_with3(position, &low, |w, p, low| w * (p - low));
    let lower = weight.zip_with(&upper, |w, upper| w - upper);
    let bin = low.map(|low| low.to::<i64>());
    let bins = lower.permute(fill(BINS, 0f32), |a, b| a + b, |i| Some(bin.index(i)));
    let bins = upper.permute(&bins, |a, b| a + b, |i| Some(bin.index(i) + 1));
    bins.zip_with(by, |bin, by| bin * by).sum()
}

fn histogram(what: What, n: usize) -> Row {
    let (position, weight) = (floats(46, n, 0.0, (BINS - 1) as f64 - 1e-3), floats(47, n, 0.0, 1.0));
    let by = floats(48, BINS, 0.0, 1.0);
    let arrays = (&vector(&position), &vector(&weight), &vector(&by)).into_data();
    let (program, args) = match what {
        What::Loss => program(
            |position: Acc<Vector<f32>>, weight: Acc<Vector<f32>>, by: Acc<Vector<f32>>| loss(&position, &weight, &by),
            arrays,
        ),
        What::WithGradient => program(
            |position: Acc<Vector<f32>>, weight: Acc<Vector<f32>>, by: Acc<Vector<f32>>| {
                value_and_grad((&position, &weight), |(position, weight)| loss(&position, &weight, &by))
            },
            arrays,
        ),
    };
    let mut sums = vec![[0f32; 2]; APART * threads()];
    let hand = match what {
        What::Loss => hand(0f32, move |out| {
            *out = in_parts(&mut sums, n, &by, |own, r| {
                // SAFETY: the caller has seen the features; positions are of bins.
                unsafe { count(own, &position[r.clone()], &weight[r]) };
            });
        }),
        What::WithGradient => hand((0f32, (vec![0f32; n], vec![0f32; n])), move |(out, (dp, dw))| {
            let (dp, dw) = (Shared::new(dp), Shared::new(dw));
            *out = in_parts(&mut sums, n, &by, |own, r| {
                // SAFETY: the parts are disjoint; the caller has seen the features; positions are of bins.
                unsafe {
                    let out = [dp.part(r.clone()), dw.part(r.clone())];
                    count_and_gradient(own, out, &position[r.clone()], &weight[r], &by);
                }
            });
        }),
    };
    Row {
        name: match what {
            What::Loss => "gradient: histogram (loss)",
            What::WithGradient => "gradient: histogram (with gradient)",
        },
        size: format!("{}, {BINS} bins", label(n)),
        read: 8.0 * n as f64,
        written: if what == What::Loss { 0.0 } else { 8.0 * n as f64 },
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// Sums of each bin that a thread has, so that equal neighbours do not wait for each other: of what counts for the bin, and of
/// what counts for the next one.
const COPIES: usize = 4;

/// From the sums of one thread to those of the next one, with a line of the cache between them.
const APART: usize = COPIES * BINS + 8;

/// Counts on all threads, and the dot product of the histogram with given numbers.
fn in_parts(
    sums: &mut [[f32; 2]],
    n: usize,
    by: &[f32],
    count: impl Fn(&mut [[f32; 2]], std::ops::Range<usize>) + Sync,
) -> f32 {
    sums.fill([0.0; 2]);
    let shared = Shared::new(sums);
    run(&|t| {
        // SAFETY: each thread has sums of its own.
        let own = unsafe { shared.part(t * APART..t * APART + COPIES * BINS) };
        count(own, part(n, 64, t));
    });
    let mut bins = [0f32; BINS + 1];
    for own in sums.chunks_exact(APART) {
        for (at, [lower, upper]) in own[..COPIES * BINS].iter().enumerate() {
            bins[at % BINS] += lower;
            bins[at % BINS + 1] += upper;
        }
    }
    bins.iter().zip(by).map(|(bin, by)| bin * by).sum()
}

/// Adds eight numbers to the sums; their bins, and how far each is into its bin.
///
/// # Safety
///
/// There are so many numbers, whose bins have sums in each copy.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn add_eight(sums: &mut [[f32; 2]], position: *const f32, weight: *const f32) -> (__m256i, __m256) {
    // SAFETY: by the contract.
    let (position, weight) = unsafe { (_mm256_loadu_ps(position), _mm256_loadu_ps(weight)) };
    let bin = _mm256_cvttps_epi32(position);
    let into = _mm256_sub_ps(position, _mm256_cvtepi32_ps(bin));
    let upper = _mm256_mul_ps(weight, into);
    let lower = _mm256_sub_ps(weight, upper);
    // Two of the first four numbers, and of the last four.
    let pairs = [_mm256_unpacklo_ps(lower, upper), _mm256_unpackhi_ps(lower, upper)];
    let mut bins = [0i32; 8];
    // SAFETY: there is room for eight; the rest by the contract.
    unsafe {
        _mm256_storeu_si256(bins.as_mut_ptr().cast(), bin);
        for k in 0..2 {
            let halves = [_mm256_castps256_ps128(pairs[k]), _mm256_extractf128_ps::<1>(pairs[k])];
            for h in 0..2 {
                let both = [halves[h], _mm_movehl_ps(halves[h], halves[h])];
                for b in 0..2 {
                    let place = (2 * h + b) * BINS + bins[4 * h + 2 * k + b] as usize;
                    let sum = sums.as_mut_ptr().add(place).cast::<f64>();
                    let new = _mm_add_ps(_mm_castpd_ps(_mm_load_sd(sum)), both[b]);
                    _mm_store_sd(sum, _mm_castps_pd(new));
                }
            }
        }
    }
    (bin, into)
}

/// # Safety
///
/// Positions are of bins; their number is a multiple of eight.
#[target_feature(enable = "avx2,fma")]
unsafe fn count(sums: &mut [[f32; 2]], position: &[f32], weight: &[f32]) {
    for (position, weight) in position.as_chunks::<8>().0.iter().zip(weight.as_chunks::<8>().0) {
        // SAFETY: by the contract.
        unsafe { add_eight(sums, position.as_ptr(), weight.as_ptr()) };
    }
}

/// The same, and the gradient.
///
/// # Safety
///
/// The same; outputs begin at a multiple of 32 bytes.
#[target_feature(enable = "avx2,fma")]
unsafe fn count_and_gradient(
    sums: &mut [[f32; 2]],
    [dp, dw]: [&mut [f32]; 2],
    position: &[f32],
    weight: &[f32],
    by: &[f32],
) {
    for at in (0..position.len()).step_by(8) {
        // SAFETY: by the contract.
        unsafe {
            let weight = weight.as_ptr().add(at);
            let (bin, into) = add_eight(sums, position.as_ptr().add(at), weight);
            let lower = _mm256_i32gather_ps::<4>(by.as_ptr(), bin);
            let upper = _mm256_i32gather_ps::<4>(by.as_ptr().add(1), bin);
            let rise = _mm256_sub_ps(upper, lower);
            let rise_by_weight = _mm256_mul_ps(_mm256_loadu_ps(weight), rise);
            store::<true>(dp.as_mut_ptr().add(at), rise_by_weight);
            store::<true>(dw.as_mut_ptr().add(at), _mm256_add_ps(lower, _mm256_mul_ps(into, rise)));
        }
    }
    _mm_sfence();
}
