//! Operations of floats alone, and their encoding.

use super::compare::choose;
use crate::api::types::exp::{prim1, prim2};
use crate::api::{Exp, Floating, Integral, IntoExp, NumScalar, RealFrac, bit, bitcast, constant};
use crate::ir::PrimOp;
use half::f16;

/// Floats: `f16`, `f32`, `f64`.
///
/// ```
/// use acc_core::prelude::*;
/// fn or_zero<T: RealFloat>(x: Exp<T>) -> Exp<T> {
///     cond(x.is_nan(), T::from_i64(0), x)
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([1.5f32, f32::NAN])).map(or_zero))?.to_vec(), [1.5, 0.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not a float (`RealFloat`)")]
pub trait RealFloat: Floating + RealFrac + NumScalar {
    /// Digits of the mantissa in base 2, the first one included.
    const DIGITS: i64;
    /// One more than the greatest exponent `e` of a number `1.xyz * 2^e`.
    const MAX_EXPONENT: i64;
    #[doc(hidden)]
    fn encoding(x: Exp<Self>) -> Exp<i64>;
    #[doc(hidden)]
    fn encoded(bits: Exp<i64>) -> Exp<Self>;
    #[doc(hidden)]
    fn scaled(x: Exp<Self>, by: Exp<i64>) -> Exp<Self>;
}

macro_rules! floats {
    ($t:ty, $bits:ty, $digits:literal, $max:literal, $scaled:expr) => {
        impl RealFrac for $t {
            #[track_caller]
            fn whole(x: Exp<$t>) -> Exp<$t> {
                prim1(PrimOp::TruncP, x)
            }
            #[track_caller]
            fn down(x: Exp<$t>) -> Exp<$t> {
                prim1(PrimOp::FloorP, x)
            }
            #[track_caller]
            fn up(x: Exp<$t>) -> Exp<$t> {
                prim1(PrimOp::CeilP, x)
            }
            #[track_caller]
            fn nearest(x: Exp<$t>) -> Exp<$t> {
                prim1(PrimOp::RoundP, x)
            }
            #[track_caller]
            fn integer<B: Integral>(x: Exp<$t>) -> Exp<B> {
                x.to()
            }
        }
        impl RealFloat for $t {
            const DIGITS: i64 = $digits;
            const MAX_EXPONENT: i64 = $max;
            #[track_caller]
            fn encoding(x: Exp<$t>) -> Exp<i64> {
                bitcast::<$t, $bits>(x).to()
            }
            #[track_caller]
            fn encoded(bits: Exp<i64>) -> Exp<$t> {
                bitcast::<$bits, $t>(bits.to::<$bits>())
            }
            #[track_caller]
            fn scaled(x: Exp<$t>, by: Exp<i64>) -> Exp<$t> {
                $scaled(x, by)
            }
        }
    };
}
// Every f16 times a power of two is an f32, or out of the range of f16.
floats!(f16, u16, 11, 16, |x: Exp<f16>, by| scale(x.to::<f32>(), by).to::<f16>());
floats!(f32, u32, 24, 128, scale);
floats!(f64, u64, 53, 1024, scale);

/// `x * 2^by`, rounded once.
#[track_caller]
fn scale<T: RealFloat>(x: Exp<T>, by: Exp<i64>) -> Exp<T> {
    // Three factors that are normal numbers reach from the greatest number to below the least. The first two keep what
    // may become subnormal `DIGITS` away from that, so that only one product rounds, or all is lost anyway.
    let (least, greatest) = (2 - T::MAX_EXPONENT, T::MAX_EXPONENT - 1);
    let factor = |e: Exp<i64>| T::encoded((e + greatest).shift_left(T::DIGITS - 1));
    let part = |e: Exp<i64>| choose(e.lt(least), constant(least + T::DIGITS), e.min(greatest));
    let first = part(by);
    let second = part(by - first);
    let third = (by - first - second).clamp(least, greatest);
    T::mul(T::mul(T::mul(x, factor(first)), factor(second)), factor(third))
}

impl<T: RealFloat> Exp<T> {
    /// Base-2 logarithm; of 0 negative infinity, of a negative number NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([8.0f64, 0.25, 0.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.log2()))?.to_vec(), [3.0, -2.0, f64::NEG_INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn log2(self) -> Exp<T> {
        prim1(PrimOp::Log2P, self)
    }
    /// Base-10 logarithm; of 0 negative infinity, of a negative number NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1000.0f64, 1.0, 0.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.log10()))?.to_vec(), [3.0, 0.0, f64::NEG_INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn log10(self) -> Exp<T> {
        prim1(PrimOp::Log10P, self)
    }
    /// The angle of the point `(other, self)`, in radians.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, -1.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.atan2(0.0)))?.to_vec(), [std::f64::consts::FRAC_PI_2, -std::f64::consts::FRAC_PI_2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn atan2(self, other: impl IntoExp<T>) -> Exp<T> {
        prim2(PrimOp::Atan2P, self, other.into_exp())
    }
    /// Rounded to nearest, ties away from zero.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.5f64, -2.5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.round_half_away()))?.to_vec(), [1.0, -3.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn round_half_away(self) -> Exp<T> {
        // Adding a half would round up the largest value below one half; comparing the fraction does not.
        let whole = self.trunc();
        let fraction = T::sub(self, whole).abs();
        choose(fraction.ge(T::from_f64(0.5)), T::add(whole, self.signum()), whole)
    }
    /// Whether it is NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, f64::NAN]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_nan()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_nan(self) -> Exp<bool> {
        prim1(PrimOp::IsNanP, self)
    }
    /// Whether it is an infinity.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, f64::INFINITY]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_infinite()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_infinite(self) -> Exp<bool> {
        prim1(PrimOp::IsInfiniteP, self)
    }
    /// Whether it is subnormal: a number other than zero that is too small for a mantissa of full length.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([f64::MIN_POSITIVE, f64::MIN_POSITIVE / 2.0, 0.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_denormalized()))?.to_vec(), [false, true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_denormalized(self) -> Exp<bool> {
        let Parts { field, fraction, .. } = self.parts();
        field.eq(0) & fraction.ne(0)
    }
    /// Whether it is `-0.0`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, -0.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_negative_zero()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_negative_zero(self) -> Exp<bool> {
        let Parts { negative, field, fraction } = self.parts();
        negative & (field | fraction).eq(0)
    }
    /// Whether the type is one of IEEE 754: true of every float.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert!(Interpreter::new().run(unit(constant(f16::ONE).is_ieee()))?.value());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_ieee(self) -> Exp<bool> {
        constant(true)
    }
    /// The base of the encoding: 2.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Interpreter::new().run(unit(constant(1.0f32).float_radix()))?.value(), 2);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn float_radix(self) -> Exp<i64> {
        constant(2)
    }
    /// The number of binary digits of the mantissa, the first one included.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let digits = (constant(1.0f32).float_digits(), constant(1.0f64).float_digits());
    /// assert_eq!(Interpreter::new().run(unit(digits))?.value(), (24, 53));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn float_digits(self) -> Exp<i64> {
        constant(T::DIGITS)
    }
    /// The least and the greatest exponent that [`exponent`](Exp::exponent) gives for a normal number.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (least, greatest) = (constant(f32::MIN_POSITIVE), constant(f32::MAX));
    /// let exponents = unit((least.float_range(), least.exponent(), greatest.exponent()));
    /// assert_eq!(Interpreter::new().run(exponents)?.value(), ((-125, 128), -125, 128));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn float_range(self) -> (Exp<i64>, Exp<i64>) {
        (constant(3 - T::MAX_EXPONENT), constant(T::MAX_EXPONENT))
    }

    #[track_caller]
    fn parts(self) -> Parts {
        let bits = T::encoding(self);
        let field = bits.shift_right(T::DIGITS - 1) & (2 * T::MAX_EXPONENT - 1);
        let negative = bits.test_bit(sign_bit::<T>());
        Parts { negative, field, fraction: bits & ((1 << (T::DIGITS - 1)) - 1) }
    }

    /// The magnitude of the mantissa, of `DIGITS` digits unless it is 0, and the exponent.
    #[track_caller]
    fn magnitude_and_exponent(self) -> (Exp<bool>, Exp<i64>, Exp<i64>) {
        let Parts { negative, field, fraction } = self.parts();
        let least = 3 - T::MAX_EXPONENT - T::DIGITS;
        let missing = fraction.leading_zeros().to::<i64>() - (64 - T::DIGITS);
        let subnormal = (fraction.shift_left(missing), constant(least) - missing);
        let normal = (fraction | (1 << (T::DIGITS - 1)), field + (least - 1));
        let tiny = field.eq(0);
        let exponent = choose(tiny, choose(fraction.eq(0), constant(0), subnormal.1), normal.1);
        (negative, choose(tiny, subnormal.0, normal.0), exponent)
    }

    /// Mantissa `m` and exponent `e`, of type `i64` both, with `x = m * 2^e`; the mantissa has `float_digits` digits unless it is 0. Of
    /// infinities and NaN what their encoding says, read as a number's.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.75f32]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.decode_float()))?.to_vec(), [(12_582_912, -24)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn decode_float(self) -> (Exp<i64>, Exp<i64>) {
        let (negative, magnitude, exponent) = self.magnitude_and_exponent();
        (choose(negative, -magnitude, magnitude), exponent)
    }
    /// The exponent `e`, an `i64` whatever the type, with `x = significand(x) * 2^e`; of zero 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.75f64, 1.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.exponent()))?.to_vec(), [0, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn exponent(self) -> Exp<i64> {
        let (_, magnitude, exponent) = self.magnitude_and_exponent();
        choose(magnitude.eq(0), constant(0), exponent + T::DIGITS)
    }
    /// The number scaled to a magnitude from 0.5 up to but without 1; zeros, infinities and NaN as they are.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([12.0f64]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.significand()))?.to_vec(), [0.75]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn significand(self) -> Exp<T> {
        let (negative, magnitude, _) = self.magnitude_and_exponent();
        let fraction = magnitude & ((1 << (T::DIGITS - 1)) - 1);
        let sign = choose(negative, bit::<i64>(sign_bit::<T>()), constant(0));
        let half = T::encoded(fraction | sign | ((T::MAX_EXPONENT - 2) << (T::DIGITS - 1)));
        let special = magnitude.eq(0) | self.is_nan() | self.is_infinite();
        choose(special, self, half)
    }
    /// `x * 2^by`, rounded once.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.5f64]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.scale_float(3)))?.to_vec(), [12.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scale_float(self, by: impl IntoExp<i64>) -> Exp<T> {
        T::scaled(self, by.into_exp())
    }
}

/// Sign, exponent field and fraction of an encoding.
struct Parts {
    negative: Exp<bool>,
    field: Exp<i64>,
    fraction: Exp<i64>,
}

/// The position of the sign: above the fraction and the exponent field, which counts to twice the greatest exponent.
fn sign_bit<T: RealFloat>() -> i64 {
    T::DIGITS - 1 + i64::from((2 * T::MAX_EXPONENT).trailing_zeros())
}

/// `mantissa * 2^exponent`, rounded once: an infinity where it is too large, subnormal or zero where too small.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([3i64, 1 << 52]));
/// let scaled = xs.map(|m| (encode_float::<f64>(m, 4), encode_float::<f64>(m, -1126)));
/// assert_eq!(Interpreter::new().run(scaled)?.to_vec(), [(48.0, 0.0), (2f64.powi(56), 5e-324)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn encode_float<T: RealFloat>(mantissa: impl IntoExp<i64>, exponent: impl IntoExp<i64>) -> Exp<T> {
    let (mantissa, exponent) = (mantissa.into_exp(), exponent.into_exp().clamp(-1 << 20, 1 << 20));
    let magnitude = bitcast::<i64, u64>(mantissa.abs());
    // Shifted up until the first digit is the first of 64 bits; its exponent, biased.
    let leading = magnitude.leading_zeros().to::<i64>();
    let full = magnitude.shift_left(leading);
    let biased = exponent - leading + (63 + T::MAX_EXPONENT - 1);
    // What does not fit is rounded off, to even; of subnormal numbers more than of others.
    let normal = biased.ge(1);
    let drop = (choose(normal, constant(0), constant(1) - biased) + (64 - T::DIGITS)).min(65);
    let kept = full.shift_right(drop);
    let rest = full - kept.shift_left(drop);
    let half = bit::<u64>(drop - 1);
    let up = drop.le(64) & (rest.gt(half) | (rest.eq(half) & kept.odd()));
    let digits = bitcast::<u64, i64>(kept) + up.to_num::<i64>();
    // The first digit of a normal number is not stored; added to the exponent field, it makes it one more.
    let field = choose(normal, biased - 1, constant(0)).shift_left(T::DIGITS - 1);
    let infinity = (2 * T::MAX_EXPONENT - 1) << (T::DIGITS - 1);
    let bits = choose(biased.gt(2 * T::MAX_EXPONENT - 2), constant(infinity), field + digits);
    let bits = choose(mantissa.eq(0), constant(0), bits);
    T::encoded(choose(mantissa.lt(0), bits | bit::<i64>(sign_bit::<T>()), bits))
}
