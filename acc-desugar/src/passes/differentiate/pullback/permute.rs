//! Adjoints of permutes, by what is done with several elements at one target.

use super::super::dual::sums;
use super::Reverse;
use super::folds::shares::same_number;
use super::loops::rounds::Permute;
use crate::analysis::operators::{Component, components};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, ScalarOp, Stmt, Val};

/// Where an element comes from that a permute leaves.
const FROM_DEFAULT: i64 = -1;

impl Reverse<'_, '_> {
    pub(super) fn permute(
        &mut self,
        s: &Stmt,
        defaults: ArrayId,
        xs: ArrayId,
        combine: &Fun,
        target: &Fun,
        by: ArrayId,
    ) -> Result<(), Error> {
        if sums(combine) {
            self.w.note("every element has the adjoint of its target");
            self.contribute(defaults, by);
            self.gather(xs, target, by, |_, _, _| None);
            return Ok(());
        }
        let all = components(combine).unwrap_or_default();
        let each = |c: Component| !all.is_empty() && all.iter().all(|d| *d == c);
        if each(Component::Second) {
            self.contribute(defaults, by);
            return Ok(());
        }
        let extreme = [PrimOp::MinP, PrimOp::MaxP].into_iter().find(|p| new_first(combine, *p));
        let y = s.results[0];
        let winner = match extreme {
            _ if each(Component::First) => self.winners(defaults, xs, target, None),
            Some(_) => self.winners(defaults, xs, target, Some(y)),
            None => {
                self.w.note("as a loop, in each step of which every target takes its next element");
                let (stmts, result) = self.in_rounds(Permute { defaults, xs, combine, target })?;
                return self.replaced(&stmts, &[(result, by)]);
            }
        };
        self.w.note("of each target, the element that it is from");
        self.gather(xs, target, by, |c, at, from| {
            let w = c.read(winner, &[ScalarType::I64], at)[0];
            Some(c.two(PrimOp::EqP, w, from))
        });
        if self.is_active(defaults) {
            let elt = self.w.tangent_elt(defaults);
            let leaves = elt.leaves();
            let adjoint = self.over(defaults, elt, |c, index| {
                let w = c.read(winner, &[ScalarType::I64], index)[0];
                let none = c.int(FROM_DEFAULT);
                let kept = c.two(PrimOp::EqP, w, none);
                c.read_where(kept, by, &leaves, index)
            });
            self.contribute(defaults, adjoint);
        }
        Ok(())
    }

    /// Each element has the adjoint of its target, where `counts` says so of the target and the element's position; 0 if it is
    /// dropped.
    fn gather(
        &mut self,
        xs: ArrayId,
        target: &Fun,
        by: ArrayId,
        counts: impl FnOnce(&mut Code, &[Val], Val) -> Option<Val>,
    ) {
        if !self.is_active(xs) {
            return;
        }
        let elt = self.w.tangent_elt(xs);
        let leaves = elt.leaves();
        let adjoint = self.over(xs, elt, |c, index| {
            let place = c.inline(target, index);
            let Some((tag, at)) = place.split_first() else { return Vec::new() };
            let none = c.literal(Lit::zero(ScalarType::U8));
            let taken = c.two(PrimOp::NeP, *tag, none);
            c.branch(
                taken,
                &leaves,
                |c| {
                    let from = linear(c, xs, index);
                    match counts(c, at, from) {
                        None => c.read(by, &leaves, at),
                        Some(counts) => c.read_where(counts, by, &leaves, at),
                    }
                },
                |c| c.zeros(&leaves),
            )
        });
        self.contribute(xs, adjoint);
    }

    /// For each target the position of the last element that it is from: of the last written, or with `result` of the last
    /// of those that equal the result.
    fn winners(&mut self, defaults: ArrayId, xs: ArrayId, target: &Fun, result: Option<ArrayId>) -> ArrayId {
        let int = EltType::Scalar(ScalarType::I64);
        let none = self.over(defaults, int.clone(), |c, _| vec![c.int(FROM_DEFAULT)]);
        let leaves = self.w.elt(xs).leaves();
        let from = self.over(xs, int.clone(), |c, index| {
            let from = linear(c, xs, index);
            let Some(y) = result else { return vec![from] };
            let place = c.inline(target, index);
            let Some((tag, at)) = place.split_first() else { return vec![from] };
            let dropped = c.literal(Lit::zero(ScalarType::U8));
            let taken = c.two(PrimOp::NeP, *tag, dropped);
            c.branch(
                taken,
                &[ScalarType::I64],
                |c| {
                    let (own, left) = (c.read(xs, &leaves, index), c.read(y, &leaves, at));
                    let mut same = c.truth(true);
                    for (a, b) in own.into_iter().zip(left) {
                        let equal = same_number(c, a, b);
                        same = c.two(PrimOp::AndP, same, equal);
                    }
                    let none = c.int(FROM_DEFAULT);
                    vec![c.choose(same, from, none)]
                },
                |c| vec![c.int(FROM_DEFAULT)],
            )
        });
        let mut later = self.w.code([ScalarType::I64, ScalarType::I64]);
        let both = later.params();
        let last = later.two(PrimOp::MaxP, both[0], both[1]);
        let op = ArrayOp::Permute { defaults: none, xs: from, combine: later.done([last]), target: target.clone() };
        let rank = self.w.rank(defaults);
        self.w.stmt(rank, int, op)
    }
}

/// The row-major position of an index.
pub(super) fn linear(c: &mut Code, a: ArrayId, index: &[Val]) -> Val {
    let mut at = c.int(0);
    for (axis, i) in index.iter().enumerate() {
        let n = c.extent(a, axis);
        let row = c.two(PrimOp::MulP, at, n);
        at = c.two(PrimOp::AddP, row, *i);
    }
    at
}

/// Whether a combining function is this extreme of one number: of the new element and the old one, in this order, so that
/// the new one is taken of equal ones.
fn new_first(combine: &Fun, p: PrimOp) -> bool {
    let ([node], [result]) = (&combine.body.nodes[..], &combine.body.results[..]) else { return false };
    let op = matches!(&node.op, ScalarOp::Prim(q, args) if *q == p && args[..] == combine.body.params[..]);
    op && node.results[..] == [*result]
}
