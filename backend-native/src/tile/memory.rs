//! Non-temporal stores for results larger than the caches, and prefetches.

use crate::buffer::OutSlice;
use acc_core::data::ColumnSlice;
use backend_native_lanes::all_types;

/// Copies with non-temporal stores, for results larger than the caches, whose lines would otherwise be read before they
/// are written. [`finish`] must follow before another thread reads them.
pub(crate) fn stream(from: ColumnSlice<'_>, to: OutSlice<'_>) {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => {
            match (from, to) {
                $((ColumnSlice::$V(f), OutSlice::$V(t)) => {
                    let n = f.len().min(t.len());
                    stream_typed(&f[..n], &mut t[..n])
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        };
    }
    all_types!(typed)
}

#[cfg(target_arch = "x86_64")]
fn stream_typed<T: Copy>(from: &[T], to: &mut [T]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    const { assert!(16 % size_of::<T>() == 0) }
    let head = to.as_ptr().align_offset(16).min(to.len());
    let per = 16 / size_of::<T>();
    let whole = (to.len() - head) / per * per;
    to[..head].copy_from_slice(&from[..head]);
    let (source, target) = (&from[head..head + whole], &mut to[head..head + whole]);
    let (s, t) = (source.as_ptr().cast::<__m128i>(), target.as_mut_ptr().cast::<__m128i>());
    for k in 0..whole / per {
        // SAFETY: both slices have `whole` values, that is `whole / per` blocks of 16 bytes; the target starts at a
        // multiple of 16 (`head`), the source may start anywhere. Values are copied bit for bit between slices of one
        // type. SSE2 is part of x86-64.
        unsafe { _mm_stream_si128(t.add(k), _mm_loadu_si128(s.add(k))) }
    }
    to[head + whole..].copy_from_slice(&from[head + whole..]);
}

#[cfg(not(target_arch = "x86_64"))]
fn stream_typed<T: Copy>(from: &[T], to: &mut [T]) {
    to.copy_from_slice(from);
}

/// The distance of memory from the multiple of `bytes` before it.
pub(crate) fn offset(out: &OutSlice<'_>, bytes: usize) -> usize {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match out { $(OutSlice::$V(t) => t.as_ptr().addr() % bytes),* } };
    }
    all_types!(typed)
}

/// Whether memory begins at a multiple of `bytes`.
pub(crate) fn starts_at(out: &OutSlice<'_>, bytes: usize) -> bool {
    offset(out, bytes) == 0
}

/// Prefetches an address, valid or not.
#[inline(always)]
pub(crate) fn fetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; any address will do.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A store fence: makes what [`stream`] wrote visible to other threads.
pub(crate) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a fence has no operands.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
