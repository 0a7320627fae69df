//! Memory that several threads write concurrently at disjoint indices, and software write combining for it.

use crate::buffer::CACHE_LINE_BYTES;
use backend_native_lanes::all_types;
use half::f16;
use std::marker::PhantomData;

/// Types whose values are all of their bytes.
///
/// # Safety
///
/// The type has no padding, and its size divides that of a cache line.
pub(super) unsafe trait Plain: Copy + Send + Sync {}

macro_rules! plain {
    ($(($V:ident, $t:ty)),*) => { $(
        // SAFETY: scalars of 1, 2, 4 or 8 bytes.
        unsafe impl Plain for $t {}
    )* };
}
all_types!(plain);
// SAFETY: sixteen bytes, all of two words.
unsafe impl Plain for [u64; 2] {}

/// Memory that tasks write at disjoint indices.
pub(super) struct SharedMemory<'a, T> {
    start: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: a task writes values of `T` through it, at indices that no other task accesses (the contracts of `write` and
// `write_line`), as if each had a unique borrow of them; `T: Send` lets values go to other threads.
unsafe impl<T: Send> Sync for SharedMemory<'_, T> {}

impl<'a, T: Plain> SharedMemory<'a, T> {
    pub(super) fn new(memory: &'a mut [T]) -> SharedMemory<'a, T> {
        SharedMemory { start: memory.as_mut_ptr(), len: memory.len(), of: PhantomData }
    }

    /// Writes a value.
    ///
    /// # Safety
    ///
    /// No other thread accesses the index while `self` lives.
    pub(super) unsafe fn write(&self, at: usize, value: T) {
        if at < self.len {
            // SAFETY: the index is inside the memory borrowed for `'a`, and no one else uses it (the contract). `T` is
            // `Copy`, so that nothing has to be dropped.
            unsafe { self.start.add(at).write(value) }
        }
    }

    /// Writes a cache line non-temporally.
    ///
    /// # Safety
    ///
    /// No other thread accesses the indices that the line covers while `self` lives. The first of them begins at a
    /// cache line. All values of the line are set.
    #[cfg(target_arch = "x86_64")]
    unsafe fn write_line(&self, at: usize, line: &Line<T>) {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        if at + Line::<T>::VALUES_PER_LINE <= self.len {
            let from = line.bytes.as_ptr().cast::<__m128i>();
            for k in 0..CACHE_LINE_BYTES / size_of::<__m128i>() {
                // SAFETY: the indices are inside the memory borrowed for `'a`, begin at a multiple of 64 bytes, and no
                // one else uses them (the contract). The line holds values of `T`, which are copied byte by byte, and
                // begins at a multiple of 64 bytes, too. SSE2 is part of x86-64.
                unsafe { _mm_stream_si128(self.start.add(at).cast::<__m128i>().add(k), _mm_load_si128(from.add(k))) };
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn write_line(&self, at: usize, line: &Line<T>) {
        for k in 0..Line::<T>::VALUES_PER_LINE {
            // SAFETY: by the contract.
            unsafe { self.write(at + k, line.get(k)) }
        }
    }
}

/// The values of one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line<T> {
    bytes: [u8; CACHE_LINE_BYTES],
    of: PhantomData<T>,
}

impl<T: Plain> Line<T> {
    const VALUES_PER_LINE: usize = CACHE_LINE_BYTES / size_of::<T>();

    fn set(&mut self, k: usize, value: T) {
        // SAFETY: the value lies inside of the line, which begins at a multiple of all sizes of values.
        unsafe { self.bytes.as_mut_ptr().cast::<T>().add(k % Self::VALUES_PER_LINE).write(value) }
    }

    /// A value.
    ///
    /// # Safety
    /// It was set.
    unsafe fn get(&self, k: usize) -> T {
        // SAFETY: as for `set`; there is a value by the contract.
        unsafe { self.bytes.as_ptr().cast::<T>().add(k % Self::VALUES_PER_LINE).read() }
    }
}

/// Streams of values to consecutive indices each, which are written to memory in whole cache lines, non-temporally.
pub(super) struct CombiningStreams<'a, T, const STREAMS: usize> {
    places: &'a SharedMemory<'a, T>,
    /// The offset of index 0 from the start of a cache line, in values.
    phase: usize,
    lines: Box<[Line<T>; STREAMS]>,
    /// The first index of each stream, and the next one.
    starts: Box<[usize; STREAMS]>,
    next: Box<[usize; STREAMS]>,
}

impl<'a, T: Plain, const STREAMS: usize> CombiningStreams<'a, T, STREAMS> {
    /// None if no value of this memory begins at a cache line.
    pub(super) fn new(places: &'a SharedMemory<'a, T>) -> Option<Self> {
        let after = places.start.addr() % CACHE_LINE_BYTES;
        let line = Line { bytes: [0; CACHE_LINE_BYTES], of: PhantomData };
        let lines = vec![line; STREAMS].into_boxed_slice().try_into().ok()?;
        let none = Box::new([0; STREAMS]);
        let whole = after.is_multiple_of(size_of::<T>());
        whole.then(|| CombiningStreams {
            places,
            phase: after / size_of::<T>(),
            lines,
            starts: none.clone(),
            next: none,
        })
    }

    /// Begins streams at these indices.
    pub(super) fn begin(&mut self, starts: &[usize; STREAMS]) {
        *self.starts = *starts;
        *self.next = *starts;
    }

    /// Appends a value to a stream.
    ///
    /// # Safety
    ///
    /// No other thread accesses its index while `self.places` lives.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, stream: usize, value: T) {
        let at = self.next[stream];
        let (slot, line) = ((at + self.phase) % Line::<T>::VALUES_PER_LINE, &mut self.lines[stream]);
        line.set(slot, value);
        self.next[stream] = at + 1;
        if slot + 1 == Line::<T>::VALUES_PER_LINE {
            // SAFETY: indices of this stream only (the contract); all of its values since its start or the start of the
            // line were set. The line's first index is a multiple of the line's size after the start of one.
            match at + 1 - self.starts[stream] >= Line::<T>::VALUES_PER_LINE {
                true => unsafe { self.places.write_line(at - slot, line) },
                false => unsafe { self.write_rest(stream) },
            }
        }
    }

    /// Writes the incomplete last line of a stream.
    ///
    /// # Safety
    ///
    /// As for `put`.
    #[cold]
    unsafe fn write_rest(&self, stream: usize) {
        let (start, end) = (self.starts[stream], self.next[stream]);
        let within = (end + self.phase).wrapping_sub(1) % Line::<T>::VALUES_PER_LINE + 1;
        for at in start.max(end.saturating_sub(within))..end {
            // SAFETY: by the contract; the values since the start and in this line were set.
            unsafe { self.places.write(at, self.lines[stream].get(at + self.phase)) }
        }
    }

    /// Ends all streams; from then on others may read what they wrote.
    ///
    /// # Safety
    ///
    /// As for `put`.
    pub(super) unsafe fn end(&mut self) {
        for stream in 0..STREAMS {
            let partial = !(self.next[stream] + self.phase).is_multiple_of(Line::<T>::VALUES_PER_LINE);
            if partial {
                // SAFETY: by the contract.
                unsafe { self.write_rest(stream) }
            }
        }
        crate::tile::memory::finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed<T: Plain + PartialEq + std::fmt::Debug>(none: T, of: impl Fn(usize) -> T) {
        // Streams with any alignment, some shorter than a cache line.
        let lengths = [0, 1, 3, 64, 65, 200, 15, 16, 17, 1000, 2];
        for before in [0, 1, 5, 8, 63] {
            let mut memory = [none; 2000];
            let Some(places) = memory.get_mut(before..).map(SharedMemory::new) else { continue };
            let Some(mut lines) = CombiningStreams::new(&places) else { continue };
            let mut end = 0;
            let starts = lengths.map(|n| {
                end += n;
                end - n
            });
            lines.begin(&starts);
            for k in 0..1000 {
                for (stream, _) in lengths.iter().enumerate().filter(|(_, n)| k < **n) {
                    // SAFETY: one thread; every index within the memory occurs once.
                    unsafe { lines.put(stream, of(starts[stream] + k)) };
                }
            }
            // SAFETY: as above.
            unsafe { lines.end() };
            for (k, x) in memory[before..].iter().enumerate() {
                assert_eq!(*x, if k < end { of(k) } else { none }, "{k} of {end}, {before} before");
            }
        }
    }

    #[test]
    fn streams_write_all_their_places_and_no_others() {
        streamed(0u8, |k| k as u8);
        streamed(0u16, |k| k as u16);
        streamed(0u32, |k| k as u32);
        streamed(0i64, |k| k as i64);
        streamed([0u64; 2], |k| [k as u64, 7]);
    }
}
