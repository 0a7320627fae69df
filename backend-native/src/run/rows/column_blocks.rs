//! Folds of columns: few, long rows that are strided in memory. Blocks of consecutive indices of all rows are folded
//! separately, in memory order, and combined in order. Threads split the blocks, not the rows, so that each thread
//! reads memory sequentially.

use super::{ROW_STRIP, Rows, fold::Acc, row_axis};
use crate::buffer::AnyBuffer;
use crate::kernel::Sink;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory};
use crate::run::launch::{Cut, JobOutput, Outs, first_event, take};
use crate::run::scheduled;
use crate::tile::lanes;
use crate::tile::machine::{Machine, Space, Stop};
use crate::tile::reduce;
use std::ops::Range;

/// The least elements per row of a block, so that the results of blocks are few compared to what is read; the other
/// constant bounds the elements over all rows.
const MIN_BLOCK_ROW_ELEMENTS: usize = 256;
const MIN_BLOCK_ELEMENTS: usize = 1 << 16;
/// The most blocks.
const MAX_BLOCKS: usize = 1 << 8;
/// With fewer rows, elements rather than rows become lanes: too few lanes would be occupied.
const MIN_BLOCKED_ROWS: usize = 6;
/// With so many matrices, threads split those rather than the blocks of each.
const MIN_SHARED_MATRICES: usize = 16;
/// The least elements, over all rows, of a strip, which is folded in one call.
const MIN_STRIP_ELEMENTS: usize = 1 << 12;

impl Rows<'_> {
    /// The number of blocks that rows are split into; depends on extents and on the access pattern only.
    pub(super) fn column_blocks(&self) -> usize {
        let job = self.job;
        let width = self.side_by_side();
        let folds = job.outputs.iter().all(|o| matches!(o.output.sink, Sink::Fold { .. }));
        let blocks_columns = folds && job.launch.column_major;
        if !blocks_columns || width < MIN_BLOCKED_ROWS || self.rows / width >= MIN_SHARED_MATRICES {
            return 1;
        }
        (self.row / MIN_BLOCK_ROW_ELEMENTS)
            .min(self.rows.saturating_mul(self.row) / MIN_BLOCK_ELEMENTS)
            .clamp(1, MAX_BLOCKS)
    }

    /// Folds rows in blocks; false if machine code bailed out or a fault occurred: the caller then finds the first
    /// fault in order.
    pub(super) fn in_column_blocks(&self, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let (job, column_blocks) = (self.job, self.column_blocks());
        if column_blocks < 2 {
            return Ok(false);
        }
        let len = self.row.div_ceil(column_blocks).next_multiple_of(ROW_STRIP);
        let column_blocks = self.row.div_ceil(len);
        let columns =
            job.outputs.iter().map(|o| job.cx.columns(&o.types, column_blocks * self.rows).map_err(Stop::Error));
        let mut partial = columns.collect::<Result<Vec<_>, Stop>>()?;
        let tasks: Vec<_> = {
            let outs = partial.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect());
            let mut rest: Vec<Outs<'_>> = outs.collect();
            let column_block = |k: usize| {
                let outs: Vec<Outs<'_>> = rest.iter_mut().map(|rest| take(rest, self.rows)).collect();
                (k * len..self.row.min((k + 1) * len), outs)
            };
            (0..column_blocks).map(column_block).collect()
        };
        let axis = row_axis(job);
        let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
        let call = job.call(Variant::RowLanes);
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let ended = job.cx.tasks(
            parallel,
            tasks,
            || None,
            |worker, (along, mut outs)| {
                let machine = worker.get_or_insert_with(|| job.machine(&space));
                if self.compiled_column_block(call.as_ref(), machine, along.clone(), &mut outs)? {
                    return Ok(());
                }
                self.column_block(machine, along, &mut outs)
            },
        );
        match ended.and_then(|()| self.joined(&partial, out)) {
            Err(Stop::Fault(..) | Stop::Demand(_)) => Ok(false),
            ended => ended.map(|()| true),
        }
    }

    /// Folds a block by machine code; false if it bailed out.
    fn compiled_column_block(
        &self,
        call: Option<&Call<'_>>,
        machine: &mut Machine<'_>,
        along: Range<usize>,
        outs: &mut [Outs<'_>],
    ) -> Result<bool, Stop> {
        let (job, before) = (self.job, self.job.initial_values());
        if job.launch.kernel.is_scheduled() {
            let neutral: Option<Vec<Vec<u64>>> = job.outputs.iter().map(JobOutput::neutral).collect();
            let Some(neutral) = neutral else { return Ok(false) };
            let before = if along.start > 0 { neutral.concat().into() } else { before };
            return scheduled::slice(job, &along, &before, outs.iter_mut().flatten().map(|o| o.reborrow()));
        }
        let Some(call) = call else { return Ok(false) };
        // A block without an initial value continues from the values in memory: neutral elements if they are known,
        // else the first element.
        let mut along = along;
        if along.start > 0 && !self.set_neutral(outs) {
            self.column_block(machine, along.start..along.start + 1, outs)?;
            along.start += 1;
        }
        let mut outs: Vec<_> = outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
        let strip = if job.launch.kernel.has_strided_access(row_axis(job)) {
            ROW_STRIP.max(MIN_STRIP_ELEMENTS / self.rows)
        } else {
            along.len().max(1)
        };
        let mut memory = Memory { outs: &mut outs, before: &before, ..Memory::default() };
        self.in_strips(call, 0..self.rows, along, strip, &mut memory)
    }

    /// Folds a block by the tile executor.
    fn column_block(&self, m: &mut Machine<'_>, along: Range<usize>, outs: &mut [Outs<'_>]) -> Result<(), Stop> {
        let job = self.job;
        let axis = row_axis(job);
        let most = job.lanes();
        let cut = Cut::new(&job.extents[..axis], most);
        let mut accs: Vec<Acc<'_>> = job.outputs.iter().map(|o| Acc::new(o, most)).collect();
        let mut done = 0;
        while done < self.rows {
            let n = cut.len(done, self.rows - done);
            first_event(&mut (&mut *m, &mut accs), n, |(m, accs), n| {
                for t in along.clone() {
                    m.fixed[axis] = t as i64;
                    m.tile(done, n)?;
                    for (o, acc) in job.outputs.iter().zip(&mut **accs) {
                        let init = o.init.as_ref().filter(|_| t == 0);
                        init.into_iter().flatten().zip(&mut acc.lanes).for_each(|(&bits, a)| a.fill(n, bits));
                        if t == along.start && init.is_none() { acc.take(o, m, n) } else { acc.step(o, m, n, false)? }
                    }
                }
                Ok(())
            })?;
            for (a, out) in accs.iter().zip(&mut *outs).flat_map(|(acc, outs)| acc.lanes.iter().zip(outs)) {
                lanes::copy(a.slice(n), out.reborrow().split_at(done).1);
            }
            done += n;
        }
        Ok(())
    }

    /// Fills memory with neutral elements; false if they are not known.
    fn set_neutral(&self, outs: &mut [Outs<'_>]) -> bool {
        let neutral: Option<Vec<Vec<u64>>> = self.job.outputs.iter().map(JobOutput::neutral).collect();
        let Some(neutral) = neutral else { return false };
        outs.iter_mut()
            .flatten()
            .zip(neutral.into_iter().flatten())
            .for_each(|(o, bits)| lanes::fill(o.reborrow(), bits));
        true
    }

    /// Combines the blocks of each row from left to right.
    fn joined(&self, partial: &[Vec<AnyBuffer>], out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        for ((o, partial), out) in self.job.outputs.iter().zip(partial).zip(out) {
            let column_blocks = partial.first().map_or(0, |p| p.as_slice().len() / self.rows);
            let column_block = |k: usize, leaf: usize, from: usize, n: usize| {
                lanes::part(partial[leaf].as_slice(), k * self.rows + from, n)
            };
            if let Some(ops) = o.builtin() {
                for (leaf, (op, out)) in ops.iter().zip(out).enumerate() {
                    lanes::copy(column_block(0, leaf, 0, self.rows), out.as_out());
                    (1..column_blocks)
                        .for_each(|k| reduce::merge(*op, out.as_out(), column_block(k, leaf, 0, self.rows)));
                }
                continue;
            }
            let Some(mut c) = o.combiner() else { continue };
            let leaves = out.len();
            for from in (0..self.rows).step_by(self.job.lanes()) {
                let n = self.job.lanes().min(self.rows - from);
                (0..leaves).for_each(|leaf| c.set(leaf, |to| lanes::copy(column_block(0, leaf, from, n), to)));
                for k in 1..column_blocks {
                    (0..leaves)
                        .for_each(|leaf| c.set(leaves + leaf, |to| lanes::copy(column_block(k, leaf, from, n), to)));
                    c.call(n).map_err(|e| e.stop)?;
                    for (leaf, out) in out.iter_mut().enumerate() {
                        c.result(leaf, n, out.as_out().split_at(from).1);
                    }
                    for (leaf, out) in out.iter().enumerate() {
                        c.set(leaf, |to| lanes::copy(lanes::part(out.as_slice(), from, n), to));
                    }
                }
            }
        }
        Ok(())
    }
}
