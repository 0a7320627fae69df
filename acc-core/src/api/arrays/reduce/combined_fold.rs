//! Reductions that combine: several statistics in one traversal.

use crate::api::{Acc, Array, Elt, Exp, IntoExp, Monoid, Num, Reducible, ScalarElt, Shape, constant, lift};
use std::ops;
use std::rc::Rc;

/// A reduction of elements of type `I` to a value of type `O`, by way of a monoid `W`.
///
/// Two of them combine into one that traverses the elements once: with `zip`, `zip_with`, or the operators on numbers.
///
/// ```
/// use acc_core::prelude::*;
/// let sum = Fold::new(|x| sum_(x), |s: Exp<Sum<f64>>| s.get_sum());
/// let count = Fold::new(|_: Exp<f64>| sum_(1.0), |n: Exp<Sum<f64>>| n.get_sum());
/// let average = sum / count;
/// let xs = use_(&Vector::from([1.0, 2.0, 3.0, 6.0]));
/// assert_eq!(Interpreter::new().run(xs.run_fold(&average))?.value(), 3.0);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Fold<I: Elt, O: Elt, W> {
    tally: Tally<I, W>,
    summary: Summary<W, O>,
}

type Tally<I, W> = Rc<dyn Fn(<I as Elt>::Exp) -> Exp<W>>;
type Summary<W, O> = Rc<dyn Fn(Exp<W>) -> Exp<O>>;

impl<I: Elt, O: Elt, W> Clone for Fold<I, O, W> {
    fn clone(&self) -> Self {
        Fold { tally: self.tally.clone(), summary: self.summary.clone() }
    }
}

impl<I: Elt, O: Elt, W: Monoid> Fold<I, O, W> {
    /// `tally` takes an element into the monoid, `summary` the combination of all of them to the result.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let squares = Fold::new(|x: Exp<f64>| sum_(x * x), |s: Exp<Sum<f64>>| s.get_sum());
    /// assert_eq!(Interpreter::new().run(use_(&Vector::from([3.0, 4.0])).run_fold(&squares))?.value(), 25.0);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn new<S: IntoExp<W>, R: IntoExp<O>>(
        tally: impl Fn(I::Exp) -> S + 'static,
        summary: impl Fn(W::Exp) -> R + 'static,
    ) -> Self {
        Fold { tally: Rc::new(move |x| tally(x).into_exp()), summary: Rc::new(move |w| summary(w.unlift()).into_exp()) }
    }

    /// The reduction whose result is `f` of this one's.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let squares = Fold::new(|x: Exp<f64>| sum_(x * x), |s: Exp<Sum<f64>>| s.get_sum());
    /// let norm = squares.map(|s| s.sqrt());
    /// assert_eq!(Interpreter::new().run(use_(&Vector::from([3.0, 4.0])).run_fold(&norm))?.value(), 5.0);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn map<P: Elt, R: IntoExp<P>>(&self, f: impl Fn(O::Exp) -> R + 'static) -> Fold<I, P, W> {
        let summary = self.summary.clone();
        Fold { tally: self.tally.clone(), summary: Rc::new(move |w| f(summary(w).unlift()).into_exp()) }
    }

    /// Two reductions as one, whose result is `f` of both results.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let least = Fold::new(|x: Exp<i32>| min_(x), |m: Exp<Min<i32>>| m.get_min());
    /// let greatest = Fold::new(|x: Exp<i32>| max_(x), |m: Exp<Max<i32>>| m.get_max());
    /// let range = least.zip_with(&greatest, |a, b| b - a);
    /// assert_eq!(Interpreter::new().run(use_(&Vector::from([3, 7, 4])).run_fold(&range))?.value(), 4);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn zip_with<O2: Elt, W2: Monoid, P: Elt, R: IntoExp<P>>(
        &self,
        other: &Fold<I, O2, W2>,
        f: impl Fn(O::Exp, O2::Exp) -> R + 'static,
    ) -> Fold<I, P, (W, W2)>
    where
        I::Exp: Copy,
    {
        let (tally1, tally2) = (self.tally.clone(), other.tally.clone());
        let (summary1, summary2) = (self.summary.clone(), other.summary.clone());
        Fold {
            tally: Rc::new(move |x| lift((tally1(x), tally2(x)))),
            summary: Rc::new(move |w: Exp<(W, W2)>| {
                f(summary1(w.proj(0)).unlift(), summary2(w.proj(1)).unlift()).into_exp()
            }),
        }
    }

    /// Two reductions as one, whose result is the pair of both results.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let least = Fold::new(|x: Exp<i32>| min_(x), |m: Exp<Min<i32>>| m.get_min());
    /// let greatest = Fold::new(|x: Exp<i32>| max_(x), |m: Exp<Max<i32>>| m.get_max());
    /// let extremes = use_(&Vector::from([3, 7, 4])).run_fold(&least.zip(&greatest));
    /// assert_eq!(Interpreter::new().run(extremes)?.value(), (3, 7));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn zip<O2: Elt, W2: Monoid>(&self, other: &Fold<I, O2, W2>) -> Fold<I, (O, O2), (W, W2)> {
        self.zip_with(other, |a, b| (a, b))
    }
}

macro_rules! operators {
    ($($Op:ident $op:ident),*) => { $(
        impl<I: Elt, O: Num, V: Monoid, W: Monoid> ops::$Op<Fold<I, O, W>> for Fold<I, O, V> {
            type Output = Fold<I, O, (V, W)>;
            fn $op(self, other: Fold<I, O, W>) -> Self::Output {
                self.zip_with(&other, |a, b| O::$op(a, b))
            }
        }
        /// With a number on the right.
        impl<I: Elt, O: Num + ScalarElt, W: Monoid> ops::$Op<O> for Fold<I, O, W> {
            type Output = Fold<I, O, W>;
            fn $op(self, other: O) -> Self::Output {
                self.map(move |a| O::$op(a, constant(other)))
            }
        }
    )* };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<I: Elt, O: Num, W: Monoid> ops::Neg for Fold<I, O, W> {
    type Output = Fold<I, O, W>;
    fn neg(self) -> Self::Output {
        self.map(|a| O::neg(a))
    }
}

impl<Sh: Shape, I: Elt> Acc<Array<Sh, I>> {
    /// Reduces the innermost dimension, in one traversal; a row without elements gives the summary of the neutral element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Fold::new(|x: Exp<i32>| sum_(x), |s: Exp<Sum<i32>>| s.get_sum());
    /// assert_eq!(Interpreter::new().run(use_(&Matrix::from([[1, 2], [3, 4]])).run_fold(&sum))?.to_vec(), [3, 7]);
    /// assert_eq!(Interpreter::new().run(use_(&Vector::from([0i32; 0])).run_fold(&sum))?.value(), 0);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn run_fold<O: Elt, W: Monoid, In: Shape>(&self, fold: &Fold<I, O, W>) -> Acc<Array<In, O>>
    where
        Sh: Reducible<Inner = In>,
    {
        let tallies = self.map(|x| (fold.tally)(x));
        let combined = tallies.fold(Mempty, |a: W::Exp, b: W::Exp| lift::<W>(a).mappend(b));
        combined.map(|w| (fold.summary)(lift::<W>(w)))
    }
}

/// The neutral element, made where it is used.
struct Mempty;

impl<W: Monoid> IntoExp<W> for Mempty {
    #[track_caller]
    fn into_exp(self) -> Exp<W> {
        W::empty()
    }
}
