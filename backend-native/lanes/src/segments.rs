//! Built-in operators over segments of lanes.
//!
//! A segment has [`PARTIAL_RESULTS`] partial results, as any reduction: element `k` is combined into number `k %
//! PARTIAL_RESULTS`, and these are combined by halving. Short segments are reduced in one go, without a branch on their
//! length.

use super::int::Int;
use super::lanes::Lanes;
use super::prims::{maximum, minimum};
use super::reduce::{PARTIAL_RESULTS, by_type, identity, with_bool, with_char, with_float, with_int};
use crate::memory::OutSlice;
use crate::multiversion;
use crate::no_reductions;
use acc_core::data::{ColumnSlice, Prim};
use acc_core::ir::PrimOp;
use half::f16;

/// Segments of up to so many elements are reduced in one go.
const MAX_SHORT_SEGMENT: usize = 24;
/// Lanes behind the last segment that may be read.
pub const READ_BEYOND: usize = MAX_SHORT_SEGMENT;

/// Segments whose partial results are halved together, as vectors over segments.
const SEGMENTS_PER_BATCH: usize = 64;

/// Elements that can be masked.
trait Masked: Copy {
    /// The first `n` elements, `none` in place of the others.
    fn masked(x: &[Self; MAX_SHORT_SEGMENT], n: usize, none: Self) -> [Self; MAX_SHORT_SEGMENT];
}

/// For wide types, whose operations are vectorised for any number of elements.
macro_rules! masked {
    ($(($t:ty, $bits:ty, $to:expr, $from:expr)),*) => { $(
        impl Masked for $t {
            #[inline(always)]
            fn masked(x: &[$t; MAX_SHORT_SEGMENT], n: usize, none: $t) -> [$t; MAX_SHORT_SEGMENT] {
                static MASKS: [$bits; 2 * MAX_SHORT_SEGMENT] = {
                    let mut masks = [0; 2 * MAX_SHORT_SEGMENT];
                    let mut k = 0;
                    while k < MAX_SHORT_SEGMENT {
                        masks[k] = !0;
                        k += 1;
                    }
                    masks
                };
                let Some(masks) = MASKS[MAX_SHORT_SEGMENT - n.min(MAX_SHORT_SEGMENT)..].first_chunk::<MAX_SHORT_SEGMENT>() else { return *x };
                let (none, mut out) = ($to(none), *x);
                for k in 0..MAX_SHORT_SEGMENT {
                    out[k] = $from(($to(x[k]) & masks[k]) | (none & !masks[k]));
                }
                out
            }
        }
    )* };
}
masked! {
    (f32, u32, f32::to_bits, f32::from_bits),
    (f64, u64, f64::to_bits, f64::from_bits),
    (i32, u32, i32::cast_unsigned, u32::cast_signed),
    (i64, u64, i64::cast_unsigned, u64::cast_signed),
    (u32, u32, u32::from, u32::from),
    (u64, u64, u64::from, u64::from)
}

macro_rules! chosen {
    ($($t:ty),*) => { $(
        impl Masked for $t {
            #[inline(always)]
            fn masked(x: &[$t; MAX_SHORT_SEGMENT], n: usize, none: $t) -> [$t; MAX_SHORT_SEGMENT] {
                std::array::from_fn(|k| if k < n { x[k] } else { none })
            }
        }
    )* };
}
chosen!(i8, i16, u8, u16, f16, bool, char);

/// The partial results of a segment, halved to eight.
#[inline(always)]
fn eight<T: Masked>(x: &[T], start: usize, n: usize, none: T, p: &mut [T; 8], f: &impl Fn(T, T) -> T) {
    if n <= MAX_SHORT_SEGMENT
        && let Some(first) = x.get(start..).and_then(|x| x.first_chunk())
    {
        // The halving steps that remain where neutral elements fill up.
        let v = T::masked(first, n, none);
        for k in 0..8 {
            p[k] = f(f(v[k], v[k + 16]), v[k + 8]);
        }
        return;
    }
    let mut a = [none; PARTIAL_RESULTS];
    let (whole, rest) = x.get(start..start.saturating_add(n)).unwrap_or(&[]).as_chunks::<PARTIAL_RESULTS>();
    for x in whole {
        for k in 0..PARTIAL_RESULTS {
            a[k] = f(a[k], x[k]);
        }
    }
    for (a, &x) in a.iter_mut().zip(rest) {
        *a = f(*a, x);
    }
    for k in 0..8 {
        p[k] = f(f(a[k], a[k + 16]), f(a[k + 8], a[k + 24]));
    }
}

#[inline(always)]
fn segments_typed<T: Masked>(
    x: &[T],
    (offsets, origin): (&[i64], i64),
    init: Option<T>,
    out: &mut [T],
    none: T,
    f: impl Fn(T, T) -> T,
) {
    let (mut eights, mut fours) = ([[none; 8]; SEGMENTS_PER_BATCH], [[none; 4]; SEGMENTS_PER_BATCH]);
    for (out, first) in out.chunks_mut(SEGMENTS_PER_BATCH).zip((0..).step_by(SEGMENTS_PER_BATCH)) {
        let ends = || offsets.iter().skip(first).zip(offsets.iter().skip(first + 1));
        for (p, (from, to)) in eights.iter_mut().zip(ends()).take(out.len()) {
            eight(x, (from - origin) as usize, (to - from) as usize, none, p, &f);
        }
        for (q, p) in fours.iter_mut().zip(&eights) {
            for k in 0..4 {
                q[k] = f(p[k], p[k + 4]);
            }
        }
        for (o, q) in out.iter_mut().zip(&fours) {
            *o = f(f(q[0], q[2]), f(q[1], q[3]));
        }
        if let Some(init) = init {
            for (o, (from, to)) in out.iter_mut().zip(ends()) {
                *o = if from == to { init } else { f(init, *o) };
            }
        }
    }
}

#[inline(always)]
fn segments_impl(op: PrimOp, x: &Lanes, at: (&[i64], i64), init: Option<u64>, out: OutSlice<'_>) {
    let all = x.slice(usize::MAX);
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match (all, out) {
                $((ColumnSlice::$V(x), OutSlice::$V(out)) => {
                    let (init, none) = (init.map(<$t>::from_bits64), identity(op, <$t as acc_core::data::HasScalarType>::TYPE));
                    let none = <$t>::from_bits64(none);
                    macro_rules! go { ($f:expr) => { segments_typed::<$t>(x, at, init, out, none, $f) }; }
                    $with!(op, $t, go)
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        };
    }
    by_type!(arms)
}

multiversion!(
    /// Reduces segments of lanes: segment `k` begins at `offsets[k] - origin` and ends where the next one begins; an
    /// initial value is combined on the left. There must be [`READ_BEYOND`] lanes behind the last segment.
    segments, segments_impl, (op: PrimOp, x: &Lanes, at: (&[i64], i64), init: Option<u64>, out: OutSlice<'_>) -> ()
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce;
    use acc_core::data::ScalarType;

    #[test]
    fn segments_are_reduced_as_reductions_are() {
        let n = 500;
        let mut x = Lanes::new(ScalarType::F32, n + READ_BEYOND);
        let values: Vec<f32> = (0..n).map(|k| ((k * 7919 % 1009) as f32 - 500.0) / 7.0).collect();
        if let OutSlice::F32(to) = x.out() {
            to[..n].copy_from_slice(&values);
        }
        let mut offsets = vec![3i64];
        for length in [0, 1, 2, 7, 8, 9, 16, 17, 23, 24, 25, 31, 32, 33, 64, 100, 0, 5] {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let mut out = vec![0f32; offsets.len() - 1];
        for init in [None, Some(0.3f32)] {
            segments(PrimOp::AddP, &x, (&offsets, 0), init.map(Prim::to_bits64), OutSlice::F32(&mut out));
            for (sum, ends) in out.iter().zip(offsets.windows(2)) {
                let part = &values[ends[0] as usize..ends[1] as usize];
                let mut acc = Lanes::new(ScalarType::F32, PARTIAL_RESULTS);
                acc.fill(PARTIAL_RESULTS, identity(PrimOp::AddP, ScalarType::F32));
                reduce::reduce(PrimOp::AddP, &mut acc, ColumnSlice::F32(part));
                let total = f32::from_bits64(reduce::collapse(PrimOp::AddP, &mut acc));
                let whole = match init {
                    None => total,
                    Some(init) if part.is_empty() => init,
                    Some(init) => init + total,
                };
                assert_eq!(sum.to_bits(), whole.to_bits(), "{ends:?}");
            }
        }
    }
}
