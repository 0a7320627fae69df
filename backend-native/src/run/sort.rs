//! Sorting rows: stable, by the leaves of their elements, the last one first.
//!
//! Rows are sorted by the digits of their keys ([`radix`](super::radix)): a long one by all threads, others by one
//! thread each. Of short ones a few make a task, which compares elements.

use super::launch::{Context, Piece, finish, pieces};
use super::radix::{self, Item, LOCAL, Local, Sort};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::tile::machine::Stop;
use crate::types::all_types;
use acc_core::Error;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use half::f16;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Rows from this length on are sorted by digits.
const LONG: usize = 1 << 9;
/// Elements of rows that a task sorts.
const CHUNK: usize = 1 << 14;
/// Cost of sorting an element, in units of one vectorised addition.
const COST: usize = 256;

/// A scalar with a key that sorts as it does: see [`Lit::sort_key`](acc_core::data::Lit::sort_key).
trait Sorted: Copy + Send + Sync {
    /// Bits of a key.
    const BITS: u32;
    fn key(self) -> u64;
}

macro_rules! integers {
    ($($t:ty: $bits:ty, $sign:expr;)*) => { $(impl Sorted for $t {
        const BITS: u32 = <$bits>::BITS;
        fn key(self) -> u64 {
            (self as $bits ^ $sign) as u64
        }
    })* };
}
integers! {
    u8: u8, 0; u16: u16, 0; u32: u32, 0; u64: u64, 0; bool: u8, 0; char: u32, 0;
    i8: u8, 1 << 7; i16: u16, 1 << 15; i32: u32, 1 << 31; i64: u64, 1 << 63;
}

macro_rules! floats {
    ($($t:ty: $bits:ty;)*) => { $(impl Sorted for $t {
        const BITS: u32 = <$bits>::BITS;
        fn key(self) -> u64 {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            // Of zeros the sum is the positive one.
            let bits = (self + <$t>::from(0i8)).to_bits();
            let key = match bits & SIGN {
                _ if self.is_nan() => <$bits>::MAX,
                0 => bits | SIGN,
                _ => !bits,
            };
            key as u64
        }
    })* };
}
floats! { f16: u16; f32: u32; f64: u64; }

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
    if row > LOCAL {
        for start in (0..count).step_by(row) {
            Long { columns, start, row, parallel, cx }.sort(&mut out).map_err(stopped)?;
        }
        return Ok(finish(out));
    }
    let rows = (CHUNK / row.max(1)).max(1);
    let tasks = pieces(&mut out, count, rows * row.max(1));
    if row >= LONG {
        let sort = |sorters: &mut Sorters, mut piece: Piece<'_>| {
            cx.limits.check().map_err(Stop::Error)?;
            for at in (0..piece.len).step_by(row) {
                let start = piece.start + at;
                if let OutSlice::I64(to) = piece.from(0, at) {
                    sorters.sort(columns, start, &mut to[..row]);
                }
            }
            Ok(())
        };
        cx.tasks(parallel, tasks, Sorters::new, sort).map_err(stopped)?;
        return Ok(finish(out));
    }
    let sort = |order: &mut Vec<(u64, u64)>, mut piece: Piece<'_>| {
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

/// What a thread sorts rows with that fit into its cache.
struct Sorters {
    narrow: (Local<u64>, Vec<u64>),
    wide: (Local<[u64; 2]>, Vec<[u64; 2]>),
}

impl Sorters {
    fn new() -> Sorters {
        Sorters { narrow: (Local::new(), Vec::new()), wide: (Local::new(), Vec::new()) }
    }

    /// Writes the positions of the sorted row from element `start` on.
    fn sort(&mut self, columns: &[ColumnSlice<'_>], start: usize, to: &mut [i64]) {
        to.iter_mut().zip(0..).for_each(|(to, k)| *to = k);
        for column in columns.iter().rev() {
            macro_rules! typed {
                ($(($V:ident, $t:ty)),*) => {
                    match column { $(ColumnSlice::$V(values) => self.by_leaf::<$t>(&values[start..][..to.len()], to)),* }
                };
            }
            all_types!(typed);
        }
    }

    /// Puts positions in the order of a leaf; those of equal leaves stay in the order given.
    fn by_leaf<T: Sorted>(&mut self, values: &[T], order: &mut [i64]) {
        let Sorters { narrow, wide } = self;
        if T::BITS <= u32::BITS { by_leaf(narrow, values, order) } else { by_leaf(wide, values, order) }
    }
}

fn by_leaf<T: Sorted, I: Item>((local, items): &mut (Local<I>, Vec<I>), values: &[T], order: &mut [i64]) {
    items.clear();
    items.extend(order.iter().map(|&at| I::of(values[at as usize].key(), at as usize)));
    let differing = radix::differing(items.iter().copied());
    radix::write(local.sort(items, differing), order);
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
    fn sort(&self, out: &mut [AnyBuffer]) -> Result<(), Stop> {
        let Some(OutSlice::I64(to)) = out.first_mut().map(AnyBuffer::as_out) else { return Ok(()) };
        let to = &mut to[self.start..self.start + self.row];
        let mut ordered = false;
        for column in self.columns.iter().rev() {
            macro_rules! typed {
                ($(($V:ident, $t:ty)),*) => {
                    match column { $(ColumnSlice::$V(values) => self.by_leaf::<$t>(values, ordered, to)?),* }
                };
            }
            ordered = all_types!(typed) || ordered;
        }
        if !ordered {
            to.iter_mut().zip(0..).for_each(|(to, k)| *to = k);
        }
        Ok(())
    }

    /// Puts positions in the order of a leaf; those of equal leaves stay in the order given, if there is one. Whether
    /// there is one now: leaves that are all equal give none.
    fn by_leaf<T: Sorted>(&self, values: &[T], ordered: bool, order: &mut [i64]) -> Result<bool, Stop> {
        let values = &values[self.start..self.start + self.row];
        let words = |n: usize| self.cx.columns(&[ScalarType::U64, ScalarType::U64], n).map_err(Stop::Error);
        if T::BITS <= u32::BITS && self.row <= u32::MAX as usize {
            let mut memory = words(self.row)?;
            let [OutSlice::U64(items), OutSlice::U64(spare)] = outs(&mut memory)? else { return Ok(ordered) };
            self.by_keys(values, ordered, order, items, spare)
        } else {
            let mut memory = words(2 * self.row)?;
            let [OutSlice::U64(items), OutSlice::U64(spare)] = outs(&mut memory)? else { return Ok(ordered) };
            self.by_keys(values, ordered, order, items.as_chunks_mut::<2>().0, spare.as_chunks_mut::<2>().0)
        }
    }

    fn by_keys<T: Sorted, I: Item>(
        &self,
        values: &[T],
        ordered: bool,
        order: &mut [i64],
        items: &mut [I],
        spare: &mut [I],
    ) -> Result<bool, Stop> {
        let mut differing = vec![0; self.row.div_ceil(CHUNK)];
        let tasks = differing.iter_mut().zip(values.chunks(CHUNK)).collect();
        let first = values.first().copied();
        self.cx.tasks(
            self.parallel,
            tasks,
            || (),
            |(), (bits, values): (&mut u64, &[T])| {
                *bits = radix::differing(first.iter().chain(values).map(|v| I::of(v.key(), 0)));
                Ok(())
            },
        )?;
        let differing = differing.into_iter().fold(0, |a, b| a | b);
        if differing == 0 {
            return Ok(ordered);
        }
        let sort = Sort { cx: self.cx, parallel: self.parallel };
        let ends = if ordered {
            let before = &*order;
            let item = |at: usize| I::of(values[at].key(), at);
            sort.distribute(|k| item(before[k] as usize), differing, items)?
        } else {
            sort.distribute(|k| I::of(values[k].key(), k), differing, items)?
        };
        sort.finish(&ends, differing, items, spare, order)?;
        Ok(true)
    }
}

/// The two columns of some memory.
fn outs(memory: &mut [AnyBuffer]) -> Result<[OutSlice<'_>; 2], Stop> {
    match memory {
        [a, b] => Ok([a.as_out(), b.as_out()]),
        _ => Err(Stop::Error(super::defect("memory of a sort".into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::Prim;

    /// Keys order values as the language does.
    fn same_order<T: Sorted + Prim + std::fmt::Debug>(values: &[T]) {
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
