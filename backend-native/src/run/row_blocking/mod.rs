//! Row blocking: kernels over the same rows run one after the other on a block of rows, so that each reads what the
//! previous one computed while it is in the second-level cache, and intermediate results are never stored as a whole.
//!
//! A kernel with a halo computes the rows around a block, too. Those that the same thread computed for the block before are kept:
//! only at the first block of a task are rows computed again.
//!
//! Only machine code does this, and only for programs large enough for several threads. If it bails out the kernels are
//! launched one by one; results are the same, since each row is computed in the same way.

mod blocks;
mod ranges;
#[cfg(test)]
mod tests;
pub(super) mod time_steps;

use super::kernel::Inits;
use super::launch::merged::Merged;
use super::launch::{Columns, Job, JobOutput};
use super::rows::{BatchedRows, product};
use super::scheduled::Tiles;
use super::{Run, View};
use crate::Compile;
use crate::bind::Names;
use crate::kernel::Kernel;
use crate::lower::BlockPlan;
use crate::lower::row_blocking::{RowBlocking, kernels};
use crate::prepare::{Launch, Work};
use crate::run::elementwise::store::{MIN_STREAMED_BYTES, StoreCode};
use crate::tile::machine::Stop;
use acc_core::Error;
use acc_core::ir::ArrayId;
use acc_core::timeline;
use blocks::{Array, Blocks, Stage, StageCode};
use ranges::RowRanges;

/// Bytes of all arrays that a block computes: with what is read they fit the second-level cache.
const BLOCK_BYTES: usize = 128 << 10;
/// The rows of a block for each row of a halo, which is moved once for each block, if a block of so many bytes has them.
const ROWS_PER_HALO_ROW: usize = 4;
const HALO_BLOCK_BYTES: usize = 4 * BLOCK_BYTES;
/// The least bytes of arrays that are not stored then for which rows are moved: smaller ones stay in caches anyway.
const MIN_HALO_TRANSIENT_BYTES: usize = 4 << 20;
/// The least rows per thread.
const MIN_ROWS_PER_THREAD: usize = 8;

/// Whether tests request row blocking wherever possible, with small blocks.
fn always() -> bool {
    #[cfg(test)]
    return tests::ALWAYS.get();
    #[cfg(not(test))]
    false
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

    /// Whether steps whose extents are known may go in blocks of rows.
    pub(super) fn may_block_rows(&self, b: &BlockPlan) -> bool {
        b.row_blockings.iter().any(|r| {
            let steps = &b.steps[r.steps.clone()];
            r.is_scheduled || (self.has_large(steps) && !self.has_product(steps))
        })
    }

    /// Whether a kernel of these steps is a product that is faster as a whole.
    fn has_product(&self, steps: &[usize]) -> bool {
        kernels(self.plan, steps).any(|(_, launch)| product::plan(launch, &self.values).is_some())
    }

    /// Whether a kernel of these steps is distributed over threads.
    fn has_large(&self, steps: &[usize]) -> bool {
        kernels(self.plan, steps).any(|(_, launch)| self.cx.parallel(self.space(launch).iter().product(), launch.cost))
    }

    /// The extents of the index space of a launch.
    fn space(&self, launch: &Launch) -> &[usize] {
        self.values[launch.over.index()].as_ref().map_or(&[], |v| &v.shape)
    }

    /// The arrays that a kernel of so many rows computes.
    fn arrays_of(&self, job: &Job<'_>, kernel: usize, rows: usize, is_kept: impl Fn(ArrayId) -> bool) -> Vec<Array> {
        let array = |o: &JobOutput<'_>| {
            let id = o.output.result;
            let elements: usize = self.values[id.index()].as_ref().map_or(0, |v| v.shape.iter().product());
            Array { id, kernel, types: o.types.to_vec(), width: elements / rows, kept: is_kept(id) }
        };
        job.outputs.iter().map(array).collect()
    }

    /// The arrays that are computed and kept; none if row blocking does not apply.
    fn blocked(
        &self,
        steps: &[usize],
        inits: &[Inits],
        row_blocking: &RowBlocking,
    ) -> Result<Option<Vec<(ArrayId, Columns)>>, Stop> {
        let launches = || kernels(self.plan, steps).map(|(_, launch)| launch);
        let spaces: Vec<&[usize]> = launches().map(|launch| self.space(launch)).collect();
        let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| &v.shape[..]);
        let Some(ranges) = RowRanges::new(&row_blocking.kernels, &spaces, &shape) else { return Ok(None) };
        let rows = ranges.rows();
        let large = self.has_large(steps);
        let is_profitable = large && rows >= MIN_ROWS_PER_THREAD * self.cx.threads.count();
        let is_scheduled = row_blocking.is_scheduled;
        if spaces.iter().any(|space| space.contains(&0)) || !(is_profitable || is_scheduled || always()) {
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
        let mut bound: Vec<(usize, Job<'_>)> = Vec::new();
        for (kernel, ((launch, inits), operands)) in launches().zip(inits).zip(&operands).enumerate() {
            let (launch, names): (&Launch, &dyn Names) = match operands {
                Some((packed, names)) => (packed, names),
                None => (self.unguarded(launch), &view),
            };
            let job = self.bound(launch, inits, names);
            let after = launch.epilogue.as_ref().map(|after| {
                let outer = job.extents[..job.extents.len() - launch.kernel.folded()].into();
                Job { extents: outer, ..self.bound(after, &vec![None; after.kernel.outputs.len()], &view) }
            });
            bound.extend([Some(job), after].into_iter().flatten().map(|job| (kernel, job)));
        }
        let merged: Vec<_> = bound.iter().map(|(_, job)| with_axes_joined(job)).collect();
        let mut jobs: Vec<(usize, Job<'_>)> = Vec::new();
        for ((kernel, job), merged) in bound.into_iter().zip(&merged) {
            jobs.push((
                kernel,
                match merged {
                    Some((launch, names)) => names.job(&job, launch),
                    None => job,
                },
            ));
        }
        let mut arrays: Vec<Array> = Vec::new();
        let mut stages: Vec<Stage<'_>> = Vec::new();
        for &(kernel, ref job) in &jobs {
            let rows = spaces[kernel][0];
            let first = arrays.len();
            arrays.extend(self.arrays_of(job, kernel, rows, |id| !row_blocking.transient.contains(&id)));
            let Some(work) = code_for(job, &arrays[first..], &jobs, is_scheduled) else { return Ok(None) };
            let points = job.extents.iter().product::<usize>() / rows;
            stages.push(Stage { kernel, job, work, points, arrays: first..arrays.len(), names: None });
        }
        let bytes = stages
            .iter()
            .map(|s| arrays[s.arrays.clone()].iter().map(Array::bytes).sum::<usize>() * spaces[s.kernel][0]);
        let bytes = bytes.sum::<usize>().div_ceil(rows).max(1);
        if bytes > 4 * BLOCK_BYTES && !is_scheduled {
            return Ok(None);
        }
        let _span = timeline::span(timeline::Kind::Kernel, || {
            stages.iter().map(|s| s.job.launch.kernel.title()).collect::<Vec<_>>().join("; ")
        });
        let halo = ranges.halo().unwrap_or(0);
        let transient = arrays.iter().filter(|a| !a.kept).map(|a| a.bytes() * spaces[a.kernel][0]).sum::<usize>();
        let pays = transient >= MIN_HALO_TRANSIENT_BYTES && halo * ROWS_PER_HALO_ROW * bytes <= HALO_BLOCK_BYTES;
        if halo > 0 && !pays && !is_scheduled && !always() {
            return Ok(None);
        }
        // Whole tiles of the reader.
        let tile = launches().last().map_or(1, |reader| rows_of_first_loop(&reader.kernel));
        let around = (HALO_BLOCK_BYTES / bytes).clamp(halo, ROWS_PER_HALO_ROW * halo);
        let most = if large { rows.div_ceil(self.cx.threads.count().max(1)) } else { rows };
        let block = if always() { 3 } else { (BLOCK_BYTES / bytes).max(around).min(most) };
        let block = block.next_multiple_of(tile);
        Blocks { cx: self.cx, ranges, block: block.clamp(1, rows), arrays, stages }.run()
    }
}

/// The launch of an elementwise kernel with its last axes as one, and its names. The first axis, that of the rows, is not among these.
fn with_axes_joined<'a>(job: &Job<'a>) -> Option<(&'a Launch, Merged<'a>)> {
    let joined = job.launch.joined.as_ref().filter(|_| job.launch.kernel.folded() == 0)?;
    Some((&joined.launch, Merged::of(job, &joined.pairs)?))
}

/// The rows of an iteration of a kernel's first loop.
fn rows_of_first_loop(kernel: &Kernel) -> usize {
    kernel.loops.first().filter(|l| l.axis == 0).map_or(1, |l| l.step)
}

/// The machine code for a range of rows of a launch, if there is any; `always` if it need not pay.
fn code_for<'a>(job: &'a Job<'a>, own: &[Array], jobs: &[(usize, Job<'_>)], always: bool) -> Option<StageCode<'a>> {
    if job.launch.kernel.is_scheduled() {
        return Tiles::new(job, always).map(StageCode::Tiles);
    }
    if job.launch.kernel.folded() > 0 {
        return BatchedRows::new(job).map(StageCode::Fold);
    }
    // Arrays that a later stage reads stay in the cache.
    let read = |a: &Array| jobs.iter().any(|(_, job)| job.launch.reads(a.id));
    let rows = job.extents.first().copied().unwrap_or(1);
    let bytes: usize = own.iter().map(|a| rows * a.bytes()).sum();
    let stream = own.iter().all(|a| a.kept && !read(a)) && bytes >= MIN_STREAMED_BYTES;
    StoreCode::new(job, false, None, stream).map(StageCode::Store)
}
