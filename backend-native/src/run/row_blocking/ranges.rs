//! The rows that each kernel of a row blocking computes for a block of the last one's rows.

use crate::lower::row_blocking::BlockedKernel;
use crate::lower::row_reads::{Number, RowRead};
use acc_core::ir::ArrayId;
use acc_desugar::analysis::access::Bound;
use smallvec::SmallVec;
use std::ops::Range;

/// The rows of each kernel.
pub(super) type Ranges = SmallVec<[Range<usize>; 4]>;

/// Kernels whose extents are known.
pub(super) struct RowRanges {
    kernels: Vec<Extents>,
}

/// The extents of an array, if they are known.
type Shape<'a> = &'a dyn Fn(ArrayId) -> Option<&'a [usize]>;

struct Extents {
    rows: usize,
    has_halo: bool,
    /// Whether the rows of a block are kept, whether other kernels read them or not.
    is_kept: bool,
    reads: Vec<(usize, Window)>,
}

/// The rows that a row reads: those between two ends, each of which never decreases from one row to the next.
struct Window {
    step: i64,
    ends: [i64; 2],
    bounds: SmallVec<[Bound<i64>; 2]>,
}

impl RowRanges {
    /// `extents` are those of the kernels' index spaces, `shape` those of arrays. None if they are not known, if kernels without a halo
    /// have other rows than the last one, or where rows beyond an array are none of its own.
    pub(super) fn new(kernels: &[BlockedKernel], extents: &[&[usize]], shape: Shape<'_>) -> Option<RowRanges> {
        let rows_of = |k: usize| extents.get(k)?.first().copied();
        let last = rows_of(kernels.len().checked_sub(1)?)?;
        let kernels = kernels.iter().zip(extents).enumerate().map(|(k, (kernel, extents))| {
            let rows = rows_of(k)?;
            let windows = kernel.reads.iter().map(|(of, read)| {
                let is_within = !read.is_mirrored || rows <= rows_of(*of)?;
                Some((*of, Window::new(read, extents, shape).filter(|_| is_within)?))
            });
            let reads = windows.collect::<Option<_>>()?;
            (kernel.has_halo || rows == last).then_some(Extents {
                rows,
                has_halo: kernel.has_halo,
                is_kept: false,
                reads,
            })
        });
        Some(RowRanges { kernels: kernels.collect::<Option<_>>()? })
    }

    /// Keeps the rows of a kernel, which has a halo.
    pub(super) fn keep(&mut self, kernel: usize) {
        self.kernels.iter_mut().skip(kernel).take(1).for_each(|k| k.is_kept = true);
    }

    /// The rows of the last kernel.
    pub(super) fn rows(&self) -> usize {
        self.kernels.last().map_or(0, |k| k.rows)
    }

    /// Whether a kernel computes other rows than those of a block.
    pub(super) fn has_halo(&self, kernel: usize) -> bool {
        self.kernels.get(kernel).is_some_and(|k| k.has_halo)
    }

    /// The most rows around a row that a kernel computes with it, unless that is at a border. None if an index overflows.
    pub(super) fn halo(&self) -> Option<usize> {
        let row = self.rows() / 2;
        let ranges = self.of_block(&(row..row + 1))?;
        Some(ranges.iter().map(Range::len).max()?.saturating_sub(1))
    }

    /// The rows of each kernel for a block of rows. Rows that no block reads are computed with the first block or the last one, for they
    /// may fault. None if an index overflows.
    pub(super) fn of_block(&self, block: &Range<usize>) -> Option<Ranges> {
        let all = self.rows();
        let mut ranges: Ranges = self.kernels.iter().map(|_| block.clone()).collect();
        let mut is_read: SmallVec<[bool; 4]> = self.kernels.iter().map(|k| k.is_kept).collect();
        for (k, kernel) in self.kernels.iter().enumerate().rev() {
            if kernel.has_halo {
                let start = if block.start == 0 { 0 } else { ranges[k].start };
                let end = if block.end == all { kernel.rows } else { ranges[k].end };
                ranges[k] = start..end;
            }
            for (of, window) in &kernel.reads {
                let read = window.of_rows(&ranges[k], self.kernels[*of].rows)?;
                let before = std::mem::replace(&mut is_read[*of], true).then(|| ranges[*of].clone());
                ranges[*of] = before.map_or(read.clone(), |r| r.start.min(read.start)..r.end.max(read.end));
            }
        }
        Some(ranges)
    }
}

impl Window {
    fn new(read: &RowRead, extents: &[usize], shape: Shape<'_>) -> Option<Window> {
        let number = |n: &Number| {
            n.extents.iter().try_fold(n.literal, |sum, (array, dim, factor)| {
                let extent = i64::try_from(*shape(*array)?.get(*dim as usize)?).ok()?;
                sum.checked_add(factor.checked_mul(extent)?)
            })
        };
        let [mut first, mut last] = [number(&read.window[0])?, number(&read.window[1])?];
        for (axis, step) in &read.folded {
            let reach = step.checked_mul(i64::try_from(extents.get(*axis)?.checked_sub(1)?).ok()?)?;
            first = first.checked_add(reach.min(0))?;
            last = last.checked_add(reach.max(0))?;
        }
        let bounds = read.bounds.iter().map(|bound| {
            Some(match bound {
                Bound::AtLeast(n) => Bound::AtLeast(number(n)?),
                Bound::AtMost(n) => Bound::AtMost(number(n)?),
            })
        });
        Some(Window { step: read.step, ends: [first, last], bounds: bounds.collect::<Option<_>>()? })
    }

    /// What some rows read of an array with so many, at least one.
    fn of_rows(&self, rows: &Range<usize>, count: usize) -> Option<Range<usize>> {
        let end = |row: usize, end: i64| {
            let at = self.step.checked_mul(i64::try_from(row).ok()?)?.checked_add(end)?;
            let at = self.bounds.iter().fold(at, |at, bound| match bound {
                Bound::AtLeast(n) => at.max(*n),
                Bound::AtMost(n) => at.min(*n),
            });
            // Beyond its ends an array is read at the nearest row, if at all.
            usize::try_from(at.max(0)).ok().map(|at| at.min(count - 1))
        };
        Some(end(rows.start, self.ends[0])?..end(rows.end - 1, self.ends[1])? + 1)
    }
}
