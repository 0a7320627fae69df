//! Folds along several axes at once with built-in operators: points are lanes.
//!
//! Each lane folds its elements in row-major order. With few lanes, the outermost folded axis is split into slices
//! whose length depends on extents only; each slice is folded separately, then their results are folded in order.
//! Initial values may be used more than once, since they are neutral (`acc_desugar::fuse`). Where elements lie side by side along rows,
//! and neighbouring points read apart, each row is folded along itself ([`by_rows`]).

mod by_rows;

use super::fold::Acc;
use crate::buffer::AnyBuffer;
use crate::kernel::grouping::TermBlocks;
use crate::run::elementwise::epilogue;
use crate::run::launch::merged::Merged;
use crate::run::launch::{Columns, Cut, Job, JobOutput, finish, first_event, pieces, task_len};
use crate::run::scheduled;
use crate::tile::lanes;
use crate::tile::machine::{Machine, Outcome, Space, Stop};
use crate::tile::reduce;
use smallvec::SmallVec;
use std::ops::Range;

/// With so many lanes, threads split those rather than the folded axis.
pub(super) const MIN_SHARED_LANES: usize = 2048;
/// The least elements of a slice; the other constant is the most slices.
const MIN_SLICE_ELEMENTS: usize = 1 << 17;
const MAX_SLICES: usize = 256;

pub(crate) fn nested(job: &Job<'_>) -> Result<Vec<Columns>, Stop> {
    let [o] = &job.outputs[..] else { return Ok(Vec::new()) };
    let (outer, inner) = job.extents.split_at(job.extents.len() - job.launch.kernel.folded());
    let points: usize = outer.iter().product();
    if let Some(columns) = by_rows::by_rows(job, o, points)? {
        return epilogue::epilogue(job, outer, vec![columns]);
    }
    let columns = job.cx.columns(&o.types, points).map_err(Stop::Error)?;
    let mut out = [columns];
    if inner.contains(&0) {
        for (column, &bits) in out[0].iter_mut().zip(o.init.iter().flatten()) {
            lanes::fill(column.as_out(), bits);
        }
    } else if points > 0 {
        let len = slice_len(job, points, inner);
        if len < inner[0] {
            in_slices(job, o, points, len, &mut out[0])?;
        } else if !scheduled::run(job, &mut out, &[1], &job.initial_values())? {
            by_tiles(job, o, points, &mut out[0])?;
        }
    }
    let columns = out.into_iter().map(finish).collect();
    epilogue::epilogue(job, outer, columns)
}

/// Whether each row is folded along itself.
pub(in crate::run) fn has_rows(job: &Job<'_>) -> bool {
    job.launch.joined.as_ref().is_some_and(|joined| Merged::of(job, &joined.pairs).is_some())
}

/// Whether all elements of a point are folded together, not in slices.
pub(crate) fn is_whole(job: &Job<'_>) -> bool {
    let (outer, inner) = job.extents.split_at(job.extents.len() - job.launch.kernel.folded());
    inner.first().is_some_and(|&n| slice_len(job, outer.iter().product(), inner) >= n)
}

/// The length of a slice of the outermost folded axis: all of it with the loops of a schedule, which fold in order.
fn slice_len(job: &Job<'_>, points: usize, inner: &[usize]) -> usize {
    let row_points = inner[1..].iter().product::<usize>() * points;
    if points >= MIN_SHARED_LANES || job.launch.kernel.has_schedule {
        inner[0]
    } else {
        MIN_SLICE_ELEMENTS.div_ceil(row_points).max(inner[0].div_ceil(MAX_SLICES))
    }
}

/// Folds slices of the outermost folded axis, each for all points.
fn in_slices(job: &Job<'_>, o: &JobOutput<'_>, points: usize, len: usize, out: &mut [AnyBuffer]) -> Result<(), Stop> {
    let extent = job.extents[job.extents.len() - job.launch.kernel.folded()];
    let before = job.initial_values();
    let count = extent.div_ceil(len);
    let mut of_slices = job.cx.columns(&o.types, points.saturating_mul(count)).map_err(Stop::Error)?;
    let parallel = job.cx.parallel(job.extents.iter().product(), job.launch.cost);
    let space = space(job);
    let compiled = scheduled::Slices::new(job);
    job.cx.tasks(
        parallel,
        pieces(&mut of_slices, points * count, points)?,
        || None,
        |tiles, mut slice| {
            job.cx.limits.check().map_err(Stop::Error)?;
            let first = slice.start / points * len;
            let along = first..extent.min(first + len);
            if let Some(compiled) = &compiled
                && compiled.fold(&along, &before, &mut slice.all_from(0))?
            {
                return Ok(());
            }
            let tiles = tiles.get_or_insert_with(|| Tiles::new(job, o, &space));
            tiles.each(0..points, &along, |acc, done, n| {
                let leaves = acc.results().iter().enumerate();
                leaves.for_each(|(k, a)| lanes::copy(a.slice(n), slice.from(k, done)));
            })
        },
    )?;
    for ((total, slices), &op) in out.iter_mut().zip(&of_slices).zip(o.builtin().unwrap_or_default()) {
        let slice = |k: usize| lanes::part(slices.as_slice(), k * points, points);
        lanes::copy(slice(0), total.as_out());
        (1..count).for_each(|k| reduce::merge(op, total.as_out(), slice(k)));
    }
    Ok(())
}

fn by_tiles(job: &Job<'_>, o: &JobOutput<'_>, points: usize, out: &mut [AnyBuffer]) -> Result<(), Stop> {
    let parallel = job.cx.parallel(job.extents.iter().product(), job.launch.cost);
    let len = if parallel { task_len(points, job.lanes(), job.cx.threads.count() * 2) } else { points };
    let space = space(job);
    let along = 0..job.extents[space.hi];
    job.cx.tasks(
        parallel,
        pieces(out, points, len)?,
        || Tiles::new(job, o, &space),
        |tiles, mut piece| {
            tiles.each(piece.start..piece.start + piece.len, &along, |acc, done, n| {
                let leaves = acc.results().iter().enumerate();
                leaves.for_each(|(k, a)| lanes::copy(a.slice(n), piece.from(k, done)));
            })
        },
    )
}

fn space(job: &Job<'_>) -> Space {
    Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() - job.launch.kernel.folded() }
}

/// Tiles of points.
struct Tiles<'b> {
    o: &'b JobOutput<'b>,
    space: &'b Space,
    machine: Machine<'b>,
    acc: Acc<'b>,
    lanes: usize,
}

impl<'b> Tiles<'b> {
    fn new(job: &'b Job<'b>, o: &'b JobOutput<'b>, space: &'b Space) -> Tiles<'b> {
        let lanes = job.lanes();
        Tiles { o, space, machine: job.machine(space), acc: Acc::new(o, lanes), lanes }
    }

    /// Folds the elements of points tile by tile; yields the results of `n` points from the `done`-th on.
    fn each(
        &mut self,
        points: Range<usize>,
        along: &Range<usize>,
        mut store: impl FnMut(&Acc<'_>, usize, usize),
    ) -> Result<(), Stop> {
        let cut = Cut::new(&self.space.extents[..self.space.hi], self.lanes);
        let mut done = 0;
        while done < points.len() {
            let n = cut.len(points.start + done, points.len() - done);
            first_event(self, n, |tiles, n| tiles.tile(points.start + done, n, along))?;
            store(&self.acc, done, n);
            done += n;
        }
        Ok(())
    }

    fn tile(&mut self, start: usize, n: usize, along: &Range<usize>) -> Outcome {
        let Tiles { o, space, machine: m, acc, lanes: _ } = self;
        let mut begun = o.init.is_some() || o.is_fused();
        acc.begin(o, o.init.as_deref(), n);
        let terms = TermBlocks::of(&space.extents[space.hi..]);
        let mut block = terms.end(along.start, along.end);
        let mut ranges: SmallVec<[Range<usize>; 4]> = space.extents[space.hi..].iter().map(|&n| 0..n).collect();
        ranges[0] = along.clone();
        let mut at: SmallVec<[usize; 4]> = ranges.iter().map(|r| r.start).collect();
        loop {
            for (fixed, &i) in m.fixed[space.hi..].iter_mut().zip(&at) {
                *fixed = i as i64;
            }
            m.tile(start, n)?;
            if std::mem::replace(&mut begun, true) {
                acc.step(o, m, n, false)?
            } else {
                acc.take(o, m, 0, n)
            }
            // The next index, innermost axis first.
            let Some(axis) = (0..at.len()).rev().find(|&k| at[k] + 1 < ranges[k].end) else {
                acc.end_block(n);
                return Ok(());
            };
            at[axis] += 1;
            if axis == 0 && at[0] == block {
                acc.end_block(n);
                block = terms.end(block, along.end);
            }
            at.iter_mut().zip(&ranges).skip(axis + 1).for_each(|(i, r)| *i = r.start);
        }
    }
}
