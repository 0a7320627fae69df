//! Classes of element types: which operations a type has.
//!
//! They are Accelerate's: every number is [`Num`]; [`Integral`] are the integers; [`Fractional`] has division without
//! remainder, [`Floating`] the elementary functions, [`RealFrac`] rounding to integers, [`RealFloat`] an encoding of
//! sign, exponent and mantissa.

use super::exp::{prim1, prim2};
use crate::api::{Bits, Elt, Exp, ExpOrd, FromScalar, IntoExp, ScalarElt};
use crate::data::nearest_f16;
use crate::ir::PrimOp;
use half::f16;

/// Types with arithmetic: `+ - * /`, and unary `-`.
///
/// Integers wrap. `/` of integers truncates towards zero; a zero divisor is a fault and `MIN / -1 = MIN`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([i32::MAX, -7]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| (x + 1, x / 2)))?.to_vec(), [(i32::MIN, i32::MAX / 2), (-6, -3)]);
///
/// fn square<T: Num>(x: Exp<T>) -> Exp<T> {
///     x * x
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([1.5f64])).map(square))?.to_vec(), [2.25]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic (`Num`)",
    note = "arithmetic is defined for i8..i64, u8..u64, f16, f32, f64, Complex and Ratio; take tuples apart first: `|(a, b)| a + b`"
)]
pub trait Num: Elt<Exp = Exp<Self>> + IntoExp<Self> {
    /// The number as this type, as by Rust's `as`.
    fn from_i64(x: i64) -> Self;
    /// Sum.
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    /// Difference.
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    /// Product.
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    /// Quotient.
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    /// Negation.
    fn neg(a: Exp<Self>) -> Exp<Self>;
}

/// Numbers with an absolute value and a sign: all but complex numbers of integers.
///
/// ```
/// use acc_core::prelude::*;
/// fn distance<T: Signed>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
///     (x - y).abs()
/// }
/// let xs = use_(&Vector::from([1i32, 5]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| distance(x, constant(4))))?.to_vec(), [3, 1]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` has no absolute value and sign (`Signed`)")]
pub trait Signed: Num {
    /// Absolute value.
    fn abs_of(a: Exp<Self>) -> Exp<Self>;
    /// Sign: `x = signum(x) * abs(x)`.
    fn signum_of(a: Exp<Self>) -> Exp<Self>;
}

/// Integer types.
///
/// ```
/// use acc_core::prelude::*;
/// fn half<T: Integral>(x: Exp<T>) -> Exp<T> {
///     x.div_floor(T::from_i64(2))
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([3i8, -3])).map(half))?.to_vec(), [1, -2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer type (`Integral`)",
    note = "for floats use `.floor()`, `.round()`, `.to::<i64>()`"
)]
pub trait Integral: NumScalar + Bits + HasRem {}

/// Numeric scalar types: the source of [`Exp::to`].
///
/// ```
/// use acc_core::prelude::*;
/// fn mean<T: NumScalar>(x: Exp<T>, y: Exp<T>) -> Exp<f64> {
///     (x.to::<f64>() + y.to::<f64>()) / 2.0
/// }
/// let xs = use_(&Vector::from([200u8, 3]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| mean(x, constant(100))))?.to_vec(), [150.0, 51.5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar number (`NumScalar`)",
    note = "scalar numbers are i8..i64, u8..u64, f16, f32 and f64"
)]
pub trait NumScalar: Signed + ScalarElt + ExpOrd + Extremes + FromScalar {}

/// Scalar types with a least and a greatest value.
///
/// ```
/// use acc_core::prelude::*;
/// fn or_least<T: Extremes>(x: Exp<Option<T>>) -> Exp<T> {
///     x.unwrap_or(T::LEAST)
/// }
/// let xs = use_(&Vector::from([Some(1.5f32), None]));
/// assert_eq!(Interpreter::new().run(xs.map(or_least))?.to_vec(), [1.5, f32::NEG_INFINITY]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait Extremes: ScalarElt + ExpOrd {
    /// The least value (floats: negative infinity).
    const LEAST: Self;
    /// The greatest value (floats: infinity).
    const GREATEST: Self;
}

/// Types whose division has no remainder: floats, `Complex` of these, `Ratio`.
///
/// ```
/// use acc_core::prelude::*;
/// fn two_thirds<T: Fractional>(x: Exp<T>) -> Exp<T> {
///     x * from_rational::<T>(2, 3)
/// }
/// let xs = use_(&Vector::from([Ratio::<i64>::new(1, 2)]));
/// assert_eq!(Interpreter::new().run(xs.map(two_thirds))?.to_vec(), [Ratio::<i64>::new(1, 3)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no exact division (`Fractional`)",
    note = "cast first: `x.to::<f64>().recip()`"
)]
pub trait Fractional: Num {
    /// The fraction `numer / denom`, rounded once.
    fn from_ratio(numer: i64, denom: i64) -> Self;
}

/// Types with the remainder `%`, which has the sign of the dividend: integers and floats.
///
/// ```
/// use acc_core::prelude::*;
/// fn last_digit<T: HasRem>(x: Exp<T>) -> Exp<T> {
///     x % T::from_i64(10)
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([27i64, -27])).map(last_digit))?.to_vec(), [7, -7]);
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([12.5f64])).map(last_digit))?.to_vec(), [2.5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` has no remainder (`%`)")]
pub trait HasRem: NumScalar {
    /// The operation: of integers, with a fault where the divisor is zero; of floats, C's `fmod`.
    const REM: PrimOp;
}

macro_rules! num {
    ($div:ident, $rem:ident, |$x:ident| $from:expr; $($t:ty),*) => { $(
        impl Num for $t {
            fn from_i64($x: i64) -> Self { $from }
            #[track_caller]
            fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { prim2(PrimOp::AddP, a, b) }
            #[track_caller]
            fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { prim2(PrimOp::SubP, a, b) }
            #[track_caller]
            fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { prim2(PrimOp::MulP, a, b) }
            #[track_caller]
            fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { prim2(PrimOp::$div, a, b) }
            #[track_caller]
            fn neg(a: Exp<Self>) -> Exp<Self> { prim1(PrimOp::NegP, a) }
        }
        impl Signed for $t {
            #[track_caller]
            fn abs_of(a: Exp<Self>) -> Exp<Self> { prim1(PrimOp::AbsP, a) }
            #[track_caller]
            fn signum_of(a: Exp<Self>) -> Exp<Self> { prim1(PrimOp::SignumP, a) }
        }
        impl NumScalar for $t {}
        impl HasRem for $t {
            const REM: PrimOp = PrimOp::$rem;
        }
    )* };
}
num!(QuotP, RemP, |x| x as Self; i8, i16, i32, i64, u8, u16, u32, u64);
num!(DivP, FmodP, |x| nearest_f16(x as f64); f16);
num!(DivP, FmodP, |x| x as Self; f32, f64);

macro_rules! extremes {
    ($least:ident, $greatest:ident; $($t:ty),*) => { $(
        impl Extremes for $t {
            const LEAST: $t = <$t>::$least;
            const GREATEST: $t = <$t>::$greatest;
        }
    )* };
}
extremes!(MIN, MAX; i8, i16, i32, i64, u8, u16, u32, u64);
extremes!(NEG_INFINITY, INFINITY; f16, f32, f64);
impl Extremes for bool {
    const LEAST: bool = false;
    const GREATEST: bool = true;
}
impl Extremes for char {
    const LEAST: char = '\0';
    const GREATEST: char = char::MAX;
}

macro_rules! integral {
    ($($t:ty),*) => { $(impl Integral for $t {})* };
}
integral!(i8, i16, i32, i64, u8, u16, u32, u64);

/// `numer / denom` in 62 bits or more, of which the last is set if anything was cut off: `(q, k)` stands for `q / 2^k`.
/// Neither is zero.
fn long_quotient(numer: u64, denom: u64) -> (u128, i32) {
    let k = (62 + numer.leading_zeros()).saturating_sub(denom.leading_zeros());
    let (n, d) = (u128::from(numer) << k, u128::from(denom));
    ((n / d) | u128::from(n % d != 0), k as i32)
}

macro_rules! fractional {
    ($($t:ty, |$q:ident, $k:ident| $round:expr;)*) => { $(
        impl Fractional for $t {
            fn from_ratio(numer: i64, denom: i64) -> $t {
                if numer == 0 || denom == 0 {
                    return Self::from_i64(numer.signum()) / Self::from_i64(denom.signum());
                }
                let ($q, $k) = long_quotient(numer.unsigned_abs(), denom.unsigned_abs());
                let magnitude: $t = $round;
                if (numer < 0) != (denom < 0) { -magnitude } else { magnitude }
            }
        }
    )* };
}
fractional! {
    // Fifty bits, the last of which is set if anything was cut off, are exact in f64.
    f16, |q, k| {
        let cut = (128 - q.leading_zeros()).saturating_sub(50);
        let top = (q >> cut) | u128::from(q & ((1 << cut) - 1) != 0);
        nearest_f16(top as f64 * 2f64.powi(cut as i32 - k))
    };
    f32, |q, k| q as f32 * 2f32.powi(-k);
    f64, |q, k| q as f64 * 2f64.powi(-k);
}
