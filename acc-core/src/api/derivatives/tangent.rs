//! The types of tangents and adjoints.

use crate::api::{Array, Arrays, Elt, Fractional, Max, Min, Product, Ratio, ScalarElt, Shape, Simd, Sum};
use crate::api::{Exp, Integral};
use crate::data::{EltType, Lit};
use either::Either;
use half::f16;
use num_complex::Complex;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

/// Element types with a type of tangents, which is that of adjoints, too: of floats the floats themselves, of integers,
/// `bool`, `char` and `Ordering` `()`, which no memory is needed for; of tuples, structs and enums part by part.
///
/// Every element type is one; `#[derive(Elt)]` derives this, too. The tangent of a struct is a tuple.
///
/// ```
/// use acc_core::prelude::*;
/// fn zero_tangent<E: TangentElt>() -> Exp<E::Tan> {
///     undef::<E::Tan>()
/// }
/// assert_eq!(Interpreter::new().run(unit(zero_tangent::<(f32, i64)>()))?.value(), (0.0, ()));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no type of tangents",
    note = "`#[derive(Elt)]` derives `TangentElt`"
)]
pub trait TangentElt: Elt {
    /// The type of tangents.
    type Tan: TangentElt;
}

/// Element types with a float in them.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` have no derivative",
    label = "not a point of a derivative: there is no float in it",
    note = "take what is constant from around the closure: a derivative is by its arguments alone"
)]
pub trait HasFloat: TangentElt {}

/// Element types of floats alone: floats, complex numbers, short vectors and tuples of these.
///
/// ```
/// use acc_core::prelude::*;
/// fn sum_of_tangents<E: Smooth>() -> usize {
///     E::ty().leaf_count() // All of them are floats.
/// }
/// assert_eq!(sum_of_tangents::<(f32, Complex<f64>)>(), 3);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no partial derivatives",
    label = "not floats alone",
    note = "take what is no float from around the closure: partial derivatives are by the arguments, floats"
)]
pub trait Smooth: HasFloat + TangentElt<Tan = Self> {}

/// The types of losses: one float.
///
/// ```
/// use acc_core::prelude::*;
/// fn slope<E: Real>(x: E, f: impl FnOnce(Exp<E>) -> Exp<E>) -> Acc<Scalar<E>> {
///     let (_, slope) = jvp(unit(x), unit(E::ONE), |x| x.map(f));
///     slope
/// }
/// assert_eq!(Interpreter::new().run(slope(3.0, |x| x * x))?.value(), 6.0);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a gradient needs a loss of one float, not `{Self}`",
    note = "sum a loss of several numbers; `vjp` takes results of any type"
)]
pub trait Real: ScalarElt + Fractional + HasFloat + TangentElt<Tan = Self> {
    /// 1, the adjoint of a loss.
    const ONE: Self;
}

macro_rules! floats {
    ($($t:ty = $one:expr),*) => { $(
        impl TangentElt for $t {
            type Tan = $t;
        }
        impl HasFloat for $t {}
        impl Smooth for $t {}
        impl Smooth for Complex<$t> {}
        impl<const N: usize> Smooth for Simd<$t, N> {}
        impl Real for $t {
            const ONE: $t = $one;
        }
        impl TangentElt for Complex<$t> {
            type Tan = Complex<$t>;
        }
        impl HasFloat for Complex<$t> {}
        impl<const N: usize> TangentElt for Simd<$t, N> {
            type Tan = Simd<$t, N>;
        }
        impl<const N: usize> HasFloat for Simd<$t, N> {}
    )* };
}
floats!(f16 = f16::ONE, f32 = 1.0, f64 = 1.0);

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl TangentElt for Complex<$t> {
            type Tan = ((), ());
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! discrete {
    ($($t:ty),*) => { $(
        impl TangentElt for $t {
            type Tan = ();
        }
        impl<const N: usize> TangentElt for Simd<$t, N> {
            type Tan = TangentOf<Simd<$t, N>>;
        }
    )* };
}
discrete!(i8, i16, i32, i64, u8, u16, u32, u64, bool, char);

impl TangentElt for Ordering {
    type Tan = ();
}
impl<T: Integral> TangentElt for Ratio<T> {
    type Tan = ((), ());
}
impl<T: TangentElt> TangentElt for Option<T> {
    type Tan = ((), T::Tan);
}
impl<T: HasFloat> HasFloat for Option<T> {}
impl<A: TangentElt, B: TangentElt> TangentElt for Either<A, B> {
    type Tan = ((), A::Tan, B::Tan);
}

macro_rules! wrappers {
    ($($W:ident),*) => { $(
        impl<T: ScalarElt + TangentElt> TangentElt for $W<T> {
            type Tan = T::Tan;
        }
        impl<T: ScalarElt + HasFloat> HasFloat for $W<T> {}
    )* };
}
wrappers!(Sum, Product, Min, Max);

/// The tangents of `T`, where no tuple has as many components: a struct of more than sixteen fields, a short vector of integers.
///
/// ```
/// use acc_core::prelude::*;
/// let none: TangentOf<Simd<i32, 4>> = Interpreter::new().run(unit(undef()))?.value();
/// assert_eq!(none, TangentOf::default());
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct TangentOf<T> {
    leaves: Vec<Lit>,
    _of: PhantomData<fn() -> T>,
}

impl<T: Elt> Elt for TangentOf<T> {
    type Exp = Exp<Self>;
    fn ty() -> EltType {
        T::ty().tangent()
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        let types = Self::ty().leaves();
        for (k, ty) in types.into_iter().enumerate() {
            out(self.leaves.get(k).copied().unwrap_or(Lit::zero(ty)));
        }
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        TangentOf { leaves: Self::ty().leaves().iter().map(|_| leaves()).collect(), _of: PhantomData }
    }
}
impl<T: Elt> TangentElt for TangentOf<T> {
    type Tan = TangentOf<T>;
}
/// Zero.
impl<T> Default for TangentOf<T> {
    fn default() -> Self {
        TangentOf { leaves: Vec::new(), _of: PhantomData }
    }
}
impl<T> Clone for TangentOf<T> {
    fn clone(&self) -> Self {
        TangentOf { leaves: self.leaves.clone(), _of: PhantomData }
    }
}
impl<T> PartialEq for TangentOf<T> {
    fn eq(&self, other: &Self) -> bool {
        self.leaves == other.leaves
    }
}
impl<T> fmt::Debug for TangentOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.leaves).finish()
    }
}

/// Arrays, and tuples of arrays, with a type of tangents: what functions with derivatives yield.
///
/// ```
/// use acc_core::prelude::*;
/// fn zero<A: Point<Tan = A>>(a: impl IntoAcc<A>, zero: impl IntoAcc<A>) -> A::Acc {
///     jvp(a, zero, |a| a).1
/// }
/// let (xs, zeros) = (Vector::from([1.0, 2.0]), Vector::from([0.0, 0.0]));
/// assert_eq!(Interpreter::new().run(zero(&xs, &zeros))?, zeros);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait Diff: Arrays {
    /// The type of tangents.
    type Tan: Diff;
}

/// Points of derivatives: arrays with a float in their elements, and tuples of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no point of a derivative",
    note = "a point is an array with a float in its elements, or a tuple of such arrays"
)]
pub trait Point: Diff {}

impl<Sh: Shape, E: TangentElt> Diff for Array<Sh, E> {
    type Tan = Array<Sh, E::Tan>;
}
impl<Sh: Shape, E: HasFloat> Point for Array<Sh, E> {}

macro_rules! tuples {
    ($($A:ident)*) => {
        impl<$($A: TangentElt),*> TangentElt for ($($A,)*) {
            type Tan = ($($A::Tan,)*);
        }
    };
}
macro_rules! tuples_of_one_or_more {
    ($(($($A:ident)*))*) => { $(
        tuples!($($A)*);
        // Which of its parts has a float is not looked at.
        impl<$($A: TangentElt),*> HasFloat for ($($A,)*) {}
        impl<$($A: Smooth),*> Smooth for ($($A,)*) {}
        impl<$($A: Diff),*> Diff for ($($A,)*) {
            type Tan = ($($A::Tan,)*);
        }
        impl<$($A: Point),*> Point for ($($A,)*) {}
    )* };
}
tuples!();
impl Diff for () {
    type Tan = ();
}
tuples_of_one_or_more!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));
tuples_of_one_or_more!((A B C D E F G H I)(A B C D E F G H I J)(A B C D E F G H I J K)(A B C D E F G H I J K L));
tuples_of_one_or_more!((A B C D E F G H I J K L M)(A B C D E F G H I J K L M N)(A B C D E F G H I J K L M N O));
tuples_of_one_or_more!((A B C D E F G H I J K L M N O P));
