//! Kernels that read arrays element by element: their axes are as good as one.

use crate::kernel::{AxisKind, Finish, Ix, Kernel, Op, Region, row_major};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Val};

/// Whether a kernel reads each array at the point it computes, and takes the point for nothing else; `whole` says of
/// an array that it has the extents of the index space. Arrays without axes may be read as well.
pub(crate) fn reads_element_by_element(kernel: &Kernel, whole: impl Fn(ArrayId) -> bool) -> bool {
    let (params, rank) = (&kernel.element.region.params, kernel.axes.len());
    let mut plain = kernel.outputs.iter().all(|o| matches!(o.finish, Finish::Store));
    plain &= !kernel.element.region.results.iter().any(|v| params.contains(v));
    kernel.element.region.visit(0, &mut |n, _| {
        n.op.operands(&mut |v| plain &= !params.contains(&v));
        plain &= match &n.op {
            Op::Load(l) => l.edge.is_none() && (l.index.is_empty() || (is_point(&l.index, rank) && whole(l.array))),
            Op::Inside { .. } | Op::Check { .. } => false,
            // An array's extents are asked for by axis.
            Op::Extent { .. } => false,
            Op::If { then, else_, .. } => !yields(then, params) && !yields(else_, params),
            Op::While { test, step, .. } => !yields(test, params) && !yields(step, params),
            Op::Prim(..)
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Select { .. }
            | Op::Fma(..)
            | Op::Scale(..)
            | Op::Table { .. } => true,
            Op::Call { .. } | Op::Scalar { .. } => true,
        };
    });
    plain
}

fn yields(r: &Region, params: &[Val]) -> bool {
    r.results.iter().any(|v| params.contains(v))
}

/// Whether an index is the point itself.
fn is_point(index: &[Ix], rank: usize) -> bool {
    let own = |(k, i): (usize, &Ix)| *i == Ix::Affine { axis: k as u32, scale: 1, offset: 0, base: None };
    index.len() == rank && index.iter().enumerate().all(own)
}

/// The kernel over one axis, and arrays taken as one row of their elements; none if it reads otherwise.
pub(super) fn flattened(kernel: &Kernel) -> Option<Kernel> {
    if !reads_element_by_element(kernel, |_| true) {
        return None;
    }
    let mut kernel = kernel.clone();
    kernel.axes = vec![AxisKind::Parallel];
    kernel.element.region.params.truncate(1);
    flatten(&mut kernel.element.region);
    Some(kernel)
}

/// A kernel of one point as one over a row of one.
pub(super) fn one_row(kernel: &Kernel) -> Kernel {
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
        if let Op::Load(l) = &mut n.op {
            l.index.truncate(1);
        }
        for inner in n.op.regions_mut() {
            acc_core::grow_stack(|| flatten(inner));
        }
    }
}
