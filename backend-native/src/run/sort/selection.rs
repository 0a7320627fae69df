//! The first few, or the last few, positions of the permutation that sorts each row, by selection.
//!
//! Elements that come before the worst one known to be needed are collected in a buffer; when it is full, the best of it are
//! kept (C. A. R. Hoare's `find`), and the worst of these is the new threshold. Most blocks of a row have no element below it, and
//! are only compared with it, in vectors. The last elements are the first ones from the other end, with keys complemented.

use super::keys::{Item, Key, bits, keys};
use super::radix::ITEMS_PER_POLL;
use super::{Rows, TASK_ELEMENTS};
use crate::buffer::Buffer;
use crate::run::launch::lists::collected;
use crate::tile::machine::Stop;
use acc_core::data::ColumnSlice;
use acc_desugar::fuse::End;
use backend_native_lanes::all_types;
use backend_native_lanes::multiversion;
use half::f16;
use std::ops::Range;

/// Elements that are compared with the threshold at once.
const BLOCK_ELEMENTS: usize = 128;
/// Elements that a buffer collects besides those that are needed, at least.
const MIN_SPARE_ELEMENTS: usize = 256;
/// A selection of more than one in so many elements sorts all of them.
const MIN_SELECTIVITY: usize = 4;

/// An element: its key and its place, from the end that is selected.
type Found = (u64, u64);

/// A key, complemented or not.
pub(super) trait Word: Copy + Default + Ord + Into<u64> {
    fn complement(self) -> Self;
    /// Whether any of a block's keys, complemented if so said, is less than a threshold.
    fn any_below(keys: &[Self], threshold: Self, complemented: bool) -> bool;
    fn of(key: u64) -> Self;
}

macro_rules! word {
    ($($t:ty, $name:ident, $each:ident;)*) => { $(
        #[inline(always)]
        fn $each(keys: &[$t], threshold: $t, complemented: bool) -> bool {
            let flip = if complemented { <$t>::MAX } else { 0 };
            keys.iter().fold(false, |any, k| any | ((k ^ flip) < threshold))
        }
        multiversion!(
            /// Whether any key is below the threshold.
            $name, $each, (keys: &[$t], threshold: $t, complemented: bool) -> bool
        );

        impl Word for $t {
            fn complement(self) -> $t {
                !self
            }
            fn any_below(keys: &[$t], threshold: $t, complemented: bool) -> bool {
                $name(keys, threshold, complemented)
            }
            fn of(key: u64) -> $t {
                key as $t
            }
        }
    )* };
}
word! { u32, any_below_u32, any_below_u32_impl; u64, any_below_u64, any_below_u64_impl; }

/// The elements that come first of those met so far.
struct Best {
    count: usize,
    found: Vec<Found>,
    /// No element with this key or a greater one is needed.
    threshold: Option<u64>,
}

impl Best {
    fn new(count: usize) -> Best {
        Best { count, found: Vec::new(), threshold: None }
    }

    /// Takes an element that comes after those met before.
    fn take(&mut self, element: Found) {
        if self.threshold.is_some_and(|t| element.0 >= t) {
            return;
        }
        self.found.push(element);
        if self.found.len() >= self.count + self.count.max(MIN_SPARE_ELEMENTS) {
            self.shrink();
        }
    }

    /// Keeps those that are needed.
    fn shrink(&mut self) {
        if self.found.len() > self.count && self.count > 0 {
            let (_, worst, _) = self.found.select_nth_unstable(self.count - 1);
            self.threshold = Some(worst.0);
        }
        self.found.truncate(self.count);
    }

    /// Takes the elements of a part of a row of `n`.
    fn take_part<T: Key>(&mut self, row: &[T], part: Range<usize>, end: End, keys: &mut Vec<Item<T>>)
    where
        Item<T>: Word,
    {
        let (n, complemented) = (row.len(), end == End::Last);
        let mut at = 0;
        while at < part.len() {
            let len = BLOCK_ELEMENTS.min(part.len() - at);
            // The place of the block's first element in memory.
            let start = if complemented { part.end - at - len } else { part.start + at };
            T::to_keys(&row[start..start + len], keys);
            let is_needed = |t| Item::<T>::any_below(keys, Item::<T>::of(t), complemented);
            if self.threshold.is_none_or(is_needed) {
                for k in 0..len {
                    let (key, place) = match end {
                        End::First => (keys[k], start + k),
                        End::Last => (keys[len - 1 - k].complement(), n - start - len + k),
                    };
                    self.take((key.into(), place as u64));
                }
            }
            at += len;
        }
    }

    /// Writes the positions of the first elements to the end of a row that they come from, and forgets them.
    fn write(&mut self, end: End, row: &mut [i64]) {
        self.shrink();
        self.found.sort_unstable();
        let n = row.len();
        for (k, (_, place)) in self.found.drain(..).enumerate() {
            match end {
                End::First => row[k] = place as i64,
                End::Last => row[n - 1 - k] = (n - 1 - place as usize) as i64,
            }
        }
        self.threshold = None;
    }
}

impl Rows<'_> {
    /// Of the permutation that sorts rows, so many positions at an end of each.
    pub(super) fn selected(
        &self,
        columns: &[ColumnSlice<'_>],
        (end, count): (End, usize),
    ) -> Result<Buffer<i64>, Stop> {
        let has_one_key = columns.iter().map(|c| bits(*c)).sum::<u32>() <= u64::BITS && keys(columns).len() == 1;
        if !has_one_key || count.saturating_mul(MIN_SELECTIVITY) > self.row {
            return self.order(columns);
        }
        let mut out = self.memory(self.count)?;
        let order = out.slice_mut();
        if let [values] = columns {
            macro_rules! typed {
                ($(($V:ident, $t:ty)),*) => { match values { $(ColumnSlice::$V(values) => self.select::<$t>(values, end, count, order),)* } };
            }
            all_types!(typed)?;
        } else {
            let keys = self.packed(columns)?;
            self.select::<u64>(keys.slice(), end, count, order)?;
        }
        Ok(out)
    }

    fn select<T: Key>(&self, values: &[T], end: End, count: usize, order: &mut [i64]) -> Result<(), Stop>
    where
        Item<T>: Word,
    {
        let threads = if self.parallel { self.cx.threads.count() } else { 1 };
        let rows = self.count / self.row;
        let is_shared = rows < 2 * threads || self.row > ITEMS_PER_POLL;
        if !is_shared || self.row < 2 * TASK_ELEMENTS {
            let task = (TASK_ELEMENTS / self.row).max(1) * self.row;
            let tasks = collected(order.chunks_mut(task).zip(values.chunks(task)))?;
            let select = |(best, keys): &mut (Best, Vec<Item<T>>), (order, values): (&mut [i64], &[T])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                for (order, row) in order.chunks_mut(self.row).zip(values.chunks(self.row)) {
                    best.take_part(row, 0..row.len(), end, keys);
                    best.write(end, order);
                }
                Ok(())
            };
            return self.cx.tasks(self.parallel, tasks, || (Best::new(count), Vec::new()), select);
        }
        // Threads share each row. Parts in order of their places, from the end that is selected.
        let len = (self.row / (2 * threads)).clamp(TASK_ELEMENTS, ITEMS_PER_POLL).max(count);
        let mut parts: Vec<Range<usize>> = (0..self.row).step_by(len).map(|at| at..self.row.min(at + len)).collect();
        if end == End::Last {
            parts.reverse();
        }
        for (order, row) in order.chunks_mut(self.row).zip(values.chunks(self.row)) {
            let mut bests = collected(parts.iter().map(|_| Best::new(count)))?;
            let tasks = collected(parts.iter().zip(&mut bests))?;
            let select = |keys: &mut Vec<Item<T>>, (part, best): (&Range<usize>, &mut Best)| {
                self.cx.limits.check().map_err(Stop::Error)?;
                best.take_part(row, part.clone(), end, keys);
                best.shrink();
                Ok(())
            };
            self.cx.tasks(self.parallel, tasks, Vec::new, select)?;
            let mut all = Best::new(count);
            bests.iter_mut().for_each(|best| all.found.append(&mut best.found));
            all.write(end, order);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions<T: Key>(row: &[T], end: End, count: usize) -> Vec<i64>
    where
        Item<T>: Word,
    {
        let (mut best, mut order) = (Best::new(count), vec![-1; row.len()]);
        best.take_part(row, 0..row.len(), end, &mut Vec::new());
        best.write(end, &mut order);
        match end {
            End::First => order[..count.min(row.len())].to_vec(),
            End::Last => order[row.len() - count.min(row.len())..].to_vec(),
        }
    }

    fn as_sorted<T: Key>(row: &[T])
    where
        Item<T>: Word,
    {
        let mut order: Vec<i64> = (0..row.len() as i64).collect();
        order.sort_by_key(|k| row[*k as usize].sort_key());
        for count in [0, 1, 2, 7, 63, 64, 300, row.len(), row.len() + 3] {
            let n = count.min(row.len());
            assert_eq!(positions(row, End::First, count), order[..n], "the first {count} of {}", row.len());
            assert_eq!(positions(row, End::Last, count), order[row.len() - n..], "the last {count} of {}", row.len());
        }
    }

    #[test]
    fn selected_positions_are_those_of_a_sort() {
        for n in [0usize, 1, 2, 127, 128, 129, 1000, 5003] {
            let numbers: Vec<i64> = (0..n as i64).map(|k| k * 7919 % 1009 - 500).collect();
            as_sorted(&numbers);
            as_sorted(&numbers.iter().map(|k| *k as i32).collect::<Vec<_>>());
            as_sorted(&numbers.iter().map(|k| *k as u8).collect::<Vec<_>>());
            let floats = |k: &i64| match k % 50 {
                0 => f32::NAN,
                1 => -0.0,
                2 => 0.0,
                _ => *k as f32,
            };
            as_sorted(&numbers.iter().map(floats).collect::<Vec<_>>());
            as_sorted(&(0..n as i64).collect::<Vec<_>>());
            as_sorted(&(0..n as u64).rev().collect::<Vec<_>>());
            as_sorted(&vec![true; n]);
        }
    }
}
