//! Adjoints of folds, whole or of segments, whose operator is a sum, a minimum or a maximum of each float.
//!
//! Of a sum every element has the adjoint of the result. Of an extreme one element has it, the one that the result is: its
//! position is a fold of positions, so that the adjoint takes no memory but theirs.

use super::super::super::dual::Replaced;
use super::super::Reverse;
use super::super::adjoint::{Adjoint, OneHot};
use crate::analysis::operators::{Component, components};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, ScalarOp, Val};

const INT: ScalarType = ScalarType::I64;

/// The position of an initial value.
pub(super) const INITIAL: i64 = -1;

/// Which elements have the adjoint of a float of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    All,
    /// The one that it is: of equal ones the first, or the last.
    One {
        first: bool,
    },
}

/// A fold.
#[derive(Clone, Copy)]
pub(super) struct Folded<'f> {
    pub(super) op: &'f ArrayOp,
    pub(super) xs: ArrayId,
    /// The result.
    pub(super) y: ArrayId,
    pub(super) init: Option<&'f Fun>,
    /// Of segments, the number of the segment at each position of a row.
    pub(super) segments: Option<ArrayId>,
}

/// The floats of an operator's elements, by leaf, with the elements that have their adjoints.
pub(super) fn shares(f: &Fun) -> Option<Vec<(usize, Share)>> {
    let all = components(f)?;
    let floats = f.body.results.iter().enumerate().filter(|(_, v)| f.ty(**v).is_float());
    let share = |(leaf, v): (usize, &Val)| {
        let share = match all[leaf] {
            Component::Op(PrimOp::AddP) => Share::All,
            Component::Op(PrimOp::MinP | PrimOp::MaxP) => {
                let ScalarOp::Prim(_, args) = &f.body.definition(*v)?.op else { return None };
                Share::One { first: args.first() == f.body.params.get(leaf) }
            }
            Component::Op(_) | Component::First | Component::Second => return None,
        };
        Some((leaf, share))
    };
    floats.map(share).collect()
}

impl Reverse<'_, '_> {
    /// The adjoints of what is folded and of the initial value, by that of the result.
    pub(super) fn shared(&mut self, fold: Folded<'_>, shares: &[(usize, Share)], by: Adjoint) -> Result<(), Error> {
        let how = match shares.iter().filter(|(_, s)| *s != Share::All).count() {
            0 => "every element has the adjoint of its sum",
            n if n == shares.len() => "of each result, the element that it is",
            _ => "every element has that of its sum, and one element that of its extreme",
        };
        self.w.note(how);
        let start = fold.init.filter(|_| shares.iter().any(|(_, s)| *s != Share::All)).map(|init| {
            let elt = self.w.elt(fold.y).clone();
            let op = ArrayOp::Generate { shape: self.w.code([]).done([]), f: init.clone() };
            self.w.stmt(0, elt, op)
        });
        let mut winners = Vec::new();
        for &(leaf, share) in shares {
            winners.push(match share {
                Share::All => None,
                Share::One { first } => Some(self.winner(fold, leaf, first, start)),
            });
        }
        self.of_winners(fold, &winners, by)
    }

    /// The same, where these arrays have the positions of the elements that have the adjoint of each float, if not all have it.
    pub(super) fn of_winners(
        &mut self,
        fold: Folded<'_>,
        winners: &[Option<ArrayId>],
        by: Adjoint,
    ) -> Result<(), Error> {
        let init = fold.init.filter(|init| self.reads_active(init));
        let by = match (by, winners) {
            (by, [Some(winner), others @ ..])
                if fold.segments.is_none() && init.is_none() && others.iter().all(|w| *w == Some(*winner)) =>
            {
                let rows = match by {
                    Adjoint::OneHot(by) => by,
                    by => OneHot::everywhere(self.dense(fold.y, by), self.w.rank(fold.y)),
                };
                let by = self.at_winner(fold.y, *winner, fold.init.is_none(), rows);
                self.add(fold.xs, Adjoint::OneHot(by));
                return Ok(());
            }
            (Adjoint::OneHot(by), _) if init.is_none() && winners.iter().all(Option::is_none) => {
                let by = self.along_rows(fold.xs, by);
                self.add(fold.xs, Adjoint::OneHot(by));
                return Ok(());
            }
            (by, _) => self.dense(fold.y, by),
        };
        if self.is_active(fold.xs) {
            let elt = self.w.tangent_elt(fold.xs);
            let leaves = elt.leaves();
            let adjoint = self.over(fold.xs, elt, |c, index| {
                fold.of_element(c, index, &leaves, |c, at, position| {
                    let whole = c.read(by, &leaves, at);
                    let own = |(v, winner): (Val, &Option<ArrayId>)| won(c, v, *winner, at, position);
                    whole.into_iter().zip(winners).map(own).collect()
                })
            });
            self.contribute(fold.xs, adjoint);
        }
        let Some(init) = init else { return Ok(()) };
        let elt = self.w.elt(by).clone();
        let leaves = elt.leaves();
        let of_init = self.over(fold.y, elt, |c, at| {
            let (whole, initial) = (c.read(by, &leaves, at), c.int(INITIAL));
            let own = |(v, winner): (Val, &Option<ArrayId>)| won(c, v, *winner, at, initial);
            whole.into_iter().zip(winners).map(own).collect()
        });
        self.initial(Some(init), of_init)
    }

    /// For each result the position in its row of the element that a leaf of it is.
    fn winner(&mut self, fold: Folded<'_>, leaf: usize, first: bool, start: Option<ArrayId>) -> ArrayId {
        let leaves = self.w.elt(fold.xs).leaves();
        let nobody = if first { i64::MAX } else { INITIAL };
        let places = self.over(fold.xs, INT.into(), |c, index| {
            fold.of_element(c, index, &[INT], |c, at, position| {
                let (own, result) = (c.read(fold.xs, &leaves, index)[leaf], c.read(fold.y, &leaves, at)[leaf]);
                let (same, nobody) = (same_number(c, own, result), c.int(nobody));
                vec![c.choose(same, position, nobody)]
            })
        });
        let mut f = self.w.code([INT, INT]);
        let both = f.params();
        let one = f.two(if first { PrimOp::MinP } else { PrimOp::MaxP }, both[0], both[1]);
        let mut init = self.w.code([]);
        let none = init.literal(nobody.lit());
        let (f, none) = (f.done([one]), init.done([none]));
        let op = fold.op.map(&mut Replaced { xs: fold.xs, by: places, f: &f, init: &|_| none.clone() });
        let rank = self.w.rank(fold.y);
        let winner = self.w.stmt(rank, INT.into(), op);
        let Some(start) = start.filter(|_| first) else { return winner };
        self.over(fold.y, INT.into(), |c, at| {
            let (initial, result) = (c.read(start, &leaves, &[])[leaf], c.read(fold.y, &leaves, at)[leaf]);
            let (is_it, winner) = (same_number(c, initial, result), c.read(winner, &[INT], at)[0]);
            let position = c.int(INITIAL);
            vec![c.choose(is_it, position, winner)]
        })
    }
}

impl Folded<'_> {
    /// What `write` writes for an element, of the index of its result and its position in the row; zeros where it is in no
    /// segment.
    fn of_element(
        self,
        c: &mut Code,
        index: &[Val],
        types: &[ScalarType],
        write: impl FnOnce(&mut Code, &[Val], Val) -> Vec<Val>,
    ) -> Vec<Val> {
        let Some((position, outer)) = index.split_last() else { return Vec::new() };
        let Some(numbers) = self.segments else { return write(c, outer, *position) };
        let number = c.read(numbers, &[INT], &[*position])[0];
        let inside = c.within_axis(&self.y, outer.len(), number);
        let at: Vec<Val> = outer.iter().copied().chain([number]).collect();
        c.branch(inside, types, |c| write(c, &at, *position), |c| c.zeros(types))
    }
}

/// An adjoint where an element at this position has it, 0 elsewhere.
fn won(c: &mut Code, adjoint: Val, winner: Option<ArrayId>, at: &[Val], position: Val) -> Val {
    let Some(winner) = winner else { return adjoint };
    let (winner, zero) = (c.read(winner, &[INT], at)[0], c.zero_like(adjoint));
    let own = c.two(PrimOp::EqP, winner, position);
    c.choose(own, adjoint, zero)
}

/// Whether two numbers are equal, or both none.
pub(in super::super) fn same_number(c: &mut Code, a: Val, b: Val) -> Val {
    let equal = c.two(PrimOp::EqP, a, b);
    if !c.ty(a).is_float() {
        return equal;
    }
    let (a, b) = (c.op(PrimOp::IsNanP, &[a]), c.op(PrimOp::IsNanP, &[b]));
    let neither = c.two(PrimOp::AndP, a, b);
    c.two(PrimOp::OrP, equal, neither)
}
