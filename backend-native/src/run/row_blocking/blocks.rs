//! Blocks of rows, one after the other: their memory, and the calls for each.

use super::ranges::{Ranges, RowRanges};
use crate::buffer::AnyBuffer;
use crate::llvm::call::Computed;
use crate::run::elementwise::store::StoreCode;
use crate::run::launch::{Columns, Context, Job, Outs, Piece, finish, take, task_len};
use crate::run::rows::{BatchedRows, Block};
use crate::run::scheduled::Tiles;
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::Stop;
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A kernel, or the epilogue of one.
pub(super) struct Stage<'a> {
    /// The position of the kernel.
    pub kernel: usize,
    pub job: &'a Job<'a>,
    pub work: StageCode<'a>,
    /// Points per row.
    pub points: usize,
    /// The indices of the arrays that it computes.
    pub arrays: Range<usize>,
    /// What it reads under other names than those of the arrays that are computed, if it reads any of these so.
    pub names: Option<Vec<(ArrayId, Named)>>,
}

/// What is read under a name.
pub(super) enum Named {
    /// A computed array, by its index.
    Computed(usize),
    /// One that is there.
    Whole(Computed),
}

/// The machine code of a stage, for a range of rows.
pub(super) enum StageCode<'a> {
    Store(StoreCode<'a>),
    Fold(BatchedRows<'a>),
    Tiles(Tiles<'a>),
}

/// An array computed by row blocking.
pub(super) struct Array {
    pub id: ArrayId,
    /// The position of the kernel that computes it.
    pub kernel: usize,
    pub types: Vec<ScalarType>,
    /// Elements per row.
    pub width: usize,
    /// Whether anything reads it afterwards.
    pub kept: bool,
}

impl Array {
    /// The bytes of a row.
    pub(super) fn bytes(&self) -> usize {
        self.width * self.types.iter().map(|t| t.size()).sum::<usize>()
    }
}

/// All rows, in blocks.
pub(super) struct Blocks<'a> {
    pub cx: Context<'a>,
    pub ranges: RowRanges,
    /// The rows of a block.
    pub block: usize,
    pub arrays: Vec<Array>,
    pub stages: Vec<Stage<'a>>,
}

/// A range of rows of all arrays that are kept.
struct Task<'a> {
    rows: Range<usize>,
    outs: Vec<Outs<'a>>,
}

/// The rows of arrays that are not kept which a thread has computed.
struct Transient {
    /// By array and leaf.
    lanes: Vec<Vec<Lanes>>,
    /// Which rows these are, by kernel.
    there: Ranges,
}

impl Blocks<'_> {
    /// The arrays that are kept; none if machine code bailed out, or an index overflows.
    pub(super) fn run(&self) -> Result<Option<Vec<(ArrayId, Columns)>>, Stop> {
        let Some(most) = self.most_rows() else { return Ok(None) };
        let rows = self.ranges.rows();
        let columns = self.arrays.iter().map(|a| {
            let n = if a.kept { rows * a.width } else { 0 };
            self.cx.columns(&a.types, n).map_err(Stop::Error)
        });
        let mut out = columns.collect::<Result<Vec<_>, Stop>>()?;
        let tasks = self.tasks(&mut out);
        let threads = self.cx.threads.count().min(tasks.len());
        let transient = self.arrays.iter().filter(|a| !self.is_in_place(a));
        let bytes: usize = transient.map(|a| most[a.kernel] * a.bytes()).sum();
        let _charge = self.cx.meter.charge((threads as u64).saturating_mul(bytes as u64)).map_err(Stop::Error)?;
        let bailed_out = AtomicBool::new(false);
        let transient = || Transient {
            lanes: (self.arrays.iter())
                .map(|a| {
                    let n = if self.is_in_place(a) { 0 } else { most[a.kernel] * a.width };
                    a.types.iter().map(|&t| Lanes::new(t, n)).collect()
                })
                .collect(),
            there: most.iter().map(|_| 0..0).collect(),
        };
        self.cx.tasks(true, tasks, transient, |transient, mut task| {
            for first in task.rows.clone().step_by(self.block) {
                let rows = first..task.rows.end.min(first + self.block);
                if bailed_out.load(Ordering::Relaxed) || !self.run_block(&rows, &mut task, transient)? {
                    bailed_out.store(true, Ordering::Relaxed);
                    break;
                }
            }
            Ok(())
        })?;
        let kept = self.arrays.iter().zip(out).filter(|(a, _)| a.kept).map(|(a, out)| (a.id, finish(out)));
        Ok((!bailed_out.into_inner()).then(|| kept.collect()))
    }

    /// Whether rows are computed where they are kept: each once, by the task that has this memory.
    fn is_in_place(&self, a: &Array) -> bool {
        a.kept && !self.ranges.has_halo(a.kernel)
    }

    /// The most rows of each kernel that a block needs.
    fn most_rows(&self) -> Option<SmallVec<[usize; 4]>> {
        let rows = self.ranges.rows();
        let mut most = SmallVec::new();
        for first in (0..rows).step_by(self.block) {
            let ranges = self.ranges.of_block(&(first..rows.min(first + self.block)))?;
            most.resize(ranges.len(), 0);
            most.iter_mut().zip(&ranges).for_each(|(most, range)| *most = range.len().max(*most));
        }
        Some(most)
    }

    /// Whole blocks for each thread.
    fn tasks<'o>(&self, out: &'o mut [Vec<AnyBuffer>]) -> Vec<Task<'o>> {
        let rows = self.ranges.rows();
        let len = task_len(rows, self.block, self.cx.threads.count());
        let mut rest: Vec<Outs<'o>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
        let task = |first: usize| {
            let rows = first..rows.min(first + len);
            let kept = |a: &Array| if a.kept { rows.len() * a.width } else { 0 };
            let outs = rest.iter_mut().zip(&self.arrays).map(|(rest, a)| take(rest, kept(a))).collect();
            Task { rows, outs }
        };
        (0..rows).step_by(len).map(task).collect()
    }

    /// Runs all stages on a block of rows; false if one bailed out.
    fn run_block(&self, block: &Range<usize>, task: &mut Task<'_>, transient: &mut Transient) -> Result<bool, Stop> {
        let Some(ranges) = self.ranges.of_block(block) else { return Ok(false) };
        let missing = self.keep_halos(&ranges, transient);
        let mut computed: SmallVec<[Computed; 4]> = SmallVec::new();
        for stage in &self.stages {
            let own = stage.arrays.clone();
            let (all, rows) = (&ranges[stage.kernel], &missing[stage.kernel]);
            let memory = task.outs[own.clone()].iter_mut().zip(&mut transient.lanes[own.clone()]);
            let mut done: SmallVec<[Computed; 2]> = SmallVec::new();
            let mut outs: Vec<Outs<'_>> = Vec::with_capacity(own.len());
            for ((kept, transient), a) in memory.zip(&self.arrays[own.clone()]) {
                let in_place = self.is_in_place(a);
                let at = if in_place { all.start - task.rows.start } else { 0 } * a.width;
                let mut of_all: Outs<'_> = if in_place {
                    kept.iter_mut().map(|o| o.reborrow().split_at(at).1).collect()
                } else {
                    transient.iter_mut().map(Lanes::out).collect()
                };
                let there = all.start * a.width..all.end * a.width;
                done.push(Computed::new(a.id, there, of_all.iter_mut().map(|o| o.reborrow())));
                let (at, n) = ((rows.start - all.start) * a.width, rows.len() * a.width);
                outs.push(of_all.into_iter().map(|o| o.split_at(at).1.split_at(n).0).collect());
            }
            let named = stage.names.as_ref().map(|names| {
                let of = |(name, named): &(ArrayId, Named)| match named {
                    Named::Computed(at) => computed.get(*at).map(|c| c.named(*name)),
                    Named::Whole(whole) => Some(whole.named(*name)),
                };
                names.iter().filter_map(of).collect::<Vec<_>>()
            });
            if rows.is_empty() {
                drop(outs);
            } else if !stage.run(rows, outs, named.as_deref().unwrap_or(&computed))? {
                return Ok(false);
            }
            computed.extend(done);
            own.for_each(|at| self.keep_rows(at, all, block, task, transient));
        }
        Ok(true)
    }

    /// Copies a block's rows of an array with a halo to where they are kept, if they are; `all` are those that were computed.
    fn keep_rows(
        &self,
        at: usize,
        all: &Range<usize>,
        block: &Range<usize>,
        task: &mut Task<'_>,
        transient: &Transient,
    ) {
        let a = &self.arrays[at];
        if !a.kept || self.is_in_place(a) {
            return;
        }
        let (from, to) = ((block.start - all.start) * a.width, (block.start - task.rows.start) * a.width);
        let count = block.len() * a.width;
        for (lanes, kept) in transient.lanes[at].iter().zip(&mut task.outs[at]) {
            lanes::copy(lanes::part(lanes.slice(from + count), from, count), kept.reborrow().split_at(to).1);
        }
    }

    /// Moves rows of halos that the thread has computed to where the block's are; the rows of each kernel that are missing.
    fn keep_halos(&self, ranges: &Ranges, transient: &mut Transient) -> Ranges {
        let Transient { lanes, there } = transient;
        let kernels = ranges.iter().zip(there).enumerate();
        let missing = kernels.map(|(k, (rows, there))| {
            let before = if self.ranges.has_halo(k) { std::mem::replace(there, rows.clone()) } else { 0..0 };
            if !before.contains(&rows.start) {
                return rows.clone();
            }
            let kept = rows.start..rows.end.min(before.end);
            for (a, lanes) in self.arrays.iter().zip(&mut *lanes).filter(|(a, _)| a.kernel == k) {
                let [from, to] = [kept.start, kept.end].map(|row| (row - before.start) * a.width);
                lanes.iter_mut().for_each(|l| l.move_to_start(from..to));
            }
            kept.end..rows.end
        });
        missing.collect()
    }
}

impl Stage<'_> {
    /// Computes rows, given rows of other results that are already `computed`; false if machine code bailed out.
    fn run(&self, rows: &Range<usize>, outs: Vec<Outs<'_>>, computed: &[Computed]) -> Result<bool, Stop> {
        let (first, count) = (rows.start * self.points, rows.len() * self.points);
        match &self.work {
            StageCode::Store(native) => {
                let mut piece = Piece { start: first, len: count, outs: outs.into_iter().flatten().collect() };
                native.run(&mut piece, computed)
            }
            StageCode::Fold(whole) => {
                let row = self.job.extents.last().copied().unwrap_or(1);
                whole.run(&mut Block { first: first / row, count: count / row, outs }, computed)
            }
            StageCode::Tiles(tiles) => tiles.run(rows, outs, computed),
        }
    }
}
