//! What all launches share: binding of names, tiles and their events, tasks on threads.

pub(super) mod flags;
pub(super) mod lists;
pub(super) mod merged;

use crate::Compile;
use crate::bind::Names;
use crate::buffer::{AnyBuffer, OutSlice, Pool};
use crate::kernel::grouping::TermBlocks;
use crate::kernel::{Bits, Body, Kernel, Output};
use crate::llvm::call::{Call, CallOutcome};
use crate::llvm::{CodeCache, Variant};
use crate::prepare::Launch;
use crate::run::launch::lists::collected;
use crate::run::pool::thread_pool::{ThreadPool, spin_until};
use crate::run::pool::work_stealing::TaskQueues;
use crate::tile::bytecode::Slot;
use crate::tile::lanes;
use crate::tile::machine::{Bound, Code, Event, Machine, Outcome, Space, Stop};
use crate::tile::reduce::identity;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use acc_core::ir::PrimOp;
use acc_core::{Error, Meter, RunLimits};
use acc_desugar::analysis::segmented_operator::SegmentedOperator;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// The resources of a run.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub threads: &'a ThreadPool,
    pub memory: &'a Arc<Pool>,
    pub limits: &'a RunLimits,
    pub meter: &'a Meter,
    pub compile: Compile,
    /// Whether of several faults the first one is to be found: no array is evaluated before an element asks for it.
    pub in_order: bool,
}

/// Work below which a launch runs on the calling thread, in vectorised additions per lane. (A saxpy of 100,000 floats,
/// about as much, takes 13 µs on one thread; on two it takes 8 µs if the helper polls for work, and 20 to 25 if it
/// sleeps. From 5 to 50 µs the better choice depends on that.)
const MIN_PARALLEL_WORK: usize = 1 << 18;

/// Work between two polls of the run's limits, in vectorised additions per lane: a few milliseconds.
pub(crate) const WORK_PER_CALL: usize = 1 << 24;

/// Whether work of this size justifies several threads.
pub(crate) fn is_large(points: usize, cost: usize) -> bool {
    points.saturating_mul(cost) >= MIN_PARALLEL_WORK
}

impl Context<'_> {
    /// Whether work of this size is distributed over the threads of this run.
    pub(crate) fn parallel(&self, points: usize, cost: usize) -> bool {
        is_large(points, cost) && self.threads.count() > 1
    }

    /// Allocates columns of `n` elements, within the run's memory limit.
    pub(crate) fn columns(&self, types: &[ScalarType], n: usize) -> Result<Vec<AnyBuffer>, Error> {
        // In one reservation, so that the error states the size of the whole array.
        let bytes: usize = types.iter().map(|t| t.size()).sum();
        self.meter.charge((n as u64).saturating_mul(bytes as u64))?;
        types.iter().map(|&t| AnyBuffer::new(self.memory, t, n, self.meter)).collect()
    }

    /// Runs tasks, in parallel or in order; returns the event of the first task that has one. `worker` creates the
    /// state of a thread.
    pub(crate) fn tasks<T: Send, W>(
        &self,
        parallel: bool,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        self.shared(parallel, usize::MAX, tasks, worker, |w, _, t| run(w, t))
    }

    /// Runs tasks in parallel, each started after all tasks before it, so that a task may [wait](OrderedTask::wait) for
    /// a value from an earlier one.
    pub(crate) fn tasks_in_order<T: Send, W>(
        &self,
        parallel: bool,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, &OrderedTask<'_>, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        self.shared(parallel, 1, tasks, worker, run)
    }

    /// Runs tasks from at most so many queues.
    fn shared<T: Send, W>(
        &self,
        parallel: bool,
        shares: usize,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, &OrderedTask<'_>, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        let first = AtomicUsize::new(usize::MAX);
        if !parallel || tasks.len() < 2 {
            let mut w = worker();
            let mut tasks = tasks.into_iter().enumerate();
            return tasks.try_for_each(|(number, t)| run(&mut w, &OrderedTask { number, first: &first }, t));
        }
        let threads = self.threads.count().min(tasks.len());
        let found: Mutex<Option<(usize, Stop)>> = Mutex::new(None);
        let shares = TaskQueues::new(tasks, threads.min(shares))?;
        let work = |thread: usize| {
            let mut taker = shares.taker(thread);
            let Some(mut task) = shares.next(&mut taker) else { return };
            let mut w = worker();
            loop {
                let (k, t) = task;
                let task_order = OrderedTask { number: k, first: &first };
                // Once a task has stopped, later ones are irrelevant; earlier ones are not.
                if !task_order.is_over()
                    && let Err(stop) = run(&mut w, &task_order, t)
                {
                    task_order.stop();
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    if found.as_ref().is_none_or(|(j, _)| k < *j) {
                        *found = Some((k, stop));
                    }
                }
                match shares.next(&mut taker) {
                    Some(another) => task = another,
                    None => return,
                }
            }
        };
        self.threads.work(threads - 1, &work);
        match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, stop)) => Err(stop),
            None => Ok(()),
        }
    }
}

/// The position of a task among those that are started in order.
pub(crate) struct OrderedTask<'a> {
    pub number: usize,
    /// The first task that stopped.
    first: &'a AtomicUsize,
}

impl OrderedTask<'_> {
    fn stop(&self) {
        self.first.fetch_min(self.number, Ordering::Relaxed);
    }

    /// Whether this task or one before it has stopped.
    fn is_over(&self) -> bool {
        self.first.load(Ordering::Relaxed) <= self.number
    }

    /// Waits for the value of an earlier task; none if one has stopped, in which case this task's result is irrelevant.
    pub(crate) fn wait<'c, V>(&self, cell: &'c OnceLock<V>) -> Option<&'c V> {
        spin_until(|| cell.get().is_some() || self.is_over());
        cell.get()
    }
}

impl Drop for OrderedTask<'_> {
    fn drop(&mut self) {
        // So that no task waits for this one.
        if std::thread::panicking() {
            self.stop();
        }
    }
}

/// A body whose names are bound.
pub(crate) struct Binding<'a> {
    pub code: &'a Code,
    pub bound: Bound<'a>,
}

impl<'a> Binding<'a> {
    pub(crate) fn new(code: &'a Code, names: &'a dyn Names, limits: &'a RunLimits) -> Binding<'a> {
        let bytecode = &code.bytecode;
        let bound = Bound {
            inputs: bytecode.arrays.iter().map(|&a| names.input(a)).collect(),
            scalars: bytecode.scalars.iter().map(|&(a, p)| names.scalar(a, p)).collect(),
            uniforms: (0..bytecode.groups).map(|_| OnceLock::new()).collect(),
            limits,
        };
        Binding { code, bound }
    }

    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        Machine::new(self.code, &self.bound, space)
    }
}

/// A launch whose names are bound.
pub(crate) struct Job<'a> {
    pub launch: &'a Launch,
    pub element: Binding<'a>,
    pub outputs: Vec<JobOutput<'a>>,
    pub epilogue: Option<JobEpilogue<'a>>,
    /// Extents of all axes.
    pub extents: SmallVec<[usize; 4]>,
    /// The blocks of terms along the first folded axis.
    pub terms: TermBlocks,
    pub names: &'a dyn Names,
    pub cx: Context<'a>,
}

/// An output of a launch.
pub(crate) struct JobOutput<'a> {
    pub output: &'a Output,
    pub combine: Option<Binding<'a>>,
    /// The initial value of a fold or scan.
    pub init: Option<Bits>,
    pub types: SmallVec<[ScalarType; 2]>,
}

impl JobOutput<'_> {
    pub(crate) fn combiner(&self) -> Option<Combiner<'_>> {
        let partial = self.output.sink.combine().is_some_and(Body::is_partial);
        Some(Combiner { machine: self.combine.as_ref()?.machine(&NO_SPACE), partial })
    }

    /// Whether elements are combined, so that an epilogue reads the combined results rather than the elements.
    pub(crate) fn is_combined(&self) -> bool {
        self.output.sink.is_combined()
    }

    /// The built-in operator of each leaf.
    pub(crate) fn builtin(&self) -> Option<&[PrimOp]> {
        self.output.sink.builtin()
    }

    /// The segmented operator of a scan, if it has one.
    pub(crate) fn segmented(&self) -> Option<&SegmentedOperator> {
        self.output.sink.segmented()
    }

    /// The neutral element of each leaf as bits, if all are known.
    pub(crate) fn neutral(&self) -> Option<Vec<u64>> {
        let ops = self.builtin().or_else(|| self.segmented().map(|r| &r.ops[..]))?;
        Some(ops.iter().zip(&self.types).map(|(&op, &ty)| identity(op, ty)).collect())
    }

    /// The buffer of the element body that holds leaf `k`.
    pub(crate) fn slot(&self, m: &Machine<'_>, k: usize) -> Slot {
        m.bytecode.results[self.output.values.start + k]
    }

    /// Whether the elements are products, added with one rounding.
    pub(crate) fn is_fused(&self) -> bool {
        self.output.sink.is_fused()
    }

    /// The factors of leaf `k` of a tile's first `n` elements, of a fused fold.
    pub(crate) fn factors<'m>(&self, m: &'m Machine<'_>, k: usize, n: usize) -> [ColumnSlice<'m>; 2] {
        [2 * k, 2 * k + 1].map(|value| m.get(self.slot(m, value), n))
    }

    /// Leaf `k` of a tile's first `n` elements.
    pub(crate) fn leaf<'m>(&self, m: &'m Machine<'_>, k: usize, n: usize) -> ColumnSlice<'m> {
        m.get(self.slot(m, k), n)
    }
}

/// The epilogue of a launch.
pub(crate) struct JobEpilogue<'a> {
    pub body: Binding<'a>,
    /// The range of the body's results that each output stores, and their types.
    pub outputs: Vec<(Range<usize>, SmallVec<[ScalarType; 2]>)>,
}

impl JobEpilogue<'_> {
    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        self.body.machine(space)
    }

    /// If the epilogue only permutes its inputs: the leaf that each result is. `axes` is the rank of its index.
    pub(crate) fn permuted_inputs(&self, axes: usize) -> Option<Vec<usize>> {
        let bytecode = &self.body.code.bytecode;
        let leaf = |r: usize| bytecode.params.iter().skip(axes).position(|p| *p == bytecode.results[r]);
        let leaves: Option<Vec<usize>> = self.outputs.iter().flat_map(|(values, _)| values.clone().map(leaf)).collect();
        let distinct = |leaves: &Vec<usize>| leaves.iter().enumerate().all(|(k, leaf)| !leaves[..k].contains(leaf));
        leaves.filter(|leaves| bytecode.code.is_empty() && distinct(leaves))
    }

    /// Allocates columns for `n` elements of each output.
    pub(crate) fn columns(&self, cx: Context<'_>, n: usize) -> Result<Vec<Vec<AnyBuffer>>, Stop> {
        self.outputs.iter().map(|(_, types)| cx.columns(types, n).map_err(Stop::Error)).collect()
    }
}

/// Sets the parameters of an epilogue's machine: `n` elements of each leaf; `axes` is the rank of its index.
pub(crate) fn bind_leaves<'b>(m: &mut Machine<'_>, axes: usize, leaves: impl Iterator<Item = ColumnSlice<'b>>) {
    for (k, leaf) in leaves.enumerate() {
        let slot = m.bytecode.params[axes + k];
        let mut lanes = m.take(slot);
        lanes::copy(leaf, lanes.out());
        m.put(slot, lanes);
    }
}

/// The columns of a computed array.
pub(crate) type Columns = SmallVec<[Column; 2]>;

/// The index space of combinations: none.
pub(crate) static NO_SPACE: LazyLock<Space> = LazyLock::new(|| Space { extents: SmallVec::new(), lo: 0, hi: 0 });

impl Job<'_> {
    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        self.element.machine(space)
    }

    /// The kernel's machine code of a variant, bound to its arguments; none if the tile executor must run the kernel.
    pub(crate) fn call(&self, variant: Variant) -> Option<Call<'_>> {
        self.call_of(&self.launch.kernel, &self.launch.code.machine, variant)
    }

    /// Machine code of another kernel over the same index space, bound to its arguments.
    pub(crate) fn call_of<'c>(&'c self, kernel: &Kernel, codes: &'c CodeCache, variant: Variant) -> Option<Call<'c>> {
        let code = codes.get(variant, kernel, self.wait()?)?;
        Call::new(code, self.names, variant, &self.extents, self.cx.limits)
    }

    /// Machine code that follows the kernel's loops, and the kernel with those loops; `parts` tells whether calls fold a
    /// part of the first folded axis.
    pub(crate) fn call_in_tiles(&self, parts: bool) -> Option<(Call<'_>, &Kernel)> {
        let (codes, kernel) = (&self.launch.code.machine, &self.launch.kernel);
        let (code, kernel) = codes.in_tiles(kernel, &self.extents, parts, self.wait()?)?;
        let call = Call::new(code, self.names, Variant::Scheduled, &self.extents, self.cx.limits)?;
        Some((call, kernel))
    }

    /// How to wait for machine code that is being compiled, if at all; none if there is to be no machine code.
    fn wait(&self) -> Option<Option<&RunLimits>> {
        match self.cx.compile {
            Compile::Never => None,
            Compile::Background => Some(None),
            Compile::Now => Some(Some(self.cx.limits)),
        }
    }

    /// Whether machine code completed; false if it bailed out to the tile executor.
    pub(crate) fn is_done(&self, outcome: CallOutcome) -> Result<bool, Stop> {
        match outcome {
            CallOutcome::Done => Ok(true),
            CallOutcome::BailedOut => Ok(false),
            CallOutcome::Stopped => self.cx.limits.check().map_err(Stop::Error).map(|()| false),
        }
    }

    /// The initial values of folds and scans, leaf by leaf, where there are any.
    pub(crate) fn initial_values(&self) -> Bits {
        let values = |o: &JobOutput<'_>| o.init.clone().unwrap_or_else(|| smallvec::smallvec![0; o.types.len()]);
        self.outputs.iter().flat_map(values).collect()
    }

    /// Lanes of a tile: the least of all bodies that run on it.
    pub(crate) fn lanes(&self) -> usize {
        let run = self.launch.code.combine.iter().zip(&self.outputs).filter(|(_, o)| o.builtin().is_none());
        let combines = run.flat_map(|(c, _)| c).map(|c| c.lanes);
        let least = combines.fold(self.launch.code.element.lanes, usize::min);
        self.launch.code.epilogue.as_ref().map_or(least, |e| least.min(e.lanes))
    }
}

/// A machine for a combination.
pub(crate) struct Combiner<'a> {
    pub machine: Machine<'a>,
    /// Whether it may fault, demand an array or diverge.
    pub partial: bool,
}

impl Combiner<'_> {
    /// Sets parameter `k`, written into its buffer.
    pub(crate) fn set(&mut self, k: usize, write: impl FnOnce(OutSlice<'_>)) {
        let slot = self.machine.bytecode.params[k];
        let mut o = self.machine.take(slot);
        write(o.out());
        self.machine.put(slot, o);
    }

    pub(crate) fn call(&mut self, n: usize) -> Outcome {
        self.machine.call(n)
    }

    /// Result `k` of the first `n` lanes.
    pub(crate) fn results(&self, k: usize, n: usize) -> ColumnSlice<'_> {
        self.machine.get(self.machine.bytecode.results[k], n)
    }

    /// Copies result `k` of the first `n` lanes.
    pub(crate) fn result(&self, k: usize, n: usize, to: OutSlice<'_>) {
        lanes::copy(self.results(k, n), to);
    }
}

/// Runs a tile such that its first event in program order is found: after an event at a lane, the lanes before it run
/// again, since a later operation may stop one of those.
pub(crate) fn first_event<M>(m: &mut M, n: usize, mut run: impl FnMut(&mut M, usize) -> Outcome) -> Result<(), Stop> {
    let mut found: Option<Box<Event>> = None;
    let mut n = n;
    while n > 0 {
        match run(m, n) {
            Ok(()) => break,
            Err(e) if matches!(e.stop, Stop::Error(_)) => return Err(e.stop),
            Err(e) => {
                n = e.lane;
                found = Some(e);
            }
        }
    }
    found.map_or(Ok(()), |e| Err(e.stop))
}

/// How a range of lane positions is divided into tiles.
pub(crate) struct Cut {
    row: usize,
    tile: usize,
}

/// Rows from this length on get tiles of their own, so that loads see one segment per tile; shorter ones would leave
/// most of a tile empty.
const MIN_ROW_OF_OWN_TILES: usize = 192;

impl Cut {
    /// For lane axes of these extents.
    pub(crate) fn new(extents: &[usize], lanes: usize) -> Cut {
        match extents {
            // Rows are divided evenly: 1030 into two tiles of 515, not into 1024 and 6.
            [_, .., row] if *row >= MIN_ROW_OF_OWN_TILES => Cut { row: *row, tile: row.div_ceil(row.div_ceil(lanes)) },
            _ => Cut { row: usize::MAX, tile: lanes },
        }
    }

    /// The length of the tile at `start`, with `left` elements remaining.
    pub(crate) fn len(&self, start: usize, left: usize) -> usize {
        self.tile.min(left).min(self.row - start % self.row)
    }
}

/// Splits columns into consecutive pieces of `len` elements; the last one may be shorter.
pub(crate) fn pieces<'a>(columns: &'a mut [AnyBuffer], n: usize, len: usize) -> Result<Vec<Piece<'a>>, Stop> {
    let mut rest: Outs<'a> = columns.iter_mut().map(AnyBuffer::as_out).collect();
    collected((0..n).step_by(len.max(1)).map(|start| {
        let len = len.min(n - start);
        Piece { start, len, outs: take(&mut rest, len) }
    }))
}

/// A range of elements of a result, with its memory.
pub(crate) struct Piece<'a> {
    pub start: usize,
    pub len: usize,
    pub outs: SmallVec<[OutSlice<'a>; 2]>,
}

impl Piece<'_> {
    /// The memory of column `k` from element `at` on, relative to the piece's start.
    pub(crate) fn from(&mut self, k: usize, at: usize) -> OutSlice<'_> {
        self.outs[k].reborrow().split_at(at).1
    }

    /// The memory of all columns from element `at` on.
    pub(crate) fn all_from(&mut self, at: usize) -> Outs<'_> {
        self.outs.iter_mut().map(|o| o.reborrow().split_at(at).1).collect()
    }
}

/// The memory of an output's columns.
pub(crate) type Outs<'a> = SmallVec<[OutSlice<'a>; 2]>;

/// Splits the first `n` elements off each column.
pub(crate) fn take<'a>(rest: &mut Outs<'a>, n: usize) -> Outs<'a> {
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

/// Converts filled buffers to columns.
pub(crate) fn finish(buffers: Vec<AnyBuffer>) -> Columns {
    buffers.into_iter().map(AnyBuffer::column).collect()
}

/// The length of tasks over `n` points: a few tasks per thread, each of whole tiles.
pub(crate) fn task_len(n: usize, lanes: usize, threads: usize) -> usize {
    (n / (threads.max(1) * 4)).next_multiple_of(lanes).max(lanes)
}
