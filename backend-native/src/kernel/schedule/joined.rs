//! Neighbouring axes that become one where all that is read along both follows in memory: vectors are whole along long rows, and fewer
//! rows begin.
//!
//! Elementwise kernels such as the activation of a layer, `f(x[n, c, y, z] + b[c])`, have one axis of `y` and `z` then. Folds along
//! several axes, whose rows follow each other in memory while neighbouring results do not (bias gradients, means of images), fold each such
//! row along itself, and the results of rows afterwards.

use super::collapse::FIRST_INNER_EXTENT;
use super::{CollapsedPair, row_major};
use crate::kernel::{Accesses, AxisKind, Kernel, KernelOp, Op, Sink};
use acc_core::ir::ArrayId;
use acc_desugar::analysis::access::{Access, Along};

impl Kernel {
    /// The kernel with its last axes as one, without its epilogue, and the pairs of axes that become one after another. One that folds
    /// several axes has a result for each row: for each position of the others. `over` is the array with the extents of the index space.
    pub(crate) fn joined(&self, over: ArrayId) -> Option<(Kernel, Vec<CollapsedPair>)> {
        if self.is_scheduled() {
            None
        } else if self.folded() > 1 {
            self.folding_rows(over)
        } else if self.outputs.iter().all(|o| matches!(o.sink, Sink::Store)) {
            // Where all axes become one, the code for whole arrays does the same.
            Some(self.with_last_axes_joined(0, over))
                .filter(|(kernel, pairs)| !pairs.is_empty() && kernel.axes.len() > 1)
        } else {
            None
        }
    }

    /// The kernel that folds each row alone.
    fn folding_rows(&self, over: ArrayId) -> Option<(Kernel, Vec<CollapsedPair>)> {
        // Terms of sums of products are added in the order of all folded axes.
        if self.outputs.iter().any(|o| o.sink.is_fused()) || !self.reads_rows() {
            return None;
        }
        let (mut kernel, pairs) = self.with_last_axes_joined(self.axes.len() - self.folded(), over);
        let row = kernel.axes.len() - 1;
        kernel.axes[..row].fill(AxisKind::Parallel);
        Some((kernel, pairs))
    }

    /// The kernel with as many of its last axes as one as it can be, all of them behind the first ones.
    fn with_last_axes_joined(&self, first: usize, over: ArrayId) -> (Kernel, Vec<CollapsedPair>) {
        let mut kernel = Kernel { epilogue: None, ..self.clone() };
        let mut pairs = Vec::new();
        while kernel.axes.len() > first + 1 {
            let mut longer = kernel.clone();
            let pair = longer.collapse(kernel.axes.len() - 2, over, pairs.len());
            if longer.divides_index() {
                break;
            }
            pairs.push(pair);
            kernel = longer;
        }
        kernel.loops = row_major(kernel.axes.len());
        (kernel, pairs)
    }

    /// Whether what is read along the last axis is contiguous, and moves along the last axis of the results in outer dimensions alone.
    fn reads_rows(&self) -> bool {
        let accesses = Accesses::of(&self.element);
        let row = self.axes.len() - 1;
        let lanes = self.axes.len().checked_sub(self.folded() + 1);
        let (mut contiguous, mut apart) = (false, true);
        self.element.region.visit(0, &mut |n, _| {
            let Op::Index(l) = &n.op else { return };
            match accesses.access(&l.index, row) {
                Access::Strided(1) => contiguous = true,
                Access::Uniform => {}
                _ => apart = false,
            }
            let moves = |lanes: usize| l.index.last().is_some_and(|ix| accesses.along(ix, lanes) != Along::Step(0));
            apart &= !lanes.is_some_and(moves);
        });
        contiguous && apart
    }

    /// Whether elements depend on the extent of an axis that has become one with the axis before.
    fn divides_index(&self) -> bool {
        let mut found = false;
        self.element.region.visit(0, &mut |n, _| {
            found |= matches!(n.op, Op::Own(KernelOp::Scalar { position, .. }) if position >= FIRST_INNER_EXTENT);
        });
        found
    }
}
