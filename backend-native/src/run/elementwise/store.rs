//! Launches that store each element at its point.

use crate::buffer::{AnyBuffer, CACHE_LINE_BYTES, OutSlice};
use crate::llvm::call::{BoundCall, Call, Computed, Memory, Part};
use crate::llvm::{self, Variant};
use crate::run::elementwise::column_panels;
use crate::run::launch::merged::Merged;
use crate::run::launch::{
    Binding, Columns, Context, Cut, Job, Piece, WORK_PER_CALL, finish, first_event, pieces, task_len,
};
use crate::tile::machine::{Code, Machine, Outcome, Space, Stop};
use crate::tile::memory;
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;
use std::ops::Range;

/// Results from this many bytes on are stored non-temporally: they exceed the last-level cache's share of a core, so
/// that caching them would only evict what is read.
pub(crate) const MIN_STREAMED_BYTES: usize = 16 << 20;
/// The least row for which that is done where rows do not begin at cache lines: their ends are stored as usual, some elements at a
/// time.
const MIN_UNALIGNED_ROW: usize = 512;
/// Lanes of a tile of loads across rows, and the least row length for which rows are computed in panels. The cache
/// lines of a panel of all rows stay in the first-level cache until the next row reads them.
const PANEL_LANES: usize = 128;
/// Lanes of a tile of transposed loads, which use all elements of a cache line at once.
const TRANSPOSED_PANEL_LANES: usize = 512;
/// Rows up to this length do not fill a vector: lanes run along the next outer axis, if it has at least `MIN_LANE_ROWS`
/// indices.
const MAX_LANE_ROW: usize = 8;
const MIN_LANE_ROWS: usize = 64;
/// Rows from which on they are computed several at a time where lanes leave loops at different iterations; also the
/// most rows of such a tile.
const MIN_MULTI_ROWS: usize = 32;
const MULTI_ROWS_PER_STEP: usize = 4;

pub(crate) fn store(job: &Job<'_>) -> Result<Vec<Columns>, Stop> {
    if let Some(joined) = &job.launch.joined
        && let Some(names) = Merged::of(job, &joined.pairs)
    {
        return store(&names.job(job, &joined.launch));
    }
    if let Some(columns) = crate::run::scheduled::store(job)? {
        return Ok(columns);
    }
    if let Some(columns) = column_panels::store(job)? {
        return Ok(columns);
    }
    let types: Vec<ScalarType> = job.outputs.iter().flat_map(|o| o.types.iter().copied()).collect();
    let results: Vec<usize> = job.outputs.iter().flat_map(|o| o.output.values.clone()).collect();
    let across = job.launch.kernel.has_strided_access(job.extents.len().saturating_sub(1));
    let out = fill(job.cx, &job.element, &job.extents, &types, &results, job.launch.cost, across, Some(job))?;
    let mut columns = finish(out).into_iter();
    Ok(job.outputs.iter().map(|o| columns.by_ref().take(o.types.len()).collect()).collect())
}

/// Columns of these types over an index space, computed by a body and taken from the given results. `across` tells that
/// the body loads across rows. If the body is that of a launch, its machine code may be used.
#[allow(clippy::too_many_arguments, reason = "a body, its space, and what is made of it")]
pub(crate) fn fill(
    cx: Context<'_>,
    body: &Binding<'_>,
    extents: &[usize],
    types: &[ScalarType],
    results: &[usize],
    cost: usize,
    across: bool,
    kernel: Option<&Job<'_>>,
) -> Result<Vec<AnyBuffer>, Stop> {
    let (n, code): (usize, &Code) = (extents.iter().product(), body.code);
    let mut out = cx.columns(types, n).map_err(Stop::Error)?;
    let space = Space { extents: extents.into(), lo: 0, hi: extents.len() };
    let parallel = cx.parallel(n, cost);
    let transposed = kernel.filter(|_| extents.len() > 1).and_then(|job| llvm::transposed_axis(&job.launch.kernel));
    let bytes: usize = types.iter().map(|t| t.size()).sum();
    let stream = n.saturating_mul(bytes) >= MIN_STREAMED_BYTES;
    let row = match *extents {
        [_, .., row] if row > PANEL_LANES && across => Some(row),
        _ => None,
    };
    let mut len = match parallel {
        // Transposed loads read sequentially only within one task.
        true if stream && transposed.is_some() => 2 * task_len(n, code.lanes, cx.threads.count()),
        true => task_len(n, code.lanes, cx.threads.count()),
        false => n.max(1),
    };
    let native = kernel.and_then(|job| StoreCode::new(job, row.is_some(), transposed, stream));
    let whole = native.as_ref().map_or(1, |native| native.whole).max(row.unwrap_or(1));
    len = len.next_multiple_of(whole);
    // Rows matter to loads with an access plan along them.
    let cut = if code.bytecode.plans == 0 { Cut::new(&[n], code.lanes) } else { Cut::new(extents, code.lanes) };
    let by_squares = transposed.is_some_and(|axis| axis + 2 == extents.len());
    cx.tasks(
        parallel,
        pieces(&mut out, n, len)?,
        || None,
        |m, mut piece| {
            if let Some(native) = &native
                && native.run(&mut piece, &[])?
            {
                return Ok(());
            }
            let m = m.get_or_insert_with(|| body.machine(&space));
            let width = if by_squares { TRANSPOSED_PANEL_LANES.min(code.lanes) } else { PANEL_LANES };
            m.transposes_until_row = row.map(|row| (piece.start + piece.len).div_ceil(row));
            let in_panels = row.is_some_and(|row| panels(&mut piece, m, results, (row, width), stream).is_ok());
            m.transposes_until_row = None;
            if !in_panels {
                // In order, so that the first event in program order is found.
                in_order(&mut piece, m, results, &cut, stream)?;
            }
            Ok(())
        },
    )?;
    Ok(out)
}

/// Whether rows of `row` elements all begin at cache lines if the first one does, in each result.
pub(crate) fn rows_begin_at_lines(job: &Job<'_>, row: usize) -> bool {
    job.outputs.iter().flat_map(|o| &o.types).all(|t| (row * t.size()).is_multiple_of(CACHE_LINE_BYTES))
}

/// The machine code of a launch.
pub(crate) struct StoreCode<'a> {
    job: &'a Job<'a>,
    call: Call<'a>,
    /// The extent of the lane axis.
    row: usize,
    /// Columns per panel.
    panel: usize,
    /// Elements per call are a multiple of this, except in the last call.
    whole: usize,
    pub stream: bool,
    /// Whether rows may begin anywhere in a cache line, as long as all results have the same offset.
    unaligned: bool,
    /// Whether lanes are rows.
    lanes: bool,
}

impl<'a> StoreCode<'a> {
    /// The code for the whole index space of a launch that stores by rows.
    pub(crate) fn of(job: &'a Job<'a>) -> Option<StoreCode<'a>> {
        let kernel = &job.launch.kernel;
        let (n, rank): (usize, usize) = (job.extents.iter().product(), job.extents.len());
        let transposed = llvm::transposed_axis(kernel).filter(|_| rank > 1);
        if n == 0 || kernel.is_scheduled() || column_panels::channels(job).is_some() {
            return None;
        }
        let bytes: usize = job.outputs.iter().flat_map(|o| &o.types).map(|t| t.size()).sum();
        let across = rank > 1 && kernel.has_strided_access(rank - 1);
        let panels = across && job.extents.last().is_some_and(|&row| row > PANEL_LANES);
        StoreCode::new(job, panels, transposed, n.saturating_mul(bytes) >= MIN_STREAMED_BYTES)
    }

    /// `transposed` is the axis that swaps with the innermost one in loads, if any.
    pub(crate) fn new(
        job: &'a Job<'a>,
        panels: bool,
        transposed: Option<usize>,
        stream: bool,
    ) -> Option<StoreCode<'a>> {
        let n = job.extents.iter().product();
        let whole = |a: &ArrayId| job.names.input(*a).is_some_and(|i| i.shape == &job.extents[..]);
        let elementwise = &job.launch.code.elementwise;
        let flat = job.extents.len() > 1 && elementwise.reads.as_ref().is_some_and(|reads| reads.iter().all(whole));
        let row = if flat { n } else { job.extents.last().copied().unwrap_or(1) };
        let kernel = &job.launch.kernel;
        let extent = |axis: usize| job.extents.get(axis).copied().unwrap_or(1);
        let transposed =
            transposed.filter(|&axis| extent(axis) >= MIN_TRANSPOSED_EXTENT && row >= MIN_TRANSPOSED_EXTENT);
        // Non-temporally only where each row of each result begins at a cache line, or for the variant that aligns
        // itself.
        let aligned = row == n || rows_begin_at_lines(job, row);
        let whole_rows = !panels && row >= MIN_UNALIGNED_ROW;
        let in_lines = transposed.is_some() || whole_rows;
        let unaligned = stream && !aligned && in_lines && !flat && llvm::can_stream_unaligned(kernel);
        let stream = stream && (aligned || unaligned);
        if let [.., around, row] = job.extents[..]
            && !flat
            && row <= MAX_LANE_ROW
            && around >= MIN_LANE_ROWS
        {
            let call = job.call(Variant::RowLanes)?;
            return Some(StoreCode {
                job,
                call,
                row,
                panel: usize::MAX,
                whole: row,
                stream: false,
                unaligned,
                lanes: true,
            });
        }
        if !flat && n / row.max(1) >= MIN_MULTI_ROWS && row > 1 && elementwise.diverges {
            let call = job.call(Variant::MultiRow)?;
            return Some(StoreCode {
                job,
                call,
                row,
                panel: usize::MAX,
                whole: MULTI_ROWS_PER_STEP * row,
                stream: false,
                unaligned,
                lanes: false,
            });
        }
        // The elements of a point along the transposed axis and along the axes between.
        let alone = if unaligned { row } else { 1 };
        let whole =
            transposed.map_or(alone, |axis| llvm::axes_between(kernel, axis).map(extent).product::<usize>() * row);
        let transposed = transposed.is_some();
        // Cache lines per result and call: one, so that few lines are read at a time, or as many as one transposition
        // covers, where those fit the first-level cache.
        let types = job.outputs.iter().flat_map(|o| &o.types);
        let line = types.map(|t| CACHE_LINE_BYTES / t.size()).max().filter(|_| panels || transposed);
        let panel = line.map_or(usize::MAX, |line| match () {
            () if unaligned && transposed => (4 * line).min(llvm::MAX_PANEL_COLUMNS - line),
            () if transposed && !stream => (4 * line).min(llvm::MAX_PANEL_COLUMNS),
            () => line,
        });
        let call = job.call(if unaligned {
            Variant::UnalignedStreaming
        } else {
            Variant::Store { flat, stream, transposed }
        })?;
        Some(StoreCode { job, call, row, panel, whole, stream, unaligned, lanes: false })
    }

    /// Computes a piece, given rows of other results that are already `computed`; false if it bailed out, in which case
    /// the tile executor must run to find the event.
    pub(crate) fn run(&self, piece: &mut Piece<'_>, computed: &[Computed]) -> Result<bool, Stop> {
        if !self.begins_at_lines(piece) {
            return Ok(false);
        }
        let mut outs: SmallVec<[_; 2]> = piece.outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        let part = self.part(piece.start..piece.start + piece.len);
        let ended = self.call.run(part, &mut Memory { outs: &mut outs, computed, ..Memory::default() });
        if self.stream {
            memory::finish();
        }
        self.job.is_done(ended)
    }

    /// Whether non-temporal stores may write a piece.
    fn begins_at_lines(&self, piece: &Piece<'_>) -> bool {
        let mut starts = piece.outs.iter().map(|o| memory::offset(o, CACHE_LINE_BYTES));
        let wanted =
            if self.unaligned { piece.outs.first().map_or(0, |o| memory::offset(o, CACHE_LINE_BYTES)) } else { 0 };
        !self.stream || starts.all(|start| start == wanted)
    }

    /// How a range of positions is computed.
    fn part(&self, positions: Range<usize>) -> Part {
        if self.lanes {
            let around = self.job.extents[self.job.extents.len() - 2];
            let rows = positions.start / self.row..positions.end / self.row;
            let most = WORK_PER_CALL / self.job.launch.cost.max(1) / self.row;
            return Part { most, along: 0..self.row, ..Part::of(rows, around) };
        }
        // Whole cache lines, and whole rows of panels.
        let most = (WORK_PER_CALL / self.job.launch.cost.max(1)).next_multiple_of(CACHE_LINE_BYTES);
        let most = if self.panel < self.row || self.unaligned { most.next_multiple_of(self.row) } else { most };
        let most = if self.whole > self.row { most.next_multiple_of(self.whole * llvm::MAX_BLOCK_ROWS) } else { most };
        // All points between the transposed axis and the lane axis.
        let along = 0..self.whole / self.row.max(1);
        Part { most, panel: self.panel, along, ..Part::of(positions, self.row) }
    }

    /// The call that computes a piece, to be repeated; `column` is as for [`Call::bind`].
    pub(crate) fn bind(
        &self,
        piece: &mut Piece<'_>,
        column: impl Fn(ArrayId, u32) -> Option<u64>,
    ) -> Option<BoundCall<'a>> {
        if !self.begins_at_lines(piece) {
            return None;
        }
        let mut outs: SmallVec<[_; 2]> = piece.outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        let part = self.part(piece.start..piece.start + piece.len);
        Some(self.call.bind(part, &mut Memory { outs: &mut outs, ..Memory::default() }, column))
    }

    /// Into how many elements results of `n` elements may be divided for so many threads: whole rows, if there are enough.
    pub(crate) fn piece_len(&self, n: usize, threads: usize) -> usize {
        let row = if n / self.row.max(1) >= threads { self.row } else { 1 };
        n.div_ceil(threads.max(1)).next_multiple_of(self.whole.max(row).max(1))
    }
}

/// Extents of the row and column axes from which on loads across rows are transposed.
const MIN_TRANSPOSED_EXTENT: usize = 8;
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
        first_event(m, n, |m, n| tile(m, (start, n), results, &mut piece.all_from(done), stream))?;
        done += n;
    }
    if stream {
        memory::finish();
    }
    Ok(())
}

/// Computes a piece of whole rows in panels of neighbouring columns.
fn panels(
    piece: &mut Piece<'_>,
    m: &mut Machine<'_>,
    results: &[usize],
    (row, width): (usize, usize),
    stream: bool,
) -> Result<(), Stop> {
    for column in (0..row).step_by(width) {
        let n = width.min(row - column);
        for line in (0..piece.len).step_by(row) {
            let start = piece.start + line + column;
            tile(m, (start, n), results, &mut piece.all_from(line + column), stream).map_err(|e| e.stop)?;
        }
    }
    if stream {
        memory::finish();
    }
    Ok(())
}

/// Computes a tile's results into memory, non-temporally if the tile's buffers are larger than these.
fn tile(
    m: &mut Machine<'_>,
    (start, n): (usize, usize),
    results: &[usize],
    outs: &mut [OutSlice<'_>],
    stream: bool,
) -> Outcome {
    if !stream {
        return m.tile_to((start, n), results, outs);
    }
    m.tile(start, n)?;
    for (&r, out) in results.iter().zip(outs) {
        memory::stream(m.get(m.bytecode.results[r], n), out.reborrow());
    }
    Ok(())
}
