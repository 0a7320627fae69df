//! Launches that store each element at its point.

use super::launch::{Columns, Context, Cut, Job, Piece, finish, first_event, pieces, task_len};
use crate::buffer::AnyBuffer;
use crate::kernel::{Ix, Kernel, Op};
use crate::tile::machine::{Bound, Code, Machine, Space, Stop};
use crate::tile::{lanes, memory};
use acc_core::data::ScalarType;

/// Bytes of a result from which on it is written past the caches.
const STREAM: usize = 16 << 20;
/// Lanes of a tile that reads across rows: the cache lines of all of them stay until the next row needs them.
const PANEL: usize = 128;

pub(crate) fn store(job: &Job<'_>) -> Result<Vec<Columns>, Stop> {
    let types: Vec<ScalarType> = job.outputs.iter().flat_map(|o| o.types.iter().copied()).collect();
    let results: Vec<usize> = job.outputs.iter().flat_map(|o| o.output.values.clone()).collect();
    let across = reads_across(&job.launch.kernel);
    let out = fill(job.cx, &job.launch.element, &job.element, &job.extents, &types, &results, job.launch.cost, across)?;
    let mut columns = finish(out).into_iter();
    Ok(job.outputs.iter().map(|o| columns.by_ref().take(o.types.len()).collect()).collect())
}

/// Columns of these types over an index space, computed by a body, of which they are these results; `across` tells that
/// the body reads across rows.
#[allow(clippy::too_many_arguments)] // A body, its space, and what is made of it.
pub(crate) fn fill(
    cx: Context<'_>,
    code: &Code,
    bound: &Bound<'_>,
    extents: &[usize],
    types: &[ScalarType],
    results: &[usize],
    cost: usize,
    across: bool,
) -> Result<Vec<AnyBuffer>, Stop> {
    let n: usize = extents.iter().product();
    let mut out = cx.columns(types, n).map_err(Stop::Error)?;
    let space = Space { extents: extents.into(), lo: 0, hi: extents.len() };
    let parallel = cx.parallel(n, cost);
    let mut len = if parallel { task_len(n, code.lanes, cx.threads.count()) } else { n.max(1) };
    let bytes: usize = types.iter().map(|t| t.size()).sum();
    let stream = n.saturating_mul(bytes) >= STREAM;
    let row = match *extents {
        [_, .., row] if row > PANEL && across => Some(row),
        _ => None,
    };
    if let Some(row) = row {
        len = len.next_multiple_of(row);
    }
    let worker = || Machine::new(code, bound, &space);
    cx.tasks(parallel, pieces(&mut out, n, len), worker, |m, mut piece| {
        let in_panels = row.is_some_and(|row| panels(&mut piece, m, results, row).is_ok());
        if !in_panels {
            // In order, so that the first event is found.
            in_order(&mut piece, m, results, &Cut::new(extents, code.lanes), stream)?;
        }
        Ok(())
    })?;
    Ok(out)
}

/// Computes a piece from its first element to its last.
fn in_order(
    piece: &mut Piece<'_>,
    m: &mut Machine<'_>,
    results: &[usize],
    cut: &Cut,
    stream: bool,
) -> Result<(), Stop> {
    let mut done = 0;
    while done < piece.len {
        let start = piece.start + done;
        let n = cut.len(start, piece.len - done);
        first_event(m, n, |m, n| m.tile(start, n))?;
        for (k, &r) in results.iter().enumerate() {
            let (from, to) = (m.get(m.tape.results[r], n), piece.from(k, done));
            if stream { memory::stream(from, to) } else { lanes::copy(from, to) }
        }
        done += n;
    }
    if stream {
        memory::finish();
    }
    Ok(())
}

/// Computes a piece of whole rows in panels of neighbouring columns.
fn panels(piece: &mut Piece<'_>, m: &mut Machine<'_>, results: &[usize], row: usize) -> Result<(), Stop> {
    for column in (0..row).step_by(PANEL) {
        let n = PANEL.min(row - column);
        for line in (0..piece.len).step_by(row) {
            m.tile(piece.start + line + column, n).map_err(|e| e.stop)?;
            for (k, &r) in results.iter().enumerate() {
                lanes::copy(m.get(m.tape.results[r], n), piece.from(k, line + column));
            }
        }
    }
    Ok(())
}

/// Whether a load runs along the innermost axis with a stride, as in a transposition.
fn reads_across(kernel: &Kernel) -> bool {
    let inner = kernel.axes.len().saturating_sub(1) as u32;
    let follows = |i: &Ix| matches!(i, Ix::Affine { axis, .. } if *axis == inner);
    kernel.element.region.nodes.iter().any(|n| match &n.op {
        Op::Load(l) => l.index.split_last().is_some_and(|(last, outer)| !follows(last) && outer.iter().any(follows)),
        _ => false,
    })
}
