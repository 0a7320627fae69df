//! Long rows, folded or scanned with elements as lanes: cut into chunks of fixed length, each reduced or scanned on its
//! own, and combined in order.

use super::fold::{Acc, Total};
use super::launch::JobOutput;
use super::launch::{Outs, first_event, give, take};
use super::rows::{Memory, Rows, Worker, row_axis};
use super::scan::{self, Scan};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::Finish;
use crate::llvm::Form;
use crate::llvm::code::{self, Call, Memory as Places};
use crate::tile::lanes;
use crate::tile::machine::{Space, Stop};
use crate::tile::reduce::WIDTH;
use acc_core::ir::Dir;
use smallvec::SmallVec;

/// Elements of a chunk at most, but of rows with [`MOST_CHUNKS`]: the unit of parallel work on a long row.
const CHUNK: usize = 1 << 16;
/// Chunks of a row are about as long as each other, so that threads get equal parts, and multiples of this, so that they
/// begin at lines of the cache if the row does.
const UNIT: usize = 1 << 8;
/// Chunks of a row at most: a longer row has longer ones.
const MOST_CHUNKS: usize = 1 << 16;
/// Elements of a chunk, the last ones in the order of the scan, among which a mark is looked for first. Steps of a scan begin
/// where they would if the whole chunk was scanned.
const TAIL: usize = 1 << 10;
/// Cost of an element that a scan on several threads computes twice.
const CHEAP: usize = 40;

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

impl Rows<'_> {
    pub(super) fn by_chunks(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
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
        let chunks = self.row.div_ceil(CHUNK).clamp(1, MOST_CHUNKS);
        self.row.div_ceil(chunks).next_multiple_of(UNIT)
    }

    /// The chunks of a row.
    pub(super) fn per_row(&self) -> usize {
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

    /// The same of a chunk's last elements in the order of the scan, about `most` of them.
    fn tail(&self, chunk: usize, most: usize) -> (usize, usize) {
        let (from, len) = self.span(chunk);
        let skipped = len.saturating_sub(most) / TAIL * TAIL;
        let from = if self.dir == Some(Dir::Right) { from } else { from + skipped };
        (from, len - skipped)
    }

    /// Whether all that is combined starts afresh at marks.
    fn restarts(&self) -> bool {
        self.job.outputs.iter().filter(|o| o.is_combined()).all(|o| o.restart().is_some())
    }

    /// Whether a chunk's totals come after a mark of each scan.
    fn is_marked(&self, task: &Chunks<'_>, chunk: usize) -> bool {
        self.job.outputs.iter().zip(&task.totals).all(|(o, totals)| {
            let total = &totals[(chunk - task.first) * o.types.len()..];
            o.restart().is_none_or(|r| total[r.mark] != 0)
        })
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
        let mut rest: Vec<Outs<'b>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let mut totals: Vec<&'b mut [u64]> = totals.iter_mut().map(|t| &mut t[..]).collect();
        for (rest, m) in rest.iter_mut().zip(&self.memories) {
            take(rest, self.place(m, 0));
        }
        let mut tasks = Vec::new();
        for first in (0..self.count()).step_by(len) {
            let count = len.min(self.count() - first);
            let size = |m: &Memory| self.place(m, first + count) - self.place(m, first);
            let outs = rest.iter_mut().zip(&self.memories).map(|(rest, m)| take(rest, size(m))).collect();
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
                    let mut tail = if pass.results || !self.restarts() { usize::MAX } else { TAIL };
                    loop {
                        let span = self.tail(c, tail);
                        if !self.compiled_chunk(call.as_ref(), &mut task, c, span, before, pass)? {
                            let worker = worker.get_or_insert_with(|| self.worker(&space, self.lanes()));
                            self.chunk(worker, &mut task, c, span, before, pass)?;
                        }
                        // What comes before a mark does not matter.
                        if span == self.span(c) || self.is_marked(&task, c) {
                            return Ok(());
                        }
                        tail *= 8;
                    }
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
        let mut accs: Vec<Acc<'_>> = self.job.outputs.iter().map(|o| Acc::of_totals(o)).collect();
        let mut before = self.initial();
        let mut tasks = self.tasks(out, totals, self.count());
        let Some(all) = tasks.first_mut() else { return Ok(()) };
        for chunk in self.in_order() {
            let span = self.span(chunk);
            if !self.compiled_chunk(call.as_ref(), all, chunk, span, &before, both)? {
                let worker = worker.get_or_insert_with(|| self.worker(&space, self.lanes()));
                self.chunk(worker, all, chunk, span, &before, both)?;
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
                None => SmallVec::from_slice(total),
                Some(b) if right => acc.combine(o, total, b).map_err(|e| e.stop)?,
                Some(b) => acc.combine(o, b, total).map_err(|e| e.stop)?,
            };
            before[next * n..(next + 1) * n].copy_from_slice(&both);
        }
        Ok(())
    }

    /// What comes before each chunk, from the totals of all.
    fn before(&self, totals: &PerChunk) -> Result<PerChunk, Stop> {
        let mut accs: Vec<Acc<'_>> = self.job.outputs.iter().map(|o| Acc::of_totals(o)).collect();
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
                    scan::prepend_all(o, dir, acc, &mut part(outs, 0, len), len, before).map_err(|e| e.stop)?;
                }
            }
            Ok(())
        })
    }

    /// Computes elements of a chunk, given by the first one and their number, and combines them.
    fn chunk(
        &self,
        worker: &mut Worker<'_>,
        task: &mut Chunks<'_>,
        chunk: usize,
        (from, len): (usize, usize),
        before: &PerChunk,
        pass: Pass,
    ) -> Result<(), Stop> {
        let job = self.job;
        let axis = row_axis(job);
        let Worker { machine: m, accs, scratch, after } = worker;
        let outer = acc_core::data::unlinear_index(&job.extents[..axis], chunk / self.per_row());
        m.fixed[..axis].copy_from_slice(&outer);
        let dir = if self.dir == Some(Dir::Right) { Dir::Right } else { Dir::Left };
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
                task.outs.iter_mut().zip(&self.memories).map(|(outs, m)| part(outs, own(m), n)).collect();
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
                    Finish::Store | Finish::Fold { .. } | Finish::Scatter { .. } | Finish::Compact => {}
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
                    Finish::Store | Finish::Scatter { .. } | Finish::Compact => continue,
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
            let (mut acc, n) = (Acc::of_totals(o), o.types.len());
            if n == 0 {
                continue;
            }
            let mut all: Vec<u64> = Vec::with_capacity(self.rows * n);
            for row in totals.chunks(per_row * n) {
                let mut chunks = row.chunks(n);
                let mut total: Total = match &o.init {
                    Some(init) => SmallVec::from_slice(init),
                    None => SmallVec::from_slice(chunks.next().unwrap_or_default()),
                };
                for t in chunks {
                    total = acc.combine(o, &total, t).map_err(|e| e.stop)?;
                }
                all.extend_from_slice(&total);
            }
            for (k, column) in out.iter_mut().enumerate() {
                lanes::fill_each(column.as_out(), all.iter().skip(k).step_by(n));
            }
        }
        Ok(())
    }

    /// The same by machine code; whether that is done.
    fn compiled_chunk(
        &self,
        call: Option<&Call<'_>>,
        task: &mut Chunks<'_>,
        chunk: usize,
        (from, len): (usize, usize),
        before: &PerChunk,
        pass: Pass,
    ) -> Result<bool, Stop> {
        let Some(call) = call else { return Ok(false) };
        let (mut starts, mut totals): (SmallVec<[u64; 8]>, SmallVec<[u64; 8]>) = Default::default();
        let mut outs: SmallVec<[Option<OutSlice<'_>>; 4]> = SmallVec::new();
        let mut preceded: SmallVec<[bool; 8]> = SmallVec::new();
        let (own, after) = task.outs.split_at_mut(self.job.outputs.len());
        let outputs = self.job.outputs.iter().zip(before).zip(&self.memories);
        for (((o, before), place), memory) in outputs.zip(own) {
            let before = self.before_of(o, before, chunk);
            preceded.extend(o.types.iter().map(|_| before.is_some()));
            match before {
                Some(before) => starts.extend_from_slice(before),
                None => starts.extend(o.neutral().into_iter().flatten()),
            }
            starts.resize(totals.len() + o.types.len(), 0);
            totals.resize(starts.len(), 0);
            let at = self.place(place, chunk) - self.place(place, task.first);
            let stored = pass.results && place.points;
            let memory = memory.iter_mut().map(|m| stored.then(|| m.reborrow().split_at(at).1.split_at(len).0));
            outs.extend(memory);
        }
        for (memory, place) in after.iter_mut().zip(&self.memories[self.job.outputs.len()..]) {
            let at = self.place(place, chunk) - self.place(place, task.first);
            outs.extend(memory.iter_mut().map(|m| Some(m.reborrow().split_at(at).1.split_at(len).0)));
        }
        let first = chunk / self.per_row() * self.row + from;
        let part = code::Part::of(first..first + len, self.row);
        let mut memory =
            Places { outs: &mut outs, before: &starts, preceded: &preceded, totals: &mut totals, ..Places::default() };
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
}

/// Elements `at..at + n` of each column.
fn part<'b>(outs: &'b mut Outs<'_>, at: usize, n: usize) -> Outs<'b> {
    outs.iter_mut().map(|o| o.reborrow().split_at(at).1.split_at(n).0).collect()
}
