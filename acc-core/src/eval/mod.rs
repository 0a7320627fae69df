//! The meaning of primitive operations and conversions on literals.
//!
//! This is the specification that constant folding and every backend are held to; the rules are in the documentation
//! of [`PrimOp`], [`cast_exists`] and [`bitcast_exists`].

mod inverse_hyperbolic;

pub use inverse_hyperbolic::InverseHyperbolic;

use crate::data::{Lit, Prim, ScalarType, nearest_f16};
use crate::ir::{PrimOp, bitcast_exists, cast_exists};
use half::f16;

/// Why an operation has no value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PrimError {
    /// The divisor of an integer division or remainder is zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// The number or the types of the operands do not fit; a verified program has no such operation.
    #[error("the operation does not take operands of these types")]
    IllTyped,
}

/// The value of a primitive operation.
///
/// ```
/// use acc_core::data::Prim;
/// use acc_core::eval::{PrimError, eval_prim};
/// use acc_core::ir::PrimOp;
///
/// assert_eq!(eval_prim(PrimOp::QuotP, &[i32::MIN.lit(), (-1i32).lit()]), Ok(i32::MIN.lit()));
/// assert_eq!(eval_prim(PrimOp::QuotP, &[7i32.lit(), 0i32.lit()]), Err(PrimError::DivisionByZero));
/// ```
pub fn eval_prim(op: PrimOp, args: &[Lit]) -> Result<Lit, PrimError> {
    // The second operand of a unary operation is never looked at.
    let (x, y) = match (op.arity(), args) {
        (1, &[x]) => (x, x),
        (2, &[x, y]) if x.ty == y.ty => (x, y),
        _ => return Err(PrimError::IllTyped),
    };
    macro_rules! typed {
        ($f:ident, $t:ty) => {
            $f(op, <$t>::from_bits64(x.bits), <$t>::from_bits64(y.bits))
        };
    }
    match x.ty {
        ScalarType::I8 => typed!(on_i8, i8),
        ScalarType::I16 => typed!(on_i16, i16),
        ScalarType::I32 => typed!(on_i32, i32),
        ScalarType::I64 => typed!(on_i64, i64),
        ScalarType::U8 => typed!(on_u8, u8),
        ScalarType::U16 => typed!(on_u16, u16),
        ScalarType::U32 => typed!(on_u32, u32),
        ScalarType::U64 => typed!(on_u64, u64),
        ScalarType::F16 => typed!(on_f16, f16),
        ScalarType::F32 => typed!(on_f32, f32),
        ScalarType::F64 => typed!(on_f64, f64),
        ScalarType::Bool => typed!(on_bool, bool),
        ScalarType::Char => typed!(on_char, char),
    }
}

macro_rules! on_int {
    ($name:ident, $t:ty, $abs:expr, $signum:expr) => {
        #[allow(unused_comparisons, reason = "`x < 0` of an unsigned type: one text for all integers")]
        fn $name(op: PrimOp, x: $t, y: $t) -> Result<Lit, PrimError> {
            use PrimOp as P;
            let divisor = || if y == 0 { Err(PrimError::DivisionByZero) } else { Ok(y) };
            // The amount of a shift, if it is within the width.
            let amount = || u32::try_from(y).ok().filter(|&k| k < <$t>::BITS);
            Ok(match op {
                P::AddP => x.wrapping_add(y).lit(),
                P::SubP => x.wrapping_sub(y).lit(),
                P::MulP => x.wrapping_mul(y).lit(),
                P::QuotP => x.wrapping_div(divisor()?).lit(),
                P::RemP => x.wrapping_rem(divisor()?).lit(),
                P::DivFloorP => {
                    let (q, r) = (x.wrapping_div(divisor()?), x.wrapping_rem(y));
                    (if r != 0 && (r < 0) != (y < 0) { q.wrapping_sub(1) } else { q }).lit()
                }
                P::ModFloorP => {
                    let r = x.wrapping_rem(divisor()?);
                    (if r != 0 && (r < 0) != (y < 0) { r.wrapping_add(y) } else { r }).lit()
                }
                P::MinP => x.min(y).lit(),
                P::MaxP => x.max(y).lit(),
                P::AndP => (x & y).lit(),
                P::OrP => (x | y).lit(),
                P::XorP => (x ^ y).lit(),
                P::ShlP => amount().map_or(0, |k| x << k).lit(),
                P::ShrP => amount().map_or(if x < 0 { !0 } else { 0 }, |k| x >> k).lit(),
                P::EqP => (x == y).lit(),
                P::NeP => (x != y).lit(),
                P::LtP => (x < y).lit(),
                P::LeP => (x <= y).lit(),
                P::GtP => (x > y).lit(),
                P::GeP => (x >= y).lit(),
                P::NegP => x.wrapping_neg().lit(),
                P::AbsP => $abs(x).lit(),
                P::SignumP => $signum(x).lit(),
                P::NotP => (!x).lit(),
                P::PopCountP => (x.count_ones() as i32).lit(),
                P::LeadingZerosP => (x.leading_zeros() as i32).lit(),
                P::TrailingZerosP => (x.trailing_zeros() as i32).lit(),
                P::DivP
                | P::FmodP
                | P::PowP
                | P::Atan2P
                | P::SqrtP
                | P::ExpP
                | P::LnP
                | P::Log2P
                | P::Log10P
                | P::SinP
                | P::CosP
                | P::TanP
                | P::AsinP
                | P::AcosP
                | P::AtanP
                | P::SinhP
                | P::CoshP
                | P::TanhP
                | P::AsinhP
                | P::AcoshP
                | P::AtanhP
                | P::FloorP
                | P::CeilP
                | P::RoundP
                | P::TruncP
                | P::IsNanP
                | P::IsInfiniteP => return Err(PrimError::IllTyped),
            })
        }
    };
}
on_int!(on_i8, i8, i8::wrapping_abs, i8::signum);
on_int!(on_i16, i16, i16::wrapping_abs, i16::signum);
on_int!(on_i32, i32, i32::wrapping_abs, i32::signum);
on_int!(on_i64, i64, i64::wrapping_abs, i64::signum);
on_int!(on_u8, u8, |x: u8| x, |x: u8| x.min(1));
on_int!(on_u16, u16, |x: u16| x, |x: u16| x.min(1));
on_int!(on_u32, u32, |x: u32| x, |x: u32| x.min(1));
on_int!(on_u64, u64, |x: u64| x, |x: u64| x.min(1));

macro_rules! on_float {
    ($name:ident, $t:ty) => {
        fn $name(op: PrimOp, x: $t, y: $t) -> Result<Lit, PrimError> {
            use PrimOp as P;
            Ok(match op {
                P::AddP => (x + y).lit(),
                P::SubP => (x - y).lit(),
                P::MulP => (x * y).lit(),
                P::DivP => (x / y).lit(),
                P::FmodP => (x % y).lit(),
                // NaN if either is; the first of two equal operands, so of two zeros.
                P::MinP => (if x.is_nan() || x <= y { x } else { y }).lit(),
                P::MaxP => (if x.is_nan() || x >= y { x } else { y }).lit(),
                P::PowP => x.powf(y).lit(),
                P::Atan2P => x.atan2(y).lit(),
                P::EqP => (x == y).lit(),
                P::NeP => (x != y).lit(),
                P::LtP => (x < y).lit(),
                P::LeP => (x <= y).lit(),
                P::GtP => (x > y).lit(),
                P::GeP => (x >= y).lit(),
                P::NegP => (-x).lit(),
                P::AbsP => x.abs().lit(),
                P::SignumP => (if x.is_nan() || x == 0.0 { x } else { x.signum() }).lit(),
                P::SqrtP => x.sqrt().lit(),
                P::ExpP => x.exp().lit(),
                P::LnP => x.ln().lit(),
                P::Log2P => x.log2().lit(),
                P::Log10P => x.log10().lit(),
                P::SinP => x.sin().lit(),
                P::CosP => x.cos().lit(),
                P::TanP => x.tan().lit(),
                P::AsinP => x.asin().lit(),
                P::AcosP => x.acos().lit(),
                P::AtanP => x.atan().lit(),
                P::SinhP => x.sinh().lit(),
                P::CoshP => x.cosh().lit(),
                P::TanhP => x.tanh().lit(),
                P::AsinhP => x.inverse_sinh().lit(),
                P::AcoshP => x.inverse_cosh().lit(),
                P::AtanhP => x.inverse_tanh().lit(),
                P::FloorP => x.floor().lit(),
                P::CeilP => x.ceil().lit(),
                P::RoundP => x.round_ties_even().lit(),
                P::TruncP => x.trunc().lit(),
                P::IsNanP => x.is_nan().lit(),
                P::IsInfiniteP => x.is_infinite().lit(),
                P::QuotP
                | P::RemP
                | P::DivFloorP
                | P::ModFloorP
                | P::AndP
                | P::OrP
                | P::XorP
                | P::ShlP
                | P::ShrP
                | P::NotP
                | P::PopCountP
                | P::LeadingZerosP
                | P::TrailingZerosP => return Err(PrimError::IllTyped),
            })
        }
    };
}
on_float!(on_f32, f32);
on_float!(on_f64, f64);

/// In f32, rounded once.
fn on_f16(op: PrimOp, x: f16, y: f16) -> Result<Lit, PrimError> {
    let wide = on_f32(op, x.to_f32(), y.to_f32())?;
    Ok(wide.get::<f32>().map_or(wide, |r| f16::from_f32(r).lit()))
}

macro_rules! on_ordered {
    ($name:ident, $t:ty, |$x:ident, $y:ident| $and:expr, $or:expr, $xor:expr, $not:expr) => {
        fn $name(op: PrimOp, $x: $t, $y: $t) -> Result<Lit, PrimError> {
            use PrimOp as P;
            match op {
                P::MinP => Ok($x.min($y).lit()),
                P::MaxP => Ok($x.max($y).lit()),
                P::EqP => Ok(($x == $y).lit()),
                P::NeP => Ok(($x != $y).lit()),
                P::LtP => Ok(($x < $y).lit()),
                P::LeP => Ok(($x <= $y).lit()),
                P::GtP => Ok(($x > $y).lit()),
                P::GeP => Ok(($x >= $y).lit()),
                P::AndP => $and,
                P::OrP => $or,
                P::XorP => $xor,
                P::NotP => $not,
                P::AddP
                | P::SubP
                | P::MulP
                | P::DivP
                | P::QuotP
                | P::RemP
                | P::DivFloorP
                | P::ModFloorP
                | P::FmodP
                | P::PowP
                | P::Atan2P
                | P::ShlP
                | P::ShrP
                | P::NegP
                | P::AbsP
                | P::SignumP
                | P::PopCountP
                | P::LeadingZerosP
                | P::TrailingZerosP
                | P::SqrtP
                | P::ExpP
                | P::LnP
                | P::Log2P
                | P::Log10P
                | P::SinP
                | P::CosP
                | P::TanP
                | P::AsinP
                | P::AcosP
                | P::AtanP
                | P::SinhP
                | P::CoshP
                | P::TanhP
                | P::AsinhP
                | P::AcoshP
                | P::AtanhP
                | P::FloorP
                | P::CeilP
                | P::RoundP
                | P::TruncP
                | P::IsNanP
                | P::IsInfiniteP => Err(PrimError::IllTyped),
            }
        }
    };
}
on_ordered!(on_bool, bool, |x, y| Ok((x & y).lit()), Ok((x | y).lit()), Ok((x ^ y).lit()), Ok((!x).lit()));
on_ordered!(
    on_char,
    char,
    |x, y| Err(PrimError::IllTyped),
    Err(PrimError::IllTyped),
    Err(PrimError::IllTyped),
    Err(PrimError::IllTyped)
);

/// The value converted to another type, as by Rust's `as`.
///
/// ```
/// use acc_core::data::{Prim, ScalarType};
/// use acc_core::eval::eval_cast;
///
/// assert_eq!(eval_cast(300i32.lit(), ScalarType::U8), Ok(44u8.lit()));
/// assert_eq!(eval_cast(1e10f32.lit(), ScalarType::I32), Ok(i32::MAX.lit()));
/// ```
pub fn eval_cast(x: Lit, to: ScalarType) -> Result<Lit, PrimError> {
    if !cast_exists(x.ty, to) {
        return Err(PrimError::IllTyped);
    }
    if to == ScalarType::Char {
        return Ok(char::from_u32(x.bits as u32).unwrap_or(char::REPLACEMENT_CHARACTER).lit());
    }
    // Every integer fits an `i128`, and converting from there rounds and wraps as from the type itself.
    macro_rules! convert {
        ($x:expr) => {{
            let x = $x;
            match to {
                ScalarType::I8 => (x as i8).lit(),
                ScalarType::I16 => (x as i16).lit(),
                ScalarType::I32 => (x as i32).lit(),
                ScalarType::I64 => (x as i64).lit(),
                ScalarType::U8 => (x as u8).lit(),
                ScalarType::U16 => (x as u16).lit(),
                ScalarType::U32 => (x as u32).lit(),
                ScalarType::U64 => (x as u64).lit(),
                // No integer beyond the precision of f64 is in the range of f16.
                ScalarType::F16 => nearest_f16(x as f64).lit(),
                ScalarType::F32 => (x as f32).lit(),
                ScalarType::F64 => (x as f64).lit(),
                ScalarType::Bool | ScalarType::Char => return Err(PrimError::IllTyped),
            }
        }};
    }
    Ok(match x.ty {
        ScalarType::F16 => convert!(f16::from_bits64(x.bits).to_f32()),
        ScalarType::F32 => convert!(f32::from_bits64(x.bits)),
        ScalarType::F64 => convert!(f64::from_bits64(x.bits)),
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => convert!(x.bits as i64 as i128),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 | ScalarType::Bool | ScalarType::Char => {
            convert!(x.bits as i128)
        }
    })
}

/// The same bits read as another type of the same width.
pub fn eval_bitcast(x: Lit, to: ScalarType) -> Result<Lit, PrimError> {
    if !bitcast_exists(x.ty, to) {
        return Err(PrimError::IllTyped);
    }
    // A literal's integer is extended to 64 bits: cut it to its width, then extend it as the new type wants.
    let unused = 64 - to.bits();
    let raw = x.bits << unused;
    let bits = if to.is_signed() { ((raw as i64) >> unused) as u64 } else { raw >> unused };
    Ok(Lit { ty: to, bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrimOp as P;

    fn bin<T: Prim>(op: P, x: T, y: T) -> Lit {
        eval_prim(op, &[x.lit(), y.lit()]).unwrap()
    }
    fn un<T: Prim>(op: P, x: T) -> Lit {
        eval_prim(op, &[x.lit()]).unwrap()
    }

    /// E-IN-01 to E-IN-05.
    #[test]
    fn division_truncates_or_floors() {
        for (x, y, want) in [
            (7, 2, [3, 1, 3, 1]),
            (-7, 2, [-3, -1, -4, 1]),
            (7, -2, [-3, 1, -4, -1]),
            (-7, -2, [3, -1, 3, -1]),
            (-6, 3, [-2, 0, -2, 0]),
        ] {
            for (op, w) in [P::QuotP, P::RemP, P::DivFloorP, P::ModFloorP].into_iter().zip(want) {
                assert_eq!(bin(op, x, y), w.lit(), "{} {x} {y}", op.name());
            }
        }
    }

    /// E-IN-07, E-IN-08, E-IN-09.
    #[test]
    fn division_by_zero_and_of_min_by_minus_one() {
        for op in [P::QuotP, P::RemP, P::DivFloorP, P::ModFloorP] {
            assert_eq!(eval_prim(op, &[5u8.lit(), 0u8.lit()]), Err(PrimError::DivisionByZero));
            let want = if matches!(op, P::QuotP | P::DivFloorP) { i64::MIN } else { 0 };
            assert_eq!(bin(op, i64::MIN, -1), want.lit());
        }
    }

    /// E-IN-10 to E-IN-14.
    #[test]
    fn integers_wrap() {
        assert_eq!(bin(P::AddP, 127i8, 1), (-128i8).lit());
        assert_eq!(bin(P::SubP, 0u8, 1), 255u8.lit());
        assert_eq!(un(P::NegP, i16::MIN), i16::MIN.lit());
        assert_eq!(un(P::AbsP, i32::MIN), i32::MIN.lit());
        assert_eq!(un(P::NegP, 1u8), 255u8.lit());
        assert_eq!(un(P::SignumP, 9u16), 1u16.lit());
    }

    /// E-BT-01 to E-BT-04.
    #[test]
    fn shifts_saturate() {
        assert_eq!(bin(P::ShlP, 1i64, 64), 0i64.lit());
        assert_eq!(bin(P::ShlP, 1u8, 8), 0u8.lit());
        assert_eq!(bin(P::ShrP, -8i32, 100), (-1i32).lit());
        assert_eq!(bin(P::ShrP, -8i32, 1), (-4i32).lit());
        assert_eq!(bin(P::ShrP, 200u8, 7), 1u8.lit());
        assert_eq!(bin(P::ShlP, 1i32, -1), 0i32.lit());
        assert_eq!(bin(P::ShrP, -8i32, -1), (-1i32).lit());
        assert_eq!(bin(P::ShrP, 8i32, -1), 0i32.lit());
    }

    /// E-CV-01 to E-CV-04, E-FP-03 to E-FP-07.
    #[test]
    fn floats() {
        for (x, want) in [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-1.5, -2.0), (-2.5, -2.0), (2.7, 3.0)] {
            assert_eq!(un(P::RoundP, x), want.lit());
        }
        for op in [P::MinP, P::MaxP] {
            assert!(bin(op, f32::NAN, 1.0).get::<f32>().is_some_and(f32::is_nan));
            assert!(bin(op, 1.0, f32::NAN).get::<f32>().is_some_and(f32::is_nan));
        }
        assert_eq!(un(P::SignumP, -0.0f64), (-0.0f64).lit());
        assert!(un(P::SignumP, f64::NAN).get::<f64>().is_some_and(f64::is_nan));
        assert_eq!(un(P::AbsP, -0.0f64), 0.0f64.lit());
        assert_eq!(bin(P::PowP, 0.0, 0.0), 1.0.lit());
        assert_eq!(bin(P::Atan2P, 0.0, -1.0), std::f64::consts::PI.lit());
    }

    /// E-CV-06, E-CV-07, E-CV-10 to E-CV-15.
    #[test]
    fn casts_are_those_of_rust() {
        assert_eq!(eval_cast(f32::NAN.lit(), ScalarType::I32), Ok(0i32.lit()));
        assert_eq!(eval_cast((-1.7f64).lit(), ScalarType::U8), Ok(0u8.lit()));
        assert_eq!(eval_cast(200i32.lit(), ScalarType::I8), Ok((-56i8).lit()));
        assert_eq!(eval_cast((-1i8).lit(), ScalarType::U64), Ok(u64::MAX.lit()));
        assert_eq!(eval_cast(u64::MAX.lit(), ScalarType::F32), Ok((u64::MAX as f32).lit()));
        assert_eq!(eval_cast(16777217i32.lit(), ScalarType::F32), Ok(16777216f32.lit()));
        assert_eq!(eval_cast(1e300f64.lit(), ScalarType::F32), Ok(f32::INFINITY.lit()));
        assert_eq!(eval_cast('a'.lit(), ScalarType::U32), Ok(97u32.lit()));
        assert_eq!(eval_cast(0xD800u32.lit(), ScalarType::Char), Ok(char::REPLACEMENT_CHARACTER.lit()));
        assert_eq!(eval_cast(true.lit(), ScalarType::F64), Ok(1f64.lit()));
        assert_eq!(eval_cast(1i32.lit(), ScalarType::Bool), Err(PrimError::IllTyped));
    }

    #[test]
    fn bitcasts_extend_as_the_target_wants() {
        assert_eq!(eval_bitcast(1f32.lit(), ScalarType::U32), Ok(0x3F80_0000u32.lit()));
        assert_eq!(eval_bitcast(1i64.lit(), ScalarType::F64), Ok(5e-324f64.lit()));
        assert_eq!(eval_bitcast((-1i8).lit(), ScalarType::U8), Ok(255u8.lit()));
        assert_eq!(eval_bitcast(255u8.lit(), ScalarType::I8), Ok((-1i8).lit()));
        assert_eq!(eval_bitcast((-1.0f32).lit(), ScalarType::I32), Ok((0xBF80_0000u32 as i32).lit()));
        assert_eq!(eval_bitcast(1i32.lit(), ScalarType::I64), Err(PrimError::IllTyped));
    }

    /// What the verifier accepts has a value, and of the stated type.
    #[test]
    fn every_operation_has_a_value_on_its_domain() {
        for &op in P::ALL {
            for &ty in ScalarType::ALL {
                let args = vec![Lit::one(ty); op.arity()];
                match eval_prim(op, &args) {
                    Ok(l) => assert_eq!((true, op.result_type(ty)), (op.domain().contains(ty), l.ty), "{}", op.name()),
                    Err(_) => assert!(!op.domain().contains(ty), "{} on {ty}", op.name()),
                }
            }
        }
        for &from in ScalarType::ALL {
            for &to in ScalarType::ALL {
                assert_eq!(eval_cast(Lit::one(from), to).is_ok(), cast_exists(from, to));
                assert_eq!(eval_bitcast(Lit::one(from), to).is_ok(), bitcast_exists(from, to));
            }
        }
    }
}
