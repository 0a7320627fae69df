//! Rows that are folded or scanned whole, many in one call of machine code.

use super::grouping::{Grouping, has_several_term_blocks};
use super::{Block, Rows, memories};
use crate::buffer::AnyBuffer;
use crate::llvm::Variant;
use crate::llvm::call::{BoundCall, Call, Computed, Memory, Part};
use crate::run::launch::{Job, WORK_PER_CALL, task_len};
use crate::tile::machine::Stop;
use acc_core::ir::ArrayId;
use std::sync::atomic::{AtomicBool, Ordering};

impl Rows<'_> {
    /// Folds and scans rows by machine code; false if a task bailed out, in which case all results are void.
    pub(super) fn in_batches(&self, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let job = self.job;
        let Some(call) = job.call(Variant::BatchedRows) else { return Ok(false) };
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let len = if parallel { task_len(self.rows, 1, job.cx.threads.count()) } else { self.rows };
        let bailed_out = AtomicBool::new(false);
        job.cx.tasks(
            parallel,
            self.blocks(out, len),
            || (),
            |(), mut block| {
                let done = self.whole_rows(&call, &mut block, &[])?;
                bailed_out.fetch_or(!done, Ordering::Relaxed);
                Ok(())
            },
        )?;
        Ok(!bailed_out.into_inner())
    }

    /// Folds and scans a block of rows, given rows of other results that are already `computed`.
    fn whole_rows(&self, call: &Call<'_>, block: &mut Block<'_>, computed: &[Computed]) -> Result<bool, Stop> {
        let (before, part) = (self.job.initial_values(), self.whole_part(block));
        let mut outs: Vec<_> = block.outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
        let mut memory = Memory { outs: &mut outs, before: &before, computed, ..Memory::default() };
        self.job.is_done(call.run(part, &mut memory))
    }

    /// A block of rows, whose elements are lanes.
    fn whole_part(&self, block: &Block<'_>) -> Part {
        let most = (WORK_PER_CALL / self.job.launch.cost.max(1) / self.row).max(1) * self.row;
        let positions = block.first * self.row..(block.first + block.count) * self.row;
        Part { most, ..Part::of(positions, self.row) }
    }
}

/// The rows that a launch folds, if they have elements.
fn rows_of<'a>(job: &'a Job<'a>) -> Option<Rows<'a>> {
    let (&row, outer) = job.extents.split_last()?;
    let rows = Rows { job, dir: None, row, rows: outer.iter().product(), memories: memories(job, None, row) };
    (!job.extents.contains(&0)).then_some(rows)
}

/// A launch that folds rows by machine code, any block of rows on its own.
pub(in crate::run) struct BatchedRows<'a> {
    rows: Rows<'a>,
    call: Call<'a>,
}

impl<'a> BatchedRows<'a> {
    /// None if the launch does not fold rows this way, or its machine code is not ready.
    pub(in crate::run) fn new(job: &'a Job<'a>) -> Option<BatchedRows<'a>> {
        BatchedRows::of(rows_of(job)?)
    }

    /// The same for a launch that is no product of matrices, as long as it is not in register tiles.
    pub(in crate::run) fn outside_tiles(job: &'a Job<'a>) -> Option<BatchedRows<'a>> {
        let (rows, kernel) = (rows_of(job)?, &job.launch.kernel);
        let whole = match rows.grouping(None) {
            Grouping::InOrder => !kernel.is_scheduled(),
            Grouping::AlongMemory => !kernel.has_schedule,
            Grouping::Blocks(_) => false,
        };
        (whole && kernel.folded() == 1).then(|| BatchedRows::of(rows))?
    }

    fn of(rows: Rows<'a>) -> Option<BatchedRows<'a>> {
        let job = rows.job;
        let variant = match rows.as_lanes() {
            true => Variant::RowLanes,
            false if rows.per_row() == 1 => Variant::BatchedRows,
            false => return None,
        };
        Some(BatchedRows { rows, call: job.call(variant)? })
    }

    /// Folds a block of rows, given rows of other results that are already `computed`; false if machine code bailed
    /// out.
    pub(in crate::run) fn run(&self, block: &mut Block<'_>, computed: &[Computed]) -> Result<bool, Stop> {
        if self.rows.as_lanes() {
            self.rows.compiled_rows(&self.call, block, computed)
        } else {
            self.rows.whole_rows(&self.call, block, computed)
        }
    }

    /// The calls that fold all rows, one for each block of so many, to be repeated; none if blocks take several calls. `column`
    /// is as for [`Call::bind`].
    pub(in crate::run) fn bind(
        &self,
        out: &mut [Vec<AnyBuffer>],
        len: usize,
        column: impl Fn(ArrayId, u32) -> Option<u64>,
    ) -> Option<Vec<BoundCall<'a>>> {
        let (rows, lanes) = (&self.rows, self.rows.as_lanes());
        let several = lanes && (has_several_term_blocks(rows.job, &(0..rows.row)) || rows.strip(len) < rows.row);
        if several {
            return None;
        }
        let before = rows.job.initial_values();
        let bind = |mut block: Block<'_>| {
            let part = match lanes {
                true => rows.lanes_part(block.first..block.first + block.count, 0..rows.row),
                false => rows.whole_part(&block),
            };
            let mut outs: Vec<_> = block.outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
            self.call.bind(part, &mut Memory { outs: &mut outs, before: &before, ..Memory::default() }, &column)
        };
        Some(rows.blocks(out, len.max(1)).into_iter().map(bind).collect())
    }

    /// How many rows there are.
    pub(in crate::run) fn count(&self) -> usize {
        self.rows.rows
    }
}
