//! Reads across rows, by squares: of each cache line that a tile meets, what the tiles of the next rows read is kept for them,
//! turned.

use super::lanes::{self, Lane, Lanes};
use super::machine::Machine;
use super::memory;
use super::tape::Slot;
use super::words;
use crate::bind::Input;
use crate::buffer::LINE;
use acc_core::data::ColumnSlice;
use backend_native_lanes::all_types;
use backend_native_lanes::multiversion;
use half::f16;

/// What some rows read at the same lanes, row after row, of each leaf of a load.
pub(crate) struct Turned {
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

impl Turned {
    fn has(&self, row: usize, first: usize, n: usize) -> bool {
        (self.first, self.n) == (first, n) && (self.row..self.row + self.rows).contains(&row)
    }
}

impl<'a> Machine<'a> {
    /// Reads a tile within a row of a proven load, `origin` at the first point of all lanes, if its rows lie side by side in
    /// memory and tiles come row after row; whether that is done. Without `once` a tile may read more than once.
    pub(super) fn read_turned(
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
        let Some(end) = self.row_after_row.filter(|_| !matches!(step, 0 | 1)) else { return false };
        let (line, first) = (self.start / (*row).max(1), self.start % (*row).max(1));
        if !self.turned[plan].as_ref().is_some_and(|t| t.has(line, first, n)) {
            let from = (origin + self.outer(coefficients, line) + step * first as i64) as usize;
            let mut kept = self.turned[plan].take().map(|t| t.leaves).unwrap_or_default();
            let columns = || leaves.iter().map(|&leaf| input.columns[leaf as usize].slice());
            // As many rows as a line holds, or some lines, from a line's beginning on if the array begins at one.
            let lines = if columns().all(in_registers) { (LINES / leaves.len().max(1)).max(1) } else { 1 };
            let most = lines * columns().map(|c| LINE / c.ty().size()).max().unwrap_or(1);
            let at = line % (*along).max(1);
            let rows = (most - at % most).min(along - at).min(end.saturating_sub(line).max(1));
            kept.resize_with(leaves.len(), Vec::new);
            for (column, kept) in columns().zip(&mut kept) {
                kept.resize_with(most, || Lanes::new(column.ty(), self.code.lanes));
                turn(column, from, *step as isize, &mut kept[..rows], n);
            }
            self.turned[plan] = Some(Turned { row: line, rows, first, n, leaves: kept });
        }
        let Some(turned) = &mut self.turned[plan] else { return false };
        for (kept, &out) in turned.leaves.iter_mut().zip(outs) {
            let (row, own) = (&mut kept[line - turned.row], &mut self.own[out as usize]);
            if once {
                // Nobody reads the row again.
                std::mem::swap(row, own);
            } else {
                lanes::copy(row.slice(n), own.out());
            }
            self.refs[out as usize] = None;
        }
        true
    }
}

/// Lines of the cache that are read side by side where squares are turned in registers, of all leaves together: enough that
/// they are on their way before they are needed, few enough that what is kept of them stays in a near cache.
const LINES: usize = 8;

/// Whether squares of values are turned in registers.
fn in_registers(values: ColumnSlice<'_>) -> bool {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match values { $(ColumnSlice::$V(_) => words::known::<$t>()),* } };
    }
    all_types!(typed)
}

/// Rows and lanes of the squares in which values are turned.
pub(crate) const SQUARE: usize = 8;

/// The lines of a square; none if one is missing.
#[inline(always)]
fn lines<'a, T>(line: impl Fn(usize) -> Option<&'a [T; SQUARE]>) -> Option<[&'a [T; SQUARE]; SQUARE]> {
    let mut square = [line(0)?; SQUARE];
    for (k, to) in square.iter_mut().enumerate() {
        *to = line(k)?;
    }
    Some(square)
}

/// A square of values, given line by line, turned; none if a line is missing. All of it is read before anything is
/// written, so that it is turned in registers.
#[inline(always)]
pub(crate) fn square<'a, T: Copy + 'a>(
    line: impl Fn(usize) -> Option<&'a [T; SQUARE]>,
) -> Option<[[T; SQUARE]; SQUARE]> {
    let square = lines(line)?;
    let mut turned = [*square[0]; SQUARE];
    for i in 0..SQUARE {
        for j in 0..SQUARE {
            turned[j][i] = square[i][j];
        }
    }
    Some(turned)
}

#[inline(always)]
fn turn_typed<T: Lane>(from: &[T], start: usize, step: isize, rows: &mut [Lanes], n: usize) {
    let mut at = start;
    let words = words::known::<T>();
    for k in (0..n).step_by(SQUARE) {
        let lanes = SQUARE.min(n - k);
        for (r, rows) in (0..).step_by(SQUARE).zip(rows.chunks_mut(SQUARE)) {
            let whole = rows.len() == SQUARE && lanes == SQUARE;
            let line = |k: usize| from.get((at + r).wrapping_add_signed(step * k as isize)..)?.first_chunk();
            if words && (r * size_of::<T>()).is_multiple_of(LINE) {
                // The next lanes of these rows are on their way meanwhile.
                for next in SQUARE..2 * SQUARE {
                    memory::fetch(from.as_ptr().wrapping_add((at + r).wrapping_add_signed(step * next as isize)));
                }
            }
            let turned = match whole {
                // SAFETY: squares of this type are known.
                true if words => lines(line).map(|lines| unsafe { words::turned(lines) }),
                true => square(line),
                false => None,
            };
            match turned {
                Some(turned) => {
                    for (row, turned) in rows.iter_mut().zip(&turned) {
                        if let Some(to) = T::of_mut(row)[k..].first_chunk_mut::<SQUARE>() {
                            *to = *turned;
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
fn turn_impl(from: ColumnSlice<'_>, start: usize, step: isize, rows: &mut [Lanes], n: usize) {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => {
            match from { $(ColumnSlice::$V(from) => turn_typed::<$t>(from, start, step, rows, n)),* }
        };
    }
    all_types!(typed)
}

multiversion!(
    /// `rows[r][k] = from[start + k * step + r]` for `n` values of each row. Positions are in bounds.
    turn, turn_impl, (from: ColumnSlice<'_>, start: usize, step: isize, rows: &mut [Lanes], n: usize) -> ()
);

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::ScalarType;

    #[test]
    fn squares_and_what_is_left_of_them_are_turned() {
        fn turns<T: Lane>(values: &[T], column: ColumnSlice<'_>, ty: ScalarType) {
            for (rows, n, start, step) in [
                (16, 24, 0, 37),
                (16, 21, 5, 37),
                (5, 9, 3, 37),
                (11, 17, 37 * 30, -37),
                (8, 8, 1, 74),
                (36, 40, 0, 37),
            ] {
                let mut turned: Vec<Lanes> = (0..rows).map(|_| Lanes::new(ty, 40)).collect();
                turn(column, start, step, &mut turned, n);
                for (r, row) in turned.iter().enumerate() {
                    let want: Vec<T> =
                        (0..n).map(|k| values[(start + r).wrapping_add_signed(step * k as isize)]).collect();
                    assert!(T::of(row)[..n] == want, "row {r} of {rows} by {n} from {start} by {step}, {ty:?}");
                }
            }
        }
        let values: Vec<i32> = (0..37 * 40).collect();
        turns(&values, ColumnSlice::I32(&values), ScalarType::I32);
        let floats: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        turns(&floats, ColumnSlice::F32(&floats), ScalarType::F32);
        let doubles: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
        turns(&doubles, ColumnSlice::F64(&doubles), ScalarType::F64);
        let bytes: Vec<u8> = values.iter().map(|&x| x as u8).collect();
        turns(&bytes, ColumnSlice::U8(&bytes), ScalarType::U8);
    }
}
