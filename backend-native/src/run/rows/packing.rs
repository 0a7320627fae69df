//! Folds with [packed](crate::kernel::Kernel::packed) operands. Extents alone decide, so that elements are grouped in the same way by
//! machine code and over tiles, and for any number of threads.

use super::rows;
use crate::bind::{Input, Names, SparseFlags};
use crate::buffer::{AnyBuffer, CACHE_LINE_BYTES};
use crate::kernel::Bits;
use crate::lower::Packed;
use crate::prepare::{KernelCode, Launch};
use crate::run::Run;
use crate::run::launch::{Columns, finish};
use crate::tile::lanes;
use crate::tile::machine::Stop;
use acc_core::data::{Column, ScalarType};
use acc_core::ir::ArrayId;
use smallvec::SmallVec;

/// How often an element is read, at least, that it pays off to pack it.
const MIN_USES: usize = 8;
/// Fewer lanes than this leave most of a vector unused: long rows are folded along themselves then.
const MIN_LANES_OF_LONG_ROWS: usize = 16;
/// Longer rows are folded in chunks.
const MAX_ROW: usize = 4096;
/// Rows of a packed operand whose distance is a multiple of this many bytes would share few sets of a cache.
const CACHE_SET_STRIDE: usize = 512;

/// An operand, packed.
struct Operand {
    array: ArrayId,
    shape: SmallVec<[usize; 4]>,
    columns: Columns,
}

/// The names of a launch with packed operands.
pub(in crate::run) struct WithOperands<'a> {
    others: &'a dyn Names,
    operands: Vec<Operand>,
}

impl Names for WithOperands<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        match self.operands.iter().find(|o| o.array == a) {
            Some(o) => Some(Input { shape: &o.shape, columns: &o.columns }),
            None => self.others.input(a),
        }
    }

    fn flags(&self, a: ArrayId) -> Option<(&SparseFlags, usize)> {
        self.others.flags(a)
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        self.others.scalar(a, position)
    }
}

impl Run<'_> {
    /// The results of a launch with packed operands; none if packing does not pay off.
    pub(in crate::run) fn packed_rows(
        &self,
        launch: &Launch,
        inits: &[Option<Bits>],
        names: &dyn Names,
    ) -> Result<Option<Vec<Columns>>, Stop> {
        let packed = self.packed_names(launch, names)?;
        packed.map(|(packed, names)| rows(&self.bound(packed, inits, &names), None)).transpose()
    }

    /// The launch with packed operands, and these; none if packing does not pay off.
    pub(in crate::run) fn packed_names<'a>(
        &self,
        launch: &'a Launch,
        names: &'a dyn Names,
    ) -> Result<Option<(&'a Launch, WithOperands<'a>)>, Stop> {
        let Some(packed) = &launch.packed else { return Ok(None) };
        let extents = self.values[launch.over.index()].as_ref().map_or(&[][..], |v| &v.shape);
        if !pays_off(packed, extents, names) {
            return Ok(None);
        }
        let operand = |&array: &ArrayId| {
            let types = self.plan.types[array.index()].elt.leaves();
            names.input(array).map(|input| self.operand(array, input, types.as_slice())).transpose()
        };
        let operands = packed.arrays.iter().filter_map(|a| operand(a).transpose()).collect::<Result<_, Stop>>()?;
        Ok(Some((&packed.launch, WithOperands { others: names, operands })))
    }

    /// An array with its last two axes exchanged.
    fn operand(&self, array: ArrayId, input: Input<'_>, types: &[ScalarType]) -> Result<Operand, Stop> {
        let mut shape: SmallVec<[usize; 4]> = input.shape.into();
        let (Some(row), Some(count)) = (shape.pop(), shape.pop()) else {
            return Ok(Operand { array, shape, columns: Columns::new() });
        };
        let size = types.iter().map(|t| t.size()).max().unwrap_or(1);
        let width = padded(count, size);
        let matrices: usize = shape.iter().product();
        shape.extend([row, width]);
        let mut columns = self.cx.columns(types, matrices * row * width).map_err(Stop::Error)?;
        for (column, to) in input.columns.iter().map(Column::slice).zip(&mut columns) {
            for matrix in 0..matrices {
                for k in 0..row {
                    let to = AnyBuffer::as_out(to).split_at((matrix * row + k) * width).1;
                    lanes::strided(column, matrix * count * row + k, row as isize, count, to);
                }
            }
        }
        Ok(Operand { array, shape, columns: finish(columns) })
    }
}

/// Whether each operand has the extents of its axes and is read often enough, for all lanes of vectors.
pub(in crate::run) fn pays_off(packed: &Packed<KernelCode>, extents: &[usize], names: &dyn Names) -> bool {
    let [.., count, row] = *extents else { return false };
    let points: usize = extents.iter().product();
    let is_long = row >= super::MIN_CHUNKED_ROW;
    let least = if is_long { MIN_LANES_OF_LONG_ROWS } else { 2 };
    let fits = |a: &ArrayId| match names.input(*a).map(|input| input.shape) {
        Some([outer @ .., n, m]) if *n >= count && *m >= row => Some(outer.iter().product::<usize>() * n * m),
        _ => None,
    };
    let elements: Option<usize> = packed.arrays.iter().map(fits).sum();
    points > 0
        && count >= least
        && row <= MAX_ROW
        && points / row >= super::MIN_LANE_ROWS_OF_FOLD
        && elements.is_some_and(|n| points / MIN_USES >= n)
}

/// The number of elements between rows of a packed operand: whole cache lines.
fn padded(count: usize, size: usize) -> usize {
    let line = CACHE_LINE_BYTES / size;
    let width = count.next_multiple_of(line);
    if (width * size).is_multiple_of(CACHE_SET_STRIDE) { width + line } else { width }
}
