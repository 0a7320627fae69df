//! Operators that keep one of two elements whole, by a comparison of one of their leaves: the greatest element with its position,
//! the nearest one with its distance.
//!
//! The elements that they keep are extremes, so that a fold or scan of any length is found without applying them.

use super::operators::ReduceOp;
use acc_core::ir::{Dir, Fun, PrimOp, Region, ScalarOp, Val};

/// Which of equal elements is kept, in the order of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// The first one.
    First,
    /// The last one.
    Last,
}

/// What an operator does about floats that are no numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nans {
    /// Nothing takes the place of one, which takes nobody's place: it is not associative then, and what it yields of several
    /// elements is up to the order.
    Lose,
    /// The first one is kept.
    Win,
    /// One takes the place of anything, and anything takes its place. That is not associative either.
    Yield,
}

/// An operator on an earlier and a later element that yields the later one if its leaf compares so with the earlier one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The leaf that is compared.
    pub leaf: usize,
    /// The extreme that is kept.
    pub best: ReduceOp,
    /// What is kept of equal elements.
    pub ties: Ties,
    /// What is kept of floats that are no numbers.
    pub nans: Nans,
}

impl Choice {
    /// What choice an operator is, if it is said when the later element is kept, whether as a selection or as branches. The later
    /// element is its right operand, or, from the right, the left one.
    ///
    /// ```
    /// use acc_core::ir::{ArrayOp, Dir};
    /// use acc_desugar::analysis::choice::{Choice, Ties};
    /// let program = acc_core::text::parse("p.acc", "
    ///     program(xs: [1](i64, bool)) {
    ///       m: [0](i64, bool) = fold1(xs, f: |%a: i64, %c: bool, %b: i64, %d: bool| {
    ///         %x: i64, %e: bool = if gt(%b, %a) { yield %b, %d } else { yield %a, %c }
    ///         yield %x, %e
    ///       })
    ///       yield m
    ///     }")?;
    /// let ArrayOp::Fold { f, .. } = &program.body.stmts[0].op else { unreachable!() };
    /// assert_eq!(Choice::of(f, Dir::Left).map(|c| (c.leaf, c.ties)), Some((0, Ties::First)));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn of(f: &Fun, dir: Dir) -> Option<Choice> {
        Choice::of_either(f, dir).filter(|choice| choice.nans != Nans::Yield)
    }

    /// The same, also if it is said when the earlier element is kept.
    pub fn of_either(f: &Fun, dir: Dir) -> Option<Choice> {
        let (left, right) = f.body.params.split_at_checked(f.body.results.len())?;
        let (earlier, later) = if dir == Dir::Left { (left, right) } else { (right, left) };
        let Some(test) = chosen_by(f, earlier, later) else {
            let (p, args) = prim(f, chosen_by(f, later, earlier)?)?;
            let leaf = later.iter().position(|v| args.contains(v))?;
            let (best, ties) = better(f, negated(p)?, args, [earlier[leaf], later[leaf]])?;
            let nans = if f.ty(later[leaf]).is_float() { Nans::Yield } else { Nans::Lose };
            return Some(Choice { leaf, best, ties, nans });
        };
        if let Some((p, [x, y])) = prim(f, test)
            && let Some(leaf) = later.iter().position(|v| *v == x || *v == y)
            && let Some((best, ties)) = better(f, p, [x, y], [earlier[leaf], later[leaf]])
        {
            return Some(Choice { leaf, best, ties, nans: Nans::Lose });
        }
        // The earlier one is a number, and the later one is better or none.
        let (PrimOp::AndP, both) = prim(f, test)? else { return None };
        let leaf = earlier.iter().position(|a| both.iter().any(|v| prim(f, *v) == Some((PrimOp::EqP, [*a, *a]))))?;
        let (a, b) = (earlier[leaf], later[leaf]);
        let rest = both.into_iter().find(|v| prim(f, *v) != Some((PrimOp::EqP, [a, a])))?;
        let (PrimOp::OrP, either) = prim(f, rest)? else { return None };
        let compared = either.into_iter().find(|v| prim(f, *v) != Some((PrimOp::NeP, [b, b])))?;
        let (p, args) = prim(f, compared).filter(|_| either.contains(&compared) && either[0] != either[1])?;
        let has_nan = either.iter().any(|v| prim(f, *v) == Some((PrimOp::NeP, [b, b])));
        let (best, ties) = better(f, p, args, [a, b]).filter(|_| has_nan)?;
        (ties == Ties::First).then_some(Choice { leaf, best, ties, nans: Nans::Win })
    }
}

/// The condition by which the leaves of the later element are yielded, and else those of the earlier one.
fn chosen_by(f: &Fun, earlier: &[Val], later: &[Val]) -> Option<Val> {
    let mut by: Option<Val> = None;
    for (k, result) in f.body.results.iter().enumerate() {
        let node = f.body.definition(*result)?;
        let yields = |r: &Region, k: usize| r.results.get(k).copied().filter(|_| r.nodes.is_empty());
        let (cond, then, else_) = match &node.op {
            ScalarOp::Select { cond, then, else_ } => (*cond, Some(*then), Some(*else_)),
            ScalarOp::If { cond, then, else_ } => {
                let k = node.results.iter().position(|r| r == result)?;
                (*cond, yields(then, k), yields(else_, k))
            }
            _ => return None,
        };
        if then != later.get(k).copied() || else_ != earlier.get(k).copied() || by.is_some_and(|other| other != cond) {
            return None;
        }
        by = Some(cond);
    }
    by
}

/// The comparison of numbers that holds where another one does not.
fn negated(p: PrimOp) -> Option<PrimOp> {
    Some(match p {
        PrimOp::GtP => PrimOp::LeP,
        PrimOp::GeP => PrimOp::LtP,
        PrimOp::LtP => PrimOp::GeP,
        PrimOp::LeP => PrimOp::GtP,
        // No comparison by order.
        _ => return None,
    })
}

/// The primitive of two operands that a value is.
fn prim(f: &Fun, v: Val) -> Option<(PrimOp, [Val; 2])> {
    let ScalarOp::Prim(p, args) = &f.body.definition(v)?.op else { return None };
    Some((*p, args[..].try_into().ok()?))
}

/// What is kept if a comparison of an earlier and a later value says that the later one is.
fn better(f: &Fun, p: PrimOp, args: [Val; 2], [a, b]: [Val; 2]) -> Option<(ReduceOp, Ties)> {
    let swapped = args == [a, b];
    if !swapped && args != [b, a] {
        return None;
    }
    let (greater, ties) = match p {
        PrimOp::GtP => (!swapped, Ties::First),
        PrimOp::GeP => (!swapped, Ties::Last),
        PrimOp::LtP => (swapped, Ties::First),
        PrimOp::LeP => (swapped, Ties::Last),
        _ => return None,
    };
    Some((ReduceOp::of(if greater { PrimOp::MaxP } else { PrimOp::MinP }, f.ty(a))?, ties))
}
