//! Pathfinder: the least costs of ways down a grid, row by row.

use crate::data::Numbers;
use crate::pool::{Shared, each_with};
use crate::row::{Row, hand, program};
use acc_benches::papers::dex as papers;
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| pathfinder(100, 100_000))]
}

fn pathfinder(rows: usize, columns: usize) -> Row {
    let mut numbers = Numbers::new(93);
    let costs: Vec<i32> = (0..rows * columns).map(|_| numbers.below(10) as i32).collect();
    let array = Matrix::from_vec((rows, columns), costs.clone()).unwrap_or_else(|e| panic!("costs: {e}"));
    let (program, args) = program(papers::pathfinder, (&array,).into_data());
    let hand = hand(vec![0i32; columns], move |out| {
        let out = Shared::new(out);
        let memory = || [vec![0i32; BLOCK + 2 * BESIDE + 16], vec![0i32; BLOCK + 2 * BESIDE + 16]];
        each_with(columns.div_ceil(BLOCK), memory, |memory, block| {
            let r = block * BLOCK..columns.min((block + 1) * BLOCK);
            let around = r.start.saturating_sub(BESIDE)..columns.min(r.end + BESIDE);
            let [mut from, mut to] = memory.each_mut().map(|m| m.as_mut_slice());
            from[PAD..PAD + around.len()].copy_from_slice(&costs[around.clone()]);
            for row in costs[columns..].chunks_exact(columns) {
                // SAFETY: the caller has seen the features.
                unsafe { step(to, from, &row[around.clone()]) };
                std::mem::swap(&mut from, &mut to);
            }
            let found = &from[PAD + r.start - around.start..][..r.len()];
            // SAFETY: the parts are disjoint.
            unsafe { out.part(r) }.copy_from_slice(found);
        });
    });
    Row {
        name: "dex: pathfinder",
        size: format!("{rows}x{columns}"),
        read: 4.0 * (rows * columns) as f64,
        written: 4.0 * columns as f64,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// Columns of which a thread does all rows: the states stay in the first cache. A multiple of eight, as all columns are.
const BLOCK: usize = 3128;
/// Columns beside these that it computes, too, at least as many as there are rows: what is wrong at the ends of these does not
/// come as far as its own.
const BESIDE: usize = 104;
/// Elements before a state.
const PAD: usize = 8;

/// A row, from the costs before it, which are eight elements in, as they are after.
#[target_feature(enable = "avx2")]
fn step(to: &mut [i32], from: &mut [i32], costs: &[i32]) {
    let n = costs.len();
    assert!(n.is_multiple_of(8) && to.len().min(from.len()) >= n + 2 * PAD);
    from[PAD - 1] = from[PAD];
    from[PAD + n] = from[PAD + n - 1];
    let (from, to) = (from.as_ptr(), to.as_mut_ptr());
    for j in (0..n).step_by(8) {
        // SAFETY: there are eight elements from here on, and elements beside them.
        unsafe {
            let [left, here, right] =
                [PAD - 1, PAD, PAD + 1].map(|pad| _mm256_loadu_si256(from.add(j + pad).cast::<__m256i>()));
            let least = _mm256_min_epi32(_mm256_min_epi32(left, right), here);
            let cost = _mm256_loadu_si256(costs.as_ptr().add(j).cast());
            _mm256_storeu_si256(to.add(j + PAD).cast(), _mm256_add_epi32(least, cost));
        }
    }
}
