//! Sums along each axis of a matrix, and its transposition.

use super::matrix;
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, each, part, run, split, threads};
use crate::row::{Row, hand, program};
use crate::vectors::transpose_eight;
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| row_sums(4096)), Box::new(|| column_sums(4096)), Box::new(|| transposed(4096))]
}

fn row_sums(n: usize) -> Row {
    let a = floats(15, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.sum(), (&matrix(n, &a),).into_data());
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        split(n, 1, |rows| {
            // SAFETY: the parts are disjoint.
            let sums = unsafe { out.part(rows.clone()) };
            add_rows(sums, &a[rows.start * n..rows.end * n], n);
        });
    });
    let cells = (n * n) as f64;
    Row {
        name: "sum of each row",
        size: format!("{n}²"),
        read: 4.0 * cells,
        written: 4.0 * n as f64,
        flops: cells,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

fn column_sums(n: usize) -> Row {
    let a = floats(16, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.transpose().sum(), (&matrix(n, &a),).into_data());
    let mut partial = vec![0f32; n * threads()];
    let hand = hand(vec![0f32; n], move |out| {
        let sums = Shared::new(&mut partial);
        run(&|t| {
            // SAFETY: each thread has sums of its own.
            let sums = unsafe { sums.part(t * n..(t + 1) * n) };
            let rows = part(n, BAND, t);
            add_columns(sums, &a[rows.start * n..rows.end * n]);
        });
        for (j, o) in out.iter_mut().enumerate() {
            *o = partial.iter().skip(j).step_by(n).sum();
        }
    });
    let cells = (n * n) as f64;
    Row {
        name: "sum of each column",
        size: format!("{n}²"),
        read: 4.0 * cells,
        written: 4.0 * n as f64,
        flops: cells,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

on_widest! {
    /// Adds each row of a matrix with rows of `n` elements, a multiple of 128.
    fn add_rows(sums: &mut [f32], a: &[f32], n: usize) = rows_of;
}

/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
unsafe fn rows_of<L: Lanes>(sums: &mut [f32], a: &[f32], n: usize) {
    for (sum, row) in sums.iter_mut().zip(a.chunks_exact(n)) {
        // SAFETY: each chunk has the elements of eight vectors, and there are no more lanes than in the array.
        unsafe {
            let mut totals = [L::all(0.0); 8];
            for chunk in row.chunks_exact(8 * L::LANES) {
                for (k, t) in totals.iter_mut().enumerate() {
                    *t = *t + L::load(chunk.as_ptr().add(k * L::LANES));
                }
            }
            let total = totals.into_iter().fold(L::all(0.0), |a, b| a + b);
            let mut lanes = [0.0; 16];
            total.store(lanes.as_mut_ptr());
            *sum = lanes.iter().sum();
        }
    }
}

/// Rows that are added before their sums are, so that these are seldom read and written.
const BAND: usize = 4;

on_widest! {
    /// Adds the rows of a matrix, whose number is a multiple of that of a band; their length is one of 16.
    fn add_columns(sums: &mut [f32], a: &[f32]) = columns_of;
}

/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
unsafe fn columns_of<L: Lanes>(sums: &mut [f32], a: &[f32]) {
    let n = sums.len();
    sums.fill(0.0);
    for band in a.chunks_exact(BAND * n) {
        for j in (0..n).step_by(L::LANES) {
            // SAFETY: each row, and the sums, have the elements of a vector from `j` on.
            unsafe {
                let mut total = L::load(sums.as_ptr().add(j));
                for k in 0..BAND {
                    total = total + L::load(band.as_ptr().add(k * n + j));
                }
                total.store(sums.as_mut_ptr().add(j));
            }
        }
    }
}

fn transposed(n: usize) -> Row {
    let a = floats(17, n * n, 0.0, 1.0);
    let (program, args) = program(|a: Acc<Matrix<f32>>| a.transpose(), (&matrix(n, &a),).into_data());
    let hand = hand(vec![0f32; n * n], move |out| {
        let out = Shared::new(out);
        each(n / LINE, |strip| {
            let j = strip * LINE;
            // SAFETY: each strip is one thread's, within both matrices; the caller has seen the features.
            unsafe { transpose_strip(out.start().add(j), a.as_ptr().add(j * n), n) }
        });
    });
    let cells = (n * n) as f64;
    Row {
        name: "transposition",
        size: format!("{n}²"),
        read: 4.0 * cells,
        written: 4.0 * cells,
        flops: 0.0,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// The elements of a line of the cache. The numbers of rows and columns are multiples of it.
const LINE: usize = 16;

/// As many rows and columns, at a line of the cache.
#[repr(align(64))]
struct Square([f32; LINE * LINE]);

/// Transposes as many rows as a line has elements: in squares, which are stored by non-temporal
/// stores of whole lines. At most eight rows are read at a time: rows whose length is a power of two share a set of the cache.
///
/// # Safety
///
/// `n` rows of `LINE` elements, `n` apart, can be written, at a multiple of 32 bytes, and `LINE` rows of `n` be read.
#[target_feature(enable = "avx2,fma")]
unsafe fn transpose_strip(out: *mut f32, a: *const f32, n: usize) {
    let mut square = Square([0.0; LINE * LINE]);
    for i in (0..n).step_by(LINE) {
        // SAFETY: by the contract.
        unsafe {
            for j in [0, 8] {
                for k in [0, 8] {
                    transpose_eight(square.0.as_mut_ptr().add(k * LINE + j), LINE, a.add(j * n + i + k), n);
                }
            }
            for k in 0..LINE {
                for j in [0, 8] {
                    let eight = _mm256_load_ps(square.0.as_ptr().add(k * LINE + j));
                    _mm256_stream_ps(out.add((i + k) * n + j), eight);
                }
            }
        }
    }
    _mm_sfence();
}
