//! Finds steps for row blocking: consecutive kernels over the same rows, each of which reads only its own row of the
//! results of the previous ones. (A normalisation folds its rows and then reads each element again.) A block of rows
//! can go through all of them while it is in the second-level cache.
//!
//! Of an array that nothing else needs a row may read a window of rows, as a stencil does. The kernel of that array then computes
//! the rows around a block, too: its halo, which neighbouring blocks have in common.

use super::row_reads::{RowRead, row_reads};
use super::{BlockPlan, Closed, Launch, Materialization, Plan, Step, Work};
use crate::kernel::{AxisKind, Op, Sink};
use acc_core::ir::{ArrayId, ArrayOp};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Consecutive steps of a block with at least two such kernels; the steps between have extents only.
pub(crate) struct RowBlocking {
    /// Positions of the steps in the block; the first and the last one are kernels.
    pub steps: Range<usize>,
    /// Its kernels, in order.
    pub kernels: Vec<BlockedKernel>,
    /// The arrays that nothing else reads.
    pub transient: Vec<ArrayId>,
    /// Whether a schedule computes one of them within the loops of its reader, whatever the extents.
    pub is_scheduled: bool,
}

/// A kernel of a row blocking.
pub(crate) struct BlockedKernel {
    /// What it reads of the results of kernels before it, and the positions of these among the kernels.
    pub reads: Vec<(usize, RowRead)>,
    /// Whether it computes other rows than those of the block, since a later kernel reads them. Then all of its results are transient.
    pub has_halo: bool,
}

impl RowBlocking {
    /// The arrays with a halo.
    pub(crate) fn halos<K, F>(&self, plan: &Plan<K, F>, b: &BlockPlan) -> Vec<ArrayId> {
        let results = kernels(plan, &b.steps[self.steps.clone()]).map(|(s, _)| &s.results).zip(&self.kernels);
        results.filter(|(_, kernel)| kernel.has_halo).flat_map(|(results, _)| results.iter().copied()).collect()
    }
}

/// The row blockings of a block; `is_used` tells whether an array is needed outside of a range of steps. Those with halos, and with
/// kernels in register tiles, come first: at launch a halo may turn out to be too large, or such a kernel to be faster on its own, or
/// to fold otherwise, and then those without remain.
pub(super) fn row_blockings(
    plan: &Plan,
    b: &BlockPlan,
    within: &dyn Fn(ArrayId) -> bool,
    is_used: impl Fn(ArrayId, &Range<usize>) -> bool,
) -> Vec<RowBlocking> {
    let mut found: Vec<RowBlocking> = Vec::new();
    for (halos, tiles) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut at = 0;
        while at < b.steps.len() {
            let blocking = row_blocking(plan, b, at, (halos, tiles), within, &is_used);
            at = blocking.as_ref().map_or(at + 1, |blocking| blocking.steps.end);
            found.extend(blocking.filter(|new| !found.iter().any(|f| f.steps == new.steps)));
        }
    }
    found
}

/// The longest row blocking that begins at a step, with or without halos and kernels in register tiles.
fn row_blocking(
    plan: &Plan,
    b: &BlockPlan,
    first: usize,
    (halos, tiles): (bool, bool),
    within: &dyn Fn(ArrayId) -> bool,
    is_used: &dyn Fn(ArrayId, &Range<usize>) -> bool,
) -> Option<RowBlocking> {
    let mut computed: HashMap<ArrayId, usize> = HashMap::new();
    let mut members: Vec<Vec<(usize, RowRead)>> = Vec::new();
    let mut ends = Vec::new();
    for (at, &s) in b.steps.iter().enumerate().skip(first) {
        let step = &plan.steps[s];
        let is_computed = |a: ArrayId| computed.contains_key(&a);
        // The loops of a schedule are run in blocks of rows only where a schedule says so.
        let joins = |launch: &Launch| {
            let reads = || launch.arrays.iter().any(|a| is_computed(*a) && within(*a));
            !launch.kernel.has_schedule || step.results.iter().any(|r| within(*r)) || reads()
        };
        match &step.work {
            Work::Kernel { launch, parts }
                if joins(launch) && (is_row_wise(launch) || (tiles && is_tiled(launch, is_computed))) =>
            {
                let reads = reads_of(launch, is_computed)
                    .filter(|r| r.iter().all(|r| halos || r.is_own_row() || within(r.array)));
                let mut closed = parts.iter().flat_map(|p| &p.closed);
                let (Some(reads), false) = (reads, closed.any(|c| may_load(c, is_computed))) else { break };
                members.push(reads.into_iter().map(|read| (computed[&read.array], read)).collect());
                if launch.arrays.iter().any(|a| is_computed(*a)) {
                    ends.push((at + 1, members.len()));
                }
                computed.extend(step.results.iter().map(|r| (*r, members.len() - 1)));
            }
            Work::Array { closed, materialization: Materialization::Fused, .. }
                if at > first && !closed.iter().any(|c| may_load(c, is_computed)) => {}
            // The array itself, under another name.
            Work::Array { op: ArrayOp::Compute { xs, .. }, .. } if within(*xs) => {}
            Work::Kernel { .. } | Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => {
                break;
            }
        }
    }
    ends.into_iter().rev().find_map(|(end, count)| {
        let steps = first..end;
        let is_transient = |a: &ArrayId| {
            let mut names = std::iter::once(*a).chain(other_names(plan, &b.steps[steps.clone()], *a));
            !names.any(|name| is_used(name, &steps))
        };
        let with_halos = with_halos(&members[..count]);
        let mut results = kernels(plan, &b.steps[steps.clone()]).map(|(s, _)| &s.results).zip(&with_halos);
        let is_possible = results.all(|(results, kernel)| !kernel.has_halo || results.iter().all(is_transient));
        if !is_possible || !are_certainly_evaluated(plan, b, steps.clone()) {
            return None;
        }
        let results = kernels(plan, &b.steps[steps.clone()]).flat_map(|(s, _)| s.results.iter().copied());
        let transient: Vec<ArrayId> = results.filter(is_transient).collect();
        let is_scheduled = transient.iter().any(|a| within(*a));
        Some(RowBlocking { is_scheduled, kernels: with_halos, transient, steps })
    })
}

/// The names under which steps with schedules hand on an array.
fn other_names<'p>(plan: &'p Plan, steps: &'p [usize], a: ArrayId) -> impl Iterator<Item = ArrayId> + 'p {
    steps.iter().filter_map(move |s| match &plan.steps[*s] {
        Step { work: Work::Array { op: ArrayOp::Compute { xs, .. }, .. }, results, .. } if *xs == a => {
            results.first().copied()
        }
        _ => None,
    })
}

/// Kernels with these reads, and which of them have a halo.
pub(crate) fn with_halos(reads: &[Vec<(usize, RowRead)>]) -> Vec<BlockedKernel> {
    let mut kernels: Vec<BlockedKernel> =
        reads.iter().map(|reads| BlockedKernel { reads: reads.clone(), has_halo: false }).collect();
    for (k, reads) in reads.iter().enumerate().rev() {
        for (of, read) in reads {
            kernels[*of].has_halo |= !read.is_own_row() || kernels[k].has_halo;
        }
    }
    kernels
}

/// What a launch and its epilogue read of some arrays; none if a read is no window of rows.
fn reads_of(launch: &Launch, is_read: impl Fn(ArrayId) -> bool) -> Option<Vec<RowRead>> {
    let mut reads = row_reads(&launch.kernel, &is_read)?;
    if let Some(after) = &launch.epilogue {
        reads.extend(row_reads(&after.kernel, &is_read)?);
    }
    Some(reads)
}

/// Whether all kernels of these steps are certain to be evaluated if they and those behind them have points: strict ones, and those that
/// such a one reads at each point. Kernels that might not end must be evaluated for one among these steps.
fn are_certainly_evaluated(plan: &Plan, b: &BlockPlan, steps: Range<usize>) -> bool {
    let has_loop = |launch: &Launch| {
        let mut found = false;
        launch.kernel.element.region.visit(0, &mut |n, _| found |= matches!(n.op, Op::While { .. }));
        found
    };
    let all_end = kernels(plan, &b.steps[steps.clone()]).all(|(_, launch)| !has_loop(launch));
    let end = if all_end { b.steps.len() } else { steps.end };
    let mut read: HashSet<ArrayId> = HashSet::new();
    (steps.start..end).rev().all(|at| {
        let step = &plan.steps[b.steps[at]];
        let certain = b.strict[at] || step.results.iter().any(|r| read.contains(r));
        match &step.work {
            Work::Kernel { launch, .. } if certain || steps.contains(&at) => read.extend(reads_at_each_point(launch)),
            Work::Array { op, materialization: Materialization::View, .. } if certain => read.extend(op.arrays()),
            _ => return true,
        }
        certain || !matches!(step.work, Work::Kernel { .. })
    })
}

/// The arrays that a launch reads at each point, whatever the conditions.
fn reads_at_each_point(launch: &Launch) -> impl Iterator<Item = ArrayId> {
    launch.kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
        Op::Index(l) => Some(l.array),
        _ => None,
    })
}

/// Whether a launch is in register tiles, none of which needs more than rows of the given arrays.
fn is_tiled(launch: &Launch, is_computed: impl Fn(ArrayId) -> bool) -> bool {
    let kernel = &launch.kernel;
    let outer = kernel.axes.len() - kernel.folded();
    let sinks = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store | Sink::Fold { .. }));
    let rows = outer >= 1 && kernel.axes[..outer].iter().all(|a| *a == AxisKind::Parallel);
    let packs = launch.packed.as_ref().is_some_and(|p| p.arrays.iter().any(|a| is_computed(*a)));
    // Blocks are of rows along the first axis as it is written.
    let collapses = launch.collapsed.is_some();
    sinks
        && rows
        && !packs
        && !collapses
        && !launch.combine_partial
        && (kernel.is_scheduled() || launch.unguarded.is_some())
}

/// Whether a launch is elementwise or folds rows.
pub(crate) fn is_row_wise<K>(launch: &Launch<K>) -> bool {
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

/// Why an array is not computed within the loops of the kernel that reads it.
pub(super) fn why_not_within(plan: &Plan, b: &BlockPlan, a: ArrayId) -> String {
    let readers = || {
        kernels(plan, &b.steps)
            .filter(|(_, launch)| launch.arrays.contains(&a) && !launch.kernel.stored().any(|o| o.result == a))
    };
    let is_strict = || b.steps.iter().zip(&b.strict).any(|(s, strict)| *strict && plan.steps[*s].results.contains(&a));
    let is_result = std::iter::once(a).chain(other_names(plan, &b.steps, a)).any(|name| b.results.contains(&name));
    let why = match (readers().next(), readers().nth(1)) {
        (Some((_, reader)), None) if !is_result => {
            if reads_of(reader, |of| of == a).is_none() {
                "the kernel that reads it reads other rows of it than those around its own: legal along the first axis are its own \
                 index, plus literals, extents and the indices of folded axes, clamped or mirrored at borders"
            } else if reader.collapsed.is_some() {
                "axes of the kernel that reads it are collapsed, so that it is not computed row by row"
            } else if !is_strict() && !reads_at_each_point(reader).any(|of| of == a) {
                "the kernel that reads it may need none of it: each of the reads is in a conditional"
            } else {
                "the kernel that reads it, or one in between, is not computed row by row"
            }
        }
        (None, _) | (Some(_), None) => "it is a result, or no kernel of the same block reads it",
        (Some(_), Some(_)) => "several kernels read it",
    };
    why.to_string()
}

/// Whether a closed function may load from some arrays. Their extents are known before any kernel runs.
fn may_load(c: &Closed, is_read: impl Fn(ArrayId) -> bool) -> bool {
    let Closed::Code(body) = c else { return false };
    let mut loads = false;
    body.region.visit(0, &mut |n, _| loads |= matches!(&n.op, Op::Index(l) if is_read(l.array)));
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
