//! Sorting.

use super::Host;
use super::launch::{Output, rows};
use super::machine::Machine;
use super::number::{Number, Values};
use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::{ArrayId, Stmt};
use crate::memory;
use std::cmp::Ordering;

pub(super) fn argsort<'p, N: Number>(m: &mut Machine<'p, N>, s: &'p Stmt, xs: ArrayId) -> Result<Values<N>, Error> {
    // What is compared are the numbers, not their tangents.
    let source = m.value(xs)?.data;
    let (outer, inner) = rows(source.shape())?;
    let mut out = Output::new(source.shape().to_vec(), m.result_elt(s)?, s, &m.meter)?;
    // The positions of one row, and room to merge them into.
    let _charge = m.meter.charge(inner.saturating_mul(2 * size_of::<usize>()) as u64)?;
    let (mut order, mut merged) = (memory::with_capacity(inner)?, memory::with_capacity(inner)?);
    for row in 0..outer.iter().product() {
        order.clear();
        order.extend(0..inner);
        let start = row * inner;
        sort(&mut order, &mut merged, |a, b| lexicographic(&source, start + a, start + b), m)?;
        for &k in &order {
            m.tick()?;
            out.push(&[N::of_int(&(k as i64))])?;
        }
    }
    out.finish()
}

/// The longest run that is sorted without a look at the limits.
const MAX_UNCHECKED_RUN: usize = 1 << 10;

/// Sorts by merging, stably; `merged` has the room of `order`.
fn sort<N: Number>(
    order: &mut Vec<usize>,
    merged: &mut Vec<usize>,
    compare: impl Fn(usize, usize) -> Ordering,
    host: &mut dyn Host<N>,
) -> Result<(), Error> {
    for run in order.chunks_mut(MAX_UNCHECKED_RUN) {
        host.pause()?;
        run.sort_by(|&a, &b| compare(a, b));
    }
    let mut sorted = MAX_UNCHECKED_RUN;
    while sorted < order.len() {
        merged.clear();
        for pair in order.chunks(2 * sorted) {
            let (mut left, mut right) = pair.split_at(sorted.min(pair.len()));
            while let (Some(&a), Some(&b)) = (left.first(), right.first()) {
                host.tick()?;
                // Of equal elements the left one comes first.
                if compare(b, a) == Ordering::Less {
                    merged.push(b);
                    right = &right[1..];
                } else {
                    merged.push(a);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(order, merged);
        sorted *= 2;
    }
    Ok(())
}

/// The order of two elements, leaf by leaf.
fn lexicographic(source: &ArrayData, a: usize, b: usize) -> Ordering {
    let key = |column: &crate::data::Column, at| column.slice().get(at).map(|l| l.sort_key());
    source.columns().iter().map(|c| key(c, a)).cmp(source.columns().iter().map(|c| key(c, b)))
}
