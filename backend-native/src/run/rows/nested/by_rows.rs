//! Folds [by rows](crate::kernel::Kernel::joined): one result for each row, which are folded in their order.

use crate::buffer::AnyBuffer;
use crate::kernel::grouping::PARTIAL_RESULTS;
use crate::run::launch::merged::Merged;
use crate::run::launch::{Columns, Job, JobOutput, finish};
use crate::run::rows;
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::Stop;
use crate::tile::reduce;
use acc_core::data::Column;
use acc_core::ir::PrimOp;

/// The results of a launch, of so many points; none if rows do not lie side by side, or there are none.
pub(super) fn by_rows(job: &Job<'_>, o: &JobOutput<'_>, points: usize) -> Result<Option<Columns>, Stop> {
    let (Some(joined), false) = (&job.launch.joined, job.extents.contains(&0)) else { return Ok(None) };
    let Some(names) = Merged::of(job, &joined.pairs) else { return Ok(None) };
    let of_rows = rows::rows(&names.job(job, &joined.launch), None)?.into_iter().next().unwrap_or_default();
    let ops = o.builtin().unwrap_or_default();
    if of_rows.iter().all(|c| c.len() == points) {
        return Ok(Some(of_rows));
    }
    let mut out = job.cx.columns(&o.types, points).map_err(Stop::Error)?;
    of_rows.iter().zip(&mut out).zip(ops).for_each(|((rows, out), op)| fold(*op, rows, out, points));
    Ok(Some(finish(out)))
}

/// Folds the results of each point's rows.
fn fold(op: PrimOp, rows: &Column, out: &mut AnyBuffer, points: usize) {
    let (ty, count) = (rows.ty(), rows.len() / points);
    if count >= PARTIAL_RESULTS {
        let mut partial = Lanes::new(ty, PARTIAL_RESULTS);
        for point in 0..points {
            partial.fill(PARTIAL_RESULTS, reduce::identity(op, ty));
            reduce::reduce(op, &mut partial, lanes::part(rows.slice(), point * count, count));
            lanes::fill_first(out.as_out().split_at(point).1, reduce::collapse(op, &mut partial));
        }
        return;
    }
    let mut total = Lanes::new(ty, points);
    let mut next = Lanes::new(ty, points);
    lanes::strided(rows.slice(), 0, count as isize, points, total.out());
    for k in 1..count {
        lanes::strided(rows.slice(), k, count as isize, points, next.out());
        reduce::accumulate(op, &mut total, next.slice(points));
    }
    lanes::copy(total.slice(points), out.as_out());
}
