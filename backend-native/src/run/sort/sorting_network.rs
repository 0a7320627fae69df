//! Sorting networks for short rows: each lane of a vector sorts one row, by the same sequence of compare-exchange
//! operations.
//!
//! The network is Batcher's merge exchange (D. Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M),
//! which works for any number of items. It is not stable: items that compare equal must be indistinguishable.

use crate::tile::access::transposed_load::{SQUARE, square};
use backend_native_lanes::multiversion;

/// The most rows that are sorted at once.
pub(super) const MAX_NETWORK_ROWS: usize = 16;
/// Bytes of columns up to which a network is faster than radix sort.
const MAX_NETWORK_BYTES: usize = 1 << 16;

/// An item of each row: one or two vectors.
pub(super) trait Column: Copy + Send {
    type Item: Copy + Send;
    /// The number of rows.
    const LANES: usize;
    const EMPTY: Self;

    /// Sorts up to [`LANES`](Column::LANES) rows of `row` items each, in as many columns.
    fn sort(items: &mut [Self::Item], row: usize, columns: &mut [Self]);
}

/// One word per row: a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line<T, const LANES: usize>([T; LANES]);

macro_rules! words {
    ($($T:ty, $lanes:literal, $sort:ident, $impl:ident;)*) => { $(
        impl Column for Line<$T, $lanes> {
            type Item = $T;
            const LANES: usize = $lanes;
            const EMPTY: Self = Line([0; $lanes]);

            fn sort(items: &mut [$T], row: usize, columns: &mut [Self]) {
                $sort(items, row, columns);
            }
        }

        #[inline(always)]
        fn $impl(items: &mut [$T], row: usize, columns: &mut [Line<$T, $lanes>]) {
            to_columns(items, row, columns);
            merge_exchange(columns, |Line(a), Line(b)| {
                for (a, b) in a.iter_mut().zip(b) {
                    (*a, *b) = ((*a).min(*b), (*a).max(*b));
                }
            });
            to_rows(columns, row, items);
        }

        multiversion!($sort, $impl, (items: &mut [$T], row: usize, columns: &mut [Line<$T, $lanes>]) -> ());
    )* };
}
words! {
    u32, 16, sort_u32, sort_u32_impl;
    u64, 8, sort_u64, sort_u64_impl;
}

/// Two words per row, compared lexicographically.
#[derive(Clone, Copy)]
pub(super) struct Double {
    first: Line<u64, 8>,
    second: Line<u64, 8>,
}

impl Double {
    #[inline(always)]
    fn get(&self, lane: usize) -> [u64; 2] {
        [self.first.0[lane], self.second.0[lane]]
    }
    #[inline(always)]
    fn set(&mut self, lane: usize, [first, second]: [u64; 2]) {
        (self.first.0[lane], self.second.0[lane]) = (first, second);
    }
}

impl Column for Double {
    type Item = [u64; 2];
    const LANES: usize = 8;
    const EMPTY: Double = Double { first: Line([0; 8]), second: Line([0; 8]) };

    fn sort(items: &mut [[u64; 2]], row: usize, columns: &mut [Double]) {
        sort_double(items, row, columns);
    }
}

#[inline(always)]
fn sort_double_impl(items: &mut [[u64; 2]], row: usize, columns: &mut [Double]) {
    for (lane, items) in items.chunks(row).enumerate() {
        columns.iter_mut().zip(items).for_each(|(column, item)| column.set(lane, *item));
    }
    merge_exchange(columns, |a, b| {
        for lane in 0..Double::LANES {
            let ([a1, a2], [b1, b2]) = (a.get(lane), b.get(lane));
            let swap = (a1 > b1) | ((a1 == b1) & (a2 > b2));
            a.set(lane, if swap { [b1, b2] } else { [a1, a2] });
            b.set(lane, if swap { [a1, a2] } else { [b1, b2] });
        }
    });
    for (lane, items) in items.chunks_mut(row).enumerate() {
        columns.iter().zip(items).for_each(|(column, item)| *item = column.get(lane));
    }
}
multiversion!(sort_double, sort_double_impl, (items: &mut [[u64; 2]], row: usize, columns: &mut [Double]) -> ());

/// Transposes rows to columns, in whole squares where possible.
#[inline(always)]
fn to_columns<T: Copy, const LANES: usize>(items: &[T], row: usize, columns: &mut [Line<T, LANES>]) {
    let rows = items.len() / row;
    for lane in (0..rows).step_by(SQUARE) {
        for at in (0..row).step_by(SQUARE) {
            let (lanes, columns) = (lane..rows.min(lane + SQUARE), &mut columns[at..row.min(at + SQUARE)]);
            let whole = lanes.len() == SQUARE && columns.len() == SQUARE;
            match square(|k| items.get((lane + k) * row + at..)?.first_chunk()).filter(|_| whole) {
                Some(transposed) => {
                    columns.iter_mut().zip(&transposed).for_each(|(c, t)| c.0[lanes.clone()].copy_from_slice(t))
                }
                None => (at..).zip(columns).for_each(|(at, column)| {
                    lanes.clone().for_each(|lane| column.0[lane] = items[lane * row + at]);
                }),
            }
        }
    }
}

/// Transposes columns back to rows.
#[inline(always)]
fn to_rows<T: Copy, const LANES: usize>(columns: &[Line<T, LANES>], row: usize, items: &mut [T]) {
    let rows = items.len() / row;
    for lane in (0..rows).step_by(SQUARE) {
        for at in (0..row).step_by(SQUARE) {
            let (lanes, ats) = (lane..rows.min(lane + SQUARE), at..row.min(at + SQUARE));
            let whole = lanes.len() == SQUARE && ats.len() == SQUARE;
            match square(|k| columns.get(at + k)?.0.get(lane..)?.first_chunk()).filter(|_| whole) {
                Some(transposed) => lanes.zip(&transposed).for_each(|(lane, transposed)| {
                    items[lane * row..][ats.clone()].copy_from_slice(transposed);
                }),
                None => lanes.for_each(|lane| {
                    ats.clone().for_each(|at| items[lane * row + at] = columns[at].0[lane]);
                }),
            }
        }
    }
}

/// Sorts columns by compare-exchange operations, after which the first column holds the lesser item of each lane.
#[inline(always)]
fn merge_exchange<C>(columns: &mut [C], exchange: impl Fn(&mut C, &mut C)) {
    let n = columns.len();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            match p {
                1 => exchange_all::<C, 1>(columns, r, d, &exchange),
                2 => exchange_all::<C, 2>(columns, r, d, &exchange),
                _ => (r..n - d).step_by(2 * p).for_each(|start| {
                    let (lower, upper) = columns[start..].split_at_mut(d);
                    for (a, b) in lower.iter_mut().zip(upper).take(p) {
                        exchange(a, b);
                    }
                }),
            }
            if q == p {
                break;
            }
            d = q - p;
            q /= 2;
            r = p;
        }
        p /= 2;
    }
}

/// Compare-exchanges columns `i` and `i + d` for runs of `P` consecutive `i` from `r` on: all `i` whose bit `P` equals
/// that of `r`.
#[inline(always)]
fn exchange_all<C, const P: usize>(columns: &mut [C], r: usize, d: usize, exchange: &impl Fn(&mut C, &mut C)) {
    let mut rest = &mut columns[r..];
    while let Some((lower, upper)) = rest.split_at_mut_checked(d) {
        if let (Some(lower), Some(upper)) = (lower.first_chunk_mut::<P>(), upper.first_chunk_mut::<P>()) {
            for k in 0..P {
                exchange(&mut lower[k], &mut upper[k]);
            }
        } else {
            lower.iter_mut().zip(upper).for_each(|(a, b)| exchange(a, b));
        }
        rest = rest.get_mut(2 * P..).unwrap_or_default();
    }
}

/// Whether `rows` rows of `row` items are sorted by a network.
pub(super) fn suits<C: Column>(row: usize, rows: usize) -> bool {
    rows >= C::LANES / 2 && row * size_of::<C>() <= MAX_NETWORK_BYTES
}

/// Memory of a thread to sort rows in.
pub(super) struct SortingNetwork<C: Column> {
    pub items: Vec<C::Item>,
    columns: Vec<C>,
}

impl<C: Column> SortingNetwork<C> {
    pub(super) fn new() -> SortingNetwork<C> {
        SortingNetwork { items: Vec::new(), columns: Vec::new() }
    }

    /// Sorts the rows of the items, at most [`Column::LANES`].
    pub(super) fn sort(&mut self, row: usize) {
        self.columns.resize(self.columns.len().max(row), C::EMPTY);
        C::sort(&mut self.items, row, &mut self.columns[..row]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<C: Column<Item: Ord + std::fmt::Debug>>(of: impl Fn(u64) -> C::Item) {
        for row in [1, 2, 3, 7, 8, 9, 16, 31, 64, 100, 127, 128, 200] {
            for rows in [1, C::LANES / 2, C::LANES - 1, C::LANES] {
                let mut network = SortingNetwork::<C>::new();
                network.items.extend((0..(row * rows) as u64).map(|k| of(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20)));
                let mut want = network.items.clone();
                want.chunks_mut(row).for_each(<[_]>::sort);
                network.sort(row);
                assert_eq!(network.items, want, "{rows} rows of {row}");
            }
        }
    }

    #[test]
    fn rows_of_any_length_are_sorted() {
        sorted::<Line<u32, 16>>(|k| k as u32);
        sorted::<Line<u32, 16>>(|k| k as u32 % 5);
        sorted::<Line<u64, 8>>(|k| k);
        sorted::<Double>(|k| [k % 3, k]);
        sorted::<Double>(|k| [u64::MAX - k, k]);
    }
}
