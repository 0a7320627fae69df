//! Loop nests while a schedule is written: the steps.

use super::Wrong;
use crate::ir::{self, Collapse, Loop, Mark, Regroup};
use std::sync::atomic::{AtomicU64, Ordering};

/// A loop of a [`Nest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopVar {
    nest: u64,
    number: usize,
}

/// A loop nest while a schedule is written: at first one loop for each axis, outermost first. See [`Acc::schedule`](crate::api::Acc::schedule).
///
/// Each step is a transformation of loop nests (M. Wolfe, *High Performance Compilers for Parallel Computing*, 1996, chapter 9);
/// functions that take a nest and some of its loops compose them. In between, a nest need not be legal.
#[derive(Debug)]
pub struct Nest {
    id: u64,
    /// The loops, outermost first.
    loops: Vec<(LoopVar, Loop)>,
    made: usize,
    /// The axes that are one.
    collapsed: Vec<Collapse>,
    /// The partial results that they are of.
    regroup: Option<Regroup>,
    /// How many loops of the reader are around them.
    within: usize,
    /// What is wrong with the first step that cannot be done.
    wrong: Option<String>,
}

/// The number of nests made so far, which tells their loops apart.
static NESTS: AtomicU64 = AtomicU64::new(0);

impl Nest {
    pub(super) fn new(of: &ir::Schedule) -> Nest {
        let id = NESTS.fetch_add(1, Ordering::Relaxed);
        let loops: Vec<(LoopVar, Loop)> =
            of.loops().iter().enumerate().map(|(number, l)| (LoopVar { nest: id, number }, *l)).collect();
        let (regroup, within) = (of.regrouped(), of.reader_loops());
        Nest { id, made: loops.len(), loops, collapsed: of.collapsed().to_vec(), regroup, within, wrong: None }
    }

    /// The loops, outermost first.
    pub(super) fn vars<const N: usize>(&self) -> Option<[LoopVar; N]> {
        let vars: Vec<LoopVar> = self.loops.iter().map(|(var, _)| *var).collect();
        vars.try_into().ok()
    }

    pub(super) fn fail(&mut self, why: impl FnOnce() -> String) {
        self.wrong.get_or_insert_with(why);
    }

    /// The position of a loop; a mistake if there is no such loop.
    fn find(&mut self, var: LoopVar, step: &str) -> Option<usize> {
        let at = self.loops.iter().position(|(v, _)| *v == var);
        if at.is_none() {
            let gone = if var.nest == self.id {
                "is gone: it was split, merged or collapsed"
            } else {
                "is one of another nest"
            };
            self.fail(|| format!("`{step}` of a loop that {gone}"));
        }
        at
    }

    fn new_var(&mut self) -> LoopVar {
        let var = LoopVar { nest: self.id, number: self.made };
        self.made += 1;
        var
    }

    /// Splits a loop into tiles of `size` iterations (strip mining): a loop over tiles, in its place, and one inside of a tile,
    /// directly within. Where tiles do not divide an axis, the last one is smaller.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i]| { s.split(i, 8); });
    /// assert_eq!(s.to_string(), "[i0 by 8, i0]");
    /// ```
    pub fn split(&mut self, var: LoopVar, size: usize) -> (LoopVar, LoopVar) {
        let (outer, inner) = (self.new_var(), self.new_var());
        let Some(at) = self.find(var, "split") else { return (outer, inner) };
        let own = self.loops[at].1;
        if size < 2 {
            self.fail(|| format!("`split` of `{own}` into tiles of {size}: a tile has at least 2 iterations"));
        }
        let Some(step) = own.step.checked_mul(size.max(1)) else {
            self.fail(|| format!("`split` of `{own}` into tiles of {size}: there are no so large tiles"));
            return (outer, inner);
        };
        self.loops[at] = (inner, own);
        self.loops.insert(at, (outer, Loop { step, mark: Mark::Sequential, ..own }));
        (outer, inner)
    }

    /// Splits several loops, and moves all loops over tiles outside of those inside of a tile: `tile([(i, 8), (j, 64)])`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i, j]| { s.tile([(i, 8), (j, 64)]); });
    /// assert_eq!(s.to_string(), "[i0 by 8, i1 by 64, i0, i1]");
    /// ```
    pub fn tile<const N: usize>(&mut self, of: [(LoopVar, usize); N]) -> ([LoopVar; N], [LoopVar; N]) {
        let both = of.map(|(var, size)| self.split(var, size));
        let (outer, inner) = (both.map(|(outer, _)| outer), both.map(|(_, inner)| inner));
        self.order(&[outer, inner].concat());
        (outer, inner)
    }

    /// Makes one loop of a loop over tiles and the one directly within it over the same axis, which undoes
    /// [`split`](Nest::split).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i]| {
    ///     let (outer, inner) = s.split(i, 8);
    ///     s.merge(outer, inner);
    /// });
    /// assert_eq!(s.to_string(), "[i0]");
    /// ```
    pub fn merge(&mut self, outer: LoopVar, inner: LoopVar) -> LoopVar {
        let var = self.new_var();
        let (Some(o), Some(i)) = (self.find(outer, "merge"), self.find(inner, "merge")) else { return var };
        let (tiles, points) = (self.loops[o].1, self.loops[i].1);
        if i != o + 1 || tiles.axis != points.axis {
            self.fail(|| {
                format!(
                    "`merge` of `{tiles}` and `{points}`: the second one must be over the same axis, directly within"
                )
            });
            return var;
        }
        self.loops[o] = (var, points);
        self.loops.remove(i);
        var
    }

    /// Makes one loop of those over two neighbouring axes, which both are axes of the array, or both are folded: over the points of both,
    /// in row-major order (`collapse` of OpenMP, `fuse` of Halide). It takes the place of the outer one, and is split, vectorized or run
    /// on threads as any other loop is, so that short axes fill the lanes of vectors; the next axis may be collapsed with it, too.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i, j, _]| {
    ///     let both = s.collapse(i, j);
    ///     let (tiles, both) = s.split(both, 64);
    ///     s.parallel(tiles).vectorize(both);
    /// });
    /// assert_eq!(s.to_string(), "[threads i0 by 64, lanes i0, i2] collapse i0 to i1");
    /// ```
    pub fn collapse(&mut self, outer: LoopVar, inner: LoopVar) -> LoopVar {
        let var = self.new_var();
        let (Some(o), Some(i)) = (self.find(outer, "collapse"), self.find(inner, "collapse")) else { return var };
        let (own, next) = (self.loops[o].1, self.loops[i].1);
        let several = [own, next].into_iter().find(|l| self.loops.iter().any(|(_, m)| m.axis == l.axis && m != l));
        let marked = [own, next].into_iter().find(|l| l.mark != Mark::Sequential);
        let (first, inner) = (self.axes_of(own.axis), self.axes_of(next.axis));
        let wrong = match (several, marked) {
            (Some(l), _) => Some(format!("there are several loops over i{}; split the collapsed loop", l.axis)),
            (None, Some(l)) => Some(format!("`{l}` is marked already; mark the collapsed loop")),
            (None, None) if first.last.checked_add(1) != Some(inner.first) => {
                let axis = first.last.saturating_add(1);
                Some(format!(
                    "they are not over neighbouring axes, outermost first: i{axis} is next to i{}",
                    first.last
                ))
            }
            (None, None) if i != o + 1 => Some("the second one must be directly within; order the loops first".into()),
            (None, None) => None,
        };
        if let Some(wrong) = wrong {
            self.fail(|| format!("`collapse` of `{own}` and `{next}`: {wrong}"));
            return var;
        }
        self.collapsed.retain(|c| *c != first && *c != inner);
        self.collapsed.push(Collapse { first: first.first, last: inner.last });
        self.loops[o].0 = var;
        self.loops.remove(i);
        var
    }

    /// The axes that a loop over this one is over.
    fn axes_of(&self, axis: usize) -> Collapse {
        let own = self.collapsed.iter().find(|c| c.first == axis);
        own.copied().unwrap_or(Collapse { first: axis, last: axis })
    }

    /// Puts these loops in this order, outermost first, into the places that they have in the nest.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [_, j, k]| { s.order(&[k, j]); });
    /// assert_eq!(s.to_string(), "[i0, i2, i1]");
    /// ```
    pub fn order(&mut self, loops: &[LoopVar]) -> &mut Nest {
        let mut places = Vec::new();
        for var in loops {
            let Some(at) = self.find(*var, "order") else { return self };
            if places.contains(&at) {
                let twice = self.loops[at].1;
                self.fail(|| format!("`order` has `{twice}` twice"));
                return self;
            }
            places.push(at);
        }
        let moved: Vec<_> = places.iter().map(|at| self.loops[*at]).collect();
        places.sort_unstable();
        for (at, l) in places.into_iter().zip(moved) {
            self.loops[at] = l;
        }
        self
    }

    /// Swaps two loops.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i, _, k]| { s.interchange(i, k); });
    /// assert_eq!(s.to_string(), "[i2, i1, i0]");
    /// ```
    pub fn interchange(&mut self, a: LoopVar, b: LoopVar) -> &mut Nest {
        if let (Some(a), Some(b)) = (self.find(a, "interchange"), self.find(b, "interchange")) {
            self.loops.swap(a, b);
        }
        self
    }

    /// Writes code for each iteration of a loop. It must be one inside of a tile, and be within no loop that is not unrolled.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i]| {
    ///     let (_, inner) = s.split(i, 4);
    ///     s.unroll(inner);
    /// });
    /// assert_eq!(s.to_string(), "[i0 by 4, unrolled i0]");
    /// ```
    pub fn unroll(&mut self, var: LoopVar) -> &mut Nest {
        self.mark(var, Mark::Unrolled, "unroll")
    }

    /// Makes the iterations of a loop lanes of vectors: one over the points of an axis that is not folded. Without this step
    /// the innermost such loop gives the lanes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i, _]| { s.vectorize(i); });
    /// assert_eq!(s.to_string(), "[lanes i0, i1]");
    /// ```
    pub fn vectorize(&mut self, var: LoopVar) -> &mut Nest {
        self.mark(var, Mark::Lanes, "vectorize")
    }

    /// Divides the iterations of a loop among threads: an outermost one, over one of the first two axes of the array. Without
    /// this step the executor divides these axes as it finds best.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let s = Schedule::new(|s, [i, _]| { s.parallel(i); });
    /// assert_eq!(s.to_string(), "[threads i0, i1]");
    /// ```
    pub fn parallel(&mut self, var: LoopVar) -> &mut Nest {
        self.mark(var, Mark::Threads, "parallel")
    }

    /// Computes the array inside of the first loop of the kernel that reads it: the rows that an iteration reads are computed by that
    /// iteration, and the array is not stored as a whole (`compute_at` of Halide, `fuse_outer` of TeML). One kernel may read it,
    /// row by row, and the array is no result of the program. `loops` is 1; 0 undoes the step.
    ///
    /// A row of the reader may need a window of rows, as that of a stencil: along the first axis the array is read at the reader's own
    /// index, plus literals, extents and the indices of folded axes, in any branch or clamped or mirrored at borders. The rows around a
    /// block, its halo, are computed with it; of arrays within each other's loops halos add up.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Matrix::from([[1, 2, 3], [4, 5, 6], [7, 8, 9]]));
    /// // Sums of windows: those along rows are there for some rows at a time.
    /// let along = xs.stencil(Edge::Clamp, |s: Stencil3x3<i32>| s[(0, -1)] + s[(0, 0)] + s[(0, 1)]);
    /// let along = along.schedule(|s, [_, j]| { s.within(1).vectorize(j); });
    /// let sums = along.stencil(Edge::Clamp, |s: Stencil3x3<i32>| s[(-1, 0)] + s[(0, 0)] + s[(1, 0)]);
    /// assert_eq!(Interpreter::new().run(sums)?, Matrix::from([[21, 27, 33], [39, 45, 51], [57, 63, 69]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn within(&mut self, loops: usize) -> &mut Nest {
        self.within = loops;
        self
    }

    /// Folds by partial results of `terms` terms each (`rfactor` of Halide): consecutive terms in tiles, each in order; then the partial
    /// results, in order, and last the terms that no full tile has. `var` is the one loop over the outermost axis that is folded. It
    /// becomes the loop over the terms of a tile, within the loop that is the result, which is over the tiles: an axis that
    /// is not folded, and may be vectorized, run on threads and moved anywhere. This is the one step that rounds otherwise.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = use_(&Vector::from([1, 2, 3, 4, 5])).sum().schedule(|s, [k]| {
    ///     let tiles = s.regroup(k, 2);
    ///     s.vectorize(tiles);
    /// });
    /// assert_eq!(Interpreter::new().run(sum)?.value(), 15);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn regroup(&mut self, var: LoopVar, terms: usize) -> LoopVar {
        let tiles = self.new_var();
        let Some(at) = self.find(var, "regroup") else { return tiles };
        let own = self.loops[at].1;
        let wrong = match self.regroup {
            Some(before) => Some(format!("there are partial results already, `{before}`")),
            None if self.loops.iter().filter(|(_, l)| l.axis == own.axis).count() > 1 => {
                Some(format!("there are several loops over i{}; split them afterwards", own.axis))
            }
            None if self.collapsed.iter().any(|c| c.first == own.axis) => {
                Some("it is over several axes; collapse them afterwards".to_string())
            }
            None => None,
        };
        if let Some(wrong) = wrong {
            self.fail(|| format!("`regroup` of `{own}`: {wrong}"));
            return tiles;
        }
        self.loops.iter_mut().filter(|(_, l)| l.axis >= own.axis).for_each(|(_, l)| l.axis += 1);
        for c in self.collapsed.iter_mut().filter(|c| c.first >= own.axis) {
            (c.first, c.last) = (c.first + 1, c.last + 1);
        }
        self.loops.insert(at, (tiles, Loop { axis: own.axis, step: 1, mark: Mark::Sequential }));
        self.regroup = Some(Regroup { axis: own.axis, terms });
        tiles
    }

    fn mark(&mut self, var: LoopVar, mark: Mark, step: &str) -> &mut Nest {
        if let Some(at) = self.find(var, step) {
            let own = &mut self.loops[at].1;
            match own.mark {
                Mark::Sequential => own.mark = mark,
                _ => {
                    let own = *own;
                    self.fail(|| format!("`{step}` of `{own}`, which is marked already"));
                }
            }
        }
        self
    }

    pub(super) fn finish(self) -> Result<ir::Schedule, Wrong> {
        let loops: Vec<Loop> = self.loops.into_iter().map(|(_, l)| l).collect();
        let shown = loops.iter().map(Loop::to_string).collect::<Vec<_>>().join(", ");
        let made = match self.wrong {
            Some(why) => Err(why),
            None => {
                let schedule = ir::Schedule::with_collapsed(loops, self.collapsed);
                let schedule = schedule.and_then(|schedule| schedule.regroup(self.regroup));
                schedule.and_then(|schedule| schedule.within(self.within))
            }
        };
        made.map_err(|why| Wrong { why, loops: format!("[{shown}]") })
    }
}
