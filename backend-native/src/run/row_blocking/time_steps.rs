//! Temporal blocking: several steps of a loop in one pass over its arrays. A block of rows goes through the kernels of a step and then
//! through those of the next ones, while it is in the second-level cache. Each step computes the rows around the block that the steps
//! after it need, and a thread keeps these for its next block.

use super::always;
use super::blocks::{Array, Blocks, Named, Stage, StageCode};
use super::ranges::RowRanges;
use crate::llvm::call::Computed;
use crate::lower::row_blocking::with_halos;
use crate::lower::row_reads::RowRead;
use crate::prepare::Launch;
use crate::run::elementwise::store::StoreCode;
use crate::run::launch::Job;
use crate::run::{Run, Value, View};
use crate::tile::machine::Stop;
use acc_core::ir::ArrayId;
use acc_core::timeline;
use std::ops::Range;

/// The most steps of a pass. (Hotspot of 1024 × 1024, 360 steps: 96 ms without passes, 76 in passes of 4 steps, 88 in such of 8 with blocks
/// as small as their halos, whose rows are moved for each block.)
const MAX_STEPS: usize = 4;
/// The bytes that a step computes, at least: smaller arrays stay in caches anyway.
const MIN_STEP_BYTES: usize = 2 << 20;
/// The bytes of the rows that the steps of a pass compute for a block, at most: half of a second-level cache.
const MAX_BLOCK_BYTES: usize = 1 << 20;
/// The least rows of a block for each row of the widest halo, whose rows are moved once for each block.
const ROWS_PER_HALO_ROW: usize = 4;

/// Where an array of a step is from.
#[derive(Clone, Copy)]
pub(in crate::run) enum Origin {
    /// A component of the state before the step.
    State(usize),
    /// A result of one of the step's kernels: the number of the kernel, and that of the result.
    Result(usize, usize),
}

/// The kernels of a step, all of which store rows.
pub(in crate::run) struct StepKernels<'p> {
    pub launches: Vec<&'p Launch>,
    /// The rows that each of them reads of arrays that differ between steps.
    pub reads: Vec<Vec<(Origin, RowRead)>>,
    /// The state.
    pub params: &'p [ArrayId],
    /// Where the next state is from; none for a component that kernels neither read nor compute.
    pub next: Vec<Option<Origin>>,
}

/// Where an array of a pass is from.
enum Resolved {
    /// A component of the state before the pass.
    Before(usize),
    /// A result of one of the pass's kernels.
    Result(usize, usize),
}

/// Several steps, one after the other.
struct Pass<'k> {
    of: &'k StepKernels<'k>,
    steps: usize,
    /// The bytes of a row of what a step computes.
    row_bytes: usize,
}

impl Pass<'_> {
    /// What an array is in some step.
    fn resolved(&self, origin: Origin, step: usize) -> Resolved {
        match origin {
            Origin::Result(kernel, result) => Resolved::Result(step * self.of.launches.len() + kernel, result),
            Origin::State(component) => match (step.checked_sub(1), self.of.next.get(component)) {
                (Some(before), Some(Some(origin))) => self.resolved(*origin, before),
                _ => Resolved::Before(component),
            },
        }
    }

    /// What the kernels of the pass read of each other.
    fn reads(&self) -> Vec<Vec<(usize, RowRead)>> {
        let of_step = |step: usize| {
            self.of.reads.iter().map(move |reads| {
                let read = |(origin, read): &(Origin, RowRead)| match self.resolved(*origin, step) {
                    Resolved::Result(kernel, _) => Some((kernel, read.clone())),
                    Resolved::Before(_) => None,
                };
                reads.iter().filter_map(read).collect()
            })
        };
        (0..self.steps).flat_map(of_step).collect()
    }
}

impl Run<'_> {
    /// How many steps a pass has, and the rows of its blocks; none if there is only one, or kernels have other rows.
    pub(in crate::run) fn steps_of_pass(&self, of: &StepKernels<'_>) -> Option<usize> {
        (2..=MAX_STEPS).rev().find(|&steps| self.pass(of, steps).is_some_and(|(_, _, block)| block.is_some()))
    }

    /// A pass, its rows, and the rows of a block if that fits a cache.
    fn pass<'k>(&self, of: &'k StepKernels<'k>, steps: usize) -> Option<(Pass<'k>, RowRanges, Option<usize>)> {
        let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| &v.shape[..]);
        let spaces: Option<Vec<&[usize]>> = of.launches.iter().map(|launch| shape(launch.over)).collect();
        let spaces = spaces?;
        let rows = *spaces.first()?.first()?;
        if spaces.iter().any(|space| space.contains(&0) || space[0] != rows) {
            return None;
        }
        let results = of.launches.iter().flat_map(|launch| &launch.kernel.outputs);
        let bytes: usize = results.map(|o| self.bytes(o.result)).sum();
        let pass = Pass { of, steps, row_bytes: (bytes / rows).max(1) };
        let all: Vec<&[usize]> = (0..steps).flat_map(|_| spaces.iter().copied()).collect();
        let ranges = RowRanges::new(&with_halos(&pass.reads()), &all, &shape)?;
        let halo = ranges.halo()?;
        let most = MAX_BLOCK_BYTES / (pass.row_bytes * steps);
        let fits = most >= halo * (1 + ROWS_PER_HALO_ROW) && most > 0 && bytes >= MIN_STEP_BYTES;
        let shared = rows >= 2 * halo.max(1) * self.cx.threads.count();
        let block = match () {
            () if always() => Some(3),
            () if fits && shared => Some((most - halo).min(rows.div_ceil(self.cx.threads.count()))),
            () => None,
        };
        Some((pass, ranges, block))
    }

    fn bytes(&self, a: ArrayId) -> usize {
        let elements = self.values[a.index()].as_ref().map_or(0, |v| v.shape.iter().product());
        elements * self.plan.types[a.index()].elt.leaves().as_slice().iter().map(|t| t.size()).sum::<usize>()
    }

    /// The state after some steps from the one that their parameters have, without its scalars. None if machine code is not ready or
    /// bailed out, in which case there are no effects.
    pub(in crate::run) fn steps_in_blocks(
        &self,
        of: &StepKernels<'_>,
        steps: usize,
    ) -> Result<Option<Vec<Option<Value>>>, Stop> {
        let Some((pass, mut ranges, block)) = self.pass(of, steps) else { return Ok(None) };
        let rows = ranges.rows();
        let view = View { values: &self.values };
        let none = |launch: &Launch| vec![None; launch.kernel.outputs.len()];
        let jobs: Vec<Job<'_>> = of.launches.iter().map(|l| self.bound(l, &none(l), &view)).collect();
        let mut arrays: Vec<Array> = Vec::new();
        let mut of_kernels: Vec<Range<usize>> = Vec::new();
        for kernel in 0..steps * jobs.len() {
            let job = &jobs[kernel % jobs.len()];
            let first = arrays.len();
            arrays.extend(self.arrays_of(job, kernel, rows, |_| false));
            of_kernels.push(first..arrays.len());
        }
        let index = |kernel: usize, result: usize| of_kernels[kernel].start + result;
        let next: Vec<Option<Resolved>> = of.next.iter().map(|o| o.map(|o| pass.resolved(o, steps - 1))).collect();
        for resolved in next.iter().flatten() {
            if let Resolved::Result(kernel, result) = resolved {
                arrays[index(*kernel, *result)].kept = true;
                ranges.keep(*kernel);
            }
        }
        let state = |component: usize| self.values[of.params[component].index()].as_ref();
        let mut stages: Vec<Stage<'_>> = Vec::new();
        for (kernel, own) in of_kernels.iter().enumerate() {
            let (step, k) = (kernel / jobs.len(), kernel % jobs.len());
            let job = &jobs[k];
            let Some(work) = StoreCode::new(job, false, None, false).map(StageCode::Store) else { return Ok(None) };
            let named = |(origin, read): &(Origin, RowRead)| match pass.resolved(*origin, step) {
                Resolved::Result(kernel, result) => Some((read.array, Named::Computed(index(kernel, result)))),
                Resolved::Before(component) => {
                    let columns = state(component)?.columns.as_ref()?;
                    Some((read.array, Named::Whole(Computed::whole(read.array, columns))))
                }
            };
            let names: Option<Vec<_>> = of.reads[k].iter().map(named).collect();
            let (Some(_), points) = (&names, job.extents.iter().product::<usize>() / rows) else { return Ok(None) };
            stages.push(Stage { kernel, job, work, points, arrays: own.clone(), names });
        }
        let mut span = timeline::span(timeline::Kind::Kernel, || {
            of.launches.iter().map(|launch| launch.kernel.title()).collect::<Vec<_>>().join("; ")
        });
        span.note("steps", || steps.to_string());
        let block = block.unwrap_or_else(|| rows.div_ceil(self.cx.threads.count())).clamp(1, rows);
        let Some(kept) = (Blocks { cx: self.cx, ranges, block, arrays, stages }).run()? else { return Ok(None) };
        #[cfg(test)]
        super::tests::time_steps::PASSES.set(super::tests::time_steps::PASSES.get() + 1);
        // Several components may be one array.
        let kept_arrays = (next.iter().flatten()).filter_map(|resolved| match resolved {
            Resolved::Result(kernel, result) => Some(index(*kernel, *result)),
            Resolved::Before(_) => None,
        });
        let mut order: Vec<usize> = kept_arrays.collect();
        order.sort_unstable();
        order.dedup();
        let value = |(component, resolved): (usize, &Option<Resolved>)| match resolved.as_ref()? {
            Resolved::Before(component) => state(*component).cloned(),
            Resolved::Result(kernel, result) => {
                let (_, columns) = kept.get(order.binary_search(&index(*kernel, *result)).ok()?)?;
                Some(Value { columns: Some(columns.clone()), ..Value::of_shape(&state(component)?.shape) })
            }
        };
        Ok(Some(next.iter().enumerate().map(value).collect()))
    }
}
