//! Sorting rows: stable, by the leaves of their elements, the last one first.
//!
//! Long rows are sorted by the digits of their keys ([`radix`](super::radix)); of short ones a few make a task, which
//! compares elements.

use super::launch::{Context, finish, pieces};
use super::radix::{self, At, Item, Key};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::tile::machine::Stop;
use crate::types::all_types;
use acc_core::Error;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use half::f16;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Rows from this length on are sorted by digits.
const LONG: usize = 1 << 12;
/// Elements of short rows that a task sorts.
const CHUNK: usize = 1 << 14;
/// Elements of a task of a long row.
const PIECE: usize = 1 << 16;
/// Cost of sorting an element, in units of one vectorised addition.
const COST: usize = 256;

/// A scalar with a key that sorts as it does: see [`Lit::sort_key`](acc_core::data::Lit::sort_key).
trait Sorted: Copy + Send + Sync {
    type Key: Key;
    fn key(self) -> Self::Key;
}

macro_rules! integers {
    ($($t:ty: $key:ty, $sign:expr;)*) => { $(impl Sorted for $t {
        type Key = $key;
        fn key(self) -> $key {
            self as $key ^ $sign
        }
    })* };
}
integers! {
    u8: u32, 0; u16: u32, 0; u32: u32, 0; u64: u64, 0; bool: u32, 0; char: u32, 0;
    i8: u32, 1 << 31; i16: u32, 1 << 31; i32: u32, 1 << 31; i64: u64, 1 << 63;
}

macro_rules! floats {
    ($($t:ty: $key:ty;)*) => { $(impl Sorted for $t {
        type Key = $key;
        fn key(self) -> $key {
            const SIGN: $key = 1 << (<$key>::BITS - 1);
            // Of zeros the sum is the positive one.
            let bits = (self + 0.0).to_bits();
            match bits & SIGN {
                _ if self.is_nan() => <$key>::MAX,
                0 => bits | SIGN,
                _ => !bits,
            }
        }
    })* };
}
floats! { f32: u32; f64: u64; }

impl Sorted for f16 {
    type Key = u32;
    fn key(self) -> u32 {
        f32::from(self).key()
    }
}

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
    if row >= LONG {
        for start in (0..count).step_by(row) {
            let long = Long { columns, start, row, parallel, cx };
            let done = if row <= u32::MAX as usize { long.sort::<u32>(&mut out) } else { long.sort::<u64>(&mut out) };
            done.map_err(stopped)?;
        }
        return Ok(finish(out));
    }
    let rows = (CHUNK / row.max(1)).max(1);
    let tasks = pieces(&mut out, count, rows * row.max(1));
    let sort = |order: &mut Vec<(u64, u64)>, mut piece: super::launch::Piece<'_>| {
        cx.limits.check().map_err(Stop::Error)?;
        for at in (0..piece.len).step_by(row.max(1)) {
            let keys = Keys { columns, start: piece.start + at };
            order.clear();
            order.extend((0..row).map(|k| (keys.key(0, k), k as u64)));
            order.sort_unstable_by(|a, b| keys.order(*a, *b));
            if let OutSlice::I64(to) = piece.from(0, at) {
                to.iter_mut().zip(order.iter()).for_each(|(to, item)| *to = item.1 as i64);
            }
        }
        Ok(())
    };
    cx.tasks(parallel, tasks, Vec::new, sort).map_err(stopped)?;
    Ok(finish(out))
}

/// The elements of a short row.
struct Keys<'a> {
    columns: &'a [ColumnSlice<'a>],
    start: usize,
}

impl Keys<'_> {
    fn key(&self, leaf: usize, k: usize) -> u64 {
        self.columns.get(leaf).and_then(|c| c.get(self.start + k)).map_or(0, |l| l.sort_key())
    }

    /// By the leaves, of which the first is at hand, then by position.
    fn order(&self, a: (u64, u64), b: (u64, u64)) -> Ordering {
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

/// A long row.
struct Long<'a> {
    columns: &'a [ColumnSlice<'a>],
    start: usize,
    row: usize,
    parallel: bool,
    cx: Context<'a>,
}

impl Long<'_> {
    /// Writes the positions of the sorted row.
    fn sort<A: At>(&self, out: &mut [AnyBuffer]) -> Result<(), Stop> {
        let mut order: Option<Vec<A>> = None;
        for column in self.columns.iter().rev() {
            macro_rules! typed {
                ($(($V:ident, $t:ty)),*) => {
                    match column { $(ColumnSlice::$V(values) => self.by_leaf::<$t, A>(values, order)?),* }
                };
            }
            order = Some(all_types!(typed));
        }
        let Some(OutSlice::I64(to)) = out.first_mut().map(AnyBuffer::as_out) else { return Ok(()) };
        let to = &mut to[self.start..self.start + self.row];
        match order {
            Some(order) => to.iter_mut().zip(order).for_each(|(to, at)| *to = at.get() as i64),
            // Elements without leaves are all equal.
            None => to.iter_mut().enumerate().for_each(|(k, to)| *to = k as i64),
        }
        Ok(())
    }

    /// The positions in the order of a leaf; of equal leaves in the order given.
    fn by_leaf<T: Sorted, A: At>(&self, values: &[T], order: Option<Vec<A>>) -> Result<Vec<A>, Stop> {
        let values = &values[self.start..self.start + self.row];
        let mut items: Vec<Item<T::Key, A>> = self.memory()?;
        let tasks: Vec<_> = items.chunks_mut(PIECE).enumerate().collect();
        self.cx.tasks(
            self.parallel,
            tasks,
            || (),
            |(), (task, items)| {
                let from = task * PIECE;
                for (k, item) in items.iter_mut().enumerate() {
                    let at = order.as_ref().map_or(A::of(from + k), |o| o[from + k]);
                    *item = Item { key: values[at.get()].key(), at };
                }
                Ok(())
            },
        )?;
        let sorted = radix::sort(items, self.memory()?, self.parallel, self.cx)?;
        Ok(sorted.into_iter().map(|i| i.at).collect())
    }

    fn memory<T: Copy + Default>(&self) -> Result<Vec<T>, Stop> {
        let mut items = Vec::new();
        items.try_reserve_exact(self.row).map_err(|e| {
            let message = format!("no memory to sort {} elements: {e}", self.row);
            Stop::Error(Error::Backend { backend: crate::NAME, message })
        })?;
        items.resize(self.row, T::default());
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::Prim;

    /// Keys order values as the language does.
    fn same_order<T: Sorted + Prim + std::fmt::Debug>(values: &[T])
    where
        T::Key: Ord,
    {
        for a in values {
            for b in values {
                assert_eq!(a.key().cmp(&b.key()), a.lit().sort_key().cmp(&b.lit().sort_key()), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn keys_sort_as_values_do() {
        let f = [0.0, -0.0, 1.0, -1.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 1e-45];
        same_order(&f);
        same_order(&f.map(f64::from));
        same_order(&f.map(f16::from_f32));
        same_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        same_order(&[i16::MIN, -1, 0, 1, i16::MAX]);
        same_order(&[i32::MIN, -1, 0, 1, i32::MAX]);
        same_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        same_order(&[0, 1, u8::MAX]);
        same_order(&[0, 1, u16::MAX]);
        same_order(&[0, 1, u32::MAX]);
        same_order(&[0, 1, u64::MAX]);
        same_order(&[false, true]);
        same_order(&['\0', 'a', char::MAX]);
    }
}
