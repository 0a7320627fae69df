//! Packed operands: arrays of which each lane of a register tile reads a row, and all rows of lanes read the same. With their last
//! two axes exchanged, lanes lie side by side in memory, as in the operands of a matrix product (K. Goto, R. van de Geijn, *Anatomy
//! of high-performance matrix multiplication*, 2008).
//!
//! Distances of points from centres are an example: `x[i0, i2]` and `c[i1, i2]`, summed over `i2`, with `i1` as lanes.

use super::{Accesses, Edge, Ix, Kernel, Op, OpExt as _};
use acc_core::ir::ArrayId;
use acc_desugar::analysis::access::Access;

impl Kernel {
    /// The kernel that reads these operands packed, if all of its lanes are contiguous or uniform then.
    pub(crate) fn packed(&self) -> Option<(Kernel, Vec<ArrayId>)> {
        let lanes = self.axes.len().checked_sub(2)?;
        if self.folded() != 1 || !self.is_scheduled() || self.loops[self.lane_loop()?].axis != lanes {
            return None;
        }
        let mut arrays: Vec<ArrayId> = Vec::new();
        for n in &self.element.region.nodes {
            if let Op::Index(l) = &n.op
                && reads_rows(&l.index, l.edge, lanes)
                && !arrays.contains(&l.array)
            {
                arrays.push(l.array);
            }
        }
        let mut packed = self.clone();
        let mut all_packed = !arrays.is_empty();
        packed.element.region.nodes.iter_mut().for_each(|n| match &mut n.op {
            Op::Index(l) if arrays.contains(&l.array) => {
                all_packed &= reads_rows(&l.index, l.edge, lanes);
                let last = l.index.len() - 1;
                l.index.swap(last - 1, last);
            }
            // The extents of a packed array are others.
            Op::Extent { array, .. } => all_packed &= !arrays.contains(array),
            op => all_packed &= op.regions().is_empty() && op.index().is_empty() || matches!(op, Op::Index(_)),
        });
        if !all_packed || !packed.is_column_major() {
            return None;
        }
        let accesses = Accesses::of(&packed.element);
        let side_by_side = packed.element.region.nodes.iter().all(|n| match &n.op {
            Op::Index(l) => matches!(accesses.access(&l.index, lanes), Access::Uniform | Access::Strided(1)),
            _ => true,
        });
        side_by_side.then_some((packed, arrays))
    }
}

/// Whether each lane reads a row of its own, along the folded axis.
fn reads_rows(index: &[Ix], edge: Option<Edge>, lanes: usize) -> bool {
    let is =
        |ix: &Ix, of: usize| matches!(ix, Ix::Affine { axis, scale: 1, offset: 0, base: None } if *axis as usize == of);
    let outside = |ix: &Ix| matches!(ix, Ix::Affine { axis, .. } if (*axis as usize) < lanes);
    match index {
        [outer @ .., lane, along] => {
            edge.is_none() && outer.iter().all(outside) && is(lane, lanes) && is(along, lanes + 1)
        }
        _ => false,
    }
}
