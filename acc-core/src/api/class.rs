//! Classes of scalar types: which operations a type has.

use super::elt::{Elt, ScalarElt};
use super::exp::{Exp, IntoExp, prim1, prim2};
use crate::data::nearest_f16;
use crate::ir::PrimOp;
use half::f16;

/// Types with arithmetic: `+ - * /` and unary `-`.
///
/// Integers wrap. `/` of integers truncates towards zero; a zero divisor is a fault and `MIN / -1 = MIN`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic (`Num`)",
    note = "arithmetic is defined for i8..i64, u8..u64, f16, f32, f64 and Complex; take tuples apart first: `|(a, b)| a + b`"
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

/// Integer types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer type (`Integral`)",
    note = "for floats use `.floor()`, `.round()`, `.to::<i64>()`"
)]
pub trait Integral: NumScalar + ExpOrd + Bits {}

/// Floating-point types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type (`Floating`)",
    note = "cast first: `x.to::<f64>().sqrt()`"
)]
pub trait Floating: NumScalar + ExpOrd {
    /// The nearest value of this type.
    fn from_f64(x: f64) -> Self;
}

/// Types with comparisons, `min` and `max`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared (`ExpOrd`)",
    note = "comparisons are defined for numbers, bool and char; compare the parts of tuples and structs"
)]
pub trait ExpOrd: ScalarElt {
    /// The least value (floats: negative infinity).
    const LEAST: Self;
    /// The greatest value (floats: infinity).
    const GREATEST: Self;
}

/// Types with `& | ^ !`: integers and `bool`.
#[diagnostic::on_unimplemented(
    message = "no bitwise operators on `{Self}` (`Bits`)",
    note = "`&`, `|`, `^`, `!` work on integers and bool"
)]
pub trait Bits: ScalarElt {}

/// Numeric scalar types: source and target of [`Exp::to`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar number (`NumScalar`)",
    note = "scalar numbers are i8..i64, u8..u64, f16, f32 and f64"
)]
pub trait NumScalar: Num + ScalarElt {}

/// `%` exists.
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
        impl NumScalar for $t {}
        impl HasRem for $t {
            const REM: PrimOp = PrimOp::$rem;
        }
    )* };
}
num!(QuotP, RemP, |x| x as Self; i8, i16, i32, i64, u8, u16, u32, u64);
num!(DivP, FmodP, |x| nearest_f16(x as f64); f16);
num!(DivP, FmodP, |x| x as Self; f32, f64);

macro_rules! ints {
    ($($t:ty),*) => { $(
        impl Integral for $t {}
        impl Bits for $t {}
        impl ExpOrd for $t {
            const LEAST: $t = <$t>::MIN;
            const GREATEST: $t = <$t>::MAX;
        }
    )* };
}
ints!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    (|$x:ident| $from:expr; $($t:ty),*) => { $(
        impl Floating for $t {
            fn from_f64($x: f64) -> $t { $from }
        }
        impl ExpOrd for $t {
            const LEAST: $t = <$t>::NEG_INFINITY;
            const GREATEST: $t = <$t>::INFINITY;
        }
    )* };
}
floats!(|x| nearest_f16(x); f16);
floats!(|x| x as Self; f32, f64);

impl Bits for bool {}
impl ExpOrd for bool {
    const LEAST: bool = false;
    const GREATEST: bool = true;
}
impl ExpOrd for char {
    const LEAST: char = '\0';
    const GREATEST: char = char::MAX;
}
