//! Kernels that read arrays element by element, whose axes can be collapsed into one.

use crate::kernel::{AxisKind, Ix, Kernel, KernelOp, Op, Region, Sink, row_major};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Val};
use smallvec::SmallVec;

/// The arrays that must have the extents of the index space, for all axes to be collapsed into one; none if the kernel uses its point
/// for more than to read each array there. Arrays without axes may be read, too.
pub(crate) fn elementwise_reads(kernel: &Kernel) -> Option<SmallVec<[ArrayId; 4]>> {
    let (params, rank) = (&kernel.element.region.params, kernel.axes.len());
    let mut whole = SmallVec::new();
    let mut plain = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store));
    plain &= !kernel.element.region.results.iter().any(|v| params.contains(v));
    kernel.element.region.visit(0, &mut |n, _| {
        n.op.visit_operands(&mut |v| plain &= !params.contains(&v));
        plain &= match &n.op {
            Op::Index(l) => {
                if !l.index.is_empty() && !whole.contains(&l.array) {
                    whole.push(l.array);
                }
                l.edge.is_none() && (l.index.is_empty() || is_point(&l.index, rank))
            }
            Op::Own(KernelOp::Inside { .. } | KernelOp::Check { .. }) => false,
            // An extent belongs to one axis.
            Op::Extent { .. } => false,
            Op::If { then, else_, .. } => !yields(then, params) && !yields(else_, params),
            Op::While { test, step, .. } => !yields(test, params) && !yields(step, params),
            Op::Const(_) | Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => true,
            Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Table { .. }) => true,
            Op::Own(KernelOp::Call { .. } | KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) => true,
        };
    });
    plain.then_some(whole)
}

fn yields(r: &Region, params: &[Val]) -> bool {
    r.results.iter().any(|v| params.contains(v))
}

/// Whether an index is the point itself.
fn is_point(index: &[Ix], rank: usize) -> bool {
    let own = |(k, i): (usize, &Ix)| *i == Ix::Affine { axis: k as u32, scale: 1, offset: 0, base: None };
    index.len() == rank && index.iter().enumerate().all(own)
}

/// The kernel with all axes collapsed into one; none if it is not elementwise.
pub(crate) fn flattened(kernel: &Kernel) -> Option<Kernel> {
    elementwise_reads(kernel)?;
    let mut kernel = kernel.clone();
    kernel.axes = vec![AxisKind::Parallel];
    kernel.element.region.params.truncate(1);
    flatten(&mut kernel.element.region);
    Some(kernel)
}

/// A kernel of one point as a kernel over a row of one.
pub(crate) fn one_row(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    let body = &mut kernel.element;
    body.region.params.push(Val(body.types.len() as u32));
    body.types.push(ScalarType::I64);
    body.uniform.push(false);
    kernel.axes = vec![AxisKind::Parallel];
    kernel.loops = row_major(1);
    kernel
}

fn flatten(r: &mut Region) {
    for n in &mut r.nodes {
        if let Op::Index(l) = &mut n.op {
            l.index.truncate(1);
        }
        for inner in n.op.regions_mut() {
            acc_core::grow_stack(|| flatten(inner));
        }
    }
}
