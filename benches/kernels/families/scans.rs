//! Scans, filters and sorts.

use super::{label, vector};
use crate::data::{Numbers, floats};
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| inclusive(16_000_000)),
        Box::new(|| segmented(16_000_000)),
        Box::new(|| filtered(16_000_000)),
        Box::new(|| sorted(10_000_000)),
    ]
}

fn inclusive(n: usize) -> Row {
    let x = floats(18, n, 0.0, 1.0);
    let (program, args) = program(|x: Acc<Vector<f32>>| x.scanl1(|a, b| a + b), (&vector(&x),).into_data());
    let hand = hand(vec![0f32; n], move |out| {
        let mut totals = vec![0f32; threads()];
        let (out, sums) = (Shared::new(out), Shared::new(&mut totals));
        run(&|t| {
            // SAFETY: each thread writes its own total; the caller has seen the features.
            unsafe { sums.part(t..t + 1)[0] = total(&x[part(n, 8, t)]) }
        });
        run(&|t| {
            let r = part(n, 8, t);
            let before = totals[..t].iter().sum();
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe { running(out.part(r.clone()), &x[r], before) };
        });
    });
    let (bytes, flops) = (8.0 * n as f64, n as f64);
    Row { name: "inclusive scan", size: label(n), bytes, flops, program, args, hand, tolerance: 1e-4 }
}

#[target_feature(enable = "avx2,fma")]
fn total(x: &[f32]) -> f32 {
    let mut sums = [0f32; 32];
    for chunk in x.chunks_exact(32) {
        for (s, x) in sums.iter_mut().zip(chunk) {
            *s += x;
        }
    }
    sums.iter().sum::<f32>() + x.chunks_exact(32).remainder().iter().sum::<f32>()
}

/// Running sums, eight at a time: within each half, across the halves, then what came before.
#[target_feature(enable = "avx2,fma")]
fn running(out: &mut [f32], x: &[f32], before: f32) {
    let mut carry = _mm256_set1_ps(before);
    let n = out.len() / 8 * 8;
    for i in (0..n).step_by(8) {
        // SAFETY: both have eight elements from `i` on.
        let v = unsafe { _mm256_loadu_ps(x.as_ptr().add(i)) };
        let shift = |v, by| match by {
            1 => _mm256_castsi256_ps(_mm256_slli_si256::<4>(_mm256_castps_si256(v))),
            _ => _mm256_castsi256_ps(_mm256_slli_si256::<8>(_mm256_castps_si256(v))),
        };
        let v = _mm256_add_ps(v, shift(v, 1));
        let v = _mm256_add_ps(v, shift(v, 2));
        let low = _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(3));
        let v = _mm256_add_ps(v, _mm256_blend_ps::<0xf0>(_mm256_setzero_ps(), low));
        // SAFETY: as above.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(i), _mm256_add_ps(v, carry)) };
        carry = _mm256_add_ps(carry, _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(7)));
    }
    let mut last = _mm256_cvtss_f32(carry);
    for k in n..x.len() {
        last += x[k];
        out[k] = last;
    }
}

/// Lengths of segments, from 0 to 199, that are `n` elements together.
pub fn lengths(seed: u64, n: usize) -> Vec<i32> {
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
pub fn shares(lengths: &[i32], n: usize) -> Vec<(usize, usize)> {
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
    let parts = shares(&segments, n);
    let count = segments.len();
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        run(&|t| {
            let ((s, from), (end, to)) = (parts[t], parts[t + 1]);
            // SAFETY: the parts are disjoint.
            let (mut out, mut x) = (unsafe { out.part(from..to) }, &x[from..to]);
            for length in &segments[s..end] {
                let (o, rest) = out.split_at_mut(*length as usize);
                let (v, left) = x.split_at(*length as usize);
                let mut sum = 0.0;
                for (o, v) in o.iter_mut().zip(v) {
                    sum += v;
                    *o = sum;
                }
                (out, x) = (rest, left);
            }
        });
    });
    let bytes = (8 * n + 4 * count) as f64;
    Row { name: "segmented scan", size: label(n), bytes, flops: n as f64, program, args, hand, tolerance: 1e-5 }
}

fn filtered(n: usize) -> Row {
    let x = floats(21, n, -1.0, 1.0);
    let (program, args) = program(|x: Acc<Vector<f32>>| x.filter(|x| x.gt(0.0)).0, (&vector(&x),).into_data());
    let kept = x.iter().filter(|x| **x > 0.0).count();
    let orders = orders();
    let hand = hand(vec![0f32; kept], move |out| {
        let mut counts = vec![0usize; threads()];
        let shared = Shared::new(&mut counts);
        run(&|t| {
            // SAFETY: each thread writes its own count; the caller has seen the features.
            unsafe { shared.part(t..t + 1)[0] = count_positive(&x[part(n, 8, t)]) };
        });
        let out = Shared::new(out);
        run(&|t| {
            let start: usize = counts[..t].iter().sum();
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe { keep_positive(out.part(start..start + counts[t]), &x[part(n, 8, t)], &orders) };
        });
    });
    let bytes = (4 * n + 4 * kept) as f64;
    Row { name: "filter, half kept", size: label(n), bytes, flops: 0.0, program, args, hand, tolerance: 0.0 }
}

/// For each set of eight lanes, as bits, the lanes that are in it, one after the other.
fn orders() -> Vec<[i32; 8]> {
    let order = |set: usize| {
        let mut order = [0; 8];
        (0..8).filter(|k| set >> k & 1 == 1).zip(&mut order).for_each(|(k, o)| *o = k);
        order
    };
    (0..256).map(order).collect()
}

#[target_feature(enable = "avx2,popcnt")]
fn count_positive(x: &[f32]) -> usize {
    let (eights, rest) = x.as_chunks::<8>();
    let mut count = 0;
    for v in eights {
        // SAFETY: there are eight elements.
        let v = unsafe { _mm256_loadu_ps(v.as_ptr()) };
        count += _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(v, _mm256_setzero_ps())).count_ones() as usize;
    }
    count + rest.iter().filter(|x| **x > 0.0).count()
}

/// Stores eight lanes at a time, those that are kept first, while there is room for all.
#[target_feature(enable = "avx2,popcnt")]
fn keep_positive(out: &mut [f32], x: &[f32], orders: &[[i32; 8]]) {
    let (mut i, mut k) = (0, 0);
    while i + 8 <= x.len() && k + 8 <= out.len() {
        // SAFETY: both have eight elements from there on, and so has the order.
        unsafe {
            let v = _mm256_loadu_ps(x.as_ptr().add(i));
            let set = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(v, _mm256_setzero_ps())) as usize;
            let order = _mm256_loadu_si256(orders[set].as_ptr().cast());
            _mm256_storeu_ps(out.as_mut_ptr().add(k), _mm256_permutevar8x32_ps(v, order));
            k += set.count_ones() as usize;
        }
        i += 8;
    }
    for v in &x[i..] {
        if *v > 0.0 {
            out[k] = *v;
            k += 1;
        }
    }
}

fn sorted(n: usize) -> Row {
    let mut numbers = Numbers::new(22);
    let keys: Vec<u32> = (0..n).map(|_| numbers.bits()).collect();
    let (program, args) = program(|x: Acc<Vector<u32>>| x.sort(), (&vector(&keys),).into_data());
    let mut spare = vec![0u32; n];
    let hand = hand(vec![0u32; n], move |out| {
        // Three passes of 11, 11 and 10 bits, the least significant first; the last one ends in `out`.
        pass(&keys, out, 0, 11);
        pass(out, &mut spare, 11, 11);
        pass(&spare, out, 22, 10);
    });
    // Each pass reads the keys twice and writes them once.
    let bytes = 36.0 * n as f64;
    Row { name: "radix sort", size: label(n), bytes, flops: 0.0, program, args, hand, tolerance: 0.0 }
}

/// A stable pass of a radix sort by some bits.
fn pass(from: &[u32], to: &mut [u32], shift: u32, bits: u32) {
    let (n, digits) = (from.len(), 1usize << bits);
    let digit = |key: u32| (key >> shift) as usize & (digits - 1);
    let mut counts = vec![0usize; digits * threads()];
    let shared = Shared::new(&mut counts);
    run(&|t| {
        // SAFETY: each thread has counts of its own.
        let own = unsafe { shared.part(t * digits..(t + 1) * digits) };
        for key in &from[part(n, 8, t)] {
            own[digit(*key)] += 1;
        }
    });
    let mut start = 0;
    for d in 0..digits {
        for t in 0..threads() {
            let count = std::mem::replace(&mut counts[t * digits + d], start);
            start += count;
        }
    }
    let (starts, to) = (Shared::new(&mut counts), Shared::new(to));
    run(&|t| {
        // SAFETY: each thread has positions of its own, and no two of all are the same.
        let (own, to) = unsafe { (starts.part(t * digits..(t + 1) * digits), to.part(0..n)) };
        for key in &from[part(n, 8, t)] {
            let at = &mut own[digit(*key)];
            to[*at] = *key;
            *at += 1;
        }
    });
}
