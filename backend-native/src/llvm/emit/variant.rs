//! The variants of a kernel's machine code.

use crate::kernel::{AxisKind, Kernel, Sink};
use crate::llvm::emit::access::transposed_load::transposed_axis;
use crate::llvm::emit::loops::multi_row::has_divergent_loop;

/// The loop nest of a function, and what it does with the elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Variant {
    /// Stores each element at its point. Lanes run along the innermost axis.
    Store {
        /// Whether all axes are collapsed into one: every array that is read has the extents of the index space.
        flat: bool,
        /// Whether results are stored non-temporally: each row of each begins at a cache line.
        stream: bool,
        /// Whether loads across rows are transposed; then at most [`MAX_PANEL_COLUMNS`] columns are computed per call.
        transposed: bool,
    },
    /// `Store` with transposed loads and non-temporal stores, where rows of results do not begin at cache lines.
    UnalignedStreaming,
    /// Stores each element at its point. Each vector of a step belongs to another row, lanes along the innermost axis.
    MultiRow,
    /// Folds and scans whole rows, and stores beside. Lanes are rows: they run along the second innermost axis.
    RowLanes,
    /// Stores and folds in the order of the kernel's [loops](Kernel::loops). Rows and columns are indices along the
    /// first two axes, if these are parallel.
    Scheduled,
    /// Folds and scans a chunk of one row, and stores beside. Lanes run along the row.
    Chunk {
        /// Whether results are stored non-temporally.
        stream: bool,
    },
    /// `Chunk` that computes the totals alone.
    ChunkTotals,
    /// `Chunk` for many rows in one call, each a single chunk without a prefix but the initial value.
    BatchedRows,
    /// Combines each element into its target. Lanes run along the innermost axis.
    Scatter,
    /// `Scatter` into an array of structures ([records](crate::kernel::Record)) in the memory of the first leaf.
    AosScatter,
    /// Stores for each element whether it is kept, its target, and its leaves.
    ScatterTargets,
    /// Counts the elements that are kept.
    CompactCount,
    /// Stores the elements that are kept one after the other, and the epilogue of each.
    Compact,
}

impl Variant {
    /// The number of variants.
    pub(crate) const COUNT: usize = 19;

    /// A distinct number below [`COUNT`](Variant::COUNT).
    pub(crate) fn number(self) -> usize {
        match self {
            Variant::Store { transposed: true, stream, .. } => 12 + usize::from(stream),
            Variant::Store { flat, stream, transposed: false } => usize::from(flat) + 2 * usize::from(stream),
            Variant::RowLanes => 4,
            Variant::Chunk { stream: false } => 5,
            Variant::Chunk { stream: true } => 16,
            Variant::ChunkTotals => 6,
            Variant::Scatter => 7,
            Variant::CompactCount => 8,
            Variant::Compact => 9,
            Variant::BatchedRows => 10,
            Variant::Scheduled => 11,
            Variant::ScatterTargets => 14,
            Variant::AosScatter => 15,
            Variant::MultiRow => 17,
            Variant::UnalignedStreaming => 18,
        }
    }

    /// The variants among which launches of a kernel choose.
    pub(crate) fn of(kernel: &Kernel) -> Vec<Variant> {
        if kernel.epilogue.as_ref().is_some_and(|e| e.order.is_some()) {
            return vec![Variant::RowLanes];
        }
        let own: &[Variant] = match kernel.axes.last() {
            Some(AxisKind::Reduction) if kernel.folded() > 1 => return vec![Variant::Scheduled],
            Some(AxisKind::Reduction) => &[Variant::RowLanes, Variant::Chunk { stream: false }, Variant::BatchedRows],
            Some(AxisKind::Scan(_)) => {
                &[Variant::RowLanes, Variant::Chunk { stream: false }, Variant::ChunkTotals, Variant::BatchedRows]
            }
            Some(AxisKind::Parallel) | None => match kernel.outputs.first().map(|o| &o.sink) {
                Some(Sink::Scatter { .. }) if kernel.record().is_some() => {
                    &[Variant::Scatter, Variant::AosScatter, Variant::ScatterTargets]
                }
                Some(Sink::Scatter { .. }) => &[Variant::Scatter, Variant::ScatterTargets],
                Some(Sink::Compact) => &[Variant::CompactCount, Variant::Compact],
                _ if transposed_axis(kernel).is_some() => {
                    &[Variant::Store { flat: false, stream: false, transposed: true }]
                }
                _ if kernel.axes.len() > 1 && has_divergent_loop(kernel) => &[Variant::MultiRow],
                _ => &[Variant::Store { flat: false, stream: false, transposed: false }],
            },
        };
        let own = own.iter().copied().filter(|variant| *variant != Variant::RowLanes || kernel.axes.len() > 1);
        kernel.is_scheduled().then_some(Variant::Scheduled).into_iter().chain(own).collect()
    }

    /// Whether elements are combined along rows, with lanes along the row.
    pub(super) fn is_along(self) -> bool {
        matches!(self, Variant::Chunk { .. } | Variant::ChunkTotals | Variant::BatchedRows)
    }

    /// Whether each element is combined into its target.
    pub(super) fn is_scatter(self) -> bool {
        matches!(self, Variant::Scatter | Variant::AosScatter)
    }

    /// The lane axis, and the axis of the loop inside a step.
    pub(super) fn axes(self, rank: usize) -> (usize, Option<usize>) {
        match self {
            Variant::Store { .. }
            | Variant::Chunk { .. }
            | Variant::ChunkTotals
            | Variant::Scatter
            | Variant::AosScatter => (rank - 1, None),
            Variant::BatchedRows
            | Variant::CompactCount
            | Variant::Compact
            | Variant::ScatterTargets
            | Variant::Scheduled => (rank - 1, None),
            Variant::MultiRow | Variant::UnalignedStreaming => (rank - 1, None),
            Variant::RowLanes => (rank - 2, Some(rank - 1)),
        }
    }
}
