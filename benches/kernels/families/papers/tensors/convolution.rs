//! A grouped convolution: images whose channels are in groups, each with filters of its own.

use super::doubles::{Doubles, lanes, on_widest_doubles};
use super::{TOLERANCE, tensor};
use crate::data::doubles;
use crate::pool::{Shared, each_with};
use crate::row::{Row, hand, program};
use acc_benches::papers::{scheduled, tensors as papers};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| grouped("tensor: gconv", papers::gconv)),
        Box::new(|| grouped("scheduled: gconv", scheduled::gconv)),
    ]
}

const IMAGES: usize = 32;
const GROUPS: usize = 32;
/// Of a group.
const FILTERS: usize = 32;
const CHANNELS: usize = 32;
/// Rows and columns of an image.
const SIDE: usize = 9;
/// Rows and columns of a filter.
const WINDOW: usize = 3;
/// Rows and columns of a result.
const RESULT: usize = 7;
/// Elements of a group of an image.
const IMAGE: usize = CHANNELS * SIDE * SIDE;
/// Elements of the filters of a group.
const WEIGHTS: usize = FILTERS * TERMS;
/// Products of a sum.
const TERMS: usize = CHANNELS * WINDOW * WINDOW;

type Channels = Acc<Array<DIM5, f64>>;

fn grouped(name: &'static str, f: fn(Channels, Channels) -> Channels) -> Row {
    let x = doubles(70, IMAGES * GROUPS * IMAGE, -1.0, 1.0);
    let w = doubles(71, GROUPS * WEIGHTS, -1.0, 1.0);
    let (program, args) = program(
        f,
        (&tensor((IMAGES, GROUPS, CHANNELS, SIDE, SIDE), &x), &tensor((GROUPS, FILTERS, CHANNELS, WINDOW, WINDOW), &w))
            .into_data(),
    );
    let results = IMAGES * GROUPS * FILTERS * RESULT * RESULT;
    let hand = hand(vec![0f64; results], move |out| {
        let out = Shared::new(out);
        let memory = || [vec![0f64; WEIGHTS], vec![0f64; FILTERS * RESULT * RESULT]];
        each_with(GROUPS, memory, |[weights, result], g| {
            filters_last(weights, &w[g * WEIGHTS..][..WEIGHTS]);
            for n in 0..IMAGES {
                let at = (n * GROUPS + g) * result.len();
                // SAFETY: the parts are disjoint.
                let out = unsafe { out.part(at..at + result.len()) };
                group(out, result, &x[(n * GROUPS + g) * IMAGE..][..IMAGE], weights);
            }
        });
    });
    Row {
        name,
        size: format!("{IMAGES}x{GROUPS}x{FILTERS}x{CHANNELS}x{RESULT}²"),
        read: 8.0 * (IMAGES * GROUPS * IMAGE) as f64,
        written: 8.0 * results as f64,
        flops: 2.0 * (results * TERMS) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

/// Filters side by side.
const SIDE_BY_SIDE: usize = 2;

/// The weights of each term of as many filters as are computed side by side, one block of these after the other.
fn filters_last(to: &mut [f64], weights: &[f64]) {
    let width = SIDE_BY_SIDE * lanes();
    for (block, to) in to.chunks_exact_mut(TERMS * width).enumerate() {
        for (term, to) in to.chunks_exact_mut(width).enumerate() {
            for (f, to) in to.iter_mut().enumerate() {
                *to = weights[(block * width + f) * TERMS + term];
            }
        }
    }
}

on_widest_doubles! {
    /// A group of an image, with memory for the result with filters last.
    fn group(out: &mut [f64], memory: &mut [f64], x: &[f64], weights: &[f64]) = group_in;
}

#[inline(always)]
unsafe fn group_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    memory: &mut [f64],
    x: &[f64],
    weights: &[f64],
) {
    let width = SIDE_BY_SIDE * V::LANES;
    for (block, weights) in weights.chunks_exact(TERMS * width).enumerate() {
        // SAFETY: by the contract; places are in the image, and filters in the memory.
        unsafe {
            let to = memory.as_mut_ptr().add(block * width);
            // 49 places are nine times five, and four.
            for first in (0..45).step_by(5) {
                places::<V, 5>(to, first, x, weights);
            }
            places::<V, 4>(to, 45, x, weights);
        }
    }
    for (f, out) in out.chunks_exact_mut(RESULT * RESULT).enumerate() {
        for (place, out) in out.iter_mut().enumerate() {
            *out = memory[place * FILTERS + f];
        }
    }
}

/// The results at some places from `first` on, of filters side by side.
#[inline(always)]
unsafe fn places<V: Doubles, const COUNT: usize>(to: *mut f64, first: usize, x: &[f64], weights: &[f64]) {
    let mut at = [x.as_ptr(); COUNT];
    for (k, at) in at.iter_mut().enumerate() {
        let place = first + k;
        *at = x[place / RESULT * SIDE + place % RESULT..].as_ptr();
    }
    let mut weights = weights.as_ptr();
    // SAFETY: by the contract.
    unsafe {
        let mut sums = [[V::all(0.0); SIDE_BY_SIDE]; COUNT];
        for channel in 0..CHANNELS {
            for p in 0..WINDOW {
                for q in 0..WINDOW {
                    let mut w = [V::all(0.0); SIDE_BY_SIDE];
                    for v in 0..SIDE_BY_SIDE {
                        w[v] = V::load(weights.add(v * V::LANES));
                    }
                    weights = weights.add(SIDE_BY_SIDE * V::LANES);
                    for k in 0..COUNT {
                        let x = V::all(*at[k].add(channel * SIDE * SIDE + p * SIDE + q));
                        for v in 0..SIDE_BY_SIDE {
                            sums[k][v] = x.mul_add(w[v], sums[k][v]);
                        }
                    }
                }
            }
        }
        for k in 0..COUNT {
            for v in 0..SIDE_BY_SIDE {
                sums[k][v].store(to.add((first + k) * FILTERS + v * V::LANES));
            }
        }
    }
}
