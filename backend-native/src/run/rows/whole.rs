//! Rows that are one chunk each, many of them in one call of machine code.

use super::Rows;
use crate::buffer::AnyBuffer;
use crate::llvm::Form;
use crate::llvm::code::{Memory, Part};
use crate::run::launch::{CALL, task_len};
use crate::tile::machine::Stop;
use std::sync::atomic::{AtomicBool, Ordering};

impl Rows<'_> {
    /// Folds and scans whole rows by machine code; whether that is done. Where a part is declined, nothing counts.
    pub(super) fn by_whole_rows(&self, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let job = self.job;
        let Some(call) = job.call(Form::Whole) else { return Ok(false) };
        let before = job.begins_with();
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let len = if parallel { task_len(self.rows, 1, job.cx.threads.count()) } else { self.rows };
        let most = (CALL / job.launch.cost.max(1) / self.row).max(1) * self.row;
        let declined = AtomicBool::new(false);
        job.cx.tasks(
            parallel,
            self.blocks(out, len),
            || (),
            |(), mut block| {
                let mut outs: Vec<_> = block.outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
                let positions = block.first * self.row..(block.first + block.count) * self.row;
                let part = Part { most, ..Part::of(positions, self.row) };
                let ended = call.run(part, &mut Memory { outs: &mut outs, before: &before, ..Memory::default() });
                let done = job.ended(ended)?;
                declined.fetch_or(!done, Ordering::Relaxed);
                Ok(())
            },
        )?;
        Ok(!declined.into_inner())
    }
}
