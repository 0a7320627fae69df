//! A model of the time that a loop nest takes: deterministic, from the kernel, the extents, and the registers and caches of the
//! processor alone. It need not be right: it says which nests are measured first.
//!
//! The time is that of instructions (operations, loads where the code generator places them, partial results that go to memory,
//! the latency of chains of additions, turns of loops), and of the cache lines that come again from each level of memory, since
//! what is used in between does not fit into it.

use crate::kernel::{Accesses, AxisKind, Kernel, Op, Sink};
use acc_core::ir::{ArrayId, Loop, Mark, Schedule};
use acc_desugar::analysis::access::Along;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// A level of cache.
struct Level {
    bytes: usize,
    /// Lines whose addresses differ by whole multiples of `bytes / ways` that it holds.
    ways: usize,
    /// Cycles that a line takes from behind it.
    cycles: f64,
}

const LEVELS: [Level; 3] = [
    Level { bytes: 32 << 10, ways: 8, cycles: 4.0 },
    Level { bytes: 1 << 20, ways: 16, cycles: 10.0 },
    Level { bytes: 16 << 20, ways: 16, cycles: 40.0 },
];
/// Cycles of a vector operation, of a load, of the elements that a lane gathers, of a turn of a loop.
const OPERATION: f64 = 0.5;
const LOAD: f64 = 0.5;
const GATHERED_LANE: f64 = 0.7;
const TURN: f64 = 1.0;
/// Cycles until a sum can be added to, and of a partial result that goes to memory and back.
const LATENCY: f64 = 4.0;
const STORE_AND_LOAD: f64 = 6.0;
/// Cycles of a nanosecond.
const CYCLES_PER_NANOSECOND: f64 = 3.5;

/// What the model knows of a kernel and a run.
pub(crate) struct Shape<'a> {
    kernel: &'a Kernel,
    /// The extents of its axes.
    extents: Vec<usize>,
    /// The arrays that it reads, and the one that it stores.
    streams: Vec<Stream>,
    /// Operations of a point.
    operations: usize,
    /// Lanes of a vector.
    lanes: usize,
    /// Vector registers for partial results.
    registers: usize,
}

/// Reads or writes of an array.
struct Stream {
    /// Elements from one point to the next along each axis; none where they are not at regular distances.
    strides: Vec<Option<usize>>,
    /// Bytes of an element.
    size: usize,
    stored: bool,
}

impl<'a> Shape<'a> {
    /// `extent` is that of an array along a dimension.
    pub(crate) fn new(
        kernel: &'a Kernel,
        extents: Vec<usize>,
        extent: &dyn Fn(ArrayId, usize) -> usize,
        register_bytes: usize,
    ) -> Shape<'a> {
        let body = &kernel.element;
        let accesses = Accesses::of(body);
        let (mut streams, mut operations) = (Vec::new(), 0);
        body.region.visit(0, &mut |n, _| match &n.op {
            Op::Index(l) => {
                let rank = l.index.len();
                let steps = |dim: usize| (dim + 1..rank).map(|d| extent(l.array, d)).product::<usize>();
                let along = |axis: usize| {
                    let steps = l.index.iter().enumerate().map(|(dim, ix)| match accesses.along(ix, axis) {
                        Along::Step(n) => {
                            Some(usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX).saturating_mul(steps(dim)))
                        }
                        Along::Clamped | Along::Wrapped => Some(steps(dim)),
                        Along::Varying => None,
                    });
                    steps.reduce(|a, b| Some(a?.saturating_add(b?))).unwrap_or(Some(0))
                };
                let size = n.results.first().map_or(8, |&v| body.ty(v).size());
                streams.push(Stream { strides: (0..kernel.axes.len()).map(along).collect(), size, stored: false });
            }
            _ => operations += 1,
        });
        let rank = kernel.axes.len() - kernel.folded();
        for o in &kernel.outputs {
            let parallel = if matches!(o.sink, Sink::Store) { kernel.axes.len() } else { rank };
            let steps = |axis: usize| if axis < parallel { extents[axis + 1..parallel].iter().product() } else { 0 };
            let size = kernel.leaf_types(o).iter().map(|t| t.size()).sum();
            streams.push(Stream {
                strides: (0..kernel.axes.len()).map(|a| Some(steps(a))).collect(),
                size,
                stored: true,
            });
            operations += o.leaves();
        }
        let size = streams.iter().map(|s| s.size).max().unwrap_or(8).max(1);
        let registers = if register_bytes == 32 { 12 } else { 24 };
        Shape { kernel, extents, streams, operations, lanes: (register_bytes / size).max(1), registers }
    }

    /// The nanoseconds that a nest takes on one thread.
    pub(crate) fn time(&self, schedule: &Schedule) -> f64 {
        let nest = Nest::new(self, schedule);
        (nest.instructions() + nest.memory()) / CYCLES_PER_NANOSECOND
    }
}

/// A nest over the extents of a run.
struct Nest<'a> {
    shape: &'a Shape<'a>,
    loops: &'a [Loop],
    /// The iterations of each loop.
    turns: Vec<f64>,
    /// The loop over lanes.
    lane: usize,
}

impl<'a> Nest<'a> {
    fn new(shape: &'a Shape<'a>, schedule: &'a Schedule) -> Nest<'a> {
        let loops = schedule.loops();
        let turns = (0..loops.len()).map(|at| {
            let l = loops[at];
            let around = loops[..at].iter().rev().find(|o| o.axis == l.axis).map_or(usize::MAX, |o| o.step);
            let extent = shape.extents[l.axis];
            let whole = extent.min(around) as f64 / l.step as f64;
            // The last tile is smaller: on average a fraction of one.
            if around == usize::MAX { whole.ceil().max(1.0) } else { whole.max(1.0) }
        });
        let is_points = |l: &&Loop| l.step == 1 && shape.kernel.axes[l.axis] == AxisKind::Parallel;
        let marked = loops.iter().position(|l| l.mark == Mark::Lanes);
        let last = |unrolled| loops.iter().rposition(|l| is_points(&l) && (l.mark == Mark::Unrolled) == unrolled);
        let lane = marked.or_else(|| last(false)).or_else(|| last(true)).unwrap_or(0);
        Nest { shape, loops, turns: turns.collect(), lane }
    }

    /// The turns of the loops before one, where the lane loop has one for each vector.
    fn executions(&self, end: usize) -> f64 {
        let turns = |at: usize| {
            if at == self.lane { (self.turns[at] / self.shape.lanes as f64).max(1.0) } else { self.turns[at] }
        };
        (0..end).map(turns).product()
    }

    fn is_folded(&self, l: &Loop) -> bool {
        self.shape.kernel.axes[l.axis] == AxisKind::Reduction
    }

    /// Cycles of instructions.
    fn instructions(&self) -> f64 {
        let n = self.loops.len();
        let all = self.executions(n);
        let stays = |l: &&Loop| l.mark == Mark::Unrolled || self.is_folded(l);
        let registers = n - self.loops[(self.lane + 1).min(n)..].iter().rev().take_while(stays).count();
        let unrolled: f64 = (0..n)
            .filter(|&at| self.loops[at].mark == Mark::Unrolled && !self.is_folded(&self.loops[at]))
            .map(|at| self.turns[at])
            .product();
        let mut cycles = all * self.shape.operations as f64 * OPERATION;
        let over = self.loops.get(self.lane).map_or(0, |l| l.axis);
        for s in self.shape.streams.iter().filter(|s| !s.stored) {
            let depth = (0..n).rev().find(|&at| s.strides[self.loops[at].axis] != Some(0)).map_or(0, |at| at + 1);
            let each = match s.strides[over] {
                Some(0 | 1) => LOAD,
                _ => LOAD + self.shape.lanes as f64 * GATHERED_LANE,
            };
            cycles += self.executions(depth) * each;
        }
        if self.shape.kernel.folded() > 0 {
            // Chains of additions wait for each other, unless there are several.
            let throughput = unrolled.max(1.0) * self.shape.operations as f64 * OPERATION;
            if throughput < LATENCY {
                cycles += all / unrolled.max(1.0) * (LATENCY - throughput);
            }
            if self.loops[..registers.min(n)].iter().any(|l| self.is_folded(l)) {
                cycles += self.executions(registers.min(n)) * unrolled.max(1.0) * STORE_AND_LOAD;
            }
            if unrolled > self.shape.registers as f64 {
                cycles += all * STORE_AND_LOAD;
            }
            // Results whose lanes are apart in memory are stored one by one.
            let apart = self.shape.streams.iter().any(|s| s.stored && s.strides[over].is_some_and(|s| s > 1));
            if apart {
                cycles += self.executions(registers.min(n)) * unrolled.max(1.0) * self.shape.lanes as f64;
            }
        }
        cycles
            + (0..n)
                .filter(|&at| self.loops[at].mark != Mark::Unrolled)
                .map(|at| self.executions(at + 1) * TURN)
                .sum::<f64>()
    }

    /// The points of each axis that the loops from one on run over.
    fn span(&self, axis: usize, from: usize) -> f64 {
        let own = (from..self.loops.len()).filter(|&at| self.loops[at].axis == axis);
        own.map(|at| self.turns[at]).product()
    }

    /// The cache lines that an array has in the loops from one on.
    fn lines(&self, s: &Stream, from: usize) -> f64 {
        let mut lines = 1.0;
        for axis in 0..self.shape.extents.len() {
            let points = self.span(axis, from);
            lines *= match s.strides[axis] {
                Some(0) => 1.0,
                Some(stride) if stride * s.size < LINE_BYTES => {
                    (points * (stride * s.size) as f64 / LINE_BYTES as f64).max(1.0)
                }
                _ => points,
            };
        }
        lines
    }

    /// Whether the lines of an array in the loops from one on can be kept together: rows whose distance is a multiple of a large
    /// power of two fall into the same few places.
    fn is_kept(&self, s: &Stream, from: usize, level: &Level) -> bool {
        let apart = level.bytes / level.ways;
        (0..self.shape.extents.len()).all(|axis| match s.strides[axis] {
            Some(stride) if stride * s.size >= LINE_BYTES => {
                let places = apart / greatest_common_divisor(stride * s.size, apart);
                self.span(axis, from) <= (places * level.ways) as f64
            }
            _ => true,
        })
    }

    /// Cycles in which lines come from behind each level of cache.
    fn memory(&self) -> f64 {
        let n = self.loops.len();
        let of_level = |level: &Level| {
            let fits = |from: usize| {
                let lines: f64 = self.shape.streams.iter().map(|s| self.lines(s, from)).sum();
                let kept = |s: &Stream| self.is_kept(s, from, level);
                lines * LINE_BYTES as f64 <= level.bytes as f64 && self.shape.streams.iter().all(kept)
            };
            // The outermost loop from which on all stays in the cache.
            let from = (0..=n).find(|&from| fits(from)).unwrap_or(n);
            let fetched = |s: &Stream| {
                let again: f64 = self.turns[..from].iter().product();
                // What does not move along the loop around is still there in its next turn.
                let stays = from.checked_sub(1).filter(|&at| s.strides[self.loops[at].axis] == Some(0));
                self.lines(s, from) * again / stays.map_or(1.0, |at| self.turns[at])
            };
            self.shape.streams.iter().map(fetched).sum::<f64>() * level.cycles
        };
        LEVELS.iter().map(of_level).sum()
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}
