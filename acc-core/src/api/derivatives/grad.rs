//! Gradients of losses.

use super::modes::{jvp, with_adjoint};
use crate::api::{Arrays, Diff, IntoAcc, Point, Real, Scalar, unit};

/// The gradient of a loss: how `f` changes at `at` with each number there. Of a complex number it is the complex number of
/// the derivatives by its real and its imaginary part.
///
/// Arrays that `f` takes from around it are constants. The point may be an array, a host array, or a tuple of these; in `f`
/// everything of the language may stand, other gradients, too.
///
/// ```
/// use acc_core::prelude::*;
/// let (w, b) = (Vector::from([1.0, 2.0]), Scalar::scalar(0.5));
/// let xs = use_(&Vector::from([3.0, 4.0]));
/// let (gw, gb) = grad((&w, &b), |(w, b)| w.zip_with(&xs, |w, x| w * x).sum().zip_with(b, |y, b| y * b));
/// let (gw, gb) = Interpreter::new().run((gw, gb))?;
/// assert_eq!((gw.to_vec(), gb.value()), (vec![1.5, 2.0], 11.0));
/// # Ok::<(), acc_core::Error>(())
/// ```
///
/// What depends on a point in steps alone, or not at all, has no gradient, and asking for it is a mistake:
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1.5f32, 2.5]);
/// let error = Interpreter::new().run(grad(&xs, |xs| xs.map(|x| x.floor()).sum())).unwrap_err();
/// assert!(error.to_string().contains("the derivative is identically zero"));
/// ```
#[track_caller]
pub fn grad<A: Point, E: Real, R: IntoAcc<Scalar<E>>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> R,
) -> <A::Tan as Arrays>::Acc {
    value_and_grad(at, f).1
}

/// A loss and its gradient: see [`grad`].
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1.0, -2.0]);
/// let (norm, g) = value_and_grad(&xs, |xs| xs.map(|x| x * x).sum());
/// let (norm, g) = Interpreter::new().run((norm, g))?;
/// assert_eq!((norm.value(), g.to_vec()), (5.0, vec![2.0, -4.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn value_and_grad<A: Point, E: Real, R: IntoAcc<Scalar<E>>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> R,
) -> (crate::api::Acc<Scalar<E>>, <A::Tan as Arrays>::Acc) {
    with_adjoint::<A, Scalar<E>>(at, |a| f(a).into_acc(), &unit(E::ONE))
}

/// The Hessian of a loss times a vector: how the gradient at `at` changes along `tangent`, by the forward derivative of the
/// reverse one.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, v) = (Vector::from([1.0, 2.0]), Vector::from([1.0, 0.0]));
/// let hv = hvp(&xs, &v, |xs| xs.map(|x| x * x * x).sum());
/// assert_eq!(Interpreter::new().run(hv)?.to_vec(), [6.0, 0.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn hvp<A: Point, E: Real, R: IntoAcc<Scalar<E>>>(
    at: impl IntoAcc<A>,
    tangent: impl IntoAcc<A::Tan>,
    f: impl FnOnce(A::Acc) -> R,
) -> <<A::Tan as Diff>::Tan as Arrays>::Acc {
    jvp::<A, A::Tan, <A::Tan as Arrays>::Acc>(at, tangent, |a| grad::<A, E, R>(a, f)).1
}
