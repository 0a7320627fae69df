//! Folds of columns: few, long rows that are strided in memory. Blocks of consecutive indices of all rows are folded
//! separately, in memory order, and combined in order. Threads split the blocks, not the rows, so that each thread
//! reads memory sequentially.

use super::grouping::by_term_blocks;
use super::{ROW_STRIP, Rows, fold::Acc, row_axis};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::Sink;
use crate::kernel::grouping::TermBlocks;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory};
use crate::run::launch::{Cut, JobOutput, Outs, first_event, take};
use crate::run::scheduled;
use crate::tile::lanes;
use crate::tile::machine::{Machine, Space, Stop};
use crate::tile::reduce;
use acc_core::ir::PrimOp;
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

/// Blocks of consecutive indices of all rows.
pub(super) struct RowBlocks {
    pub ranges: Vec<Range<usize>>,
    pub joining: Joining,
}

/// How the results of blocks are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    /// One after the other; the first block starts with the initial value.
    InOrder,
    /// Sums, neighbours pairwise, and then added to the initial value.
    Pairwise,
}

/// Machine code that folds a block.
enum Code<'a> {
    /// It follows the loops of the kernel's schedule.
    Scheduled(scheduled::Slices<'a>),
    /// Rows are its lanes.
    RowLanes(Call<'a>),
}

impl Rows<'_> {
    /// The blocks that rows are split into, if they are; depends on extents and on the access pattern only.
    pub(super) fn column_blocks(&self) -> Option<RowBlocks> {
        let job = self.job;
        let width = self.side_by_side();
        let folds = job.outputs.iter().all(|o| matches!(o.output.sink, Sink::Fold { .. }));
        let blocks_columns = folds && job.launch.column_major;
        if !blocks_columns || width < MIN_BLOCKED_ROWS || self.rows / width >= MIN_SHARED_MATRICES {
            return None;
        }
        let blocks = (self.row / MIN_BLOCK_ROW_ELEMENTS)
            .min(self.rows.saturating_mul(self.row) / MIN_BLOCK_ELEMENTS)
            .clamp(1, MAX_BLOCKS);
        if blocks == 1 {
            return None;
        }
        let len = self.row.div_ceil(blocks).next_multiple_of(ROW_STRIP);
        let ranges = (0..self.row).step_by(len).map(|from| from..self.row.min(from + len)).collect();
        Some(RowBlocks { ranges, joining: Joining::InOrder })
    }

    /// Folds rows in blocks; false if machine code bailed out or a fault occurred: the caller then finds the first
    /// fault in order.
    pub(super) fn in_column_blocks(&self, blocks: &RowBlocks, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let (job, RowBlocks { ranges, joining }) = (self.job, blocks);
        let columns =
            job.outputs.iter().map(|o| job.cx.columns(&o.types, ranges.len() * self.rows).map_err(Stop::Error));
        let mut partial = columns.collect::<Result<Vec<_>, Stop>>()?;
        let tasks: Vec<_> = {
            let outs = partial.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect());
            let mut rest: Vec<Outs<'_>> = outs.collect();
            let column_block = |along: &Range<usize>| {
                let outs: Vec<Outs<'_>> = rest.iter_mut().map(|rest| take(rest, self.rows)).collect();
                // The others start with neutral elements.
                let with_init = along.start == 0 && *joining == Joining::InOrder;
                (along.clone(), with_init, outs)
            };
            ranges.iter().map(column_block).collect()
        };
        let axis = row_axis(job);
        let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
        let code = if job.launch.kernel.is_scheduled() {
            scheduled::Slices::new(job).map(Code::Scheduled)
        } else {
            job.call(Variant::RowLanes).map(Code::RowLanes)
        };
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let ended = job.cx.tasks(
            parallel,
            tasks,
            || None,
            |worker, (along, with_init, mut outs)| {
                let machine = worker.get_or_insert_with(|| job.machine(&space));
                if self.compiled_column_block(code.as_ref(), machine, (along.clone(), with_init), &mut outs)? {
                    return Ok(());
                }
                self.column_block(machine, along, with_init, &mut outs)
            },
        );
        let joined = ended.and_then(|()| match joining {
            Joining::InOrder => self.joined(&partial, out),
            Joining::Pairwise => self.joined_pairwise(&mut partial, out),
        });
        match joined {
            Err(Stop::Fault(..) | Stop::Demand(_)) => Ok(false),
            ended => ended.map(|()| true),
        }
    }

    /// Folds a block by machine code; false if it bailed out.
    fn compiled_column_block(
        &self,
        code: Option<&Code<'_>>,
        machine: &mut Machine<'_>,
        (along, with_init): (Range<usize>, bool),
        outs: &mut [Outs<'_>],
    ) -> Result<bool, Stop> {
        let job = self.job;
        let neutral: Option<Vec<Vec<u64>>> = job.outputs.iter().map(JobOutput::neutral).collect();
        let before = match &neutral {
            Some(neutral) if !with_init => neutral.concat().into(),
            _ => job.initial_values(),
        };
        let call = match code {
            None => return Ok(false),
            Some(Code::Scheduled(slices)) => {
                let mut outs = outs.iter_mut().flatten().map(|o| o.reborrow()).collect();
                return if neutral.is_some() { slices.fold(&along, &before, &mut outs) } else { Ok(false) };
            }
            Some(Code::RowLanes(call)) => call,
        };
        // A block without an initial value continues from the values in memory: neutral elements if they are known,
        // else the first element.
        let mut along = along;
        if along.start > 0 && !self.set_neutral(outs) {
            if job.outputs.iter().any(JobOutput::is_fused) {
                return Ok(false);
            }
            self.column_block(machine, along.start..along.start + 1, with_init, outs)?;
            along.start += 1;
        }
        let strip = if job.launch.kernel.has_strided_access(row_axis(job)) {
            ROW_STRIP.max(MIN_STRIP_ELEMENTS / self.rows)
        } else {
            along.len().max(1)
        };
        let fold = |along: &Range<usize>, outs: &mut [Option<OutSlice<'_>>], before: &[u64]| {
            let mut memory = Memory { outs, before, ..Memory::default() };
            self.in_strips(call, 0..self.rows, along.clone(), strip, &mut memory)
        };
        let mut outs = outs.iter_mut().flatten().map(|o| o.reborrow()).collect();
        by_term_blocks(job, &along, &mut outs, &before, fold)
    }

    /// Folds a block by the tile executor.
    fn column_block(
        &self,
        m: &mut Machine<'_>,
        along: Range<usize>,
        with_init: bool,
        outs: &mut [Outs<'_>],
    ) -> Result<(), Stop> {
        let job = self.job;
        let axis = row_axis(job);
        let most = job.lanes();
        let cut = Cut::new(&job.extents[..axis], most);
        let mut accs: Vec<Acc<'_>> = job.outputs.iter().map(|o| Acc::new(o, most)).collect();
        let mut done = 0;
        while done < self.rows {
            let n = cut.len(done, self.rows - done);
            first_event(&mut (&mut *m, &mut accs), n, |(m, accs), n| {
                let init = |o: &'_ JobOutput<'_>| o.init.clone().filter(|_| with_init);
                job.outputs.iter().zip(&mut **accs).for_each(|(o, acc)| acc.begin(o, init(o).as_deref(), n));
                for block in TermBlocks::of(&[self.row]).blocks(along.clone()) {
                    for t in block {
                        m.fixed[axis] = t as i64;
                        m.tile(done, n)?;
                        for (o, acc) in job.outputs.iter().zip(&mut **accs) {
                            let begins = t == along.start && !o.is_fused() && init(o).is_none();
                            if begins { acc.take(o, m, 0, n) } else { acc.step(o, m, n, false)? }
                        }
                    }
                    accs.iter_mut().for_each(|acc| acc.end_block(n));
                }
                Ok(())
            })?;
            for (a, out) in accs.iter().zip(&mut *outs).flat_map(|(acc, outs)| acc.results().iter().zip(outs)) {
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

    /// Adds the sums of the blocks of each row pairwise, neighbours first, and then to the initial values.
    fn joined_pairwise(&self, partial: &mut [Vec<AnyBuffer>], out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        for ((o, partial), out) in self.job.outputs.iter().zip(partial).zip(out) {
            for (leaf, (sums, out)) in partial.iter_mut().zip(out).enumerate() {
                let blocks = sums.as_slice().len() / self.rows;
                let mut step = 1;
                while step < blocks {
                    for left in (0..blocks - step).step_by(2 * step) {
                        let (first, second) = sums.as_out().split_at((left + step) * self.rows);
                        let second = second.split_at(self.rows).0;
                        reduce::merge(PrimOp::AddP, first.split_at(left * self.rows).1, second.as_slice());
                    }
                    step *= 2;
                }
                let neutral = reduce::identity(PrimOp::AddP, o.types[leaf]);
                lanes::fill(out.as_out(), o.init.as_ref().map_or(neutral, |init| init[leaf]));
                reduce::merge(PrimOp::AddP, out.as_out(), lanes::part(sums.as_slice(), 0, self.rows));
            }
        }
        Ok(())
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
