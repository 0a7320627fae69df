//! Derivatives of array functions along tangents and by adjoints.

use super::parts::AtPoint;
use crate::api::{Acc, Arrays, Diff, IntoAcc, Point};
use std::marker::PhantomData;

/// A function of arrays and its derivative along a direction (forward mode): what `f` yields at `at`, and how that changes
/// as `at` moves along `tangent`. The tangent has the point's extents; other extents are a fault.
///
/// Arrays that `f` takes from around it are constants.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, dxs) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([1.0, 0.0, 10.0]));
/// let (ys, dys) = jvp(&xs, &dxs, |xs| xs.map(|x| x * x));
/// let (ys, dys) = Interpreter::new().run((ys, dys))?;
/// assert_eq!((ys.to_vec(), dys.to_vec()), (vec![1.0, 4.0, 9.0], vec![2.0, 0.0, 60.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn jvp<A: Point, R: Diff, F: IntoAcc<R>>(
    at: impl IntoAcc<A>,
    tangent: impl IntoAcc<A::Tan>,
    f: impl FnOnce(A::Acc) -> F,
) -> (R::Acc, <R::Tan as Arrays>::Acc) {
    AtPoint::new::<A, R>(at, |a| f(a).into_acc().node).forward::<A, R>(&tangent.into_acc())
}

/// A function of arrays at a point, and what takes adjoints of its results to adjoints of the point (reverse mode): the
/// gradient of what is summed up with these adjoints as weights.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, weights) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([1.0, 0.0, 10.0]));
/// let (ys, back) = vjp(&xs, |xs| xs.map(|x| x * x));
/// let (ys, xbar) = Interpreter::new().run((ys, back.apply(&weights)))?;
/// assert_eq!((ys.to_vec(), xbar.to_vec()), (vec![1.0, 4.0, 9.0], vec![2.0, 0.0, 60.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn vjp<A: Point, R: Diff, F: IntoAcc<R>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> F,
) -> (R::Acc, Pullback<A, R>) {
    let f = AtPoint::new::<A, R>(at, |a| f(a).into_acc().node);
    (f.value::<R>(), Pullback { f, _types: PhantomData })
}

/// The reverse derivative of a function at a point: see [`vjp`].
pub struct Pullback<A, R> {
    f: AtPoint,
    _types: PhantomData<fn(R) -> A>,
}

impl<A: Point, R: Diff> Pullback<A, R> {
    /// The adjoint of the point, of that of the results. It has the results' extents; other extents are a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = Vector::from([3.0, 4.0]);
    /// let (_, back) = vjp(&xs, |xs| (xs.sum(), xs.map(|x| x * 2.0)));
    /// let both = back.apply((unit(1.0), &xs));
    /// assert_eq!(Interpreter::new().run(both)?.to_vec(), [7.0, 9.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn apply(&self, adjoint: impl IntoAcc<R::Tan>) -> <A::Tan as Arrays>::Acc {
        self.f.reverse::<A, R>(&adjoint.into_acc()).1
    }
}

/// A function of arrays at a point, and its derivative there as a linear function of directions.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1.0, 2.0]);
/// let (product, slope) = linearize(&xs, |xs| xs.fold(1.0, |a, b| a * b));
/// let along = |dx: [f64; 2]| slope.apply(&Vector::from(dx));
/// let (product, d0, d1) = Interpreter::new().run((product, along([1.0, 0.0]), along([0.0, 1.0])))?;
/// assert_eq!((product.value(), d0.value(), d1.value()), (2.0, 2.0, 1.0));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn linearize<A: Point, R: Diff, F: IntoAcc<R>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> F,
) -> (R::Acc, Linear<A, R>) {
    let f = AtPoint::new::<A, R>(at, |a| f(a).into_acc().node);
    (f.value::<R>(), Linear { f, _types: PhantomData })
}

/// The forward derivative of a function at a point: see [`linearize`].
pub struct Linear<A, R> {
    f: AtPoint,
    _types: PhantomData<fn(A) -> R>,
}

impl<A: Point, R: Diff> Linear<A, R> {
    /// The tangent of the results, of that of the point. It has the point's extents; other extents are a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (_, slope) = linearize(unit(3.0), |x| x.map(|x| x * x));
    /// assert_eq!(Interpreter::new().run(slope.apply(unit(0.5)))?.value(), 3.0);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn apply(&self, tangent: impl IntoAcc<A::Tan>) -> <R::Tan as Arrays>::Acc {
        self.f.forward::<A, R>(&tangent.into_acc()).1
    }
}

impl<A, R> Clone for Pullback<A, R> {
    fn clone(&self) -> Self {
        Pullback { f: self.f.clone(), _types: PhantomData }
    }
}
impl<A, R> Clone for Linear<A, R> {
    fn clone(&self) -> Self {
        Linear { f: self.f.clone(), _types: PhantomData }
    }
}

/// The gradient's own use of both: the loss and the adjoint of the point.
#[track_caller]
pub(super) fn with_adjoint<A: Point, R: Diff>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> Acc<R>,
    by: &Acc<R::Tan>,
) -> (R::Acc, <A::Tan as Arrays>::Acc) {
    AtPoint::new::<A, R>(at, |a| f(a).node).reverse::<A, R>(by)
}
