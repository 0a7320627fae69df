//! Stable sorting of rows: the permutation that sorts them, and the sorted elements.
//!
//! Rows are sorted by [`radix`] sort: long ones each by all threads, others each by one thread; many short ones by a
//! [`sorting_network`]. Elements of one leaf are sorted directly. For others, positions are sorted: by a combined key
//! of all leaves if it has at most 64 bits, else by one leaf after the other, the least significant one first; with the key
//! in one word if the bits in which keys differ leave room for it. Where a few elements of each row are wanted, these are found
//! without a sort ([`selection`]).

mod keys;
mod radix;
mod selection;
mod sorting_network;
mod write_combining;

use crate::buffer::{Buffer, OutSlice, PoolElt};
use crate::run::launch::lists::collected;
use crate::run::launch::{Columns, Context, Piece, finish, pieces};
use crate::tile::machine::Stop;
use acc_core::Error;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use acc_desugar::fuse::End;
use backend_native_lanes::all_types;
use half::f16;
use keys::{Key, OneWord, Pairing, TwoWords, append, bits, keys};
use radix::{ITEMS_PER_POLL, KeyBits, Local, Sink, Sort, Stay};
use sorting_network::{Column as _, SortingNetwork};

/// Elements of rows that a task sorts.
const TASK_ELEMENTS: usize = 1 << 14;
/// The cost of sorting an element, in vectorised additions.
const ELEMENT_COST: usize = 256;

/// The sorted rows of an array, given by its columns and extents.
pub(super) fn sorted(columns: &[ColumnSlice<'_>], shape: &[usize], cx: Context<'_>) -> Result<Columns, Error> {
    let rows = Rows::new(shape, cx);
    if let [values] = columns {
        macro_rules! typed {
            ($(($V:ident, $t:ty)),*) => { match values { $(ColumnSlice::$V(values) => rows.values::<$t>(values),)* } };
        }
        return Ok(Columns::from_iter([all_types!(typed).map_err(stopped)?]));
    }
    let order = rows.order(columns).map_err(stopped)?;
    rows.gather(columns, order.slice())
}

/// The permutation that sorts each row of an array, given by its columns and extents.
pub(super) fn argsort(columns: &[ColumnSlice<'_>], shape: &[usize], cx: Context<'_>) -> Result<Columns, Error> {
    let order = Rows::new(shape, cx).order(columns).map_err(stopped)?;
    Ok(Columns::from_iter([i64::column(order)]))
}

/// Of the permutation that sorts each row of an array, given by its columns and extents, so many elements at an end of each row.
/// The others are not defined.
pub(super) fn selected(
    columns: &[ColumnSlice<'_>],
    shape: &[usize],
    part: (End, usize),
    cx: Context<'_>,
) -> Result<Columns, Error> {
    let order = Rows::new(shape, cx).selected(columns, part).map_err(stopped)?;
    Ok(Columns::from_iter([i64::column(order)]))
}

/// A sort demands no arrays.
fn stopped(stop: Stop) -> Error {
    match stop {
        Stop::Error(e) => e,
        Stop::Fault(..) | Stop::Demand(_) => crate::run::defect("a sort that stops".into()),
    }
}

/// The rows of an array.
struct Rows<'a> {
    cx: Context<'a>,
    /// The number of elements of all rows, and of one.
    count: usize,
    row: usize,
    /// Elements (of whole rows) of a task, if one thread sorts a row.
    task: usize,
    parallel: bool,
}

impl<'a> Rows<'a> {
    fn new(shape: &[usize], cx: Context<'a>) -> Rows<'a> {
        let count: usize = shape.iter().product();
        let row = shape.last().copied().unwrap_or(0).max(1);
        let rows = (TASK_ELEMENTS / row).max(1);
        let task = if rows < sorting_network::MAX_NETWORK_ROWS {
            rows
        } else {
            rows - rows % sorting_network::MAX_NETWORK_ROWS
        } * row;
        Rows { cx, count, row, task, parallel: cx.parallel(count, ELEMENT_COST) }
    }

    /// Allocates `n` scalars.
    fn memory<T: PoolElt>(&self, n: usize) -> Result<Buffer<T>, Stop> {
        self.cx.memory.take(n, self.cx.meter).map_err(Stop::Error)
    }

    /// Sorted values.
    fn values<T: Key>(&self, values: &[T]) -> Result<Column, Stop> {
        let mut out = self.memory(self.count)?;
        let to = out.slice_mut();
        if radix::is_local::<T>(self.row) {
            let tasks = collected(to.chunks_mut(self.task).zip(values.chunks(self.task)))?;
            let sort = |(network, local): &mut (SortingNetwork<T::Column>, Local<T>),
                        (to, values): (&mut [T], &[T])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                let some = self.row * T::Column::LANES;
                for (to, values) in to.chunks_mut(some).zip(values.chunks(some)) {
                    let suits = sorting_network::suits::<T::Column>(self.row, values.len() / self.row);
                    if suits && T::to_keys(values, &mut network.items) {
                        network.sort(self.row);
                        T::of_keys(&network.items, to);
                        continue;
                    }
                    to.copy_from_slice(values);
                    for row in to.chunks_mut(self.row) {
                        let differing = radix::differing(row.iter().map(|v| v.sort_key()));
                        local.sort(row, T::sort_key, differing);
                    }
                }
                Ok(())
            };
            self.cx.tasks(self.parallel, tasks, || (SortingNetwork::new(), Local::new()), sort)?;
            return Ok(T::column(out));
        }
        let mut spare = self.memory(self.row)?;
        for (values, to) in values.chunks(self.row).zip(to.chunks_mut(self.row)) {
            let sort = Sort { cx: self.cx, parallel: self.parallel, key: T::sort_key };
            match sort.distribute(|k| values[k], KeyBits::at_most(T::KEY_BITS), to)? {
                None => self.copied(values, to)?,
                Some(distributed) => sort.finish(&distributed, to, spare.slice_mut(), Stay::HERE)?,
            }
        }
        Ok(T::column(out))
    }

    /// The permutation that sorts rows.
    fn order(&self, columns: &[ColumnSlice<'_>]) -> Result<Buffer<i64>, Stop> {
        let mut out = self.memory(self.count)?;
        let order = out.slice_mut();
        let keys = keys(columns);
        if keys.is_empty() {
            self.positions(order)?;
        }
        for (pass, leaves) in keys.into_iter().rev().enumerate() {
            let is_first = pass == 0;
            let bits = leaves.iter().map(|c| bits(*c)).sum();
            if let [values] = leaves {
                macro_rules! typed {
                    ($(($V:ident, $t:ty)),*) => {
                        match values { $(ColumnSlice::$V(values) => self.by_key(bits, &|k| values[k].sort_key(), is_first, order),)* }
                    };
                }
                all_types!(typed)?;
            } else {
                let keys = self.packed(leaves)?;
                let keys = keys.slice();
                self.by_key(bits, &|k| keys[k], is_first, order)?;
            }
        }
        Ok(out)
    }

    /// Copies elements on all threads.
    fn copied<T: Copy + Send + Sync>(&self, from: &[T], to: &mut [T]) -> Result<(), Stop> {
        let tasks = collected(to.chunks_mut(ITEMS_PER_POLL).zip(from.chunks(ITEMS_PER_POLL)))?;
        self.cx.tasks(
            self.parallel,
            tasks,
            || (),
            |(): &mut (), (to, from): (&mut [T], &[T])| {
                to.copy_from_slice(from);
                self.cx.limits.check().map_err(Stop::Error)
            },
        )
    }

    /// Writes the identity permutation of each row.
    fn positions(&self, order: &mut [i64]) -> Result<(), Stop> {
        // Whole rows, or parts of one.
        let len = if self.row < ITEMS_PER_POLL { ITEMS_PER_POLL - ITEMS_PER_POLL % self.row } else { ITEMS_PER_POLL };
        let tasks = collected(order.chunks_mut(len).enumerate())?;
        self.cx.tasks(
            self.parallel,
            tasks,
            || (),
            |(): &mut (), (task, mut order): (usize, &mut [i64])| {
                let mut at = task * len % self.row;
                while !order.is_empty() {
                    let (row, rest) = order.split_at_mut(order.len().min(self.row - at));
                    row.iter_mut().zip(at as i64..).for_each(|(to, k)| *to = k);
                    (order, at) = (rest, 0);
                }
                self.cx.limits.check().map_err(Stop::Error)
            },
        )
    }

    /// Combined keys of several leaves.
    fn packed(&self, leaves: &[ColumnSlice<'_>]) -> Result<Buffer<u64>, Stop> {
        let mut out = self.memory(self.count)?;
        let tasks = collected(out.slice_mut().chunks_mut(TASK_ELEMENTS).enumerate())?;
        let pack = |(): &mut (), (chunk, keys): (usize, &mut [u64])| {
            self.cx.limits.check().map_err(Stop::Error)?;
            keys.fill(0);
            for leaf in leaves {
                macro_rules! typed {
                    ($(($V:ident, $t:ty)),*) => {
                        match leaf { $(ColumnSlice::$V(values) => append(keys, &values[chunk * TASK_ELEMENTS..]),)* }
                    };
                }
                all_types!(typed);
            }
            Ok(())
        };
        self.cx.tasks(self.parallel, tasks, || (), pack)?;
        Ok(out)
    }

    /// Sorts positions by keys of so many bits; equal keys keep their order. What `order` holds before does not matter to the first
    /// of several sorts.
    fn by_key(
        &self,
        bits: u32,
        key: &(impl Fn(usize) -> u64 + Sync),
        is_first: bool,
        order: &mut [i64],
    ) -> Result<(), Stop> {
        let position_bits = radix::width(self.row as u64 - 1);
        let mut bits = KeyBits::at_most(bits);
        if bits.count + position_bits > u64::BITS {
            bits = KeyBits::exactly(radix::differing_bits(self.cx, self.parallel, self.count, key)?);
        }
        if bits.count + position_bits <= u64::BITS {
            self.by_pairs(OneWord { position_bits }, |words| words, bits, key, is_first, order)
        } else {
            self.by_pairs(TwoWords, |words| words.as_chunks_mut::<2>().0, bits, key, is_first, order)
        }
    }

    fn by_pairs<P: Pairing>(
        &self,
        pairing: P,
        items_of: impl Fn(&mut [u64]) -> &mut [P::Item],
        bits: KeyBits,
        key: &(impl Fn(usize) -> u64 + Sync),
        is_first: bool,
        order: &mut [i64],
    ) -> Result<(), Stop> {
        // The item at a place of a row that begins at `start` and whose positions have this order.
        let item = |start: usize, order: &[i64], k: usize| {
            let position = if is_first { k } else { order[k] as usize };
            pairing.pair(key(start + position), position as u64)
        };
        if radix::is_local::<P::Item>(self.row) {
            let tasks = collected(order.chunks_mut(self.task).enumerate())?;
            let some = self.row * P::Column::LANES;
            let sort = |(network, local, items): &mut (SortingNetwork<P::Column>, Local<P::Item>, Vec<P::Item>),
                        (task, order): (usize, &mut [i64])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                for (order, start) in order.chunks_mut(some).zip((task * self.task..).step_by(some)) {
                    // While positions are ascending they distinguish equal keys.
                    if is_first && sorting_network::suits::<P::Column>(self.row, order.len() / self.row) {
                        let rows = (start..start + order.len()).step_by(self.row);
                        network.items.clear();
                        network.items.extend(rows.flat_map(|row| (0..self.row).map(move |k| item(row, &[], k))));
                        network.sort(self.row);
                        Positions { order, pairing }.take(&network.items, &mut []);
                        continue;
                    }
                    for (order, start) in order.chunks_mut(self.row).zip((start..).step_by(self.row)) {
                        items.clear();
                        items.extend((0..order.len()).map(|k| item(start, order, k)));
                        let differing = radix::differing(items.iter().map(|i| pairing.key(*i)));
                        local.sort(items, |i| pairing.key(i), differing);
                        Positions { order, pairing }.take(items, &mut []);
                    }
                }
                Ok(())
            };
            return self.cx.tasks(self.parallel, tasks, || (SortingNetwork::new(), Local::new(), Vec::new()), sort);
        }
        let words = self.row * size_of::<P::Item>() / size_of::<u64>();
        let mut words = [self.memory(words)?, self.memory(words)?];
        let [items, spare] = words.each_mut().map(|w| items_of(w.slice_mut()));
        for (order, start) in order.chunks_mut(self.row).zip((0..).step_by(self.row)) {
            let before = &*order;
            let sort = Sort { cx: self.cx, parallel: self.parallel, key: |i| pairing.key(i) };
            match sort.distribute(|k| item(start, before, k), bits, items)? {
                Some(distributed) => sort.finish(&distributed, items, spare, Positions { order, pairing })?,
                None if is_first => self.positions(order)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Gathers the elements at these positions of their rows.
    fn gather(&self, columns: &[ColumnSlice<'_>], order: &[i64]) -> Result<Columns, Error> {
        let types: Vec<ScalarType> = columns.iter().map(|c| c.ty()).collect();
        let mut out = self.cx.columns(&types, self.count)?;
        let gather = |(): &mut (), mut piece: Piece<'_>| {
            self.cx.limits.check().map_err(Stop::Error)?;
            for (values, to) in columns.iter().zip(&mut piece.outs) {
                macro_rules! typed {
                    ($(($V:ident, $t:ty)),*) => {
                        match (values, to) {
                            $((ColumnSlice::$V(values), OutSlice::$V(to)) => {
                                for (k, (to, at)) in (piece.start..).zip(to.iter_mut().zip(&order[piece.start..])) {
                                    *to = values[k - k % self.row + *at as usize];
                                }
                            })*
                            _ => debug_assert!(false, "elements of another type"),
                        }
                    };
                }
                all_types!(typed);
            }
            Ok(())
        };
        let tasks = pieces(&mut out, self.count, TASK_ELEMENTS).map_err(stopped)?;
        self.cx.tasks(self.parallel, tasks, || (), gather).map_err(stopped)?;
        Ok(finish(out))
    }
}

/// Where the positions of sorted items are written, and nothing else of them.
struct Positions<'a, P> {
    order: &'a mut [i64],
    pairing: P,
}

impl<P: Pairing> Sink<P::Item> for Positions<'_, P> {
    fn split_at(self, n: usize) -> (Self, Self) {
        let (first, rest) = self.order.split_at_mut(n);
        (Positions { order: first, ..self }, Positions { order: rest, ..self })
    }
    fn swapped(self) -> Self {
        self
    }
    fn take(self, sorted: &[P::Item], _: &mut [P::Item]) {
        self.order.iter_mut().zip(sorted).for_each(|(to, i)| *to = self.pairing.position(*i) as i64);
    }
}
