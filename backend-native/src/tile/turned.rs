//! Reads across rows, by squares: of each cache line that a tile meets, what the tiles of the next rows read is kept for them,
//! turned.

use super::lanes::{self, Lanes};
use super::machine::{Input, Machine};
use super::tape::Slot;
use crate::buffer::LINE;

/// What some rows read at the same lanes, row after row, of each leaf of a load.
pub(crate) struct Turned {
    /// The first row, a position over all lane axes but the last.
    row: usize,
    rows: usize,
    /// The first lane, a position in the row.
    first: usize,
    /// Lanes of a row.
    n: usize,
    leaves: Vec<Lanes>,
}

impl Turned {
    fn has(&self, row: usize, first: usize, n: usize) -> bool {
        (self.first, self.n) == (first, n) && (self.row..self.row + self.rows).contains(&row)
    }
}

impl<'a> Machine<'a> {
    /// Reads a tile within a row of a proven load, `origin` at the first point of all lanes, if its rows lie side by side in
    /// memory and tiles come row after row; whether that is done.
    pub(super) fn read_turned(
        &mut self,
        plan: usize,
        (input, leaves, outs): (&'a Input<'a>, &[u32], &[Slot]),
        n: usize,
        origin: i64,
        coefficients: &[i64],
    ) -> bool {
        let lane_axes = self.space.lo..self.space.hi;
        let ([.., along, row], [.., 1, step]) = (self.space.lane_extents(), &coefficients[lane_axes]) else {
            return false;
        };
        if !self.row_after_row || matches!(step, 0 | 1) {
            return false;
        }
        let (line, first) = (self.start / (*row).max(1), self.start % (*row).max(1));
        if !self.turned[plan].as_ref().is_some_and(|t| t.has(line, first, n)) {
            let from = (origin + self.outer(coefficients, line) + step * first as i64) as usize;
            let mut kept = self.turned[plan].take().map(|t| t.leaves).unwrap_or_default();
            let columns = || leaves.iter().map(|&leaf| input.columns[leaf as usize]);
            // As many rows as a line holds, from a line's beginning on if the array begins at one.
            let most = columns().map(|c| LINE / c.ty().size()).max().unwrap_or(1);
            let at = line % (*along).max(1);
            let rows = (most - at % most).min(along - at);
            kept.resize_with(leaves.len(), Lanes::default);
            for (column, kept) in columns().zip(&mut kept) {
                if !kept.holds(column.ty(), rows * n) {
                    *kept = Lanes::new(column.ty(), most * n);
                }
                lanes::turn(column, from, *step as isize, (rows, n), kept.out());
            }
            self.turned[plan] = Some(Turned { row: line, rows, first, n, leaves: kept });
        }
        let Some(turned) = self.turned[plan].take() else { return false };
        for (kept, &out) in turned.leaves.iter().zip(outs) {
            let mut o = self.take(out);
            lanes::copy(lanes::part(kept.slice(usize::MAX), (line - turned.row) * n, n), o.out());
            self.put(out, o);
        }
        self.turned[plan] = Some(turned);
        true
    }
}
