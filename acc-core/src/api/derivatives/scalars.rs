//! What closures over scalars say about derivatives.

use crate::api::{Acc, Array, Elt, Exp, IntoExp, Real, Shape, TangentElt};
use crate::builder::{self, ExpOp, ExpRef};
use crate::data::EltType;
use crate::ir::Loc;

/// A function of one float and its derivative, in a closure over scalars: what `f` yields at `x`, and how that changes with
/// `x`. What `f` takes from around it is constant; in `f` another derivative may stand.
///
/// ```
/// use acc_core::prelude::*;
/// // Newton's method for the cube root.
/// let cube_roots = use_(&Vector::from([8.0f64, 27.0])).map(|a| {
///     iterate(20, a, |x| {
///         let (y, slope) = deriv(x, |x| x * x * x - a);
///         x - y / slope
///     })
/// });
/// let roots = Interpreter::new().run(cube_roots)?;
/// assert!(roots.to_vec().iter().zip([2.0, 3.0]).all(|(x, root)| (x - root).abs() < 1e-12));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn deriv<E: Real, T: TangentElt, R: IntoExp<T>>(
    x: impl IntoExp<E>,
    f: impl FnOnce(Exp<E>) -> R,
) -> (T::Exp, <T::Tan as Elt>::Exp) {
    let loc = Loc::caller();
    let body = builder::loop_body(E::ty(), &loc, |x| f(Exp::raw(x)).into_exp().r);
    let pair = builder::derivative(x.into_exp().r, body, <(T, T::Tan)>::ty(), &loc);
    Exp::<(T, T::Tan)>::raw(pair).unlift()
}

impl<T: Elt> Exp<T> {
    /// The same value, which derivatives take for a constant.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = Vector::from([3.0f64, 4.0]);
    /// let g = grad(&xs, |xs| xs.map(|x| x * x.stop_gradient()).sum());
    /// assert_eq!(Interpreter::new().run(g)?.to_vec(), [3.0, 4.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stop_gradient(self) -> Exp<T> {
        Exp::raw(stopped(self.r, &T::ty(), &Loc::caller()))
    }
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The same array, which derivatives take for a constant.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = Vector::from([3.0f64, 4.0]);
    /// let g = grad(&xs, |xs| xs.zip_with(xs.stop_gradient(), |x, c| x * c).sum());
    /// assert_eq!(Interpreter::new().run(g)?.to_vec(), [3.0, 4.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stop_gradient(&self) -> Acc<Array<Sh, E>> {
        self.map(|x| x.into_exp().stop_gradient())
    }
}

/// The scalar with its floats read as bits, which have no tangents, and back.
pub(super) fn stopped(x: ExpRef, ty: &EltType, loc: &Loc) -> ExpRef {
    match ty {
        EltType::Scalar(s) if s.is_float() => builder::push(ExpOp::Bitcast(x), ty.clone(), loc),
        EltType::Scalar(_) => x,
        EltType::Tuple(_) if !ty.has_float() => x,
        EltType::Tuple(parts) => {
            let part = |(i, t): (usize, &EltType)| stopped(builder::proj(x, i as u32, t.clone(), loc), t, loc);
            let parts: Vec<ExpRef> = parts.iter().enumerate().map(part).collect();
            builder::tuple(&parts, ty.clone(), loc)
        }
    }
}
