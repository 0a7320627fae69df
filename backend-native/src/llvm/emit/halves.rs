//! Positions that loops carry, in half of their bits.
//!
//! A loop that looks for the nearest, the greatest or the first of many carries a position: an `i64` that each lane takes
//! from what is the same in all lanes, a counter for instance, or leaves as it is. Lanes of 64 bits take two registers
//! where those beside them take one, and flags are widened for them in each turn. As long as what may be taken fits 32
//! bits, which each turn looks at once for all lanes, 32 bits carry it; a loop that goes on beyond that is declined.

use super::text::{Operand, put};
use super::value::{Parts, V};
use super::{Emitter, Level};
use crate::kernel::{Node, Op, Region};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::Val;
use std::collections::{HashMap, HashSet};

/// What is carried in half of its bits, where code is written.
#[derive(Clone, Default)]
pub(super) struct Halved {
    /// Parameters of loops, and choices among what they may take.
    values: HashSet<Val>,
    /// The lower halves of what is the same in all lanes.
    halves: HashMap<Val, Operand>,
}

impl Halved {
    pub(super) fn has(&self, v: Val) -> bool {
        self.values.contains(&v)
    }
}

impl Emitter<'_> {
    /// Whether lanes only ever take the value number `k` that a loop carries from what is the same in all of them; then it
    /// is carried in 32 bits from here on, and what leaves the loop is to be [`widened`](Emitter::widened).
    pub(super) fn halve(&mut self, init: Val, k: usize, test: &Region, step: &Region) -> bool {
        let (param, result) = (step.params[k], step.results[k]);
        if self.ty(param) != ScalarType::I64 || self.levels[param.index()] != Level::Lanes || !self.may_halve(init) {
            return false;
        }
        let mut choices = HashSet::from([param, test.params[k]]);
        if result == param || !self.chooses(result, step, &mut choices) {
            return false;
        }
        // The loop itself takes it once; whatever else does would need all bits.
        let is_choice = |n: &Node| n.results.iter().any(|r| choices.contains(r));
        let mut others = test.results.iter().chain(&step.results).filter(|v| choices.contains(v)).count();
        for region in [test, step] {
            region.visit(0, &mut |n, _| {
                if !is_choice(n) {
                    n.op.operands(&mut |v| others += usize::from(choices.contains(&v)));
                }
                let inner = n.op.regions();
                others += inner.iter().flat_map(|r| &r.results).filter(|v| choices.contains(v)).count();
            });
        }
        if others != 1 {
            return false;
        }
        self.halved.values.extend(choices);
        true
    }

    /// Whether a value of a step is chosen among those in `choices` and what is the same in all lanes.
    fn chooses(&self, v: Val, step: &Region, choices: &mut HashSet<Val>) -> bool {
        if choices.contains(&v) {
            return true;
        }
        if self.levels[v.index()] == Level::One {
            return self.may_halve(v);
        }
        let node = step.nodes.iter().find(|n| n.results.contains(&v)).map(|n| &n.op);
        let Some(Op::Select { then, else_, .. }) = node else { return false };
        let all = self.chooses(*then, step, choices) && self.chooses(*else_, step, choices);
        choices.insert(v);
        all
    }

    /// Whether a value is the same in all lanes, and no constant that needs more than 32 bits.
    fn may_halve(&self, v: Val) -> bool {
        let constant = self.body.consts.iter().find(|(c, _)| *c == v);
        self.levels[v.index()] == Level::One
            && constant.is_none_or(|(_, l)| i32::try_from(i64::from_bits64(l.bits)).is_ok())
    }

    /// The lower half of what is the same in all lanes; declines if that is not all of it.
    pub(super) fn half(&mut self, v: Val) -> Operand {
        if let Some(known) = self.halved.halves.get(&v) {
            return known.clone();
        }
        let whole = self.one(v);
        if self.body.consts.iter().any(|(c, _)| *c == v) {
            return whole;
        }
        let half = put!(self, "trunc i64 {whole} to i32");
        let again = put!(self, "sext i32 {half} to i64");
        let more = put!(self, "icmp ne i64 {again}, {whole}");
        self.decline_if(&more);
        self.halved.halves.insert(v, half.clone());
        half
    }

    /// Writes the lower halves of what a choice takes, ahead of it.
    pub(super) fn halves_of(&mut self, n: &Node) {
        let Op::Select { then, else_, .. } = n.op else { return };
        if self.halved.has(n.results[0]) {
            for v in [then, else_] {
                if !self.halved.has(v) {
                    self.half(v);
                }
            }
        }
    }

    /// A choice that is carried in 32 bits.
    pub(super) fn choice(&mut self, cond: Val, sides: [Val; 2]) -> V {
        let conds = self.lanes(cond);
        let [then, else_]: [Parts; 2] =
            sides.map(|v| if self.halved.has(v) { self.lanes(v) } else { self.spread_half(v) });
        let (flags, t) = (self.mask_type(), self.vector(ScalarType::I32));
        let parts = conds.iter().zip(then.iter().zip(&else_));
        V::Lanes(parts.map(|(c, (x, y))| put!(self, "select {flags} {c}, {t} {x}, {t} {y}")).collect())
    }

    /// Vectors of the lower half of what is the same in all lanes.
    pub(super) fn spread_half(&mut self, v: Val) -> Parts {
        let half = self.half(v);
        self.spread(&V::One(half), "i32")
    }

    /// What a loop has carried in 32 bits, in 64.
    pub(super) fn widened(&mut self, parts: &Parts) -> Parts {
        let [narrow, wide] = [ScalarType::I32, ScalarType::I64].map(|ty| self.vector(ty));
        parts.iter().map(|x| put!(self, "sext {narrow} {x} to {wide}")).collect()
    }
}
