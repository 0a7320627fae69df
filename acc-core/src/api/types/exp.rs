//! Scalar expressions.

use crate::api::Elt;
use crate::builder::{self, ExpRef};
use crate::ir::{Loc, PrimOp};
use std::fmt;
use std::marker::PhantomData;

/// A scalar expression of type `T`.
///
/// `Copy`, not `Send`, and valid inside the closure that made it: an `Exp` used after its closure has ended gives
/// [`BuildError::EscapedExp`](crate::BuildError::EscapedExp) when the program is run or compiled.
///
/// One that is made outside of every closure, such as `xs.length()` or `xs.sum().the()`, is valid until the second program
/// after its last use is run, and as long as the array that it reads is held elsewhere: then it costs no memory. After that it
/// gives [`BuildError::StaleExp`](crate::BuildError::StaleExp).
///
/// ```
/// use acc_core::prelude::*;
/// fn norm(x: Exp<f32>, y: Exp<f32>) -> Exp<f32> {
///     (x * x + y * y).sqrt()
/// }
/// let points = use_(&Vector::from([(3.0f32, 4.0f32)]));
/// assert_eq!(Interpreter::new().run(points.map(|(x, y)| norm(x, y)))?.to_vec(), [5.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Exp<T: ?Sized> {
    pub(crate) r: ExpRef,
    // A raw pointer makes it `!Send`: handles belong to the builder of one thread.
    _type: PhantomData<(*const (), fn() -> T)>,
}

impl<T: ?Sized> Clone for Exp<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for Exp<T> {}

impl<T: Elt> fmt::Debug for Exp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exp<{}>({:?})", T::ty(), self.r)
    }
}

impl<T: Elt> Exp<T> {
    pub(crate) fn raw(r: ExpRef) -> Self {
        Exp { r, _type: PhantomData }
    }

    /// Splits a compound expression into its parts: `(Exp<A>, Exp<B>)` for a pair.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// let ys = xs.map(|x| {
    ///     let (n, negative) = lift((x * 2, x.lt(2))).unlift();
    ///     cond(negative, -n, n)
    /// });
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [-2, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unlift(self) -> T::Exp {
        T::unlift(self)
    }

    #[track_caller]
    pub(crate) fn proj<U: Elt>(self, i: u32) -> Exp<U> {
        Exp::raw(builder::proj(self.r, i, U::ty(), &Loc::caller()))
    }
}

impl<A: Elt, B: Elt> Exp<(A, B)> {
    /// The first component of a pair.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| lift((x * 2, x.lt(2))).fst()))?.to_vec(), [2, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fst(self) -> A::Exp {
        self.proj::<A>(0).unlift()
    }
    /// The second component of a pair.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| lift((x * 2, x.lt(2))).snd()))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn snd(self) -> B::Exp {
        self.proj::<B>(1).unlift()
    }
}

/// Anything usable where a scalar expression of type `T` is wanted: an `Exp<T>`, a plain `T`, a tuple of these,
/// `Some(x)`, a rank-0 array program.
///
/// Every implementing type implements it for exactly one `T`, which keeps inference working in both directions.
///
/// ```
/// use acc_core::prelude::*;
/// fn half(x: impl IntoExp<f32>) -> Exp<f32> {
///     x.into_exp() / 2.0
/// }
/// let xs = use_(&Vector::from([3.0]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| (half(x), half(1.0), half(xs.sum()))))?.to_vec(), [(1.5, 0.5, 1.5)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "expected a scalar expression of type `Exp<{T}>`, found `{Self}`",
    label = "not usable as `Exp<{T}>`",
    note = "types do not convert implicitly: `x.to::<f32>()` converts a number, `x.to::<Complex<f32>>()` makes it complex, `z.scale(x)` multiplies a complex number by a real one",
    note = "a literal has the type that is wanted where it stands (`1.0`, not `1`, for floats); where none is, as in `unit(1.0)` or `c.then_else(1, 0) * x`, it is `f64` or `i32` unless it says its type: `1.0f32`, `1i64`"
)]
pub trait IntoExp<T: Elt> {
    /// The expression.
    fn into_exp(self) -> Exp<T>;
}

#[diagnostic::do_not_recommend]
impl<T: Elt> IntoExp<T> for Exp<T> {
    fn into_exp(self) -> Exp<T> {
        self
    }
}

/// A constant, as in an arm of a `match`: `None => 0.0.into()`.
impl<T: Elt + IntoExp<T>> From<T> for Exp<T> {
    #[track_caller]
    fn from(x: T) -> Exp<T> {
        x.into_exp()
    }
}

/// Makes one expression of a constant, or of a tuple of constants and expressions.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1i32, 2, 3]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| lift((x, 5)).lt((2, x))))?.to_vec(), [true, false, false]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn lift<T: Elt>(x: impl IntoExp<T>) -> Exp<T> {
    x.into_exp()
}

/// A constant expression, of any element type: for methods of expressions, where a plain value is not one.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([0.0f64, 3.0]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| constant(2.0).powf(x)))?.to_vec(), [1.0, 8.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn constant<T: Elt>(x: T) -> Exp<T> {
    let loc = Loc::caller();
    let mut leaves = Vec::new();
    x.write(&mut |l| leaves.push(l));
    let mut leaves = leaves.into_iter();
    Exp::raw(constant_of(&T::ty(), &mut leaves, &loc))
}

/// An expression without a particular value, for what is overwritten before it is read: zero, on every executor.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(undef::<(i32, bool)>()))?.value(), (0, false));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn undef<T: Elt>() -> Exp<T> {
    Exp::raw(builder::zero(&T::ty(), &Loc::caller()))
}

/// The same scalars read as another type with the same scalar leaves: `Sum<f32>` as `f32`, `((A, B), C)` as
/// `(A, B, C)`. Types with other leaves are an error when the program is run or compiled.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([((1, 2.5), true)]));
/// let flat = xs.map(|x| coerce::<((i32, f64), bool), (i32, f64, bool)>(x));
/// assert_eq!(Interpreter::new().run(flat)?.to_vec(), [(1, 2.5, true)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn coerce<A: Elt, B: Elt>(x: impl IntoExp<A>) -> B::Exp {
    let loc = Loc::caller();
    Exp::<B>::raw(builder::coerce(x.into_exp().r, &A::ty(), &B::ty(), &loc)).unlift()
}

fn constant_of(ty: &crate::data::EltType, leaves: &mut impl Iterator<Item = crate::data::Lit>, loc: &Loc) -> ExpRef {
    match ty {
        crate::data::EltType::Scalar(s) => builder::constant(leaves.next().unwrap_or(crate::data::Lit::zero(*s)), loc),
        crate::data::EltType::Tuple(parts) => {
            let parts: Vec<ExpRef> = parts.iter().map(|p| constant_of(p, leaves, loc)).collect();
            builder::tuple(&parts, ty.clone(), loc)
        }
    }
}

#[track_caller]
pub(crate) fn tuple_exp<T: Elt>(parts: &[ExpRef]) -> Exp<T> {
    Exp::raw(builder::tuple(parts, T::ty(), &Loc::caller()))
}

#[track_caller]
pub(crate) fn prim1<A: Elt, R: super::elt::ScalarElt>(p: PrimOp, a: Exp<A>) -> Exp<R> {
    Exp::raw(builder::prim(p, &[a.r], R::TYPE, &Loc::caller()))
}

#[track_caller]
pub(crate) fn prim2<A: Elt, R: super::elt::ScalarElt>(p: PrimOp, a: Exp<A>, b: Exp<A>) -> Exp<R> {
    Exp::raw(builder::prim(p, &[a.r, b.r], R::TYPE, &Loc::caller()))
}

// ---- for the code that `#[derive(Elt)]` makes

/// A field of a struct expression.
#[doc(hidden)]
#[track_caller]
pub fn project<S: Elt, F: Elt>(e: Exp<S>, i: u32) -> F::Exp {
    e.proj::<F>(i).unlift()
}

/// A field on its way into a struct expression.
#[doc(hidden)]
pub struct ErasedExp(ExpRef);

#[doc(hidden)]
#[track_caller]
pub fn erase<F: Elt>(x: F::Exp) -> ErasedExp {
    ErasedExp(x.into_exp().r)
}

/// A field that is not there.
#[doc(hidden)]
#[track_caller]
pub fn erase_zero<F: Elt>() -> ErasedExp {
    ErasedExp(builder::zero(&F::ty(), &Loc::caller()))
}

#[doc(hidden)]
#[track_caller]
pub fn build_struct<S: Elt>(fields: &[ErasedExp]) -> Exp<S> {
    let parts: Vec<ExpRef> = fields.iter().map(|e| e.0).collect();
    tuple_exp(&parts)
}
