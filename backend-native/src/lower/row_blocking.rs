//! Finds steps for row blocking: consecutive kernels over the same rows, each of which reads only its own row of the
//! results of the previous ones. (A normalisation folds its rows and then reads each element again.) A block of rows
//! can go through all of them while it is in the second-level cache.

use super::{BlockPlan, Closed, Launch, Materialization, Plan, Step, Work};
use crate::kernel::{AxisKind, Ix, Kernel, Op, Sink};
use acc_core::ir::{ArrayId, ArrayOp};
use std::collections::HashSet;
use std::ops::Range;

/// Consecutive steps of a block with at least two such kernels; the steps between have extents only.
pub(crate) struct RowBlocking {
    /// Positions of the steps in the block; the first and the last one are kernels.
    pub steps: Range<usize>,
    /// The arrays that nothing else reads.
    pub transient: Vec<ArrayId>,
    /// Whether a schedule computes one of them within the loops of its reader, whatever the extents.
    pub is_scheduled: bool,
}

/// The row blockings of a block; `is_used` tells whether an array is needed outside of a range of steps. Those with kernels
/// in register tiles come first: at launch such a kernel may turn out to be faster on its own, or to fold otherwise, and
/// then those without remain.
pub(super) fn row_blockings(
    plan: &Plan,
    b: &BlockPlan,
    within: &dyn Fn(ArrayId) -> bool,
    is_used: impl Fn(ArrayId, &Range<usize>) -> bool,
) -> Vec<RowBlocking> {
    let mut found: Vec<RowBlocking> = Vec::new();
    for tiles in [true, false] {
        let mut at = 0;
        while at < b.steps.len() {
            let steps = steps(plan, b, at, tiles, within);
            at = steps.as_ref().map_or(at + 1, |s| s.end);
            found.extend(steps.filter(|steps| !found.iter().any(|f| f.steps == *steps)).map(|steps| {
                let computed = kernels(plan, &b.steps[steps.clone()]).flat_map(|(s, _)| s.results.iter().copied());
                let transient: Vec<ArrayId> = computed.filter(|a| !is_used(*a, &steps)).collect();
                RowBlocking { is_scheduled: transient.iter().any(|a| within(*a)), transient, steps }
            }));
        }
    }
    found
}

/// The longest row blocking that begins at a step, with or without kernels in register tiles.
fn steps(
    plan: &Plan,
    b: &BlockPlan,
    first: usize,
    tiles: bool,
    within: &dyn Fn(ArrayId) -> bool,
) -> Option<Range<usize>> {
    let mut computed: HashSet<ArrayId> = HashSet::new();
    let mut ends = Vec::new();
    for (at, &s) in b.steps.iter().enumerate().skip(first) {
        let step = &plan.steps[s];
        // The loops of a schedule are run in blocks of rows only where a schedule says so.
        let joins = |launch: &Launch| {
            let reads = || launch.arrays.iter().any(|a| computed.contains(a) && within(*a));
            !launch.kernel.has_schedule || step.results.iter().any(|r| within(*r)) || reads()
        };
        match &step.work {
            Work::Kernel { launch, parts }
                if joins(launch) && (is_row_wise(launch) || (tiles && is_tiled(launch, &computed))) =>
            {
                let bodies = [&launch.kernel].into_iter().chain(launch.epilogue.iter().map(|after| &after.kernel));
                let mut closed = parts.iter().flat_map(|p| &p.closed);
                if !bodies.into_iter().all(|k| reads_own_rows(k, &computed)) || closed.any(|c| may_load(c, &computed)) {
                    break;
                }
                if launch.arrays.iter().any(|a| computed.contains(a)) {
                    ends.push(at + 1);
                }
                computed.extend(&step.results);
            }
            Work::Array { closed, materialization: Materialization::Fused, .. }
                if at > first && !closed.iter().any(|c| may_load(c, &computed)) => {}
            // Nobody reads what it hands on.
            Work::Array { op: ArrayOp::Compute { xs, .. }, .. } if within(*xs) => {}
            Work::Kernel { .. } | Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => {
                break;
            }
        }
    }
    ends.into_iter().rev().map(|end| first..end).find(|steps| are_certainly_evaluated(plan, b, steps.clone()))
}

/// Whether all kernels of these steps are certain to be evaluated if they have points: strict ones, and those that a
/// strict one reads at each point.
fn are_certainly_evaluated(plan: &Plan, b: &BlockPlan, steps: Range<usize>) -> bool {
    let mut read: HashSet<ArrayId> = HashSet::new();
    steps.rev().all(|at| {
        let step = &plan.steps[b.steps[at]];
        let Work::Kernel { launch, .. } = &step.work else { return true };
        let certain = b.strict[at] || step.results.iter().any(|r| read.contains(r));
        read.extend(launch.kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
            Op::Index(l) => Some(l.array),
            _ => None,
        }));
        certain
    })
}

/// Whether a launch is in register tiles, none of which needs more than rows of the given arrays.
fn is_tiled(launch: &Launch, computed: &HashSet<ArrayId>) -> bool {
    let kernel = &launch.kernel;
    let outer = kernel.axes.len() - kernel.folded();
    let sinks = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store | Sink::Fold { .. }));
    let rows = outer >= 1 && kernel.axes[..outer].iter().all(|a| *a == AxisKind::Parallel);
    let packs = launch.packed.as_ref().is_some_and(|p| p.arrays.iter().any(|a| computed.contains(a)));
    sinks && rows && !packs && !launch.combine_partial && (kernel.is_scheduled() || launch.unguarded.is_some())
}

/// Whether a launch is elementwise or folds rows.
fn is_row_wise(launch: &Launch) -> bool {
    let kernel = &launch.kernel;
    let Some(inner) = kernel.axes.len().checked_sub(1) else { return false };
    let outer = kernel.axes.len() - kernel.folded();
    let sinks = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store | Sink::Fold { .. }));
    let simple = launch.product.is_none() && launch.permuted.is_none() && !launch.fuses_epilogue;
    let rows = outer >= 1 && kernel.folded() <= 1 && kernel.axes[..outer].iter().all(|a| *a == AxisKind::Parallel);
    let across = kernel.has_strided_access(inner) || (kernel.folded() > 0 && launch.column_major);
    sinks
        && simple
        && rows
        && !launch.combine_partial
        && !kernel.is_scheduled()
        && launch.unguarded.is_none()
        && !across
}

/// Whether each point reads the given arrays only at its own index along the first axis.
fn reads_own_rows(kernel: &Kernel, arrays: &HashSet<ArrayId>) -> bool {
    let own = |ix: Option<&Ix>| matches!(ix, Some(Ix::Affine { axis: 0, scale: 1, offset: 0, base: None }));
    let mut all = true;
    let bodies = [&kernel.element].into_iter().chain(kernel.outputs.iter().filter_map(|o| o.sink.combine()));
    for (k, body) in bodies.enumerate() {
        body.region.visit(0, &mut |n, _| {
            if let Op::Index(l) = &n.op {
                all &= !arrays.contains(&l.array) || (k == 0 && own(l.index.first()));
            }
        });
    }
    all
}

/// Why an array is not computed within the loops of the kernel that reads it.
pub(super) fn why_not_within(plan: &Plan, b: &BlockPlan, a: ArrayId) -> String {
    let readers = || {
        kernels(plan, &b.steps)
            .filter(|(_, launch)| launch.arrays.contains(&a) && !launch.kernel.stored().any(|o| o.result == a))
    };
    let (one, other) = (readers().next(), readers().nth(1));
    match (one, other) {
        (Some((_, reader)), None) if !b.results.contains(&a) => {
            if reads_own_rows(&reader.kernel, &HashSet::from([a])) {
                "the kernel that reads it, or one in between, is not computed row by row".to_string()
            } else {
                "the kernel that reads it reads other rows of it than its own".to_string()
            }
        }
        (None, _) | (Some(_), None) => "it is a result, or no kernel of the same block reads it".to_string(),
        (Some(_), Some(_)) => "several kernels read it".to_string(),
    }
}

/// Whether a closed function may load from the given arrays. Their extents are known before any kernel runs.
fn may_load(c: &Closed, arrays: &HashSet<ArrayId>) -> bool {
    let Closed::Code(body) = c else { return false };
    let mut loads = false;
    body.region.visit(0, &mut |n, _| loads |= matches!(&n.op, Op::Index(l) if arrays.contains(&l.array)));
    loads
}

/// The kernels of a row blocking.
pub(crate) fn kernels<'p, K, F>(
    plan: &'p Plan<K, F>,
    steps: &'p [usize],
) -> impl Iterator<Item = (&'p Step<K, F>, &'p Launch<K>)> {
    steps.iter().filter_map(|&s| match &plan.steps[s].work {
        Work::Kernel { launch, .. } => Some((&plan.steps[s], &**launch)),
        Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => None,
    })
}
