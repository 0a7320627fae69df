//! Primitive operations over lanes: one loop per operation and type, written so that the compiler vectorises it.
//!
//! Each loop is compiled for several processors (`versions`).

use super::int::Int;
use super::lanes::{Lane, Lanes};
use crate::all_types;
use crate::multiversion;
use crate::{bitwise, comparisons, extremes, of_a_float, of_bits, of_floats, of_integers, sums, unary};
use acc_core::data::{ColumnSlice, Prim, ScalarType, nearest_f16};
use acc_core::eval::InverseHyperbolic;
use acc_core::ir::PrimOp;
use half::f16;
use half::slice::HalfFloatSliceExt;

/// The lane of a zero divisor.
pub type Outcome = Result<(), usize>;

#[inline(always)]
fn map1<T: Copy, R>(a: &[T], out: &mut [R], f: impl Fn(T) -> R) {
    for (o, &x) in out.iter_mut().zip(a) {
        *o = f(x);
    }
}

#[inline(always)]
fn map2<T: Lane, R>(a: &[T], b: &[T], out: &mut [R], f: impl Fn(T, T) -> R) {
    for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
        *o = f(x, y);
    }
}

/// The lesser, the first of two zeros; for floats NaN if either is NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "`y != y` is the vectorisable test for NaN, and false for all other types")]
pub fn minimum<T: Lane>(x: T, y: T) -> T {
    if y < x || y != y { y } else { x }
}

/// The greater, the first of two zeros; for floats NaN if either is NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "as in `minimum`")]
pub fn maximum<T: Lane>(x: T, y: T) -> T {
    if y > x || y != y { y } else { x }
}

#[inline(always)]
fn compare<T: Lane>(op: PrimOp, a: &[T], b: &[T], out: &mut Lanes) -> bool {
    let out = bool::of_mut(out);
    match op {
        PrimOp::EqP => map2(a, b, out, |x, y| x == y),
        PrimOp::NeP => map2(a, b, out, |x, y| x != y),
        PrimOp::LtP => map2(a, b, out, |x, y| x < y),
        PrimOp::LeP => map2(a, b, out, |x, y| x <= y),
        PrimOp::GtP => map2(a, b, out, |x, y| x > y),
        PrimOp::GeP => map2(a, b, out, |x, y| x >= y),
        sums!() | extremes!() | bitwise!() | of_integers!() | of_floats!() | unary!() => return false,
    }
    true
}

#[inline(always)]
fn divide<T: Int>(a: &[T], b: &[T], out: &mut [T], f: impl Fn(T, T) -> T) -> Outcome {
    if let Some(k) = b.iter().take(a.len()).position(|&y| y == T::default()) {
        return Err(k);
    }
    map2(a, b, out, f);
    Ok(())
}

#[inline(always)]
fn int_binary<T: Int>(op: PrimOp, a: &[T], b: &[T], out: &mut Lanes) -> Outcome {
    if compare(op, a, b, out) {
        return Ok(());
    }
    let out = T::of_mut(out);
    match op {
        PrimOp::AddP => map2(a, b, out, T::add),
        PrimOp::SubP => map2(a, b, out, T::sub),
        PrimOp::MulP => map2(a, b, out, T::mul),
        PrimOp::QuotP => return divide(a, b, out, T::quot),
        PrimOp::RemP => return divide(a, b, out, T::rem),
        PrimOp::DivFloorP => return divide(a, b, out, T::div_floor),
        PrimOp::ModFloorP => return divide(a, b, out, T::mod_floor),
        PrimOp::MinP => map2(a, b, out, minimum),
        PrimOp::MaxP => map2(a, b, out, maximum),
        PrimOp::AndP => map2(a, b, out, T::and),
        PrimOp::OrP => map2(a, b, out, T::or),
        PrimOp::XorP => map2(a, b, out, T::xor),
        PrimOp::ShlP => map2(a, b, out, T::shl),
        PrimOp::ShrP => map2(a, b, out, T::shr),
        comparisons!() | of_floats!() | unary!() => debug_assert!(false, "{} of integers", op.name()),
    }
    Ok(())
}

#[inline(always)]
fn int_unary<T: Int>(op: PrimOp, a: &[T], out: &mut Lanes) {
    match op {
        PrimOp::NegP => map1(a, T::of_mut(out), T::neg),
        PrimOp::AbsP => map1(a, T::of_mut(out), T::abs),
        PrimOp::SignumP => map1(a, T::of_mut(out), T::signum),
        PrimOp::NotP => map1(a, T::of_mut(out), T::not),
        PrimOp::PopCountP => map1(a, i32::of_mut(out), T::count_ones),
        PrimOp::LeadingZerosP => map1(a, i32::of_mut(out), T::leading_zeros),
        PrimOp::TrailingZerosP => map1(a, i32::of_mut(out), T::trailing_zeros),
        sums!() | extremes!() | bitwise!() | comparisons!() | of_integers!() | of_floats!() | of_a_float!() => {
            debug_assert!(false, "{} of an integer", op.name());
        }
    }
}

macro_rules! float_ops {
    ($binary:ident, $unary:ident, $t:ty) => {
        #[inline(always)]
        fn $binary(op: PrimOp, a: &[$t], b: &[$t], out: &mut Lanes) -> Outcome {
            if compare(op, a, b, out) {
                return Ok(());
            }
            let out = <$t>::of_mut(out);
            match op {
                PrimOp::AddP => map2(a, b, out, |x, y| x + y),
                PrimOp::SubP => map2(a, b, out, |x, y| x - y),
                PrimOp::MulP => map2(a, b, out, |x, y| x * y),
                PrimOp::DivP => map2(a, b, out, |x, y| x / y),
                PrimOp::FmodP => map2(a, b, out, |x, y| x % y),
                PrimOp::MinP => map2(a, b, out, minimum),
                PrimOp::MaxP => map2(a, b, out, maximum),
                PrimOp::PowP => map2(a, b, out, <$t>::powf),
                PrimOp::Atan2P => map2(a, b, out, <$t>::atan2),
                comparisons!() | bitwise!() | of_integers!() | unary!() => {
                    debug_assert!(false, "{} of floats", op.name());
                }
            }
            Ok(())
        }

        #[inline(always)]
        fn $unary(op: PrimOp, a: &[$t], out: &mut Lanes) {
            if op == PrimOp::IsNanP {
                return map1(a, bool::of_mut(out), <$t>::is_nan);
            }
            if op == PrimOp::IsInfiniteP {
                return map1(a, bool::of_mut(out), <$t>::is_infinite);
            }
            let out = <$t>::of_mut(out);
            match op {
                PrimOp::NegP => map1(a, out, |x| -x),
                PrimOp::AbsP => map1(a, out, <$t>::abs),
                PrimOp::SignumP => map1(a, out, |x| {
                    if x > 0.0 {
                        1.0
                    } else if x < 0.0 {
                        -1.0
                    } else {
                        x
                    }
                }),
                PrimOp::SqrtP => map1(a, out, <$t>::sqrt),
                PrimOp::ExpP => map1(a, out, <$t>::exp),
                PrimOp::LnP => map1(a, out, <$t>::ln),
                PrimOp::Log2P => map1(a, out, <$t>::log2),
                PrimOp::Log10P => map1(a, out, <$t>::log10),
                PrimOp::SinP => map1(a, out, <$t>::sin),
                PrimOp::CosP => map1(a, out, <$t>::cos),
                PrimOp::TanP => map1(a, out, <$t>::tan),
                PrimOp::AsinP => map1(a, out, <$t>::asin),
                PrimOp::AcosP => map1(a, out, <$t>::acos),
                PrimOp::AtanP => map1(a, out, <$t>::atan),
                PrimOp::SinhP => map1(a, out, <$t>::sinh),
                PrimOp::CoshP => map1(a, out, <$t>::cosh),
                PrimOp::TanhP => map1(a, out, <$t>::tanh),
                PrimOp::AsinhP => map1(a, out, <$t>::inverse_sinh),
                PrimOp::AcoshP => map1(a, out, <$t>::inverse_cosh),
                PrimOp::AtanhP => map1(a, out, <$t>::inverse_tanh),
                PrimOp::FloorP => map1(a, out, <$t>::floor),
                PrimOp::CeilP => map1(a, out, <$t>::ceil),
                PrimOp::RoundP => map1(a, out, <$t>::round_ties_even),
                PrimOp::TruncP => map1(a, out, <$t>::trunc),
                PrimOp::IsNanP | PrimOp::IsInfiniteP => {}
                sums!() | extremes!() | bitwise!() | comparisons!() | of_integers!() | of_floats!() | of_bits!() => {
                    debug_assert!(false, "{} of a float", op.name());
                }
            }
        }
    };
}
float_ops!(binary_f32, unary_f32, f32);
float_ops!(binary_f64, unary_f64, f64);

/// Lanes of f16 as f32.
fn widened(a: &[f16]) -> Vec<f32> {
    let mut wide = vec![0.0; a.len()];
    a.convert_to_f32_slice(&mut wide);
    wide
}

/// Results in f32, rounded once.
fn narrow(wide: &Lanes, n: usize, out: &mut Lanes) {
    if let (Some(wide), Some(out)) = (f32::of(wide).get(..n), f16::of_mut(out).get_mut(..n)) {
        out.convert_from_f32_slice(wide);
    }
}

fn binary_f16(op: PrimOp, a: &[f16], b: &[f16], out: &mut Lanes) -> Outcome {
    if compare(op, a, b, out) {
        return Ok(());
    }
    let mut wide = Lanes::new(ScalarType::F32, a.len());
    binary_f32(op, &widened(a), &widened(b), &mut wide)?;
    narrow(&wide, a.len(), out);
    Ok(())
}

fn unary_f16(op: PrimOp, a: &[f16], out: &mut Lanes) {
    if op.result_type(ScalarType::F16) == ScalarType::Bool {
        return unary_f32(op, &widened(a), out);
    }
    let mut wide = Lanes::new(ScalarType::F32, a.len());
    unary_f32(op, &widened(a), &mut wide);
    narrow(&wide, a.len(), out);
}

#[inline(always)]
fn bool_binary(op: PrimOp, a: &[bool], b: &[bool], out: &mut Lanes) -> Outcome {
    if compare(op, a, b, out) {
        return Ok(());
    }
    let out = bool::of_mut(out);
    match op {
        PrimOp::AndP | PrimOp::MinP => map2(a, b, out, |x, y| x & y),
        PrimOp::OrP | PrimOp::MaxP => map2(a, b, out, |x, y| x | y),
        PrimOp::XorP => map2(a, b, out, |x, y| x ^ y),
        comparisons!() | sums!() | of_integers!() | of_floats!() | unary!() => {
            debug_assert!(false, "{} of bools", op.name());
        }
    }
    Ok(())
}

#[inline(always)]
fn char_binary(op: PrimOp, a: &[char], b: &[char], out: &mut Lanes) -> Outcome {
    if compare(op, a, b, out) {
        return Ok(());
    }
    let out = char::of_mut(out);
    match op {
        PrimOp::MinP => map2(a, b, out, minimum),
        PrimOp::MaxP => map2(a, b, out, maximum),
        comparisons!() | sums!() | bitwise!() | of_integers!() | of_floats!() | unary!() => {
            debug_assert!(false, "{} of chars", op.name());
        }
    }
    Ok(())
}

#[inline(always)]
fn binary_impl(op: PrimOp, a: ColumnSlice<'_>, b: ColumnSlice<'_>, out: &mut Lanes) -> Outcome {
    use ColumnSlice as C;
    match (a, b) {
        (C::I8(a), C::I8(b)) => int_binary(op, a, b, out),
        (C::I16(a), C::I16(b)) => int_binary(op, a, b, out),
        (C::I32(a), C::I32(b)) => int_binary(op, a, b, out),
        (C::I64(a), C::I64(b)) => int_binary(op, a, b, out),
        (C::U8(a), C::U8(b)) => int_binary(op, a, b, out),
        (C::U16(a), C::U16(b)) => int_binary(op, a, b, out),
        (C::U32(a), C::U32(b)) => int_binary(op, a, b, out),
        (C::U64(a), C::U64(b)) => int_binary(op, a, b, out),
        (C::F16(a), C::F16(b)) => binary_f16(op, a, b, out),
        (C::F32(a), C::F32(b)) => binary_f32(op, a, b, out),
        (C::F64(a), C::F64(b)) => binary_f64(op, a, b, out),
        (C::Bool(a), C::Bool(b)) => bool_binary(op, a, b, out),
        (C::Char(a), C::Char(b)) => char_binary(op, a, b, out),
        _ => {
            debug_assert!(false, "operands of two types");
            Ok(())
        }
    }
}

#[inline(always)]
fn unary_impl(op: PrimOp, a: ColumnSlice<'_>, out: &mut Lanes) {
    use ColumnSlice as C;
    match a {
        C::I8(a) => int_unary(op, a, out),
        C::I16(a) => int_unary(op, a, out),
        C::I32(a) => int_unary(op, a, out),
        C::I64(a) => int_unary(op, a, out),
        C::U8(a) => int_unary(op, a, out),
        C::U16(a) => int_unary(op, a, out),
        C::U32(a) => int_unary(op, a, out),
        C::U64(a) => int_unary(op, a, out),
        C::F16(a) => unary_f16(op, a, out),
        C::F32(a) => unary_f32(op, a, out),
        C::F64(a) => unary_f64(op, a, out),
        C::Bool(a) => map1(a, bool::of_mut(out), |x| !x),
        C::Char(_) => debug_assert!(false, "{} of a char", op.name()),
    }
}

/// A select by bits: loops with branches, or with what compilers make one of, are not vectorised.
trait Chosen: Copy {
    fn chosen(c: bool, x: Self, y: Self) -> Self;
}

macro_rules! chosen_by_bits {
    ($($t:ty, $bits:ty, $to:expr, $from:expr;)*) => {
        $(impl Chosen for $t {
            #[inline(always)]
            fn chosen(c: bool, x: $t, y: $t) -> $t {
                let mask = <$bits>::from(c).wrapping_neg();
                $from(($to(x) & mask) | ($to(y) & !mask))
            }
        })*
    };
    (integers $($t:ty)*) => { chosen_by_bits!($($t, $t, std::convert::identity, std::convert::identity;)*); };
}
chosen_by_bits!(integers i8 i16 i32 i64 u8 u16 u32 u64);
chosen_by_bits!(
    f16, u16, f16::to_bits, f16::from_bits;
    f32, u32, f32::to_bits, f32::from_bits;
    f64, u64, f64::to_bits, f64::from_bits;
);

impl Chosen for bool {
    #[inline(always)]
    fn chosen(c: bool, x: bool, y: bool) -> bool {
        (c & x) | (!c & y)
    }
}

impl Chosen for char {
    #[inline(always)]
    fn chosen(c: bool, x: char, y: char) -> char {
        if c { x } else { y }
    }
}

macro_rules! select_impl {
    ($(($V:ident, $t:ty)),*) => {
        #[inline(always)]
        fn select_impl(c: &[bool], a: ColumnSlice<'_>, b: ColumnSlice<'_>, out: &mut Lanes) {
            match (a, b) {
                $((ColumnSlice::$V(a), ColumnSlice::$V(b)) => {
                    for (((o, &c), &x), &y) in <$t>::of_mut(out).iter_mut().zip(c).zip(a).zip(b) {
                        *o = <$t>::chosen(c, x, y);
                    }
                })*
                _ => debug_assert!(false, "operands of two types"),
            }
        }
    };
}
all_types!(select_impl);

macro_rules! cast_row {
    ($a:ident, $out:ident, $($V:ident $t:ty),*) => {
        match $out {
            $(Lanes::$V(out) => map1($a, out, |x| x as $t),)*
            // No integer beyond the precision of f64 is in the range of f16.
            Lanes::F16(out) => map1($a, out, |x| nearest_f16(x as f64)),
            Lanes::Bool(_) | Lanes::Char(_) => {}
        }
    };
}
macro_rules! cast_impl {
    ($($from:ident),*; $all:tt) => {
        #[inline(always)]
        fn cast_impl(a: ColumnSlice<'_>, out: &mut Lanes) {
            use ColumnSlice as C;
            match a {
                $(C::$from(a) => cast_impl!(@row a, out, $all),)*
                C::U32(a) => match out {
                    Lanes::Char(out) => map1(a, out, |x| char::from_u32(x).unwrap_or(char::REPLACEMENT_CHARACTER)),
                    out => cast_impl!(@row a, out, $all),
                },
                C::F16(a) => cast(C::F32(&widened(a)), out),
                C::Bool(a) => {
                    let mut bits = Lanes::new(ScalarType::U8, a.len());
                    map1(a, u8::of_mut(&mut bits), u8::from);
                    cast(bits.slice(a.len()), out);
                }
                C::Char(a) => map1(a, u32::of_mut(out), u32::from),
            }
        }
    };
    (@row $a:ident, $out:ident, ($($V:ident $t:ty),*)) => { cast_row!($a, $out, $($V $t),*) };
}
cast_impl!(I8, I16, I32, I64, U8, U16, U64, F32, F64;
    (I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64));

/// `out = words[index]`; the last word beyond the table.
pub fn table(words: &[u64], index: &[i64], out: &mut Lanes) {
    let last = words.len().saturating_sub(1);
    map1(index, u64::of_mut(out), |i| words.get(usize::try_from(i).unwrap_or(0).min(last)).copied().unwrap_or(0));
}

#[inline(always)]
fn fma_impl(a: ColumnSlice<'_>, b: ColumnSlice<'_>, c: ColumnSlice<'_>, out: &mut Lanes) {
    #[inline(always)]
    fn each<T: Copy>(a: &[T], b: &[T], c: &[T], out: &mut [T], f: impl Fn(T, T, T) -> T) {
        for (((o, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
            *o = f(x, y, z);
        }
    }
    match (a, b, c) {
        (ColumnSlice::F32(a), ColumnSlice::F32(b), ColumnSlice::F32(c)) => {
            each(a, b, c, f32::of_mut(out), f32::mul_add);
        }
        (ColumnSlice::F64(a), ColumnSlice::F64(b), ColumnSlice::F64(c)) => {
            each(a, b, c, f64::of_mut(out), f64::mul_add);
        }
        _ => debug_assert!(false, "a fused multiply-add of other than floats"),
    }
}

/// The same bits read as another type of the same width.
pub fn bitcast(a: ColumnSlice<'_>, out: &mut Lanes) {
    macro_rules! from {
        ($(($V:ident, $t:ty)),*) => { match a { $(ColumnSlice::$V(a) => to(a, out)),* } };
    }
    fn to<T: Prim>(a: &[T], out: &mut Lanes) {
        macro_rules! into {
            ($(($V:ident, $t:ty)),*) => {
                match out { $(Lanes::$V(out) => map1(a, out, |x| <$t>::from_bits64(x.to_bits64()))),* }
            };
        }
        all_types!(into)
    }
    all_types!(from)
}

multiversion!(
    /// `out = op(a, b)` on the lanes of `a`; the lane of the first zero divisor if there is one.
    binary, binary_impl, (op: PrimOp, a: ColumnSlice<'_>, b: ColumnSlice<'_>, out: &mut Lanes) -> Outcome
);
multiversion!(
    /// `out = op(a)` on the lanes of `a`.
    unary, unary_impl, (op: PrimOp, a: ColumnSlice<'_>, out: &mut Lanes) -> ()
);
multiversion!(
    /// `out = if c { a } else { b }` on the lanes of `c`.
    select, select_impl, (c: &[bool], a: ColumnSlice<'_>, b: ColumnSlice<'_>, out: &mut Lanes) -> ()
);
multiversion!(
    /// `out = a` converted to the type of `out`.
    cast, cast_impl, (a: ColumnSlice<'_>, out: &mut Lanes) -> ()
);
multiversion!(
    /// `out = a * b + c`, rounded once. Without the processor's instruction it takes a function of the C library per lane.
    fma, fma_impl, (a: ColumnSlice<'_>, b: ColumnSlice<'_>, c: ColumnSlice<'_>, out: &mut Lanes) -> ()
);
