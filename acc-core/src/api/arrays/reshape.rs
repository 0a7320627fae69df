//! Shapes changed: reshape, replicate, slice.

use crate::api::types::acc::closed_ix;
use crate::api::types::shape::index_of;
use crate::api::{Acc, Array, Elt, IntoIx, ReplicateSpec, Shape, SliceParts, SliceSpec};
use crate::builder::{self, AccOp};
use crate::ir::{ArrayOp, Axis, Loc};

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The same elements in row-major order under another shape; another size is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.reshape((2, 2)))?, Matrix::from([[1, 2], [3, 4]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape<Sh2: Shape>(&self, shape: impl IntoIx<Sh2>) -> Acc<Array<Sh2, E>> {
        let loc = Loc::caller();
        Acc::new(AccOp::Op(ArrayOp::Reshape { shape: closed_ix(&loc, shape), xs: self.node.clone() }), loc)
    }

    /// Copies along new axes: `xs.replicate((n, All))` has `n` rows, each `xs`, and `xs.replicate((Any, n))` of any rank
    /// has each element `n` times. Of an array of rank 0, `x.replicate(n)` and `x.replicate((n, m))` are a vector and a matrix.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.replicate((3, All)))?, Matrix::from([[1, 2], [1, 2], [1, 2]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn replicate<S: ReplicateSpec<Sh>>(&self, spec: S) -> Acc<Array<S::Full, E>>
    where
        S::Full: Shape,
    {
        let loc = Loc::caller();
        let extents = builder::closed(loc.clone(), || index_of(&spec.fixed()).0);
        let axes = axes::<S>(S::Full::RANK);
        Acc::new(AccOp::Op(ArrayOp::Replicate { axes, extents, xs: self.node.clone() }), loc)
    }

    /// Fixes axes at positions: `m.slice((All, 0))` is the first column, and `xs.slice((Any, 0))` of any rank has the
    /// first elements of the rows. `xs.slice(0)` of a vector has rank 0. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.slice((All, 1)))?.to_vec(), [2, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn slice<S: SliceSpec<Sh>>(&self, spec: S) -> Acc<Array<S::Slice, E>>
    where
        S::Slice: Shape,
    {
        let loc = Loc::caller();
        let index = builder::closed(loc.clone(), || index_of(&spec.fixed()).0);
        Acc::new(AccOp::Op(ArrayOp::Slice { axes: axes::<S>(Sh::RANK), index, xs: self.node.clone() }), loc)
    }
}

/// One entry per axis of the larger array.
fn axes<S: SliceParts>(rank: usize) -> Vec<Axis> {
    let any = if S::ANY { rank.saturating_sub(S::AXES.len()) } else { 0 };
    std::iter::repeat_n(Axis::All, any).chain(S::AXES.iter().copied()).collect()
}
