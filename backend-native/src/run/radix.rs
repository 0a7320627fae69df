//! Stable distribution of items by digits of their keys: the passes of a radix sort from the least digit on (D. Knuth,
//! The Art of Computer Programming, volume 3, section 5.2.5, algorithm R), on several threads.

use super::launch::Context;
use crate::tile::machine::Stop;
use std::marker::PhantomData;

/// Bits of a digit.
const BITS: usize = 8;
const DIGITS: usize = 1 << BITS;
/// Items that a task takes at least.
const TASK: usize = 1 << 16;

/// A sort key: an unsigned number whose order is that of the values.
pub(super) trait Key: Copy + Default + Send + Sync {
    /// How many digits it has.
    const PLACES: usize;
    /// The digit at a place, the least one first.
    fn digit(self, place: usize) -> usize;
    /// The bits in which two keys differ, added to others.
    fn differing(self, other: Self, so_far: Self) -> Self;
}

macro_rules! keys {
    ($($t:ty),*) => { $(impl Key for $t {
        const PLACES: usize = size_of::<$t>() * 8 / BITS;
        fn digit(self, place: usize) -> usize {
            (self >> (place * BITS)) as usize & (DIGITS - 1)
        }
        fn differing(self, other: $t, so_far: $t) -> $t {
            so_far | (self ^ other)
        }
    })* };
}
keys!(u32, u64);

/// A position, in as few bytes as do.
pub(super) trait At: Copy + Default + Send + Sync {
    fn of(k: usize) -> Self;
    fn get(self) -> usize;
}

macro_rules! positions {
    ($($t:ty),*) => { $(impl At for $t {
        fn of(k: usize) -> $t {
            k as $t
        }
        fn get(self) -> usize {
            self as usize
        }
    })* };
}
positions!(u32, u64);

/// An element: its key, and where it came from.
#[derive(Clone, Copy, Default)]
pub(super) struct Item<K, A> {
    pub key: K,
    pub at: A,
}

/// Sorts items by their keys, stably; `spare` is as long. Returns them sorted, and the other memory.
pub(super) fn sort<K: Key, A: At>(
    mut items: Vec<Item<K, A>>,
    mut spare: Vec<Item<K, A>>,
    parallel: bool,
    cx: Context<'_>,
) -> Result<Vec<Item<K, A>>, Stop> {
    let Some(first) = items.first().map(|i| i.key) else { return Ok(items) };
    // Digits that are the same in all keys move nothing.
    let differing = items.iter().fold(K::default(), |bits, i| i.key.differing(first, bits));
    for place in 0..K::PLACES {
        if differing.digit(place) != 0 {
            distribute(&items, &mut spare, place, parallel, cx)?;
            std::mem::swap(&mut items, &mut spare);
        }
    }
    Ok(items)
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

/// Moves items to `out` in the order of a digit, those of equal digits in the order they had.
fn distribute<K: Key, A: At>(
    items: &[Item<K, A>],
    out: &mut [Item<K, A>],
    place: usize,
    parallel: bool,
    cx: Context<'_>,
) -> Result<(), Stop> {
    let len = if parallel { items.len().div_ceil(cx.threads.count() * 2).max(TASK) } else { items.len().max(1) };
    let chunks: Vec<&[Item<K, A>]> = items.chunks(len).collect();
    let mut next = vec![[0usize; DIGITS]; chunks.len()];
    let counting: Vec<_> = chunks.iter().zip(&mut next).collect();
    cx.tasks(
        parallel,
        counting,
        || (),
        |(), (items, counts)| {
            cx.limits.check().map_err(Stop::Error)?;
            items.iter().for_each(|i| counts[i.key.digit(place)] += 1);
            Ok(())
        },
    )?;
    // From counts to the place of the first item: digit by digit, and for a digit chunk by chunk.
    let mut total = 0;
    for digit in 0..DIGITS {
        for counts in &mut next {
            total += std::mem::replace(&mut counts[digit], total);
        }
    }
    debug_assert_eq!((total, out.len()), (items.len(), items.len()));
    let places = Places::new(out);
    let moving: Vec<_> = chunks.iter().zip(&mut next).collect();
    cx.tasks(
        parallel,
        moving,
        || &places,
        |places, (items, next)| {
            cx.limits.check().map_err(Stop::Error)?;
            for item in *items {
                let at = &mut next[item.key.digit(place)];
                // SAFETY: the items of this chunk with this digit were counted above, over the same items, which are
                // borrowed since; the places from `next` on, as many as were counted, belong to them alone, since the sums
                // of all counts give every chunk and digit a range of its own.
                unsafe { places.write(*at, *item) };
                *at += 1;
            }
            Ok(())
        },
    )
}
