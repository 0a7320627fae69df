//! Running sums: of a vector, and of each segment of one.

use super::{label, vector};
use crate::chain::Chain;
use crate::data::{Numbers, floats};
use crate::pool::{Shared, each, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::{all, store, streamed, sum};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| inclusive(16_000_000)), Box::new(|| segmented(16_000_000))]
}

/// Elements of a block, which are summed, and then read again from the L2 cache; a multiple of eight.
const BLOCK: usize = 1 << 14;

fn inclusive(n: usize) -> Row {
    let x = floats(18, n, 0.0, 1.0);
    let (program, args) = program(|x: Acc<Vector<f32>>| x.scanl1(|a, b| a + b), (&vector(&x),).into_data());
    let hand = hand(vec![0f32; n], move |out| {
        let (out, chain) = (Shared::new(out), Chain::new(n.div_ceil(BLOCK)));
        each(n.div_ceil(BLOCK), |block| {
            let r = block * BLOCK..n.min((block + 1) * BLOCK);
            let x = &x[r.clone()];
            // SAFETY: the caller has seen the features.
            let total = unsafe { sum(x) };
            let before = chain.pass(block, |before| (f32::from_bits(before) + total).to_bits());
            // SAFETY: the blocks are disjoint, and begin at multiples of 32 bytes; the caller has seen the features.
            unsafe {
                running::<true>(out.part(r), x, f32::from_bits(before));
                _mm_sfence();
            }
        });
    });
    Row {
        name: "inclusive scan",
        size: label(n),
        read: 4.0 * n as f64,
        written: 4.0 * n as f64,
        flops: n as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// The sums of the first one to eight lanes: within each half, then across the halves.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn prefixes(x: __m256) -> __m256 {
    let x = _mm256_add_ps(x, _mm256_castsi256_ps(_mm256_slli_si256::<4>(_mm256_castps_si256(x))));
    let x = _mm256_add_ps(x, _mm256_castsi256_ps(_mm256_slli_si256::<8>(_mm256_castps_si256(x))));
    let low = _mm256_permutevar8x32_ps(x, _mm256_set1_epi32(3));
    _mm256_add_ps(x, _mm256_blend_ps::<0xf0>(all(0.0), low))
}

/// Running sums, eight at a time, of as many elements as go into whole eights.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn running<const STREAM: bool>(out: &mut [f32], x: &[f32], before: f32) {
    let mut carry = all(before);
    let (out, x) = (out.as_chunks_mut::<8>().0, x.as_chunks::<8>().0);
    for (out, x) in out.iter_mut().zip(x) {
        if STREAM {
            // Prefetches what this thread sums next.
            _mm_prefetch::<_MM_HINT_T0>(x.as_ptr().wrapping_add(threads() * BLOCK).cast());
        }
        // SAFETY: both have eight elements; those that are streamed are aligned.
        unsafe {
            let sums = prefixes(_mm256_loadu_ps(x.as_ptr()));
            store::<STREAM>(out.as_mut_ptr(), _mm256_add_ps(sums, carry));
            carry = _mm256_add_ps(carry, _mm256_permutevar8x32_ps(sums, _mm256_set1_epi32(7)));
        }
    }
}

/// Lengths of segments, from 0 to 199, that are `n` elements together.
fn lengths(seed: u64, n: usize) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let (mut left, mut out) = (n, Vec::new());
    while left > 0 {
        let length = (numbers.below(200) as usize).min(left);
        out.push(length as i32);
        left -= length;
    }
    out
}

/// The segment in which each thread's part begins, so that the parts are about equally long, and the element.
fn shares(lengths: &[i32], n: usize) -> Vec<(usize, usize)> {
    let (mut out, mut at) = (vec![(0, 0)], 0);
    for (s, length) in lengths.iter().enumerate() {
        if at >= n * out.len() / threads() {
            out.push((s, at));
        }
        at += *length as usize;
    }
    out.resize(threads(), (lengths.len(), n));
    out.push((lengths.len(), n));
    out
}

fn segmented(n: usize) -> Row {
    let (x, segments) = (floats(19, n, 0.0, 1.0), lengths(20, n));
    let (program, args) = program(
        |x: Acc<Vector<f32>>, segments: Acc<Vector<i32>>| x.scanl1_seg(&segments, |a, b| a + b),
        (&vector(&x), &vector(&segments)).into_data(),
    );
    let count = segments.len() as f64;
    // Lanes beyond the last segment are read too.
    let x = [x, vec![0.0; 8]].concat();
    let hand = hand(vec![0f32; n], move |out| {
        let (out, parts) = (Shared::new(out), shares(&segments, n));
        run(&|t| {
            let ((first, from), (end, to)) = (parts[t], parts[t + 1]);
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe { running_segments(out.part(from..to), &x[from..to + 8], &segments[first..end]) };
        });
    });
    Row {
        name: "segmented scan",
        size: label(n),
        read: 4.0 * n as f64 + 4.0 * count,
        written: 4.0 * n as f64,
        flops: n as f64,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

/// Elements that are written to the nearest cache before they go past it.
const STAGE: usize = 1 << 12;

/// The running sums of segments, through a stage, where lanes beyond a segment's end are soon those of the next one.
#[target_feature(enable = "avx2,fma")]
fn running_segments(out: &mut [f32], x: &[f32], segments: &[i32]) {
    let mut stage = [0f32; STAGE + 8];
    let (mut at, mut filled) = (0, 0);
    for length in segments {
        let (mut left, mut before) = (*length as usize, 0.0);
        while left > 0 {
            let n = left.min(STAGE - filled);
            let lanes = n.next_multiple_of(8);
            running::<false>(&mut stage[filled..filled + lanes], &x[at..at + lanes], before);
            (at, filled, left) = (at + n, filled + n, left - n);
            if filled == STAGE {
                before = stage[STAGE - 1];
                streamed(&mut out[at - STAGE..at], &stage[..STAGE]);
                filled = 0;
            }
        }
    }
    streamed(&mut out[at - filled..at], &stage[..filled]);
}
