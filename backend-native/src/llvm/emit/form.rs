//! The functions that a kernel may become.

use super::patches::leaves_apart;
use super::turned::axis_turned;
use crate::kernel::{AxisKind, Finish, Kernel};

/// What a function does with the elements of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Form {
    /// Stores each at its point. Lanes run along the innermost axis.
    Store {
        /// Whether all axes are taken as one: every array that is read has the extents of the index space.
        flat: bool,
        /// Whether results are written past the caches: each row of each begins at a cache line.
        stream: bool,
        /// Whether what is read across rows is turned; then at most [`PANEL`] columns are computed at once.
        turned: bool,
    },
    /// The same, what is read across rows being turned, past the caches wherever lines of these begin in the rows of results.
    OwnLines,
    /// Stores each at its point. The lanes of a step are those of several rows, each vector along the innermost axis.
    Patches,
    /// Folds and scans rows from end to end, and stores beside. Lanes are rows: they run along the second axis from
    /// within.
    Rows,
    /// Stores and folds in the order of the kernel's [loops](Kernel::loops). Rows and columns are indices along the first
    /// and the second axis, if these are parallel.
    Scheduled,
    /// Folds and scans a chunk of one row, and stores beside. Lanes run along the row.
    Chunk {
        /// Whether results are written past the caches.
        stream: bool,
    },
    /// The same, for the totals of the chunk alone.
    Totals,
    /// The same of whole rows, each of which is one chunk, and nothing comes before it but the initial value of a fold.
    Whole,
    /// Combines each into its target. Lanes run along the innermost axis.
    Scatter,
    /// The same where targets are [records](crate::kernel::Record), all of them in the memory of the first leaf.
    Records,
    /// Stores of each whether it is kept, its target, and its leaves.
    Located,
    /// Counts those that are kept.
    Count,
    /// Stores those that are kept, one after the other, and what the epilogue makes of them.
    Compact,
}

impl Form {
    /// How many there are.
    pub(crate) const COUNT: usize = 19;

    /// A number below [`COUNT`](Form::COUNT), another for each.
    pub(crate) fn number(self) -> usize {
        match self {
            Form::Store { turned: true, stream, .. } => 12 + usize::from(stream),
            Form::Store { flat, stream, turned: false } => usize::from(flat) + 2 * usize::from(stream),
            Form::Rows => 4,
            Form::Chunk { stream: false } => 5,
            Form::Chunk { stream: true } => 16,
            Form::Totals => 6,
            Form::Scatter => 7,
            Form::Count => 8,
            Form::Compact => 9,
            Form::Whole => 10,
            Form::Scheduled => 11,
            Form::Located => 14,
            Form::Records => 15,
            Form::Patches => 17,
            Form::OwnLines => 18,
        }
    }

    /// The forms that launches of a kernel choose from.
    pub(crate) fn of(kernel: &Kernel) -> Vec<Form> {
        if kernel.epilogue.as_ref().is_some_and(|e| e.order.is_some()) {
            return vec![Form::Rows];
        }
        let own: &[Form] = match kernel.axes.last() {
            Some(AxisKind::Reduction) if kernel.folded() > 1 => return vec![Form::Scheduled],
            Some(AxisKind::Reduction) => &[Form::Rows, Form::Chunk { stream: false }, Form::Whole],
            Some(AxisKind::Scan(_)) => &[Form::Rows, Form::Chunk { stream: false }, Form::Totals, Form::Whole],
            Some(AxisKind::Parallel) | None => match kernel.outputs.first().map(|o| &o.finish) {
                Some(Finish::Scatter { .. }) if kernel.record().is_some() => {
                    &[Form::Scatter, Form::Records, Form::Located]
                }
                Some(Finish::Scatter { .. }) => &[Form::Scatter, Form::Located],
                Some(Finish::Compact) => &[Form::Count, Form::Compact],
                _ if axis_turned(kernel).is_some() => &[Form::Store { flat: false, stream: false, turned: true }],
                _ if kernel.axes.len() > 1 && leaves_apart(kernel) => &[Form::Patches],
                _ => &[Form::Store { flat: false, stream: false, turned: false }],
            },
        };
        let own = own.iter().copied().filter(|form| *form != Form::Rows || kernel.axes.len() > 1);
        kernel.is_scheduled().then_some(Form::Scheduled).into_iter().chain(own).collect()
    }

    /// Whether elements are combined along rows of them, lanes running along.
    pub(super) fn is_along(self) -> bool {
        matches!(self, Form::Chunk { .. } | Form::Totals | Form::Whole)
    }

    /// Whether each element is combined into its target.
    pub(super) fn is_scatter(self) -> bool {
        matches!(self, Form::Scatter | Form::Records)
    }

    /// The axis of lanes, and the one of the loop inside a step.
    pub(super) fn axes(self, rank: usize) -> (usize, Option<usize>) {
        match self {
            Form::Store { .. } | Form::Chunk { .. } | Form::Totals | Form::Scatter | Form::Records => (rank - 1, None),
            Form::Whole | Form::Count | Form::Compact | Form::Located | Form::Scheduled => (rank - 1, None),
            Form::Patches | Form::OwnLines => (rank - 1, None),
            Form::Rows => (rank - 2, Some(rank - 1)),
        }
    }
}
