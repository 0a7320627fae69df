//! The shape of register tiles, chosen by the extents of a launch: how many rows and vectors a tile has, so that few of both are
//! left over, and which folded loops are so short that they are unrolled.
//!
//! The shape changes no bit of a result: each element is folded in the same order.

use crate::kernel::grouping::{MORE_TERMS_OF_LAST_BLOCK, TERMS_PER_BLOCK};
use crate::kernel::{AxisKind, Kernel, Loop, Output};
use crate::llvm::Target;
use crate::llvm::emit::Width;
use acc_core::ir::{MAX_UNROLLED_COPIES, Mark};

/// The rows of a tile to choose from.
const ROWS: [usize; 6] = [4, 6, 8, 7, 5, 3];
/// Vectors of a row, at most.
const MAX_VECTORS: usize = 2;
/// Folded loops of so many iterations are unrolled.
const MAX_UNROLLED_ITERATIONS: usize = 16;
/// The vectors of partial results that fit into 16 and into 32 registers.
const MAX_ACCUMULATORS: [usize; 2] = [12, 16];
/// The time of a tile's step: two operations per vector, one of which waits for the one before in the same row; and what the
/// loop around takes. In half cycles.
const OPERATIONS: usize = 2;
const LATENCY: usize = 8;
const LOOP: usize = 2;

/// The vectors of partial results of a tile.
pub(super) fn accumulators(target: &Target) -> usize {
    MAX_ACCUMULATORS[usize::from(target.registers() > 16)]
}

/// The loops of register tiles of a shape for these extents; none if the kernel is not in tiles. `parts` tells whether calls fold a
/// part of the first folded axis.
pub(crate) fn tile_shape(kernel: &Kernel, extents: &[usize], parts: bool, target: &Target) -> Option<Vec<Loop>> {
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
    let leaves: usize = kernel.outputs.iter().map(Output::leaves).sum();
    let fits = |rows: &usize| rows * vectors * leaves <= accumulators(target);
    let rows = ROWS.into_iter().filter(fits).min_by_key(|rows| time(extents[tile.axis], *rows, vectors))?;
    let mut loops = kernel.loops.clone();
    loops.iter_mut().filter(|l| l.axis == tile.axis && l.step == *full).for_each(|l| l.step = rows);
    let first = kernel.axes.len() - kernel.folded();
    // A loop over one tile, of the terms or of the lanes, only takes time: it would store and load what stays in registers.
    let terms = TERMS_PER_BLOCK + MORE_TERMS_OF_LAST_BLOCK;
    loops.retain(|l| {
        let is_one = |most: usize| extents[l.axis] <= most && l.step > 1;
        !((l.axis == first && !parts && is_one(terms)) || (l.axis == lanes && is_one(l.step)))
    });
    let mut copies = rows;
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
        own.for_each(|l| l.at_most = Some(vectors * vector));
    }
    Some(loops)
}

/// The time that tiles of so many rows take for all rows, per folded element and vectors of lanes.
fn time(all: usize, rows: usize, vectors: usize) -> usize {
    let tile = |rows: usize| (rows * vectors * OPERATIONS).max(LATENCY) + LOOP;
    let mut time = all / rows * tile(rows);
    let mut left = all % rows;
    for size in rests(rows) {
        time += left / size * tile(size);
        left %= size;
    }
    time
}

/// The rows of the tiles behind the last full one.
pub(super) fn rests(rows: usize) -> impl Iterator<Item = usize> {
    // Half of two or three rows is one.
    [rows / 2, 1].into_iter().skip(usize::from(rows < 4))
}
