//! Epilogues that run once a launch's folds or scatter are complete.

use super::launch::{Columns, Cut, Job, finish, first_event, give, pieces, task_len};
use crate::tile::lanes;
use crate::tile::machine::{Space, Stop};
use acc_core::data::{Column, ColumnSlice, ScalarType};
use smallvec::SmallVec;

/// Adds the results of the epilogue, over results of this shape.
pub(crate) fn epilogue(job: &Job<'_>, shape: &[usize], mut columns: Vec<Columns>) -> Result<Vec<Columns>, Stop> {
    let Some(e) = &job.epilogue else { return Ok(columns) };
    let n: usize = shape.iter().product();
    let types: Vec<ScalarType> = e.outputs.iter().flat_map(|(_, types)| types.iter().copied()).collect();
    let mut out = job.cx.columns(&types, n).map_err(Stop::Error)?;
    {
        let combined = job.outputs.iter().zip(&columns).filter(|(o, _)| o.is_combined());
        let leaves: Vec<ColumnSlice<'_>> = combined.flat_map(|(_, c)| c.iter().map(Column::slice)).collect();
        let results: Vec<usize> = e.outputs.iter().flat_map(|(values, _)| values.clone()).collect();
        let space = Space { extents: shape.into(), lo: 0, hi: shape.len() };
        let lanes = e.code.lanes;
        let cut = Cut::new(shape, lanes);
        let parallel = job.cx.parallel(n, job.launch.cost);
        let len = if parallel { task_len(n, lanes, job.cx.threads.count()) } else { n.max(1) };
        job.cx.tasks(
            parallel,
            pieces(&mut out, n, len),
            || e.machine(&space),
            |m, mut piece| {
                let mut done = 0;
                while done < piece.len {
                    let start = piece.start + done;
                    let n = cut.len(start, piece.len - done);
                    first_event(m, n, |m, n| {
                        give(m, shape.len(), leaves.iter().map(|l| lanes::part(*l, start, n)));
                        m.tile(start, n)
                    })?;
                    for (k, &r) in results.iter().enumerate() {
                        lanes::copy(m.get(m.tape.results[r], n), piece.from(k, done));
                    }
                    done += n;
                }
                Ok(())
            },
        )?;
    }
    let mut all = finish(out).into_iter();
    columns.extend(e.outputs.iter().map(|(_, types)| all.by_ref().take(types.len()).collect::<SmallVec<_>>()));
    Ok(columns)
}
