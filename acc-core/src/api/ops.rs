//! Operators and methods of scalar expressions.

use super::class::{Bits, ExpOrd, Floating, HasRem, Integral, Num, NumScalar};
use super::elt::ScalarElt;
use super::exp::{Exp, IntoExp, constant, prim1, prim2};
use crate::build;
use crate::data::HasScalarType;
use crate::ir::{Loc, PrimOp};
use half::f16;
use std::ops;

/// One blanket implementation per operator; the right-hand side is anything that is an expression.
macro_rules! operator {
    ($($Op:ident $op:ident $OpAssign:ident $op_assign:ident $Class:ident $f:expr;)*) => { $(
        impl<T: $Class, R: IntoExp<T>> ops::$Op<R> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $op(self, r: R) -> Exp<T> {
                operator!(@call $f, self, r.into_exp())
            }
        }
        impl<T: $Class, R: IntoExp<T>> ops::$OpAssign<R> for Exp<T> {
            #[track_caller]
            fn $op_assign(&mut self, r: R) {
                *self = operator!(@call $f, *self, r.into_exp());
            }
        }
    )* };
    // A direct call: a function value in between would lose the caller's location.
    (@call $f:expr, $a:expr, $b:expr) => { $f($a, $b) };
}
operator! {
    Add add AddAssign add_assign Num T::add;
    Sub sub SubAssign sub_assign Num T::sub;
    Mul mul MulAssign mul_assign Num T::mul;
    Div div DivAssign div_assign Num T::div;
    Rem rem RemAssign rem_assign HasRem rem_of;
    BitAnd bitand BitAndAssign bitand_assign Bits and_of;
    BitOr bitor BitOrAssign bitor_assign Bits or_of;
    BitXor bitxor BitXorAssign bitxor_assign Bits xor_of;
    Shl shl ShlAssign shl_assign Integral shl_of;
    Shr shr ShrAssign shr_assign Integral shr_of;
}

#[track_caller]
fn rem_of<T: HasRem>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(T::REM, a, b)
}
#[track_caller]
fn and_of<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(PrimOp::AndP, a, b)
}
#[track_caller]
fn or_of<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(PrimOp::OrP, a, b)
}
#[track_caller]
fn xor_of<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(PrimOp::XorP, a, b)
}
#[track_caller]
fn shl_of<T: Integral>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(PrimOp::ShlP, a, b)
}
#[track_caller]
fn shr_of<T: Integral>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    prim2(PrimOp::ShrP, a, b)
}

impl<T: Num> ops::Neg for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn neg(self) -> Exp<T> {
        T::neg(self)
    }
}
impl<T: Bits> ops::Not for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn not(self) -> Exp<T> {
        prim1(PrimOp::NotP, self)
    }
}

/// Constants on the left of an operator.
macro_rules! left_constant {
    ($($Op:ident $op:ident $f:expr),*; $types:tt) => { $(left_constant!(@types $Op $op $f; $types);)* };
    (@types $Op:ident $op:ident $f:expr; ($($t:ty),*)) => { $(
        impl ops::$Op<Exp<$t>> for $t {
            type Output = Exp<$t>;
            #[track_caller]
            fn $op(self, r: Exp<$t>) -> Exp<$t> {
                $f(constant(self), r)
            }
        }
    )* };
}
left_constant!(Add add Num::add, Sub sub Num::sub, Mul mul Num::mul, Div div Num::div, Rem rem rem_of;
    (i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64));
left_constant!(BitAnd bitand and_of, BitOr bitor or_of, BitXor bitxor xor_of;
    (i8, i16, i32, i64, u8, u16, u32, u64, bool));

impl<T: Num> std::iter::Sum for Exp<T> {
    fn sum<I: Iterator<Item = Self>>(it: I) -> Self {
        it.reduce(|a, b| a + b).unwrap_or_else(|| constant(T::from_i64(0)))
    }
}
impl<T: Num> std::iter::Product for Exp<T> {
    fn product<I: Iterator<Item = Self>>(it: I) -> Self {
        it.reduce(|a, b| a * b).unwrap_or_else(|| constant(T::from_i64(1)))
    }
}

macro_rules! binary {
    ($($(#[doc = $doc:literal])* $m:ident $P:ident -> $R:ty;)*) => { $(
        $(#[doc = $doc])*
        #[track_caller]
        #[allow(clippy::should_implement_trait)]
        pub fn $m(self, other: impl IntoExp<T>) -> Exp<$R> { prim2(PrimOp::$P, self, other.into_exp()) }
    )* };
}
macro_rules! unary {
    ($($(#[doc = $doc:literal])* $m:ident $P:ident -> $R:ty;)*) => { $(
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $m(self) -> Exp<$R> { prim1(PrimOp::$P, self) }
    )* };
}

impl<T: ExpOrd> Exp<T> {
    binary! {
        /// Whether equal (floats: IEEE 754).
        eq EqP -> bool;
        /// Whether different.
        ne NeP -> bool;
        /// Whether less.
        lt LtP -> bool;
        /// Whether less or equal.
        le LeP -> bool;
        /// Whether greater.
        gt GtP -> bool;
        /// Whether greater or equal.
        ge GeP -> bool;
        /// The lesser; of floats, NaN if either is NaN.
        min MinP -> T;
        /// The greater; of floats, NaN if either is NaN.
        max MaxP -> T;
    }

    /// The value between `low` and `high` nearest to this.
    #[track_caller]
    pub fn clamp(self, low: impl IntoExp<T>, high: impl IntoExp<T>) -> Exp<T> {
        self.max(low).min(high)
    }
}

impl<T: NumScalar> Exp<T> {
    /// Converts with the meaning of Rust's `as`: integers wrap, floats saturate to integers (NaN becomes 0), to floats
    /// rounds to nearest.
    #[track_caller]
    pub fn to<U: NumScalar>(self) -> Exp<U> {
        Exp::raw(build::cast(self.r, T::TYPE, U::TYPE, &Loc::caller()))
    }
    unary! {
        /// Absolute value; `MIN` stays `MIN`.
        abs AbsP -> T;
        /// -1, 0 or 1; of floats, zeros keep their sign and NaN stays NaN.
        signum SignumP -> T;
    }
}

impl<T: Integral> Exp<T> {
    binary! {
        /// Quotient rounded down (Accelerate's `div`).
        div_floor DivFloorP -> T;
        /// Remainder with the sign of the divisor (Accelerate's `mod`).
        mod_floor ModFloorP -> T;
    }
    unary! {
        /// The number of one bits.
        count_ones PopCountP -> i32;
        /// The number of leading zero bits.
        leading_zeros LeadingZerosP -> i32;
        /// The number of trailing zero bits; the width for zero.
        trailing_zeros TrailingZerosP -> i32;
    }
}

impl<T: Floating> Exp<T> {
    unary! {
        /// Square root.
        sqrt SqrtP -> T;
        /// e to the power of this.
        exp ExpP -> T;
        /// Natural logarithm.
        ln LnP -> T;
        /// Base-2 logarithm.
        log2 Log2P -> T;
        /// Base-10 logarithm.
        log10 Log10P -> T;
        /// Sine of an angle in radians.
        sin SinP -> T;
        /// Cosine of an angle in radians.
        cos CosP -> T;
        /// Tangent of an angle in radians.
        tan TanP -> T;
        /// Inverse sine, in radians.
        asin AsinP -> T;
        /// Inverse cosine, in radians.
        acos AcosP -> T;
        /// Inverse tangent, in radians.
        atan AtanP -> T;
        /// Hyperbolic sine.
        sinh SinhP -> T;
        /// Hyperbolic cosine.
        cosh CoshP -> T;
        /// Hyperbolic tangent.
        tanh TanhP -> T;
        /// Inverse hyperbolic sine.
        asinh AsinhP -> T;
        /// Inverse hyperbolic cosine.
        acosh AcoshP -> T;
        /// Inverse hyperbolic tangent.
        atanh AtanhP -> T;
        /// Rounded down.
        floor FloorP -> T;
        /// Rounded up.
        ceil CeilP -> T;
        /// Rounded to nearest, ties to even (as Accelerate; std's `round` goes away from zero).
        round RoundP -> T;
        /// Rounded towards zero.
        trunc TruncP -> T;
        /// Whether it is NaN.
        is_nan IsNanP -> bool;
        /// Whether it is an infinity.
        is_infinite IsInfiniteP -> bool;
    }
    binary! {
        /// This to the power of `other`.
        powf PowP -> T;
        /// The angle of the point `(other, self)`, in radians.
        atan2 Atan2P -> T;
    }

    /// 1 divided by this.
    #[track_caller]
    pub fn recip(self) -> Exp<T> {
        T::div(constant(T::from_i64(1)), self)
    }

    /// Rounded to nearest, ties away from zero.
    #[track_caller]
    pub fn round_half_away(self) -> Exp<T> {
        // Adding a half would round up the largest value below one half; comparing the fraction does not.
        let whole = self.trunc();
        let fraction = (self - whole).abs();
        fraction.ge(T::from_f64(0.5)).then_else(whole + self.signum(), whole)
    }
}

impl Exp<bool> {
    /// 1 where true, else 0.
    #[track_caller]
    pub fn to_num<U: NumScalar>(self) -> Exp<U> {
        Exp::raw(build::cast(self.r, <bool as HasScalarType>::TYPE, U::TYPE, &Loc::caller()))
    }
}

impl Exp<char> {
    /// The code point.
    #[track_caller]
    pub fn ord(self) -> Exp<u32> {
        Exp::raw(build::cast(self.r, char::TYPE, u32::TYPE, &Loc::caller()))
    }
}

impl Exp<u32> {
    /// The character of this code point; U+FFFD where there is none.
    #[track_caller]
    pub fn chr(self) -> Exp<char> {
        Exp::raw(build::cast(self.r, u32::TYPE, char::TYPE, &Loc::caller()))
    }
}

/// Reads the bits of a number as another type of the same width, as `f32::to_bits`.
#[track_caller]
pub fn bitcast<A: NumScalar + SameWidth<B>, B: NumScalar>(x: impl IntoExp<A>) -> Exp<B> {
    let x = x.into_exp();
    Exp::raw(build::push(build::ExpOp::Bitcast(x.r), B::ty(), &Loc::caller()))
}

/// Scalar numbers of one width.
#[diagnostic::on_unimplemented(message = "`{Self}` and `{B}` differ in width", note = "a bitcast keeps the width")]
pub trait SameWidth<B>: ScalarElt {}
macro_rules! same_width {
    ($($group:tt),*) => { $(same_width!(@group $group $group);)* };
    (@group ($($a:ty),*) $all:tt) => { $(same_width!(@one $a, $all);)* };
    (@one $a:ty, ($($b:ty),*)) => { $(impl SameWidth<$b> for $a {})* };
}
same_width!((i8, u8), (i16, u16, f16), (i32, u32, f32), (i64, u64, f64));
