//! Launches whose innermost axis is folded or scanned: folds, scans, and elementwise results stored along with them.
//!
//! Two mappings, chosen by extents and access pattern, never by the number of threads:
//!
//! * *Rows as lanes*: each lane folds or scans its row sequentially. For many short rows, and where an operator was
//!   found to fault, since faults then occur in order. Machine code follows the order of the kernel's loops, if that
//!   was changed (`scheduled`). Operands of which each lane reads a row are packed (`packing`). Long columns are folded in
//!   blocks (`column_blocks`). Where a scan's epilogue stores its results with permuted axes, machine code does so
//!   directly (`permuted_scan_store`).
//! * *Elements as lanes* (`chunks`): a row is split into chunks of fixed length, each reduced or scanned separately.
//!   Machine code computes many rows of a single chunk in one call (`batched_rows`). Chunks are combined in order;
//!   those of a scan are started in order, and each publishes the prefix of the next (`decoupled_lookback`).

mod batched_rows;
mod chunks;
mod column_blocks;
mod decoupled_lookback;
mod fold;
pub(super) mod gemm;
pub(super) mod grouping;
pub(super) mod nested;
pub(super) mod packing;
mod permuted_scan_store;
pub(super) mod product;
#[cfg(test)]
mod products_agree;
mod scan;
pub(super) mod segments;

use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::grouping::TermBlocks;
use crate::kernel::{AxisKind, Sink};
use crate::llvm::Variant;
use crate::llvm::call::{Call, Computed, Memory as Places, Part};
use crate::run::launch::{
    Columns, Cut, Job, JobOutput, Outs, WORK_PER_CALL, bind_leaves, finish, first_event, take, task_len,
};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome, Space, Stop};
use acc_core::ir::Dir;
pub(super) use batched_rows::BatchedRows;
use fold::Acc;
use grouping::{Grouping, by_term_blocks, has_several_term_blocks};
use smallvec::SmallVec;
use std::ops::Range;

/// Shorter rows become lanes: chunks of fewer elements would not fill a tile.
const MIN_CHUNKED_ROW: usize = 64;
/// The least number of rows that become lanes in folds; the other constant is for scans of rows that are strided in
/// memory.
const MIN_LANE_ROWS_OF_FOLD: usize = 64;
const MIN_LANE_ROWS_OF_SCAN: usize = 6;
/// Elements per row of a strip. Where rows are strided in memory, a block of rows is folded strip by strip, so that
/// pages and prefetched lines are still at hand when the adjacent rows are read.
const ROW_STRIP: usize = 8;
/// The most points of a block that is folded without strips: it stays in the second-level cache.
const MAX_UNSTRIPPED_POINTS: usize = 1 << 15;

/// Folds or scans the rows of a launch, which may be a matrix product.
pub(crate) fn rows(job: &Job<'_>, product: Option<&product::Plan>) -> Result<Vec<Columns>, Stop> {
    let Some((&row, outer)) = job.extents.split_last() else { return Ok(Vec::new()) };
    let rows: usize = outer.iter().product();
    let dir = match job.launch.kernel.axes.last() {
        Some(AxisKind::Scan(dir)) => Some(*dir),
        Some(AxisKind::Parallel | AxisKind::Reduction) | None => None,
    };
    let all = Rows { job, dir, row, rows, memories: memories(job, dir, row) };
    if row > 0
        && rows > 0
        && all.as_lanes()
        && let Some(columns) = all.permuted_scan_store()?
    {
        return Ok(columns);
    }
    let columns = |o: &JobOutput<'_>| {
        let n = if is_transient_scan(o) { 0 } else { rows * width(o, row) };
        job.cx.columns(&o.types, n).map_err(Stop::Error)
    };
    let mut out = job.outputs.iter().map(columns).collect::<Result<Vec<_>, Stop>>()?;
    if let Some(e) = job.epilogue.as_ref().filter(|_| dir.is_some()) {
        out.extend(e.columns(job.cx, rows * row)?);
    }
    if row == 0 {
        // Elements that exist in spite of an empty row are initial values.
        for (out, o) in out.iter_mut().zip(&job.outputs) {
            for (column, &bits) in out.iter_mut().zip(o.init.iter().flatten()) {
                lanes::fill(column.as_out(), bits);
            }
        }
    } else if rows > 0 {
        let mut grouping = all.grouping(product);
        if let Grouping::Blocks(blocks) = &grouping
            && !all.in_column_blocks(blocks, &mut out)?
        {
            // The first fault in row order is reported.
            grouping = if all.as_lanes() || product.is_some() { Grouping::InOrder } else { Grouping::AlongMemory };
        }
        match grouping {
            Grouping::Blocks(_) => {}
            Grouping::InOrder if all.in_tiles(&mut out)? => {}
            Grouping::InOrder => all.by_rows(&mut out)?,
            Grouping::AlongMemory => match all.along(&mut out) {
                // If an operator faults several times, the first fault in row order is reported.
                Err(Stop::Fault(..) | Stop::Demand(_)) if job.launch.combine_partial => all.by_rows(&mut out)?,
                done => done?,
            },
        }
    }
    let columns = out.into_iter().map(finish).collect();
    let mut shape: SmallVec<[usize; 4]> = outer.into();
    if dir.is_some() {
        shape.push(job.outputs.first().map_or(row, |o| width(o, row)));
    }
    crate::run::elementwise::epilogue::epilogue(job, &shape, columns)
}

/// Whether a launch folds whole rows as lanes, and so in register tiles if it has any.
pub(super) fn folds_in_tiles(job: &Job<'_>) -> bool {
    let Some((&row, outer)) = job.extents.split_last() else { return false };
    let all = Rows { job, dir: None, row, rows: outer.iter().product(), memories: Vec::new() };
    matches!(all.grouping(None), Grouping::InOrder)
}

/// Whether the results of a scan are read by the epilogue only.
fn is_transient_scan(o: &JobOutput<'_>) -> bool {
    matches!(o.output.sink, Sink::Scan { .. }) && !o.output.stored
}

/// The elements of an output per row.
fn width(o: &JobOutput<'_>, row: usize) -> usize {
    match o.output.sink {
        Sink::Store => row,
        Sink::Fold { .. } => 1,
        Sink::Scan { .. } => row + usize::from(o.init.is_some()),
        Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => 0,
    }
}

fn memories(job: &Job<'_>, dir: Option<Dir>, row: usize) -> Vec<Memory> {
    let output = |o: &JobOutput<'_>| match o.output.sink {
        Sink::Fold { .. } => Memory { width: 1, lead: 0, points: false },
        Sink::Scan { .. } if is_transient_scan(o) => Memory { width: 0, lead: 0, points: false },
        Sink::Store | Sink::Scan { .. } | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => {
            let width = width(o, row);
            let lead = if dir == Some(Dir::Left) { width.saturating_sub(row) } else { 0 };
            Memory { width, lead, points: true }
        }
    };
    let after = job.epilogue.iter().filter(|_| dir.is_some()).flat_map(|e| &e.outputs);
    let after = after.map(|_| Memory { width: row, lead: 0, points: true });
    job.outputs.iter().map(output).chain(after).collect()
}

pub(super) struct Rows<'a> {
    pub job: &'a Job<'a>,
    /// The direction of the scans, if there are any.
    pub dir: Option<Dir>,
    /// The extent of a row.
    pub row: usize,
    /// The number of rows.
    pub rows: usize,
    /// The computed arrays: of the outputs, then, for scans, of the epilogue.
    pub memories: Vec<Memory>,
}

/// The memory layout of an array.
pub(super) struct Memory {
    /// Elements per row.
    pub width: usize,
    /// Elements of a row before those of its points (the initial value of a scan).
    pub lead: usize,
    /// Whether there is one element per point.
    pub points: bool,
}

/// The state of a thread.
pub(super) struct Worker<'b> {
    pub machine: Machine<'b>,
    accs: Vec<Acc<'b>>,
    /// Scanned elements that are not stored, per output.
    pub scratch: Vec<Vec<Lanes>>,
    /// The epilogue of scans.
    pub after: Option<Machine<'b>>,
    /// If the epilogue only permutes scanned leaves, none of which is stored elsewhere: the leaf that each result is.
    pub permuted_leaves: Option<Vec<usize>>,
}

/// A range of rows, with the memory of each array.
pub(super) struct Block<'a> {
    pub first: usize,
    pub count: usize,
    pub outs: Vec<Outs<'a>>,
}

impl<'a> Rows<'a> {
    /// Whether rows become lanes.
    fn as_lanes(&self) -> bool {
        let (rows, row) = (self.rows, self.row);
        if rows > 1 && row < MIN_CHUNKED_ROW {
            return true;
        }
        // Chunks of such a scan would read strided memory, a few elements of each cache line.
        let many = if self.dir.is_some() { MIN_LANE_ROWS_OF_SCAN } else { MIN_LANE_ROWS_OF_FOLD };
        rows >= many && self.job.launch.column_major
    }

    pub(super) fn worker<'b>(&'b self, space: &'b Space, lanes: usize) -> Worker<'b> {
        let job = self.job;
        let scratch = |o: &JobOutput<'_>| {
            let n = if is_transient_scan(o) { lanes } else { 0 };
            o.types.iter().map(|&t| Lanes::new(t, n)).collect()
        };
        let after = || job.epilogue.as_ref().filter(|_| self.dir.is_some());
        let transient = job.outputs.iter().filter(|o| o.is_combined()).all(is_transient_scan);
        Worker {
            machine: job.machine(space),
            accs: job.outputs.iter().map(|o| Acc::new(o, lanes)).collect(),
            scratch: job.outputs.iter().map(scratch).collect(),
            after: after().map(|e| e.machine(space)),
            permuted_leaves: after().filter(|_| transient).and_then(|e| e.permuted_inputs(job.extents.len())),
        }
    }

    /// Splits results into blocks of `len` rows.
    pub(super) fn blocks<'b>(&self, out: &'b mut [Vec<AnyBuffer>], len: usize) -> Vec<Block<'b>> {
        let mut rest: Vec<Outs<'b>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let mut blocks = Vec::new();
        for first in (0..self.rows).step_by(len) {
            let count = len.min(self.rows - first);
            let outs = rest.iter_mut().zip(&self.memories).map(|(rest, m)| take(rest, count * m.width)).collect();
            blocks.push(Block { first, count, outs });
        }
        blocks
    }

    /// Folds or scans rows with elements as lanes.
    fn along(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        if self.per_row() == 1 && self.in_batches(out)? {
            return Ok(());
        }
        self.by_chunks(out)
    }

    fn by_rows(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let job = self.job;
        let axis = job.extents.len() - 1;
        let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
        // Full tiles where adjacent rows are contiguous in memory, else so few rows that the cache lines of all of them
        // stay until their next element is read.
        let lanes = if job.launch.column_major { job.lanes() } else { job.lanes().min(256) };
        let cut = Cut::new(&job.extents[..axis], lanes);
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let len = if parallel { task_len(self.rows, lanes, job.cx.threads.count() * 2) } else { self.rows };
        let call = job.call(Variant::RowLanes);
        job.cx.tasks(
            parallel,
            self.blocks(out, len),
            || None,
            |worker, mut block| {
                if let Some(call) = &call
                    && self.compiled_rows(call, &mut block, &[])?
                {
                    return Ok(());
                }
                let worker = worker.get_or_insert_with(|| self.worker(&space, lanes));
                let mut done = 0;
                while done < block.count {
                    let n = cut.len(block.first + done, block.count - done);
                    first_event(&mut *worker, n, |worker, n| self.tile_of_rows(worker, &mut block, done, n))?;
                    done += n;
                }
                Ok(())
            },
        )
    }

    /// Computes a block of rows by machine code, given rows of other results that are already `computed`; false if it
    /// bailed out.
    fn compiled_rows(&self, call: &Call<'_>, block: &mut Block<'_>, computed: &[Computed]) -> Result<bool, Stop> {
        let job = self.job;
        let before = job.initial_values();
        let len = self.strip(block.count);
        let rows = block.first..block.first + block.count;
        let fold = |along: &Range<usize>, outs: &mut [Option<OutSlice<'_>>], before: &[u64]| {
            let mut places = Places { outs, before, computed, ..Places::default() };
            self.in_strips(call, rows.clone(), along.clone(), len.min(along.len()), &mut places)
        };
        let mut outs: Outs<'_> = block.outs.iter_mut().flatten().map(|o| o.reborrow()).collect();
        if has_several_term_blocks(job, &(0..self.row)) {
            return by_term_blocks(job, &(0..self.row), &mut outs, &before, fold);
        }
        let mut outs: Vec<_> = outs.into_iter().map(Some).collect();
        fold(&(0..self.row), &mut outs, &before)
    }

    /// How many elements of so many rows are folded before the next ones are.
    fn strip(&self, rows: usize) -> usize {
        let across = self.job.launch.column_major && self.job.launch.kernel.has_strided_access(row_axis(self.job));
        let strips = self.dir.is_none() && across && rows.saturating_mul(self.row) > MAX_UNSTRIPPED_POINTS;
        if strips { ROW_STRIP } else { self.row }
    }

    /// Some elements of some rows, which are lanes.
    fn lanes_part(&self, rows: Range<usize>, along: Range<usize>) -> Part {
        let most = WORK_PER_CALL / self.job.launch.cost.max(1) / along.len().max(1);
        Part { most, along, ..Part::of(rows, self.side_by_side()) }
    }

    /// Computes rows by machine code, strip by strip; false if it bailed out.
    fn in_strips(
        &self,
        call: &Call<'_>,
        rows: Range<usize>,
        along: Range<usize>,
        strip: usize,
        places: &mut Places<'_, '_>,
    ) -> Result<bool, Stop> {
        for from in along.clone().step_by(strip.max(1)) {
            let part = self.lanes_part(rows.clone(), from..along.end.min(from + strip));
            if !self.job.is_done(call.run(part, places))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The extent of the axis around the rows: the number of rows that are adjacent in memory.
    fn side_by_side(&self) -> usize {
        self.job.extents.iter().rev().nth(1).copied().unwrap_or(1)
    }

    /// Folds or scans `n` rows of a block, from row `done` on, as lanes of one tile.
    fn tile_of_rows(&self, worker: &mut Worker<'_>, block: &mut Block<'_>, done: usize, n: usize) -> Outcome {
        let (job, row, right) = (self.job, self.row, self.dir == Some(Dir::Right));
        let Worker { machine: m, accs, after, scratch: _, permuted_leaves: _ } = worker;
        let start = block.first + done;
        for ((o, acc), outs) in job.outputs.iter().zip(&mut *accs).zip(&mut block.outs) {
            acc.begin(o, o.init.as_deref(), n);
            if let (Sink::Scan { .. }, Some(_)) = (&o.output.sink, &o.init) {
                let at = if right { row } else { 0 };
                for (a, out) in acc.lanes.iter().zip(outs) {
                    lanes::store_strided(a.slice(n), out.reborrow(), done * (row + 1) + at, row + 1);
                }
            }
        }
        let terms = TermBlocks::of(&[row]);
        let mut end = terms.end(0, row);
        for t in 0..row {
            let at = if right { row - 1 - t } else { t };
            m.fixed[row_axis(job)] = at as i64;
            m.tile(start, n)?;
            for ((o, acc), outs) in job.outputs.iter().zip(&mut *accs).zip(&mut block.outs) {
                let width = width(o, row);
                let mut store = |k: usize, values, at| {
                    lanes::store_strided(values, outs[k].reborrow(), done * width + at, width);
                };
                match o.output.sink {
                    Sink::Store => (0..o.types.len()).for_each(|k| store(k, o.leaf(m, k, n), at)),
                    Sink::Fold { .. } | Sink::Scan { .. } => {
                        if t == 0 && o.init.is_none() && !o.is_fused() {
                            acc.take(o, m, 0, n)
                        } else {
                            acc.step(o, m, n, right)?
                        }
                        if matches!(o.output.sink, Sink::Scan { .. }) && o.output.stored {
                            let place = if right { at } else { at + width - row };
                            acc.lanes.iter().enumerate().for_each(|(k, a)| store(k, a.slice(n), place));
                        }
                    }
                    Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => {}
                }
            }
            if t + 1 == end {
                accs.iter_mut().for_each(|acc| acc.end_block(n));
                end = terms.end(end, row);
            }
            if let (Some(after), Some(e)) = (after.as_mut(), &job.epilogue) {
                let combined = job.outputs.iter().zip(&*accs).filter(|(o, _)| o.is_combined());
                bind_leaves(
                    after,
                    job.extents.len(),
                    combined.flat_map(|(_, acc)| acc.lanes.iter().map(|a| a.slice(n))),
                );
                after.fixed[row_axis(job)] = at as i64;
                after.tile(start, n)?;
                for ((values, _), outs) in e.outputs.iter().zip(&mut block.outs[job.outputs.len()..]) {
                    for (r, out) in values.clone().zip(outs) {
                        let leaf = after.get(after.bytecode.results[r], n);
                        lanes::store_strided(leaf, out.reborrow(), done * row + at, row);
                    }
                }
            }
        }
        for ((o, acc), outs) in job.outputs.iter().zip(&*accs).zip(&mut block.outs) {
            if let Sink::Fold { .. } = o.output.sink {
                for (a, out) in acc.results().iter().zip(outs) {
                    lanes::copy(a.slice(n), out.reborrow().split_at(done).1);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn row_axis(job: &Job<'_>) -> usize {
    job.extents.len() - 1
}

#[cfg(test)]
mod tests {
    use crate::Native;
    use crate::run::pool::thread_pool::ThreadPool;
    use crate::run::testing::{evaluate, has_llvm, lowered};
    use acc_core::api::AccFn;
    use acc_core::prelude::*;

    /// For each kernel, whether its rows are columns in memory.
    fn columns<Args, Out: Arrays>(f: impl AccFn<Args, Out>) -> Vec<bool> {
        let program = Native::tiles().compile(f).unwrap();
        program.prepared().plan().launches().map(|l| l.column_major).collect()
    }

    /// The tile executor gets another operator here: if machine code never bails out, that one has no effect.
    #[test]
    fn machine_code_never_bails_out_without_a_fault() {
        if !has_llvm() {
            return;
        }
        let with = |f: &str| {
            let runs: String =
                [1, 2, 3, 7, 8, 9, 31, 33, 100, 1000, 1025, 5000].map(|n| RUN.replace('N', &n.to_string())).concat();
            lowered("operators", &(PROGRAM.replace("OP", &format!("f: |%x: u32, %y: u32| {f}")) + &runs))
        };
        const PROGRAM: &str = "program(a: [1]u32, t: [1]u32) {
          m: [1]u32 = map(a, f: |%x: u32| or(and(%x, 1023u32), 1u32))
          r: [0]u32 = fold1(m, OP)
          s: [1]u32 = scanl1(m, OP)
          u: [1]u32 = scanr1(m, OP)
          yield r, s, u
        }
        ";
        const RUN: &str = "run { a = [N] u32 lcg(1) t = [2] u32 lcg(2) expect agree }\n";
        for f in [
            "rem(add(%x, %y), 61u32)",
            "rem(add(%x, %y), t[0i64])",
            "or(%x, quot(%y, and(%x, 1u32)))",
            "or(%x, t[cast(and(%y, 1u32), i64)])",
            "{ %g: u32, %h: u32 = while (%x, %y) test |%g: u32, %h: u32| { yield ne(%h, 0u32) }
                 step |%g: u32, %h: u32| { yield %h, rem(%g, max(%h, 1u32)) } yield %g }",
        ] {
            let ((mut plan, runs), (mut other, _)) = (with(f), with("sub(%x, %y)"));
            let threads = ThreadPool::new(2).unwrap();
            let want: Vec<_> = runs.iter().map(|args| evaluate(&plan, args, &threads).unwrap()).collect();
            let pairs = plan.launches_mut().zip(other.launches_mut());
            pairs.for_each(|(launch, other)| std::mem::swap(&mut launch.code.combine, &mut other.code.combine));
            let got: Vec<_> = runs.iter().map(|args| evaluate(&plan, args, &threads).unwrap()).collect();
            assert_eq!(got, want, "{f}");
        }
    }

    #[test]
    fn what_is_read_once_for_a_row_makes_it_no_column() {
        let centred = |a: &Acc<Matrix<f32>>, m: &Acc<Vector<f32>>| {
            let (_, width) = a.shape();
            a.zip_with(m.replicate((All, width)), |x, m| x - m).maximum()
        };
        assert_eq!(columns(|a: Acc<Matrix<f32>>, m: Acc<Vector<f32>>| centred(&a, &m)), [false]);
        assert_eq!(columns(|a: Acc<Matrix<f32>>, m: Acc<Vector<f32>>| centred(&a.transpose(), &m)), [true]);
    }
}
