//! Stencil reads across boundaries: the inside of a row is read in place, the elements beyond one by one.

use crate::bind::Input;
use crate::kernel::Edge;
use crate::tile::access::load::edge_index;
use crate::tile::bytecode::{Access, BytecodeIndex, Slot};
use crate::tile::chain_ops::width;
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{LoadedLanes, Machine};
use crate::tile::register_blocks;
use acc_core::data::ColumnSlice;
use std::ops::Range;

/// Some lanes of one row, and how they read.
struct Row {
    /// The first lane's position in the row, and the number of lanes.
    from: usize,
    len: usize,
    /// The address of the row's start.
    at: i64,
    /// The offset of the index along the row, the distance of its elements, and their number.
    offset: i64,
    stride: i64,
    extent: usize,
    edge: Edge,
}

impl Row {
    /// The lanes that read inside the bounds.
    fn inside(&self) -> Range<usize> {
        let (from, to) = (self.from as i64, (self.from + self.len) as i64);
        let begin = (-self.offset).clamp(from, to);
        let end = (self.extent as i64).saturating_sub(self.offset).clamp(begin, to);
        (begin - from) as usize..(end - from) as usize
    }

    /// The address that a lane inside the bounds reads.
    fn address(&self, lane: usize) -> i64 {
        self.at + self.stride * ((self.from + lane) as i64 + self.offset)
    }

    /// Reads these lanes into a buffer behind `before` others.
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
    pub(crate) fn load_boundary(
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
                    self.load_row_ends(&lanes, input.columns[leaf as usize].slice(), out);
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

    /// How the lanes of a row read.
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
        // Without an index along the row all lanes read the same element.
        let mut row =
            Row { from: lanes.start, len: lanes.len(), at: 0, offset: 0, stride: 0, extent: i64::MAX as usize, edge };
        for ((ix, &stride), &extent) in access.index.iter().zip(strides).zip(shape) {
            let BytecodeIndex::Affine { axis, offset, .. } = *ix else { continue };
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

    /// The lanes of a chain's block on a buffer, if chains run on its type.
    fn lanes_of_piece(&self, out: Slot) -> Option<usize> {
        width(self.bytecode.slots[out as usize]).map(|width| register_blocks::block_bytes() / width)
    }

    /// Whether all lanes that read beyond a boundary are in the first and the last block, and there are more blocks.
    fn is_long(&self, out: Slot, n: usize, inside: &Range<usize>) -> bool {
        self.lanes_of_piece(out)
            .is_some_and(|piece| n > 2 * piece && inside.start <= piece && inside.end >= (n - 1) / piece * piece)
    }

    /// Reads the blocks at the ends of a row that cross a boundary; chains find the others in place.
    fn load_row_ends(&mut self, row: &Row, column: ColumnSlice<'a>, out: Slot) {
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
        let memory = crate::tile::chain::start_of(column).cast_mut().wrapping_offset(row.address(0) as isize * size);
        self.loaded[out as usize] = LoadedLanes::InPlace { memory, first, last };
    }

    /// The index along a lane axis other than the last, at a line.
    fn coordinate(&self, axis: usize, line: usize) -> i64 {
        let (extents, hi) = (&self.space.extents, self.space.hi);
        let inner: usize = extents[axis + 1..hi.saturating_sub(1).max(axis + 1)].iter().product::<usize>().max(1);
        (line / inner % extents[axis].max(1)) as i64
    }
}
