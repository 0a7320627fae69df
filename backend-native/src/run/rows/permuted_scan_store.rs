//! Scans of rows that are strided in memory, whose epilogue stores its results with permuted axes: each thread scans a
//! range of adjacent rows in strips, so that it both reads and writes memory sequentially.

use super::{ROW_STRIP, Rows, width};
use crate::buffer::AnyBuffer;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory, Shared};
use crate::run::launch::{Columns, finish, task_len};
use crate::tile::lanes::Lanes;
use crate::tile::machine::Stop;
use acc_core::data::ScalarType;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

impl Rows<'_> {
    /// Scans rows as lanes by machine code, which stores the results of the epilogue directly; none if there is no
    /// machine code or a task bailed out, in which case all results are void.
    pub(super) fn permuted_scan_store(&self) -> Result<Option<Vec<Columns>>, Stop> {
        let job = self.job;
        let Some(permuted) = &job.launch.permuted else { return Ok(None) };
        let Some(epilogue) = &permuted.epilogue else { return Ok(None) };
        let Some(call) = job.call_of(permuted, &job.launch.code.permuted, Variant::RowLanes) else { return Ok(None) };
        let n = job.outputs.iter().map(|o| self.rows * width(o, self.row)).max().unwrap_or(0);
        let types = |values: Range<usize>| -> Vec<ScalarType> {
            epilogue.body.region.results[values].iter().map(|&v| epilogue.body.ty(v)).collect()
        };
        let columns = epilogue.outputs.iter().map(|o| job.cx.columns(&types(o.values.clone()), n));
        let mut out: Vec<Vec<AnyBuffer>> = columns.collect::<Result<_, _>>().map_err(Stop::Error)?;
        let shared = Shared::new(out.iter_mut().flatten());
        let parallel = job.cx.parallel(n, job.launch.cost);
        let len = if parallel { task_len(self.rows, job.lanes(), job.cx.threads.count() * 2) } else { self.rows };
        let bailed_out = AtomicBool::new(false);
        let tasks = (0..self.rows).step_by(len).map(|first| first..self.rows.min(first + len)).collect();
        job.cx.tasks(
            parallel,
            tasks,
            || (),
            |(), rows| {
                let done = self.strips(&call, rows, &shared)?;
                bailed_out.fetch_or(!done, Ordering::Relaxed);
                Ok(())
            },
        )?;
        if bailed_out.into_inner() {
            return Ok(None);
        }
        // The scanned values themselves are not stored.
        let scanned = job.outputs.iter().map(|_| Columns::new());
        Ok(Some(scanned.chain(out.into_iter().map(finish)).collect()))
    }

    /// Scans a range of rows, strip by strip; false if machine code bailed out.
    fn strips(&self, call: &Call<'_>, rows: Range<usize>, shared: &Shared<'_>) -> Result<bool, Stop> {
        let job = self.job;
        let types = job.outputs.iter().flat_map(|o| &o.types);
        let mut so_far: Vec<Lanes> = types.map(|&ty| Lanes::new(ty, rows.len())).collect();
        let mut outs: Vec<_> = so_far.iter_mut().map(|lanes| Some(lanes.out())).collect();
        let before = job.initial_values();
        let mut memory = Memory { outs: &mut outs, before: &before, shared: Some(shared), ..Memory::default() };
        self.in_strips(call, rows, 0..self.row, ROW_STRIP, &mut memory)
    }
}
