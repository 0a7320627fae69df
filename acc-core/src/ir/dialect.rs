//! Scalar code has dialects: the same operations, over other arrays, and with some more.

use super::{ArrayId, Ir, Region, Val, Vals};
use crate::data::Lit;
use smallvec::SmallVec;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// What differs between the scalar code of programs and that of the representations that executors make of them.
///
/// [`Ir`] is that of programs; a program under construction and the kernels of an executor have their own. What all have in
/// common is in [`ScalarOp`](super::ScalarOp).
pub trait Dialect: Copy + Eq + Hash + Debug {
    /// The handle by which it reads arrays.
    type Array: Clone + Eq + Hash + Debug;
    /// A literal; [`Infallible`](std::convert::Infallible) where no node is one.
    type Literal: Copy + Eq + Hash + Debug + Into<Lit>;
    /// A position along one dimension of an array.
    type Index: Index;
    /// What an index out of bounds reads; nothing where that is always a fault.
    type Edge: Copy + Eq + Hash + Debug;
    /// The operations of the dialect alone.
    type Own: OwnOp<Self>;
}

/// A position along one dimension of an array.
pub trait Index: Copy + Eq + Hash + Debug {
    /// The scalar value that it is or is computed from.
    fn value(&self) -> Option<Val>;

    /// The same, to be changed.
    fn value_mut(&mut self) -> Option<&mut Val>;
}

impl Index for Val {
    fn value(&self) -> Option<Val> {
        Some(*self)
    }

    fn value_mut(&mut self) -> Option<&mut Val> {
        Some(self)
    }
}

/// An operation of one dialect alone.
pub trait OwnOp<D: Dialect>: Clone + Eq + Hash + Debug {
    /// Calls `f` on the values used directly.
    fn visit_operands(&self, f: &mut dyn FnMut(Val));

    /// Calls `f` on the values used directly, to be changed.
    fn visit_operands_mut(&mut self, f: &mut dyn FnMut(&mut Val));

    /// The regions inside. The first one is from the operands to the results.
    fn regions(&self) -> SmallVec<[&Region<D>; 2]> {
        SmallVec::new()
    }

    /// The regions inside, to be changed.
    fn regions_mut(&mut self) -> SmallVec<[&mut Region<D>; 2]> {
        SmallVec::new()
    }
}

/// The dialects of programs, finished or under construction.
pub trait Programs: Dialect<Literal = Lit, Index = Val, Edge = (), Own = Foreign<Self>> {}

impl<D: Dialect<Literal = Lit, Index = Val, Edge = (), Own = Foreign<D>>> Programs for D {}

impl Dialect for Ir {
    type Array = ArrayId;
    type Literal = Lit;
    type Index = Val;
    type Edge = ();
    type Own = Foreign;
}

/// A function that is not of the language, with one that is and means the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Foreign<D: Dialect = Ir> {
    /// The host function defined under this name (see [`foreign`](crate::foreign)), where an executor can run it; empty if
    /// there is none, and the fallback is the function.
    pub name: Arc<str>,
    /// The arguments.
    pub args: Vals,
    /// The same function in the language: from the arguments to the results.
    pub fallback: Region<D>,
    /// Its derivative, in place of that of the fallback: from the arguments and the results to the partial derivatives, for
    /// each float of the results those by the floats of the arguments, each of the type of its argument.
    pub partials: Option<Region<D>>,
}

impl<D: Dialect> OwnOp<D> for Foreign<D> {
    fn visit_operands(&self, f: &mut dyn FnMut(Val)) {
        self.args.iter().for_each(|&v| f(v));
    }

    fn visit_operands_mut(&mut self, f: &mut dyn FnMut(&mut Val)) {
        self.args.iter_mut().for_each(f);
    }

    fn regions(&self) -> SmallVec<[&Region<D>; 2]> {
        std::iter::once(&self.fallback).chain(&self.partials).collect()
    }

    fn regions_mut(&mut self) -> SmallVec<[&mut Region<D>; 2]> {
        std::iter::once(&mut self.fallback).chain(&mut self.partials).collect()
    }
}
