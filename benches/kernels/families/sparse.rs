//! The product of a sparse matrix and a vector.

use super::{label, vector};
use crate::data::{Numbers, floats};
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::{across, all};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| sparse(1_000_000))]
}

/// A square sparse matrix of about ten entries a row, by rows.
fn sparse(n: usize) -> Row {
    let mut numbers = Numbers::new(30);
    let lengths: Vec<i32> = (0..n).map(|_| numbers.below(21) as i32).collect();
    let entries: usize = lengths.iter().map(|l| *l as usize).sum();
    let columns: Vec<i64> = (0..entries).map(|_| i64::from(numbers.below(n as u32))).collect();
    let (values, x) = (floats(31, entries, -1.0, 1.0), floats(32, n, -1.0, 1.0));
    let (program, args) = program(
        |lengths: Acc<Vector<i32>>, columns: Acc<Vector<i64>>, values: Acc<Vector<f32>>, x: Acc<Vector<f32>>| {
            x.gather(&columns).zip_with(&values, |x, v| x * v).fold_seg(&lengths, 0.0, |a, b| a + b)
        },
        (&vector(&lengths), &vector(&columns), &vector(&values), &vector(&x)).into_data(),
    );
    let hand = hand(vec![0f32; n], move |out| {
        let mut counts = vec![0usize; threads()];
        let shared = Shared::new(&mut counts);
        run(&|t| {
            // SAFETY: each thread writes its own count.
            unsafe { shared.part(t..t + 1)[0] = lengths[part(n, 1, t)].iter().map(|l| *l as usize).sum() }
        });
        let out = Shared::new(out);
        run(&|t| {
            let (r, first) = (part(n, 1, t), counts[..t].iter().sum());
            let entries = first..first + counts[t];
            // SAFETY: the parts are disjoint, columns are below `n`; the caller has seen the features.
            unsafe { multiply(out.part(r.clone()), &lengths[r], &columns[entries.clone()], &values[entries], &x) };
        });
    });
    Row {
        name: "sparse matrix times vector",
        size: format!("{} rows", label(n)),
        read: (12 * entries + 8 * n) as f64,
        written: 4.0 * n as f64,
        flops: 2.0 * entries as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// Rows whose products are computed before they are added, so that no read waits for where a row ends.
const ROWS: usize = 128;
/// Rows up to this length are added without a branch, in three vectors.
const MAX_BRANCHLESS_LENGTH: usize = 24;

/// Rows of the product.
///
/// # Safety
///
/// Columns are in bounds of `x`, and there are as many as the lengths say.
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply(out: &mut [f32], lengths: &[i32], mut columns: &[i64], mut values: &[f32], x: &[f32]) {
    let mut products = Vec::new();
    for (out, lengths) in out.chunks_mut(ROWS).zip(lengths.chunks(ROWS)) {
        let n = lengths.iter().map(|l| *l as usize).sum();
        products.resize(products.len().max(n + MAX_BRANCHLESS_LENGTH), 0.0);
        let (c, v);
        ((c, columns), (v, values)) = (columns.split_at(n), values.split_at(n));
        for ((p, c), v) in products.iter_mut().zip(c).zip(v) {
            // SAFETY: by the contract.
            *p = unsafe { *x.get_unchecked(*c as usize) } * v;
        }
        let mut at = 0;
        for (o, length) in out.iter_mut().zip(lengths) {
            let row = &products[at..at + (*length as usize).max(MAX_BRANCHLESS_LENGTH)];
            *o =
                if *length as usize <= MAX_BRANCHLESS_LENGTH { short(row, *length as usize) } else { row.iter().sum() };
            at += *length as usize;
        }
    }
}

/// The sum of the first elements.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn short(row: &[f32], length: usize) -> f32 {
    const MASKS: [i32; 2 * MAX_BRANCHLESS_LENGTH] = {
        let mut masks = [0; 2 * MAX_BRANCHLESS_LENGTH];
        let mut k = 0;
        while k < MAX_BRANCHLESS_LENGTH {
            masks[k] = -1;
            k += 1;
        }
        masks
    };
    assert!(row.len() >= MAX_BRANCHLESS_LENGTH && length <= MAX_BRANCHLESS_LENGTH);
    let mut sum = all(0.0);
    for k in (0..MAX_BRANCHLESS_LENGTH).step_by(8) {
        // SAFETY: the row has eight elements from `k` on, and so have the masks after those left out.
        unsafe {
            let mask = _mm256_loadu_ps(MASKS.as_ptr().add(MAX_BRANCHLESS_LENGTH - length + k).cast());
            sum = _mm256_add_ps(sum, _mm256_and_ps(mask, _mm256_loadu_ps(row.as_ptr().add(k))));
        }
    }
    across(sum)
}
