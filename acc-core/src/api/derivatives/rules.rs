//! Rules of one's own for the derivatives of functions of arrays.

use super::parts::{floats, leaves, rebuild, tangents, tuple, typed};
use crate::api::{Acc, Arrays, Diff, IntoAcc, Point};
use crate::builder::{self, AccFun, AccOp, AccRef, AccType};
use crate::ir::{ArrayOp, ArrayType, Loc};

/// A function of arrays whose reverse derivative is a rule of one's own. `f` yields the results and *residuals*: what the rule
/// needs of the function, which nobody else sees (`()` if it is nothing). The rule takes the residuals and the adjoints of the
/// results, and yields the adjoints of `at`.
///
/// The rule must be linear in the adjoints: they may be added up, moved, and multiplied by what does not depend on them.
/// Forward derivatives are by its transpose. Where it is not evaluated for a derivative, the function is `f`.
///
/// ```
/// use acc_core::prelude::*;
/// // Rounding, with the slope of the identity.
/// let round = |xs: Acc<Vector<f64>>| with_vjp(xs, |xs| (xs.map(|x| x.round()), ()), |(), ybar| ybar);
/// let (loss, g) = value_and_grad(&Vector::from([1.25, 2.75]), |xs| round(xs).map(|y| y * y).sum());
/// let (loss, g) = Interpreter::new().run((loss, g))?;
/// assert_eq!((loss.value(), g.to_vec()), (10.0, vec![2.0, 6.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
///
/// What `f` and the rule take from around them must be constant wherever this is differentiated:
///
/// ```
/// use acc_core::prelude::*;
/// let g = grad(&Vector::from([1.0, 2.0]), |k| {
///     with_vjp(&k, |xs| (xs.sum(), ()), |(), ybar| k.map(|k| k * ybar.the()))
/// });
/// let error = Interpreter::new().run(g).unwrap_err();
/// assert!(error.to_string().contains("pass it among the arguments"));
/// ```
#[track_caller]
pub fn with_vjp<A: Point, R: Diff, S: Arrays, F: IntoAcc<(R, S)>, G: IntoAcc<A::Tan>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> F,
    rule: impl FnOnce(S::Acc, <R::Tan as Arrays>::Acc) -> G,
) -> R::Acc {
    let loc = Loc::caller();
    let visible = array_types(&R::ty());
    let f = function(&array_types(&A::ty()), &loc, |args| {
        let all = leaves(&f(typed::<A>(&mut args.iter().cloned(), &loc)).into_acc().node, &loc);
        // For the rule, results without a float have adjoints without a number, of their extents.
        let discrete: Vec<AccRef> = all.iter().zip(&visible).filter(|(_, ty)| !ty.elt.has_float()).map(first).collect();
        all.into_iter().chain(discrete).collect()
    });
    let hidden = array_types(&f.body.ty).split_off(visible.len());
    let own = array_types(&S::ty()).len();
    let params: Vec<ArrayType> = hidden.iter().cloned().chain(tangent_types(&visible)).collect();
    let vjp = function(&params, &loc, |args| {
        let (residuals, rest) = args.split_at(own);
        let (discrete, adjoints) = rest.split_at(hidden.len() - own);
        let residuals = typed::<S>(&mut residuals.iter().cloned(), &loc);
        let adjoints = tangents::<R>(&mut discrete.iter().cloned(), adjoints.to_vec(), &loc);
        floats(&A::ty(), leaves(&rule(residuals, adjoints).into_acc().node, &loc))
    });
    let ruled = Ruled { residuals: hidden.len(), f, jvp: None, vjp: Some(vjp) };
    ruled.call::<R>(leaves(&at.into_acc().node, &loc), &loc)
}

/// A function of arrays whose forward derivative is a rule of one's own: from `at` and its tangents to the tangents of the
/// results.
///
/// The rule must be linear in the tangents: they may be added up, moved, and multiplied by what does not depend on them.
/// Reverse derivatives are by its transpose. What `f` and the rule take from around them must be constant wherever this is
/// differentiated.
///
/// ```
/// use acc_core::prelude::*;
/// // ln(1 + exp x), where exp x may be infinite.
/// let softplus = |xs: Acc<Vector<f64>>| {
///     with_jvp(
///         xs,
///         |xs| xs.map(|x| x.max(0.0) + ((-x.abs()).exp() + 1.0).ln()),
///         |xs, dxs| xs.zip_with(dxs, |x, dx| dx / ((-x).exp() + 1.0)),
///     )
/// };
/// let g = grad(&Vector::from([0.0, 1000.0]), |xs| softplus(xs).sum());
/// assert_eq!(Interpreter::new().run(g)?.to_vec(), [0.5, 1.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn with_jvp<A: Point, R: Diff, F: IntoAcc<R>, G: IntoAcc<R::Tan>>(
    at: impl IntoAcc<A>,
    f: impl FnOnce(A::Acc) -> F,
    rule: impl FnOnce(A::Acc, <A::Tan as Arrays>::Acc) -> G,
) -> R::Acc {
    let loc = Loc::caller();
    let args = array_types(&A::ty());
    let f = function(&args, &loc, |args| leaves(&f(typed::<A>(&mut args.iter().cloned(), &loc)).into_acc().node, &loc));
    let params: Vec<ArrayType> = args.iter().cloned().chain(tangent_types(&args)).collect();
    let jvp = function(&params, &loc, |all| {
        let (point, given) = all.split_at(args.len());
        let along = tangents::<A>(&mut point.iter().cloned(), given.to_vec(), &loc);
        let point = typed::<A>(&mut point.iter().cloned(), &loc);
        floats(&R::ty(), leaves(&rule(point, along).into_acc().node, &loc))
    });
    let ruled = Ruled { residuals: 0, f, jvp: Some(jvp), vjp: None };
    ruled.call::<R>(leaves(&at.into_acc().node, &loc), &loc)
}

/// A function of arrays of which reverse derivatives keep nothing but its arguments: going back, they compute the function
/// again. Its value and its derivatives are those of `f`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([0.5, 1.0]);
/// let layer = |xs: Acc<Vector<f64>>| checkpoint(xs, |xs| xs.map(|x| x.sin()).map(|x| x * x));
/// let g = grad(&xs, |xs| layer(layer(xs)).sum());
/// let plain = grad(&xs, |xs| {
///     let layer = |xs: Acc<Vector<f64>>| xs.map(|x| x.sin()).map(|x| x * x);
///     layer(layer(xs)).sum()
/// });
/// let (g, plain) = Interpreter::new().run((g, plain))?;
/// assert_eq!(g, plain);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn checkpoint<A: Arrays, R: Arrays, F: IntoAcc<R>>(at: impl IntoAcc<A>, f: impl FnOnce(A::Acc) -> F) -> R::Acc {
    let loc = Loc::caller();
    let f = function(&array_types(&A::ty()), &loc, |args| {
        leaves(&f(typed::<A>(&mut args.iter().cloned(), &loc)).into_acc().node, &loc)
    });
    let ruled = Ruled { residuals: 0, f, jvp: None, vjp: None };
    ruled.call::<R>(leaves(&at.into_acc().node, &loc), &loc)
}

/// A function with rules.
pub(super) struct Ruled {
    pub(super) residuals: usize,
    pub(super) f: AccFun,
    pub(super) jvp: Option<AccFun>,
    pub(super) vjp: Option<AccFun>,
}

impl Ruled {
    /// Its results at these arguments.
    pub(super) fn call<R: Arrays>(self, at: Vec<AccRef>, loc: &Loc) -> R::Acc {
        let Ruled { residuals, f, jvp, vjp } = self;
        let ty = f.body.ty.clone();
        let op = ArrayOp::Ruled { at: tuple(at, loc), residuals, f, jvp, vjp };
        let node = AccRef::new(AccOp::Op(op), ty, loc.clone());
        let results = leaves(&node, loc);
        Acc::<R>::raw(rebuild(&R::ty(), &mut results.into_iter(), loc)).unlift()
    }
}

/// A function of arrays of these types to arrays.
pub(super) fn function(params: &[ArrayType], loc: &Loc, f: impl FnOnce(&[AccRef]) -> Vec<AccRef>) -> AccFun {
    let ty = AccType::Tuple(params.iter().cloned().map(AccType::Array).collect());
    builder::array_function(ty, loc, |all| tuple(f(&leaves(&all, loc)), loc))
}

/// The types of the arrays in a type.
pub(super) fn array_types(ty: &AccType) -> Vec<ArrayType> {
    ty.leaves().into_iter().cloned().collect()
}

/// The types of the tangents of those that have some.
pub(super) fn tangent_types(types: &[ArrayType]) -> impl Iterator<Item = ArrayType> + '_ {
    types.iter().filter_map(ArrayType::tangent)
}

fn first<T>((a, _): (&AccRef, T)) -> AccRef {
    a.clone()
}
