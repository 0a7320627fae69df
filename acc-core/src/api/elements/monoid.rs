//! Monoids: element types with an associative way to combine them.

use crate::api::{Elt, Exp, IntoExp, Match, constant, lift, none, some, while_};
use either::Either;
use std::cmp::Ordering;

/// Element types with an associative combination.
///
/// Instances: `()`, tuples of two to five, [`Sum`](crate::api::Sum), [`Product`](crate::api::Product), [`Min`](crate::api::Min),
/// [`Max`](crate::api::Max), `Option` (`None` combines to the other operand), `Either` (the first `Right`, else the last
/// operand), `Ordering` (the first that is not `Equal`).
///
/// ```
/// use acc_core::prelude::*;
/// fn thrice<T: Semigroup>(x: Exp<T>) -> Exp<T> {
///     x.mappend(x).mappend(x)
/// }
/// let xs = use_(&Vector::from([(Sum(2), Product(2))]));
/// let result = Interpreter::new().run(xs.map(|x| thrice(lift::<(Sum<i32>, Product<i32>)>(x))))?;
/// assert_eq!(result.to_vec(), [(Sum(6), Product(8))]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no combination (`Semigroup`)",
    note = "wrap numbers to say which: Sum<T>, Product<T>, Min<T>, Max<T>"
)]
pub trait Semigroup: Elt {
    /// The combination.
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
}

/// Semigroups with a neutral element.
///
/// ```
/// use acc_core::prelude::*;
/// fn combined<T: Monoid<Exp = Exp<T>>>(xs: &Acc<Vector<T>>) -> Acc<Scalar<T>> {
///     xs.fold(mempty(), |a: Exp<T>, b: Exp<T>| a.mappend(b))
/// }
/// let xs = use_(&Vector::from([3, 1, 2]));
/// assert_eq!(Interpreter::new().run(combined(&xs.map(|x| max_(x))))?.value(), Max(3));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` has no neutral element (`Monoid`)")]
pub trait Monoid: Semigroup {
    /// The neutral element.
    fn empty() -> Exp<Self>;
}

/// The neutral element.
///
/// ```
/// use acc_core::prelude::*;
/// let empty = (mempty::<Sum<i32>>(), mempty::<Product<i32>>(), mempty::<Min<u8>>(), mempty::<Option<Sum<i32>>>());
/// assert_eq!(Interpreter::new().run(unit(empty))?.value(), (Sum(0), Product(1), Min(255), None));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn mempty<T: Monoid>() -> Exp<T> {
    T::empty()
}

impl<T: Semigroup> Exp<T> {
    /// Combines two values (Accelerate's `<>`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(Sum(1)), None]));
    /// let result = Interpreter::new().run(xs.map(|x| x.mappend(Some(Sum(10)))))?;
    /// assert_eq!(result.to_vec(), [Some(Sum(11)), Some(Sum(10))]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn mappend(self, other: impl IntoExp<T>) -> Exp<T> {
        T::append(self, other.into_exp())
    }

    /// Combines `n` copies, in about log2 n steps; for `n` below 1 the value itself.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let by = use_(&Vector::from([5i64, 1, 0]));
    /// let result = Interpreter::new().run(by.map(|n| product_(2).stimes(n)))?;
    /// assert_eq!(result.to_vec(), [Product(32), Product(2), Product(2)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn stimes(self, n: impl IntoExp<i64>) -> Exp<T> {
        let more = n.into_exp() - 1;
        // The power so far, what is left of the exponent, the result.
        let (_, _, result) = while_::<(T, i64, T), _, _>(
            (self, more, self),
            |(_, left, _)| left.gt(0),
            |(power, left, result)| {
                let (power, result) = (lift::<T>(power), lift::<T>(result));
                let result = (left % 2).eq(1).then_else(result.mappend(power), result);
                (power.mappend(power), left / 2, lift::<T>(result))
            },
        );
        result.into_exp()
    }
}

macro_rules! product {
    ($($A:ident $i:tt),*) => {
        impl<$($A: Semigroup),*> Semigroup for ($($A,)*) {
            #[track_caller]
            fn append(_a: Exp<Self>, _b: Exp<Self>) -> Exp<Self> {
                lift(($(_a.proj::<$A>($i).mappend(_b.proj::<$A>($i)),)*))
            }
        }
        impl<$($A: Monoid),*> Monoid for ($($A,)*) {
            #[track_caller]
            fn empty() -> Exp<Self> {
                lift(($($A::empty(),)*))
            }
        }
    };
}
product!();
product!(A 0, B 1);
product!(A 0, B 1, C 2);
product!(A 0, B 1, C 2, D 3);
product!(A 0, B 1, C 2, D 3, E 4);

impl<T: Semigroup> Semigroup for Option<T> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        (a, b).match_(|both| match both {
            (Some(x), Some(y)) => some(lift::<T>(x).mappend(y)),
            (Some(_), None) => a,
            (None, _) => b,
        })
    }
}
impl<T: Semigroup> Monoid for Option<T> {
    #[track_caller]
    fn empty() -> Exp<Self> {
        none()
    }
}

impl<A: Elt, B: Elt> Semigroup for Either<A, B> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        a.is_left().then_else(b, a)
    }
}

impl Semigroup for Ordering {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        a.then(b)
    }
}
impl Monoid for Ordering {
    #[track_caller]
    fn empty() -> Exp<Self> {
        constant(Ordering::Equal)
    }
}
