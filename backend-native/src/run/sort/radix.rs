//! Stable parallel radix sort.
//!
//! Items are first distributed by the most significant digit in which their keys differ (D. Knuth, The Art of Computer
//! Programming, volume 3, section 5.2.5). The items of one digit value then mostly fit the second-level cache, where
//! they are sorted by the remaining digits, least significant first; otherwise they are distributed again. Digits that
//! are equal in all keys are skipped.

use crate::run::launch::Context;
use crate::run::launch::lists::{collected, filled};
use crate::run::sort::write_combining::{CombiningStreams, Plain, SharedMemory};
use crate::tile::machine::Stop;

/// The most bits of a digit: more digit values would exceed the first-level cache and the TLB.
const MAX_DIGIT_BITS: u32 = 11;
const DIGIT_VALUES: usize = 1 << MAX_DIGIT_BITS;
/// The average number of items per digit value in the first distribution, if there are enough items.
const ITEMS_PER_DIGIT_VALUE: usize = 1 << 13;
/// The same if nothing is to be sorted after it.
const MIN_ITEMS_PER_LAST_DIGIT_VALUE: usize = 1 << 4;
/// Bytes of items that are sorted in the second-level cache.
const MAX_LOCAL_BYTES: usize = 1 << 18;
/// The most items for which comparison sort is faster than counting digits.
const MAX_COMPARED_ITEMS: usize = 128;
/// The least items of a task.
const MIN_TASK_ITEMS: usize = 1 << 16;
/// Items that a thread counts, moves or sorts between two polls of the run's limits: 10 to 30 ms.
pub(super) const ITEMS_PER_POLL: usize = 1 << 21;
/// Bytes of items from which on they are distributed with non-temporal stores.
const MIN_STREAMED_BYTES: usize = 4 << 20;

/// Whether so many items are sorted in the cache, by one thread.
pub(super) fn is_local<I>(items: usize) -> bool {
    items * size_of::<I>() <= MAX_LOCAL_BYTES
}

/// The bits in which keys differ.
pub(super) fn differing(mut keys: impl Iterator<Item = u64>) -> u64 {
    let Some(first) = keys.next() else { return 0 };
    keys.fold(0, |bits, k| bits | (k ^ first))
}

/// The number of significant bits.
pub(super) fn width(bits: u64) -> u32 {
    u64::BITS - bits.leading_zeros()
}

/// The bits in which the keys of `n` elements differ, found by all threads.
pub(super) fn differing_bits(
    cx: Context<'_>,
    parallel: bool,
    n: usize,
    key: &(impl Fn(usize) -> u64 + Sync),
) -> Result<u64, Stop> {
    let first = if n > 0 { key(0) } else { 0 };
    let mut found = filled(0, n.div_ceil(MIN_TASK_ITEMS))?;
    let look = |(): &mut (), (task, bits): (usize, &mut u64)| {
        cx.limits.check().map_err(Stop::Error)?;
        let start = task * MIN_TASK_ITEMS;
        *bits = (start..n.min(start + MIN_TASK_ITEMS)).fold(0, |bits, k| bits | (key(k) ^ first));
        Ok(())
    };
    cx.tasks(parallel, collected(found.iter_mut().enumerate())?, || (), look)?;
    Ok(found.into_iter().fold(0, |a, b| a | b))
}

/// The low bits of keys that hold all in which they differ.
#[derive(Clone, Copy)]
pub(super) struct KeyBits {
    pub count: u32,
    /// Whether keys do differ in the highest of them.
    is_exact: bool,
}

impl KeyBits {
    pub(super) fn at_most(count: u32) -> KeyBits {
        KeyBits { count, is_exact: false }
    }

    /// Of the bits in which they differ.
    pub(super) fn exactly(differing: u64) -> KeyBits {
        KeyBits { count: width(differing), is_exact: true }
    }
}

/// What receives sorted items.
pub(super) trait Sink<I>: Sized + Send {
    /// Splits into the sinks of the first `n` items and of the rest.
    fn split_at(self, n: usize) -> (Self, Self);
    /// The sink after items and spare memory were swapped.
    fn swapped(self) -> Self;
    /// Takes all items; may use the spare memory.
    fn take(self, sorted: &[I], spare: &mut [I]);
}

/// Items are sorted in place; they end up in the memory they came from, however often they were distributed.
#[derive(Clone, Copy)]
pub(super) struct Stay {
    in_spare: bool,
}

impl Stay {
    pub(super) const HERE: Stay = Stay { in_spare: false };
}

impl<I: Plain> Sink<I> for Stay {
    fn split_at(self, _: usize) -> (Stay, Stay) {
        (self, self)
    }
    fn swapped(self) -> Stay {
        Stay { in_spare: !self.in_spare }
    }
    fn take(self, sorted: &[I], spare: &mut [I]) {
        if self.in_spare {
            spare.copy_from_slice(sorted);
        }
    }
}

/// Sorts items on one thread.
pub(super) struct Local<I> {
    spare: Vec<I>,
    counts: Vec<[u32; DIGIT_VALUES]>,
}

impl<I: Plain> Local<I> {
    pub(super) fn new() -> Local<I> {
        Local { spare: Vec::new(), counts: Vec::new() }
    }

    /// Sorts items by their keys, which differ in the bits of `differing` only.
    pub(super) fn sort(&mut self, items: &mut [I], key: impl Fn(I) -> u64, differing: u64) {
        let mut spare = std::mem::take(&mut self.spare);
        if let Some(&first) = items.first().filter(|_| items.len() > MAX_COMPARED_ITEMS) {
            spare.resize(spare.len().max(items.len()), first);
        }
        let n = items.len().min(spare.len());
        self.sort_with(items, &mut spare[..n], key, differing);
        self.spare = spare;
    }

    /// Sorts more than a few items, with spare memory of the same length.
    fn sort_with(&mut self, items: &mut [I], spare: &mut [I], key: impl Fn(I) -> u64, differing: u64) {
        let (Some(&first), width @ 1..) = (items.first(), width(differing)) else { return };
        if items.len() <= MAX_COMPARED_ITEMS {
            items.sort_by_key(|i| key(*i));
            return;
        }
        // A pass counts and moves each item, and sums the counts of each digit.
        let cost = |passes: u32| passes as usize * (2 * items.len() + (1 << width.div_ceil(passes)));
        let least = width.div_ceil(MAX_DIGIT_BITS);
        let passes = (least..=2 * least).min_by_key(|p| cost(*p)).unwrap_or(least);
        let bits = width.div_ceil(passes);
        let mask = (1usize << bits) - 1;
        let digit = |i: I, pass: u32| (key(i) >> (pass * bits)) as usize & mask & (DIGIT_VALUES - 1);
        self.counts.resize(self.counts.len().max(passes as usize), [0; DIGIT_VALUES]);
        let counts = &mut self.counts[..passes as usize];
        // Counts two digits per pass over the items: counts do not depend on the items' order.
        for (two, first) in counts.chunks_mut(2).zip((0..passes).step_by(2)) {
            two.iter_mut().for_each(|counts| counts[..=mask].fill(0));
            match two {
                [low, high] => items.iter().for_each(|i| {
                    low[digit(*i, first)] += 1;
                    high[digit(*i, first + 1)] += 1;
                }),
                [one, ..] => items.iter().for_each(|i| one[digit(*i, first)] += 1),
                [] => {}
            }
        }
        let (mut from, mut to) = (items, spare);
        let mut moved = false;
        for (pass, places) in (0..passes).zip(counts) {
            if places[digit(first, pass)] as usize == from.len() {
                continue;
            }
            let mut start = 0;
            for place in &mut places[..=mask] {
                start += std::mem::replace(place, start);
            }
            for &i in &*from {
                let place = &mut places[digit(i, pass)];
                to[*place as usize] = i;
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
            moved = !moved;
        }
        if moved {
            to.copy_from_slice(from);
        }
    }
}

/// A sort of more items than fit the cache, by an order-preserving unsigned key.
pub(super) struct Sort<'a, K> {
    pub cx: Context<'a>,
    pub parallel: bool,
    pub key: K,
}

/// Items distributed by their most significant digit.
pub(super) struct Distributed {
    /// The end of each digit value's items.
    ends: Vec<usize>,
    /// The bits of keys below that digit in which they may differ.
    low: u64,
}

impl<K: Sync + Send> Sort<'_, K> {
    /// Distributes the `items.len()` items of `source` by the most significant digit in which their keys differ. None if all
    /// keys are equal: then no item is written.
    pub(super) fn distribute<I: Plain>(
        &self,
        source: impl Fn(usize) -> I + Sync + Send,
        bits: KeyBits,
        items: &mut [I],
    ) -> Result<Option<Distributed>, Stop>
    where
        K: Fn(I) -> u64,
    {
        let n = items.len();
        let len = if self.parallel { n.div_ceil(self.cx.threads.count() * 4).max(MIN_TASK_ITEMS) } else { n.max(1) };
        let len = len.min(ITEMS_PER_POLL);
        let chunk = |k: usize| k * len..n.min((k + 1) * len);
        let mut next = filled([0usize; DIGIT_VALUES], n.div_ceil(len))?;
        let exactly = || {
            let key = |k| (self.key)(source(k));
            differing_bits(self.cx, self.parallel, n, &key).map(KeyBits::exactly)
        };
        // Numbers of many bits are mostly small ones, most others differ in their highest bits.
        let mut bits = if bits.count > u32::BITS && !bits.is_exact { exactly()? } else { bits };
        let shift = loop {
            if bits.count == 0 {
                return Ok(None);
            }
            let shift = bits.count - first_digit(n, bits.count);
            let count = |(): &mut (), (k, counts): (usize, &mut [usize; DIGIT_VALUES])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                chunk(k).for_each(|k| counts[digit((self.key)(source(k)), shift)] += 1);
                Ok(())
            };
            self.cx.tasks(self.parallel, collected(next.iter_mut().enumerate())?, || (), count)?;
            let most = (0..DIGIT_VALUES).map(|d| next.iter().map(|counts| counts[d]).sum::<usize>()).max();
            if bits.is_exact || most.is_none_or(|most| most <= n / 2) {
                break shift;
            }
            // If they do not differ in their highest bits, find those in which they do.
            let known = std::mem::replace(&mut bits, exactly()?);
            if bits.count == known.count {
                break shift;
            }
            next.iter_mut().for_each(|counts| counts.fill(0));
        };
        // Prefix sums: from counts to the index of the first item, by digit value and then by chunk.
        let mut total = 0;
        let mut ends = Vec::with_capacity(DIGIT_VALUES);
        for digit in 0..DIGIT_VALUES {
            for counts in &mut next {
                total += std::mem::replace(&mut counts[digit], total);
            }
            ends.push(total);
        }
        debug_assert_eq!(total, n);
        let stream = size_of_val(items) >= MIN_STREAMED_BYTES;
        let places = SharedMemory::new(items);
        self.cx.tasks(
            self.parallel,
            collected(next.iter_mut().enumerate())?,
            || if stream { CombiningStreams::new(&places) } else { None },
            |lines, (k, next): (usize, &mut [usize; DIGIT_VALUES])| {
                self.cx.limits.check().map_err(Stop::Error)?;
                // SAFETY: the items of this chunk with this digit value were counted above, and the source, which has
                // been borrowed since, yields the same items again. The indices from `next` on, as many as were
                // counted, belong to them only, since the prefix sums of all counts assign every chunk and digit value
                // its own range.
                unsafe {
                    match lines {
                        Some(lines) => {
                            lines.begin(next);
                            for item in chunk(k).map(&source) {
                                lines.put(digit((self.key)(item), shift), item);
                            }
                            lines.end();
                        }
                        None => {
                            for item in chunk(k).map(&source) {
                                let at = &mut next[digit((self.key)(item), shift)];
                                places.write(*at, item);
                                *at += 1;
                            }
                        }
                    }
                }
                Ok(())
            },
        )?;
        Ok(Some(Distributed { ends, low: (1 << shift) - 1 }))
    }

    /// Sorts distributed items; `spare` has the same length.
    pub(super) fn finish<I: Plain>(
        &self,
        d: &Distributed,
        mut items: &mut [I],
        mut spare: &mut [I],
        mut sink: impl Sink<I>,
    ) -> Result<(), Stop>
    where
        K: Fn(I) -> u64,
    {
        // Items that do not fit the cache are distributed again only if threads would be idle otherwise, or if one
        // thread would not poll the limits for too long.
        let most = (items.len() / (4 * self.cx.threads.count())).min(ITEMS_PER_POLL);
        let (mut small, mut large) = (Vec::new(), Vec::new());
        // As many groups as digit values: a number that does not depend on the data.
        let mut group = Vec::new();
        let (mut start, mut grouped) = (0, 0);
        for &end in &d.ends {
            let n = end - start;
            start = end;
            let (own, own_spare, to);
            (own, items) = std::mem::take(&mut items).split_at_mut(n);
            (own_spare, spare) = std::mem::take(&mut spare).split_at_mut(n);
            (to, sink) = sink.split_at(n);
            if !is_local::<I>(n) && n > most {
                large.push((own, own_spare, to));
                continue;
            }
            if n > 0 {
                group.push((own, own_spare, to));
            }
            grouped += n;
            if grouped >= MIN_TASK_ITEMS {
                small.push(std::mem::take(&mut group));
                grouped = 0;
            }
        }
        small.push(group);
        self.cx.tasks(self.parallel, small, Local::new, |local, group| {
            for (items, spare, to) in group {
                self.cx.limits.check().map_err(Stop::Error)?;
                match is_local::<I>(items.len()) {
                    true => local.sort(items, &self.key, d.low),
                    false => local.sort_with(items, spare, &self.key, d.low),
                }
                to.take(items, spare);
            }
            Ok(())
        })?;
        for (own, own_spare, to) in large {
            match self.distribute(|k| own[k], KeyBits::at_most(width(d.low)), own_spare)? {
                None => to.take(own, own_spare),
                Some(d) => acc_core::grow_stack(|| self.finish(&d, own_spare, own, to.swapped()))?,
            }
        }
        Ok(())
    }
}

/// The bits of the digit by which `n` items are distributed first, if keys differ in so many bits: all of them where that leaves
/// nothing to sort.
fn first_digit(n: usize, bits: u32) -> u32 {
    let suited = (n / ITEMS_PER_DIGIT_VALUE).max(1).ilog2().clamp(8, MAX_DIGIT_BITS);
    let is_last = bits <= MAX_DIGIT_BITS && n >> bits >= MIN_ITEMS_PER_LAST_DIGIT_VALUE;
    if is_last { bits } else { suited.min(bits) }
}

/// The digit of a key that begins at bit `shift`.
fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize & (DIGIT_VALUES - 1)
}
