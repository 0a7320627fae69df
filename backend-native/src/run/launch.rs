//! What all launches share: binding, tiles with their events, tasks on threads.

use super::lists::collected;
use super::threads::shares::Shares;
use super::threads::team::Team;
use crate::Compile;
use crate::bind::Names;
use crate::buffer::{AnyBuffer, OutSlice, Pool};
use crate::kernel::{Bits, Body, Kernel, Output};
use crate::llvm::code::{Call, Ended};
use crate::llvm::{Codes, Form};
use crate::prepare::Launch;
use crate::tile::lanes;
use crate::tile::machine::{Bound, Code, Event, Machine, Outcome, Space, Stop};
use crate::tile::reduce::identity;
use crate::tile::tape::Slot;
use acc_core::data::{Column, ColumnSlice, ScalarType};
use acc_core::ir::PrimOp;
use acc_core::{Error, Meter, RunLimits};
use acc_desugar::analysis::segmented_operator::SegmentedOperator;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// What a run has at hand.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub threads: &'a Team,
    pub memory: &'a Arc<Pool>,
    pub limits: &'a RunLimits,
    pub meter: &'a Meter,
    pub compile: Compile,
}

/// Vectorised additions over a lane below which a launch runs on the calling thread. (A saxpy of 100,000 floats, about as
/// much, takes 13 µs on one thread; on two it takes 8 µs if the other one watches for work, and 20 to 25 if it sleeps. Between
/// 5 and 50 µs it depends on that which is better.)
const SERIAL: usize = 1 << 18;

/// The same between two looks at the clock: a few milliseconds.
pub(crate) const CALL: usize = 1 << 24;

/// Whether work of this size is worth several threads.
pub(crate) fn is_large(points: usize, cost: usize) -> bool {
    points.saturating_mul(cost) >= SERIAL
}

impl Context<'_> {
    /// Whether work of this size is spread over threads.
    pub(crate) fn parallel(&self, points: usize, cost: usize) -> bool {
        is_large(points, cost) && self.threads.count() > 1
    }

    /// Columns of `n` elements, within the limits.
    pub(crate) fn columns(&self, types: &[ScalarType], n: usize) -> Result<Vec<AnyBuffer>, Error> {
        // All at once, so that the error names what the array would take.
        let bytes: usize = types.iter().map(|t| t.size()).sum();
        self.meter.charge((n as u64).saturating_mul(bytes as u64))?;
        types.iter().map(|&t| AnyBuffer::new(self.memory, t, n, self.meter)).collect()
    }

    /// Runs tasks, in parallel or in order; the event of the first task that has one. `worker` makes what a thread
    /// needs.
    pub(crate) fn tasks<T: Send, W>(
        &self,
        parallel: bool,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        self.shared(parallel, usize::MAX, tasks, worker, |w, _, t| run(w, t))
    }

    /// The same, each task begun after all before it, so that one may [wait](Turn::wait) for what another before it makes.
    pub(crate) fn tasks_in_order<T: Send, W>(
        &self,
        parallel: bool,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, &Turn<'_>, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        self.shared(parallel, 1, tasks, worker, run)
    }

    /// Runs tasks in so many shares at most.
    fn shared<T: Send, W>(
        &self,
        parallel: bool,
        shares: usize,
        tasks: Vec<T>,
        worker: impl Fn() -> W + Sync + Send,
        run: impl Fn(&mut W, &Turn<'_>, T) -> Result<(), Stop> + Sync + Send,
    ) -> Result<(), Stop> {
        let first = AtomicUsize::new(usize::MAX);
        if !parallel || tasks.len() < 2 {
            let mut w = worker();
            let mut tasks = tasks.into_iter().enumerate();
            return tasks.try_for_each(|(number, t)| run(&mut w, &Turn { number, first: &first }, t));
        }
        let threads = self.threads.count().min(tasks.len());
        let found: Mutex<Option<(usize, Stop)>> = Mutex::new(None);
        let shares = Shares::new(tasks, threads.min(shares))?;
        let work = |thread: usize| {
            let mut taker = shares.taker(thread);
            let Some(mut task) = shares.next(&mut taker) else { return };
            let mut w = worker();
            loop {
                let (k, t) = task;
                let turn = Turn { number: k, first: &first };
                // A task after one that stopped cannot matter; one before it can.
                if !turn.is_over()
                    && let Err(stop) = run(&mut w, &turn, t)
                {
                    turn.stop();
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

/// A task's place among those that are begun in order.
pub(crate) struct Turn<'a> {
    pub number: usize,
    /// The first task that stopped.
    first: &'a AtomicUsize,
}

/// Looks at what a task waits for before it lets other threads run.
const LOOKS: usize = 1 << 10;

impl Turn<'_> {
    fn stop(&self) {
        self.first.fetch_min(self.number, Ordering::Relaxed);
    }

    /// Whether a task before this one stopped, or this one did.
    fn is_over(&self) -> bool {
        self.first.load(Ordering::Relaxed) <= self.number
    }

    /// What a task before this one makes; none if one has stopped, and what this one does no longer matters.
    pub(crate) fn wait<'c, V>(&self, cell: &'c OnceLock<V>) -> Option<&'c V> {
        let mut looks = 0;
        while cell.get().is_none() && !self.is_over() {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        cell.get()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // So that nobody waits for it.
        if std::thread::panicking() {
            self.stop();
        }
    }
}

/// A body with its names bound.
pub(crate) struct Binding<'a> {
    pub code: &'a Code,
    pub bound: Bound<'a>,
}

impl<'a> Binding<'a> {
    pub(crate) fn new(code: &'a Code, names: &'a dyn Names, limits: &'a RunLimits) -> Binding<'a> {
        let tape = &code.tape;
        let bound = Bound {
            inputs: tape.arrays.iter().map(|&a| names.input(a)).collect(),
            scalars: tape.scalars.iter().map(|&(a, p)| names.scalar(a, p)).collect(),
            uniforms: (0..tape.groups).map(|_| OnceLock::new()).collect(),
            limits,
        };
        Binding { code, bound }
    }

    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        Machine::new(self.code, &self.bound, space)
    }
}

/// A launch with its names bound.
pub(crate) struct Job<'a> {
    pub launch: &'a Launch,
    pub element: Binding<'a>,
    pub outputs: Vec<JobOutput<'a>>,
    pub epilogue: Option<JobEpilogue<'a>>,
    /// Extents of all axes.
    pub extents: SmallVec<[usize; 4]>,
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
        let partial = self.output.finish.combine().is_some_and(Body::is_partial);
        Some(Combiner { machine: self.combine.as_ref()?.machine(&NO_SPACE), partial })
    }

    /// Whether elements are combined, so that an epilogue takes the results.
    pub(crate) fn is_combined(&self) -> bool {
        self.output.finish.is_combined()
    }

    /// A known operator per leaf.
    pub(crate) fn known(&self) -> Option<&[PrimOp]> {
        self.output.finish.known()
    }

    /// What the combination of a scan does, if it starts afresh at marks.
    pub(crate) fn restart(&self) -> Option<&SegmentedOperator> {
        self.output.finish.restart()
    }

    /// The values that change nothing, as bits, if they are known: a neutral element of each leaf.
    pub(crate) fn neutral(&self) -> Option<Vec<u64>> {
        let ops = self.known().or_else(|| self.restart().map(|r| &r.ops[..]))?;
        Some(ops.iter().zip(&self.types).map(|(&op, &ty)| identity(op, ty)).collect())
    }

    /// The buffer of the element body that holds leaf `k`.
    pub(crate) fn slot(&self, m: &Machine<'_>, k: usize) -> Slot {
        m.tape.results[self.output.values.start + k]
    }

    /// Leaf `k` of the first `n` elements of a tile.
    pub(crate) fn leaf<'m>(&self, m: &'m Machine<'_>, k: usize, n: usize) -> ColumnSlice<'m> {
        m.get(self.slot(m, k), n)
    }
}

/// The epilogue of a launch.
pub(crate) struct JobEpilogue<'a> {
    pub body: Binding<'a>,
    /// Which results of the body each output takes, and their types.
    pub outputs: Vec<(Range<usize>, SmallVec<[ScalarType; 2]>)>,
}

impl JobEpilogue<'_> {
    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        self.body.machine(space)
    }

    /// Which of the leaves it takes its results are, in order, if it computes nothing and each is another one; `axes` is the
    /// rank of its index.
    pub(crate) fn hands_on(&self, axes: usize) -> Option<Vec<usize>> {
        let tape = &self.body.code.tape;
        let leaf = |r: usize| tape.params.iter().skip(axes).position(|p| *p == tape.results[r]);
        let leaves: Option<Vec<usize>> = self.outputs.iter().flat_map(|(values, _)| values.clone().map(leaf)).collect();
        let distinct = |leaves: &Vec<usize>| leaves.iter().enumerate().all(|(k, leaf)| !leaves[..k].contains(leaf));
        leaves.filter(|leaves| tape.code.is_empty() && distinct(leaves))
    }

    /// Columns for `n` elements of each output.
    pub(crate) fn columns(&self, cx: Context<'_>, n: usize) -> Result<Vec<Vec<AnyBuffer>>, Stop> {
        self.outputs.iter().map(|(_, types)| cx.columns(types, n).map_err(Stop::Error)).collect()
    }
}

/// Gives an epilogue's machine the leaves of the outputs it takes, `n` elements of each; `axes` is the rank of its index.
pub(crate) fn give<'b>(m: &mut Machine<'_>, axes: usize, leaves: impl Iterator<Item = ColumnSlice<'b>>) {
    for (k, leaf) in leaves.enumerate() {
        let slot = m.tape.params[axes + k];
        let mut lanes = m.take(slot);
        lanes::copy(leaf, lanes.out());
        m.put(slot, lanes);
    }
}

/// The columns of an array that a launch computed.
pub(crate) type Columns = SmallVec<[Column; 2]>;

/// The machine of a combination, which has no index space.
pub(crate) static NO_SPACE: LazyLock<Space> = LazyLock::new(|| Space { extents: SmallVec::new(), lo: 0, hi: 0 });

impl Job<'_> {
    pub(crate) fn machine<'b>(&'b self, space: &'b Space) -> Machine<'b> {
        self.element.machine(space)
    }

    /// The kernel's machine code in a form, bound to what it reads; none if tiles are to run it.
    pub(crate) fn call(&self, form: Form) -> Option<Call<'_>> {
        self.call_of(&self.launch.kernel, &self.launch.code.machine, form)
    }

    /// The same of a kernel over the space of this one.
    pub(crate) fn call_of<'c>(&'c self, kernel: &Kernel, codes: &'c Codes, form: Form) -> Option<Call<'c>> {
        let wait = match self.cx.compile {
            Compile::Never => return None,
            Compile::Background => None,
            Compile::Now => Some(self.cx.limits),
        };
        let code = codes.get(form, kernel, wait)?;
        Call::new(code, self.names, form, &self.extents, self.cx.limits)
    }

    /// Whether machine code has done its work; if not, tiles must do it.
    pub(crate) fn ended(&self, ended: Ended) -> Result<bool, Stop> {
        match ended {
            Ended::Done => Ok(true),
            Ended::Declined => Ok(false),
            Ended::Stopped => self.cx.limits.check().map_err(Stop::Error).map(|()| false),
        }
    }

    /// What folds and scans begin with, leaf by leaf: the initial values, where there are any.
    pub(crate) fn begins_with(&self) -> Bits {
        let values = |o: &JobOutput<'_>| o.init.clone().unwrap_or_else(|| smallvec::smallvec![0; o.types.len()]);
        self.outputs.iter().flat_map(values).collect()
    }

    /// Lanes of a tile: as many as all bodies that are run have.
    pub(crate) fn lanes(&self) -> usize {
        let run = self.launch.code.combine.iter().zip(&self.outputs).filter(|(_, o)| o.known().is_none());
        let combines = run.flat_map(|(c, _)| c).map(|c| c.lanes);
        let least = combines.fold(self.launch.code.element.lanes, usize::min);
        self.launch.code.epilogue.as_ref().map_or(least, |e| least.min(e.lanes))
    }
}

/// A machine that combines elements.
pub(crate) struct Combiner<'a> {
    pub machine: Machine<'a>,
    /// Whether it may fault, demand an array or not end.
    pub partial: bool,
}

impl Combiner<'_> {
    /// Sets parameter `k` through its buffer.
    pub(crate) fn set(&mut self, k: usize, write: impl FnOnce(OutSlice<'_>)) {
        let slot = self.machine.tape.params[k];
        let mut o = self.machine.take(slot);
        write(o.out());
        self.machine.put(slot, o);
    }

    pub(crate) fn call(&mut self, n: usize) -> Outcome {
        self.machine.call(n)
    }

    /// Result `k` of the first `n` lanes.
    pub(crate) fn results(&self, k: usize, n: usize) -> ColumnSlice<'_> {
        self.machine.get(self.machine.tape.results[k], n)
    }

    /// Copies result `k` of the first `n` lanes.
    pub(crate) fn result(&self, k: usize, n: usize, to: OutSlice<'_>) {
        lanes::copy(self.results(k, n), to);
    }
}

/// Runs a tile so that its first event is found: one at a lane is followed by a run of the lanes before it, for an
/// operation that comes later may stop one of them.
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

/// How a range of lane positions is cut into tiles.
pub(crate) struct Cut {
    row: usize,
    tile: usize,
}

/// Rows from this extent on are cut into tiles of their own, so that reads see one segment per tile.
const ROW: usize = 192;

impl Cut {
    /// Over lane axes of these extents.
    pub(crate) fn new(extents: &[usize], lanes: usize) -> Cut {
        match extents {
            // A row is cut evenly: 1030 becomes two tiles of 515, not one of 1024 and one of 6.
            [_, .., row] if *row >= ROW => Cut { row: *row, tile: row.div_ceil(row.div_ceil(lanes)) },
            _ => Cut { row: usize::MAX, tile: lanes },
        }
    }

    /// The length of the tile at a position, of which `left` remain.
    pub(crate) fn len(&self, start: usize, left: usize) -> usize {
        self.tile.min(left).min(self.row - start % self.row)
    }
}

/// Cuts columns into consecutive pieces of `len` elements each, the last one shorter.
pub(crate) fn pieces<'a>(columns: &'a mut [AnyBuffer], n: usize, len: usize) -> Result<Vec<Piece<'a>>, Stop> {
    let mut rest: Outs<'a> = columns.iter_mut().map(AnyBuffer::as_out).collect();
    collected((0..n).step_by(len.max(1)).map(|start| {
        let len = len.min(n - start);
        Piece { start, len, outs: take(&mut rest, len) }
    }))
}

/// A range of elements of a result, and its memory.
pub(crate) struct Piece<'a> {
    pub start: usize,
    pub len: usize,
    pub outs: SmallVec<[OutSlice<'a>; 2]>,
}

impl Piece<'_> {
    /// The memory of column `k` from element `at` on, counted from the piece's start.
    pub(crate) fn from(&mut self, k: usize, at: usize) -> OutSlice<'_> {
        self.outs[k].reborrow().split_at(at).1
    }

    /// The same of all columns.
    pub(crate) fn all_from(&mut self, at: usize) -> Outs<'_> {
        self.outs.iter_mut().map(|o| o.reborrow().split_at(at).1).collect()
    }
}

/// The memory of an output's columns.
pub(crate) type Outs<'a> = SmallVec<[OutSlice<'a>; 2]>;

/// Takes the first `n` elements off each column.
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

/// Filled buffers as columns.
pub(crate) fn finish(buffers: Vec<AnyBuffer>) -> Columns {
    buffers.into_iter().map(AnyBuffer::column).collect()
}

/// The length of tasks over `n` points: a few per thread, whole tiles.
pub(crate) fn task_len(n: usize, lanes: usize, threads: usize) -> usize {
    (n / (threads.max(1) * 4)).next_multiple_of(lanes).max(lanes)
}
