//! Launches that store each element at its point.

use super::launch::{Binding, CALL, Columns, Context, Cut, Job, Piece, finish, first_event, pieces, task_len};
use crate::buffer::{AnyBuffer, LINE, OutSlice};
use crate::llvm::code::{Call, Computed, Memory, Part};
use crate::llvm::{self, Form, reads_element_by_element};
use crate::tile::machine::{Code, Machine, Outcome, Space, Stop};
use crate::tile::memory;
use acc_core::data::ScalarType;
use smallvec::SmallVec;

/// Bytes of a result from which on it is written past the caches.
pub(super) const STREAM: usize = 16 << 20;
/// Lanes of a tile that reads across rows, and the least row that is taken in panels: the cache lines of all of them stay until
/// the next row needs them.
const PANEL: usize = 128;
/// Lanes of a tile whose reads across rows are turned: of each cache line all that is needed is read at once.
const TURNED: usize = 512;
/// Rows up to this length do not fill a vector: lanes run along the axis around them, if that is as long as `MANY`.
const SHORT: usize = 8;
const MANY: usize = 64;
/// Rows from which on they are computed in patches where lanes leave loops at different times, and rows that a patch has at
/// most.
const PATCHES: usize = 32;
const PATCH: usize = 4;

pub(crate) fn store(job: &Job<'_>) -> Result<Vec<Columns>, Stop> {
    if let Some(columns) = super::scheduled::store(job)? {
        return Ok(columns);
    }
    if let Some(columns) = super::columns::store(job)? {
        return Ok(columns);
    }
    let types: Vec<ScalarType> = job.outputs.iter().flat_map(|o| o.types.iter().copied()).collect();
    let results: Vec<usize> = job.outputs.iter().flat_map(|o| o.output.values.clone()).collect();
    let across = job.launch.kernel.strides_along(job.extents.len().saturating_sub(1));
    let out = fill(job.cx, &job.element, &job.extents, &types, &results, job.launch.cost, across, Some(job))?;
    let mut columns = finish(out).into_iter();
    Ok(job.outputs.iter().map(|o| columns.by_ref().take(o.types.len()).collect()).collect())
}

/// Columns of these types over an index space, computed by a body, of which they are these results; `across` tells that
/// the body reads across rows. The body may be that of a kernel which has machine code.
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
    let turned = kernel.filter(|_| extents.len() > 1).and_then(|job| llvm::axis_turned(&job.launch.kernel));
    let bytes: usize = types.iter().map(|t| t.size()).sum();
    let stream = n.saturating_mul(bytes) >= STREAM;
    let row = match *extents {
        [_, .., row] if row > PANEL && across => Some(row),
        _ => None,
    };
    let mut len = match parallel {
        // What is turned is read along memory for as long as a task goes on.
        true if stream && turned.is_some() => 2 * task_len(n, code.lanes, cx.threads.count()),
        true => task_len(n, code.lanes, cx.threads.count()),
        false => n.max(1),
    };
    let native = kernel.and_then(|job| Native::new(job, row.is_some(), turned, stream));
    let whole = native.as_ref().map_or(1, |native| native.whole).max(row.unwrap_or(1));
    len = len.next_multiple_of(whole);
    // Rows matter to what reads along them.
    let cut = if code.tape.plans == 0 { Cut::new(&[n], code.lanes) } else { Cut::new(extents, code.lanes) };
    let by_squares = turned.is_some_and(|axis| axis + 2 == extents.len());
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
            let width = if by_squares { TURNED.min(code.lanes) } else { PANEL };
            m.row_after_row = row.map(|row| (piece.start + piece.len).div_ceil(row));
            let in_panels = row.is_some_and(|row| panels(&mut piece, m, results, (row, width), stream).is_ok());
            m.row_after_row = None;
            if !in_panels {
                // In order, so that the first event is found.
                in_order(&mut piece, m, results, &cut, stream)?;
            }
            Ok(())
        },
    )?;
    Ok(out)
}

/// Whether rows of so many elements all begin at a line of the caches if the first one does, of each result.
pub(super) fn rows_begin_at_lines(job: &Job<'_>, row: usize) -> bool {
    job.outputs.iter().flat_map(|o| &o.types).all(|t| (row * t.size()).is_multiple_of(LINE))
}

/// The machine code of a launch.
pub(super) struct Native<'a> {
    job: &'a Job<'a>,
    call: Call<'a>,
    /// The extent of the axis of lanes.
    row: usize,
    /// Columns taken at a time.
    panel: usize,
    /// Elements of which whole multiples are computed at once, but for the last ones.
    whole: usize,
    stream: bool,
    /// Whether rows may begin anywhere in a line of the caches, each result's where those of the others do.
    own_lines: bool,
    /// Whether rows are lanes.
    lanes: bool,
}

impl<'a> Native<'a> {
    /// `turned` is the axis that changes places with the innermost one in reads, if one does.
    pub(super) fn new(job: &'a Job<'a>, panels: bool, turned: Option<usize>, stream: bool) -> Option<Native<'a>> {
        let n = job.extents.iter().product();
        let whole = |a| job.names.input(a).is_some_and(|i| i.shape == &job.extents[..]);
        let flat = job.extents.len() > 1 && reads_element_by_element(&job.launch.kernel, whole);
        let row = if flat { n } else { job.extents.last().copied().unwrap_or(1) };
        let kernel = &job.launch.kernel;
        let extent = |axis: usize| job.extents.get(axis).copied().unwrap_or(1);
        let turned = turned.filter(|&axis| extent(axis) >= SQUARE && row >= SQUARE);
        // Past the caches only where each row of each result begins at a line of them, or wherever its lines are.
        let aligned = row == n || rows_begin_at_lines(job, row);
        let own_lines = stream && !aligned && turned.is_some() && !flat && llvm::has_own_lines(kernel);
        let stream = stream && (aligned || own_lines);
        if let [.., around, row] = job.extents[..]
            && !flat
            && row <= SHORT
            && around >= MANY
        {
            let call = job.call(Form::Rows)?;
            return Some(Native {
                job,
                call,
                row,
                panel: usize::MAX,
                whole: row,
                stream: false,
                own_lines,
                lanes: true,
            });
        }
        if !flat && n / row.max(1) >= PATCHES && row > 1 && llvm::leaves_apart(kernel) {
            let call = job.call(Form::Patches)?;
            return Some(Native {
                job,
                call,
                row,
                panel: usize::MAX,
                whole: PATCH * row,
                stream: false,
                own_lines,
                lanes: false,
            });
        }
        // The elements of a point along the axis that is turned, and along those around it.
        let whole = turned.map_or(1, |axis| llvm::between(kernel, axis).map(extent).product::<usize>() * row);
        let turned = turned.is_some();
        // Lines of each result: one, so that few lines are read in turn, or, where these stay in a cache, as many as are turned
        // at once.
        let types = job.outputs.iter().flat_map(|o| &o.types);
        let line = types.map(|t| LINE / t.size()).max().filter(|_| panels || turned);
        let panel = line.map_or(usize::MAX, |line| match () {
            () if own_lines => (4 * line).min(llvm::PANEL - line),
            () if turned && !stream => (4 * line).min(llvm::PANEL),
            () => line,
        });
        let call = job.call(if own_lines { Form::OwnLines } else { Form::Store { flat, stream, turned } })?;
        Some(Native { job, call, row, panel, whole, stream, own_lines, lanes: false })
    }

    /// Computes a piece, with the rows of others that are `computed`; whether that is done. If not, tiles must do it, to find
    /// what stops it.
    pub(super) fn run(&self, piece: &mut Piece<'_>, computed: &[Computed]) -> Result<bool, Stop> {
        let mut outs: SmallVec<[_; 2]> = piece.outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        if self.stream {
            let starts: SmallVec<[usize; 2]> = outs.iter().flatten().map(|o| memory::offset(o, LINE)).collect();
            let wanted = starts.first().filter(|_| self.own_lines).copied().unwrap_or(0);
            if starts.iter().any(|s| *s != wanted) {
                return Ok(false);
            }
        }
        let positions = piece.start..piece.start + piece.len;
        if self.lanes {
            let around = self.job.extents[self.job.extents.len() - 2];
            let rows = positions.start / self.row..positions.end / self.row;
            let most = CALL / self.job.launch.cost.max(1) / self.row;
            let part = Part { most, along: 0..self.row, ..Part::of(rows, around) };
            let ended = self.call.run(part, &mut Memory { outs: &mut outs, computed, ..Memory::default() });
            return self.job.ended(ended);
        }
        // Whole cache lines, and whole rows of panels.
        let most = (CALL / self.job.launch.cost.max(1)).next_multiple_of(LINE);
        let most = if self.panel < self.row { most.next_multiple_of(self.row) } else { most };
        let most = if self.whole > self.row { most.next_multiple_of(self.whole * llvm::BLOCK) } else { most };
        // All points between the axis that is turned and that of lanes.
        let along = 0..self.whole / self.row.max(1);
        let part = Part { most, panel: self.panel, along, ..Part::of(positions, self.row) };
        let ended = self.call.run(part, &mut Memory { outs: &mut outs, computed, ..Memory::default() });
        if self.stream {
            memory::finish();
        }
        self.job.ended(ended)
    }
}

/// Rows and columns from which on reads across rows are turned.
const SQUARE: usize = 8;
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

/// Computes a piece of whole rows in panels of neighbouring columns, so many at a time.
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

/// Computes a tile's results into memory, past the caches if they are larger than these.
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
        memory::stream(m.get(m.tape.results[r], n), out.reborrow());
    }
    Ok(())
}
