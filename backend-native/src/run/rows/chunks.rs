//! Folds and scans of long rows with elements as lanes: rows are split into chunks of fixed length, each reduced or
//! scanned separately, and combined in order.

use super::fold::{Acc, Total};
use super::scan::Scan;
use super::{Memory, Rows, Worker, row_axis};
use crate::bind::FlagWindow;
use crate::buffer::{AnyBuffer, CACHE_LINE_BYTES, OutSlice};
use crate::kernel::Sink;
use crate::kernel::grouping::{PAIRWISE_BLOCK, PARTIAL_RESULTS, SCAN_BLOCK};
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory as Places, Part};
use crate::run::launch::lists::{collected, filled};
use crate::run::launch::{JobOutput, Outs, bind_leaves, first_event, take};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Space, Stop};
use crate::tile::memory;
use acc_core::ir::Dir;
use smallvec::SmallVec;
use std::ops::Range;

/// The longest chunk of a fold, except in rows of [`MAX_CHUNKS`] chunks: the unit of parallel work on a long row.
const MAX_FOLD_CHUNK: usize = 1 << 16;
/// The longest chunk of a scan. Its elements are visited twice, the second time in the second-level cache.
const MAX_SCAN_CHUNK: usize = 1 << 15;
/// The chunks of a row have about equal lengths, for balance, which are multiples of this, so that they begin at cache
/// lines if the row does.
const CHUNK_MULTIPLE: usize = 1 << 8;
/// Elements of which tiles scan the runs side by side: whole blocks, whose runs any tile has lanes for.
const SCANNED_AT_ONCE: usize = 4 * SCAN_BLOCK;
/// The most chunks of a row: longer rows have longer chunks.
const MAX_CHUNKS: usize = 1 << 16;

/// Consecutive chunks: their numbers, the memory of each array from the first chunk's elements on, and the totals, leaf
/// by leaf.
pub(super) struct Chunks<'a> {
    pub first: usize,
    pub count: usize,
    pub outs: Vec<Outs<'a>>,
    pub totals: Vec<&'a mut [u64]>,
}

/// Values per chunk, for each output, leaf by leaf.
pub(super) type PerChunk = Vec<Vec<u64>>;

/// The exclusive prefix of a chunk, for each output; none at the start of a row without an initial value.
pub(super) type Before = SmallVec<[Option<Total>; 2]>;

/// A pass over part of a chunk, and what it reads.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub chunk: usize,
    /// The first element and the number of elements.
    pub span: (usize, usize),
    pub before: &'a Before,
    pub pass: Pass,
    /// Whether scan results are stored non-temporally.
    pub stream: bool,
    /// The sparse flags of the chunk.
    pub window: Option<&'a FlagWindow>,
}

/// What a pass over chunks computes.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    /// The totals of folds and scans.
    pub totals: bool,
    /// The stored results.
    pub results: bool,
}

impl Pass {
    pub(super) const BOTH: Pass = Pass { totals: true, results: true };
    pub(super) const TOTALS: Pass = Pass { totals: true, results: false };
    pub(super) const RESULTS: Pass = Pass { totals: false, results: true };
}

impl Rows<'_> {
    pub(super) fn by_chunks(&self, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let job = self.job;
        let parallel = job.cx.parallel(self.rows.saturating_mul(self.row), job.launch.cost);
        let totals = job.outputs.iter().map(|o| filled(0, self.count() * o.types.len()));
        let mut totals = totals.collect::<Result<PerChunk, Stop>>()?;
        self.initial_values(out);
        if self.dir.is_none() || self.per_row() == 1 {
            self.single_chunks(parallel, out, &mut totals)?;
        } else {
            self.decoupled_lookback(parallel, out, &mut totals)?;
        }
        self.folded(&totals, out)
    }

    /// The length of a row's chunks except the last: depends on the row length only.
    fn chunk_len(&self) -> usize {
        let most = if self.dir.is_some() { MAX_SCAN_CHUNK } else { MAX_FOLD_CHUNK };
        let chunks = self.row.div_ceil(most).clamp(1, MAX_CHUNKS);
        self.row.div_ceil(chunks).next_multiple_of(CHUNK_MULTIPLE)
    }

    /// Chunks per row.
    pub(super) fn per_row(&self) -> usize {
        self.row.div_ceil(self.chunk_len())
    }

    /// Elements between a chunk and the one that its thread will probably take next.
    fn ahead(&self) -> i64 {
        let next = (self.job.cx.threads.count() * self.chunk_len()) as i64;
        if self.dir == Some(Dir::Right) { -next } else { next }
    }

    /// Chunks of all rows.
    pub(super) fn count(&self) -> usize {
        self.rows * self.per_row()
    }

    /// The first element and the length of a chunk in its row.
    pub(super) fn span(&self, chunk: usize) -> (usize, usize) {
        let from = chunk % self.per_row() * self.chunk_len();
        (from, self.chunk_len().min(self.row - from))
    }

    /// Where a chunk begins in the memory of an array.
    pub(super) fn place(&self, m: &Memory, chunk: usize) -> usize {
        if m.points { chunk / self.per_row() * m.width + m.lead + self.span(chunk).0 } else { 0 }
    }

    /// Writes the initial values of scans.
    fn initial_values(&self, out: &mut [Vec<AnyBuffer>]) {
        for (out, o) in out.iter_mut().zip(&self.job.outputs) {
            let Sink::Scan { .. } = o.output.sink else { continue };
            for (column, &bits) in out.iter_mut().zip(o.init.iter().flatten()) {
                for row in 0..self.rows {
                    let at = row * (self.row + 1) + if self.dir == Some(Dir::Right) { self.row } else { 0 };
                    lanes::fill_first(column.as_out().split_at(at).1, bits);
                }
            }
        }
    }

    /// Splits all chunks into tasks of `len` chunks.
    pub(super) fn tasks<'b>(
        &self,
        out: &'b mut [Vec<AnyBuffer>],
        totals: &'b mut PerChunk,
        len: usize,
    ) -> Result<Vec<Chunks<'b>>, Stop> {
        let mut rest: Vec<Outs<'b>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let mut totals: Vec<&'b mut [u64]> = totals.iter_mut().map(|t| &mut t[..]).collect();
        for (rest, m) in rest.iter_mut().zip(&self.memories) {
            take(rest, self.place(m, 0));
        }
        collected((0..self.count()).step_by(len).map(|first| {
            let count = len.min(self.count() - first);
            let size = |m: &Memory| self.place(m, first + count) - self.place(m, first);
            let outs = rest.iter_mut().zip(&self.memories).map(|(rest, m)| take(rest, size(m))).collect();
            let own = totals.iter_mut().zip(&self.job.outputs).map(|(rest, o)| {
                let (own, after) = std::mem::take(rest).split_at_mut(count * o.types.len());
                *rest = after;
                own
            });
            let totals = own.collect();
            Chunks { first, count, outs, totals }
        }))
    }

    /// Whether a chunk is the first of its row in scan order.
    pub(super) fn is_first(&self, chunk: usize) -> bool {
        chunk % self.per_row() == if self.dir == Some(Dir::Right) { self.per_row() - 1 } else { 0 }
    }

    /// The prefix of a row's first chunk: the initial values of scans.
    pub(super) fn initial(&self) -> Before {
        let of = |o: &JobOutput<'_>| match (&o.output.sink, &o.init) {
            (Sink::Scan { .. }, Some(init)) => Some(Total::from_slice(init)),
            _ => None,
        };
        self.job.outputs.iter().map(of).collect()
    }

    /// Lanes of a thread's buffers.
    pub(super) fn lanes(&self) -> usize {
        self.job.lanes().max(PAIRWISE_BLOCK).max(self.at_once())
    }

    /// Whether a scan divides its elements into runs.
    pub(super) fn scans_runs(&self) -> bool {
        self.job.outputs.iter().any(|o| o.output.sink.scans_runs())
    }

    /// The elements of a chunk after which their scans follow.
    fn at_once(&self) -> usize {
        if self.scans_runs() { SCANNED_AT_ONCE } else { self.job.lanes() }
    }

    pub(super) fn space(&self) -> Space {
        let axis = row_axis(self.job);
        Space { extents: self.job.extents.clone(), lo: axis, hi: axis + 1 }
    }

    /// Folds and scans rows of a single chunk.
    fn single_chunks(&self, parallel: bool, out: &mut [Vec<AnyBuffer>], totals: &mut PerChunk) -> Result<(), Stop> {
        let space = self.space();
        let count = self.count();
        let len = if parallel { (count / (self.job.cx.threads.count() * 4)).max(1) } else { count };
        let tasks = self.tasks(out, totals, len)?;
        let (before, call) = (self.initial(), self.job.call(Variant::Chunk { stream: false }));
        self.job.cx.tasks(
            parallel,
            tasks,
            || None,
            |worker, mut task| {
                (task.first..task.first + task.count).try_for_each(|chunk| {
                    let piece = Piece {
                        chunk,
                        span: self.span(chunk),
                        before: &before,
                        pass: Pass::BOTH,
                        stream: false,
                        window: None,
                    };
                    self.part(worker, &space, call.as_ref(), &mut task, piece, &mut []).map(|_| ())
                })
            },
        )
    }

    /// Computes part of a chunk, by machine code or the tile executor; tells whether by machine code, which leaves or finds the
    /// totals of runs in the memory that there is for them.
    pub(super) fn part<'b>(
        &'b self,
        worker: &mut Option<Worker<'b>>,
        space: &'b Space,
        call: Option<&Call<'_>>,
        task: &mut Chunks<'_>,
        piece: Piece<'_>,
        run_totals: &mut [Lanes],
    ) -> Result<bool, Stop> {
        let compiled = self.compiled_chunk(call, task, piece, run_totals)?;
        if !compiled {
            let worker = worker.get_or_insert_with(|| self.worker(space, self.lanes()));
            self.chunk(worker, task, piece)?;
        }
        Ok(compiled)
    }

    /// Memory for the totals of a chunk's runs, leaf by leaf, if its elements are divided into any.
    pub(super) fn run_totals(&self) -> Vec<Lanes> {
        let runs = self.chunk_len().div_ceil(SCAN_BLOCK) * PARTIAL_RESULTS;
        let memory = |o: &JobOutput<'_>| {
            let runs = if o.output.sink.scans_runs() { runs } else { 0 };
            o.types.iter().map(|&ty| Lanes::new(ty, runs)).collect::<Vec<_>>()
        };
        if self.scans_runs() { self.job.outputs.iter().flat_map(memory).collect() } else { Vec::new() }
    }

    /// Computes part of a chunk by the tile executor, and combines its elements.
    fn chunk(&self, worker: &mut Worker<'_>, task: &mut Chunks<'_>, piece: Piece<'_>) -> Result<(), Stop> {
        let Piece { chunk, span: (from, len), before, pass, stream, window } = piece;
        let job = self.job;
        let axis = row_axis(job);
        let Worker { machine: m, accs, scratch, after, permuted_leaves } = worker;
        let outer = acc_core::data::unlinear_index(&job.extents[..axis], chunk / self.per_row());
        m.fixed[..axis].copy_from_slice(&outer);
        match window {
            Some(window) if window.range != m.window.range => m.window.clone_from(window),
            _ => {}
        }
        let dir = if self.dir == Some(Dir::Right) { Dir::Right } else { Dir::Left };
        let mut scans: SmallVec<[Scan<'_>; 2]> = SmallVec::new();
        for ((o, acc), before) in job.outputs.iter().zip(&mut *accs).zip(before) {
            scans.push(Scan { before: before.as_deref(), carry: None, stream });
            acc.begin_chunk(o);
        }
        let mut done = 0;
        while done < len {
            let n = self.at_once().min(len - done);
            let at = if dir == Dir::Right { len - done - n } else { done };
            let own = |m: &Memory| self.place(m, chunk) - self.place(m, task.first) + at;
            let mut outs: SmallVec<[Outs<'_>; 2]> =
                task.outs.iter_mut().zip(&self.memories).map(|(outs, m)| cut(outs, own(m), n)).collect();
            for (out, scratch) in outs.iter_mut().zip(&mut *scratch).filter(|(_, s)| !s.is_empty()) {
                if scratch.iter().any(|s| !s.slice(1).is_empty()) {
                    *out = scratch.iter_mut().map(|s| s.out().split_at(n).0).collect();
                }
            }
            let permuted_leaves = permuted_leaves.as_ref().filter(|_| pass.results);
            if let Some(permuted_leaves) = permuted_leaves {
                // Directly into the results.
                let (scanned, results) = outs.split_at_mut(job.outputs.len());
                for (&leaf, result) in permuted_leaves.iter().zip(results.iter_mut().flatten()) {
                    let combined = job.outputs.iter().zip(&mut *scanned).filter(|(o, _)| o.is_combined());
                    if let Some(scanned) = combined.flat_map(|(_, outs)| outs).nth(leaf) {
                        std::mem::swap(scanned, result);
                    }
                }
            }
            for tile in tiles(dir, n, job.lanes()) {
                let (start, n) = (tile.start, tile.len());
                first_event(&mut *m, n, |m, n| m.tile(from + at + start, n))?;
                for (k, (o, acc)) in job.outputs.iter().zip(&mut *accs).enumerate() {
                    match &o.output.sink {
                        Sink::Store if pass.results => {
                            let own = cut(&mut outs[k], start, n).into_iter().enumerate();
                            own.for_each(|(k, to)| lanes::copy(o.leaf(m, k, n), to));
                        }
                        Sink::Fold { .. } if pass.totals => {
                            acc.reduce(o, m, n, &mut scans[k].carry).map_err(|e| e.stop)?
                        }
                        sink if sink.scans_runs() => acc.take(o, m, start, n),
                        Sink::Scan { .. } => {
                            if pass.totals {
                                acc.reduce_scan(o, m, n, dir);
                            }
                            let mut to = pass.results.then(|| cut(&mut outs[k], start, n));
                            scans[k].tile(o, dir, acc, m, n, to.as_deref_mut()).map_err(|e| e.stop)?;
                        }
                        Sink::Store | Sink::Fold { .. } | Sink::Segments { .. } => {}
                        Sink::Scatter { .. } | Sink::Compact => {}
                    }
                }
            }
            for (k, (o, acc)) in job.outputs.iter().zip(&mut *accs).enumerate() {
                if o.output.sink.scans_runs() {
                    let to = pass.results.then_some(&mut outs[k][..]);
                    scans[k].taken(o, dir, acc, n, to).map_err(|e| e.stop)?;
                }
            }
            let computed = pass.results && permuted_leaves.is_none();
            if let (Some(after), Some(e), true) = (after.as_mut(), &job.epilogue, computed) {
                let (scanned, results) = outs.split_at_mut(job.outputs.len());
                after.fixed[..axis].copy_from_slice(&outer);
                for tile in tiles(dir, n, job.lanes()) {
                    let (start, n) = (tile.start, tile.len());
                    let combined = job.outputs.iter().zip(&*scanned).filter(|(o, _)| o.is_combined());
                    let leaves =
                        combined.flat_map(|(_, outs)| outs.iter().map(|o| lanes::part(o.as_slice(), start, n)));
                    bind_leaves(after, job.extents.len(), leaves);
                    first_event(&mut *after, n, |m, n| m.tile(from + at + start, n))?;
                    for ((values, _), outs) in e.outputs.iter().zip(&mut *results) {
                        for (r, out) in values.clone().zip(cut(outs, start, n)) {
                            lanes::copy(after.get(after.bytecode.results[r], n), out);
                        }
                    }
                }
            }
            done += n;
        }
        if stream {
            memory::finish();
        }
        if pass.totals {
            for (k, (o, acc)) in job.outputs.iter().zip(accs).enumerate() {
                let total = match &o.output.sink {
                    Sink::Fold { .. } => acc.end_chunk(o, scans[k].carry.take()).map_err(|e| e.stop)?,
                    Sink::Scan { .. } if o.builtin().is_some() => acc.end_chunk(o, None).map_err(|e| e.stop)?,
                    Sink::Scan { .. } => scans[k].carry.take().unwrap_or_default(),
                    Sink::Store | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => continue,
                };
                let at = (chunk - task.first) * o.types.len();
                task.totals[k][at..at + o.types.len()].copy_from_slice(&total);
            }
        }
        Ok(())
    }

    /// Folds the totals of each row's chunks from left to right, starting with the initial value.
    fn folded(&self, totals: &PerChunk, out: &mut [Vec<AnyBuffer>]) -> Result<(), Stop> {
        let per_row = self.per_row();
        for ((o, out), totals) in self.job.outputs.iter().zip(out).zip(totals) {
            let Sink::Fold { .. } = o.output.sink else { continue };
            let (mut acc, n) = (Acc::of_totals(o), o.types.len());
            if n == 0 {
                continue;
            }
            let mut all = filled(0, self.rows * n)?;
            for (row, all) in totals.chunks(per_row * n).zip(all.chunks_mut(n)) {
                let mut chunks = row.chunks(n);
                let mut total: Total = match &o.init {
                    Some(init) => SmallVec::from_slice(init),
                    None => SmallVec::from_slice(chunks.next().unwrap_or_default()),
                };
                for t in chunks {
                    total = acc.combine(o, &total, t).map_err(|e| e.stop)?;
                }
                all.copy_from_slice(&total);
            }
            for (k, column) in out.iter_mut().enumerate() {
                lanes::fill_each(column.as_out(), all.iter().skip(k).step_by(n));
            }
        }
        Ok(())
    }

    /// Computes part of a chunk by machine code; false if it bailed out.
    pub(super) fn compiled_chunk(
        &self,
        call: Option<&Call<'_>>,
        task: &mut Chunks<'_>,
        piece: Piece<'_>,
        run_totals: &mut [Lanes],
    ) -> Result<bool, Stop> {
        let Piece { chunk, span: (from, len), before, pass, window, stream: _ } = piece;
        let Some(call) = call else { return Ok(false) };
        let (mut starts, mut totals): (SmallVec<[u64; 8]>, SmallVec<[u64; 8]>) = Default::default();
        let mut outs: SmallVec<[Option<OutSlice<'_>>; 4]> = SmallVec::new();
        let mut preceded: SmallVec<[bool; 8]> = SmallVec::new();
        let (own, after) = task.outs.split_at_mut(self.job.outputs.len());
        let outputs = self.job.outputs.iter().zip(before).zip(&self.memories);
        for (((o, before), place), memory) in outputs.zip(own) {
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
        if call.streams && outs.iter().flatten().any(|o| !memory::starts_at(o, CACHE_LINE_BYTES)) {
            return Ok(false);
        }
        let first = chunk / self.per_row() * self.row + from;
        let part = Part::of(first..first + len, self.row);
        let mut run_totals: SmallVec<[OutSlice<'_>; 4]> = run_totals.iter_mut().map(Lanes::out).collect();
        let mut places = Places {
            outs: &mut outs,
            before: &starts,
            preceded: &preceded,
            totals: &mut totals,
            run_totals: &mut run_totals,
            window,
            ahead: self.ahead(),
            ..Places::default()
        };
        let ended = call.run(part, &mut places);
        if call.streams {
            memory::finish();
        }
        if !self.job.is_done(ended)? {
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
}

/// Tiles of at most `most` of so many elements, in the order of a scan.
fn tiles(dir: Dir, count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(most.max(1)).map(move |first| {
        let end = count.min(first + most);
        if dir == Dir::Right { count - end..count - first } else { first..end }
    })
}

/// Elements `at..at + n` of each column.
pub(super) fn cut<'b>(outs: &'b mut Outs<'_>, at: usize, n: usize) -> Outs<'b> {
    outs.iter_mut().map(|o| o.reborrow().split_at(at).1.split_at(n).0).collect()
}
