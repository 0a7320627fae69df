//! Stable sorting by the bits of keys, on several threads.
//!
//! Items are distributed by the highest digit in which their keys differ (D. Knuth, The Art of Computer Programming,
//! volume 3, section 5.2.5), once through memory. What has the same digit then mostly fits into a cache, where it is
//! sorted by the lower digits from the least one on; what does not is distributed again. Positions are written from
//! there. Digits that are the same in all keys move nothing.

use super::launch::Context;
use crate::tile::machine::Stop;
use std::marker::PhantomData;

/// Bits of a digit at most.
const BITS: u32 = 11;
const DIGITS: usize = 1 << BITS;
/// Items that are sorted in a cache.
pub(super) const LOCAL: usize = 1 << 15;
/// Items up to which comparing them takes less time than counting digits.
const FEW: usize = 128;
/// Items that a task takes at least.
const TASK: usize = 1 << 16;

/// An element: its key, an unsigned number whose order is that of the values, and where it came from.
pub(super) trait Item: Copy + Send + Sync {
    fn of(key: u64, at: usize) -> Self;
    fn key(self) -> u64;
    fn at(self) -> usize;
}

/// Keys and positions of 32 bits each.
impl Item for u64 {
    fn of(key: u64, at: usize) -> u64 {
        key << 32 | at as u64
    }
    fn key(self) -> u64 {
        self >> 32
    }
    fn at(self) -> usize {
        self as u32 as usize
    }
}

impl Item for [u64; 2] {
    fn of(key: u64, at: usize) -> [u64; 2] {
        [key, at as u64]
    }
    fn key(self) -> u64 {
        self[0]
    }
    fn at(self) -> usize {
        self[1] as usize
    }
}

/// The bits in which keys differ.
pub(super) fn differing<I: Item>(mut items: impl Iterator<Item = I>) -> u64 {
    let Some(first) = items.next().map(I::key) else { return 0 };
    items.fold(0, |bits, i| bits | (i.key() ^ first))
}

/// How many bits from the lowest one on a number has.
fn width(bits: u64) -> u32 {
    u64::BITS - bits.leading_zeros()
}

/// Sorts few items on one thread.
pub(super) struct Local<I> {
    spare: Vec<I>,
    counts: Vec<u32>,
}

impl<I: Item> Local<I> {
    pub(super) fn new() -> Local<I> {
        Local { spare: Vec::new(), counts: Vec::new() }
    }

    /// The items by their keys, which are the same but for the bits of `differing`.
    pub(super) fn sort<'a>(&'a mut self, items: &'a mut [I], differing: u64) -> &'a [I] {
        if items.len() <= FEW {
            items.sort_by_key(|i| i.key());
            return items;
        }
        let (Some(&first), 1..) = (items.first(), differing) else { return items };
        let passes = width(differing).div_ceil(BITS);
        let bits = width(differing).div_ceil(passes);
        let mask = (1usize << bits) - 1;
        let digit = |i: I, pass: u32| (i.key() >> (pass * bits)) as usize & mask;
        self.counts.clear();
        self.counts.resize((passes as usize) << bits, 0);
        for &i in &*items {
            for (pass, counts) in (0..).zip(self.counts.chunks_exact_mut(mask + 1)) {
                counts[digit(i, pass)] += 1;
            }
        }
        self.spare.clear();
        self.spare.resize(items.len(), first);
        let (mut from, mut to) = (items, &mut self.spare[..]);
        for (pass, places) in (0..).zip(self.counts.chunks_exact_mut(mask + 1)) {
            if places[digit(first, pass)] as usize == from.len() {
                continue;
            }
            let mut start = 0;
            for place in &mut *places {
                start += std::mem::replace(place, start);
            }
            for &i in &*from {
                let place = &mut places[digit(i, pass)];
                to[*place as usize] = i;
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
        }
        from
    }
}

/// Sorting of more items than fit into a cache.
pub(super) struct Sort<'a> {
    pub cx: Context<'a>,
    pub parallel: bool,
}

impl Sort<'_> {
    /// Distributes `items.len()` items that `source` gives by the highest bits of `differing`, those in which keys
    /// differ; where those of each digit end.
    pub(super) fn distribute<I: Item>(
        &self,
        source: impl Fn(usize) -> I + Sync + Send,
        differing: u64,
        items: &mut [I],
    ) -> Result<Vec<usize>, Stop> {
        let n = items.len();
        let shift = width(differing).saturating_sub(BITS);
        let digit = |i: I| (i.key() >> shift) as usize & (DIGITS - 1);
        let len = if self.parallel { n.div_ceil(self.cx.threads.count() * 4).max(TASK) } else { n.max(1) };
        let mut next = vec![[0usize; DIGITS]; n.div_ceil(len)];
        let counting = next.iter_mut().enumerate().collect();
        self.cx.tasks(
            self.parallel,
            counting,
            || (),
            |(), (chunk, counts): (usize, &mut [usize; DIGITS])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                (chunk * len..n.min((chunk + 1) * len)).for_each(|k| counts[digit(source(k))] += 1);
                Ok(())
            },
        )?;
        // From counts to the place of the first item: digit by digit, and for a digit chunk by chunk.
        let mut total = 0;
        let mut ends = Vec::with_capacity(DIGITS);
        for digit in 0..DIGITS {
            for counts in &mut next {
                total += std::mem::replace(&mut counts[digit], total);
            }
            ends.push(total);
        }
        debug_assert_eq!(total, n);
        let places = Places::new(items);
        self.cx.tasks(
            self.parallel,
            next.iter_mut().enumerate().collect(),
            || &places,
            |places, (chunk, next): (usize, &mut [usize; DIGITS])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                for k in chunk * len..n.min((chunk + 1) * len) {
                    let item = source(k);
                    let at = &mut next[digit(item)];
                    // SAFETY: the items of this chunk with this digit were counted above, and the source, which is
                    // shared since, gives the same again; the places from `next` on, as many as were counted, belong to
                    // them alone, since the sums of all counts give every chunk and digit a range of its own.
                    unsafe { places.write(*at, item) };
                    *at += 1;
                }
                Ok(())
            },
        )?;
        Ok(ends)
    }

    /// Sorts what is distributed by the highest bits of `differing`, and writes where it came from; `spare` is as long.
    pub(super) fn finish<I: Item>(
        &self,
        ends: &[usize],
        differing: u64,
        mut items: &mut [I],
        mut spare: &mut [I],
        mut out: &mut [i64],
    ) -> Result<(), Stop> {
        let low = differing & ((1 << width(differing).saturating_sub(BITS)) - 1);
        let (mut small, mut large) = (Vec::new(), Vec::new());
        let mut group: Vec<(&mut [I], &mut [i64])> = Vec::new();
        let (mut start, mut grouped) = (0, 0);
        for &end in ends {
            let n = end - start;
            start = end;
            let (own, own_spare, to);
            (own, items) = std::mem::take(&mut items).split_at_mut(n);
            (own_spare, spare) = std::mem::take(&mut spare).split_at_mut(n);
            (to, out) = std::mem::take(&mut out).split_at_mut(n);
            if n > LOCAL {
                large.push((own, own_spare, to));
                continue;
            }
            if n > 0 {
                group.push((own, to));
            }
            grouped += n;
            if grouped >= TASK {
                small.push(std::mem::take(&mut group));
                grouped = 0;
            }
        }
        small.push(group);
        self.cx.tasks(self.parallel, small, Local::new, |local, group| {
            self.cx.limits.check().map_err(Stop::Error)?;
            for (items, to) in group {
                write(local.sort(items, low), to);
            }
            Ok(())
        })?;
        for (own, own_spare, to) in large {
            let rest = if low == 0 { 0 } else { self::differing(own.iter().copied()) };
            if rest == 0 {
                write(own, to);
                continue;
            }
            let ends = self.distribute(|k| own[k], rest, own_spare)?;
            acc_core::grow_stack(|| self.finish(&ends, rest, own_spare, own, to))?;
        }
        Ok(())
    }
}

/// Writes where items came from.
pub(super) fn write<I: Item>(items: &[I], to: &mut [i64]) {
    to.iter_mut().zip(items).for_each(|(to, i)| *to = i.at() as i64);
}

/// Memory that tasks write at places of their own.
struct Places<'a, T> {
    start: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: a task writes values of `T` through it, at places that no other task touches (the contract of `write`), which
// is as if each had a unique borrow of its places; `T: Send` lets values go to other threads.
unsafe impl<T: Send> Sync for Places<'_, T> {}

impl<'a, T: Copy> Places<'a, T> {
    fn new(memory: &'a mut [T]) -> Places<'a, T> {
        Places { start: memory.as_mut_ptr(), len: memory.len(), of: PhantomData }
    }

    /// Writes a value.
    ///
    /// # Safety
    /// No other thread writes to or reads from the place while `self` lives.
    unsafe fn write(&self, at: usize, value: T) {
        if at < self.len {
            // SAFETY: the place is inside of the memory that is borrowed for `'a`, and no one else uses it (the
            // contract). `T` is `Copy`, so that nothing has to be dropped.
            unsafe { self.start.add(at).write(value) }
        }
    }
}
