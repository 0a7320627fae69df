//! `Option` as an element type: a tag (`u8`, 0 for `None`) and the payload, zero where there is none.

use crate::api::types::exp::tuple_exp;
use crate::api::{Elt, Exp, ExpEq, ExpOrd, IntoExp, Match, SumElt, constant};
use crate::builder;
use crate::data::{EltType, Lit};
use crate::ir::Loc;

impl<T: Elt> Elt for Option<T> {
    type Exp = Exp<Option<T>>;
    fn ty() -> EltType {
        EltType::tuple([u8::ty(), T::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        match self {
            Some(x) => {
                1u8.write(out);
                x.write(out);
            }
            None => {
                0u8.write(out);
                write_zeros::<T>(out);
            }
        }
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let tag = u8::read(leaves);
        let payload = T::read(leaves);
        (tag != 0).then_some(payload)
    }
}

/// The leaves of a field that is not there.
#[doc(hidden)]
pub fn write_zeros<T: Elt>(out: &mut dyn FnMut(Lit)) {
    T::ty().leaves().into_iter().for_each(|s| out(Lit::zero(s)));
}

/// The zero of a type: a field that is not there.
#[track_caller]
pub(crate) fn zero_exp<T: Elt>() -> Exp<T> {
    Exp::raw(builder::zero(&T::ty(), &Loc::caller()))
}

#[diagnostic::do_not_recommend]
impl<T: Elt, X: IntoExp<T>> IntoExp<Option<T>> for Option<X> {
    #[track_caller]
    fn into_exp(self) -> Exp<Option<T>> {
        match self {
            Some(x) => some(x),
            None => none(),
        }
    }
}

impl<T: Elt> SumElt for Option<T> {
    type Case = Option<T::Exp>;
    const CASES: usize = 2;
    fn is_case(e: Exp<Self>, _: usize) -> Exp<bool> {
        e.is_some()
    }
    fn case(e: Exp<Self>, k: usize) -> Option<T::Exp> {
        (k == 0).then(|| e.from_just())
    }
}

/// `Some(x)`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1i32, 2]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| some(x)))?.to_vec(), [Some(1), Some(2)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn some<T: Elt>(x: impl IntoExp<T>) -> Exp<Option<T>> {
    let x = x.into_exp();
    tuple_exp(&[constant(1u8).r, x.r])
}

/// `None`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1i32, -1]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| x.lt(0).then_else(none::<i32>(), some(x))))?.to_vec(), [Some(1), None]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn none<T: Elt>() -> Exp<Option<T>> {
    tuple_exp(&[constant(0u8).r, zero_exp::<T>().r])
}

impl<T: Elt> Exp<Option<T>> {
    /// Whether there is a value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gt(1).then_some(x).is_some()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_some(self) -> Exp<bool> {
        self.proj::<u8>(0).ne(0)
    }
    /// Whether there is none.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(1), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_none()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_none(self) -> Exp<bool> {
        self.proj::<u8>(0).eq(0)
    }
    /// The value; unspecified, and no fault, where there is none: see [`unwrap_or`](Exp::unwrap_or).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(1), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| cond(x.is_some(), x.from_just(), -1)))?.to_vec(), [1, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn from_just(self) -> T::Exp {
        self.proj::<T>(1).unlift()
    }
    /// `f` of the value, or `default`; only one of the two is evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gt(1).then_some(x).map_or(0, |x| x * 10)))?.to_vec(), [0, 20]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map_or<R: Elt, X: IntoExp<R>>(self, default: impl IntoExp<R>, f: impl FnOnce(T::Exp) -> X) -> R::Exp {
        let value = f(self.from_just()).into_exp();
        self.is_some().then_else(value, default)
    }
    /// The value, or `default`, which is evaluated only where there is none.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gt(1).then_some(x).unwrap_or(0)))?.to_vec(), [0, 2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unwrap_or(self, default: impl IntoExp<T>) -> T::Exp {
        self.is_some().then_else(self.proj::<T>(1), default)
    }
    /// `f` of the value, where there is one; else `None`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(2), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.map(|n| n * 10)))?.to_vec(), [Some(20), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map<R: Elt, X: IntoExp<R>>(self, f: impl FnOnce(T::Exp) -> X) -> Exp<Option<R>> {
        let value = f(self.from_just()).into_exp();
        self.is_some().then_some(value)
    }
    /// What `f` makes of the value, where there is one; else `None`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(2i32), Some(0), None]));
    /// let tens = xs.map(|x| x.and_then(|n| n.ne(0).then_some(10 / n)));
    /// assert_eq!(Interpreter::new().run(tens)?.to_vec(), [Some(5), None, None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and_then<R: Elt, X: IntoExp<Option<R>>>(self, f: impl FnOnce(T::Exp) -> X) -> Exp<Option<R>> {
        let value = f(self.from_just()).into_exp();
        self.is_some().then_else(value, none::<R>())
    }
    /// `other` where there is a value, which is dropped; else `None`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(2), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.and(some('a'))))?.to_vec(), [Some('a'), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and<R: Elt>(self, other: impl IntoExp<Option<R>>) -> Exp<Option<R>> {
        self.and_then(|_| other)
    }
    /// This where there is a value, else `other`, which is evaluated only there.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(2), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.or(Some(7))))?.to_vec(), [Some(2), Some(7)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn or(self, other: impl IntoExp<Option<T>>) -> Exp<Option<T>> {
        self.is_some().then_else(self, other)
    }
    /// Both values, where there are two; else `None`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([(Some(1), Some('a')), (Some(2), None)]));
    /// assert_eq!(Interpreter::new().run(xs.map(|(x, y)| x.zip(y)))?.to_vec(), [Some((1, 'a')), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn zip<U: Elt>(self, other: impl IntoExp<Option<U>>) -> Exp<Option<(T, U)>> {
        (self, other.into_exp()).match_(|both| match both {
            (Some(a), Some(b)) => some((a, b)),
            (None, _) | (_, None) => none(),
        })
    }
}

/// Whether both are there and equal, or neither is there.
impl<T: ExpEq> ExpEq for Option<T> {
    #[track_caller]
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Some(x), Some(y)) => T::equal(x.into_exp(), y.into_exp()),
            (None, None) => constant(true),
            (Some(_), None) | (None, Some(_)) => constant(false),
        })
    }
}

/// `None` comes before all others.
impl<T: ExpOrd> ExpOrd for Option<T> {
    #[track_caller]
    fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Some(x), Some(y)) => T::less(x.into_exp(), y.into_exp()),
            (None, Some(_)) => constant(true),
            (_, None) => constant(false),
        })
    }
    #[track_caller]
    fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Some(x), Some(y)) => T::less_or_equal(x.into_exp(), y.into_exp()),
            (None, _) => constant(true),
            (Some(_), None) => constant(false),
        })
    }
}
