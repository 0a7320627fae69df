//! Kernels in the making: what they do along their innermost axis, what they hold, how they read.

use super::cost::Facts;
use super::uses::Read;
use crate::analysis::extents::Extent;
use acc_core::ir::{ArrayId, ArrayOp, Class, Dir, Stmt};
use std::collections::BTreeSet;

/// How a kernel's statement reads an array, also through inlined ones.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reads {
    /// At its own point.
    pub point: bool,
    /// As what a permute begins with.
    pub initial: bool,
    /// At other points, so many times.
    pub times: usize,
    /// Once for a launch.
    pub once: bool,
    /// With edges.
    pub window: bool,
}

impl Reads {
    pub(super) fn count(&self) -> usize {
        usize::from(self.point) + usize::from(self.initial) + self.times
    }

    pub(super) fn only_point(&self) -> bool {
        self.point && !self.initial && self.times == 0 && !self.once
    }

    /// Of what a statement reads in this way that is itself read as `self`.
    pub(super) fn through(self, read: Read) -> Reads {
        match read {
            Read::Point => self,
            Read::Initial => Reads { initial: true, ..Reads::default() },
            Read::Times(n) => Reads { times: n * self.count(), once: self.once, ..Reads::default() },
            Read::Window(n) => Reads { times: n * self.count(), once: self.once, window: true, ..Reads::default() },
            Read::Once => Reads { once: true, ..Reads::default() },
            Read::Stored(_) | Read::Measured => Reads::default(),
        }
    }

    pub(super) fn add(&mut self, other: Reads) {
        self.point |= other.point;
        self.initial |= other.initial;
        self.times = self.times.saturating_add(other.times);
        self.once |= other.once;
        self.window |= other.window;
    }
}

/// What a kernel does along its innermost axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Points,
    Fold,
    Scan(Dir),
    Scatter,
    /// Folds segments of rows, alone.
    Segments,
}

impl Kind {
    /// Of one kernel that does both.
    pub(super) fn with(self, other: Kind) -> Option<Kind> {
        match (self, other) {
            (Kind::Scatter | Kind::Segments, _) | (_, Kind::Scatter | Kind::Segments) => None,
            (Kind::Points, k) | (k, Kind::Points) => Some(k),
            (Kind::Fold, Kind::Fold) => Some(Kind::Fold),
            (Kind::Fold, Kind::Scan(Dir::Left)) | (Kind::Scan(Dir::Left), Kind::Fold) => Some(Kind::Scan(Dir::Left)),
            (Kind::Scan(a), Kind::Scan(b)) if a == b => Some(Kind::Scan(a)),
            (Kind::Fold | Kind::Scan(_), Kind::Fold | Kind::Scan(_)) => None,
        }
    }
}

/// A kernel in the making.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub main: BTreeSet<usize>,
    pub epilogue: BTreeSet<usize>,
    pub kind: Kind,
    /// Folds that are one: those whose elements are the next one's results, innermost last, without the outermost.
    pub nested: Vec<usize>,
    /// The extents of the index space, and those of the epilogue's.
    pub space: Vec<Extent>,
    pub after: Vec<Extent>,
    /// The order of the epilogue's axes, if it is another one: the axes of the space along which they run.
    pub order: Option<Vec<usize>>,
    pub facts: Facts,
    /// The arrays that it evaluates on demand, without end perhaps.
    pub demands: BTreeSet<ArrayId>,
    /// Whether the block's evaluation certainly needs it, if the arrays that it is read for have elements.
    pub needed: bool,
    /// Whether it may be evaluated even if it is not needed: it ends, and without a fault.
    pub total: bool,
    /// The axes of the schedule that the program has for an array that it stores: no other kernel joins it then.
    pub scheduled: Option<usize>,
    pub block: usize,
}

impl Kernel {
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.main.iter().chain(&self.epilogue).copied()
    }
}

/// What kind of kernel computes a statement; none if none does.
pub(super) fn kind(s: &Stmt) -> Option<Kind> {
    match s.op.class() {
        Class::Pointwise => Some(Kind::Points),
        Class::Fold => Some(Kind::Fold),
        Class::Scan => {
            if let ArrayOp::Scan { dir, .. } = &s.op {
                Some(Kind::Scan(*dir))
            } else {
                None
            }
        }
        Class::Scatter => Some(Kind::Scatter),
        Class::Segments => Some(Kind::Segments),
        Class::Sort | Class::View | Class::Control => None,
    }
}

/// Whether two kernels may be evaluated together: both are needed, or one is and the other does no harm. (Where one is not, for
/// an array is empty, and faults, the program is evaluated again, statement by statement.)
pub(super) fn together(a: &Kernel, b: &Kernel) -> bool {
    (a.needed && (b.needed || b.total)) || (a.total && b.needed)
}
