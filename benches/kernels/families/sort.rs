//! Sorting.

use super::{label, vector};
use crate::data::Numbers;
use crate::pool::{Shared, each, part, run, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;

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
    let mut spare = vec![0u32; n];
    let mut counts = vec![0usize; BUCKETS * threads()];
    let hand = hand(vec![0u32; n], move |out| {
        let ends = distribute(&keys, out, &mut counts);
        let (out, spare) = (Shared::new(out), Shared::new(&mut spare));
        each(BUCKETS, |b| {
            let r = (if b == 0 { 0 } else { ends[b - 1] })..ends[b];
            // SAFETY: buckets are disjoint.
            unsafe { sort_bucket(out.part(r.clone()), spare.part(r)) };
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
        // SAFETY: each thread has positions of its own, and no two of all are the same.
        let (own, to) = unsafe { (starts.part(t * BUCKETS..(t + 1) * BUCKETS), to.part(0..n)) };
        scatter::<0>(&keys[part(n, 8, t)], to, own);
    });
    counts[(threads() - 1) * BUCKETS..].to_vec()
}

/// Puts keys where the next one of their digit goes.
fn scatter<const D: usize>(keys: &[u32], to: &mut [u32], next: &mut [usize]) {
    for key in keys {
        let at = &mut next[digit::<D>(*key)];
        to[*at] = *key;
        *at += 1;
    }
}

/// Sorts a bucket by its other digits, the least significant first.
fn sort_bucket(keys: &mut [u32], spare: &mut [u32]) {
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
