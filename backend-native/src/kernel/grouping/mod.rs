//! How folds and scans group their elements: the same in machine code, over tiles and in `gemm`, whatever the loops, the vector
//! width, the caches and the number of threads, so that results have the same bits everywhere. Kernel and extents decide.
//!
//! * A fold along memory by built-in operators has [`PARTIAL_RESULTS`] partial results: element `k` goes into number `k %
//!   PARTIAL_RESULTS`. At the end they are combined by halving.
//! * A fold by a user's operator combines neighbours pairwise in blocks of [`PAIRWISE_BLOCK`] elements, and the blocks
//!   in order.
//! * Where rows become lanes, and along several axes, elements are combined in order. Of a sum of products
//!   ([fused terms](crate::kernel::Kernel::with_fused_terms)) blocks of [`TERMS_PER_BLOCK`] terms are summed, each from +0, and the
//!   sums of the blocks are added in order ([`TermBlocks`]). A matrix product of more than [`TERMS_PER_PART`] terms with a small
//!   result is summed in parts of so many, which are added pairwise.
//! * A scan takes steps of [`PARTIAL_RESULTS`] elements, in groups of [`SCAN_GROUP`] that are scanned by doubling
//!   distances.
//! * By a [costly](scans_runs) operator of a user's, what is scanned so are the totals of runs. A block of [`SCAN_BLOCK`] elements
//!   is divided into [`PARTIAL_RESULTS`] runs of equal length (of the last block of a chunk the last run may be shorter, and runs
//!   may be fewer). The elements of a run are combined in order: first alone, to its total; then after everything before the run,
//!   to its results. So each element takes two operations rather than six, and runs are lanes; but elements are transposed.

mod fused_terms;

use super::{Body, region_cost};
pub(crate) use backend_native_lanes::reduce::{PAIRWISE_BLOCK, PARTIAL_RESULTS};
pub(crate) use backend_native_lanes::scans::SCAN_GROUP;
use std::ops::Range;

/// The elements of a run of a whole block: as many as two buffers of many leaves allow on the stack.
pub(crate) const SCAN_RUN: usize = 16;
/// The elements of a block of a scan by a user's operator.
pub(crate) const SCAN_BLOCK: usize = SCAN_RUN * PARTIAL_RESULTS;
/// The least cost of an operator, for each leaf, for which that is faster: log-sum-exp has 64 and takes half the time, an affine
/// function has 2 for each leaf and would take twice as long.
const MIN_COST_OF_RUNS: usize = 12;
/// Terms of a block of a sum of products: on all known processors `gemm` sums so many without storing a result in between.
pub(crate) const TERMS_PER_BLOCK: usize = 256;
/// Terms of a part of a long sum of products.
pub(crate) const TERMS_PER_PART: usize = 4096;
/// The last block takes so many terms more rather than that another block of so few follows: `gemm` adds one or two terms in a
/// way of its own.
pub(crate) const MORE_TERMS_OF_LAST_BLOCK: usize = 2;

/// Whether a scan by an operator, which is not built in, divides its elements into runs.
pub(crate) fn scans_runs(combine: &Body) -> bool {
    region_cost(&combine.region) >= MIN_COST_OF_RUNS * combine.region.results.len()
}

/// The blocks of terms along the first folded axis. Where several axes are folded, blocks are of whole indices of the first one,
/// at least of one.
#[derive(Clone, Copy)]
pub(crate) struct TermBlocks {
    /// Indices of a block.
    len: usize,
    /// How many more the last block may have.
    more: usize,
}

impl TermBlocks {
    /// For folded axes of these extents.
    pub(crate) fn of(folded: &[usize]) -> TermBlocks {
        match folded {
            [_, inner @ ..] if !inner.is_empty() => {
                let terms = inner.iter().fold(1usize, |n, &extent| n.saturating_mul(extent)).max(1);
                TermBlocks { len: (TERMS_PER_BLOCK / terms).max(1), more: 0 }
            }
            _ => TermBlocks { len: TERMS_PER_BLOCK, more: MORE_TERMS_OF_LAST_BLOCK },
        }
    }

    /// The same blocks, of indices of which there are so many for each of these.
    pub(crate) fn times(self, indices: usize) -> TermBlocks {
        TermBlocks { len: self.len.saturating_mul(indices), more: self.more.saturating_mul(indices) }
    }

    /// The parts of a long sum along one axis.
    pub(crate) fn parts() -> TermBlocks {
        TermBlocks { len: TERMS_PER_PART, more: MORE_TERMS_OF_LAST_BLOCK }
    }

    /// Where the block ends that begins at an index.
    pub(crate) fn end(self, first: usize, all: usize) -> usize {
        if all - first <= self.len + self.more { all } else { first + self.len }
    }

    /// The blocks of a range.
    pub(crate) fn blocks(self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut first = range.start;
        std::iter::from_fn(move || {
            if first >= range.end {
                return None;
            }
            let block = first..self.end(first, range.end);
            first = block.end;
            Some(block)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TermBlocks;

    #[test]
    fn the_last_block_is_not_of_one_or_two_terms() {
        let ends = |folded: &[usize], range| TermBlocks::of(folded).blocks(range).map(|b| b.end).collect::<Vec<_>>();
        assert_eq!(ends(&[7], 0..7), [7]);
        assert_eq!(ends(&[258], 0..258), [258]);
        assert_eq!(ends(&[259], 0..259), [256, 259]);
        assert_eq!(ends(&[514], 0..514), [256, 514]);
        assert_eq!(ends(&[1000], 100..870), [356, 612, 870]);
        assert_eq!(ends(&[6, 5, 5], 0..6), [6]);
        assert_eq!(ends(&[21, 5, 5], 0..21), [10, 20, 21]);
        assert_eq!(ends(&[3, 20, 20], 0..3), [1, 2, 3]);
        assert_eq!(ends(&[3, 0], 0..3), [3]);
        assert_eq!(TermBlocks::parts().blocks(0..8194).map(|b| b.end).collect::<Vec<_>>(), [4096, 8194]);
    }
}
