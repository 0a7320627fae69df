//! Built-in operators over lanes: accumulation and reduction.

use super::int::Int;
use super::lanes::Lanes;
use super::prims::{maximum, minimum};
use crate::all_types;
use crate::memory::OutSlice;
use crate::multiversion;
use crate::no_reductions;
use acc_core::data::{ColumnSlice, Prim, ScalarType};
use acc_core::ir::PrimOp;
use half::f16;

/// Partial results of a reduction: enough to hide the latency of an addition, few enough for registers. The tree of a
/// reduction depends on it, so it is fixed.
pub const PARTIAL_RESULTS: usize = 32;

/// Elements that a user's operator combines pairwise at a time: many, so that most lanes have a partner, and few enough
/// to stay in L1. The tree of a fold depends on it, so it is fixed.
pub const PAIRWISE_BLOCK: usize = 1 << 10;

/// The neutral element, as bits. Of a float sum it is `-0.0`.
pub fn identity(op: PrimOp, ty: ScalarType) -> u64 {
    macro_rules! int {
        ($t:ty) => {
            match op {
                PrimOp::MulP => <$t>::to_bits64(1),
                PrimOp::MinP => <$t>::MAX.to_bits64(),
                PrimOp::MaxP => <$t>::MIN.to_bits64(),
                PrimOp::AndP => (!(0 as $t)).to_bits64(),
                PrimOp::AddP | PrimOp::OrP | PrimOp::XorP => 0,
                no_reductions!() => 0,
            }
        };
    }
    macro_rules! float {
        ($t:ty) => {
            match op {
                PrimOp::MulP => <$t>::from(1i8).to_bits64(),
                PrimOp::MinP => <$t>::INFINITY.to_bits64(),
                PrimOp::MaxP => <$t>::NEG_INFINITY.to_bits64(),
                PrimOp::AddP => (-<$t>::from(0i8)).to_bits64(),
                PrimOp::AndP | PrimOp::OrP | PrimOp::XorP | no_reductions!() => (-<$t>::from(0i8)).to_bits64(),
            }
        };
    }
    match ty {
        ScalarType::I8 => int!(i8),
        ScalarType::I16 => int!(i16),
        ScalarType::I32 => int!(i32),
        ScalarType::I64 => int!(i64),
        ScalarType::U8 => int!(u8),
        ScalarType::U16 => int!(u16),
        ScalarType::U32 => int!(u32),
        ScalarType::U64 => int!(u64),
        ScalarType::F16 => float!(f16),
        ScalarType::F32 => float!(f32),
        ScalarType::F64 => float!(f64),
        ScalarType::Bool => u64::from(matches!(op, PrimOp::MinP | PrimOp::AndP)),
        ScalarType::Char => (if op == PrimOp::MinP { char::MAX } else { '\0' }).to_bits64(),
    }
}

/// Calls `$go!(f)` with the closure of a built-in operator on values of a type.
macro_rules! with_int {
    ($op:expr, $T:ty, $go:ident) => {
        match $op {
            PrimOp::MulP => $go!(<$T as Int>::mul),
            PrimOp::MinP => $go!(minimum::<$T>),
            PrimOp::MaxP => $go!(maximum::<$T>),
            PrimOp::AndP => $go!(<$T as Int>::and),
            PrimOp::OrP => $go!(<$T as Int>::or),
            PrimOp::XorP => $go!(<$T as Int>::xor),
            PrimOp::AddP | no_reductions!() => $go!(<$T as Int>::add),
        }
    };
}
macro_rules! with_float {
    ($op:expr, $T:ty, $go:ident) => {
        match $op {
            PrimOp::MulP => $go!(|x: $T, y: $T| x * y),
            PrimOp::MinP => $go!(minimum::<$T>),
            PrimOp::MaxP => $go!(maximum::<$T>),
            PrimOp::AddP | PrimOp::AndP | PrimOp::OrP | PrimOp::XorP | no_reductions!() => $go!(|x: $T, y: $T| x + y),
        }
    };
}
macro_rules! with_bool {
    ($op:expr, $T:ty, $go:ident) => {
        match $op {
            PrimOp::MinP | PrimOp::AndP => $go!(|x: bool, y: bool| x & y),
            PrimOp::XorP => $go!(|x: bool, y: bool| x ^ y),
            PrimOp::MaxP | PrimOp::OrP => $go!(|x: bool, y: bool| x | y),
            PrimOp::AddP | PrimOp::MulP | no_reductions!() => $go!(|x: bool, y: bool| x | y),
        }
    };
}
macro_rules! with_char {
    ($op:expr, $T:ty, $go:ident) => {
        match $op {
            PrimOp::MinP => $go!(minimum::<char>),
            PrimOp::MaxP => $go!(maximum::<char>),
            PrimOp::AddP | PrimOp::MulP | PrimOp::AndP | PrimOp::OrP | PrimOp::XorP => $go!(maximum::<char>),
            no_reductions!() => $go!(maximum::<char>),
        }
    };
}
/// One arm per scalar type: `$body!(Variant, type, with_macro)`.
macro_rules! by_type {
    ($body:ident) => {
        $body! { (I8, i8, with_int), (I16, i16, with_int), (I32, i32, with_int), (I64, i64, with_int), (U8, u8, with_int),
        (U16, u16, with_int), (U32, u32, with_int), (U64, u64, with_int), (F16, f16, with_float), (F32, f32, with_float),
        (F64, f64, with_float), (Bool, bool, with_bool), (Char, char, with_char) }
    };
}
pub(crate) use {by_type, with_bool, with_char, with_float, with_int};

#[inline(always)]
fn accumulate_typed<T: Copy>(acc: &mut [T], x: &[T], f: impl Fn(T, T) -> T) {
    for (a, &x) in acc.iter_mut().zip(x) {
        *a = f(*a, x);
    }
}

#[inline(always)]
fn reduce_typed<T: Copy>(acc: &mut [T], x: &[T], f: impl Fn(T, T) -> T) {
    let Some(acc) = acc.first_chunk_mut::<PARTIAL_RESULTS>() else { return };
    let mut a = *acc;
    let (whole, rest) = x.as_chunks::<PARTIAL_RESULTS>();
    for x in whole {
        // A new array, which stays in registers; not by `array::from_fn`, which would not be compiled for the processor.
        let mut next = a;
        for k in 0..PARTIAL_RESULTS {
            next[k] = f(a[k], x[k]);
        }
        a = next;
    }
    for (a, &x) in a.iter_mut().zip(rest) {
        *a = f(*a, x);
    }
    *acc = a;
}

#[inline(always)]
fn accumulate_impl(op: PrimOp, acc: &mut Lanes, x: ColumnSlice<'_>) {
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match (acc, x) {
                $((Lanes::$V(acc), ColumnSlice::$V(x)) => {
                    macro_rules! go { ($f:expr) => { accumulate_typed::<$t>(acc, x, $f) }; }
                    $with!(op, $t, go)
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        };
    }
    by_type!(arms)
}

#[inline(always)]
fn reduce_impl(op: PrimOp, acc: &mut Lanes, x: ColumnSlice<'_>) {
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match (acc, x) {
                $((Lanes::$V(acc), ColumnSlice::$V(x)) => {
                    macro_rules! go { ($f:expr) => { reduce_typed::<$t>(acc, x, $f) }; }
                    $with!(op, $t, go)
                })*
                _ => debug_assert!(false, "lanes of another type"),
            }
        };
    }
    by_type!(arms)
}

multiversion!(
    /// `acc = op(acc, x)`, lane by lane.
    accumulate, accumulate_impl, (op: PrimOp, acc: &mut Lanes, x: ColumnSlice<'_>) -> ()
);
multiversion!(
    /// Combines `x` into [`PARTIAL_RESULTS`] partial results, element `k` into the one of number `k % PARTIAL_RESULTS`.
    reduce, reduce_impl, (op: PrimOp, acc: &mut Lanes, x: ColumnSlice<'_>) -> ()
);

#[inline(always)]
fn accumulate_products_impl(acc: &mut Lanes, x: ColumnSlice<'_>, y: ColumnSlice<'_>) {
    macro_rules! sums {
        ($($V:ident),*) => {
            match (acc, x, y) {
                $((Lanes::$V(acc), ColumnSlice::$V(x), ColumnSlice::$V(y)) => {
                    for (a, (&x, &y)) in acc.iter_mut().zip(x.iter().zip(y)) {
                        *a = x.mul_add(y, *a);
                    }
                })*
                _ => debug_assert!(false, "products of such lanes are not added with one rounding"),
            }
        };
    }
    sums!(F32, F64)
}

#[inline(always)]
fn reduce_products_impl(acc: &mut Lanes, x: ColumnSlice<'_>, y: ColumnSlice<'_>) {
    macro_rules! sums {
        ($($V:ident),*) => {
            match (acc, x, y) {
                $((Lanes::$V(acc), ColumnSlice::$V(x), ColumnSlice::$V(y)) => {
                    let Some(acc) = acc.first_chunk_mut::<PARTIAL_RESULTS>() else { return };
                    let mut a = *acc;
                    let ((xs, last_xs), (ys, last_ys)) = (x.as_chunks::<PARTIAL_RESULTS>(), y.as_chunks::<PARTIAL_RESULTS>());
                    for (x, y) in xs.iter().zip(ys) {
                        // As in `reduce_typed`.
                        let mut next = a;
                        for k in 0..PARTIAL_RESULTS {
                            next[k] = x[k].mul_add(y[k], a[k]);
                        }
                        a = next;
                    }
                    for (a, (&x, &y)) in a.iter_mut().zip(last_xs.iter().zip(last_ys)) {
                        *a = x.mul_add(y, *a);
                    }
                    *acc = a;
                })*
                _ => debug_assert!(false, "products of such lanes are not added with one rounding"),
            }
        };
    }
    sums!(F32, F64)
}

multiversion!(
    /// `acc = x * y + acc` with one rounding, lane by lane.
    accumulate_products, accumulate_products_impl, (acc: &mut Lanes, x: ColumnSlice<'_>, y: ColumnSlice<'_>) -> ()
);
multiversion!(
    /// Adds the products of `x` and `y` to [`PARTIAL_RESULTS`] partial results, as [`reduce`] does, with one rounding each.
    reduce_products, reduce_products_impl, (acc: &mut Lanes, x: ColumnSlice<'_>, y: ColumnSlice<'_>) -> ()
);

/// Combines the partial results of [`reduce`] by halving; the bits of the result.
pub fn collapse(op: PrimOp, acc: &mut Lanes) -> u64 {
    let mut n = PARTIAL_RESULTS;
    while n > 1 {
        n /= 2;
        macro_rules! halves {
            ($(($V:ident, $t:ty)),*) => {
                match acc {
                    $(Lanes::$V(v) => {
                        let upper: smallvec::SmallVec<[$t; PARTIAL_RESULTS]> = v[n..2 * n].into();
                        accumulate(op, acc, ColumnSlice::$V(&upper));
                    })*
                }
            };
        }
        all_types!(halves);
    }
    super::lanes::first_bits(acc.slice(1))
}

/// `op(a, b)` of two values given as bits.
pub fn combine_bits(op: PrimOp, ty: ScalarType, a: u64, b: u64) -> u64 {
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match ty {
                $(ScalarType::$V => {
                    let (a, b) = (<$t>::from_bits64(a), <$t>::from_bits64(b));
                    macro_rules! go { ($f:expr) => { ($f)(a, b).to_bits64() }; }
                    $with!(op, $t, go)
                })*
            }
        };
    }
    by_type!(arms)
}

/// `out = op(out, x)`, value by value.
pub fn merge(op: PrimOp, out: OutSlice<'_>, x: ColumnSlice<'_>) {
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match (out, x) {
                $((OutSlice::$V(out), ColumnSlice::$V(x)) => {
                    macro_rules! go { ($f:expr) => { accumulate_typed::<$t>(out, x, $f) }; }
                    $with!(op, $t, go)
                })*
                _ => debug_assert!(false, "columns of another type"),
            }
        };
    }
    by_type!(arms)
}

#[inline(always)]
fn prepend_impl(op: PrimOp, out: OutSlice<'_>, value: u64) {
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match out {
                $(OutSlice::$V(out) => {
                    let value = <$t>::from_bits64(value);
                    macro_rules! go { ($f:expr) => { out.iter_mut().for_each(|o| *o = ($f)(value, *o)) }; }
                    $with!(op, $t, go)
                })*
            }
        };
    }
    by_type!(arms)
}

multiversion!(
    /// `out = op(value, out)` for all of `out`.
    prepend, prepend_impl, (op: PrimOp, out: OutSlice<'_>, value: u64) -> ()
);
