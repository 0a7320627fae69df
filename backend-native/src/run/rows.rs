//! Launches whose innermost axis is folded or scanned: folds, scans, and what is stored beside them.
//!
//! Two ways, chosen by extents and by how the body reads, never by the number of threads:
//!
//! * *Rows as lanes*: a lane takes its row from one end to the other, all lanes of a tile in step. For many rows, and for
//!   operators that can fault, whose faults then come in order.
//! * *Elements as lanes*: a row is cut into chunks of fixed length, each reduced or scanned on its own, tile by tile.
//!   Chunks are combined in order. Where chunks of a scan run on several threads, their totals are computed first, then
//!   the elements again: reading them twice costs less than storing and reading what was scanned.

use super::fold::Acc;
use super::launch::{CALL, Columns, Cut, Job, JobOutput, finish, first_event, give, task_len};
use super::scan::Scan;
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::{AxisKind, Finish, Ix, Op};
use crate::llvm::Form;
use crate::llvm::code::{self, Call, Memory as Places};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome, Space, Stop};
use crate::tile::reduce::{WIDTH, identity};
use acc_core::ir::Dir;
use smallvec::SmallVec;

/// Elements of a chunk: the unit of parallel work on a long row.
const CHUNK: usize = 1 << 16;
/// Chunks of a row at most: a longer row has longer ones.
const MOST_CHUNKS: usize = 1 << 16;
/// Rows shorter than this are taken as lanes.
const SHORT_ROW: usize = 64;
/// Rows from which on lanes are worth filling with them.
const MANY_ROWS: usize = 64;
/// Cost of an element that a scan on several threads computes twice.
const CHEAP: usize = 40;

/// The memory of an output's columns.
type Outs<'a> = SmallVec<[OutSlice<'a>; 2]>;

pub(crate) fn rows(job: &Job<'_>) -> Result<Vec<Columns>, Stop> {
    let Some((&row, outer)) = job.extents.split_last() else { return Ok(Vec::new()) };
    let rows: usize = outer.iter().product();
    let columns = |o: &JobOutput<'_>| {
        let n = if is_transient_scan(o) { 0 } else { rows * width(o, row) };
        job.cx.columns(&o.types, n).map_err(Stop::Error)
    };
    let mut out = job.outputs.iter().map(columns).collect::<Result<Vec<_>, Stop>>()?;
    let scans = matches!(job.launch.kernel.axes.last(), Some(AxisKind::Scan(_)));
    if let Some(e) = job.epilogue.as_ref().filter(|_| scans) {
        out.extend(e.columns(job.cx, rows * row)?);
    }
    if row == 0 {
        // What has elements all the same has initial values.
        for (out, o) in out.iter_mut().zip(&job.outputs) {
            for (column, &bits) in out.iter_mut().zip(o.init.iter().flatten()) {
                lanes::fill(column.as_out(), bits);
            }
        }
    } else if rows > 0 {
        let dir = match job.launch.kernel.axes.last() {
            Some(AxisKind::Scan(dir)) => Some(*dir),
            Some(AxisKind::Parallel | AxisKind::Reduction) | None => None,
        };
        let all = Rows { job, dir, row, rows };
        if all.as_lanes() { all.by_rows(&mut out)? } else { all.by_chunks(&mut out)? }
    }
    let columns = out.into_iter().map(finish).collect();
    if scans { Ok(columns) } else { super::after::epilogue(job, outer, columns) }
}

/// Whether the results of a scan are taken by the epilogue alone.
fn is_transient_scan(o: &JobOutput<'_>) -> bool {
    matches!(o.output.finish, Finish::Scan { .. }) && !o.output.stored
}

/// The elements of an output per row.
fn width(o: &JobOutput<'_>, row: usize) -> usize {
    match o.output.finish {
        Finish::Store => row,
        Finish::Fold { .. } => 1,
        Finish::Scan { .. } => row + usize::from(o.init.is_some()),
        Finish::Scatter { .. } => 0,
    }
}

struct Rows<'a> {
    job: &'a Job<'a>,
    /// Of the scans, if there are any.
    dir: Option<Dir>,
    row: usize,
    rows: usize,
}

/// How the memory of an array is laid out.
struct Memory {
    /// Elements per row.
    width: usize,
    /// Elements of a row before those of its points.
    lead: usize,
    /// Whether there is an element for each point.
    points: bool,
}

/// What a thread needs.
struct Worker<'b> {
    machine: Machine<'b>,
    accs: Vec<Acc<'b>>,
    /// Scanned elements that are not stored, by output.
    scratch: Vec<Vec<Lanes>>,
    /// The epilogue of scans.
    after: Option<Machine<'b>>,
}

/// Some rows, and the memory of each array for them.
struct Block<'a> {
    first: usize,
    count: usize,
    outs: Vec<Outs<'a>>,
}

/// Consecutive chunks: their numbers, the memory of each array from the first one's elements on, and the totals of what
/// is combined, leaves after leaves.
struct Chunks<'a> {
    first: usize,
    count: usize,
    outs: Vec<Outs<'a>>,
    totals: Vec<&'a mut [u64]>,
}

/// Values of each output for each chunk, leaves after leaves.
type PerChunk = Vec<Vec<u64>>;

/// What a pass over chunks does.
#[derive(Clone, Copy)]
struct Pass {
    /// Computes the totals of folds and scans.
    totals: bool,
    /// Stores results.
    results: bool,
}

impl<'a> Rows<'a> {
    /// Whether rows run as lanes.
    fn as_lanes(&self) -> bool {
        let (rows, row) = (self.rows, self.row);
        if self.job.launch.combine_partial || (rows > 1 && row < SHORT_ROW) {
            return true;
        }
        if rows < MANY_ROWS {
            return false;
        }
        self.dir.is_some() || self.across()
    }

    /// Whether lanes should run across rows: along the axis that lies one after the other in memory.
    fn across(&self) -> bool {
        let kernel = &self.job.launch.kernel;
        let inner = kernel.axes.len() as u32 - 1;
        let (mut along, mut across) = (0, 0);
        kernel.element.region.visit(0, &mut |n, _| {
            if let Op::Load(l) = &n.op
                && let Some(Ix::Affine { axis, scale: 1, .. }) = l.index.last()
            {
                along += usize::from(*axis == inner);
                across += usize::from(*axis + 1 == inner);
            }
        });
        across > 0 && across >= along
    }

    /// The arrays that are computed: of the outputs, then, for scans, of the epilogue.
    fn memories(&self) -> Vec<Memory> {
        let row = self.row;
        let output = |o: &JobOutput<'_>| match o.output.finish {
            Finish::Fold { .. } => Memory { width: 1, lead: 0, points: false },
            Finish::Scan { .. } if is_transient_scan(o) => Memory { width: 0, lead: 0, points: false },
            Finish::Store | Finish::Scan { .. } | Finish::Scatter { .. } => {
                let width = width(o, row);
                let lead = if self.dir == Some(Dir::Left) { width.saturating_sub(row) } else { 0 };
                Memory { width, lead, points: true }
            }
        };
        let after = self.job.epilogue.iter().filter(|_| self.dir.is_some()).flat_map(|e| &e.outputs);
        let after = after.map(|_| Memory { width: row, lead: 0, points: true });
        self.job.outputs.iter().map(output).chain(after).collect()
    }

    fn worker<'b>(&'b self, space: &'b Space, lanes: usize) -> Worker<'b> {
        let job = self.job;
        let scratch = |o: &JobOutput<'_>| {
            let n = if is_transient_scan(o) { lanes } else { 0 };
            o.types.iter().map(|&t| Lanes::new(t, n)).collect()
        };
        Worker {
            machine: job.machine(space),
            accs: job.outputs.iter().map(|o| Acc::new(o, lanes)).collect(),
            scratch: job.outputs.iter().map(scratch).collect(),
            after: job.epilogue.as_ref().filter(|_| self.dir.is_some()).map(|e| e.machine(space)),
        }
    }

    /// Cuts results into blocks of `len` rows.
    fn blocks<'b>(&self, out: &'b mut [Vec<AnyBuffer>], len: usize) -> Vec<Block<'b>> {
        let memories = self.memories();
        let mut rest: Vec<Outs<'b>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let mut blocks = Vec::new();
        for first in (0..self.rows).step_by(len) {
            let count = len.min(self.rows - first);
            let outs = rest.iter_mut().zip(&memories).map(|(rest, m)| take(rest, count * m.width)).collect();
            blocks.push(Block { first, count, outs });
        }
        blocks
    }

    fn by_rows(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let job = self.job;
        let axis = job.extents.len() - 1;
        let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
        // Full tiles where neighbouring rows lie side by side in memory, else few enough rows that the cache lines of
        // all of them stay until their next element is met.
        let lanes = if self.across() { job.lanes() } else { job.lanes().min(256) };
        let cut = Cut::new(&job.extents[..axis], lanes);
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let len = if parallel { task_len(self.rows, lanes, job.cx.threads.count() * 2) } else { self.rows };
        let call = job.call(Form::Rows);
        job.cx.tasks(
            parallel,
            self.blocks(out, len),
            || None,
            |worker, mut block| {
                if self.compiled_rows(call.as_ref(), &mut block)? {
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

    /// Takes a block's rows by machine code; whether that is done.
    fn compiled_rows(&self, call: Option<&Call<'_>>, block: &mut Block<'_>) -> Result<bool, Stop> {
        let Some(call) = call else { return Ok(false) };
        let job = self.job;
        let before: Vec<u64> =
            job.outputs.iter().flat_map(|o| (0..o.types.len()).map(|k| o.init.as_ref().map_or(0, |i| i[k]))).collect();
        let mut outs: Vec<_> = block.outs.iter_mut().flatten().map(|o| Some(o.reborrow())).collect();
        let part = code::Part {
            positions: block.first..block.first + block.count,
            row: job.extents.iter().rev().nth(1).copied().unwrap_or(1),
            most: CALL / job.launch.cost.max(1) / self.row,
            panel: usize::MAX,
        };
        job.ended(call.run(part, &mut Places { outs: &mut outs, before: &before, ..Places::default() }))
    }

    /// Computes and combines a chunk's elements by machine code; whether that is done.
    fn compiled_chunk(
        &self,
        call: Option<&Call<'_>>,
        task: &mut Chunks<'_>,
        chunk: usize,
        before: &PerChunk,
        pass: Pass,
    ) -> Result<bool, Stop> {
        let Some(call) = call else { return Ok(false) };
        let (from, len) = self.span(chunk);
        let (mut starts, mut outs, mut totals) = (Vec::new(), Vec::new(), Vec::new());
        let outputs = self.job.outputs.iter().zip(before).zip(self.memories());
        for (((o, before), place), memory) in outputs.zip(&mut task.outs) {
            match self.before_of(o, before, chunk) {
                Some(before) => starts.extend_from_slice(before),
                None => starts.extend(
                    o.known().iter().flat_map(|ops| ops.iter().zip(&o.types)).map(|(&op, &ty)| identity(op, ty)),
                ),
            }
            starts.resize(totals.len() + o.types.len(), 0);
            totals.resize(starts.len(), 0);
            let at = self.place(&place, chunk) - self.place(&place, task.first);
            let stored = pass.results && place.points;
            let memory = memory.iter_mut().map(|m| stored.then(|| m.reborrow().split_at(at).1.split_at(len).0));
            outs.extend(memory);
        }
        let first = chunk / self.per_row() * self.row + from;
        let part = code::Part { positions: first..first + len, row: self.row, most: usize::MAX, panel: usize::MAX };
        let mut memory = Places { outs: &mut outs, before: &starts, totals: &mut totals, ..Places::default() };
        if !self.job.ended(call.run(part, &mut memory))? {
            return Ok(false);
        }
        if pass.totals {
            let mut totals = &totals[..];
            for (o, place) in self.job.outputs.iter().zip(&mut task.totals) {
                let n = o.types.len();
                let (own, rest) = totals.split_at(n);
                place[(chunk - task.first) * n..][..n].copy_from_slice(own);
                totals = rest;
            }
        }
        Ok(true)
    }

    /// The machine code of a pass over chunks.
    fn chunk_call(&self, pass: Pass) -> Option<Call<'_>> {
        self.job.call(if pass.results { Form::Chunk } else { Form::Totals })
    }

    /// Takes `n` rows of a block, from row `done` on, from one end to the other.
    fn tile_of_rows(&self, worker: &mut Worker<'_>, block: &mut Block<'_>, done: usize, n: usize) -> Outcome {
        let (job, row, right) = (self.job, self.row, self.dir == Some(Dir::Right));
        let Worker { machine: m, accs, after, scratch: _ } = worker;
        let start = block.first + done;
        for ((o, acc), outs) in job.outputs.iter().zip(&mut *accs).zip(&mut block.outs) {
            for (k, (a, &bits)) in acc.lanes.iter_mut().zip(o.init.iter().flatten()).enumerate() {
                a.fill(n, bits);
                if let Finish::Scan { .. } = o.output.finish {
                    let at = if right { row } else { 0 };
                    lanes::store_strided(a.slice(n), outs[k].reborrow(), done * (row + 1) + at, row + 1);
                }
            }
        }
        for t in 0..row {
            let at = if right { row - 1 - t } else { t };
            m.fixed[row_axis(job)] = at as i64;
            m.tile(start, n)?;
            for ((o, acc), outs) in job.outputs.iter().zip(&mut *accs).zip(&mut block.outs) {
                let width = width(o, row);
                let mut store = |k: usize, values, at| {
                    lanes::store_strided(values, outs[k].reborrow(), done * width + at, width);
                };
                match o.output.finish {
                    Finish::Store => (0..o.types.len()).for_each(|k| store(k, o.leaf(m, k, n), at)),
                    Finish::Fold { .. } | Finish::Scan { .. } => {
                        if t == 0 && o.init.is_none() {
                            acc.take(o, m, n)
                        } else {
                            acc.step(o, m, n, right)?
                        }
                        if matches!(o.output.finish, Finish::Scan { .. }) && o.output.stored {
                            let place = if right { at } else { at + width - row };
                            acc.lanes.iter().enumerate().for_each(|(k, a)| store(k, a.slice(n), place));
                        }
                    }
                    Finish::Scatter { .. } => {}
                }
            }
            if let (Some(after), Some(e)) = (after.as_mut(), &job.epilogue) {
                let combined = job.outputs.iter().zip(&*accs).filter(|(o, _)| o.is_combined());
                give(after, job.extents.len(), combined.flat_map(|(_, acc)| acc.lanes.iter().map(|a| a.slice(n))));
                after.fixed[row_axis(job)] = at as i64;
                after.tile(start, n)?;
                for ((values, _), outs) in e.outputs.iter().zip(&mut block.outs[job.outputs.len()..]) {
                    for (r, out) in values.clone().zip(outs) {
                        let leaf = after.get(after.tape.results[r], n);
                        lanes::store_strided(leaf, out.reborrow(), done * row + at, row);
                    }
                }
            }
        }
        for ((o, acc), outs) in job.outputs.iter().zip(&*accs).zip(&mut block.outs) {
            if let Finish::Fold { .. } = o.output.finish {
                for (a, out) in acc.lanes.iter().zip(outs) {
                    lanes::copy(a.slice(n), out.reborrow().split_at(done).1);
                }
            }
        }
        Ok(())
    }

    fn by_chunks(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let job = self.job;
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let both = Pass { totals: true, results: true };
        let mut totals: PerChunk = job.outputs.iter().map(|o| vec![0; self.count() * o.types.len()]).collect();
        self.initial_values(out);
        if self.dir.is_none() || self.per_row() == 1 {
            self.pass(parallel, out, &mut totals, &self.initial(), both)?;
        } else if !parallel {
            self.in_turn(out, &mut totals)?;
        } else if job.launch.cost <= CHEAP || job.epilogue.is_some() {
            self.pass(true, out, &mut totals, &self.nothing(), Pass { totals: true, results: false })?;
            let before = self.before(&totals)?;
            self.pass(true, out, &mut totals, &before, Pass { totals: false, results: true })?;
        } else {
            self.pass(true, out, &mut totals, &self.nothing(), both)?;
            let before = self.before(&totals)?;
            self.prepend(out, &mut totals, &before)?;
        }
        self.folded(&totals, out)
    }

    /// The elements of a chunk but the last one of a row: a number that depends on the row's length alone.
    fn chunk_len(&self) -> usize {
        // Whole groups of a scan.
        self.row.div_ceil(MOST_CHUNKS).next_multiple_of(CHUNK)
    }

    /// The chunks of a row.
    fn per_row(&self) -> usize {
        self.row.div_ceil(self.chunk_len())
    }

    /// The chunks of all rows.
    fn count(&self) -> usize {
        self.rows * self.per_row()
    }

    /// The first element and the length of a chunk in its row.
    fn span(&self, chunk: usize) -> (usize, usize) {
        let from = chunk % self.per_row() * self.chunk_len();
        (from, self.chunk_len().min(self.row - from))
    }

    /// Where a chunk's first element stands in the memory of an array.
    fn place(&self, m: &Memory, chunk: usize) -> usize {
        if m.points { chunk / self.per_row() * m.width + m.lead + self.span(chunk).0 } else { 0 }
    }

    /// Writes the initial values of scans.
    fn initial_values(&self, out: &mut [Vec<AnyBuffer>]) {
        for (out, o) in out.iter_mut().zip(&self.job.outputs) {
            let Finish::Scan { .. } = o.output.finish else { continue };
            for (column, &bits) in out.iter_mut().zip(o.init.iter().flatten()) {
                for row in 0..self.rows {
                    let at = row * (self.row + 1) + if self.dir == Some(Dir::Right) { self.row } else { 0 };
                    lanes::fill_first(column.as_out().split_at(at).1, bits);
                }
            }
        }
    }

    /// Cuts all chunks into tasks of `len` chunks.
    fn tasks<'b>(&self, out: &'b mut [Vec<AnyBuffer>], totals: &'b mut PerChunk, len: usize) -> Vec<Chunks<'b>> {
        let memories = self.memories();
        let mut rest: Vec<Outs<'b>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let mut totals: Vec<&'b mut [u64]> = totals.iter_mut().map(|t| &mut t[..]).collect();
        for (rest, m) in rest.iter_mut().zip(&memories) {
            take(rest, self.place(m, 0));
        }
        let mut tasks = Vec::new();
        for first in (0..self.count()).step_by(len) {
            let count = len.min(self.count() - first);
            let size = |m: &Memory| self.place(m, first + count) - self.place(m, first);
            let outs = rest.iter_mut().zip(&memories).map(|(rest, m)| take(rest, size(m))).collect();
            let own = totals.iter_mut().zip(&self.job.outputs).map(|(rest, o)| {
                let (own, after) = std::mem::take(rest).split_at_mut(count * o.types.len());
                *rest = after;
                own
            });
            let totals = own.collect();
            tasks.push(Chunks { first, count, outs, totals });
        }
        tasks
    }

    /// What comes before a chunk of an output, if anything does.
    fn before_of<'b>(&self, o: &JobOutput<'_>, before: &'b [u64], chunk: usize) -> Option<&'b [u64]> {
        let n = o.types.len();
        before.get(chunk * n..(chunk + 1) * n).filter(|_| o.init.is_some() || !self.is_first(chunk))
    }

    /// Whether the scan of a row begins with this chunk.
    fn is_first(&self, chunk: usize) -> bool {
        chunk % self.per_row() == if self.dir == Some(Dir::Right) { self.per_row() - 1 } else { 0 }
    }

    /// Before every chunk the initial value of the row.
    fn initial(&self) -> PerChunk {
        self.job
            .outputs
            .iter()
            .map(|o| o.init.iter().flatten().copied().cycle().take(self.scanned(o)).collect())
            .collect()
    }

    /// The values that scans have of an output over all chunks.
    fn scanned(&self, o: &JobOutput<'_>) -> usize {
        if let Finish::Scan { .. } = o.output.finish { self.count() * o.types.len() } else { 0 }
    }

    /// What comes before a chunk is not known.
    fn nothing(&self) -> PerChunk {
        vec![Vec::new(); self.job.outputs.len()]
    }

    /// Lanes of a thread's buffers.
    fn lanes(&self) -> usize {
        self.job.lanes().max(WIDTH)
    }

    fn space(&self) -> Space {
        let axis = row_axis(self.job);
        Space { extents: self.job.extents.clone(), lo: axis, hi: axis + 1 }
    }

    /// A pass over all chunks; `before` is what comes before each, as far as that is known.
    fn pass(
        &self,
        parallel: bool,
        out: &mut [Vec<AnyBuffer>],
        totals: &mut PerChunk,
        before: &PerChunk,
        pass: Pass,
    ) -> Result<(), Stop> {
        let space = self.space();
        let count = self.count();
        let len = if parallel { (count / (self.job.cx.threads.count() * 4)).max(1) } else { count };
        let tasks = self.tasks(out, totals, len);
        let call = self.chunk_call(pass);
        self.job.cx.tasks(
            parallel,
            tasks,
            || None,
            |worker, mut task| {
                (task.first..task.first + task.count).try_for_each(|c| {
                    if self.compiled_chunk(call.as_ref(), &mut task, c, before, pass)? {
                        return Ok(());
                    }
                    let worker = worker.get_or_insert_with(|| self.worker(&space, self.lanes()));
                    self.chunk(worker, &mut task, c, before, pass)
                })
            },
        )
    }

    /// One pass on one thread: what comes before a chunk is known when it is met.
    fn in_turn(&self, out: &mut [Vec<AnyBuffer>], totals: &mut PerChunk) -> Result<(), Stop> {
        let space = self.space();
        let both = Pass { totals: true, results: true };
        let call = self.chunk_call(both);
        let mut worker: Option<Worker<'_>> = None;
        let mut accs: Vec<Acc<'_>> = self.job.outputs.iter().map(|o| Acc::new(o, 1)).collect();
        let mut before = self.initial();
        let mut tasks = self.tasks(out, totals, self.count());
        let Some(all) = tasks.first_mut() else { return Ok(()) };
        for chunk in self.in_order() {
            if !self.compiled_chunk(call.as_ref(), all, chunk, &before, both)? {
                let worker = worker.get_or_insert_with(|| self.worker(&space, self.lanes()));
                self.chunk(worker, all, chunk, &before, both)?;
            }
            let totals: Vec<&[u64]> = all.totals.iter().map(|t| &**t).collect();
            self.advance(&mut accs, &mut before, &totals, chunk)?;
        }
        Ok(())
    }

    /// All chunks, those of a row in the order of the scan.
    fn in_order(&self) -> impl Iterator<Item = usize> + use<> {
        let (per_row, right) = (self.per_row(), self.dir == Some(Dir::Right));
        (0..self.count()).map(move |c| if right { c - c % per_row + per_row - 1 - c % per_row } else { c })
    }

    /// From what comes before a chunk to what comes before the one that follows it in its row.
    fn advance(
        &self,
        accs: &mut [Acc<'_>],
        before: &mut PerChunk,
        totals: &[&[u64]],
        chunk: usize,
    ) -> Result<(), Stop> {
        let right = self.dir == Some(Dir::Right);
        let next = if right { chunk.wrapping_sub(1) } else { chunk + 1 };
        if next >= self.count() || self.is_first(next) {
            return Ok(());
        }
        for (((o, acc), before), totals) in self.job.outputs.iter().zip(accs).zip(before).zip(totals) {
            let Finish::Scan { .. } = o.output.finish else { continue };
            let n = o.types.len();
            let total = &totals[chunk * n..(chunk + 1) * n];
            before.resize(self.scanned(o), 0);
            let both = match self.before_of(o, before, chunk) {
                None => total.to_vec(),
                Some(b) if right => acc.combine(o, total, b).map_err(|e| e.stop)?,
                Some(b) => acc.combine(o, b, total).map_err(|e| e.stop)?,
            };
            before[next * n..(next + 1) * n].copy_from_slice(&both);
        }
        Ok(())
    }

    /// What comes before each chunk, from the totals of all.
    fn before(&self, totals: &PerChunk) -> Result<PerChunk, Stop> {
        let mut accs: Vec<Acc<'_>> = self.job.outputs.iter().map(|o| Acc::new(o, 1)).collect();
        let mut before = self.initial();
        let totals: Vec<&[u64]> = totals.iter().map(|t| &t[..]).collect();
        for chunk in self.in_order() {
            self.advance(&mut accs, &mut before, &totals, chunk)?;
        }
        Ok(before)
    }

    /// Combines scanned chunks with what comes before them.
    fn prepend(&self, out: &mut [Vec<AnyBuffer>], totals: &mut PerChunk, before: &PerChunk) -> Result<(), Stop> {
        let dir = if self.dir == Some(Dir::Right) { Dir::Right } else { Dir::Left };
        let worker = || {
            let lanes = self.job.lanes();
            self.job.outputs.iter().map(|o| Acc::new(o, lanes)).collect::<Vec<Acc<'_>>>()
        };
        self.job.cx.tasks(true, self.tasks(out, totals, 1), worker, |accs, mut task| {
            self.job.cx.limits.check().map_err(Stop::Error)?;
            for (((o, acc), outs), before) in self.job.outputs.iter().zip(accs).zip(&mut task.outs).zip(before) {
                if let (Finish::Scan { .. }, Some(before)) = (&o.output.finish, self.before_of(o, before, task.first)) {
                    let len = self.span(task.first).1;
                    super::scan::prepend_all(o, dir, acc, &mut part(outs, 0, len), len, before).map_err(|e| e.stop)?;
                }
            }
            Ok(())
        })
    }

    /// Computes a chunk's elements and combines them.
    fn chunk(
        &self,
        worker: &mut Worker<'_>,
        task: &mut Chunks<'_>,
        chunk: usize,
        before: &PerChunk,
        pass: Pass,
    ) -> Result<(), Stop> {
        let job = self.job;
        let axis = row_axis(job);
        let Worker { machine: m, accs, scratch, after } = worker;
        let outer = acc_core::data::unlinear_index(&job.extents[..axis], chunk / self.per_row());
        m.fixed[..axis].copy_from_slice(&outer);
        let dir = if self.dir == Some(Dir::Right) { Dir::Right } else { Dir::Left };
        let (from, len) = self.span(chunk);
        let memories = self.memories();
        let mut scans: SmallVec<[Scan<'_>; 2]> = SmallVec::new();
        for ((o, acc), before) in job.outputs.iter().zip(&mut *accs).zip(before) {
            scans.push(Scan { before: self.before_of(o, before, chunk), carry: None });
            acc.begin_chunk(o);
        }
        let mut done = 0;
        while done < len {
            let n = job.lanes().min(len - done);
            let at = if dir == Dir::Right { len - done - n } else { done };
            first_event(&mut *m, n, |m, n| m.tile(from + at, n))?;
            let own = |m: &Memory| self.place(m, chunk) - self.place(m, task.first) + at;
            let mut outs: SmallVec<[Outs<'_>; 2]> =
                task.outs.iter_mut().zip(&memories).map(|(outs, m)| part(outs, own(m), n)).collect();
            for (out, scratch) in outs.iter_mut().zip(&mut *scratch).filter(|(_, s)| !s.is_empty()) {
                if scratch.iter().any(|s| !s.slice(1).is_empty()) {
                    *out = scratch.iter_mut().map(|s| s.out().split_at(n).0).collect();
                }
            }
            for (k, (o, acc)) in job.outputs.iter().zip(&mut *accs).enumerate() {
                match &o.output.finish {
                    Finish::Store if pass.results => {
                        outs[k].iter_mut().enumerate().for_each(|(k, to)| lanes::copy(o.leaf(m, k, n), to.reborrow()));
                    }
                    Finish::Fold { .. } if pass.totals => {
                        acc.reduce(o, m, n, &mut scans[k].carry).map_err(|e| e.stop)?
                    }
                    Finish::Scan { .. } => {
                        let to = pass.results.then_some(&mut outs[k][..]);
                        scans[k].tile(o, dir, acc, m, n, to).map_err(|e| e.stop)?;
                    }
                    Finish::Store | Finish::Fold { .. } | Finish::Scatter { .. } => {}
                }
            }
            if let (Some(after), Some(e), true) = (after.as_mut(), &job.epilogue, pass.results) {
                let (scanned, results) = outs.split_at_mut(job.outputs.len());
                let combined = job.outputs.iter().zip(&*scanned).filter(|(o, _)| o.is_combined());
                give(after, job.extents.len(), combined.flat_map(|(_, outs)| outs.iter().map(OutSlice::as_slice)));
                after.fixed[..axis].copy_from_slice(&outer);
                first_event(&mut *after, n, |m, n| m.tile(from + at, n))?;
                for ((values, _), outs) in e.outputs.iter().zip(results) {
                    for (r, out) in values.clone().zip(outs) {
                        lanes::copy(after.get(after.tape.results[r], n), out.reborrow());
                    }
                }
            }
            done += n;
        }
        if pass.totals {
            for (k, (o, acc)) in job.outputs.iter().zip(accs).enumerate() {
                let total = match &o.output.finish {
                    Finish::Fold { .. } => acc.end_chunk(o, scans[k].carry.take()),
                    Finish::Scan { .. } => scans[k].carry.take().unwrap_or_default(),
                    Finish::Store | Finish::Scatter { .. } => continue,
                };
                let at = (chunk - task.first) * o.types.len();
                task.totals[k][at..at + o.types.len()].copy_from_slice(&total);
            }
        }
        Ok(())
    }

    /// Folds the totals of each row's chunks from left to right, an initial value first.
    fn folded(&self, totals: &PerChunk, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let per_row = self.per_row();
        for ((o, out), totals) in self.job.outputs.iter().zip(out).zip(totals) {
            let Finish::Fold { .. } = o.output.finish else { continue };
            let (mut acc, n) = (Acc::new(o, 1), o.types.len());
            for row in 0..self.rows {
                let mut chunks = (row * per_row..(row + 1) * per_row).map(|c| &totals[c * n..(c + 1) * n]);
                let mut total = match &o.init {
                    Some(init) => init.clone(),
                    None => chunks.next().unwrap_or_default().to_vec(),
                };
                for t in chunks {
                    total = acc.combine(o, &total, t).map_err(|e| e.stop)?;
                }
                for (column, bits) in out.iter_mut().zip(total) {
                    lanes::fill_first(column.as_out().split_at(row).1, bits);
                }
            }
        }
        Ok(())
    }
}

fn row_axis(job: &Job<'_>) -> usize {
    job.extents.len() - 1
}

/// Takes the first `n` elements off each column.
fn take<'a>(rest: &mut Outs<'a>, n: usize) -> Outs<'a> {
    let mut taken = Outs::new();
    *rest = std::mem::take(rest)
        .into_iter()
        .map(|s| {
            let (a, b) = s.split_at(n);
            taken.push(a);
            b
        })
        .collect();
    taken
}

/// Elements `at..at + n` of each column.
fn part<'b>(outs: &'b mut Outs<'_>, at: usize, n: usize) -> Outs<'b> {
    outs.iter_mut().map(|o| o.reborrow().split_at(at).1.split_at(n).0).collect()
}
