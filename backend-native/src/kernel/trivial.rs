//! Trivial bodies, which are interpreted directly: setting up a tile machine or a call of machine code takes longer.

use super::{Body, Ix, KernelOp, Node, Op};
use acc_core::ir::{ArrayId, Val};

/// The most nodes of a trivial body.
pub(crate) const TRIVIAL_NODES: usize = 16;

impl Body {
    /// Whether it consists of a few integer operations, over no axes.
    pub(crate) fn is_trivial(&self) -> bool {
        let whole = |v: Val| !self.ty(v).is_float();
        let node = |n: &Node| match &n.op {
            // Of floats there are comparisons alone.
            Op::Prim(..) => n.results.iter().all(|&v| whole(v)),
            Op::Cast(x) => whole(*x) && n.results.iter().all(|&v| whole(v)),
            Op::Const(_) | Op::Select { .. } | Op::Extent { .. } => true,
            Op::Index(l) => {
                l.edge.is_none()
                    && l.index.iter().all(|ix| !matches!(ix, Ix::Affine { scale: i64::MIN..=-1 | 1.., .. }))
            }
            // Of an element of an array of rank 0, which is there if the array is.
            Op::Own(KernelOp::Check { index, .. }) => index.is_empty(),
            Op::Bitcast(_) | Op::If { .. } | Op::While { .. } | Op::Own(_) => false,
        };
        self.region.params.is_empty() && self.region.nodes.len() <= TRIVIAL_NODES && self.region.nodes.iter().all(node)
    }

    /// The arrays that it reads or asks for extents, whatever the values.
    pub(crate) fn certain_reads(&self) -> impl Iterator<Item = ArrayId> {
        self.region.nodes.iter().filter_map(|n| match &n.op {
            Op::Index(l) => Some(l.array),
            Op::Extent { array, .. } | Op::Own(KernelOp::Inside { array, .. } | KernelOp::Check { array, .. }) => {
                Some(*array)
            }
            _ => None,
        })
    }

    /// The arrays that it reads or asks for extents, each once.
    pub(crate) fn arrays(&self) -> Vec<ArrayId> {
        let mut arrays: Vec<ArrayId> = Vec::new();
        self.region.visit(0, &mut |n, _| {
            let array = match &n.op {
                Op::Index(l) => l.array,
                Op::Extent { array, .. } | Op::Own(KernelOp::Inside { array, .. } | KernelOp::Check { array, .. }) => {
                    *array
                }
                Op::Const(_) | Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => return,
                Op::If { .. } | Op::While { .. } => return,
                Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Table { .. }) => return,
                Op::Own(KernelOp::Call { .. } | KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) => return,
            };
            if !arrays.contains(&array) {
                arrays.push(array);
            }
        });
        arrays
    }
}
