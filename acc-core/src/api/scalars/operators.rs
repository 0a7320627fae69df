//! Operators and methods of scalar expressions.

use crate::api::types::exp::{prim1, prim2};
use crate::api::{Bits, Elt, Exp, HasRem, Integral, IntoExp, Num, NumScalar, ScalarElt, constant};
use crate::builder;
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
left_constant!(Shl shl shl_of, Shr shr shr_of; (i8, i16, i32, i64, u8, u16, u32, u64));
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

impl<T: NumScalar> Exp<T> {
    /// Converts with the meaning of Rust's `as`: integers wrap, floats saturate to integers (NaN becomes 0), to floats
    /// rounds to nearest. To `Complex`, the imaginary part is 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.9f32, -1.9, 1e10]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.to::<i32>()))?.to_vec(), [1, -1, i32::MAX]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to<U: FromScalar>(self) -> Exp<U> {
        U::from_scalar(self)
    }
}

/// Targets of [`Exp::to`]: scalar numbers, and `Complex` of these.
///
/// ```
/// use acc_core::prelude::*;
/// fn squares<T: FromScalar + Num>(xs: &Acc<Vector<i32>>) -> Acc<Vector<T>> {
///     xs.map(|x| x.to::<T>() * x.to::<T>())
/// }
/// let xs = use_(&Vector::from([100_000, 2]));
/// assert_eq!(Interpreter::new().run(squares::<i64>(&xs))?.to_vec(), [10_000_000_000, 4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number to convert to (`FromScalar`)",
    note = "scalar numbers are i8..i64, u8..u64, f16, f32 and f64"
)]
pub trait FromScalar: Elt {
    /// The number, converted.
    fn from_scalar<T: NumScalar>(x: Exp<T>) -> Exp<Self>;
}
macro_rules! from_scalar {
    ($($t:ty),*) => { $(
        impl FromScalar for $t {
            #[track_caller]
            fn from_scalar<T: NumScalar>(x: Exp<T>) -> Exp<$t> {
                Exp::raw(builder::cast(x.r, T::TYPE, <$t>::TYPE, &Loc::caller()))
            }
        }
    )* };
}
from_scalar!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64);

impl Exp<bool> {
    /// 1 where true, else 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([true, false]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.to_num::<i64>()))?.to_vec(), [1, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to_num<U: NumScalar>(self) -> Exp<U> {
        Exp::raw(builder::cast(self.r, <bool as HasScalarType>::TYPE, U::TYPE, &Loc::caller()))
    }
}

impl Exp<char> {
    /// The code point.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from(['a']));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ord()))?.to_vec(), [97]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn ord(self) -> Exp<u32> {
        Exp::raw(builder::cast(self.r, char::TYPE, u32::TYPE, &Loc::caller()))
    }
}

impl Exp<u32> {
    /// The character of this code point; U+FFFD where there is none.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([97u32, 0xD800]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.chr()))?.to_vec(), ['a', '\u{FFFD}']);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn chr(self) -> Exp<char> {
        Exp::raw(builder::cast(self.r, u32::TYPE, char::TYPE, &Loc::caller()))
    }
}

/// Reads the bits of a number as another type of the same width, as `f32::to_bits`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1.0f32]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| bitcast::<f32, u32>(x)))?.to_vec(), [0x3F80_0000]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn bitcast<A: NumScalar + SameWidth<B>, B: NumScalar>(x: impl IntoExp<A>) -> Exp<B> {
    let x = x.into_exp();
    Exp::raw(builder::push(builder::ExpOp::Bitcast(x.r), B::ty(), &Loc::caller()))
}

/// Scalar numbers of one width: what [`bitcast`] goes between.
///
/// ```
/// use acc_core::prelude::*;
/// fn bits<T: NumScalar + SameWidth<u64>>(x: Exp<T>) -> Exp<u64> {
///     bitcast::<T, u64>(x)
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([-1i64])).map(bits))?.to_vec(), [u64::MAX]);
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([1.0f64])).map(bits))?.to_vec(), [0x3FF0_0000_0000_0000]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` and `{B}` differ in width", note = "a bitcast keeps the width")]
pub trait SameWidth<B>: ScalarElt {}
macro_rules! same_width {
    ($($group:tt),*) => { $(same_width!(@group $group $group);)* };
    (@group ($($a:ty),*) $all:tt) => { $(same_width!(@one $a, $all);)* };
    (@one $a:ty, ($($b:ty),*)) => { $(impl SameWidth<$b> for $a {})* };
}
same_width!((i8, u8), (i16, u16, f16), (i32, u32, f32), (i64, u64, f64));
