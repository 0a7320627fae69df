//! Folds whose operator chooses one of two elements as a whole.
//!
//! The position of the element that a row's result is, is chosen beside the element: the same operator, of elements with
//! their positions.

use super::super::Reverse;
use super::shares::INITIAL;
use acc_core::data::{EltType, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, Region, ScalarOp, Val};

const INT: ScalarType = ScalarType::I64;

/// Which of its operands an operator yields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Left,
    Right,
    /// The left one where a condition holds, or where it does not.
    By(Val, bool),
}

/// What an operator chooses by, if that is all it does.
pub(super) fn choice(f: &Fun) -> Option<Choice> {
    let (left, right) = f.body.params.split_at(f.body.params.len() / 2);
    let side = |results: &[Val]| match results {
        r if r == left => Some(true),
        r if r == right => Some(false),
        _ => None,
    };
    let results = &f.body.results[..];
    if let Some(is_left) = side(results) {
        return Some(if is_left { Choice::Left } else { Choice::Right });
    }
    match &f.body.definition(*results.first()?)?.op {
        ScalarOp::Select { cond, .. } => {
            let both = |v: &Val| match &f.body.definition(*v)?.op {
                ScalarOp::Select { cond: own, then, else_ } if own == cond => Some((*then, *else_)),
                _ => None,
            };
            let (then, else_): (Vec<Val>, Vec<Val>) =
                results.iter().map(both).collect::<Option<Vec<_>>>()?.into_iter().unzip();
            by(*cond, side(&then)?, side(&else_)?)
        }
        ScalarOp::If { cond, then, else_ } if f.body.definition(results[0])?.results[..] == *results => {
            let yields = |r: &Region| side(&r.results);
            by(*cond, yields(then)?, yields(else_)?)
        }
        _ => None,
    }
}

fn by(cond: Val, then: bool, else_: bool) -> Option<Choice> {
    (then != else_).then_some(Choice::By(cond, then))
}

impl Reverse<'_, '_> {
    /// For each row the position of the element that its result is.
    pub(super) fn chosen(&mut self, xs: ArrayId, y: ArrayId, f: &Fun, choice: Choice, init: Option<&Fun>) -> ArrayId {
        let leaves = self.w.elt(xs).leaves();
        let placed: Vec<ScalarType> = leaves.iter().copied().chain([INT]).collect();
        let elt = EltType::tuple(placed.iter().map(|ty| EltType::Scalar(*ty)));
        let elements = self.over(xs, elt.clone(), |c, index| {
            let mut element = c.read(xs, &leaves, index);
            element.extend(index.last());
            element
        });
        let mut g = self.w.code([&placed[..], &placed].concat());
        let params = g.params();
        let (left, right) = params.split_at(placed.len());
        let operands = [&left[..leaves.len()], &right[..leaves.len()]].concat();
        let position = |left: &[Val], right: &[Val]| (left[leaves.len()], right[leaves.len()]);
        let (own, other) = position(left, right);
        let mut asked = f.clone();
        if let Choice::By(cond, _) = choice {
            asked.body.results.push(cond);
        }
        let mut results = g.inline(&asked, &operands);
        let place = match choice {
            Choice::Left => own,
            Choice::Right => other,
            Choice::By(_, then) => {
                let cond = results.pop().unwrap_or(own);
                if then { g.choose(cond, own, other) } else { g.choose(cond, other, own) }
            }
        };
        results.push(place);
        let init = init.map(|init| {
            let mut c = self.w.code([]);
            let mut start = c.inline(init, &[]);
            start.push(c.int(INITIAL));
            c.done(start)
        });
        let rank = self.w.rank(y);
        let folded = self.w.stmt(rank, elt, ArrayOp::Fold { xs: elements, f: g.done(results), init });
        self.over(y, INT.into(), |c, at| c.read(folded, &placed, at)[leaves.len()..].to_vec())
    }
}
