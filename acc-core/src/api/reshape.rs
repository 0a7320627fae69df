//! Shapes changed: reshape, replicate, slice.

use super::acc::{Acc, closed_ix};
use super::array::Array;
use super::elt::Elt;
use super::shape::{IntoIx, Shape, index_of};
use super::slice::SliceSpec;
use crate::build::{self, AccOp};
use crate::ir::Loc;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The same elements in row-major order under another shape; another size is a fault.
    #[track_caller]
    pub fn reshape<Sh2: Shape>(&self, shape: impl IntoIx<Sh2>) -> Acc<Array<Sh2, E>> {
        let loc = Loc::caller();
        Acc::new(AccOp::Reshape { shape: closed_ix(&loc, shape), xs: self.node.clone() }, loc)
    }

    /// Copies along new axes: `xs.replicate((n, All))` has `n` rows, each `xs`.
    #[track_caller]
    pub fn replicate<S: SliceSpec<Slice = Sh>>(&self, spec: S) -> Acc<Array<S::Full, E>> {
        let loc = Loc::caller();
        let extents = build::closed(loc.clone(), || index_of(&spec.fixed()).0);
        Acc::new(AccOp::Replicate { axes: S::AXES.to_vec(), extents, xs: self.node.clone() }, loc)
    }

    /// Fixes axes at positions: `m.slice((All, 0))` is the first column. Out of bounds is a fault.
    #[track_caller]
    pub fn slice<S: SliceSpec<Full = Sh>>(&self, spec: S) -> Acc<Array<S::Slice, E>>
    where
        S::Slice: Shape,
    {
        let loc = Loc::caller();
        let index = build::closed(loc.clone(), || index_of(&spec.fixed()).0);
        Acc::new(AccOp::Slice { axes: S::AXES.to_vec(), index, xs: self.node.clone() }, loc)
    }
}
