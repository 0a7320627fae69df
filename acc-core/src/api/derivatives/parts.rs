//! Derivatives as expressions: what the typed functions share.

use crate::api::{Acc, Arrays, Diff, IntoAcc, Point};
use crate::builder::{self, AccFun, AccOp, AccRef, AccType};
use crate::ir::{ArrayOp, ArrayType, Loc, Mode};

/// A function of arrays at a point.
#[derive(Clone)]
pub(super) struct AtPoint {
    f: AccFun,
    /// The point, array by array.
    at: Vec<AccRef>,
    loc: Loc,
}

impl AtPoint {
    /// Runs the closure.
    #[track_caller]
    pub(super) fn new<A: Point, R: Diff>(at: impl IntoAcc<A>, f: impl FnOnce(A::Acc) -> AccRef) -> AtPoint {
        let loc = Loc::caller();
        let at = leaves(&at.into_acc().node, &loc);
        let f = builder::array_function(A::ty(), &loc, |a| f(Acc::<A>::raw(a).unlift()));
        debug_assert_eq!(f.body.ty, R::ty(), "the closure yields another type");
        AtPoint { f, at, loc }
    }

    /// The function's results.
    pub(super) fn value<R: Diff>(&self) -> R::Acc {
        let point = rebuild(&self.f.params[0], &mut self.at.iter().cloned(), &self.loc);
        Acc::<R>::raw(builder::applied(&self.f, &point)).unlift()
    }

    /// The results and their tangents, of those of the point.
    pub(super) fn forward<A: Point, R: Diff>(&self, along: &Acc<A::Tan>) -> (R::Acc, <R::Tan as Arrays>::Acc) {
        let along = floats(&A::ty(), leaves(&along.node, &self.loc));
        let (values, tangents) = self.derivative(Mode::Forward, along, &R::ty());
        (self.typed::<R>(&mut values.clone().into_iter()), self.tangents::<R>(&values, tangents))
    }

    /// The results, and the point's adjoints of those of the results.
    pub(super) fn reverse<A: Point, R: Diff>(&self, by: &Acc<R::Tan>) -> (R::Acc, <A::Tan as Arrays>::Acc) {
        let by = floats(&R::ty(), leaves(&by.node, &self.loc));
        let (values, adjoints) = self.derivative(Mode::Reverse, by, &A::ty());
        (self.typed::<R>(&mut values.into_iter()), self.tangents::<A>(&self.at, adjoints))
    }

    /// The results array by array, and tangents or adjoints of arrays of this type.
    fn derivative(&self, mode: Mode, along: Vec<AccRef>, of: &AccType) -> (Vec<AccRef>, Vec<AccRef>) {
        let values: Vec<AccType> = self.f.body.ty.leaves().into_iter().cloned().map(AccType::Array).collect();
        let tangents = of.leaves().into_iter().filter_map(ArrayType::tangent).map(AccType::Array);
        let count = values.len();
        let types: Vec<AccType> = values.into_iter().chain(tangents).collect();
        let op = ArrayOp::Derivative {
            mode,
            at: tuple(self.at.clone(), &self.loc),
            along: tuple(along, &self.loc),
            f: self.f.clone(),
        };
        let node = AccRef::new(AccOp::Op(op), AccType::Tuple(types), self.loc.clone());
        let mut all = leaves(&node, &self.loc);
        let tangents = all.split_off(count);
        (all, tangents)
    }

    fn typed<A: Arrays>(&self, arrays: &mut dyn Iterator<Item = AccRef>) -> A::Acc {
        typed::<A>(arrays, &self.loc)
    }

    fn tangents<A: Diff>(&self, of: &[AccRef], given: Vec<AccRef>) -> <A::Tan as Arrays>::Acc {
        tangents::<A>(&mut of.iter().cloned(), given, &self.loc)
    }
}

/// Arrays as the types say.
pub(in crate::api) fn typed<A: Arrays>(arrays: &mut dyn Iterator<Item = AccRef>, loc: &Loc) -> A::Acc {
    Acc::<A>::raw(rebuild(&A::ty(), arrays, loc)).unlift()
}

/// Tangents of arrays of this type: those given, and where there is no float nothings, like the next of `without`. (All of
/// the arrays will do, too.)
pub(super) fn tangents<A: Diff>(
    without: &mut dyn Iterator<Item = AccRef>,
    given: Vec<AccRef>,
    loc: &Loc,
) -> <A::Tan as Arrays>::Acc {
    let mut without = without.filter(|a| a.ty.as_array().is_some_and(|ty| !ty.elt.has_float()));
    let mut given = given.into_iter();
    let tangent =
        |ty: &ArrayType| if ty.elt.has_float() { given.next() } else { Some(nothings(&without.next()?, ty, loc)) };
    let all: Vec<AccRef> = A::ty().leaves().into_iter().filter_map(tangent).collect();
    typed::<A::Tan>(&mut all.into_iter(), loc)
}

/// An array of this one's extents, of elements without a leaf.
pub(super) fn nothings(a: &AccRef, ty: &ArrayType, loc: &Loc) -> AccRef {
    let elt = ty.elt.tangent();
    let f = builder::lambda(vec![ty.elt.clone()], loc.clone(), |_| builder::zero(&elt, loc));
    let op = ArrayOp::Map { xs: vec![a.clone()], f, indexed: false };
    AccRef::new(AccOp::Op(op), AccType::array(ty.rank, elt), loc.clone())
}

/// Of the tangents of arrays of this type those that are more than nothings.
pub(super) fn floats(ty: &AccType, tangents: Vec<AccRef>) -> Vec<AccRef> {
    let has_float = ty.leaves().into_iter().map(|a| a.elt.has_float());
    tangents.into_iter().zip(has_float).filter(|(_, has)| *has).map(|(a, _)| a).collect()
}

pub(super) fn tuple(parts: Vec<AccRef>, loc: &Loc) -> AccRef {
    let types = parts.iter().map(|a| a.ty.clone()).collect();
    AccRef::new(AccOp::Tuple(parts), AccType::Tuple(types), loc.clone())
}

/// The arrays of an expression, left to right.
pub(in crate::api) fn leaves(a: &AccRef, loc: &Loc) -> Vec<AccRef> {
    let AccType::Tuple(types) = &a.ty else { return vec![a.clone()] };
    let parts = types.iter().enumerate().map(|(i, ty)| match &a.op {
        AccOp::Tuple(parts) => parts[i].clone(),
        _ => AccRef::new(AccOp::Proj(a.clone(), i), ty.clone(), loc.clone()),
    });
    parts.flat_map(|p| leaves(&p, loc)).collect()
}

/// An expression of this type, of arrays from left to right.
pub(crate) fn rebuild(ty: &AccType, arrays: &mut dyn Iterator<Item = AccRef>, loc: &Loc) -> AccRef {
    match ty {
        // There is one array for each.
        AccType::Array(_) => arrays.next().unwrap_or_else(|| tuple(Vec::new(), loc)),
        AccType::Tuple(types) => {
            let parts = types.iter().map(|ty| rebuild(ty, arrays, loc)).collect();
            AccRef::new(AccOp::Tuple(parts), ty.clone(), loc.clone())
        }
    }
}
