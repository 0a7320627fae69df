//! Known operators over segments of lanes.
//!
//! A segment has [`WIDTH`] partial results, as any reduction: element `k` is combined into the one of number `k % WIDTH`, and
//! these are combined by halving. Short segments do that at once, without a branch on how long they are.

use super::int::Int;
use super::lanes::Lanes;
use super::prims::{maximum, minimum};
use super::reduce::{WIDTH, by_type, identity, with_bool, with_char, with_float, with_int};
use crate::memory::OutSlice;
use crate::multiversion;
use crate::no_reductions;
use acc_core::data::{ColumnSlice, Prim};
use acc_core::ir::PrimOp;
use half::f16;

/// Elements of a segment that is short.
const SHORT: usize = 24;
/// Lanes beyond the last segment that may be read.
pub const BEYOND: usize = SHORT;

/// Segments whose partial results are halved together: steps over many of them are vectors.
const BATCH: usize = 64;

/// Elements that may be masked.
trait Masked: Copy {
    /// The first `n` elements, `none` in place of the others.
    fn masked(x: &[Self; SHORT], n: usize, none: Self) -> [Self; SHORT];
}

/// For types of many bits: operations on these are vectors, whatever the number of elements.
macro_rules! masked {
    ($(($t:ty, $bits:ty, $to:expr, $from:expr)),*) => { $(
        impl Masked for $t {
            #[inline(always)]
            fn masked(x: &[$t; SHORT], n: usize, none: $t) -> [$t; SHORT] {
                static MASKS: [$bits; 2 * SHORT] = {
                    let mut masks = [0; 2 * SHORT];
                    let mut k = 0;
                    while k < SHORT {
                        masks[k] = !0;
                        k += 1;
                    }
                    masks
                };
                let Some(masks) = MASKS[SHORT - n.min(SHORT)..].first_chunk::<SHORT>() else { return *x };
                let (none, mut out) = ($to(none), *x);
                for k in 0..SHORT {
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
            fn masked(x: &[$t; SHORT], n: usize, none: $t) -> [$t; SHORT] {
                std::array::from_fn(|k| if k < n { x[k] } else { none })
            }
        }
    )* };
}
chosen!(i8, i16, u8, u16, f16, bool, char);

/// The partial results of a segment, halved to eight.
#[inline(always)]
fn eight<T: Masked>(x: &[T], start: usize, n: usize, none: T, p: &mut [T; 8], f: &impl Fn(T, T) -> T) {
    if n <= SHORT
        && let Some(first) = x.get(start..).and_then(|x| x.first_chunk())
    {
        // What is left of the steps of halving where there are neutral elements.
        let v = T::masked(first, n, none);
        for k in 0..8 {
            p[k] = f(f(v[k], v[k + 16]), v[k + 8]);
        }
        return;
    }
    let mut a = [none; WIDTH];
    let (whole, rest) = x.get(start..start.saturating_add(n)).unwrap_or(&[]).as_chunks::<WIDTH>();
    for x in whole {
        for k in 0..WIDTH {
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
    let (mut eights, mut fours) = ([[none; 8]; BATCH], [[none; 4]; BATCH]);
    for (out, first) in out.chunks_mut(BATCH).zip((0..).step_by(BATCH)) {
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
    /// Reduces segments of lanes: segment `k` begins at `offsets[k] - origin` and ends where the next one begins; an initial
    /// value is combined on the left. There are [`BEYOND`] lanes after those of the last segment.
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
        let mut x = Lanes::new(ScalarType::F32, n + BEYOND);
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
                let mut acc = Lanes::new(ScalarType::F32, WIDTH);
                acc.fill(WIDTH, identity(PrimOp::AddP, ScalarType::F32));
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
