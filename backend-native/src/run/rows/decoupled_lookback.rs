//! Scans of long rows in a single pass with decoupled look-back (after Merrill and Garland: *Single-pass Parallel
//! Prefix Scan with Decoupled Look-back*, 2016). Chunks are started in order. A chunk first computes its own total,
//! then publishes its inclusive prefix as soon as its predecessor's is known, and then completes its elements while
//! these are in the second-level cache.

use super::chunks::{Before, Chunks, Pass, PerChunk, Piece};
use super::fold::{Acc, Total};
use super::scan;
use super::{Rows, Worker};
use crate::bind::{FlagWindow, SparseFlags};
use crate::buffer::{AnyBuffer, CACHE_LINE_BYTES};
use crate::kernel::Sink;
use crate::llvm::Variant;
use crate::llvm::call::Call;
use crate::run::elementwise::store::MIN_STREAMED_BYTES;
use crate::run::launch::lists::collected;
use crate::run::launch::{JobOutput, OrderedTask};
use crate::tile::lanes::Lanes;
use crate::tile::machine::{Space, Stop};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Dir};
use std::sync::OnceLock;

/// Elements at the end of a chunk (in scan order) that are searched first for a flag. The last flag of a chunk
/// determines its total.
const TAIL_ELEMENTS: usize = 1 << 10;
/// Elements up to this cost are recomputed for the second pass over a chunk rather than stored and read again.
const MAX_RECOMPUTED_COST: usize = 40;
/// The same bound for the tile executor, whose operations take longer.
const MAX_RECOMPUTED_COST_IN_TILES: usize = 8;

/// The exclusive prefix of each chunk, in scan order.
type Chain = Vec<OnceLock<Before>>;

/// How chunks are scanned.
struct Strategy<'a> {
    chain: Chain,
    /// Whether several threads scan concurrently. If not, the prefix of a chunk is known when it starts.
    parallel: bool,
    /// Whether elements are computed twice, first for the total. If not, the scanned chunk is combined with its prefix
    /// afterwards.
    twice: bool,
    /// Whether results are stored non-temporally.
    stream: bool,
    space: &'a Space,
    totals: Option<Call<'a>>,
    results: Option<Call<'a>>,
    flags: Vec<(ArrayId, &'a SparseFlags, usize)>,
}

/// The state of a thread.
struct ThreadState<'b> {
    worker: Option<Worker<'b>>,
    accs: Vec<Acc<'b>>,
    window: FlagWindow,
    /// The totals of a chunk's runs, and whether the pass for its total has left them.
    run_totals: Vec<Lanes>,
    left: bool,
}

impl Rows<'_> {
    pub(super) fn decoupled_lookback(
        &self,
        parallel: bool,
        out: &mut [Vec<AnyBuffer>],
        totals: &mut PerChunk,
    ) -> Result<(), Stop> {
        let (job, space) = (self.job, self.space());
        let mut tasks = self.tasks(out, totals, 1)?;
        if self.dir == Some(Dir::Right) {
            tasks.chunks_mut(self.per_row()).for_each(<[_]>::reverse);
        }
        let totals = if parallel { job.call(Variant::ChunkTotals) } else { None };
        let begun = |t: &Chunks<'_>| if self.is_first(t.first) { self.initial().into() } else { OnceLock::new() };
        let known = job.outputs.iter().filter(|o| o.is_combined()).all(|o| o.builtin().is_some());
        let cheap = match &totals {
            Some(_) => MAX_RECOMPUTED_COST,
            // Totals come from lane-wise reduction, without a scan.
            None if known => MAX_RECOMPUTED_COST_IN_TILES,
            None => 0,
        };
        let twice = self.restarts() || self.scans_runs() || job.epilogue.is_some() || job.launch.cost <= cheap;
        // Results that are read again stay in the cache.
        let stream = self.streams() && (twice || !parallel);
        let strategy = Strategy {
            chain: collected(tasks.iter().map(begun))?,
            parallel,
            twice,
            stream,
            space: &space,
            totals,
            results: job.call(Variant::Chunk { stream }),
            flags: self.flags(),
        };
        let accs = || job.outputs.iter().map(|o| Acc::new(o, job.lanes())).collect();
        let own = || ThreadState {
            worker: None,
            accs: accs(),
            window: FlagWindow::default(),
            run_totals: self.run_totals(),
            left: false,
        };
        job.cx.tasks_in_order(parallel, tasks, own, |own, task_order, task| {
            self.scan_chunk(&strategy, own, task_order, task)
        })
    }

    /// Scans a chunk and publishes its inclusive prefix.
    fn scan_chunk<'b>(
        &'b self,
        strategy: &'b Strategy<'b>,
        own: &mut ThreadState<'b>,
        task_order: &OrderedTask<'_>,
        mut task: Chunks<'_>,
    ) -> Result<(), Stop> {
        let (chunk, task) = (task.first, &mut task);
        let span = self.span(chunk);
        let nothing: Before = self.job.outputs.iter().map(|_| None).collect();
        own.window.fill(&strategy.flags, span.0..span.0 + span.1);
        let part = |own: &mut ThreadState<'b>, task: &mut Chunks<'_>, span, before: &Before, pass: Pass| {
            let call = if pass.results { &strategy.results } else { &strategy.totals };
            let window = Some(&own.window).filter(|_| !strategy.flags.is_empty());
            // The tile executor stores non-temporally only through scratch memory, which totals and the epilogue do not
            // read.
            let stream = strategy.stream && !pass.totals && self.job.epilogue.is_none();
            let leaves = pass.totals != pass.results && (pass.totals || own.left);
            let run_totals = if leaves { &mut own.run_totals[..] } else { &mut [] };
            let piece = Piece { chunk, span, before, pass, stream, window };
            let compiled = self.part(&mut own.worker, strategy.space, call.as_ref(), task, piece, run_totals)?;
            own.left = pass.totals && compiled;
            Ok::<(), Stop>(())
        };
        let place = &strategy.chain[task_order.number];
        if !strategy.parallel {
            let Some(before) = place.get() else { return Ok(()) };
            part(own, task, span, before, Pass::BOTH)?;
            return self.publish(strategy, own, task_order, before, task);
        }
        if !strategy.twice {
            part(own, task, span, &nothing, Pass::BOTH)?;
            let Some(before) = task_order.wait(place) else { return Ok(()) };
            self.publish(strategy, own, task_order, before, task)?;
            return self.prepend(own, task, before);
        }
        // Elements before a flag do not contribute to the total.
        let mut tail = if self.restarts() { TAIL_ELEMENTS } else { usize::MAX };
        let marked = loop {
            let span = self.tail(chunk, tail);
            part(own, task, span, &nothing, Pass::TOTALS)?;
            let marked = self.restarts() && self.is_marked(task);
            if marked || span == self.span(chunk) {
                break marked;
            }
            tail *= 8;
        };
        if marked {
            self.publish(strategy, own, task_order, &nothing, task)?;
        }
        let Some(before) = task_order.wait(place) else { return Ok(()) };
        if !marked {
            self.publish(strategy, own, task_order, before, task)?;
        }
        part(own, task, span, before, Pass::RESULTS)
    }

    /// Publishes the prefix of the next chunk of the row: the prefix of this chunk combined with its total.
    fn publish(
        &self,
        strategy: &Strategy<'_>,
        own: &mut ThreadState<'_>,
        task_order: &OrderedTask<'_>,
        before: &Before,
        task: &Chunks<'_>,
    ) -> Result<(), Stop> {
        let Some(next) = strategy.chain.get(task_order.number + 1).filter(|next| next.get().is_none()) else {
            return Ok(());
        };
        let mut after = Before::new();
        for (((o, acc), before), total) in self.job.outputs.iter().zip(&mut own.accs).zip(before).zip(&task.totals) {
            let total = || Total::from_slice(total);
            after.push(match (&o.output.sink, before) {
                (Sink::Scan { .. }, None) => Some(total()),
                (Sink::Scan { .. }, Some(before)) => Some(self.combined(o, acc, before, &total())?),
                (Sink::Store | Sink::Fold { .. } | Sink::Segments { .. }, _) => None,
                (Sink::Scatter { .. } | Sink::Compact, _) => None,
            });
        }
        // Only this chunk sets it.
        let _ = next.set(after);
        Ok(())
    }

    /// Combines two values, given in scan order.
    fn combined(&self, o: &JobOutput<'_>, acc: &mut Acc<'_>, before: &[u64], after: &[u64]) -> Result<Total, Stop> {
        let (a, b) = if self.dir == Some(Dir::Right) { (after, before) } else { (before, after) };
        acc.combine(o, a, b).map_err(|e| e.stop)
    }

    /// Combines a scanned chunk with its prefix.
    fn prepend(&self, own: &mut ThreadState<'_>, task: &mut Chunks<'_>, before: &Before) -> Result<(), Stop> {
        let dir = if self.dir == Some(Dir::Right) { Dir::Right } else { Dir::Left };
        let len = self.span(task.first).1;
        let outputs = self.job.outputs.iter().zip(&mut own.accs).zip(&mut task.outs).zip(before);
        for (((o, acc), outs), before) in outputs {
            if let (Sink::Scan { .. }, Some(before)) = (&o.output.sink, before) {
                let mut outs = super::chunks::cut(outs, 0, len);
                scan::prepend_all(o, dir, acc, &mut outs, len, before).map_err(|e| e.stop)?;
            }
        }
        Ok(())
    }

    /// The last elements of a chunk in scan order, about `most` of them. Steps begin where they would in a scan of the
    /// whole chunk.
    fn tail(&self, chunk: usize, most: usize) -> (usize, usize) {
        let (from, len) = self.span(chunk);
        let skipped = len.saturating_sub(most) / TAIL_ELEMENTS * TAIL_ELEMENTS;
        let from = if self.dir == Some(Dir::Right) { from } else { from + skipped };
        (from, len - skipped)
    }

    /// The sparse flags of which each element reads its own.
    fn flags(&self) -> Vec<(ArrayId, &SparseFlags, usize)> {
        let job = self.job;
        let there = |&a: &ArrayId| job.names.flags(a).filter(|(_, n)| *n >= self.row).map(|(flags, n)| (a, flags, n));
        job.launch.flags.iter().filter_map(there).collect()
    }

    /// Whether all operators are segmented.
    fn restarts(&self) -> bool {
        self.job.outputs.iter().filter(|o| o.is_combined()).all(|o| o.segmented().is_some())
    }

    /// Whether a flag in each scan precedes the totals of a chunk.
    fn is_marked(&self, task: &Chunks<'_>) -> bool {
        let marked = |(o, total): (&JobOutput<'_>, &&mut [u64])| o.segmented().is_none_or(|r| total[r.mark] != 0);
        self.job.outputs.iter().zip(&task.totals).all(marked)
    }

    /// Whether results exceed the last-level cache, and all chunks of all results begin at cache lines.
    fn streams(&self) -> bool {
        let own = self.job.outputs.iter().map(|o| &o.types);
        let types = own.chain(self.job.epilogue.iter().flat_map(|e| e.outputs.iter().map(|(_, types)| types)));
        let stored: Vec<_> = self.memories.iter().zip(types).filter(|(m, _)| m.points).collect();
        let size = |types: &[ScalarType]| types.iter().map(|t| t.size()).sum::<usize>();
        let bytes: usize = stored.iter().map(|(m, types)| self.rows * m.width * size(types)).sum();
        let lines =
            |n: usize, types: &[ScalarType]| types.iter().all(|t| (n * t.size()).is_multiple_of(CACHE_LINE_BYTES));
        let begins = |m: &super::Memory, types| lines(m.lead, types) && (self.rows == 1 || lines(m.width, types));
        // Right scans count vectors from the end of a row.
        let ends = |m: &super::Memory, types| self.dir != Some(Dir::Right) || lines(m.lead + self.row, types);
        bytes >= MIN_STREAMED_BYTES && stored.iter().all(|(m, types)| begins(m, types) && ends(m, types))
    }
}
