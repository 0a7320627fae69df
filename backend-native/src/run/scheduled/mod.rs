//! Launches that follow the order of a kernel's transformed loops, by machine code.

mod collapsed;
#[cfg(test)]
mod random_nests;
#[cfg(test)]
pub(super) mod tests;

use super::launch::{Columns, Job, JobOutput, Outs, finish, take};
use super::rows::Rows;
use super::rows::grouping::by_term_blocks;
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::{Bits, Ix, Kernel, Loop, Op, Sink};
use crate::llvm::Variant;
use crate::llvm::call::{BoundCall, Call, Computed, Memory, Part, Shared};
use crate::tile::machine::Stop;
use acc_core::ir::{ArrayId, Mark};
use smallvec::SmallVec;
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

/// Tasks for each thread, so that all are done at about the same time.
const TASKS_PER_THREAD: usize = 4;

/// Part of an index space: indices along its first two axes, the position of the first point, and the memory of each
/// output.
struct Task<'a> {
    axes: [Range<usize>; 2],
    first: usize,
    outs: Outs<'a>,
}

/// Runs the loops on threads, which split the first axis or, if it is short, the first two; false if a task bailed out.
/// Outputs have the given number of elements per position of the axes that are not folded. Where the schedule collapses axes and extents
/// allow it, the loops are over these.
pub(super) fn run(job: &Job<'_>, out: &mut [Vec<AnyBuffer>], widths: &[usize], before: &[u64]) -> Result<bool, Stop> {
    Ok(collapsed::run(job, out, widths, before)? || follow(job, out, widths, before)?)
}

/// Runs the loops of a kernel; false if a task bailed out.
fn follow(job: &Job<'_>, out: &mut [Vec<AnyBuffer>], widths: &[usize], before: &[u64]) -> Result<bool, Stop> {
    let Some(nest) = Nest::new(job, false) else { return Ok(false) };
    if attempt(job, &nest, out, widths, before)? {
        return Ok(true);
    }
    nest.again(job).map_or(Ok(false), |nest| attempt(job, &nest, out, widths, before))
}

/// Machine code, and the kernel whose loops it follows.
struct Nest<'a> {
    call: Call<'a>,
    kernel: &'a Kernel,
    /// Whether it adds the blocks of terms of fused folds itself.
    adds_blocks: bool,
}

impl<'a> Nest<'a> {
    /// `parts` tells whether calls fold a part of the first folded axis.
    fn new(job: &'a Job<'_>, parts: bool) -> Option<Nest<'a>> {
        let (call, kernel) = job.call_in_tiles(parts)?;
        Some(Nest { call, kernel, adds_blocks: kernel.adds_term_blocks() })
    }

    /// The nest to try after this one has bailed out, if it is that of another kernel: its register tiles read what a condition may
    /// guard.
    fn again(&self, job: &'a Job<'_>) -> Option<Nest<'a>> {
        let kernel = &job.launch.kernel;
        if std::ptr::eq(self.kernel, kernel) {
            return None;
        }
        Some(Nest { call: job.call(Variant::Scheduled)?, kernel, adds_blocks: kernel.adds_term_blocks() })
    }

    /// Computes part of the index space; `along` is the part of the first folded axis. False if it bailed out.
    fn run(
        &self,
        job: &Job<'_>,
        (axes, along, first): ([Range<usize>; 2], &Range<usize>, usize),
        outs: &mut Outs<'_>,
        before: &[u64],
        computed: &[Computed],
    ) -> Result<bool, Stop> {
        let fold = |along: &Range<usize>, outs: &mut [Option<OutSlice<'_>>], before: &[u64]| {
            let memory = &mut Memory { outs, before, computed, ..Memory::default() };
            job.is_done(self.call.run_loops(axes.clone(), along, first, memory))
        };
        if !self.adds_blocks {
            return by_term_blocks(job, along, outs, before, fold);
        }
        let mut outs: SmallVec<[Option<OutSlice<'_>>; 2]> = outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        fold(along, &mut outs, before)
    }
}

fn attempt(
    job: &Job<'_>,
    nest: &Nest<'_>,
    out: &mut [Vec<AnyBuffer>],
    widths: &[usize],
    before: &[u64],
) -> Result<bool, Stop> {
    if nest.kernel.loops.iter().any(|l| l.mark == Mark::Threads) {
        return in_rectangles(job, nest, out, before);
    }
    let parallel = job.cx.parallel(job.extents.iter().product(), job.launch.cost);
    let tasks =
        tasks(job, nest.kernel, out, widths, if parallel { job.cx.threads.count() * TASKS_PER_THREAD } else { 1 });
    let bailed_out = AtomicBool::new(false);
    job.cx.tasks(
        parallel,
        tasks,
        || (),
        |(), task| {
            let done = compute(job, nest, task, before)?;
            bailed_out.fetch_or(!done, Ordering::Relaxed);
            Ok(())
        },
    )?;
    Ok(!bailed_out.into_inner())
}

/// Computes an index space in rectangles along the axes whose loops a schedule runs on threads; false if one bailed out.
fn in_rectangles(job: &Job<'_>, nest: &Nest<'_>, out: &mut [Vec<AnyBuffer>], before: &[u64]) -> Result<bool, Stop> {
    let extent = |axis: usize| job.extents[..parallel_axes(job)].get(axis).copied().unwrap_or(1);
    // The points of an iteration of the innermost loop on threads, along each of the first two axes.
    let steps = [0, 1].map(|axis| {
        let marked = |l: &&Loop| l.mark == Mark::Threads && l.axis == axis;
        nest.kernel.loops.iter().rfind(marked).map_or_else(|| extent(axis).max(1), |l| l.step)
    });
    let wanted = job.cx.threads.count() * TASKS_PER_THREAD;
    let rows = extent(0).div_ceil(steps[0]);
    let height = rows.div_ceil(wanted).max(1) * steps[0];
    let columns = extent(1).div_ceil(steps[1]);
    let width = columns.div_ceil(wanted.div_ceil(rows.max(1))).max(1) * steps[1];
    let ranges = |axis: usize, len: usize| {
        let n = extent(axis);
        (0..n).step_by(len).map(move |from| from..n.min(from + len))
    };
    let rectangles: Vec<[Range<usize>; 2]> =
        ranges(0, height).flat_map(|rows| ranges(1, width).map(move |columns| [rows.clone(), columns])).collect();
    let along = 0..job.extents[parallel_axes(job)..].first().copied().unwrap_or(0);
    let fold = |along: &Range<usize>, outs: &mut [Option<OutSlice<'_>>], before: &[u64]| {
        let shared = Shared::of(outs.iter_mut().flatten().map(OutSlice::reborrow));
        let bailed_out = AtomicBool::new(false);
        job.cx.tasks(
            true,
            rectangles.clone(),
            || (),
            |(), axes| {
                let memory = &mut Memory { before, shared: Some(&shared), ..Memory::default() };
                let done = job.is_done(nest.call.run_loops(axes, along, 0, memory))?;
                bailed_out.fetch_or(!done, Ordering::Relaxed);
                job.cx.limits.check().map_err(Stop::Error)
            },
        )?;
        Ok(!bailed_out.into_inner())
    };
    let mut outs: Outs<'_> = out.iter_mut().flatten().map(AnyBuffer::as_out).collect();
    if !nest.adds_blocks {
        return by_term_blocks(job, &along, &mut outs, before, fold);
    }
    let mut outs: SmallVec<[Option<OutSlice<'_>>; 2]> = outs.into_iter().map(Some).collect();
    fold(&along, &mut outs, before)
}

fn compute(job: &Job<'_>, nest: &Nest<'_>, mut task: Task<'_>, before: &[u64]) -> Result<bool, Stop> {
    let along = 0..job.extents[parallel_axes(job)..].first().copied().unwrap_or(0);
    let done = nest.run(job, (task.axes, &along, task.first), &mut task.outs, before, &[])?;
    job.cx.limits.check().map_err(Stop::Error)?;
    Ok(done)
}

fn parallel_axes(job: &Job<'_>) -> usize {
    job.extents.len() - job.launch.kernel.folded()
}

/// A launch of which calls fold parts of the outermost folded axis, each for all points.
pub(super) struct Slices<'a> {
    job: &'a Job<'a>,
    nest: Nest<'a>,
}

impl<'a> Slices<'a> {
    /// None if there is no machine code for it, or it is not ready.
    pub(super) fn new(job: &'a Job<'a>) -> Option<Slices<'a>> {
        Nest::new(job, true).map(|nest| Slices { job, nest })
    }

    /// Folds a part; false if machine code bailed out.
    pub(super) fn fold(&self, along: &Range<usize>, before: &[u64], out: &mut Outs<'_>) -> Result<bool, Stop> {
        let Slices { job, nest } = self;
        let extent = |axis: usize| 0..job.extents[..parallel_axes(job)].get(axis).copied().unwrap_or(1);
        let mut part = |nest: &Nest<'_>| nest.run(job, ([extent(0), extent(1)], along, 0), out, before, &[]);
        Ok(part(nest)? || nest.again(job).map_or(Ok(false), |nest| part(&nest))?)
    }
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
    nest: Nest<'a>,
    before: Bits,
}

impl<'a> Tiles<'a> {
    /// None if the launch does not compute whole rows in tiles, if blocks of rows share more than stays in a cache, unless that is
    /// `always` wanted, or if its machine code is not ready.
    pub(super) fn new(job: &'a Job<'a>, always: bool) -> Option<Tiles<'a>> {
        let whole = match job.launch.kernel.folded() {
            0 => true,
            1 => super::rows::folds_in_tiles(job),
            _ => super::rows::nested::is_whole(job),
        };
        let pays = || always || shared_bytes(job) <= MAX_SHARED_BYTES;
        (whole && pays()).then(|| Tiles::in_order(job))?
    }

    /// A launch whose terms are added in order. None if its machine code is not ready.
    pub(super) fn in_order(job: &'a Job<'a>) -> Option<Tiles<'a>> {
        let nest = if job.extents.contains(&0) { None } else { Nest::new(job, false) };
        nest.map(|nest| Tiles { job, nest, before: job.initial_values() })
    }

    /// Computes a range of rows, given rows of other results that are already `computed`; false if machine code bailed
    /// out.
    pub(super) fn run(&self, rows: &Range<usize>, outs: Vec<Outs<'_>>, computed: &[Computed]) -> Result<bool, Stop> {
        let (job, parallel) = (self.job, parallel_axes(self.job));
        let points = &job.extents[1..parallel];
        let mut outs: Outs<'_> = outs.into_iter().flatten().collect();
        let along = 0..job.extents[parallel..].first().copied().unwrap_or(0);
        let axes = [rows.clone(), 0..points.first().copied().unwrap_or(1)];
        let first = rows.start * points.iter().product::<usize>();
        self.nest.run(job, (axes, &along, first), &mut outs, &self.before, computed)
    }

    /// The calls that compute all points, no more than `most`, to be repeated; none if a call does not add up all terms. `column` is
    /// as for [`Call::bind`].
    pub(super) fn bind(
        &self,
        out: &mut [Vec<AnyBuffer>],
        most: usize,
        column: impl Fn(ArrayId, u32) -> Option<u64>,
    ) -> Option<Vec<BoundCall<'a>>> {
        let (job, Nest { call, kernel, adds_blocks }) = (self.job, &self.nest);
        let stored = &job.extents[..parallel_axes(job)];
        let along = 0..job.extents[stored.len()..].first().copied().unwrap_or(0);
        if !adds_blocks && job.outputs.iter().any(JobOutput::is_fused) {
            return None;
        }
        let is_row = |o: &JobOutput<'_>| matches!(o.output.sink, Sink::Store) && stored.len() < job.extents.len();
        let widths: Vec<usize> = job.outputs.iter().map(|o| if is_row(o) { along.len() } else { 1 }).collect();
        let wanted = (1..=most).rev().find(|&wanted| tasks(job, kernel, out, &widths, wanted).len() <= most)?;
        let second = stored.get(1).copied().unwrap_or(1);
        let bind = |Task { axes: [rows, columns], first, mut outs }: Task<'_>| {
            let positions = rows.start * second + columns.start..(rows.end - 1) * second + columns.end;
            let mut outs: SmallVec<[Option<OutSlice<'_>>; 2]> = outs.iter_mut().map(|o| Some(o.reborrow())).collect();
            let memory = &mut Memory { outs: &mut outs, before: &self.before, ..Memory::default() };
            call.bind_from(first, Part { along: along.clone(), ..Part::of(positions, second) }, memory, &column)
        };
        Some(tasks(job, kernel, out, &widths, wanted).into_iter().map(bind).collect())
    }
}
