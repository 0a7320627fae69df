//! Launches that follow the order of a kernel's transformed loops, by machine code.

#[cfg(test)]
mod tests;

use super::launch::{Columns, Job, Outs, finish, take};
use super::rows::Rows;
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::{Bits, Ix, Kernel, Op};
use crate::llvm::Variant;
use crate::llvm::call::{Call, Computed, Memory};
use crate::tile::machine::Stop;
use acc_core::ir::ArrayId;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

impl Rows<'_> {
    /// Folds rows as lanes; false if a task bailed out, in which case all results are void.
    pub(super) fn in_tiles(&self, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let job = self.job;
        if !job.launch.kernel.is_scheduled() {
            return Ok(false);
        }
        let widths: Vec<usize> = self.memories.iter().map(|m| m.width).collect();
        run(job, out, &widths, &job.initial_values())
    }
}

/// The results of an elementwise kernel; none if its loops are not transformed, or a task bailed out.
pub(super) fn store(job: &Job<'_>) -> Result<Option<Vec<Columns>>, Stop> {
    if !job.launch.kernel.is_scheduled() || job.extents.contains(&0) {
        return Ok(None);
    }
    let n: usize = job.extents.iter().product();
    let columns = job.outputs.iter().map(|o| job.cx.columns(&o.types, n).map_err(Stop::Error));
    let mut out = columns.collect::<Result<Vec<_>, Stop>>()?;
    let done = run(job, &mut out, &vec![1; job.outputs.len()], &[])?;
    Ok(done.then(|| out.into_iter().map(finish).collect()))
}

/// Part of an index space: indices along its first two axes, the position of the first point, and the memory of each
/// output.
struct Task<'a> {
    axes: [Range<usize>; 2],
    first: usize,
    outs: Outs<'a>,
}

/// Runs the loops on threads, which split the first axis or, if it is short, the first two; false if a task bailed out.
/// Outputs have the given number of elements per position of the axes that are not folded.
pub(super) fn run(job: &Job<'_>, out: &mut [Vec<AnyBuffer>], widths: &[usize], before: &[u64]) -> Result<bool, Stop> {
    let Some((call, kernel)) = job.call_in_tiles(false) else { return Ok(false) };
    if attempt(job, &call, kernel, out, widths, before)? {
        return Ok(true);
    }
    again(job, kernel).map_or(Ok(false), |call| attempt(job, &call, &job.launch.kernel, out, widths, before))
}

/// The code to try after that of another kernel has bailed out: its register tiles read what a condition may guard.
fn again<'a>(job: &'a Job<'_>, tried: &Kernel) -> Option<Call<'a>> {
    if std::ptr::eq(tried, &job.launch.kernel) { None } else { job.call(Variant::Scheduled) }
}

fn attempt(
    job: &Job<'_>,
    call: &Call<'_>,
    kernel: &Kernel,
    out: &mut [Vec<AnyBuffer>],
    widths: &[usize],
    before: &[u64],
) -> Result<bool, Stop> {
    let parallel = job.cx.parallel(job.extents.iter().product(), job.launch.cost);
    let tasks = tasks(job, kernel, out, widths, if parallel { job.cx.threads.count() * 4 } else { 1 });
    let bailed_out = AtomicBool::new(false);
    job.cx.tasks(
        parallel,
        tasks,
        || (),
        |(), task| {
            let done = compute(job, call, task, before)?;
            bailed_out.fetch_or(!done, Ordering::Relaxed);
            Ok(())
        },
    )?;
    Ok(!bailed_out.into_inner())
}

fn compute(job: &Job<'_>, call: &Call<'_>, mut task: Task<'_>, before: &[u64]) -> Result<bool, Stop> {
    let mut outs: Vec<_> = task.outs.iter_mut().map(|o| Some(o.reborrow())).collect();
    let memory = &mut Memory { outs: &mut outs, before, ..Memory::default() };
    let along = 0..job.extents[parallel_axes(job)..].first().copied().unwrap_or(0);
    let done = job.is_done(call.run_loops(task.axes, &along, task.first, memory))?;
    job.cx.limits.check().map_err(Stop::Error)?;
    Ok(done)
}

fn parallel_axes(job: &Job<'_>) -> usize {
    job.extents.len() - job.launch.kernel.folded()
}

/// Folds part of the outermost folded axis for all points; false if machine code bailed out.
pub(super) fn slice<'o>(
    job: &Job<'_>,
    along: &Range<usize>,
    before: &[u64],
    out: impl Iterator<Item = OutSlice<'o>>,
) -> Result<bool, Stop> {
    let Some((call, kernel)) = job.call_in_tiles(true) else { return Ok(false) };
    let mut outs: Vec<_> = out.map(Some).collect();
    let extent = |axis: usize| 0..job.extents[..parallel_axes(job)].get(axis).copied().unwrap_or(1);
    let memory = &mut Memory { outs: &mut outs, before, ..Memory::default() };
    let mut part = |call: &Call<'_>| job.is_done(call.run_loops([extent(0), extent(1)], along, 0, memory));
    Ok(part(&call)? || again(job, kernel).map_or(Ok(false), |call| part(&call))?)
}

/// Splits a space into about so many tasks of whole tiles.
fn tasks<'a>(
    job: &Job<'_>,
    kernel: &Kernel,
    out: &'a mut [Vec<AnyBuffer>],
    widths: &[usize],
    wanted: usize,
) -> Vec<Task<'a>> {
    let stored = &job.extents[..parallel_axes(job)];
    let (first, second) = (stored.first().copied().unwrap_or(1), stored.get(1).copied().unwrap_or(1));
    // Results of adjacent indices along the second axis are contiguous.
    let inner: usize = stored.iter().skip(2).product();
    let len = |extent: usize, axis: usize, wanted: usize| {
        let tile = kernel.loops.iter().find(|l| l.axis == axis).map_or(1, |l| l.step);
        extent.div_ceil(wanted.max(1)).next_multiple_of(tile).clamp(1, extent.max(1))
    };
    let (rows, columns) = match stored.get(1) {
        Some(_) if first < wanted => (1, len(second, 1, wanted.div_ceil(first.max(1)))),
        _ => (len(first, 0, wanted), second),
    };
    let mut rest: Vec<Outs<'a>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
    let mut tasks = Vec::new();
    let mut position = 0;
    for row in (0..first).step_by(rows) {
        for column in (0..second).step_by(columns) {
            let axes = [row..first.min(row + rows), column..second.min(column + columns)];
            let count = axes[0].len() * axes[1].len() * inner;
            let outs = rest.iter_mut().zip(widths).flat_map(|(rest, width)| take(rest, count * width)).collect();
            tasks.push(Task { axes, first: position, outs });
            position += count;
        }
    }
    tasks
}

/// The most bytes that each block of rows reads again: they stay in the second-level cache beside the block.
const MAX_SHARED_BYTES: usize = 256 << 10;

/// The bytes of the arrays of which a block of rows reads more than its own rows.
fn shared_bytes(job: &Job<'_>) -> usize {
    let mut arrays: Vec<ArrayId> = Vec::new();
    job.launch.kernel.element.region.visit(0, &mut |n, _| {
        if let Op::Index(l) = &n.op
            && !matches!(l.index.first(), Some(Ix::Affine { axis: 0, .. }))
            && !arrays.contains(&l.array)
        {
            arrays.push(l.array);
        }
    });
    let inputs = arrays.iter().filter_map(|a| job.names.input(*a));
    inputs.flat_map(|i| i.columns.iter().map(|c| c.len() * c.ty().size())).sum()
}

/// A launch in register tiles by machine code, any block of rows on its own.
pub(super) struct Tiles<'a> {
    job: &'a Job<'a>,
    call: Call<'a>,
    before: Bits,
}

impl<'a> Tiles<'a> {
    /// None if the launch does not compute whole rows in tiles, or its machine code is not ready.
    pub(super) fn new(job: &'a Job<'a>) -> Option<Tiles<'a>> {
        let whole = match job.launch.kernel.folded() {
            0 => true,
            1 => super::rows::folds_in_tiles(job),
            _ => super::rows::nested::is_whole(job),
        };
        let whole = whole && !job.extents.contains(&0) && shared_bytes(job) <= MAX_SHARED_BYTES;
        let call = if whole { job.call_in_tiles(false) } else { None };
        call.map(|(call, _)| Tiles { job, call, before: job.initial_values() })
    }

    /// Computes a range of rows, given rows of other results that are already `computed`; false if machine code bailed
    /// out.
    pub(super) fn run(
        &self,
        rows: &Range<usize>,
        mut outs: Vec<Outs<'_>>,
        computed: &[Computed],
    ) -> Result<bool, Stop> {
        let (job, parallel) = (self.job, parallel_axes(self.job));
        let points = &job.extents[1..parallel];
        let mut outs: Vec<_> = outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
        let memory = &mut Memory { outs: &mut outs, before: &self.before, computed, ..Memory::default() };
        let along = 0..job.extents[parallel..].first().copied().unwrap_or(0);
        let axes = [rows.clone(), 0..points.first().copied().unwrap_or(1)];
        job.is_done(self.call.run_loops(axes, &along, rows.start * points.iter().product::<usize>(), memory))
    }
}
