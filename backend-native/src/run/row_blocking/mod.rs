//! Row blocking: kernels over the same rows run one after the other on a block of rows, so that each reads what the
//! previous one computed while it is in the second-level cache, and intermediate results are never stored as a whole.
//!
//! Only machine code does this, and only for programs large enough for several threads. If it bails out the kernels are
//! launched one by one; results are the same, since each row is computed in the same way.

#[cfg(test)]
mod tests;

use super::kernel::Inits;
use super::launch::{Columns, Job, Outs, Piece, finish, take, task_len};
use super::rows::{BatchedRows, Block, product};
use super::scheduled::Tiles;
use super::{Run, View};
use crate::Compile;
use crate::bind::Names;
use crate::buffer::{AnyBuffer, CACHE_LINE_BYTES};
use crate::kernel::Kernel;
use crate::llvm::call::Computed;
use crate::lower::BlockPlan;
use crate::lower::row_blocking::{RowBlocking, kernels};
use crate::prepare::{Launch, Work};
use crate::run::elementwise::store::{MIN_STREAMED_BYTES, StoreCode, rows_begin_at_lines};
use crate::tile::lanes::Lanes;
use crate::tile::machine::Stop;
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;
use acc_core::timeline;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of all arrays that a block computes: with what is read they fit the second-level cache.
const BLOCK_BYTES: usize = 128 << 10;
/// The least rows per thread.
const MIN_ROWS_PER_THREAD: usize = 8;

/// A kernel, or the epilogue of one.
struct Stage<'a> {
    job: &'a Job<'a>,
    work: StageCode<'a>,
    /// Points per row.
    points: usize,
    /// The indices of the arrays that it computes.
    arrays: Range<usize>,
}

/// The machine code of a stage, for a range of rows.
enum StageCode<'a> {
    Store(StoreCode<'a>),
    Fold(BatchedRows<'a>),
    Tiles(Tiles<'a>),
}

/// An array computed by row blocking.
struct Array {
    id: ArrayId,
    types: Vec<ScalarType>,
    /// Elements per row.
    width: usize,
    /// Whether anything reads it afterwards.
    kept: bool,
}

/// Whether tests request row blocking wherever possible, with small blocks.
fn always() -> bool {
    #[cfg(test)]
    return tests::ALWAYS.get();
    #[cfg(not(test))]
    false
}

impl Array {
    fn bytes(&self) -> usize {
        self.width * self.types.iter().map(|t| t.size()).sum::<usize>()
    }
}

/// A range of rows of all arrays that are kept.
struct Task<'a> {
    rows: Range<usize>,
    outs: Vec<Outs<'a>>,
}

impl<'p> Run<'p> {
    /// Evaluates steps of a block with row blocking; false if that is not possible, in which case there are no effects.
    pub(super) fn run_row_blocking(&mut self, b: &'p BlockPlan, row_blocking: &RowBlocking) -> Result<bool, Error> {
        let plan = self.plan;
        let steps = &b.steps[row_blocking.steps.clone()];
        let results = || kernels(plan, steps).flat_map(|(s, _)| s.results.iter().copied());
        if self.cx.compile == Compile::Never || results().any(|r| self.values[r.index()].is_some()) {
            return Ok(false);
        }
        // The kernels, launched in their order, find the fault.
        let computed = match self.begun(steps) {
            Ok(inits) => self.blocked(steps, &inits, row_blocking),
            Err(_) => Ok(None),
        };
        match computed {
            Ok(Some(columns)) => {
                row_blocking.transient.iter().for_each(|a| self.values[a.index()] = None);
                for (a, columns) in columns {
                    if let Some(v) = &mut self.values[a.index()] {
                        v.columns = Some(columns);
                    }
                }
                Ok(true)
            }
            Ok(None) | Err(Stop::Demand(_) | Stop::Fault(..)) => {
                results().for_each(|r| self.values[r.index()] = None);
                Ok(false)
            }
            Err(Stop::Error(e)) => Err(e),
        }
    }

    /// Sets the extents of the results of all kernels; returns their initial values.
    fn begun(&mut self, steps: &'p [usize]) -> Result<Vec<Inits>, Error> {
        let mut inits = Vec::new();
        for (s, launch) in kernels(self.plan, steps) {
            let Work::Kernel { parts, .. } = &s.work else { continue };
            for &a in s.needs.iter().filter(|a| !s.results.contains(a)) {
                if self.values[a.index()].is_none() {
                    self.force(a)?;
                }
            }
            inits.push(self.extents(s, launch, parts)?);
        }
        Ok(inits)
    }

    /// The arrays that are computed and kept; none if row blocking does not apply.
    fn blocked(
        &self,
        steps: &[usize],
        inits: &[Inits],
        row_blocking: &RowBlocking,
    ) -> Result<Option<Vec<(ArrayId, Columns)>>, Stop> {
        let extents = |launch: &Launch| self.values[launch.over.index()].as_ref().map_or(&[][..], |v| &v.shape);
        let points = |launch: &Launch| extents(launch).iter().product::<usize>();
        let launches = || kernels(self.plan, steps).map(|(_, launch)| launch);
        let Some(&rows) = launches().next().and_then(|launch| extents(launch).first()) else { return Ok(None) };
        let all_rows = launches().all(|launch| extents(launch).first() == Some(&rows) && points(launch) > 0);
        let large = launches().any(|launch| self.cx.parallel(points(launch), launch.cost));
        let is_profitable = large && rows >= MIN_ROWS_PER_THREAD * self.cx.threads.count();
        let is_scheduled = row_blocking.is_scheduled;
        if !all_rows || !(is_profitable || is_scheduled || always()) {
            return Ok(None);
        }
        let view = View { values: &self.values };
        let mut operands = Vec::new();
        for launch in launches() {
            // A guard that does not hold, or a product that is faster as a whole, or is not added in order.
            if launch.unguarded.as_ref().is_some_and(|u| !self.hold(&u.guards, launch.over))
                || product::plan(launch, &self.values).is_some_and(|p| !is_scheduled || p.is_in_parts())
            {
                return Ok(None);
            }
            operands.push(self.packed_names(self.unguarded(launch), &view)?);
        }
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for ((launch, inits), operands) in launches().zip(inits).zip(&operands) {
            let (launch, names): (&Launch, &dyn Names) = match operands {
                Some((packed, names)) => (packed, names),
                None => (self.unguarded(launch), &view),
            };
            let job = self.bound(launch, inits, names);
            let after = launch.epilogue.as_ref().map(|after| {
                let outer = job.extents[..job.extents.len() - launch.kernel.folded()].into();
                Job { extents: outer, ..self.bound(after, &vec![None; after.kernel.outputs.len()], &view) }
            });
            jobs.extend([Some(job), after].into_iter().flatten());
        }
        let mut arrays: Vec<Array> = Vec::new();
        let mut stages: Vec<Stage<'_>> = Vec::new();
        for job in &jobs {
            let first = arrays.len();
            arrays.extend(job.outputs.iter().map(|o| {
                let id = o.output.result;
                let elements = self.values[id.index()].as_ref().map_or(0, |v| v.shape.iter().product());
                Array {
                    id,
                    types: o.types.to_vec(),
                    width: elements / rows,
                    kept: !row_blocking.transient.contains(&id),
                }
            }));
            let Some(work) = code_for(job, &arrays[first..], &jobs, is_scheduled) else { return Ok(None) };
            let points = job.extents.iter().product::<usize>() / rows;
            stages.push(Stage { job, work, points, arrays: first..arrays.len() });
        }
        let bytes = arrays.iter().map(Array::bytes).sum::<usize>().max(1);
        if bytes > 4 * BLOCK_BYTES && !is_scheduled {
            return Ok(None);
        }
        let _span = timeline::span(timeline::Kind::Kernel, || {
            stages.iter().map(|s| s.job.launch.kernel.title()).collect::<Vec<_>>().join("; ")
        });
        // Whole tiles of the reader.
        let tile = launches().last().map_or(1, |reader| rows_of_first_loop(&reader.kernel));
        let block = if always() { 3 } else { BLOCK_BYTES / bytes };
        let block = block.next_multiple_of(tile);
        self.blocks(rows, block.clamp(1, rows), &arrays, &stages)
    }

    /// Computes all rows, block by block.
    fn blocks(
        &self,
        rows: usize,
        block: usize,
        arrays: &[Array],
        stages: &[Stage<'_>],
    ) -> Result<Option<Vec<(ArrayId, Columns)>>, Stop> {
        let columns = arrays.iter().map(|a| {
            let n = if a.kept { rows * a.width } else { 0 };
            self.cx.columns(&a.types, n).map_err(Stop::Error)
        });
        let mut out = columns.collect::<Result<Vec<_>, Stop>>()?;
        let len = task_len(rows, block, self.cx.threads.count());
        let bailed_out = AtomicBool::new(false);
        let transient = || -> Vec<Vec<Lanes>> {
            let lanes = |a: &Array| if a.kept { 0 } else { block * a.width };
            arrays.iter().map(|a| a.types.iter().map(|&t| Lanes::new(t, lanes(a))).collect()).collect()
        };
        self.cx.tasks(true, tasks(rows, len, arrays, &mut out), transient, |transient, mut task| {
            for first in task.rows.clone().step_by(block) {
                let rows = first..task.rows.end.min(first + block);
                if bailed_out.load(Ordering::Relaxed) || !run_block(&rows, arrays, stages, &mut task, transient)? {
                    bailed_out.store(true, Ordering::Relaxed);
                    break;
                }
            }
            Ok(())
        })?;
        let kept = arrays.iter().zip(out).filter(|(a, _)| a.kept).map(|(a, out)| (a.id, finish(out)));
        Ok((!bailed_out.into_inner()).then(|| kept.collect()))
    }
}

/// The rows of an iteration of a kernel's first loop.
fn rows_of_first_loop(kernel: &Kernel) -> usize {
    kernel.loops.first().filter(|l| l.axis == 0).map_or(1, |l| l.step)
}

/// The machine code for a range of rows of a launch, if there is any; `always` if it need not pay.
fn code_for<'a>(job: &'a Job<'a>, own: &[Array], jobs: &[Job<'_>], always: bool) -> Option<StageCode<'a>> {
    if job.launch.kernel.is_scheduled() {
        return Tiles::new(job, always).map(StageCode::Tiles);
    }
    if job.launch.kernel.folded() > 0 {
        return BatchedRows::new(job).map(StageCode::Fold);
    }
    // Arrays that a later stage reads stay in the cache.
    let read = |a: &Array| jobs.iter().any(|job| job.launch.reads(a.id));
    let lines = |a: &Array| a.types.iter().all(|t| (a.width * t.size()).is_multiple_of(CACHE_LINE_BYTES));
    let rows = job.extents.first().copied().unwrap_or(1);
    let bytes: usize = own.iter().map(|a| rows * a.bytes()).sum();
    let last = job.extents.last().copied().unwrap_or(1);
    let begin = own.iter().all(|a| a.kept && !read(a) && lines(a)) && rows_begin_at_lines(job, last);
    StoreCode::new(job, false, None, begin && bytes >= MIN_STREAMED_BYTES).map(StageCode::Store)
}

fn tasks<'a>(rows: usize, len: usize, arrays: &[Array], out: &'a mut [Vec<AnyBuffer>]) -> Vec<Task<'a>> {
    let mut rest: Vec<Outs<'a>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
    let task = |first: usize| {
        let rows = first..rows.min(first + len);
        let kept = |a: &Array| if a.kept { rows.len() * a.width } else { 0 };
        let outs = rest.iter_mut().zip(arrays).map(|(rest, a)| take(rest, kept(a))).collect();
        Task { rows, outs }
    };
    (0..rows).step_by(len).map(task).collect()
}

/// Runs all stages on a block of rows; false if one bailed out.
fn run_block(
    rows: &Range<usize>,
    arrays: &[Array],
    stages: &[Stage<'_>],
    task: &mut Task<'_>,
    transient: &mut [Vec<Lanes>],
) -> Result<bool, Stop> {
    let mut computed: SmallVec<[Computed; 4]> = SmallVec::new();
    for stage in stages {
        let own = stage.arrays.clone();
        let memory = task.outs[own.clone()].iter_mut().zip(&mut transient[own.clone()]).zip(&arrays[own.clone()]);
        let mut outs: Vec<Outs<'_>> = memory
            .map(|((kept, transient), a)| {
                let (at, n) = ((rows.start - task.rows.start) * a.width, rows.len() * a.width);
                if a.kept {
                    kept.iter_mut().map(|o| o.reborrow().split_at(at).1.split_at(n).0).collect()
                } else {
                    transient.iter_mut().map(|l| l.out().split_at(n).0).collect()
                }
            })
            .collect();
        let done: Vec<Computed> = outs
            .iter_mut()
            .zip(&arrays[own])
            .map(|(outs, a)| {
                Computed::new(a.id, rows.start * a.width..rows.end * a.width, outs.iter_mut().map(|o| o.reborrow()))
            })
            .collect();
        let (first, count) = (rows.start * stage.points, rows.len() * stage.points);
        let is_done = match &stage.work {
            StageCode::Store(native) => {
                let mut piece = Piece { start: first, len: count, outs: outs.into_iter().flatten().collect() };
                native.run(&mut piece, &computed)?
            }
            StageCode::Fold(whole) => {
                let row = stage.job.extents.last().copied().unwrap_or(1);
                whole.run(&mut Block { first: first / row, count: count / row, outs }, &computed)?
            }
            StageCode::Tiles(tiles) => tiles.run(rows, outs, &computed)?,
        };
        if !is_done {
            return Ok(false);
        }
        computed.extend(done);
    }
    Ok(true)
}
