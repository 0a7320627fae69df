//! Rows that are lanes and folded several at a time, register-tiled.

use super::launch::{CALL, Outs, task_len};
use super::rows::Rows;
use crate::buffer::AnyBuffer;
use crate::llvm::code::{Call, Memory, Part};
use crate::llvm::{BLOCK, Form};
use crate::tile::machine::Stop;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lanes that are taken at a time, so that what they read stays in the cache while the blocks pass.
const PANEL: usize = 64;
/// Lanes below which vectors would stay empty.
const FEW: usize = 16;

impl Rows<'_> {
    /// Folds by machine code in blocks of [`BLOCK`] rows of lanes; whether that is done. Where a part is declined, nothing
    /// counts.
    pub(super) fn by_blocks(&self, out: &mut [Vec<AnyBuffer>]) -> Result<bool, Stop> {
        let job = self.job;
        let [outer @ .., lanes, _] = &job.extents[..] else { return Ok(false) };
        let straddles = outer.len() > 1 && outer.last().is_some_and(|n| !n.is_multiple_of(BLOCK));
        if straddles || *lanes < FEW || self.rows < BLOCK * lanes {
            return Ok(false);
        }
        let (Some(blocks), Some(single)) = (job.call(Form::Block), job.call(Form::Rows)) else { return Ok(false) };
        let before = self.begins_with();
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let block = BLOCK * lanes;
        let len = if parallel { task_len(self.rows, block, job.cx.threads.count()) } else { self.rows };
        let most = (CALL / job.launch.cost.max(1) / self.row).next_multiple_of(*lanes);
        let declined = AtomicBool::new(false);
        let run = |call: &Call<'_>, part: Part, outs: &mut Outs<'_>| {
            let mut outs: Vec<_> = outs.iter_mut().map(|o| Some(o.reborrow())).collect();
            let done =
                job.ended(call.run(part, &mut Memory { outs: &mut outs, before: &before, ..Memory::default() }))?;
            declined.fetch_or(!done, Ordering::Relaxed);
            Ok(())
        };
        job.cx.tasks(
            parallel,
            self.blocks(out, len),
            || (),
            |(), task| {
                // Rows of lanes that do not fill a block come last.
                let whole = task.count / block * block;
                let (mut first, mut last) = (Outs::new(), Outs::new());
                for o in task.outs.into_iter().flatten() {
                    let (a, b) = o.split_at(whole);
                    first.push(a);
                    last.push(b);
                }
                let positions = task.first / BLOCK..(task.first + whole) / BLOCK;
                run(&blocks, Part { most, panel: PANEL, ..Part::of(positions, *lanes) }, &mut first)?;
                let positions = task.first + whole..task.first + task.count;
                run(&single, Part { most, along: 0..self.row, ..Part::of(positions, *lanes) }, &mut last)
            },
        )?;
        Ok(!declined.into_inner())
    }
}
