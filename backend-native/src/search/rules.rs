//! The rules by which a loop nest becomes another one that computes the same, as data.
//!
//! They are those of D. Berényi, A. Leitereg, G. Lehel, *Towards scalable pattern-based optimization for dense linear algebra* (2018),
//! over loops: a `map` is a loop over an axis of the result, `rnz` (a reduction of a zipped map) one over a folded axis. Each takes a
//! nest and a place in it, and yields the nest that it becomes there, if its condition holds. That a kernel folds in its order is
//! checked of what it yields, by the kernel ([`Kernel::accepts`]).
//!
//! What fuses (`map` after `map`, `rnz` after `map`, reductions of reductions) is [`acc_desugar::fuse`]'s: a schedule
//! is of the nest that this makes, and `compute` without one stores an array that would be inlined.

use crate::kernel::{AxisKind, Kernel};
use acc_core::ir::{Collapse, Loop, Mark, Schedule};
use std::fmt::{self, Display, Formatter};

/// A rewrite of a loop nest.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it rewrites.
    pub from: &'static str,
    /// What it makes of that.
    pub to: &'static str,
    /// When it may.
    pub condition: &'static str,
    apply: fn(At<'_>) -> Option<Schedule>,
}

/// Where a rule is applied.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    /// The kernel.
    pub(crate) kernel: &'a Kernel,
    /// Its nest.
    pub(crate) nest: &'a Schedule,
    /// Which loop, counted from the outermost one.
    pub(crate) at: usize,
    /// The iterations of a tile, for the rules that make one.
    pub(crate) size: usize,
}

/// All rules.
pub static RULES: [Rule; 9] = [
    Rule {
        name: "map_map",
        from: "map (map f)",
        to: "flip (map (map f))",
        condition: "two loops, one directly within the other, over different axes that are not folded",
        apply: |at| at.exchanged([false, false]),
    },
    Rule {
        name: "map_rnz",
        from: "map (rnz r m)",
        to: "rnz (lift r) (map m)",
        condition: "a loop over an axis that is not folded, directly around one that is: partial results go to memory",
        apply: |at| at.exchanged([false, true]),
    },
    Rule {
        name: "rnz_map",
        from: "rnz (lift r) (map m)",
        to: "map (rnz r m)",
        condition: "the inverse of map_rnz",
        apply: |at| at.exchanged([true, false]),
    },
    Rule {
        name: "rnz_rnz",
        from: "rnz r (rnz r m)",
        to: "flip (rnz r (rnz r m))",
        condition: "two folded axes whose operators yield the same in any order: integers and Booleans",
        apply: |at| at.exchanged([true, true]),
    },
    Rule {
        name: "subdivide",
        from: "a loop",
        to: "a loop over tiles, and one inside of a tile",
        condition: "the tile divides the tile around it",
        apply: |at| {
            let mut loops = at.nest.loops().to_vec();
            let own = *loops.get(at.at)?;
            loops.insert(at.at, Loop { step: own.step.checked_mul(at.size)?, mark: Mark::Sequential, ..own });
            at.of(loops)
        },
    },
    Rule {
        name: "flatten",
        from: "a loop over tiles, and one directly within over the same axis",
        to: "one loop",
        condition: "the inverse of subdivide",
        apply: |at| {
            let mut loops = at.nest.loops().to_vec();
            let (outer, inner) = (*loops.get(at.at)?, *loops.get(at.at + 1)?);
            loops.remove(at.at);
            if outer.axis == inner.axis && outer.mark == inner.mark { at.of(loops) } else { None }
        },
    },
    Rule {
        name: "collapse",
        from: "map (map f), or rnz r (rnz r m)",
        to: "one loop over the points of both",
        condition: "two loops, one directly within the other, each the only one over its axis; the axes are neighbours",
        apply: |at| at.collapsed(),
    },
    Rule {
        name: "unroll",
        from: "a loop inside of a tile",
        to: "code for each of its iterations",
        condition: "all loops within are unrolled, of at most 64 points together",
        apply: |at| at.marked(Mark::Unrolled),
    },
    Rule {
        name: "lanes",
        from: "a loop over points",
        to: "lanes of vectors",
        condition: "its axis is not folded",
        apply: |at| at.marked(Mark::Lanes),
    },
];

impl Rule {
    /// The nest that it makes of another one; none if its condition does not hold.
    pub(crate) fn apply(&self, at: At<'_>) -> Option<Schedule> {
        let schedule = (self.apply)(at)?;
        at.kernel.accepts(&schedule).ok().map(|()| schedule)
    }

    /// The rule of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.name == name)
    }
}

impl At<'_> {
    /// The nest of other loops over the same axes.
    fn of(self, loops: Vec<Loop>) -> Option<Schedule> {
        Schedule::with_collapsed(loops, self.nest.collapsed().to_vec()).ok()
    }

    /// The nest with this loop and the next one as one.
    fn collapsed(self) -> Option<Schedule> {
        let mut loops = self.nest.loops().to_vec();
        let (outer, inner) = (*loops.get(self.at)?, *loops.get(self.at + 1)?);
        let is_plain =
            |l: Loop| l.mark == Mark::Sequential && self.nest.loops().iter().filter(|m| m.axis == l.axis).count() == 1;
        let mut collapsed = self.nest.collapsed().to_vec();
        let axes = |l: Loop| {
            let own = self.nest.collapsed().iter().find(|c| c.first == l.axis);
            own.copied().unwrap_or(Collapse { first: l.axis, last: l.axis })
        };
        let (first, next) = (axes(outer), axes(inner));
        if !is_plain(outer) || !is_plain(inner) || first.last.checked_add(1) != Some(next.first) {
            return None;
        }
        loops.remove(self.at + 1);
        collapsed.retain(|c| *c != first && *c != next);
        collapsed.push(Collapse { first: first.first, last: next.last });
        Schedule::with_collapsed(loops, collapsed).ok()
    }

    /// The nest with this loop and the next one exchanged, if they are over axes that are folded or not as given.
    fn exchanged(self, folded: [bool; 2]) -> Option<Schedule> {
        let mut loops = self.nest.loops().to_vec();
        let (outer, inner) = (loops.get(self.at)?, loops.get(self.at + 1)?);
        let is_folded = |l: &Loop| self.kernel.axes.get(l.axis) == Some(&AxisKind::Reduction);
        if outer.axis == inner.axis || [is_folded(outer), is_folded(inner)] != folded {
            return None;
        }
        loops.swap(self.at, self.at + 1);
        self.of(loops)
    }

    fn marked(self, mark: Mark) -> Option<Schedule> {
        let mut loops = self.nest.loops().to_vec();
        let own = loops.get_mut(self.at).filter(|l| l.mark == Mark::Sequential)?;
        own.mark = mark;
        self.of(loops)
    }
}

/// What a rule makes of what, and when.
impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}, if {}", self.name, self.from, self.to, self.condition)
    }
}
