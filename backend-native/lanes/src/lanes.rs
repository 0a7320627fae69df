//! Lane buffers: the values of one scalar variable for the lanes of a tile.

use crate::all_types;
use crate::memory::{AlignedVec, OutSlice};
use acc_core::data::{ColumnElt, ColumnSlice, Prim, ScalarType};
use half::f16;
use std::ops::Range;

/// Collects the numbers of the lanes with a flag, without branches, which would be mispredicted.
pub fn chosen(flags: impl ExactSizeIterator<Item = bool>, list: &mut Vec<u32>) {
    list.clear();
    list.resize(flags.len(), 0);
    let mut n = 0;
    for (k, flag) in (0..).zip(flags) {
        if let Some(place) = list.get_mut(n) {
            *place = k;
        }
        n += usize::from(flag);
    }
    list.truncate(n);
}

#[inline(always)]
fn count_impl(a: &[bool], b: &[bool]) -> usize {
    // In pieces whose counts fit into bytes.
    let pieces = a.chunks(128).zip(b.chunks(128));
    let of = |(a, b): (&[bool], &[bool])| a.iter().zip(b).map(|(a, b)| u8::from(a & b)).sum::<u8>();
    pieces.map(|piece| usize::from(of(piece))).sum()
}

crate::multiversion!(
    /// How many lanes have both flags.
    count, count_impl, (a: &[bool], b: &[bool]) -> usize
);

/// How many flags are not 0.
pub fn count_kept(flags: &[u8]) -> usize {
    // As above.
    flags.chunks(128).map(|piece| usize::from(piece.iter().map(|f| u8::from(*f != 0)).sum::<u8>())).sum()
}

/// Flags that are tested at once for lanes that leave a loop, which few do at a time.
const FLAGS_PER_LOOK: usize = 64;

/// So many lanes from `first` on.
#[inline(always)]
fn leave_some(alive: &mut [bool; FLAGS_PER_LOOK], cond: &[bool; FLAGS_PER_LOOK], first: u32, list: &mut Vec<u32>) {
    let gone: [u8; FLAGS_PER_LOOK] = std::array::from_fn(|k| u8::from(alive[k] & !cond[k]));
    if gone.iter().fold(0, |any, gone| any | gone) == 0 {
        return;
    }
    for (flags, first) in gone.as_chunks().0.iter().zip((first..).step_by(8)) {
        let mut flags = u64::from_le_bytes(*flags);
        while flags != 0 {
            list.push(first + flags.trailing_zeros() / 8);
            flags &= flags - 1;
        }
    }
    *alive = std::array::from_fn(|k| alive[k] & cond[k]);
}

#[inline(always)]
fn leave_impl(alive: &mut [bool], cond: &[bool], list: &mut Vec<u32>) {
    list.clear();
    // Of a buffer, which may have more lanes.
    let (conds, rest_conds) = cond[..alive.len().min(cond.len())].as_chunks();
    let (all, rest) = alive.as_chunks_mut();
    for ((alive, cond), first) in all.iter_mut().zip(conds).zip((0..).step_by(FLAGS_PER_LOOK)) {
        leave_some(alive, cond, first, list);
    }
    let n = rest.len().min(rest_conds.len());
    if n > 0 {
        let (mut alive, mut cond) = ([false; FLAGS_PER_LOOK], [false; FLAGS_PER_LOOK]);
        alive[..n].copy_from_slice(&rest[..n]);
        cond[..n].copy_from_slice(&rest_conds[..n]);
        leave_some(&mut alive, &cond, (all.len() * FLAGS_PER_LOOK) as u32, list);
        rest[..n].copy_from_slice(&alive[..n]);
    }
}

crate::multiversion!(
    /// Collects the numbers of the lanes that are alive and whose condition is false, and marks them dead.
    leave, leave_impl, (alive: &mut [bool], cond: &[bool], list: &mut Vec<u32>) -> ()
);

/// Scalars as lanes.
pub trait Lane: Prim + ColumnElt + Default + PartialEq + PartialOrd + Send + Sync {
    /// The lanes, if they have this type; none otherwise.
    fn of(lanes: &Lanes) -> &[Self];
    /// The lanes, if they have this type; none otherwise.
    fn of_mut(lanes: &mut Lanes) -> &mut [Self];
    /// A slice of this type, if it is one; empty otherwise.
    fn of_slice_or_empty(slice: ColumnSlice<'_>) -> &[Self] {
        <Self as ColumnElt>::of_slice(slice).unwrap_or(&[])
    }
}

macro_rules! lanes {
    ($(($V:ident, $t:ty)),*) => {
        /// The lanes of one variable.
        #[derive(Clone, Debug)]
        pub enum Lanes { $(#[doc = concat!("Of `", stringify!($t), "`.")] $V(AlignedVec<$t>)),* }

        impl Lanes {
            /// `n` lanes of zero.
            pub fn new(ty: ScalarType, n: usize) -> Lanes {
                match ty { $(ScalarType::$V => Lanes::$V(AlignedVec::new(n))),* }
            }
            /// The first `n` lanes.
            #[inline]
            pub fn slice(&self, n: usize) -> ColumnSlice<'_> {
                match self { $(Lanes::$V(v) => ColumnSlice::$V(&v[..n.min(v.len())])),* }
            }
            /// Sets the first `n` lanes to one value.
            pub fn fill(&mut self, n: usize, bits: u64) {
                match self { $(Lanes::$V(v) => {
                    let n = n.min(v.len());
                    v[..n].fill(<$t>::from_bits64(bits))
                }),* }
            }
            /// Moves some lanes to the start.
            pub fn move_to_start(&mut self, some: Range<usize>) {
                match self { $(Lanes::$V(v) => v.copy_within(some, 0)),* }
            }
            /// All lanes, to write.
            #[inline]
            pub fn out(&mut self) -> OutSlice<'_> {
                match self { $(Lanes::$V(v) => OutSlice::$V(v)),* }
            }
        }

        impl Default for Lanes {
            fn default() -> Self {
                Lanes::Bool(AlignedVec::default())
            }
        }

        $(impl Lane for $t {
            fn of(lanes: &Lanes) -> &[$t] {
                match lanes { Lanes::$V(v) => v, _ => &[] }
            }
            fn of_mut(lanes: &mut Lanes) -> &mut [$t] {
                match lanes { Lanes::$V(v) => v, _ => &mut [] }
            }
        })*

        /// A prefix of a slice.
        #[inline]
        pub fn prefix(s: ColumnSlice<'_>, n: usize) -> ColumnSlice<'_> {
            match s { $(ColumnSlice::$V(v) => ColumnSlice::$V(&v[..n.min(v.len())])),* }
        }

        /// A part of a slice; empty if out of bounds.
        pub fn part(s: ColumnSlice<'_>, start: usize, n: usize) -> ColumnSlice<'_> {
            match s { $(ColumnSlice::$V(v) => ColumnSlice::$V(v.get(start..start + n).unwrap_or(&[]))),* }
        }

        /// Copies `from` to the start of `to`.
        pub fn copy(from: ColumnSlice<'_>, to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    let n = f.len().min(t.len());
                    t[..n].copy_from_slice(&f[..n]);
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[k] = from[list[k]]`.
        pub fn gather(from: ColumnSlice<'_>, list: &[u32], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (t, &k) in t.iter_mut().zip(list) { *t = f[k as usize]; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[targets[k]] = from[list[k]]`.
        pub fn move_lanes(from: ColumnSlice<'_>, list: &[u32], targets: &[u32], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (&k, &j) in list.iter().zip(targets) { t[j as usize] = f[k as usize]; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[targets[k]] = from[0]`.
        pub fn spread(from: ColumnSlice<'_>, targets: &[u32], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    if let Some(&x) = f.first() {
                        for &j in targets { t[j as usize] = x; }
                    }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `lanes[k] = lanes[list[k]]`, the list ascending.
        pub fn squeeze(lanes: OutSlice<'_>, list: &[u32]) {
            match lanes {
                $(OutSlice::$V(t) => {
                    for (k, &j) in list.iter().enumerate() { t[k] = t[j as usize]; }
                })*
            }
        }

        /// `to[list[k]] = from[k]`.
        pub fn scatter(from: ColumnSlice<'_>, list: &[u32], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (f, &k) in f.iter().zip(list) { t[k as usize] = *f; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[k] = from[start + k * step]` for `n` values. Positions are in bounds.
        pub fn strided(from: ColumnSlice<'_>, start: usize, step: isize, n: usize, to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => match step {
                    0 => t[..n].fill(f[start]),
                    1 => t[..n].copy_from_slice(&f[start..start + n]),
                    _ => {
                        let mut at = start;
                        for t in &mut t[..n] {
                            *t = f[at];
                            at = at.wrapping_add_signed(step);
                        }
                    }
                },)*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[start + k * step] = from[k]` for all of `from`. Positions are in bounds.
        pub fn store_strided(from: ColumnSlice<'_>, to: OutSlice<'_>, start: usize, step: usize) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (x, t) in f.iter().zip(t[start..].iter_mut().step_by(step.max(1))) { *t = *x; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[k] = from[k - by]` for the lanes `k` except the first `by` of each group of `group` lanes.
        pub fn copy_within_groups(from: ColumnSlice<'_>, by: usize, group: usize, to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (f, t) in f.chunks(group).zip(t.chunks_mut(group)) {
                        for (f, t) in f.iter().zip(t.iter_mut().skip(by)) { *t = *f; }
                    }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[k] = from[k / times]`.
        pub fn repeat_each(from: ColumnSlice<'_>, times: usize, to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (f, t) in f.iter().zip(t.chunks_mut(times)) { t.fill(*f); }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[k] = from[at[k]]`. Positions are in bounds.
        pub fn gather_at(from: ColumnSlice<'_>, at: &[usize], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (t, &k) in t.iter_mut().zip(at) { *t = f[k]; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// The first `n` lanes of `to` become `from[at]`, which is in bounds.
        pub fn fill_from(from: ColumnSlice<'_>, at: usize, n: usize, to: &mut Lanes) {
            match (from, to) {
                $((ColumnSlice::$V(f), Lanes::$V(t)) => t[..n].fill(f[at]),)*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// `to[at[k]] = from[k]`. Positions are in bounds.
        pub fn scatter_at(from: ColumnSlice<'_>, at: &[usize], to: OutSlice<'_>) {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    for (f, &k) in f.iter().zip(at) { t[k] = *f; }
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        }

        /// Copies `from` to the start of `to`.
        pub fn copy_out(from: OutSlice<'_>, to: OutSlice<'_>) {
            match from { $(OutSlice::$V(f) => copy(ColumnSlice::$V(f), to)),* }
        }

        /// Sets every value.
        pub fn fill(out: OutSlice<'_>, bits: u64) {
            match out { $(OutSlice::$V(t) => t.fill(<$t>::from_bits64(bits))),* }
        }

        /// Sets the values, as long as there are any.
        pub fn fill_each<'b>(out: OutSlice<'_>, bits: impl Iterator<Item = &'b u64>) {
            match out { $(OutSlice::$V(t) => t.iter_mut().zip(bits).for_each(|(t, &bits)| *t = <$t>::from_bits64(bits))),* }
        }

        /// Sets the first value.
        pub fn fill_first(out: OutSlice<'_>, bits: u64) {
            match out { $(OutSlice::$V(t) => if let Some(t) = t.first_mut() { *t = <$t>::from_bits64(bits) }),* }
        }

        /// Reverses the order.
        pub fn reverse(out: OutSlice<'_>) {
            match out { $(OutSlice::$V(t) => t.reverse()),* }
        }

        /// Sets one lane, if it exists.
        pub fn set(lanes: &mut Lanes, at: usize, bits: u64) {
            match lanes { $(Lanes::$V(t) => if let Some(t) = t.get_mut(at) { *t = <$t>::from_bits64(bits) }),* }
        }

        /// Copies lane `from` to lane `to`.
        pub fn squeeze_one(lanes: &mut Lanes, from: usize, to: usize) {
            match lanes { $(Lanes::$V(t) => t[to] = t[from]),* }
        }

        /// The bits of the first lane, 0 if there is none.
        #[inline]
        pub fn first_bits(s: ColumnSlice<'_>) -> u64 {
            match s { $(ColumnSlice::$V(v) => v.first().map_or(0, |x| x.to_bits64())),* }
        }
    };
}
all_types!(lanes);

#[cfg(test)]
mod tests {
    use super::leave;

    #[test]
    fn lanes_leave_once() {
        for n in [0, 1, 7, 63, 64, 65, 200] {
            let mut alive: Vec<bool> = (0..n).map(|k| k % 5 != 1).collect();
            // A buffer with more lanes.
            let cond: Vec<bool> = (0..256).map(|k| k % 3 != 0 || k / 64 == 1).collect();
            let gone: Vec<u32> = (0..n as u32).filter(|&k| alive[k as usize] && !cond[k as usize]).collect();
            let left: Vec<bool> = (0..n).map(|k| alive[k] && cond[k]).collect();
            let mut list = vec![9];
            leave(&mut alive, &cond, &mut list);
            assert_eq!((list, alive), (gone, left), "{n} lanes");
        }
    }
}
