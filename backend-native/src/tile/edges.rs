//! Reads of stencils, whose neighbours may lie beyond an edge: the inside of a row as it lies, the others one by one.

use super::lanes::{self, Lanes};
use super::load::edge_index;
use super::machine::{Lies, Machine};
use super::pieces;
use super::steps::width;
use super::tape::{Access, Slot, TapeIx};
use crate::bind::Input;
use crate::kernel::Edge;
use acc_core::data::ColumnSlice;
use std::ops::Range;

/// Some lanes of one row, and where they read.
struct Row {
    /// The first lane's place in the row, and how many there are.
    from: usize,
    len: usize,
    /// The address of the row's start.
    at: i64,
    /// By how much the index along the row is shifted, the distance of its elements, and their number.
    offset: i64,
    stride: i64,
    extent: usize,
    edge: Edge,
}

impl Row {
    /// The lanes that read within the bounds, counted from the first of these.
    fn inside(&self) -> Range<usize> {
        let (from, to) = (self.from as i64, (self.from + self.len) as i64);
        let begin = (-self.offset).clamp(from, to);
        let end = (self.extent as i64).saturating_sub(self.offset).clamp(begin, to);
        (begin - from) as usize..(end - from) as usize
    }

    /// Where a lane within the bounds reads.
    fn address(&self, lane: usize) -> i64 {
        self.at + self.stride * ((self.from + lane) as i64 + self.offset)
    }

    /// Reads these lanes to their places in a buffer, which has others before.
    fn read(&self, column: ColumnSlice<'_>, lanes: Range<usize>, before: usize, to: &mut Lanes) {
        let inside = self.inside();
        let inside = inside.start.clamp(lanes.start, lanes.end)..inside.end.clamp(lanes.start, lanes.end);
        for lane in (lanes.start..inside.start).chain(inside.end..lanes.end) {
            let i = edge_index(self.edge, (self.from + lane) as i64 + self.offset, self.extent);
            let (_, out) = to.out().split_at(before + lane);
            lanes::strided(column, (self.at + self.stride * i) as usize, 0, 1, out);
        }
        if !inside.is_empty() {
            let (_, out) = to.out().split_at(before + inside.start);
            lanes::strided(column, self.address(inside.start) as usize, self.stride as isize, inside.len(), out);
        }
    }
}

impl<'a> Machine<'a> {
    pub(super) fn read_edges(
        &mut self,
        access: &Access,
        input: &'a Input<'a>,
        strides: &[i64],
        leaves: &[u32],
        outs: &[Slot],
        n: usize,
    ) {
        let Some(edge) = access.edge else { return };
        let row = self.space.lane_extents().last().copied().unwrap_or(1).max(1);
        let (first, line) = (self.start % row, self.start / row);
        if first + n <= row {
            let lanes = self.row(access, input.shape, strides, edge, line, first..first + n);
            let inside = lanes.inside();
            if lanes.stride == 1 && inside == (0..n) {
                for (&leaf, &out) in leaves.iter().zip(outs) {
                    let at = lanes.address(0) as usize;
                    self.refs[out as usize] = Some(lanes::part(input.columns[leaf as usize].slice(), at, n));
                }
                return;
            }
            if access.for_chains && lanes.stride == 1 && outs.iter().all(|&out| self.is_long(out, n, &inside)) {
                for (&leaf, &out) in leaves.iter().zip(outs) {
                    self.read_ends(&lanes, input.columns[leaf as usize].slice(), out);
                }
                return;
            }
        }
        let mut taken: smallvec::SmallVec<[_; 4]> = outs.iter().map(|&s| self.take(s)).collect();
        let (mut k, mut j, mut line) = (0, first, line);
        while k < n {
            let len = (row - j).min(n - k);
            let lanes = self.row(access, input.shape, strides, edge, line, j..j + len);
            for (&leaf, o) in leaves.iter().zip(&mut taken) {
                lanes.read(input.columns[leaf as usize].slice(), 0..len, k, o);
            }
            k += len;
            j = 0;
            line += 1;
        }
        for (&s, o) in outs.iter().zip(taken) {
            self.put(s, o);
        }
    }

    /// How lanes of one row read.
    fn row(
        &self,
        access: &Access,
        shape: &[usize],
        strides: &[i64],
        edge: Edge,
        line: usize,
        lanes: Range<usize>,
    ) -> Row {
        let (lo, hi) = (self.space.lo, self.space.hi);
        // Without an index along the row all lanes read the same.
        let mut row =
            Row { from: lanes.start, len: lanes.len(), at: 0, offset: 0, stride: 0, extent: i64::MAX as usize, edge };
        for ((ix, &stride), &extent) in access.index.iter().zip(strides).zip(shape) {
            let TapeIx::Affine { axis, offset, .. } = *ix else { continue };
            let axis = axis as usize;
            if hi > lo && axis == hi - 1 {
                (row.offset, row.stride, row.extent) = (offset, stride, extent);
                continue;
            }
            let i = if axis < lo || axis >= hi { self.fixed[axis] } else { self.coordinate(axis, line) };
            row.at += stride * edge_index(edge, i + offset, extent);
        }
        row
    }

    /// The lanes of a piece of a chain on a buffer, if chains run on such.
    fn lanes_of_piece(&self, out: Slot) -> Option<usize> {
        width(self.tape.slots[out as usize]).map(|width| pieces::piece() / width)
    }

    /// Whether all lanes that read beyond an edge are in the first piece and in the last, of which there are more.
    fn is_long(&self, out: Slot, n: usize, inside: &Range<usize>) -> bool {
        self.lanes_of_piece(out)
            .is_some_and(|piece| n > 2 * piece && inside.start <= piece && inside.end >= (n - 1) / piece * piece)
    }

    /// Reads the pieces at the ends of a row, where they read beyond it; chains find the others where they are.
    fn read_ends(&mut self, row: &Row, column: ColumnSlice<'a>, out: Slot) {
        let (inside, n) = (row.inside(), row.len);
        let piece = self.lanes_of_piece(out).unwrap_or(n);
        let (first, last) = (inside.start > 0, inside.end < n);
        let mut to = self.take(out);
        if first {
            row.read(column, 0..piece, 0, &mut to);
        }
        if last {
            row.read(column, (n - 1) / piece * piece..n, 0, &mut to);
        }
        self.put(out, to);
        let size = column.ty().size() as isize;
        let memory = super::chain::start_of(column).cast_mut().wrapping_offset(row.address(0) as isize * size);
        self.lies[out as usize] = Lies::Within { memory, first, last };
    }

    /// The index along a lane axis other than the last, at a line.
    fn coordinate(&self, axis: usize, line: usize) -> i64 {
        let (extents, hi) = (&self.space.extents, self.space.hi);
        let inner: usize = extents[axis + 1..hi.saturating_sub(1).max(axis + 1)].iter().product::<usize>().max(1);
        (line / inner % extents[axis].max(1)) as i64
    }
}
