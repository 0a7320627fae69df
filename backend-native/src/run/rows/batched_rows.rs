//! Short rows, many of which are folded or scanned in one call of machine code.

use super::{Block, Rows, memories};
use crate::buffer::AnyBuffer;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Computed, Memory, Part};
use crate::run::launch::{Job, WORK_PER_CALL, task_len};
use crate::tile::machine::Stop;
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
        let (job, before) = (self.job, self.job.initial_values());
        let most = (WORK_PER_CALL / job.launch.cost.max(1) / self.row).max(1) * self.row;
        let mut outs: Vec<_> = block.outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
        let positions = block.first * self.row..(block.first + block.count) * self.row;
        let part = Part { most, ..Part::of(positions, self.row) };
        let mut memory = Memory { outs: &mut outs, before: &before, computed, ..Memory::default() };
        job.is_done(call.run(part, &mut memory))
    }
}

/// A launch that folds rows by machine code, any block of rows on its own.
pub(in crate::run) struct BatchedRows<'a> {
    rows: Rows<'a>,
    call: Call<'a>,
}

impl<'a> BatchedRows<'a> {
    /// None if the launch does not fold rows this way, or its machine code is not ready.
    pub(in crate::run) fn new(job: &'a Job<'a>) -> Option<BatchedRows<'a>> {
        let (&row, outer) = job.extents.split_last()?;
        let rows = Rows { job, dir: None, row, rows: outer.iter().product(), memories: memories(job, None, row) };
        let variant = match rows.as_lanes() {
            true => Variant::RowLanes,
            false if rows.rows > 1 && rows.per_row() == 1 => Variant::BatchedRows,
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
}
