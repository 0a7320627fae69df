//! Many elements into few places: histograms, a step of k-means.

use super::{label, vector};
use crate::data::{Numbers, floats};
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, part, run, split, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| histogram(16_000_000, 256)),
        Box::new(|| histogram(16_000_000, 1_000_000)),
        Box::new(|| kmeans(1_000_000)),
    ]
}

fn histogram(n: usize, bins: usize) -> Row {
    let mut numbers = Numbers::new(23);
    let keys: Vec<u32> = (0..n).map(|_| numbers.below(bins as u32)).collect();
    let (program, args) = program(
        move |keys: Acc<Vector<u32>>| {
            let ones = keys.map(|_| 1u32);
            ones.permute(fill(bins, 0u32), |a, b| a + b, |i| Some(keys.index(i).to::<i64>()))
        },
        (&vector(&keys),).into_data(),
    );
    // Several for each thread, so that equal neighbours do not wait for each other; one where they are large.
    let copies = if bins <= 4096 { COPIES_PER_THREAD } else { 1 };
    // Each thread's own, with no cache line in common with another thread's.
    let (own, apart) = (copies * bins, copies * bins + LINE);
    let mut counts = vec![0u32; apart * threads()];
    let hand = hand(vec![0u32; bins], move |out| {
        counts.fill(0);
        let shared = Shared::new(&mut counts);
        run(&|t| {
            // SAFETY: each thread has counts of its own, and keys are below `bins`.
            unsafe {
                let own = shared.part(t * apart..t * apart + own);
                let count = if copies == 1 { count_far } else { count_near };
                count(own, bins, &keys[part(n, 64, t)]);
            }
        });
        let (out, counts) = (Shared::new(out), &counts);
        split(bins, 64, |r| {
            // SAFETY: the parts are disjoint.
            let out = unsafe { out.part(r.clone()) };
            out.fill(0);
            for copies in counts.chunks_exact(apart).flat_map(|c| c[..own].chunks_exact(bins)) {
                for (o, c) in out.iter_mut().zip(&copies[r.clone()]) {
                    *o += c;
                }
            }
        });
    });
    Row {
        name: "histogram",
        size: format!("{}, {} bins", label(n), label(bins)),
        read: 4.0 * n as f64,
        written: 4.0 * bins as f64,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// Counts in a line of the cache.
const LINE: usize = 16;

/// Counts of each bin that a thread has.
const COPIES_PER_THREAD: usize = 2;

/// Counts keys, read two at a time, one in each of the copies.
///
/// # Safety
///
/// There are so many bins in each copy, and keys are below.
unsafe fn count_near(counts: &mut [u32], bins: usize, keys: &[u32]) {
    let (eights, rest) = keys.as_chunks::<8>();
    for keys in eights {
        for pair in keys.as_chunks::<COPIES_PER_THREAD>().0 {
            // SAFETY: two keys can be read, and are below by the contract.
            unsafe {
                let both = pair.as_ptr().cast::<u64>().read_unaligned();
                *counts.get_unchecked_mut((both as u32) as usize) += 1;
                *counts.get_unchecked_mut(bins + (both >> 32) as usize) += 1;
            }
        }
    }
    for key in rest {
        counts[*key as usize] += 1;
    }
}

/// Counts keys in bins that are fetched before they are needed.
///
/// # Safety
///
/// There are so many bins, and keys are below.
unsafe fn count_far(counts: &mut [u32], _: usize, keys: &[u32]) {
    const PREFETCH_DISTANCE: usize = 32;
    for (k, key) in keys.iter().enumerate() {
        let next = keys[(k + PREFETCH_DISTANCE).min(keys.len() - 1)];
        // SAFETY: by the contract.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(counts.as_ptr().add(next as usize).cast());
            *counts.get_unchecked_mut(*key as usize) += 1;
        }
    }
}

const CENTRES: usize = 16;
/// Sums of each centre that a thread has, so that neighbours with one centre do not wait for each other.
const SUMS_PER_CENTRE: usize = 4;

/// The nearest of the centres for each point, and the mean of the points of each.
fn kmeans(n: usize) -> Row {
    let (x, y) = (floats(24, n, 0.0, 1.0), floats(25, n, 0.0, 1.0));
    let (cx, cy) = (floats(26, CENTRES, 0.0, 1.0), floats(27, CENTRES, 0.0, 1.0));
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, cx: Acc<Vector<f32>>, cy: Acc<Vector<f32>>| {
            let label = x.zip_with(&y, |x, y| {
                let step = |(k, best, least): (Exp<i64>, Exp<i64>, Exp<f32>)| {
                    let (dx, dy) = (x - cx.index(k), y - cy.index(k));
                    let d = dx * dx + dy * dy;
                    let closer = d.lt(least);
                    (k + 1, closer.then_else(k, best), closer.then_else(d, least))
                };
                while_((0i64, 0i64, f32::MAX), |(k, _, _)| k.lt(CENTRES as i64), step).1
            });
            let one = x.zip_with(&y, |x, y| (x, y, 1f32));
            let sums = one.permute(
                fill(CENTRES, (0f32, 0f32, 0f32)),
                |(a, b, n), (c, d, m)| (a + c, b + d, n + m),
                |i| Some(label.index(i)),
            );
            sums.map(|(x, y, n)| (x / n, y / n))
        },
        (&vector(&x), &vector(&y), &vector(&cx), &vector(&cy)).into_data(),
    );
    // Of each thread, no line of the cache with those of another: a number of centres more, which stay 0.
    let (own, apart) = (SUMS_PER_CENTRE * CENTRES, (SUMS_PER_CENTRE + 1) * CENTRES);
    let mut sums = vec![[0f32; 4]; apart * threads()];
    let hand = hand((vec![0f32; CENTRES], vec![0f32; CENTRES]), move |(mx, my)| {
        sums.fill([0.0; 4]);
        let shared = Shared::new(&mut sums);
        run(&|t| {
            let r = part(n, 16, t);
            // SAFETY: each thread has sums of its own.
            let own = unsafe { shared.part(t * apart..t * apart + own) };
            assign(own, [&x[r.clone()], &y[r]], [&cx, &cy]);
        });
        for k in 0..CENTRES {
            let of = |c: usize| sums.iter().skip(k).step_by(CENTRES).map(|s| s[c]).sum::<f32>();
            (mx[k], my[k]) = (of(0) / of(2), of(1) / of(2));
        }
    });
    Row {
        name: "k-means step",
        size: format!("{}, {CENTRES} centres", label(n)),
        read: 8.0 * n as f64,
        written: 0.0,
        flops: (6 * CENTRES * n) as f64,
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

on_widest! {
    /// Adds x, y and 1 of each point to the sums of the nearest centre, which several points in a row have in several
    /// places. The number of points is a multiple of sixteen.
    fn assign(sums: &mut [[f32; 4]], points: [&[f32]; 2], centres: [&[f32]; 2]) = assign_in;
}

/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
unsafe fn assign_in<L: Lanes>(sums: &mut [[f32; 4]], [x, y]: [&[f32]; 2], [cx, cy]: [&[f32]; 2]) {
    // The square of a distance, less what all centres have in common: that of the point.
    let mut centres = [[0f32; 3]; CENTRES];
    for k in 0..CENTRES {
        centres[k] = [-2.0 * cx[k], -2.0 * cy[k], cx[k] * cx[k] + cy[k] * cy[k]];
    }
    for (x, y) in x.as_chunks::<16>().0.iter().zip(y.as_chunks::<16>().0) {
        let mut labels = [0i32; 16];
        for at in (0..16).step_by(L::LANES) {
            // SAFETY: the processor has the features by the contract, and chunks and labels are whole numbers of lanes.
            unsafe {
                let (px, py) = (L::load(x.as_ptr().add(at)), L::load(y.as_ptr().add(at)));
                let (mut least, mut best) = (L::all(f32::MAX), L::counts());
                for (k, [a, b, c]) in centres.iter().enumerate() {
                    let d = px.mul_add(L::all(*a), py.mul_add(L::all(*b), L::all(*c)));
                    d.least(k as i32, &mut least, &mut best);
                }
                L::store_counts(best, labels.as_mut_ptr().add(at));
            }
        }
        for (at, labels) in labels.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: the processor has the features, and chunks have eight elements from here on.
            unsafe { add_points(sums, x.as_ptr().add(8 * at), y.as_ptr().add(8 * at), labels) };
        }
    }
}

/// Adds eight points to the sums of their centres.
///
/// # Safety
///
/// There are so many points, labels are those of centres, and there are sums of each in each place.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn add_points(sums: &mut [[f32; 4]], x: *const f32, y: *const f32, labels: &[i32; 8]) {
    let one = _mm256_setr_ps(1., 0., 1., 0., 1., 0., 1., 0.);
    // SAFETY: by the contract.
    let (px, py) = unsafe { (_mm256_loadu_ps(x), _mm256_loadu_ps(y)) };
    // From (x, y) of two points in each half to (x, y, 1, 0) of one.
    let pairs = [_mm256_unpacklo_ps(px, py), _mm256_unpackhi_ps(px, py)];
    for k in 0..2 {
        let even = _mm256_shuffle_ps::<0x44>(pairs[k], one);
        let odd = _mm256_shuffle_ps::<0x4e>(pairs[k], one);
        for (point, points) in [(0, even), (1, odd)] {
            let halves = [_mm256_castps256_ps128(points), _mm256_extractf128_ps::<1>(points)];
            for h in 0..2 {
                let place = (2 * h + point) * CENTRES;
                // SAFETY: by the contract.
                unsafe {
                    let s = sums.as_mut_ptr().add(place + labels[4 * h + 2 * k + point] as usize).cast::<f32>();
                    _mm_storeu_ps(s, _mm_add_ps(_mm_loadu_ps(s), halves[h]));
                }
            }
        }
    }
}
