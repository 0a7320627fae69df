//! Binding of the names in a kernel at run time, for the tile executor and machine code.

mod flags;

use acc_core::data::Column;
use acc_core::ir::ArrayId;
pub(crate) use flags::{FlagWindow, SparseFlags};

/// An array that a body reads.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub shape: &'a [usize],
    /// The columns; none for an array that is fused and never stored.
    pub columns: &'a [Column],
}

/// Resolves the names of a launch.
pub(crate) trait Names: Sync {
    /// An array, if it is evaluated.
    fn input(&self, a: ArrayId) -> Option<Input<'_>>;
    /// Sparse flags, if the array exists as such only, and the number of its elements.
    fn flags(&self, a: ArrayId) -> Option<(&SparseFlags, usize)>;
    /// A scalar of a statement's closed function.
    fn scalar(&self, a: ArrayId, position: u32) -> u64;
}
