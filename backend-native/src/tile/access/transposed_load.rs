//! Loads across rows, square by square: of each cache line that a tile touches, the elements of the next rows are
//! transposed and kept for their tiles.

use crate::bind::Input;
use crate::buffer::CACHE_LINE_BYTES;
use crate::tile::access::register_transpose;
pub(crate) use crate::tile::access::register_transpose::SQUARE;
use crate::tile::bytecode::Slot;
use crate::tile::lanes::{self, Lane, Lanes};
use crate::tile::machine::Machine;
use crate::tile::memory;
use acc_core::data::ColumnSlice;
use backend_native_lanes::all_types;
use backend_native_lanes::multiversion;
use half::f16;

/// The lanes that some consecutive rows read, for each leaf of a load.
pub(crate) struct TransposedRows {
    /// The first row, a position over all lane axes but the last.
    row: usize,
    rows: usize,
    /// The first lane, a position in the row.
    first: usize,
    /// Lanes of a row.
    n: usize,
    /// The lanes of each row of a leaf, leaf by leaf.
    leaves: Vec<Vec<Lanes>>,
}

impl TransposedRows {
    fn has(&self, row: usize, first: usize, n: usize) -> bool {
        (self.first, self.n) == (first, n) && (self.row..self.row + self.rows).contains(&row)
    }
}

impl<'a> Machine<'a> {
    /// Reads a tile within a row of an affine load, whose first point is at `origin`, if its rows are contiguous in
    /// memory and tiles come row after row; false if not. Without `once` a row may be read more than once.
    pub(crate) fn load_transposed(
        &mut self,
        (plan, once): (usize, bool),
        (input, leaves, outs): (&'a Input<'a>, &[u32], &[Slot]),
        n: usize,
        origin: i64,
        coefficients: &[i64],
    ) -> bool {
        let lane_axes = self.space.lo..self.space.hi;
        let ([.., along, row], [.., 1, step]) = (self.space.lane_extents(), &coefficients[lane_axes]) else {
            return false;
        };
        let Some(end) = self.transposes_until_row.filter(|_| !matches!(step, 0 | 1)) else { return false };
        let (line, first) = (self.start / (*row).max(1), self.start % (*row).max(1));
        if !self.transposed[plan].as_ref().is_some_and(|t| t.has(line, first, n)) {
            let from = (origin + self.outer(coefficients, line) + step * first as i64) as usize;
            let mut kept = self.transposed[plan].take().map(|t| t.leaves).unwrap_or_default();
            let columns = || leaves.iter().map(|&leaf| input.columns[leaf as usize].slice());
            // As many rows as a cache line holds, or a few lines, from the beginning of a line if the array begins at
            // one.
            let lines = if columns().all(is_transposed_in_registers) {
                (MAX_LINES_IN_FLIGHT / leaves.len().max(1)).max(1)
            } else {
                1
            };
            let most = lines * columns().map(|c| CACHE_LINE_BYTES / c.ty().size()).max().unwrap_or(1);
            let at = line % (*along).max(1);
            let rows = (most - at % most).min(along - at).min(end.saturating_sub(line).max(1));
            kept.resize_with(leaves.len(), Vec::new);
            for (column, kept) in columns().zip(&mut kept) {
                kept.resize_with(most, || Lanes::new(column.ty(), self.code.lanes));
                transpose(column, from, *step as isize, &mut kept[..rows], n);
            }
            self.transposed[plan] = Some(TransposedRows { row: line, rows, first, n, leaves: kept });
        }
        let Some(transposed) = &mut self.transposed[plan] else { return false };
        for (kept, &out) in transposed.leaves.iter_mut().zip(outs) {
            let (row, own) = (&mut kept[line - transposed.row], &mut self.own[out as usize]);
            if once {
                // The row is not read again.
                std::mem::swap(row, own);
            } else {
                lanes::copy(row.slice(n), own.out());
            }
            self.refs[out as usize] = None;
        }
        true
    }
}

/// Cache lines, of all leaves together, that are loaded at the same time where squares are transposed in registers:
/// enough to hide their latency, few enough to stay in L1.
const MAX_LINES_IN_FLIGHT: usize = 8;

/// Whether squares are transposed in registers.
fn is_transposed_in_registers(values: ColumnSlice<'_>) -> bool {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match values { $(ColumnSlice::$V(_) => register_transpose::is_supported::<$t>()),* } };
    }
    all_types!(typed)
}

/// The lines of a square; none if one is missing.
#[inline(always)]
fn lines<'a, T>(line: impl Fn(usize) -> Option<&'a [T; SQUARE]>) -> Option<[&'a [T; SQUARE]; SQUARE]> {
    let mut square = [line(0)?; SQUARE];
    for (k, to) in square.iter_mut().enumerate() {
        *to = line(k)?;
    }
    Some(square)
}

/// A square of values, given line by line, transposed; none if a line is missing. All of it is read before anything is
/// written, so that it stays in registers.
#[inline(always)]
pub(crate) fn square<'a, T: Copy + 'a>(
    line: impl Fn(usize) -> Option<&'a [T; SQUARE]>,
) -> Option<[[T; SQUARE]; SQUARE]> {
    let square = lines(line)?;
    let mut transposed = [*square[0]; SQUARE];
    for i in 0..SQUARE {
        for j in 0..SQUARE {
            transposed[j][i] = square[i][j];
        }
    }
    Some(transposed)
}

#[inline(always)]
fn transpose_typed<T: Lane>(from: &[T], start: usize, step: isize, rows: &mut [Lanes], n: usize) {
    let mut at = start;
    let by_shuffles = register_transpose::is_supported::<T>();
    for k in (0..n).step_by(SQUARE) {
        let lanes = SQUARE.min(n - k);
        for (r, rows) in (0..).step_by(SQUARE).zip(rows.chunks_mut(SQUARE)) {
            let whole = rows.len() == SQUARE && lanes == SQUARE;
            let line = |k: usize| from.get((at + r).wrapping_add_signed(step * k as isize)..)?.first_chunk();
            if by_shuffles && (r * size_of::<T>()).is_multiple_of(CACHE_LINE_BYTES) {
                // Prefetches the next lanes of these rows.
                for next in SQUARE..2 * SQUARE {
                    memory::fetch(from.as_ptr().wrapping_add((at + r).wrapping_add_signed(step * next as isize)));
                }
            }
            let transposed = match whole {
                // SAFETY: squares of this type are supported.
                true if by_shuffles => lines(line).map(|lines| unsafe { register_transpose::transposed(lines) }),
                true => square(line),
                false => None,
            };
            match transposed {
                Some(transposed) => {
                    for (row, transposed) in rows.iter_mut().zip(&transposed) {
                        if let Some(to) = T::of_mut(row)[k..].first_chunk_mut::<SQUARE>() {
                            *to = *transposed;
                        }
                    }
                }
                None => {
                    for (j, row) in rows.iter_mut().enumerate() {
                        let mut from_at = at + r + j;
                        for to in &mut T::of_mut(row)[k..k + lanes] {
                            *to = from[from_at];
                            from_at = from_at.wrapping_add_signed(step);
                        }
                    }
                }
            }
        }
        at = at.wrapping_add_signed(step * SQUARE as isize);
    }
}

#[inline(always)]
fn transpose_impl(from: ColumnSlice<'_>, start: usize, step: isize, rows: &mut [Lanes], n: usize) {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => {
            match from { $(ColumnSlice::$V(from) => transpose_typed::<$t>(from, start, step, rows, n)),* }
        };
    }
    all_types!(typed)
}

multiversion!(
    /// `rows[r][k] = from[start + k * step + r]` for `n` values of each row. Positions are in bounds.
    transpose, transpose_impl, (from: ColumnSlice<'_>, start: usize, step: isize, rows: &mut [Lanes], n: usize) -> ()
);

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::ScalarType;

    #[test]
    fn whole_and_partial_squares_are_transposed() {
        fn transposes<T: Lane>(values: &[T], column: ColumnSlice<'_>, ty: ScalarType) {
            for (rows, n, start, step) in [
                (16, 24, 0, 37),
                (16, 21, 5, 37),
                (5, 9, 3, 37),
                (11, 17, 37 * 30, -37),
                (8, 8, 1, 74),
                (36, 40, 0, 37),
            ] {
                let mut transposed: Vec<Lanes> = (0..rows).map(|_| Lanes::new(ty, 40)).collect();
                transpose(column, start, step, &mut transposed, n);
                for (r, row) in transposed.iter().enumerate() {
                    let want: Vec<T> =
                        (0..n).map(|k| values[(start + r).wrapping_add_signed(step * k as isize)]).collect();
                    assert!(T::of(row)[..n] == want, "row {r} of {rows} by {n} from {start} by {step}, {ty:?}");
                }
            }
        }
        let values: Vec<i32> = (0..37 * 40).collect();
        transposes(&values, ColumnSlice::I32(&values), ScalarType::I32);
        let floats: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        transposes(&floats, ColumnSlice::F32(&floats), ScalarType::F32);
        let doubles: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
        transposes(&doubles, ColumnSlice::F64(&doubles), ScalarType::F64);
        let bytes: Vec<u8> = values.iter().map(|&x| x as u8).collect();
        transposes(&bytes, ColumnSlice::U8(&bytes), ScalarType::U8);
    }
}
