//! Images: a blur, and the coarsity of a structure tensor, as in the detection of corners.

use super::doubles::{Doubles, on_widest_doubles};
use super::{TOLERANCE, tensor};
use crate::data::doubles;
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use acc_benches::papers::{scheduled, tensors as papers};
use acc_core::prelude::*;
use papers::TRACE;
use std::arch::x86_64::_mm_sfence;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| blur("tensor: blur", 4096, papers::blur)),
        Box::new(|| blur("tensor: blur, one stage", 4096, papers::blur_at_once)),
        Box::new(|| blur("scheduled: blur", 4096, scheduled::blur)),
        Box::new(|| coarsity("tensor: coars", 4096, papers::coars)),
        Box::new(|| coarsity("scheduled: coars", 4096, scheduled::coars)),
    ]
}

fn blur(name: &'static str, n: usize, f: fn(Acc<Matrix<f64>>) -> Acc<Matrix<f64>>) -> Row {
    let x = doubles(77, n * n, 0.0, 1.0);
    let (program, args) = program(f, (&tensor((n, n), &x),).into_data());
    let side = n - 2;
    let hand = hand(vec![0f64; side * side], move |out| {
        let out = Shared::new(out);
        split(side, 1, |r| {
            // SAFETY: the parts are disjoint.
            means(unsafe { out.part(r.start * side..r.end * side) }, &x[r.start * n..(r.end + 2) * n], n);
        });
    });
    Row {
        name,
        size: format!("{n}²"),
        read: 8.0 * (n * n) as f64,
        written: 8.0 * (side * side) as f64,
        flops: 9.0 * (side * side) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

on_widest_doubles! {
    /// Means of three by three of rows of `n` elements, a multiple of the lanes: sums of columns first, which stay in the first
    /// cache.
    fn means(out: &mut [f64], x: &[f64], n: usize) = means_in;
}

#[inline(always)]
unsafe fn means_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(out: &mut [f64], x: &[f64], n: usize) {
    let mut sums = vec![0f64; n];
    for (out, x) in out.chunks_exact_mut(n - 2).zip(x.windows(3 * n).step_by(n)) {
        // SAFETY: by the contract; the rows have `n` elements, and a vector is stored where it is aligned and there is room.
        unsafe {
            for j in (0..n).step_by(V::LANES) {
                let [a, b, c] = [0, n, 2 * n].map(|row| V::load(x.as_ptr().add(row + j)));
                a.plus(b).plus(c).store(sums.as_mut_ptr().add(j));
            }
            let (count, at) = (out.len(), sums.as_ptr());
            let skip = out.as_ptr().align_offset(size_of::<V>()).min(count);
            let end = skip + (count - skip) / V::LANES * V::LANES;
            for j in (skip..end).step_by(V::LANES) {
                let [a, b, c] = [0, 1, 2].map(|k| V::load(at.add(j + k)));
                a.plus(b).plus(c).times(V::all(1.0 / 9.0)).stream(out.as_mut_ptr().add(j));
            }
            for j in (0..skip).chain(end..count) {
                out[j] = (sums[j] + sums[j + 1] + sums[j + 2]) / 9.0;
            }
        }
    }
    // SAFETY: every processor has it that the benchmark runs on.
    unsafe { _mm_sfence() };
}

type Square = Acc<Matrix<f64>>;

fn coarsity(name: &'static str, n: usize, f: fn(Square, Square, Square) -> Square) -> Row {
    let [x, y, z] = [78, 79, 80].map(|seed| doubles(seed, n * n, -1.0, 1.0));
    let (program, args) = program(f, (&tensor((n, n), &x), &tensor((n, n), &y), &tensor((n, n), &z)).into_data());
    let hand = hand(vec![0f64; n * n], move |out| {
        let out = Shared::new(out);
        split(n * n, 64, |r| {
            // SAFETY: the parts are disjoint.
            combine(unsafe { out.part(r.clone()) }, [&x[r.clone()], &y[r.clone()], &z[r]]);
        });
    });
    let bytes = 8.0 * (n * n) as f64;
    Row {
        name,
        size: format!("{n}²"),
        read: 3.0 * bytes,
        written: bytes,
        flops: 7.0 * (n * n) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

on_widest_doubles! {
    /// As many elements as there are in whole vectors, stored where they are aligned.
    fn combine(out: &mut [f64], of: [&[f64]; 3]) = combine_in;
}

#[inline(always)]
unsafe fn combine_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(out: &mut [f64], of: [&[f64]; 3]) {
    for k in (0..out.len()).step_by(V::LANES) {
        // SAFETY: by the contract; all have a vector from `k` on.
        unsafe {
            let [x, y, z] = of.map(|of| V::load(of.as_ptr().add(k)));
            let trace = x.plus(y);
            let rest = trace.times(V::all(-TRACE)).mul_add(trace, x.times(y));
            z.times(V::all(-1.0)).mul_add(z, rest).stream(out.as_mut_ptr().add(k));
        }
    }
    // SAFETY: every processor has it that the benchmark runs on.
    unsafe { _mm_sfence() };
}
