//! Histories: what steps back read of the states before steps and of the steps, in the rows of an array for each.
//!
//! The loop itself writes them, so that they hold the last steps when it is over. Those before are computed again, as many at a time
//! as a history has rows. It can hold arrays that have the same extents in all steps.

use super::super::Reverse;
use super::{History, Loop, at_state, int};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, Val};

/// The most bytes of a loop's histories, but for one row.
const MAX_BYTES: i64 = 64 << 20;

/// The most rows of histories that take more bytes than [`SMALL_BYTES`].
const MAX_ROWS: i64 = 128;

/// Histories of so many bytes are initialised in a time that a loop does not notice.
const SMALL_BYTES: i64 = 1 << 20;

/// Which steps are in the histories: so many before the step that is written to a row.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) valid: ArrayId,
    pub(super) next: ArrayId,
}

/// How many rows there is room for in histories of arrays of these extents, and bytes of an element.
fn row_count(c: &mut Code, arrays: &[(Fun, i64)]) -> Val {
    let one = c.int(1);
    let mut bytes = one;
    for (extents, size) in arrays {
        let mut own = c.int(*size);
        for n in c.inline(extents, &[]) {
            own = c.two(PrimOp::MulP, own, n);
        }
        bytes = c.two(PrimOp::AddP, bytes, own);
    }
    let [most, small, rows] = [MAX_BYTES, SMALL_BYTES, MAX_ROWS].map(|n| c.int(n));
    let [most, small] = [most, small].map(|n| c.two(PrimOp::QuotP, n, bytes));
    let many = c.two(PrimOp::MaxP, small, rows);
    let rows = c.two(PrimOp::MinP, many, most);
    c.two(PrimOp::MaxP, rows, one)
}

impl Reverse<'_, '_> {
    /// What takes room in histories of a loop, at a state.
    fn arrays(&self, l: &Loop, state: &[ArrayId]) -> Vec<(Fun, i64)> {
        let bytes = |a: ArrayId| self.w.elt(a).leaves().iter().map(|ty| ty.size() as i64).sum();
        let of = l.of_step.extents.iter().zip(&l.of_step.read);
        of.map(|(extents, a)| (extents.map_arrays(&mut |a| at_state(&l.step, state, *a)), bytes(*a))).collect()
    }

    /// Histories of a loop, at a state. Their extents depend on the extents of arrays alone, so that executors which compile for
    /// the extents of their arguments know them.
    pub(super) fn histories(&mut self, l: &Loop, state: &[ArrayId]) -> Vec<ArrayId> {
        let arrays = self.arrays(l, state);
        let history = |(a, (extents, _)): (&ArrayId, &(Fun, i64))| {
            let mut shape = self.w.code([]);
            let mut all = vec![row_count(&mut shape, &arrays)];
            all.extend(shape.inline(extents, &[]));
            self.w.zeros_of(shape.done(all), self.w.elt(*a).clone())
        };
        l.of_step.read.iter().zip(&arrays).map(history).collect()
    }

    /// How many steps from a state like this one are gone back through at once: one if the extents of states change.
    pub(super) fn segment(&mut self, l: &Loop, state: &[ArrayId]) -> ArrayId {
        let keeps_extents = match &l.history {
            History::None => return self.number(|c| c.int(1)),
            History::Recorded => None,
            History::Again { keeps_extents, .. } => *keeps_extents,
        };
        let arrays = self.arrays(l, state);
        self.number(|c| {
            let rows = row_count(c, &arrays);
            let Some(keeps) = keeps_extents else { return rows };
            let (keeps, one) = (c.read(keeps, &[ScalarType::Bool], &[])[0], c.int(1));
            c.choose(keeps, rows, one)
        })
    }

    /// The state after a step, and the histories with what steps back read of it in this row.
    pub(super) fn recorded(
        &mut self,
        l: &Loop,
        state: &[ArrayId],
        row: ArrayId,
        histories: &[ArrayId],
    ) -> (Vec<ArrayId>, Vec<ArrayId>) {
        // The state is read before the step may change it in place.
        let mut recorded = self.with_states(l, state, row, histories);
        let mut all = self.once_more(&l.step, state);
        let read = all.split_off(state.len());
        for ((history, a), value) in recorded.iter_mut().zip(&l.of_step.read).zip(read) {
            if !l.step.params.contains(a) {
                *history = self.with_row(*history, row, value);
            }
        }
        (all, recorded)
    }

    /// The histories with what steps back read of a state in this row.
    fn with_states(&mut self, l: &Loop, state: &[ArrayId], row: ArrayId, histories: &[ArrayId]) -> Vec<ArrayId> {
        let mut recorded = histories.to_vec();
        for (history, a) in recorded.iter_mut().zip(&l.of_step.read) {
            if let Some(k) = l.step.params.iter().position(|p| p == a) {
                *history = self.with_row(*history, row, state[k]);
            }
        }
        recorded
    }

    /// The row after this one of so many: the first one after the last.
    pub(super) fn next_row(&mut self, row: ArrayId, rows: ArrayId) -> ArrayId {
        self.number(|c| {
            let (row, rows, one, zero) = (int(c, row), int(c, rows), c.int(1), c.int(0));
            let next = c.two(PrimOp::AddP, row, one);
            let is_inside = c.two(PrimOp::LtP, next, rows);
            c.choose(is_inside, next, zero)
        })
    }

    /// How many of so many steps are in a history.
    pub(super) fn valid_rows(&mut self, steps: ArrayId, history: ArrayId) -> ArrayId {
        self.number(|c| {
            let (steps, rows) = (int(c, steps), c.extent(history, 0));
            c.two(PrimOp::MinP, steps, rows)
        })
    }

    /// The histories of so many steps from this state on.
    pub(super) fn computed_again(
        &mut self,
        l: &Loop,
        state: &[ArrayId],
        steps: ArrayId,
        histories: &[ArrayId],
    ) -> Result<(Rows, Vec<ArrayId>), Error> {
        let histories = match &l.history {
            History::Again { changing, .. } if !changing.is_empty() => self.histories(l, state),
            History::None | History::Recorded | History::Again { .. } => histories.to_vec(),
        };
        // The last step is of no use where only states are read.
        let of_states = l.of_step.read.iter().all(|a| l.step.params.contains(a));
        let last = self.number(|c| {
            let (steps, one) = (int(c, steps), c.int(i64::from(of_states)));
            c.two(PrimOp::SubP, steps, one)
        });
        let zero = self.number(|c| c.int(0));
        let all = [&[zero], state, &histories].concat();
        let test = self.block(&all, |this, params| Ok(vec![this.is_below(params[0], last)]))?;
        let step = self.block(&all, |this, params| {
            let (state, histories) = params[1..].split_at(state.len());
            let (next, histories) = this.recorded(l, state, params[0], histories);
            Ok([vec![this.next(params[0])], next, histories].concat())
        })?;
        let end = self.while_(all, test, step);
        let (end, mut histories) = (&end[1..=state.len()], end[1 + state.len()..].to_vec());
        if of_states {
            histories = self.with_states(l, end, last, &histories);
        }
        Ok((Rows { valid: steps, next: steps }, histories))
    }

    /// From the adjoints after the steps in these rows, the first of which has this number, to those before them.
    pub(super) fn back_through_rows(
        &mut self,
        l: &Loop,
        (begin, rows): (ArrayId, Rows),
        histories: &[ArrayId],
        adjoints: &[ArrayId],
    ) -> Result<Vec<ArrayId>, Error> {
        let Some(&first) = histories.first() else { return Ok(adjoints.to_vec()) };
        self.back_over(&l.of_step.back, rows.valid, adjoints, |this, left| {
            let number = this.number(|c| {
                let [begin, left] = [begin, left].map(|a| int(c, a));
                c.two(PrimOp::AddP, begin, left)
            });
            let row = this.number(|c| {
                let [next, valid, left] = [rows.next, rows.valid, left].map(|a| int(c, a));
                let begin = c.two(PrimOp::SubP, next, valid);
                let row = c.two(PrimOp::AddP, begin, left);
                let (zero, all) = (c.int(0), c.extent(first, 0));
                let (wraps, wrapped) = (c.two(PrimOp::LtP, row, zero), c.two(PrimOp::AddP, row, all));
                c.choose(wraps, wrapped, row)
            });
            let rows = histories.iter().map(|history| this.row(*history, row));
            std::iter::once(number).chain(rows).collect()
        })
    }

    /// A history with an array in one of its rows.
    fn with_row(&mut self, history: ArrayId, row: ArrayId, xs: ArrayId) -> ArrayId {
        let ty = self.w.ty(history).clone();
        let leaves = ty.elt.leaves();
        let combine = self.w.code([leaves.as_slice(), leaves.as_slice()].concat());
        let new = combine.params()[..leaves.len()].to_vec();
        let combine = combine.done(new);
        let (axes, index) = self.place_of_row(history, row);
        let target = self.slice_target(&axes, &index);
        self.w.add(ty, ArrayOp::Permute { defaults: history, xs, combine, target })
    }

    /// A row of a history.
    fn row(&mut self, history: ArrayId, row: ArrayId) -> ArrayId {
        let (rank, elt) = (self.w.rank(history), self.w.elt(history).clone());
        let (axes, index) = self.place_of_row(history, row);
        self.w.stmt(rank - 1, elt, ArrayOp::Slice { xs: history, axes, index })
    }

    /// A row of a history, as axes and position of a slice.
    fn place_of_row(&self, history: ArrayId, row: ArrayId) -> (Vec<Axis>, Fun) {
        let axes = std::iter::once(Axis::Fixed).chain(std::iter::repeat_n(Axis::All, self.w.rank(history) - 1));
        let mut index = self.w.code([]);
        let row = int(&mut index, row);
        (axes.collect(), index.done([row]))
    }
}
