//! Sorting rows: stable, in chunks that are merged.
//!
//! An element is its first leaf's sort key and its position; positions differ, so that no two elements are equal and
//! every way of sorting them is stable.

use super::launch::{Context, finish, pieces};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::tile::machine::Stop;
use acc_core::Error;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Elements sorted at once; what is longer is merged.
const CHUNK: usize = 1 << 14;
/// Elements that a task merges.
const PIECE: usize = 1 << 16;
/// Cost of sorting an element, in units of one vectorised addition.
const COST: usize = 256;

type Item = (u64, u64);

/// The positions that sort each row of an array, given by its columns and extents.
pub(super) fn argsort(
    columns: &[ColumnSlice<'_>],
    shape: &[usize],
    cx: Context<'_>,
) -> Result<SmallVec<[Column; 2]>, Error> {
    let count: usize = shape.iter().product();
    let row = shape.last().copied().unwrap_or(0);
    let mut out = cx.columns(&[ScalarType::I64], count)?;
    let parallel = cx.parallel(count, COST);
    let stopped = |stop: Stop| match stop {
        Stop::Error(e) => e,
        // Nothing is evaluated here.
        Stop::Fault(..) | Stop::Demand(_) => super::defect("a sort that stops".into()),
    };
    if row > CHUNK {
        for start in (0..count).step_by(row) {
            let keys = Keys { columns, start };
            let sorted = sort_long(&keys, row, parallel, cx).map_err(stopped)?;
            write(&mut out, start, &sorted);
        }
        return Ok(finish(out));
    }
    // Many short rows: a few per task.
    let rows = (CHUNK / row.max(1)).max(1);
    let tasks = pieces(&mut out, count, rows * row.max(1));
    let sort = |items: &mut Vec<Item>, mut piece: super::launch::Piece<'_>| {
        cx.limits.check().map_err(Stop::Error)?;
        for at in (0..piece.len).step_by(row.max(1)) {
            let keys = Keys { columns, start: piece.start + at };
            items.clear();
            items.extend((0..row).map(|k| keys.item(k)));
            items.sort_unstable_by(|a, b| keys.order(a, b));
            if let OutSlice::I64(to) = piece.from(0, at) {
                to.iter_mut().zip(items.iter()).for_each(|(to, item)| *to = item.1 as i64);
            }
        }
        Ok(())
    };
    cx.tasks(parallel, tasks, Vec::new, sort).map_err(stopped)?;
    Ok(finish(out))
}

fn write(out: &mut [AnyBuffer], start: usize, sorted: &[Item]) {
    if let Some(OutSlice::I64(to)) = out.first_mut().map(AnyBuffer::as_out) {
        to.iter_mut().skip(start).zip(sorted).for_each(|(to, item)| *to = item.1 as i64);
    }
}

/// A row's elements.
struct Keys<'a> {
    columns: &'a [ColumnSlice<'a>],
    start: usize,
}

impl Keys<'_> {
    fn key(&self, leaf: usize, k: usize) -> u64 {
        self.columns.get(leaf).and_then(|c| c.get(self.start + k)).map_or(0, |l| l.sort_key())
    }

    fn item(&self, k: usize) -> Item {
        (self.key(0, k), k as u64)
    }

    /// By the leaves, then by position.
    fn order(&self, a: &Item, b: &Item) -> Ordering {
        let mut order = a.0.cmp(&b.0);
        for leaf in 1..self.columns.len() {
            if order.is_ne() {
                return order;
            }
            order = self.key(leaf, a.1 as usize).cmp(&self.key(leaf, b.1 as usize));
        }
        order.then(a.1.cmp(&b.1))
    }
}

/// Sorts chunks, then merges neighbours until one is left. Each task looks at the limits.
fn sort_long(keys: &Keys<'_>, n: usize, parallel: bool, cx: Context<'_>) -> Result<Vec<Item>, Stop> {
    let mut items = memory(n)?;
    let tasks: Vec<(usize, &mut [Item])> = items.chunks_mut(CHUNK).enumerate().collect();
    cx.tasks(
        parallel,
        tasks,
        || (),
        |(), (chunk, items)| {
            cx.limits.check().map_err(Stop::Error)?;
            for (k, item) in items.iter_mut().enumerate() {
                *item = keys.item(chunk * CHUNK + k);
            }
            items.sort_unstable_by(|a, b| keys.order(a, b));
            Ok(())
        },
    )?;
    let mut merged = memory(n)?;
    let mut width = CHUNK;
    while width < n {
        let mut tasks = Vec::new();
        for (pair, out) in items.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            tasks.extend(out.chunks_mut(PIECE).enumerate().map(|(p, out)| (left, right, p * PIECE, out)));
        }
        cx.tasks(
            parallel,
            tasks,
            || (),
            |(), (left, right, from, out)| {
                cx.limits.check().map_err(Stop::Error)?;
                merge(keys, left, right, from, out);
                Ok(())
            },
        )?;
        std::mem::swap(&mut items, &mut merged);
        width *= 2;
    }
    Ok(items)
}

fn memory(n: usize) -> Result<Vec<Item>, Stop> {
    let mut items = Vec::new();
    items.try_reserve_exact(n).map_err(|e| {
        let message = format!("no memory to sort {n} elements: {e}");
        Stop::Error(Error::Backend { backend: crate::NAME, message })
    })?;
    items.resize(n, (0, 0));
    Ok(items)
}

/// Writes the elements from position `from` on of two sorted lists merged.
fn merge(keys: &Keys<'_>, left: &[Item], right: &[Item], from: usize, out: &mut [Item]) {
    // How many of the first `from` elements come from the left: the least such number that leaves none on the left
    // that is less than one taken from the right.
    let (mut low, mut high) = (from.saturating_sub(right.len()), from.min(left.len()));
    while low < high {
        let mid = low.midpoint(high);
        match (left.get(mid), right.get(from - mid - 1)) {
            (Some(l), Some(r)) if keys.order(l, r).is_lt() => low = mid + 1,
            _ => high = mid,
        }
    }
    let mut left = left.get(low..).unwrap_or_default().iter().peekable();
    let mut right = right.get(from - low..).unwrap_or_default().iter().peekable();
    for to in out {
        let from_left = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) => keys.order(l, r).is_lt(),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if let Some(item) = if from_left { left.next() } else { right.next() } {
            *to = *item;
        }
    }
}
