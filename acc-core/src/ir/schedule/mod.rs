//! Schedules: the loops that compute an array, in order.
//!
//! A schedule says in which order the points of an array's index space are computed, and how: it never says what is computed. Its
//! axes are those of the array, then those that are folded to make it, both outermost first. See [`Acc::schedule`](crate::Acc::schedule).
//!
//! Neighbouring axes may be one ([`Collapse`]). One thing that it may say is more than an order: that a fold is one of partial
//! results ([`Regroup`]).

mod collapse;

pub use collapse::Collapse;

use super::{ArrayId, ArrayOp, Names, Program, Stmt};
use smallvec::smallvec;
use std::fmt::{self, Display, Formatter};

/// Copies of the code of a point that all unrolled loops of a nest make together, at most.
pub const MAX_UNROLLED_COPIES: usize = 64;

/// A loop over an axis, or over the part of it that loops further out leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// The axis.
    pub axis: usize,
    /// The points per iteration, over which a loop further in over the same axis runs; 1 for the innermost.
    pub step: usize,
    /// How its iterations run.
    pub mark: Mark,
}

/// How the iterations of a loop run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mark {
    /// One after the other.
    #[default]
    Sequential,
    /// Each with code of its own.
    Unrolled,
    /// As the lanes of vectors.
    Lanes,
    /// On several threads.
    Threads,
}

impl Mark {
    /// The marks, but for [`Sequential`](Mark::Sequential).
    pub const ALL: [Mark; 3] = [Mark::Unrolled, Mark::Lanes, Mark::Threads];

    /// Its word in the text form; none for [`Sequential`](Mark::Sequential).
    pub fn word(self) -> Option<&'static str> {
        match self {
            Mark::Sequential => None,
            Mark::Unrolled => Some("unrolled"),
            Mark::Lanes => Some("lanes"),
            Mark::Threads => Some("threads"),
        }
    }
}

/// A fold by partial results: consecutive terms are folded in tiles, each in order; then the partial results are, in order, and last
/// the terms that no full tile has. The loops are those of the partial results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Regroup {
    /// The axis of the tiles, the first one after those of the array; the terms of a tile are along the next one.
    pub axis: usize,
    /// The terms of a tile.
    pub terms: usize,
}

/// The loops that compute an array, outermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Schedule {
    loops: Vec<Loop>,
    /// In ascending order, disjoint.
    collapsed: Vec<Collapse>,
    regroup: Option<Regroup>,
    within: usize,
}

impl Schedule {
    /// One loop for each of so many axes, outermost first.
    pub fn row_major(axes: usize) -> Schedule {
        let loops = (0..axes).map(|axis| Loop { axis, step: 1, mark: Mark::Sequential }).collect();
        Schedule { loops, collapsed: Vec::new(), regroup: None, within: 0 }
    }

    /// The same loops inside of the first so many loops of the kernel that reads the array: what an iteration of these reads is computed
    /// by each iteration, and the array is not stored as a whole. With 0 loops it is. The error says why that is impossible: with more than
    /// one loop.
    pub fn within(self, loops: usize) -> Result<Schedule, String> {
        if loops > 1 {
            return Err(format!(
                "within {loops} loops: an array is computed inside of the first loop of its reader, or of none"
            ));
        }
        let schedule = Schedule { within: loops, ..self };
        if let (Some(collapsed), true) = (schedule.collapsed.first(), loops > 0) {
            return Err(format!(
                "`{collapsed}`: an array within the loops of its reader is computed row by row; collapse axes of the reader, or none"
            ));
        }
        schedule.check_partial_results()?;
        Ok(schedule)
    }

    /// The same loops for partial results of a fold. The error says why that is impossible: tiles of less than two terms, axes that the
    /// loops do not have, or an array that is computed inside of a loop of its reader.
    pub fn regroup(self, regroup: Option<Regroup>) -> Result<Schedule, String> {
        let schedule = Schedule { regroup, ..self };
        schedule.check_partial_results()?;
        Ok(schedule)
    }

    /// The partial results that the loops are of, if the array is folded by such.
    pub fn regrouped(&self) -> Option<Regroup> {
        self.regroup
    }

    /// The loops alone, and the axes that are collapsed.
    #[must_use]
    pub fn of_partial_results(&self) -> Schedule {
        Schedule { regroup: None, within: 0, ..self.clone() }
    }

    fn check_partial_results(&self) -> Result<(), String> {
        let Some(regroup) = self.regroup else { return Ok(()) };
        let Regroup { axis, terms } = regroup;
        if terms < 2 {
            return Err(format!("`{regroup}`: a partial result has at least 2 terms"));
        }
        if axis.saturating_add(1) >= self.axes() {
            return Err(format!("`{regroup}`: there is no loop over the terms of a tile, i{}", axis.saturating_add(1)));
        }
        if self.within > 0 {
            return Err(format!("`{regroup}`: an array within the loops of its reader is folded in order"));
        }
        Ok(())
    }

    /// Whether an array of this rank may have it, whatever computes the array. The error says why not.
    pub fn check_rank(&self, rank: usize) -> Result<(), String> {
        if self.axes() < rank {
            return Err(format!("it has {} axes, but the array has {rank} of its own", self.axes()));
        }
        // The tiles of partial results are an axis of these.
        let own = rank + usize::from(self.regroup.is_some());
        if let Some(c) = self.collapsed.iter().find(|c| c.first < own && own <= c.last) {
            return Err(format!("`{c}`: i{} is not folded, but i{} is", c.first, c.last));
        }
        match self.regroup {
            Some(r) if r.axis < rank => Err(format!("`{r}`: i{} is an axis of the array and is not folded", r.axis)),
            Some(r) if r.axis > rank => {
                Err(format!("`{r}`: only the outermost axis that is folded has partial results, i{rank}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// How many loops of the kernel that reads the array are around its own.
    pub fn reader_loops(&self) -> usize {
        self.within
    }

    /// A nest of these loops. The error says why they are none:
    ///
    /// * each axis has a loop over its points, which is the innermost one over it;
    /// * the tiles of a loop are whole tiles of the next one over its axis;
    /// * loops on threads are the outermost ones;
    /// * one loop at most is over the lanes of vectors, and it is over points;
    /// * unrolled loops are the innermost ones, each over a tile, and together of at most [`MAX_UNROLLED_COPIES`] points.
    pub fn new(loops: Vec<Loop>) -> Result<Schedule, String> {
        Schedule::with_collapsed(loops, Vec::new())
    }

    /// Whether the loops are a nest.
    fn check(&self) -> Result<(), String> {
        if let Some(axis) = self.without_loop() {
            return Err(format!("there is no loop over i{axis}"));
        }
        let mut axes: Vec<usize> = self.loops.iter().map(|l| l.axis).collect();
        axes.sort_unstable();
        axes.dedup();
        axes.into_iter().try_for_each(|axis| self.check_axis(axis))?;
        self.check_marks()
    }

    /// Whether the loops over an axis divide it into tiles.
    fn check_axis(&self, axis: usize) -> Result<(), String> {
        let own: Vec<&Loop> = self.loops.iter().filter(|l| l.axis == axis).collect();
        for (outer, inner) in own.iter().zip(own.iter().skip(1)) {
            if inner.step >= outer.step {
                return Err(format!("`{outer}` is outside of `{inner}`, but its tiles are not larger"));
            }
            if inner.step == 0 || !outer.step.is_multiple_of(inner.step) {
                return Err(format!("tiles of {} points are not divided by tiles of {}", outer.step, inner.step));
            }
        }
        match own.last() {
            Some(l) if l.step != 1 => Err(format!("there is no loop inside of `{l}` over the points of its tiles")),
            Some(_) | None => Ok(()),
        }
    }

    fn check_marks(&self) -> Result<(), String> {
        let loops = &self.loops;
        let threads = loops.iter().take_while(|l| l.mark == Mark::Threads).count();
        if let Some(inner) = loops.iter().skip(threads).find(|l| l.mark == Mark::Threads) {
            return Err(format!("`{inner}` is inside of a loop that does not run on threads"));
        }
        let mut lanes = loops.iter().filter(|l| l.mark == Mark::Lanes);
        if let (Some(one), other) = (lanes.next(), lanes.next()) {
            if let Some(other) = other {
                return Err(format!("both `{one}` and `{other}` run over the lanes of vectors"));
            }
            if one.step != 1 {
                return Err(format!("`{one}` runs over tiles; the lanes of vectors are single points"));
            }
        }
        let mut copies = 1usize;
        for (at, l) in loops.iter().enumerate().filter(|(_, l)| l.mark == Mark::Unrolled) {
            if let Some(inner) = loops.iter().skip(at).find(|l| l.mark != Mark::Unrolled) {
                return Err(format!("`{inner}` is not unrolled, but is inside of `{l}`"));
            }
            match self.iterations(at) {
                Some(n) => copies = copies.saturating_mul(n),
                None => return Err(format!("`{l}` runs to the end of its axis: only a loop over a tile is unrolled")),
            }
        }
        if copies > MAX_UNROLLED_COPIES {
            return Err(format!("unrolled loops of {copies} points together, of at most {MAX_UNROLLED_COPIES}"));
        }
        Ok(())
    }

    /// Random loops over so many axes, for tests of executors; none if they are no nest. `below` draws a number below another one, which
    /// is at least 1.
    pub fn random(axes: usize, below: &mut dyn FnMut(usize) -> usize) -> Option<Schedule> {
        const TILES: [usize; 5] = [2, 3, 4, 8, 64];
        let inner = if below(4) == 0 { 1 + below(2) } else { 0 };
        let mut loops = Schedule::row_major(axes.checked_sub(inner)?).loops;
        if loops.is_empty() {
            return None;
        }
        for _ in 0..below(4) {
            let at = below(loops.len());
            let own = *loops.get(at)?;
            let step = own.step.checked_mul(*TILES.get(below(TILES.len()))?)?;
            loops.insert(at, Loop { step, ..own });
        }
        for _ in 0..below(6) {
            let n = loops.len();
            loops.swap(below(n), below(n));
        }
        let unrolled = loops.len().saturating_sub(below(3));
        loops.iter_mut().skip(unrolled).for_each(|l| l.mark = Mark::Unrolled);
        let threads = below(3);
        loops.iter_mut().take(threads).for_each(|l| l.mark = Mark::Threads);
        let at = below(loops.len());
        let lanes = loops.get_mut(at).filter(|l| l.mark == Mark::Sequential);
        if let (Some(lanes), 0) = (lanes, below(2)) {
            lanes.mark = Mark::Lanes;
        }
        if inner > 0 {
            return Schedule::randomly_collapsed(&loops, axes, inner, below);
        }
        Schedule::new(loops).ok()
    }

    /// The iterations of a loop over a full tile; none if it runs to the end of its axis.
    pub fn iterations(&self, at: usize) -> Option<usize> {
        let own = self.loops.get(at)?;
        let around = self.loops.iter().take(at).rev().find(|l| l.axis == own.axis)?;
        around.step.checked_div(own.step)
    }

    /// The loops, outermost first.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The number of axes of the nest, those that are collapsed included.
    pub fn axes(&self) -> usize {
        let last = self.loops.iter().map(|l| l.axis).chain(self.collapsed.iter().map(|c| c.last)).max();
        last.map_or(0, |axis| axis.saturating_add(1))
    }
}

impl Program {
    /// The program in which an array is computed by a schedule, in place of the one that it may have; none if no statement outside
    /// of inner blocks defines the array.
    pub fn with_schedule(&self, a: ArrayId, schedule: Schedule) -> Option<Program> {
        let mut with = self.clone();
        let at = with.body.stmts.iter().position(|s| s.results.contains(&a))?;
        if let ArrayOp::Compute { schedule: own, .. } = &mut with.body.stmts[at].op {
            *own = Some(schedule);
            return Some(with);
        }
        // What reads the array reads it computed.
        let before = ArrayId(u32::try_from(with.types.len()).ok()?);
        with.types.push(with.ty(a).clone());
        let names = (0..before.0).map(ArrayId).chain([a]).map(|of| self.names.get(of).cloned());
        with.names = Names::new(names);
        let defined = &mut with.body.stmts[at];
        defined.results.iter_mut().filter(|r| **r == a).for_each(|r| *r = before);
        let (op, loc) = (ArrayOp::Compute { xs: before, schedule: Some(schedule) }, defined.loc.clone());
        with.body.stmts.insert(at + 1, Stmt { results: smallvec![a], op, loc });
        Some(with)
    }
}

/// `threads i1 by 64`: the mark, the axis, and the points per iteration if these are several.
impl Display for Loop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(word) = self.mark.word() {
            write!(f, "{word} ")?;
        }
        write!(f, "i{}", self.axis)?;
        if self.step > 1 { write!(f, " by {}", self.step) } else { Ok(()) }
    }
}

/// `regroup i1 by 256`: the axis of the tiles, and the terms of each.
impl Display for Regroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "regroup i{} by {}", self.axis, self.terms)
    }
}

/// `[threads i1 by 64, i0 by 8, lanes i1, i2, unrolled i0]`, `[i0, lanes i1] within 1`, `[lanes i0, i1] regroup i0 by 256`, or
/// `[lanes i0] collapse i0 to i1`, as in the text form of programs.
impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (k, l) in self.loops.iter().enumerate() {
            write!(f, "{}{l}", if k > 0 { ", " } else { "" })?;
        }
        f.write_str("]")?;
        if let Some(regroup) = self.regroup {
            write!(f, " {regroup}")?;
        }
        self.collapsed.iter().try_for_each(|c| write!(f, " {c}"))?;
        if self.within > 0 { write!(f, " within {}", self.within) } else { Ok(()) }
    }
}
