//! Sorting.

use super::{label, vector};
use crate::data::Numbers;
use crate::pool::{Shared, each_with, part, run, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::{_mm_load_si128, _mm_sfence, _mm_stream_si128};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| sorted(10_000_000))]
}

/// The bits of the three digits of a key, the most significant first.
const BITS: [u32; 3] = [10, 11, 11];
/// By the first digit, keys go into so many buckets, each of which fits in a cache.
const BUCKETS: usize = 1 << BITS[0];

fn sorted(n: usize) -> Row {
    let mut numbers = Numbers::new(22);
    let keys: Vec<u32> = (0..n).map(|_| numbers.bits()).collect();
    let (program, args) = program(|x: Acc<Vector<u32>>| x.sort(), (&vector(&keys),).into_data());
    let mut counts = vec![0usize; BUCKETS * threads()];
    let hand = hand(vec![0u32; n], move |out| {
        let ends = distribute(&keys, out, &mut counts);
        let out = Shared::new(out);
        each_with(BUCKETS, Vec::new, |spare, b| {
            let r = (if b == 0 { 0 } else { ends[b - 1] })..ends[b];
            // SAFETY: buckets are disjoint.
            sort_bucket(unsafe { out.part(r) }, spare);
        });
    });
    // The keys are read to count them, to distribute them, and in each bucket.
    Row {
        name: "radix sort",
        size: label(n),
        read: 12.0 * n as f64,
        written: 8.0 * n as f64,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

fn digit<const D: usize>(key: u32) -> usize {
    let shift: u32 = BITS[D + 1..].iter().sum();
    (key >> shift) as usize & ((1 << BITS[D]) - 1)
}

/// Puts keys into buckets by their first digit, in the order in which they are; gives where buckets end.
fn distribute(keys: &[u32], to: &mut [u32], counts: &mut [usize]) -> Vec<usize> {
    counts.fill(0);
    let shared = Shared::new(counts);
    run(&|t| {
        // SAFETY: each thread has counts of its own.
        let own = unsafe { shared.part(t * BUCKETS..(t + 1) * BUCKETS) };
        for key in &keys[part(keys.len(), 8, t)] {
            own[digit::<0>(*key)] += 1;
        }
    });
    let mut next = 0;
    for b in 0..BUCKETS {
        for t in 0..threads() {
            next += std::mem::replace(&mut counts[t * BUCKETS + b], next);
        }
    }
    let (n, to, starts) = (keys.len(), Shared::new(to), Shared::new(counts));
    run(&|t| {
        // SAFETY: each thread has positions of its own, and no two of all are the same; so many keys have each digit.
        unsafe {
            let own = starts.part(t * BUCKETS..(t + 1) * BUCKETS);
            past_cache(&keys[part(n, 8, t)], to.part(0..n), own);
        }
    });
    counts[(threads() - 1) * BUCKETS..].to_vec()
}

/// The keys of a line of the cache.
const LINE: usize = 16;

#[derive(Clone)]
#[repr(align(64))]
struct Line([u32; LINE]);

/// Puts keys where the next one of their first digit goes, by write combining: a full line goes to memory by non-temporal stores.
///
/// # Safety
///
/// The places of each digit's keys are among those of `to`, which begins at a line.
#[target_feature(enable = "sse2")]
unsafe fn past_cache(keys: &[u32], to: &mut [u32], next: &mut [usize]) {
    let starts = next.to_vec();
    let mut lines = vec![Line([0; LINE]); BUCKETS];
    for key in keys {
        let d = digit::<0>(*key);
        let (at, line) = (next[d], &mut lines[d].0);
        line[at % LINE] = *key;
        next[d] = at + 1;
        if next[d].is_multiple_of(LINE) {
            let first = next[d] - LINE;
            if first < starts[d] {
                to[starts[d]..=at].copy_from_slice(&line[starts[d] - first..]);
                continue;
            }
            for k in (0..LINE).step_by(4) {
                // SAFETY: four keys are left in the line, and places of this digit, at a multiple of 16 bytes.
                unsafe {
                    _mm_stream_si128(to.as_mut_ptr().add(first + k).cast(), _mm_load_si128(line.as_ptr().add(k).cast()))
                }
            }
        }
    }
    for d in 0..BUCKETS {
        let rest = starts[d].max(next[d] / LINE * LINE)..next[d];
        to[rest.clone()].copy_from_slice(&lines[d].0[rest.start % LINE..][..rest.len()]);
    }
    _mm_sfence();
}

/// Puts keys where the next one of their digit goes.
fn scatter<const D: usize>(keys: &[u32], to: &mut [u32], next: &mut [u32]) {
    for key in keys {
        let at = &mut next[digit::<D>(*key)];
        to[*at as usize] = *key;
        *at += 1;
    }
}

/// Sorts a bucket by its other digits, the least significant first, with memory that stays in the cache.
fn sort_bucket(keys: &mut [u32], spare: &mut Vec<u32>) {
    spare.resize(spare.len().max(keys.len()), 0);
    let spare = &mut spare[..keys.len()];
    let (mut second, mut third) = ([0; 1 << BITS[1]], [0; 1 << BITS[2]]);
    for key in &*keys {
        second[digit::<1>(*key)] += 1;
        third[digit::<2>(*key)] += 1;
    }
    for counts in [&mut second[..], &mut third[..]] {
        let mut next = 0;
        for count in counts {
            next += std::mem::replace(count, next);
        }
    }
    scatter::<2>(keys, spare, &mut third);
    scatter::<1>(spare, keys, &mut second);
}
