//! Collapsed axes: several neighbouring axes of a nest as one, whose points are in row-major order (`collapse` of OpenMP, `fuse` of
//! Halide). Loops over it are named by the first of the axes.

use super::{Loop, Mark, Schedule};
use std::fmt::{self, Display, Formatter};

/// Neighbouring axes that are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Collapse {
    /// The outermost of them, which its loops are named by.
    pub first: usize,
    /// The innermost of them.
    pub last: usize,
}

impl Collapse {
    /// Whether an axis is one of them.
    pub fn contains(self, axis: usize) -> bool {
        (self.first..=self.last).contains(&axis)
    }

    /// How many axes of a nest it does without.
    fn inner(self) -> usize {
        self.last.saturating_sub(self.first)
    }
}

impl Schedule {
    /// A nest of these loops, over axes of which some are collapsed. Beside what [`new`](Schedule::new) says, an error says that
    /// collapsed axes are fewer than two, that an axis is collapsed twice, or that there is a loop over it alone.
    pub fn with_collapsed(loops: Vec<Loop>, mut collapsed: Vec<Collapse>) -> Result<Schedule, String> {
        collapsed.sort_by_key(|c| c.first);
        if let Some(c) = collapsed.iter().find(|c| c.first >= c.last) {
            return Err(format!("`{c}`: two neighbouring axes at least are one"));
        }
        if let Some((a, b)) = collapsed.iter().zip(collapsed.iter().skip(1)).find(|(a, b)| a.last >= b.first) {
            return Err(format!("`{a}` and `{b}`: an axis is collapsed once"));
        }
        for l in &loops {
            if let Some(c) = collapsed.iter().find(|c| c.contains(l.axis) && l.axis != c.first) {
                return Err(format!("`{l}`: with `{c}` there are loops over i{} alone", c.first));
            }
        }
        let schedule = Schedule { loops, collapsed, regroup: None, within: 0 };
        schedule.check()?;
        Ok(schedule)
    }

    /// The axes that are collapsed, outermost first.
    pub fn collapsed(&self) -> &[Collapse] {
        &self.collapsed
    }

    /// The loops, over axes that are numbered without those that are collapsed.
    pub fn loops_of_collapsed(&self) -> impl Iterator<Item = Loop> + '_ {
        self.loops.iter().map(|l| Loop { axis: self.number_of_collapsed(l.axis), ..*l })
    }

    /// The number of an axis that has loops, without those that are collapsed.
    pub fn number_of_collapsed(&self, axis: usize) -> usize {
        self.collapsed.iter().filter(|c| c.last < axis).fold(axis, |axis, c| axis.saturating_sub(c.inner()))
    }

    /// The nest of the same order without collapsed axes: in the place of the points of each, a loop over each of its axes, the lanes
    /// along the last one; their tiles are not its own. What cannot be marked then is not.
    #[must_use]
    pub fn expanded(&self) -> Schedule {
        let expanded = |keeps: &dyn Fn(Mark) -> bool| {
            let mut loops = Vec::new();
            for l in &self.loops {
                let mark = if keeps(l.mark) { l.mark } else { Mark::Sequential };
                let Some(c) = self.collapsed.iter().find(|c| c.first == l.axis) else {
                    loops.push(Loop { mark, ..*l });
                    continue;
                };
                // The points of each: the innermost axis gives lanes, the outermost one is divided among threads.
                let own = |axis: usize| match mark {
                    Mark::Lanes => axis == c.last,
                    Mark::Threads => axis == c.first,
                    Mark::Sequential | Mark::Unrolled => false,
                };
                let points = (c.first..=c.last).filter(|_| l.step == 1);
                loops.extend(points.map(|axis| Loop {
                    axis,
                    step: 1,
                    mark: if own(axis) { mark } else { Mark::Sequential },
                }));
            }
            Schedule::new(loops).ok()
        };
        let marked = expanded(&|_| true).or_else(|| expanded(&|mark| mark == Mark::Lanes));
        marked.unwrap_or_else(|| Schedule::row_major(self.axes()))
    }

    /// The nest of these loops, which are over fewer axes: two or three neighbouring ones of `axes` are collapsed, drawn by `below`.
    pub(super) fn randomly_collapsed(
        loops: &[Loop],
        axes: usize,
        inner: usize,
        below: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Schedule> {
        let first = below(axes.checked_sub(inner)?);
        let axis = |axis: usize| if axis > first { axis + inner } else { axis };
        let loops = loops.iter().map(|l| Loop { axis: axis(l.axis), ..*l }).collect();
        Schedule::with_collapsed(loops, vec![Collapse { first, last: first + inner }]).ok()
    }

    /// The first axis that has no loop, and is not collapsed with one that has.
    pub(super) fn without_loop(&self) -> Option<usize> {
        let axes = self.axes();
        let mut axis = 0;
        while axis < axes {
            if self.loops.iter().all(|l| l.axis != axis) {
                return Some(axis);
            }
            let last = self.collapsed.iter().find(|c| c.first == axis).map_or(axis, |c| c.last);
            axis = last.saturating_add(1);
        }
        None
    }
}

/// `collapse i0 to i1`
impl Display for Collapse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "collapse i{} to i{}", self.first, self.last)
    }
}
