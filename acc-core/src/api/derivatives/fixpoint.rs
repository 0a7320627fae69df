//! Fixed points, with derivatives by the implicit function theorem.

use super::parts::{floats, leaves, tuple, typed};
use super::rules::{Ruled, array_types, function, tangent_types};
use super::scalars::stopped;
use crate::api::{Diff, IntoAcc, Point};
use crate::builder::{self, AccFun, AccOp, AccRef, AccType, ExpRef};
use crate::data::{EltType, Prim, ScalarType};
use crate::ir::{ArrayOp, ArrayType, Loc, Mode, PrimOp};

/// The fixed point of a step, found by taking it again and again: from `x0` until no number changes by more than `tolerance`.
/// `step` takes the state and the parameters, and should be a contraction near the fixed point; the loop has no end
/// otherwise, or where the tolerance is finer than rounding.
///
/// Derivatives are by the parameters `p`, and those of the fixed point and not of the way there: by the implicit function
/// theorem they are a fixed point, too, of the step's derivative. It is found to `tolerance` times the largest number of the
/// direction, and no step is kept. A state has the extents of `x0`, by which there is no derivative. What `step` takes from around
/// it must be constant wherever this is differentiated.
///
/// ```
/// use acc_core::prelude::*;
/// // The square root, by Heron's method.
/// let a = Vector::from([4.0f64, 9.0]);
/// let root = |a: Acc<Vector<f64>>| {
///     fixpoint(a.map(|_| 1.0f64), a, |x, a| x.zip_with(a, |x, a| (x + a / x) * 0.5), 1e-12)
/// };
/// let (sum, g) = value_and_grad(&a, |a| root(a).sum());
/// let (sum, g) = Interpreter::new().run((sum, g))?;
/// assert!((sum.value() - 5.0).abs() < 1e-9);
/// assert!((g.to_vec()[0] - 1.0 / 4.0).abs() < 1e-9 && (g.to_vec()[1] - 1.0 / 6.0).abs() < 1e-9);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn fixpoint<X: Point, P: Diff, F: IntoAcc<X>>(
    x0: impl IntoAcc<X>,
    p: impl IntoAcc<P>,
    step: impl FnOnce(X::Acc, P::Acc) -> F,
    tolerance: f64,
) -> X::Acc {
    let loc = Loc::caller();
    let (state, params) = (array_types(&X::ty()), array_types(&P::ty()));
    let both: Vec<ArrayType> = state.iter().chain(&params).cloned().collect();
    let step = function(&both, &loc, |all| {
        let (x, p) = all.split_at(state.len());
        let (x, p) = (typed::<X>(&mut x.iter().cloned(), &loc), typed::<P>(&mut p.iter().cloned(), &loc));
        leaves(&step(x, p).into_acc().node, &loc)
    });
    let s = Step { f: step, state: state.len(), tolerance, loc: loc.clone() };
    let x0: Vec<AccRef> = leaves(&x0.into_acc().node, &loc).iter().map(|x| s.constant(x)).collect();
    // The residuals are the fixed point and the parameters.
    let hidden: Vec<ArrayType> = both.clone();
    let f = function(&params, &loc, |p| {
        let x = s.repeated(x0, None, |x| s.at(x, p));
        x.iter().chain(&x).chain(p).cloned().collect()
    });
    let given: Vec<ArrayType> = params.iter().chain(&hidden).cloned().chain(tangent_types(&params)).collect();
    let jvp = function(&given, &loc, |all| {
        let (point, dp) = all[params.len()..].split_at(both.len());
        // From no change of the state: then a step gives the scale.
        let zeros = floats(&X::ty(), point[..state.len()].iter().map(|x| s.zeros(x)).collect());
        let tangent = |dx: &[AccRef]| s.derivative(Mode::Forward, point, [dx, dp].concat(), zeros.len());
        let first = tangent(&zeros);
        s.repeated_linear(first, tangent)
    });
    let given: Vec<ArrayType> = hidden.iter().cloned().chain(tangent_types(&state)).collect();
    let vjp = function(&given, &loc, |all| {
        let (point, xbar) = all.split_at(both.len());
        let adjoints = |w: &[AccRef]| s.derivative(Mode::Reverse, point, w.to_vec(), xbar.len() + params.len());
        let next = |w: &[AccRef]| {
            let moved = adjoints(w);
            xbar.iter().zip(&moved).map(|(a, b)| s.combined(PrimOp::AddP, a, b)).collect()
        };
        let w = s.repeated_linear(xbar.to_vec(), next);
        adjoints(&w).split_off(xbar.len())
    });
    let ruled = Ruled { residuals: hidden.len(), f, jvp: Some(jvp), vjp: Some(vjp) };
    ruled.call::<X>(leaves(&p.into_acc().node, &loc), &loc)
}

/// The step of a fixed point: a function of state and parameters, array by array.
struct Step {
    f: AccFun,
    /// How many arrays the state has.
    state: usize,
    tolerance: f64,
    loc: Loc,
}

const F64: ScalarType = ScalarType::F64;

impl Step {
    /// The next state.
    fn at(&self, x: &[AccRef], p: &[AccRef]) -> Vec<AccRef> {
        leaves(&builder::applied(&self.f, &tuple([x, p].concat(), &self.loc)), &self.loc)
    }

    /// The derivative of a step: at most so many arrays, of those that have one.
    fn derivative(&self, mode: Mode, point: &[AccRef], along: Vec<AccRef>, most: usize) -> Vec<AccRef> {
        let values: Vec<ArrayType> = array_types(&self.f.body.ty);
        let of: Vec<ArrayType> = match mode {
            Mode::Forward => values.clone(),
            Mode::Reverse => array_types(&self.f.params[0]),
        };
        let all = values.into_iter().chain(tangent_types(&of)).map(AccType::Array).collect();
        let (at, along) = (tuple(point.to_vec(), &self.loc), tuple(along, &self.loc));
        let op = ArrayOp::Derivative { mode, at, along, f: self.f.clone() };
        let mut all = leaves(&AccRef::new(AccOp::Op(op), AccType::Tuple(all), self.loc.clone()), &self.loc);
        let mut found = all.split_off(self.state);
        found.truncate(most);
        found
    }

    /// Takes steps until none changes a number by more than the tolerance, times a scale if there is one.
    fn repeated(
        &self,
        from: Vec<AccRef>,
        scale: Option<AccRef>,
        next: impl FnOnce(&[AccRef]) -> Vec<AccRef>,
    ) -> Vec<AccRef> {
        let bool_scalar = ArrayType { rank: 0, elt: ScalarType::Bool.into() };
        let types: Vec<ArrayType> = from.iter().filter_map(|a| a.ty.as_array().cloned()).collect();
        let state: Vec<ArrayType> = types.into_iter().chain([bool_scalar]).collect();
        let go_on = self.map(&[], ScalarType::Bool.into(), |_, loc| builder::constant(true.lit(), loc));
        let init = from.into_iter().chain([go_on]).collect();
        let test = function(&state, &self.loc, |all| all[all.len() - 1..].to_vec());
        let test = AccFun { body: leaves(&test.body, &self.loc).remove(0), ..test };
        let step = function(&state, &self.loc, |all| {
            let x = &all[..all.len() - 1];
            let mut new = next(x);
            let change: Vec<AccRef> = x
                .iter()
                .zip(&new)
                .filter(|(x, _)| has_float(x))
                .map(|(x, y)| self.combined(PrimOp::SubP, &self.floats_of(y), &self.floats_of(x)))
                .collect();
            let mut sizes = vec![self.magnitude(&change)];
            sizes.extend(scale);
            let go_on = self.map(&sizes, ScalarType::Bool.into(), |sizes, loc| {
                let mut most = builder::constant(self.tolerance.lit(), loc);
                for scale in &sizes[1..] {
                    most = builder::prim(PrimOp::MulP, &[most, *scale], F64, loc);
                }
                builder::prim(PrimOp::GtP, &[sizes[0], most], ScalarType::Bool, loc)
            });
            new.push(go_on);
            new
        });
        let types = AccType::Tuple(state.into_iter().map(AccType::Array).collect());
        let op = ArrayOp::While { init: tuple(init, &self.loc), test, step };
        let mut end = leaves(&AccRef::new(AccOp::Op(op), types, self.loc.clone()), &self.loc);
        end.pop();
        end
    }

    /// The same from a beginning that gives the scale.
    fn repeated_linear(&self, from: Vec<AccRef>, next: impl FnOnce(&[AccRef]) -> Vec<AccRef>) -> Vec<AccRef> {
        let scale = self.magnitude(&from);
        self.repeated(from, Some(scale), next)
    }

    /// A map of arrays of one rank, to elements of this type.
    fn map(&self, xs: &[AccRef], elt: EltType, f: impl FnOnce(&[ExpRef], &Loc) -> ExpRef) -> AccRef {
        let types = xs.iter().filter_map(|x| x.ty.as_array()).map(|ty| ty.elt.clone()).collect();
        let f = builder::lambda(types, self.loc.clone(), |params| f(params, &self.loc));
        let (op, rank) = match xs.first().and_then(|x| x.ty.as_array()) {
            Some(ty) => (ArrayOp::Map { xs: xs.to_vec(), f, indexed: false }, ty.rank),
            None => {
                let empty = EltType::index(0);
                let shape = builder::closed(self.loc.clone(), || builder::zero(&empty, &self.loc));
                (ArrayOp::Generate { shape, f }, 0)
            }
        };
        AccRef::new(AccOp::Op(op), AccType::array(rank, elt), self.loc.clone())
    }

    /// The same array, without a derivative.
    fn constant(&self, x: &AccRef) -> AccRef {
        let elt = element_type(x);
        self.map(std::slice::from_ref(x), elt.clone(), |x, loc| stopped(x[0], &elt, loc))
    }

    /// The tangents of an array that are all 0.
    fn zeros(&self, x: &AccRef) -> AccRef {
        let elt = element_type(x).tangent();
        self.map(std::slice::from_ref(x), elt.clone(), |_, loc| builder::zero(&elt, loc))
    }

    /// The floats of an array, as its tangents are.
    fn floats_of(&self, x: &AccRef) -> AccRef {
        let (from, to) = (element_type(x), element_type(x).tangent());
        self.map(std::slice::from_ref(x), to.clone(), |x, loc| {
            let floats = float_leaves(x[0], &from, loc).into_iter().map(|(x, _)| x).collect::<Vec<_>>();
            packed(&to, &mut floats.into_iter(), loc)
        })
    }

    /// Two arrays of floats alone, number by number.
    fn combined(&self, op: PrimOp, a: &AccRef, b: &AccRef) -> AccRef {
        let elt = element_type(a);
        self.map(&[a.clone(), b.clone()], elt.clone(), |both, loc| {
            let (a, b) = (float_leaves(both[0], &elt, loc), float_leaves(both[1], &elt, loc));
            let both = a.into_iter().zip(b).map(|((a, ty), (b, _))| builder::prim(op, &[a, b], ty, loc));
            packed(&elt, &mut both.collect::<Vec<_>>().into_iter(), loc)
        })
    }

    /// The largest of all numbers of arrays of floats alone.
    fn magnitude(&self, arrays: &[AccRef]) -> AccRef {
        let max = |a: ExpRef, b: ExpRef, loc: &Loc| builder::prim(PrimOp::MaxP, &[a, b], F64, loc);
        let nothing = |loc: &Loc| builder::constant(0f64.lit(), loc);
        let of = |a: &AccRef| {
            let elt = element_type(a);
            let mut sizes = self.map(std::slice::from_ref(a), F64.into(), |x, loc| {
                let size = |(x, ty): (ExpRef, ScalarType)| {
                    builder::cast(builder::prim(PrimOp::AbsP, &[x], ty, loc), ty, F64, loc)
                };
                let sizes = float_leaves(x[0], &elt, loc).into_iter().map(size);
                sizes.fold(nothing(loc), |a, b| max(a, b, loc))
            });
            for rank in (0..a.ty.as_array().map_or(0, |ty| ty.rank)).rev() {
                let f = builder::lambda(vec![F64.into(), F64.into()], self.loc.clone(), |x| max(x[0], x[1], &self.loc));
                let init = Some(builder::closed(self.loc.clone(), || nothing(&self.loc)));
                let op = ArrayOp::Fold { xs: sizes, f, init };
                sizes = AccRef::new(AccOp::Op(op), AccType::array(rank, F64.into()), self.loc.clone());
            }
            sizes
        };
        let all: Vec<AccRef> = arrays.iter().map(of).collect();
        self.map(&all, F64.into(), |sizes, loc| sizes.iter().fold(nothing(loc), |a, b| max(a, *b, loc)))
    }
}

fn element_type(a: &AccRef) -> EltType {
    a.ty.as_array().map_or(EltType::index(0), |ty| ty.elt.clone())
}

fn has_float(a: &AccRef) -> bool {
    element_type(a).has_float()
}

/// The floats of a value.
fn float_leaves(x: ExpRef, ty: &EltType, loc: &Loc) -> Vec<(ExpRef, ScalarType)> {
    match ty {
        EltType::Scalar(s) if s.is_float() => vec![(x, *s)],
        EltType::Scalar(_) => Vec::new(),
        EltType::Tuple(parts) => {
            let part = |(i, t): (usize, &EltType)| float_leaves(builder::proj(x, i as u32, t.clone(), loc), t, loc);
            parts.iter().enumerate().flat_map(part).collect()
        }
    }
}

/// A value of a type of floats alone.
fn packed(ty: &EltType, floats: &mut dyn Iterator<Item = ExpRef>, loc: &Loc) -> ExpRef {
    match ty {
        EltType::Scalar(s) => floats.next().unwrap_or_else(|| builder::zero(&EltType::Scalar(*s), loc)),
        EltType::Tuple(parts) => {
            let parts: Vec<ExpRef> = parts.iter().map(|t| packed(t, floats, loc)).collect();
            builder::tuple(&parts, ty.clone(), loc)
        }
    }
}
