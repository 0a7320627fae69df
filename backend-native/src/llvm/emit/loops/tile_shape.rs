//! The shape of register tiles, chosen by the extents of a launch: how many rows and vectors a tile has, so that few of both are
//! left over, and which folded loops are so short that they are unrolled.
//!
//! The shape changes no bit of a result: each element is folded in the same order.

use crate::kernel::grouping::{MORE_TERMS_OF_LAST_BLOCK, TERMS_PER_BLOCK};
use crate::kernel::{AxisKind, Dependences, Kernel, LoadAxes, Loop, Output};
use crate::llvm::Target;
use crate::llvm::emit::Width;
use acc_core::ir::{MAX_UNROLLED_COPIES, Mark};

/// The rows of a tile to choose from.
const ROWS: [usize; 6] = [4, 6, 8, 7, 5, 3];
/// The rows along a second axis, and those along the first one beside them.
const SECOND_ROWS: [usize; 7] = [2, 3, 4, 5, 6, 7, 8];
/// Vectors of a row, at most.
const MAX_VECTORS: usize = 2;
/// Folded loops of so many iterations are unrolled.
const MAX_UNROLLED_ITERATIONS: usize = 16;
/// The vectors of partial results that fit into 16 and into 32 registers, beside a row of each factor, and beside one vector.
const MAX_ACCUMULATORS: [usize; 2] = [12, 16];
const MAX_ACCUMULATORS_OF_TWO_AXES: [usize; 2] = [10, 24];
/// Two axes are in tiles if that takes less than this part of the time, and an outer axis is the second one in place of an inner one.
/// There have to be so many terms: of few, stores and addresses of many results take longer.
const MIN_GAIN_OF_TWO_AXES: (usize, usize) = (7, 8);
const MIN_TERMS_OF_TWO_AXES: usize = 64;
/// Vectors hold two rows where tiles with a row in each vector take more than so many times as long.
const MIN_GAIN_OF_PAIRS: f64 = 1.15;
/// What an iteration reads of an array is prefetched by the one before if it has at most so many bytes, so that both stay in L1,
/// and is read at most so many times.
const MAX_PREFETCHED_BYTES: usize = 20 << 10;
const MAX_PREFETCHED_READS: usize = 2;
/// The time of a tile's step, in half cycles: two operations and two loads are done in a cycle, an operation waits for the one
/// before on the same results, and the loop around takes some.
const LATENCY_HALF_CYCLES: usize = 8;
const LOOP_HALF_CYCLES: usize = 2;

/// The vectors of partial results of a tile.
pub(super) fn accumulators(target: &Target) -> usize {
    MAX_ACCUMULATORS[usize::from(target.registers() > 16)]
}

/// The loops of register tiles of a shape for these extents; none if the kernel is not in tiles. `parts` tells whether calls fold a
/// part of the first folded axis.
pub(crate) fn tile_shape(
    kernel: &Kernel,
    dependences: &Dependences,
    extents: &[usize],
    parts: bool,
    target: &Target,
) -> Option<Vec<Loop>> {
    let (tile, outer) = kernel.loops.split_last()?;
    let around: Vec<_> = outer.iter().filter(|l| l.axis == tile.axis).collect();
    let [Loop { step: full, mark: Mark::Sequential, .. }] = around[..] else { return None };
    let lanes = kernel.loops[kernel.lane_loop()?].axis;
    let others = kernel.loops.iter().filter(|l| l.axis != tile.axis && l.is_unrolled());
    if kernel.has_schedule
        || !tile.is_unrolled()
        || kernel.axes[tile.axis] != AxisKind::Parallel
        || lanes == tile.axis
        || others.count() > 0
    {
        return None;
    }
    let (vector, _) = Width::lanes_of(&kernel.element, target);
    let vectors = extents[lanes].div_ceil(vector).clamp(1, MAX_VECTORS);
    let is_short = 2 * extents[lanes] <= vector;
    let shape_of = |paired| shape((kernel, dependences), extents, [tile.axis, lanes], (vectors, paired), target);
    let may_pair = |axis: &usize| {
        let has_rows = is_short && extents[lanes] > 0 && extents[*axis] > 1;
        has_rows && *axis != tile.axis && can_pair(kernel, *axis, lanes)
    };
    let paired = (0..lanes).rev().filter(may_pair).filter_map(|axis| shape_of(Some(axis)));
    let shape = paired.fold(
        shape_of(None)?,
        |best, shape| {
            if shape.cost * MIN_GAIN_OF_PAIRS < best.cost { shape } else { best }
        },
    );
    let rows = shape.rows;
    let mut loops = kernel.loops.clone();
    loops.iter_mut().filter(|l| l.axis == tile.axis && l.step == *full).for_each(|l| l.step = rows);
    let first = kernel.axes.len() - kernel.folded();
    // A loop over one tile, of the terms or of the lanes, only takes time: it would store and load what stays in registers.
    let terms = TERMS_PER_BLOCK + MORE_TERMS_OF_LAST_BLOCK;
    loops.retain(|l| {
        let is_one = |most: usize| extents[l.axis] <= most && l.step > 1;
        !((l.axis == first && !parts && is_one(terms)) || (l.axis == lanes && is_one(l.step)))
    });
    if let Some(axis) = shape.paired {
        loops.iter_mut().filter(|l| l.axis == axis).for_each(|l| l.in_pairs = true);
    }
    let mut copies = rows;
    if let Some((axis, rows)) = shape.second {
        loops.iter_mut().filter(|l| l.axis == axis).for_each(|l| l.step = rows);
        loops.insert(loops.len() - 1, Loop { axis, ..*tile });
        copies *= rows;
    }
    for axis in (first..kernel.axes.len()).rev() {
        let n = extents[axis];
        copies = copies.saturating_mul(n);
        let is_part = parts && axis == first;
        if is_part || !(1..=MAX_UNROLLED_ITERATIONS).contains(&n) || copies > MAX_UNROLLED_COPIES {
            break;
        }
        loops.retain(|l| l.axis != axis || l.step == 1);
        let own = loops.iter_mut().filter(|l| l.axis == axis);
        own.for_each(|l| (l.mark, l.at_most) = (Mark::Unrolled, Some(n)));
    }
    if extents[lanes] <= MAX_VECTORS * vector {
        let own = loops.iter_mut().filter(|l| l.axis == lanes && l.step == 1);
        // Vectors of half the length or less read no further than needed.
        let needed = if is_short { extents[lanes].next_power_of_two() } else { vectors * vector };
        own.for_each(|l| l.at_most = Some(needed));
        if let Some(l) = prefetching(&loops, &dependences.loads, extents, lanes) {
            loops[l].prefetches = true;
        }
    }
    Some(loops)
}

/// How many rows a tile has.
struct TileShape {
    rows: usize,
    /// A second axis with rows of its own.
    second: Option<(usize, usize)>,
    /// The axis of which vectors hold two rows.
    paired: Option<usize>,
    /// The time of a folded element of a row.
    cost: f64,
}

/// Whether vectors may hold two rows along an axis.
fn can_pair(kernel: &Kernel, axis: usize, lanes: usize) -> bool {
    let position = |axis: usize| kernel.loops.iter().position(|l| l.axis == axis);
    is_plain_loop(kernel, axis) && position(axis) < position(lanes) && kernel.pairs_rows(lanes, axis)
}

/// Whether an axis has one loop, which goes through it point by point.
fn is_plain_loop(kernel: &Kernel, axis: usize) -> bool {
    let own: Vec<_> = kernel.loops.iter().filter(|l| l.axis == axis).collect();
    matches!(own[..], [Loop { step: 1, mark: Mark::Sequential, .. }]) && kernel.axes[axis] == AxisKind::Parallel
}

/// The shape that takes the least time. Where the lanes are no more than a vector, a tile may have rows along a second axis, too, so
/// that what is loaded for one of them serves the rows of the other one.
fn shape(
    (kernel, Dependences { loads, branches }): (&Kernel, &Dependences),
    extents: &[usize],
    [axis, lanes]: [usize; 2],
    (vectors, paired): (usize, Option<usize>),
    target: &Target,
) -> Option<TileShape> {
    let leaves: usize = kernel.outputs.iter().map(Output::leaves).sum();
    let has_many = usize::from(target.registers() > 16);
    let fits = |rows: &usize| rows * vectors * leaves <= MAX_ACCUMULATORS[has_many];
    let time = |second: usize, rows: [usize; 2]| {
        let axes = [axis, second];
        let steps = Steps { loads, axes, lanes, vectors, paired };
        steps.time(axes.map(|axis| extents[axis]), rows)
    };
    let of_one = |rows: usize| {
        let steps = Steps { loads, axes: [axis, axis], lanes, vectors, paired };
        steps.time([extents[axis], 1], [rows, 1])
    };
    // The last pair is perhaps a single row.
    let pairs = paired.map_or(1.0, |axis| extents[axis].div_ceil(2) as f64 / extents[axis] as f64);
    let cost = |time: usize, results: usize| pairs * time as f64 / results.max(1) as f64;
    let rows = ROWS.into_iter().filter(fits).min_by_key(|rows| of_one(*rows))?;
    let one = TileShape { rows, second: None, paired, cost: cost(of_one(rows), extents[axis]) };
    let terms: usize = extents[kernel.axes.len() - kernel.folded()..].iter().product();
    if vectors > 1 || terms < MIN_TERMS_OF_TWO_AXES {
        return Some(one);
    }
    let is_candidate = |second: &usize| {
        is_plain_loop(kernel, *second)
            && ![axis, lanes].contains(second)
            && paired != Some(*second)
            && !branches[*second]
    };
    let fits = |[a, b]: &[usize; 2]| a * b * leaves <= MAX_ACCUMULATORS_OF_TWO_AXES[has_many];
    let pairs = || SECOND_ROWS.into_iter().flat_map(|a| SECOND_ROWS.map(|b| [a, b])).filter(fits);
    let shape_of =
        |second: usize| pairs().map(|rows| (time(second, rows), second, rows)).min_by_key(|(time, ..)| *time);
    let shapes = (0..kernel.axes.len()).rev().filter(is_candidate).filter_map(shape_of);
    let (part, of) = MIN_GAIN_OF_TWO_AXES;
    // Times are those of all rows along the second axis. What is read along an inner one is closer together.
    let best = shapes.reduce(|inner, outer| {
        let pays = outer.0 * extents[inner.1] * of < inner.0 * extents[outer.1] * part;
        if pays { outer } else { inner }
    });
    let Some((time, second, [rows, of_second])) = best else { return Some(one) };
    let pays = time * of < of_one(one.rows) * extents[second] * part;
    let cost = cost(time, extents[axis] * extents[second]);
    Some(if pays { TileShape { rows, second: Some((second, of_second)), paired, cost } } else { one })
}

/// The loop whose iterations prefetch what the next one reads: the outermost one, over short rows that are far apart. Hardware
/// prefetchers do not follow those.
fn prefetching(loops: &[Loop], loads: &[LoadAxes], extents: &[usize], lanes: usize) -> Option<usize> {
    let outermost = loops.first().filter(|l| l.step == 1 && l.axis != lanes)?.axis;
    let streamed = |load: &LoadAxes| {
        let again = loops.iter().filter(|l| !load.along[l.axis] && l.mark != Mark::Unrolled);
        let reads: usize = again.map(|l| extents[l.axis].div_ceil(l.step)).product();
        let inside = (0..extents.len()).filter(|axis| *axis != outermost && load.along[*axis]);
        let bytes = inside.map(|axis| extents[axis]).fold(load.bytes, usize::saturating_mul);
        load.along[lanes] && load.along[outermost] && reads <= MAX_PREFETCHED_READS && bytes <= MAX_PREFETCHED_BYTES
    };
    let mut moving = loads.iter().filter(|load| load.along[lanes] && load.along[outermost]).peekable();
    (moving.peek().is_some() && moving.all(streamed)).then_some(0)
}

/// What tiles compute and load for a folded element.
struct Steps<'a> {
    loads: &'a [LoadAxes],
    /// The axes of the rows: both the same if there is one.
    axes: [usize; 2],
    lanes: usize,
    /// Vectors of a row.
    vectors: usize,
    /// The axis of which vectors hold two rows, each loaded by itself.
    paired: Option<usize>,
}

impl Steps<'_> {
    /// The time of all tiles, per folded element and vectors of lanes.
    fn time(&self, all: [usize; 2], rows: [usize; 2]) -> usize {
        let [all_a, all_b] = all;
        let of_both = tiles(all_a, rows[0]).flat_map(|a| tiles(all_b, rows[1]).map(move |b| (a, b)));
        of_both.map(|((m, a), (n, b))| m * n * self.tile([a, b])).sum()
    }

    /// The time of a tile.
    fn tile(&self, rows: [usize; 2]) -> usize {
        let load = |l: &LoadAxes| {
            let times = |axis: usize, n: usize| if l.along[axis] { n } else { 1 };
            let halves = self.paired.map_or(1, |axis| times(axis, 2));
            times(self.axes[0], rows[0]) * times(self.axes[1], rows[1]) * times(self.lanes, self.vectors) * halves
        };
        let loads: usize = self.loads.iter().map(load).sum();
        let operations = rows[0] * rows[1] * self.vectors;
        operations.max(loads).max(LATENCY_HALF_CYCLES) + LOOP_HALF_CYCLES
    }
}

/// How many tiles of which numbers of rows there are.
fn tiles(all: usize, rows: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut left = all;
    [rows].into_iter().chain(rests(rows)).map(move |size| {
        let count = left / size;
        left %= size;
        (count, size)
    })
}

/// The rows of the tiles behind the last full one.
pub(super) fn rests(rows: usize) -> impl Iterator<Item = usize> {
    // Half of two or three rows is one.
    [rows / 2, 1].into_iter().skip(usize::from(rows < 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::of_text;

    /// The loops for these extents, with 32 registers of 64 bytes.
    fn loops(text: &str, extents: &[usize]) -> String {
        let plan = of_text("test", text);
        let kernel = &plan.launches().next().unwrap().kernel;
        let target = Target { register: 64, splats: true };
        let loops = tile_shape(kernel, &kernel.dependences(), extents, false, &target).unwrap();
        loops.iter().map(Loop::to_string).collect::<Vec<_>>().join(", ")
    }

    /// A program that folds the last three axes of a generated array.
    fn sums_of_three_axes(ty: &str, params: &str, generated: &str) -> String {
        let fold = |to: &str, from: &str, rank: usize| {
            format!("{to}: [{rank}]{ty} = fold({from}, f: |%x: {ty}, %y: {ty}| add(%x, %y), init: || 0.0{ty})\n")
        };
        let [a, b, c] = [fold("a", "p", 6), fold("b", "a", 5), fold("c", "b", 4)];
        format!("program({params}) {{ p: [7]{ty} = {generated}\n{a}{b}{c}yield c }}")
    }

    #[test]
    fn filters_and_rows_share_loads() {
        let text = &sums_of_three_axes(
            "f64",
            "x: [4]f64, w: [4]f64",
            "generate(shape: || (extent(x, 0), extent(w, 0), extent(x, 2), extent(x, 3), extent(x, 1), 3i64, 3i64),
              f: |%n: i64, %f: i64, %y: i64, %z: i64, %c: i64, %p: i64, %q: i64|
                mul(x[%n, %c, add(%y, %p), add(%z, %q)], w[%f, %c, %p, %q]))",
        );
        assert_eq!(
            loops(text, &[32, 32, 7, 7, 32, 3, 3]),
            "i0, i2 by 7, i1 by 3, i3 of 8, i4, i5, unrolled i6 of 3, unrolled i2, unrolled i1"
        );
        // Rows of two vectors share loads enough.
        let wide = loops(text, &[32, 32, 7, 16, 32, 3, 3]);
        assert_eq!(wide, "i0, i2, i1 by 8, i3 of 16, i4, i5, unrolled i6 of 3, unrolled i1");
        // An axis of one row is no second axis, though its tiles are the shortest.
        let one = loops(text, &[1, 6, 5, 5, 100, 3, 3]);
        assert_eq!(one, "i0, i2 by 5, i1 by 3, i3 of 8, i4, i5, unrolled i6 of 3, unrolled i2, unrolled i1");
        let few = [32, 32, 7, 7, 2, 3, 3];
        assert_eq!(loops(text, &few), "i0, i2, i1 by 8, i3 of 8, i4, i5, unrolled i6 of 3, unrolled i1");
    }

    #[test]
    fn vectors_hold_two_short_rows() {
        let text = &sums_of_three_axes(
            "f32",
            "x: [4]f32, d: [4]f32",
            "generate(shape: || (extent(d, 1), extent(x, 1), 5i64, 5i64, extent(x, 0), extent(d, 2), extent(d, 3)),
              f: |%f: i64, %c: i64, %p: i64, %q: i64, %n: i64, %y: i64, %z: i64|
                mul(d[%n, %f, %y, %z], x[%n, %c, add(%y, %p), add(%z, %q)]))",
        );
        let gradient = "i1 in pairs, i2 by 5, i0 by 4, i3 of 8, i4, i5, i6, unrolled i2, unrolled i0";
        assert_eq!(loops(text, &[12, 6, 5, 5, 100, 8, 8]), gradient);
        let text = &sums_of_three_axes(
            "f32",
            "x: [4]f32, w: [4]f32",
            "generate(shape: || (extent(x, 0), extent(w, 0), 8i64, 8i64, extent(x, 1), 5i64, 5i64),
              f: |%n: i64, %f: i64, %y: i64, %z: i64, %c: i64, %p: i64, %q: i64|
                mul(x[%n, %c, add(%y, %p), add(%z, %q)], w[%f, %c, %p, %q]))",
        );
        let convolution = "i0 by 4, i2 in pairs, i1 by 6, i3 of 8, i4, i5, i6, unrolled i0, unrolled i1";
        assert_eq!(loops(text, &[100, 12, 8, 8, 6, 5, 5]), convolution);
        // Rows of more than half a vector.
        let wide = loops(text, &[100, 12, 9, 9, 6, 5, 5]);
        assert!(!wide.contains("pairs"), "{wide}");
    }

    #[test]
    fn short_rows_of_the_next_element_are_prefetched() {
        let text = "program(u: [4]f64, a: [2]f64) {
            p: [5]f64 = generate(shape: || (extent(u, 0), extent(a, 0), extent(u, 2), extent(u, 3), extent(u, 1)),
              f: |%e: i64, %x: i64, %j: i64, %k: i64, %i: i64| mul(a[%x, %i], u[%e, %i, %j, %k]))
            t: [4]f64 = fold(p, f: |%x: f64, %y: f64| add(%x, %y), init: || 0.0f64)
            yield t
          }";
        let prefetching = "i0 prefetching, i2, i1 by 7, i3 of 8, unrolled i4 of 7, unrolled i1";
        assert_eq!(loops(text, &[100, 7, 7, 7, 7]), prefetching);
        // Elements too large for L1.
        assert_eq!(loops(text, &[100, 7, 40, 16, 16]), "i0, i2, i1 by 7, i3 of 16, i4, unrolled i1");
    }
}
