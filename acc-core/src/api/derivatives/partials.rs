//! Partial derivatives of one's own, of functions of scalars.

use crate::api::{Elt, Exp, IntoExp, Real, Smooth};
use crate::builder;
use crate::ir::Loc;

/// A function of floats in a closure over scalars, with partial derivatives of one's own: `partials` takes what `f` took and
/// what it yielded, and yields how that changes with each number of `at`. Where the function is not differentiated, it is `f`.
///
/// What `f` and `partials` take from around them must be constant wherever this is differentiated.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, ys) = (Vector::from([3.0, 0.0]), Vector::from([4.0, 0.0]));
/// let g = grad(&xs, |xs| {
///     let length = |a: Exp<f64>, b: Exp<f64>| {
///         // No slope at the origin.
///         let over = |x: Exp<f64>, r: Exp<f64>| r.gt(0.0).then_else(x / r, 0.0);
///         with_partials((a, b), |(a, b)| (a * a + b * b).sqrt(), |(a, b), r| (over(a, r), over(b, r)))
///     };
///     xs.zip_with(&ys, length).sum()
/// });
/// assert_eq!(Interpreter::new().run(g)?.to_vec(), [0.6, 0.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn with_partials<X: Smooth, E: Real, R: IntoExp<E>, P: IntoExp<X>>(
    at: impl IntoExp<X>,
    f: impl FnOnce(X::Exp) -> R,
    partials: impl FnOnce(X::Exp, Exp<E>) -> P,
) -> Exp<E> {
    let loc = Loc::caller();
    let f = builder::loop_body(X::ty(), &loc, |x| f(Exp::<X>::raw(x).unlift()).into_exp().r);
    let partials = builder::loop_body(<(X, E)>::ty(), &loc, |both| {
        let x = Exp::<X>::raw(builder::proj(both, 0, X::ty(), &loc));
        let y = Exp::<E>::raw(builder::proj(both, 1, E::ty(), &loc));
        partials(x.unlift(), y).into_exp().r
    });
    Exp::raw(builder::with_partials(at.into_exp().r, f, partials, E::ty(), &loc))
}
