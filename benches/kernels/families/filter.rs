//! The elements that are kept.

use super::{label, vector};
use crate::chain::Chain;
use crate::data::floats;
use crate::pool::{Shared, each_with};
use crate::row::{Row, hand, program};
use crate::vectors::{all, streamed};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| filtered(16_000_000))]
}

/// Elements of a block, whose kept ones are collected in the L1 cache; a multiple of eight.
const BLOCK: usize = 1 << 14;

fn filtered(n: usize) -> Row {
    let x = floats(21, n, -1.0, 1.0);
    let (program, args) = program(|x: Acc<Vector<f32>>| x.filter(|x| x.gt(0.0)), (&vector(&x),).into_data());
    let kept = x.iter().filter(|x| **x > 0.0).count();
    let orders = orders();
    let hand = hand(vec![0f32; kept], move |out| {
        let (out, chain) = (Shared::new(out), Chain::new(n.div_ceil(BLOCK)));
        let stage = || vec![0f32; BLOCK + 8];
        each_with(n.div_ceil(BLOCK), stage, |stage, block| {
            // SAFETY: the caller has seen the features.
            let count = unsafe { keep_positive(stage, &x[block * BLOCK..n.min((block + 1) * BLOCK)], &orders) };
            let before = chain.pass(block, |before| before + count as u32) as usize;
            // SAFETY: what blocks keep is disjoint; the caller has seen the features.
            unsafe { streamed(out.part(before..before + count), &stage[..count]) };
        });
    });
    Row {
        name: "filter, half kept",
        size: label(n),
        read: 4.0 * n as f64,
        written: 4.0 * kept as f64,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
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

/// Moves the positive elements to the front, eight lanes at a time, and returns their number.
#[target_feature(enable = "avx2,fma,popcnt")]
fn keep_positive(out: &mut [f32], x: &[f32], orders: &[[i32; 8]]) -> usize {
    assert!(x.len() + 8 <= out.len() && orders.len() == 256);
    let mut kept = 0;
    for v in x.as_chunks::<8>().0 {
        // SAFETY: there are eight elements, an order for each set, and room for eight more than all.
        unsafe {
            let v = _mm256_loadu_ps(v.as_ptr());
            let set = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(v, all(0.0)));
            let order = _mm256_loadu_si256(orders.as_ptr().add(set as usize).cast());
            _mm256_storeu_ps(out.as_mut_ptr().add(kept), _mm256_permutevar8x32_ps(v, order));
            kept += set.count_ones() as usize;
        }
    }
    kept
}
