//! Schedules: the loops over a kernel's axes, and rewrites of their order.
//!
//! At first there is one loop per axis, outermost first. [`tile`](Kernel::tile) splits a loop into one over tiles and
//! one inside a tile, [`interchange`](Kernel::interchange) swaps two directly nested loops, and
//! [`unroll`](Kernel::unroll) unrolls a loop. These are the standard transformations of loop nests (M. Wolfe, *High
//! Performance Compilers for Parallel Computing*, 1996, chapter 9); register tiling combines all three
//! ([`Kernel::register_tiled`]).
//!
//! A rewrite changes no bit of a result: a fold or scan combines along its axis in the same order, whatever runs in
//! between. A rewrite that would is [`Illegal`]. Executors may ignore the loops: tiles do.

mod collapse;
mod joined;
mod legal;
mod loads;
mod speculation;

pub(crate) use collapse::{CollapsedPair, FIRST_INNER_EXTENT};
pub(crate) use loads::{Dependences, LoadAxes};

use super::{AxisKind, Kernel, KernelOp, Op, Output, Region, Sink};
use crate::kernel::grouping::TERMS_PER_BLOCK;
use acc_core::ir::{self, MAX_UNROLLED_COPIES, Mark};
use std::fmt::{self, Display, Formatter};

/// A loop over an axis, or over the part of it that outer loops leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Loop {
    /// The axis.
    pub axis: usize,
    /// The points per iteration, over which a loop further in over the same axis runs; 1 for the innermost.
    pub step: usize,
    /// How its iterations run; if it is unrolled, their number is fixed.
    pub mark: Mark,
    /// The greatest number of iterations, if the code is for such extents only; an unrolled loop has so many.
    pub at_most: Option<usize>,
    /// Whether an iteration takes two points, whose lanes share vectors.
    pub in_pairs: bool,
    /// Whether an iteration prefetches what the next one reads, where its lanes read adjacent elements.
    pub prefetches: bool,
}

impl From<ir::Loop> for Loop {
    fn from(ir::Loop { axis, step, mark }: ir::Loop) -> Loop {
        Loop { axis, step, mark, at_most: None, in_pairs: false, prefetches: false }
    }
}

impl Loop {
    /// Whether it is unrolled.
    pub(crate) fn is_unrolled(&self) -> bool {
        self.mark == Mark::Unrolled
    }
}

/// Why a rewrite is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Illegal {
    /// There is no such loop.
    NoLoop,
    /// A tile must be several whole iterations of its loop, and divide the tile around it.
    TileSize,
    /// Loops over one axis cannot be swapped.
    SameAxis,
    /// Points are combined into a target, or stored one after the other, in their order.
    Ordered,
    /// The loop runs to the end of an axis, whose extent is unknown.
    OpenEnd,
    /// Too many iterations to unroll.
    TooMany,
    /// An unrolled loop must not contain one that is not.
    NotInnermost,
}

impl Display for Illegal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Illegal::NoLoop => "there is no such loop",
            Illegal::TileSize => "a tile is of several whole iterations of its loop, and divides the tile around it",
            Illegal::SameAxis => "both loops run over the same axis",
            Illegal::Ordered => "the points are combined in their order",
            Illegal::OpenEnd => "the number of iterations is not known: tile the loop first",
            Illegal::TooMany => "too many iterations to write out",
            Illegal::NotInnermost => "a loop that is not unrolled lies inside one that is: interchange them first",
        })
    }
}

/// Rows of a register tile where extents are not known: with two vectors of each they take half of sixteen registers.
const TILE_ROWS: usize = 4;
/// Lanes that all rows of a register tile take before the next ones, so that their operands stay in L1.
const TILE_PANEL_LANES: usize = 64;
/// Folded elements that all tiles take before the next ones, so that what they read stays in L2.
const TILE_FOLDED: usize = TERMS_PER_BLOCK;

/// The initial order of `axes` axes.
pub(crate) fn row_major(axes: usize) -> Vec<Loop> {
    (0..axes)
        .map(|axis| Loop { axis, step: 1, mark: Mark::Sequential, at_most: None, in_pairs: false, prefetches: false })
        .collect()
}

impl Kernel {
    /// Whether its loops are those of a schedule of the program's, or their order is not row-major, or a loop is unrolled.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.has_schedule || self.loops != row_major(self.axes.len())
    }

    /// Its loops, for messages: `[i0 by 4, i1, i2, unrolled i0]`.
    pub(crate) fn shown_loops(&self) -> String {
        format!("[{}]", self.loops.iter().map(Loop::to_string).collect::<Vec<_>>().join(", "))
    }

    /// Splits a loop: one over tiles of `size` points, and inside it one over a tile.
    pub(crate) fn tile(&mut self, at: usize, size: usize) -> Result<(), Illegal> {
        let own = *self.loops.get(at).ok_or(Illegal::NoLoop)?;
        let fits = |around: usize| around > size && around.is_multiple_of(size);
        if size <= own.step || !size.is_multiple_of(own.step) || !self.around(at).is_none_or(fits) {
            return Err(Illegal::TileSize);
        }
        if own.is_unrolled() {
            return Err(Illegal::NotInnermost);
        }
        self.loops.insert(
            at,
            Loop { step: size, mark: Mark::Sequential, at_most: None, in_pairs: false, prefetches: false, ..own },
        );
        Ok(())
    }

    /// Swaps a loop with the one directly inside it.
    pub(crate) fn interchange(&mut self, at: usize) -> Result<(), Illegal> {
        let (Some(outer), Some(inner)) = (self.loops.get(at), self.loops.get(at + 1)) else {
            return Err(Illegal::NoLoop);
        };
        if outer.axis == inner.axis {
            return Err(Illegal::SameAxis);
        }
        if inner.is_unrolled() && !outer.is_unrolled() {
            return Err(Illegal::NotInnermost);
        }
        // Several folded axes are combined in row-major order.
        let folded = |l: &Loop| self.axes[l.axis] == AxisKind::Reduction;
        let ordered = |f: &Sink| matches!(f, Sink::Scatter { .. } | Sink::Compact | Sink::Segments { .. });
        if (folded(outer) && folded(inner)) || self.outputs.iter().any(|o| ordered(&o.sink)) {
            return Err(Illegal::Ordered);
        }
        self.loops.swap(at, at + 1);
        Ok(())
    }

    /// Unrolls a loop over a tile.
    pub(crate) fn unroll(&mut self, at: usize) -> Result<(), Illegal> {
        let inside = self.loops.get(at + 1..).ok_or(Illegal::NoLoop)?;
        if !inside.iter().all(Loop::is_unrolled) {
            return Err(Illegal::NotInnermost);
        }
        let copies: usize =
            (at..self.loops.len()).map(|k| self.iterations(k).ok_or(Illegal::OpenEnd)).product::<Result<_, _>>()?;
        if copies > MAX_UNROLLED_COPIES {
            return Err(Illegal::TooMany);
        }
        self.loops[at].mark = Mark::Unrolled;
        Ok(())
    }

    /// The points per iteration of the enclosing loop over the same axis.
    fn around(&self, at: usize) -> Option<usize> {
        let axis = self.loops[at].axis;
        self.loops[..at].iter().rev().find(|l| l.axis == axis).map(|l| l.step)
    }

    /// The iterations of a loop over a full tile; none if it runs to the end of an axis whose extent is unknown.
    pub(crate) fn iterations(&self, at: usize) -> Option<usize> {
        match self.around(at) {
            Some(around) => Some(around / self.loops[at].step),
            None => self.loops[at].at_most,
        }
    }

    /// The loop whose points become vector lanes: the one that is marked, else the innermost one over single points of a
    /// parallel axis, preferably not unrolled.
    pub(crate) fn lane_loop(&self) -> Option<usize> {
        let over_points = |l: &&Loop| l.step == 1 && self.axes[l.axis] == AxisKind::Parallel;
        let last = |unrolled| self.loops.iter().rposition(|l| over_points(&l) && l.is_unrolled() == unrolled);
        let marked = self.loops.iter().position(|l| l.mark == Mark::Lanes);
        marked.or_else(|| last(false)).or_else(|| last(true))
    }

    /// The first loop inside which partial results are in registers: inside the lane loop, all loops run along folded axes or are
    /// unrolled.
    pub(crate) fn register_loop(&self, lane: usize) -> usize {
        let stays = |l: &&Loop| l.is_unrolled() || self.axes[l.axis] == AxisKind::Reduction;
        self.loops.len() - self.loops[lane + 1..].iter().rev().take_while(stays).count()
    }

    /// Whether each block of terms of a fused fold is added in registers: outside of those there are no loops along folded axes
    /// but such over whole blocks. Where the first folded axis is several, blocks follow the first one of these.
    pub(crate) fn adds_term_blocks(&self) -> bool {
        if self.folded() > 0 && self.collapsed.contains(&(self.axes.len() - self.folded())) {
            return false;
        }
        let Some(lane) = self.lane_loop() else { return false };
        let mut outer =
            self.loops[..self.register_loop(lane)].iter().filter(|l| self.axes[l.axis] == AxisKind::Reduction);
        outer.all(|l| self.folded() == 1 && l.step.is_multiple_of(TERMS_PER_BLOCK))
    }

    /// The kernel in register tiles, if rows that are folded share loads: a few rows at a time, with their partial
    /// results in registers, for panels of lanes whose operands stay in L1. This covers matrix products over any
    /// operators, and convolutions with several filters.
    pub(crate) fn register_tiled(mut self) -> Kernel {
        let before = self.loops.clone();
        let rows = self.speculated().map_or_else(|| self.shared_axis(), |speculated| speculated.shared_axis());
        let tiled = rows.map(|rows| self.tile_registers(rows));
        if !matches!(tiled, Some(Ok(()))) {
            self.loops = before;
        }
        self
    }

    /// Moves a few rows along an axis inside all folded loops.
    fn tile_registers(&mut self, rows: usize) -> Result<(), Illegal> {
        let lanes = self.axes.len() - self.folded() - 1;
        self.tile(rows, TILE_ROWS)?;
        // Each loop behind it is one further in now.
        (rows + 1..self.axes.len()).try_for_each(|at| self.interchange(at))?;
        self.unroll(self.axes.len())?;
        // The tiles directly around the lanes, and the panels around both.
        (rows..lanes - 1).try_for_each(|at| self.interchange(at))?;
        self.tile(lanes, TILE_PANEL_LANES)?;
        self.interchange(lanes - 1)?;
        if self.folded() > 1 {
            return Ok(());
        }
        let folded = lanes + 2;
        self.tile(folded, TILE_FOLDED)?;
        (lanes - 1..folded).rev().try_for_each(|at| self.interchange(at))
    }

    /// The axis outside of the lane axis along which most loads are invariant, if rows are folded by built-in
    /// operators. Conditionals are invariant along it, too, so that all rows of a tile share each.
    fn shared_axis(&self) -> Option<usize> {
        let region = &self.element.region;
        let lanes = self.axes.len().checked_sub(self.folded() + 1)?;
        let folds = self.outputs.iter().all(|o| matches!(o.sink, Sink::Fold { builtin: Some(_), .. }));
        let leaves: usize = self.outputs.iter().map(Output::leaves).sum();
        if !folds || !is_plain(region, true) || leaves > 2 || self.axes.last() != Some(&AxisKind::Reduction) {
            return None;
        }
        let Dependences { loads, branches } = self.dependences();
        // A shared vector saves more than a shared scalar.
        let saved =
            |axis: usize| loads.iter().filter(|l| !l.along[axis]).map(|l| 1 + usize::from(l.along[lanes])).sum();
        let candidates = (0..lanes).filter(|axis| !branches[*axis]);
        let most: (usize, usize) = candidates.map(|axis| (saved(axis), axis)).max()?;
        (most.0 > 0).then_some(most.1)
    }
}

/// Whether a region has loads, arithmetic and, if they may be there, conditionals of such alone.
fn is_plain(r: &Region, conditionals: bool) -> bool {
    r.nodes.iter().all(|n| match &n.op {
        Op::Index(l) => l.edge.is_none(),
        Op::Own(KernelOp::Inside { .. }) => false,
        Op::If { then, else_, .. } => conditionals && is_plain(then, false) && is_plain(else_, false),
        op => op.regions().is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::of_text;

    /// A matrix product over other operators than (+, *).
    fn product() -> Kernel {
        let text = "program(a: [2]i32, b: [2]i32) {
            c: [3]i32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
              f: |%i: i64, %j: i64, %k: i64| add(a[%i, %k], b[%k, %j]))
            m: [2]i32 = fold1(c, f: |%x: i32, %y: i32| min(%x, %y))
            yield m
          }";
        kernel(text)
    }

    fn kernel(text: &str) -> Kernel {
        let plan = of_text("test", text);
        plan.launches().next().unwrap().kernel.clone()
    }

    fn plain(mut kernel: Kernel) -> Kernel {
        kernel.loops = row_major(kernel.axes.len());
        kernel
    }

    fn loops(kernel: &Kernel) -> String {
        let text = kernel.to_string();
        let line = text.lines().find_map(|l| l.trim().strip_prefix("loops: [")?.strip_suffix(']'));
        line.unwrap_or("row-major").to_string()
    }

    #[test]
    fn products_are_register_tiled() {
        assert_eq!(loops(&product()), "i2 by 256, i1 by 64, i0 by 4, i1, i2, unrolled i0");
        let sum = "program(a: [2]f32) { s: [1]f32 = fold1(a, f: |%x: f32, %y: f32| add(%x, %y)) yield s }";
        assert_eq!(loops(&kernel(sum)), "row-major");
    }

    #[test]
    fn rows_read_filters_behind_the_condition_of_windows() {
        // The filters are read at `r + 2 q` behind the condition of the windows, too: at one address in all lanes.
        let guarded = |filter: &str| {
            format!(
                "program(g: [2]f32, w: [3]f32, n: [0]i64) {{
                   t: [5]f32 = generate(shape: || (extent(w, 1), 2i64, n[], extent(g, 0), n[]),
                     f: |%c: i64, %r: i64, %v: i64, %o: i64, %q: i64| {{
                     %i: i64 = sub(%v, %q)
                     %p: i64 = add(%r, mul(2i64, %q))
                     %here: bool = and(and(ge(%i, 0i64), lt(%i, extent(g, 1))), and(ge(%p, 0i64), lt(%p, extent(w, 2))))
                     %x: f32 = if %here {{ yield mul(g[%o, %i], w[{filter}]) }} else {{ yield 0.0f32 }}
                     yield %x
                   }})
                   s: [4]f32 = fold(t, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
                   y: [3]f32 = fold(s, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
                   yield y
                 }}"
            )
        };
        let tiled = kernel(&guarded("%o, %c, %p"));
        assert_eq!(loops(&tiled), "i1, i2 by 64, i0 by 4, i2, i3, i4, unrolled i0");
        // Not if each lane reads another element there.
        let varying = kernel(&guarded("%o, add(%c, %v), %p"));
        assert_eq!(loops(&varying), "row-major");
    }

    #[test]
    fn rewrites_change_the_loops() {
        let mut k = plain(product());
        assert_eq!(loops(&k), "row-major");
        k.tile(0, 8).unwrap();
        k.tile(1, 2).unwrap();
        assert_eq!(loops(&k), "i0 by 8, i0 by 2, i0, i1, i2");
        k.interchange(2).unwrap();
        k.interchange(3).unwrap();
        assert_eq!(loops(&k), "i0 by 8, i0 by 2, i1, i2, i0");
        k.unroll(4).unwrap();
        assert_eq!(loops(&k), "i0 by 8, i0 by 2, i1, i2, unrolled i0");
        assert_eq!((k.iterations(0), k.iterations(1), k.iterations(4)), (None, Some(4), Some(2)));
        assert_eq!(k.loops[k.lane_loop().unwrap()].axis, 1);
        k.interchange(1).unwrap();
        assert_eq!(loops(&k), "i0 by 8, i1, i0 by 2, i2, unrolled i0");
    }

    #[test]
    fn what_would_change_a_result_is_illegal() {
        let mut k = plain(product());
        assert_eq!(k.tile(3, 4), Err(Illegal::NoLoop));
        assert_eq!(k.tile(0, 1), Err(Illegal::TileSize));
        assert_eq!(k.unroll(2), Err(Illegal::OpenEnd));
        assert_eq!(k.unroll(0), Err(Illegal::NotInnermost));
        assert_eq!(k.interchange(2), Err(Illegal::NoLoop));
        k.tile(2, 8).unwrap();
        assert_eq!(k.tile(3, 3), Err(Illegal::TileSize), "a tile divides the one around it");
        assert_eq!(k.interchange(2), Err(Illegal::SameAxis));
        k.unroll(3).unwrap();
        assert_eq!(k.interchange(2), Err(Illegal::SameAxis));
        assert_eq!(k.tile(3, 4), Err(Illegal::NotInnermost));
        let mut wide = plain(product());
        wide.tile(2, 128).unwrap();
        assert_eq!(wide.unroll(3), Err(Illegal::TooMany));
        let scatter = "program(a: [2]i32) {
            n: [1]i32 = generate(shape: || (8i64), f: |%i: i64| 0i32)
            h: [1]i32 = permute(a, into: n, combine: |%x: i32, %y: i32| %x, target: |%i: i64, %j: i64| (1u8, %j))
            yield h
          }";
        let mut k = kernel(scatter);
        assert_eq!(k.interchange(0), Err(Illegal::Ordered));
        let unchanged = k.clone();
        assert_eq!(loops(&unchanged), "row-major");
        let window = "program(a: [2]f32) {
            w: [4]f32 = generate(shape: || (extent(a, 0), 8i64, 3i64, 3i64),
              f: |%i: i64, %j: i64, %k: i64, %l: i64| a[add(%i, %k), add(%j, %l)])
            rows: [3]f32 = fold1(w, f: |%x: f32, %y: f32| add(%x, %y))
            sums: [2]f32 = fold1(rows, f: |%x: f32, %y: f32| add(%x, %y))
            yield sums
          }";
        let mut folds = plain(kernel(window));
        assert_eq!(folds.interchange(2), Err(Illegal::Ordered));
        folds.interchange(1).unwrap();
        assert_eq!(loops(&folds), "i0, i2, i1, i3");
        k.tile(1, 4).unwrap();
        assert_eq!(loops(&k), "i0, i1 by 4, i1");
    }
}
