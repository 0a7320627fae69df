//! Stores whose last axis is long and whose other axes (the rows) are few, read with the rows contiguous in memory.
//! Threads split the columns into panels and compute a panel of all rows before the next panel, so that memory is read
//! sequentially. Loads are transposed unless the rows are so few (such as the channels of an image) that a vector holds
//! elements of all of them.

use crate::buffer::CACHE_LINE_BYTES;
use crate::llvm::call::{CallOutcome, Shared};
use crate::llvm::{self, Variant};
use crate::run::elementwise::store::{MIN_STREAMED_BYTES, rows_begin_at_lines};
use crate::run::launch::{Columns, Job, JobOutput, finish};
use crate::tile::machine::Stop;
use crate::tile::memory;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most rows for which a panel of all of them stays in the second-level cache.
const MAX_PANEL_ROWS: usize = 1024;
/// Elements of a panel, over all rows, that stay in the second-level cache.
const MAX_CACHED_ELEMENTS: usize = 1 << 16;

/// Whether vectors of a launch hold elements of several rows, such as the channels of an image; none if it is not computed by column
/// panels.
pub(crate) fn channels(job: &Job<'_>) -> Option<bool> {
    let [rows, ref between @ .., row] = job.extents[..] else { return None };
    let columns = between.iter().product::<usize>() * row;
    let kernel = &job.launch.kernel;
    if llvm::transposed_axis(kernel) != Some(0) || row < llvm::MAX_BLOCK_ROWS || columns < llvm::MAX_PANEL_COLUMNS {
        return None;
    }
    let channels = llvm::reads_interleaved(kernel, |a| job.names.input(a).map(|i| i.shape));
    let least = if channels { 1 } else { 2 };
    (least..=MAX_PANEL_ROWS.min(columns)).contains(&rows).then_some(channels)
}

/// Computes results by column panels; none if there is no machine code for that or it bails out.
pub(crate) fn store(job: &Job<'_>) -> Result<Option<Vec<Columns>>, Stop> {
    let (Some(channels), [rows, between @ .., row]) = (channels(job), &job.extents[..]) else { return Ok(None) };
    let (rows, between, row) = (*rows, between.iter().product::<usize>(), *row);
    let (columns, kernel) = (between * row, &job.launch.kernel);
    let bytes: usize = job.outputs.iter().flat_map(|o| &o.types).map(|t| t.size()).sum();
    // Panels begin at cache lines where rows do, or else at any address.
    let (large, aligned) = (rows * columns * bytes >= MIN_STREAMED_BYTES, rows_begin_at_lines(job, row));
    let unaligned = large && !aligned && !channels && llvm::can_stream_unaligned(kernel);
    let stream = large && (aligned || unaligned);
    let variant = if unaligned {
        Variant::UnalignedStreaming
    } else {
        Variant::Store { flat: false, stream, transposed: !channels }
    };
    let Some(call) = job.call(variant) else { return Ok(None) };
    let columns_of = |o: &JobOutput<'_>| job.cx.columns(&o.types, rows * columns);
    let mut out = job.outputs.iter().map(columns_of).collect::<Result<Vec<_>, _>>().map_err(Stop::Error)?;
    if stream && !out.iter_mut().flatten().all(|o| memory::starts_at(&o.as_out(), CACHE_LINE_BYTES)) {
        return Ok(None);
    }
    let parallel = job.cx.parallel(rows * columns, job.launch.cost);
    // Panels of one row, or of all rows in between.
    let types = job.outputs.iter().flat_map(|o| &o.types);
    let line = types.map(|t| CACHE_LINE_BYTES / t.size()).max().unwrap_or(1);
    let panel = match () {
        () if unaligned => llvm::MAX_PANEL_COLUMNS - line,
        () if channels => MAX_CACHED_ELEMENTS / rows / CACHE_LINE_BYTES * CACHE_LINE_BYTES,
        () => llvm::MAX_PANEL_COLUMNS,
    };
    let (unit, length) =
        if between > 1 { ((MAX_CACHED_ELEMENTS / (rows * row)).max(1), between) } else { (panel, row) };
    let len = if parallel { (length / (job.cx.threads.count() * 4)).next_multiple_of(unit).max(unit) } else { length };
    let shared = Shared::new(out.iter_mut().flatten());
    let bailed_out = AtomicBool::new(false);
    let tasks = (0..length).step_by(len).map(|first| first..length.min(first + len)).collect();
    // Panels of all rows in between at some points.
    let some_of_all = |some: Range<usize>| match channels {
        false => call.run_columns(rows * between, &some, (0..row, panel), &shared),
        true => {
            let lines = (0..rows).map(|r| r * between + some.start..r * between + some.end);
            let mut run = lines.map(|rows| call.run_rows(rows, row, &shared));
            run.find(|ended| *ended != CallOutcome::Done).unwrap_or(CallOutcome::Done)
        }
    };
    job.cx.tasks(
        parallel,
        tasks,
        || (),
        |(), range: Range<usize>| {
            job.cx.limits.check().map_err(Stop::Error)?;
            let ended = match between > 1 {
                false => call.run_columns(rows, &(0..1), (range, panel), &shared),
                true => {
                    let some = range.clone().step_by(unit).map(|first| first..range.end.min(first + unit));
                    some.map(some_of_all).find(|ended| *ended != CallOutcome::Done).unwrap_or(CallOutcome::Done)
                }
            };
            if stream {
                memory::finish();
            }
            bailed_out.fetch_or(!job.is_done(ended)?, Ordering::Relaxed);
            Ok(())
        },
    )?;
    Ok((!bailed_out.into_inner()).then(|| out.into_iter().map(finish).collect()))
}
