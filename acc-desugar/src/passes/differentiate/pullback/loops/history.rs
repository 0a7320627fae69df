//! Going back through several steps at once, whose states are in a history: in the rows of an array for each component of the state.
//!
//! The history has room for so many steps that it is small. It can hold states that all have the same extents.

use super::super::super::writer::Writer;
use super::super::Reverse;
use super::{Loop, int};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Block, PrimOp, Val, free_arrays};
use acc_core::verify::MAX_RANK;

/// The most states in a history.
const MAX_STATES: i64 = 128;

/// The most bytes of a history, but for one state.
const MAX_BYTES: i64 = 64 << 20;

/// The components of a loop's state that a step back reads, if they can be in a history: it has one axis more.
pub(super) fn in_history(w: &Writer<'_>, back: &Block, state: usize) -> Option<Vec<usize>> {
    let inside = Block { params: Vec::new(), stmts: back.stmts.clone(), results: back.results.clone() };
    let read = free_arrays(&inside);
    let read: Vec<usize> = (0..state).filter(|k| read.contains(&back.params[*k])).collect();
    let has_room = w.histories && read.iter().all(|k| w.rank(back.params[*k]) < MAX_RANK);
    (has_room || read.is_empty()).then_some(read)
}

/// An array of the state, and the bytes of its elements.
struct Size {
    array: ArrayId,
    rank: usize,
    bytes: i64,
}

/// How many states of such sizes a history has room for.
fn rows(c: &mut Code, sizes: &[Size]) -> Val {
    let one = c.int(1);
    let mut bytes = one;
    for size in sizes {
        let mut own = c.int(size.bytes);
        for axis in 0..size.rank {
            let n = c.extent(size.array, axis);
            own = c.two(PrimOp::MulP, own, n);
        }
        bytes = c.two(PrimOp::AddP, bytes, own);
    }
    let (room, most) = (c.int(MAX_BYTES), c.int(MAX_STATES));
    let rows = c.two(PrimOp::QuotP, room, bytes);
    let rows = c.two(PrimOp::MinP, rows, most);
    c.two(PrimOp::MaxP, rows, one)
}

impl Reverse<'_, '_> {
    /// How many steps from a state like this one are gone back through at once: one if the extents of states change.
    pub(super) fn segment(&mut self, l: &Loop<'_>, state: &[ArrayId]) -> ArrayId {
        let Some(in_history) = &l.in_history else { return self.number(|c| c.int(1)) };
        let sizes = self.sizes(in_history, state);
        self.number(|c| {
            let rows = rows(c, &sizes);
            let Some(keeps) = l.keeps_extents else { return rows };
            let (keeps, one) = (c.read(keeps, &[ScalarType::Bool], &[])[0], c.int(1));
            c.choose(keeps, rows, one)
        })
    }

    /// What takes room on histories.
    fn sizes(&self, in_history: &[usize], state: &[ArrayId]) -> Vec<Size> {
        let size = |a: ArrayId| {
            let bytes = self.w.elt(a).leaves().iter().map(|ty| ty.size() as i64).sum();
            Size { array: a, rank: self.w.rank(a), bytes }
        };
        in_history.iter().map(|k| size(state[*k])).collect()
    }

    /// From the adjoints after so many steps from this state on to those before them.
    pub(super) fn back_through_segment(
        &mut self,
        l: &Loop<'_>,
        state: &[ArrayId],
        steps: ArrayId,
        adjoints: &[ArrayId],
    ) -> Result<Vec<ArrayId>, Error> {
        let Some(in_history) = &l.in_history else { return Ok(self.once_more(&l.back, &[state, adjoints].concat())) };
        // The first state, then those after each step but the last one.
        let first = self.number(|c| c.int(0));
        let (mut all, sizes) = (vec![first], self.sizes(in_history, state));
        all.extend(state);
        for k in in_history {
            let history = self.history(&sizes, state[*k]);
            all.push(self.recorded(history, first, state[*k]));
        }
        let test = self.block(&all, |this, params| {
            Ok(vec![this.number(|c| {
                let (n, steps, one) = (int(c, params[0]), int(c, steps), c.int(1));
                let last = c.two(PrimOp::SubP, steps, one);
                c.two(PrimOp::LtP, n, last)
            })])
        })?;
        let step = self.block(&all, |this, params| {
            let (state, histories) = params[1..].split_at(state.len());
            let mut next = vec![this.next(params[0])];
            next.extend(this.once_more(l.step, state));
            for (k, history) in in_history.iter().zip(histories) {
                let (row, state) = (next[0], next[1 + k]);
                next.push(this.recorded(*history, row, state));
            }
            Ok(next)
        })?;
        let histories = self.while_(all, test, step).split_off(1 + state.len());
        self.back_over(&l.back, steps, adjoints, |this, left| {
            // What is not read stands for itself.
            let mut own = l.init.to_vec();
            for (k, history) in in_history.iter().zip(&histories) {
                own[*k] = this.row(*history, left);
            }
            own
        })
    }

    /// A history for states of such sizes, of which this is a component. Its extents depend on those of the state alone, so that executors
    /// which compile for the extents of their arguments know them.
    fn history(&mut self, sizes: &[Size], state: ArrayId) -> ArrayId {
        let mut shape = self.w.code([]);
        let mut extents = vec![rows(&mut shape, sizes)];
        extents.extend((0..self.w.rank(state)).map(|axis| shape.extent(state, axis)));
        self.w.zeros_of(shape.done(extents), self.w.elt(state).clone())
    }

    /// A history with a state in one of its rows.
    fn recorded(&mut self, history: ArrayId, row: ArrayId, state: ArrayId) -> ArrayId {
        let ty = self.w.ty(history).clone();
        let leaves = ty.elt.leaves();
        let combine = self.w.code([leaves.as_slice(), leaves.as_slice()].concat());
        let new = combine.params()[..leaves.len()].to_vec();
        let combine = combine.done(new);
        let mut target = Code::of_index(ty.rank - 1, &self.w.loc);
        let index = target.params();
        let taken = target.literal(Lit::one(ScalarType::U8));
        let row = int(&mut target, row);
        let target = target.done([taken, row].into_iter().chain(index));
        self.w.add(ty, ArrayOp::Permute { defaults: history, xs: state, combine, target })
    }

    /// A row of a history.
    fn row(&mut self, history: ArrayId, row: ArrayId) -> ArrayId {
        let (rank, elt) = (self.w.rank(history), self.w.elt(history).clone());
        let axes = std::iter::once(Axis::Fixed).chain(std::iter::repeat_n(Axis::All, rank - 1)).collect();
        let mut index = self.w.code([]);
        let row = int(&mut index, row);
        self.w.stmt(rank - 1, elt, ArrayOp::Slice { xs: history, axes, index: index.done([row]) })
    }
}
