//! Loop-carried positions in 32 bits.
//!
//! A loop that searches for the nearest, the greatest or the first element carries a position: an `i64` that each lane
//! takes from a uniform value, a loop counter for instance, or leaves as it is. 64-bit lanes take two registers where
//! the distance beside them takes one, and flags must be widened for them in each iteration. As long as the candidates
//! fit 32 bits, which each iteration checks once for all lanes, the position is carried in 32 bits; beyond that the
//! function bails out.

use crate::kernel::{Node, Op, Region};
use crate::llvm::emit::facts::Facts;
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, Uniformity};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::Val;
use std::collections::{HashMap, HashSet};

/// The values that are carried in 32 bits.
#[derive(Clone, Default)]
pub(crate) struct NarrowState {
    /// Loop parameters, and selects among their candidates.
    values: HashSet<Val>,
    /// The low halves of uniform candidates.
    halves: HashMap<Val, Operand>,
}

impl NarrowState {
    pub(crate) fn has(&self, v: Val) -> bool {
        self.values.contains(&v)
    }
}

impl Emitter<'_> {
    /// Whether the loop-carried value number `k` is only ever selected from uniform values; then it is carried in 32
    /// bits from here on, and must be [widened](VectorCode::widen_narrow) after the loop.
    pub(crate) fn narrow_state(&mut self, init: Val, k: usize, test: &Region, step: &Region) -> bool {
        let (param, result) = (step.params[k], step.results[k]);
        if self.ty(param) != ScalarType::I64
            || self.facts.uniformities[param.index()] != Uniformity::Varying
            || !self.facts.may_narrow(init)
        {
            return false;
        }
        let mut choices = HashSet::from([param, test.params[k]]);
        if result == param || !self.facts.chooses(result, step, &mut choices) {
            return false;
        }
        // The loop itself uses it once; any other use would need all 64 bits.
        let is_choice = |n: &Node| n.results.iter().any(|r| choices.contains(r));
        let mut others = test.results.iter().chain(&step.results).filter(|v| choices.contains(v)).count();
        for region in [test, step] {
            region.visit(0, &mut |n, _| {
                if !is_choice(n) {
                    n.op.visit_operands(&mut |v| others += usize::from(choices.contains(&v)));
                }
                let inner = n.op.regions();
                others += inner.iter().flat_map(|r| &r.results).filter(|v| choices.contains(v)).count();
            });
        }
        if others != 1 {
            return false;
        }
        self.scope.halved.values.extend(choices);
        true
    }

    /// The low half of a uniform value; bails out if that is not all of it.
    pub(crate) fn narrow_scalar(&mut self, v: Val) -> Operand {
        if let Some(known) = self.scope.halved.halves.get(&v) {
            return known.clone();
        }
        let whole = self.scope.scalar(v);
        if self.facts.body.consts.iter().any(|(c, _)| *c == v) {
            return whole;
        }
        let half = put!(self.code.f, "trunc i64 {whole} to i32");
        let again = put!(self.code.f, "sext i32 {half} to i64");
        let more = put!(self.code.f, "icmp ne i64 {again}, {whole}");
        self.code.f.bail_out_if(&more);
        self.scope.halved.halves.insert(v, half.clone());
        half
    }

    /// Computes the low halves of a select's operands ahead of it.
    pub(crate) fn narrow_operands(&mut self, n: &Node) {
        let Op::Select { then, else_, .. } = n.op else { return };
        if self.scope.halved.has(n.results[0]) {
            for v in [then, else_] {
                if !self.scope.halved.has(v) {
                    self.narrow_scalar(v);
                }
            }
        }
    }

    /// A select in 32 bits.
    pub(crate) fn narrow_select(&mut self, cond: Val, sides: [Val; 2]) -> Value {
        let conds = self.vectors(cond);
        let [then, else_]: [Parts; 2] =
            sides.map(|v| if self.scope.halved.has(v) { self.vectors(v) } else { self.broadcast_narrow(v) });
        let (flags, t) = (self.code.mask_type(), self.code.vector(ScalarType::I32));
        let parts = conds.iter().zip(then.iter().zip(&else_));
        Value::Varying(parts.map(|(c, (x, y))| put!(self.code.f, "select {flags} {c}, {t} {x}, {t} {y}")).collect())
    }

    /// Broadcasts the low half of a uniform value.
    pub(crate) fn broadcast_narrow(&mut self, v: Val) -> Parts {
        let half = self.narrow_scalar(v);
        self.code.broadcast(&Value::Uniform(half), "i32")
    }
}

impl Facts<'_> {
    /// Whether a value is a select among `choices` and uniform values.
    fn chooses(&self, v: Val, step: &Region, choices: &mut HashSet<Val>) -> bool {
        if choices.contains(&v) {
            return true;
        }
        if self.uniformities[v.index()] == Uniformity::Uniform {
            return self.may_narrow(v);
        }
        let node = step.definition(v).map(|n| &n.op);
        let Some(Op::Select { then, else_, .. }) = node else { return false };
        let all = self.chooses(*then, step, choices) && self.chooses(*else_, step, choices);
        choices.insert(v);
        all
    }

    /// Whether a value is uniform, and no constant that needs more than 32 bits.
    fn may_narrow(&self, v: Val) -> bool {
        let constant = self.body.consts.iter().find(|(c, _)| *c == v);
        self.uniformities[v.index()] == Uniformity::Uniform
            && constant.is_none_or(|(_, l)| i32::try_from(i64::from_bits64(l.bits)).is_ok())
    }
}

impl VectorCode {
    /// Extends values carried in 32 bits to 64.
    pub(crate) fn widen_narrow(&mut self, parts: &Parts) -> Parts {
        let [narrow, wide] = [ScalarType::I32, ScalarType::I64].map(|ty| self.vector(ty));
        parts.iter().map(|x| put!(self.f, "sext {narrow} {x} to {wide}")).collect()
    }
}
