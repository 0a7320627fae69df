//! A model of the time that a loop nest takes: deterministic, from the kernel, the extents, the vector registers of the processor, and
//! caches of usual sizes alone. It need not be right: it says which nests are measured first.
//!
//! The time is that of instructions (operations, loads where the code generator places them, partial results that go to memory,
//! the latency of chains of additions, iterations of loops), and of the cache lines that come again from each level of memory, since
//! what is used in between does not fit into it.

use crate::kernel::{Accesses, AxisKind, Kernel, Op, Sink};
use acc_core::ir::{ArrayId, Loop, Mark, Schedule};
use acc_desugar::analysis::access::Along;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// A level of cache, and what a line takes from behind it.
struct Level {
    bytes: usize,
    /// The lines that it holds of those whose addresses differ by multiples of a page; none where addresses in memory decide,
    /// which a program does not know.
    ways: Option<usize>,
    /// Cycles of a line that follows others, and is fetched ahead.
    in_order: f64,
    /// Cycles of any other.
    at_random: f64,
}

const LEVELS: [Level; 3] = [
    Level { bytes: 32 << 10, ways: Some(8), in_order: 4.0, at_random: 4.0 },
    Level { bytes: 1 << 20, ways: None, in_order: 8.0, at_random: 50.0 },
    Level { bytes: 16 << 20, ways: None, in_order: 20.0, at_random: 150.0 },
];
const PAGE_BYTES: usize = 4096;
/// Bytes, and lines, from which on lines that follow each other are fetched ahead.
const FETCHED_AHEAD: usize = 256;
const MAX_LINES_PER_ITERATION: f64 = 8.0;
/// Cycles of a vector operation, of a load, of the elements that a lane gathers, of an iteration of a loop.
const OPERATION: f64 = 0.5;
const LOAD: f64 = 0.5;
const GATHERED_LANE: f64 = 0.7;
const ITERATION: f64 = 1.0;
/// Cycles until a sum can be added to, and of a partial result that goes to memory and back; of each lane, if lanes are
/// apart in memory.
const LATENCY: f64 = 4.0;
const STORE_AND_LOAD: f64 = 6.0;
const STORE_AND_LOAD_LANE: f64 = 40.0;
const STORED_LANE: f64 = 2.0;
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
                        Along::Clamped | Along::Wrapped | Along::Repeated(_) => Some(steps(dim)),
                        Along::Varying => None,
                    });
                    steps.reduce(|a, b| Some(a?.saturating_add(b?))).unwrap_or(Some(0))
                };
                let size = n.results.first().map_or(8, |&v| body.ty(v).size());
                streams.push(Stream { strides: (0..kernel.axes.len()).map(along).collect(), size, stored: false });
            }
            // All others count the same.
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
    iterations: Vec<f64>,
    /// The loop over lanes.
    lane: usize,
}

impl<'a> Nest<'a> {
    fn new(shape: &'a Shape<'a>, schedule: &'a Schedule) -> Nest<'a> {
        let loops = schedule.loops();
        let iterations = (0..loops.len()).map(|at| {
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
        Nest { shape, loops, iterations: iterations.collect(), lane }
    }

    /// The iterations of the loops before one, where the lane loop has one for each vector.
    fn executions(&self, end: usize) -> f64 {
        (0..end).map(|at| self.vector_iterations(at)).product()
    }

    /// The iterations of a loop, where the lane loop has one for each vector.
    fn vector_iterations(&self, at: usize) -> f64 {
        if at == self.lane { (self.iterations[at] / self.shape.lanes as f64).max(1.0) } else { self.iterations[at] }
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
            .map(|at| self.iterations[at])
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
            let results = self.executions(registers.min(n)) * unrolled.max(1.0);
            let in_memory = self.loops[..registers.min(n)].iter().any(|l| self.is_folded(l));
            if in_memory {
                cycles += results * STORE_AND_LOAD;
            }
            if unrolled > self.shape.registers as f64 {
                cycles += all * STORE_AND_LOAD;
            }
            // Results whose lanes are apart in memory go there one by one.
            if self.shape.streams.iter().any(|s| s.stored && s.strides[over].is_some_and(|s| s > 1)) {
                let lane = if in_memory { STORE_AND_LOAD_LANE } else { STORED_LANE };
                cycles += results * self.shape.lanes as f64 * lane;
            }
        }
        cycles
            + (0..n)
                .filter(|&at| self.loops[at].mark != Mark::Unrolled)
                .map(|at| self.executions(at + 1) * ITERATION)
                .sum::<f64>()
    }

    /// The points of an axis that the loops from one on run over, and the lanes of a vector.
    fn span(&self, axis: usize, from: usize) -> f64 {
        let own = (from..self.loops.len()).filter(|&at| self.loops[at].axis == axis);
        let points: f64 = own.map(|at| self.iterations[at]).product();
        let is_vector = from > self.lane && self.loops[self.lane].axis == axis;
        if is_vector { points * (self.shape.lanes as f64).min(self.iterations[self.lane]) } else { points }
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
        let Some(ways) = level.ways else { return true };
        (0..self.shape.extents.len()).all(|axis| match s.strides[axis] {
            Some(stride) if stride * s.size >= LINE_BYTES => {
                let places = PAGE_BYTES / greatest_common_divisor(stride * s.size, PAGE_BYTES);
                self.span(axis, from) <= (places * ways) as f64
            }
            _ => true,
        })
    }

    /// Whether the lines of an array in the loops from one on follow each other, or do so from one iteration of the loop around to the next.
    fn is_in_order(&self, s: &Stream, from: usize) -> bool {
        let near = |axis: usize| s.strides[axis].map(|stride| stride * s.size).filter(|b| (1..LINE_BYTES).contains(b));
        let follows =
            |axis: usize| near(axis).is_some_and(|b| self.span(axis, from) * b as f64 >= FETCHED_AHEAD as f64);
        let around = from.checked_sub(1).is_some_and(|at| near(self.loops[at].axis).is_some());
        (0..self.shape.extents.len()).any(follows) || (around && self.lines(s, from) <= MAX_LINES_PER_ITERATION)
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
            let cycles = |s: &Stream| {
                let each = if self.is_in_order(s, from) { level.in_order } else { level.at_random };
                self.lines(s, from) * self.executions(from) / self.stays(s, from) * each
            };
            self.shape.streams.iter().map(cycles).sum::<f64>()
        };
        LEVELS.iter().map(of_level).sum()
    }

    /// How many iterations of the loop around those from one on find the lines of an array that the one before has left.
    fn stays(&self, s: &Stream, from: usize) -> f64 {
        let Some(at) = from.checked_sub(1) else { return 1.0 };
        let points = if at == self.lane { self.shape.lanes } else { 1 };
        match s.strides[self.loops[at].axis] {
            Some(0) => self.vector_iterations(at),
            Some(stride) => {
                let lines = (stride * points * s.size) as f64 / LINE_BYTES as f64;
                self.vector_iterations(at).min((1.0 / lines).max(1.0))
            }
            None => 1.0,
        }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::space::tests::product;

    /// Milliseconds that nests of a product of matrices of 1024 by 1024 `f64` took on one thread (Zen 4, AVX-512).
    const MEASURED: [(&str, f64); 8] = [
        ("[i2 by 256, i1 by 64, i0 by 4, lanes i1, i2, unrolled i0]", 55.0),
        ("[i1 by 8, i2 by 256, lanes i0, i2, unrolled i1]", 87.6),
        ("[i0, i2, i1]", 452.4),
        ("[i2, i0, i1]", 571.5),
        ("[i1, i0, i2]", 2308.0),
        ("[i0, i1, i2]", 2443.3),
        ("[i1, i2, i0]", 46503.5),
        ("[i2, i1, i0]", 51619.5),
    ];
    /// Measured times so near to each other are in either order.
    const SAME: f64 = 1.3;

    #[test]
    fn the_model_ranks_nests_as_they_were_measured() {
        let kernel = product();
        let shape = Shape::new(&kernel, vec![1024; 3], &|_, _| 1024, 64);
        let time = |loops: &str| shape.time(&acc_core::text::schedule_of(loops).expect("a schedule"));
        for (faster, ms) in MEASURED {
            for (slower, more) in MEASURED.iter().filter(|(_, more)| *more > ms * SAME) {
                assert!(time(faster) < time(slower), "{faster} ({ms} ms) and {slower} ({more} ms)");
            }
        }
    }
}
