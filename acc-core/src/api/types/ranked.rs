//! Operations on arrays whose rank is a number, for combinators whose ranks the type system cannot add up.

use super::shape::{index_of, parts_of};
use crate::api::{Acc, Array, Elt, Exp, IntoExp, Shape};
use crate::builder::{self, AccOp, AccRef, AccType};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};

/// The extents of an array, outermost first.
#[track_caller]
pub(in crate::api) fn extents(xs: &AccRef, rank: usize) -> Vec<Exp<i64>> {
    parts_of(builder::extent(xs, rank, &Loc::caller()), rank)
}

/// The element at an index.
#[track_caller]
pub(in crate::api) fn element<E: Elt>(xs: &AccRef, ix: &[Exp<i64>]) -> Exp<E> {
    Exp::raw(builder::element(xs, index_of(ix).0, E::ty(), &Loc::caller()))
}

/// An array of these extents, each element from its index.
#[track_caller]
pub(in crate::api) fn generate<E: Elt>(shape: &[Exp<i64>], f: impl FnOnce(&[Exp<i64>]) -> Exp<E>) -> AccRef {
    let (loc, rank) = (Loc::caller(), shape.len());
    let extents = builder::closed(loc.clone(), || index_of(shape).0);
    let f = builder::lambda(vec![EltType::index(rank)], loc.clone(), |p| f(&parts_of(p[0], rank)).r);
    AccRef::new(AccOp::Op(ArrayOp::Generate { shape: extents, f }), AccType::array(rank, E::ty()), loc)
}

/// The array with the axes `from[0]`, `from[1]`, .. of the given one.
#[track_caller]
pub(in crate::api) fn permuted<E: Elt>(xs: &AccRef, from: &[usize]) -> AccRef {
    if from.iter().enumerate().all(|(to, from)| to == *from) {
        return xs.clone();
    }
    let shape = extents(xs, from.len());
    let shape: Vec<_> = from.iter().map(|axis| shape[*axis]).collect();
    generate::<E>(&shape, |ix| {
        let mut source = ix.to_vec();
        for (to, axis) in from.iter().enumerate() {
            source[*axis] = ix[to];
        }
        element(xs, &source)
    })
}

/// `f` of the elements of several arrays of this rank, on the intersection of their shapes.
#[track_caller]
pub(in crate::api) fn map<E: Elt>(xs: &[AccRef], rank: usize, f: impl FnOnce(&[Exp<E>]) -> Exp<E>) -> AccRef {
    let loc = Loc::caller();
    let f = builder::lambda(vec![E::ty(); xs.len()], loc.clone(), |p| {
        let elements: Vec<Exp<E>> = p.iter().map(|r| Exp::raw(*r)).collect();
        f(&elements).r
    });
    let op = ArrayOp::Map { f, xs: xs.to_vec(), indexed: false };
    AccRef::new(AccOp::Op(op), AccType::array(rank, E::ty()), loc)
}

/// The same elements under other extents.
#[track_caller]
pub(in crate::api) fn reshape<E: Elt>(xs: &AccRef, shape: &[Exp<i64>]) -> AccRef {
    let loc = Loc::caller();
    let extents = builder::closed(loc.clone(), || index_of(shape).0);
    let op = ArrayOp::Reshape { shape: extents, xs: xs.clone() };
    AccRef::new(AccOp::Op(op), AccType::array(shape.len(), E::ty()), loc)
}

/// A fold of the innermost axis of an array of this rank.
#[track_caller]
pub(in crate::api) fn fold<E: Elt>(
    xs: &AccRef,
    rank: usize,
    init: Option<Exp<E>>,
    f: impl FnOnce(E::Exp, E::Exp) -> Exp<E>,
) -> AccRef {
    let loc = Loc::caller();
    let init = init.map(|init| builder::closed(loc.clone(), || init.r));
    let f = builder::lambda(vec![E::ty(), E::ty()], loc.clone(), |p| {
        f(Exp::<E>::raw(p[0]).unlift(), Exp::<E>::raw(p[1]).unlift()).r
    });
    AccRef::new(AccOp::Op(ArrayOp::Fold { f, init, xs: xs.clone() }), AccType::array(rank - 1, E::ty()), loc)
}

/// An operation that folds with a neutral element, if it has one.
pub(in crate::api) struct Known<E: Elt> {
    neutral: Option<Neutral<E>>,
    combine: fn(Exp<E>, Exp<E>) -> Exp<E>,
}

type Neutral<E> = fn() -> Exp<E>;

impl<E: Elt> Known<E> {
    pub(in crate::api) fn new(neutral: Option<Neutral<E>>, combine: fn(Exp<E>, Exp<E>) -> Exp<E>) -> Self {
        Known { neutral, combine }
    }

    /// The operation.
    #[track_caller]
    pub(in crate::api) fn combine(&self, a: Exp<E>, b: Exp<E>) -> Exp<E> {
        (self.combine)(a, b)
    }

    /// Folds the innermost `count` axes, one after the other.
    #[track_caller]
    pub(in crate::api) fn folds(&self, xs: AccRef, rank: usize, count: usize) -> AccRef {
        (0..count).fold(xs, |xs, done| {
            let combine = |a: E::Exp, b: E::Exp| (self.combine)(a.into_exp(), b.into_exp());
            fold::<E>(&xs, rank - done, self.neutral.map(|neutral| neutral()), combine)
        })
    }
}

/// An array whose rank the caller knows to be that of the shape.
pub(in crate::api) fn typed<Sh: Shape, E: Elt>(xs: AccRef) -> Acc<Array<Sh, E>> {
    Acc::raw(xs)
}
