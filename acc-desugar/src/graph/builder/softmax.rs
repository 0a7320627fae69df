//! Softmax and its logarithm, as they are written without overflow.

use super::Builder;
use crate::graph::{Op, ReduceOp, Value};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

/// What is known so far of what may be one.
struct Found {
    rank: usize,
    /// The axis, as soon as a value is met that repeats along one.
    axis: Option<u32>,
    /// The checks between its parts.
    checked: Vec<Value>,
}

impl Builder {
    /// What a quotient or difference is if it ends one of
    ///
    /// - `e / sum(e)`, where `e = exp(x - max(x))`,
    /// - `(x - max(x)) - ln(sum(exp(x - max(x))))`,
    /// - `x - (max(x) + ln(sum(exp(x - max(x)))))`.
    pub(super) fn softmax(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let [left, right] = *args else { return None };
        let mut found = Found { rank: self.rank(left), axis: None, checked: Vec::new() };
        let (x, log) = match (p, self.scalar(left)) {
            (PrimOp::DivP, ScalarType::F32 | ScalarType::F64) => {
                let (e, _, x, _) = self.exponents(right, &mut found)?;
                (e == left).then_some((x, false))?
            }
            (PrimOp::SubP, ScalarType::F32 | ScalarType::F64) => (self.log_softmax(left, right, &mut found)?, true),
            _ => return None,
        };
        // What waited for checks still does.
        let x = self.after_checks(x, found.checked);
        Some(self.like(Op::Softmax { x, axis: found.axis?, log }, x))
    }

    /// What a difference is the logarithm of the softmax of.
    fn log_softmax(&self, left: Value, right: Value, found: &mut Found) -> Option<Value> {
        let right = self.row(right, found);
        if let Some([sum]) = self.operands(right, PrimOp::LnP) {
            let (_, less, x, _) = self.exponents(sum, found)?;
            return (less == left).then_some(x);
        }
        let [a, b] = self.operands(right, PrimOp::AddP)?.map(|v| self.row(v, found));
        let (greatest, [sum]) = match (self.operands(a, PrimOp::LnP), self.operands(b, PrimOp::LnP)) {
            (None, Some(sum)) => (a, sum),
            (Some(sum), None) => (b, sum),
            _ => return None,
        };
        let (_, _, x, top) = self.exponents(sum, found)?;
        (x == left && top == greatest).then_some(x)
    }

    /// Of the sum of `exp(x - max(x))` the exponential function, its operand, `x`, and the greatest.
    fn exponents(&self, sum: Value, found: &mut Found) -> Option<(Value, Value, Value, Value)> {
        let sum = self.row(sum, found);
        let e = self.reduced(ReduceOp::Sum, sum, found)?;
        let [less] = self.operands(self.unchecked(e, &mut found.checked), PrimOp::ExpP)?;
        let [x, top] = self.operands(self.unchecked(less, &mut found.checked), PrimOp::SubP)?;
        let top = self.row(top, found);
        (self.reduced(ReduceOp::Max, top, found)? == x).then_some((e, less, x, top))
    }

    /// What a value repeats along the axis.
    fn row(&self, v: Value, found: &mut Found) -> Value {
        let v = self.unchecked(v, &mut found.checked);
        match self.def(v) {
            Some(Op::InsertAxes(x, at)) if self.rank(v) == found.rank && at.len() == 1 => {
                let is_axis = *found.axis.get_or_insert(at[0]) == at[0];
                if is_axis { self.unchecked(*x, &mut found.checked) } else { v }
            }
            // What is the same for all elements of a vector stays of rank 0.
            _ if self.rank(v) == 0 && found.rank == 1 => {
                found.axis = Some(0);
                v
            }
            _ => v,
        }
    }

    /// What a value is the reduction of along the axis.
    fn reduced(&self, with: ReduceOp, v: Value, found: &Found) -> Option<Value> {
        let (axis, last) = (found.axis?, found.rank as u32 - 1);
        let Some(Op::Reduce(k, x)) = self.def(v) else { return None };
        if *k != with || self.rank(*x) != found.rank {
            return None;
        }
        match self.def(*x) {
            _ if axis == last => Some(*x),
            Some(Op::Transpose(x, order)) => {
                order.iter().copied().eq((0..=last).filter(|k| *k != axis).chain([axis])).then_some(*x)
            }
            _ => None,
        }
    }

    pub(super) fn operands<const N: usize>(&self, v: Value, p: PrimOp) -> Option<[Value; N]> {
        match self.def(v) {
            Some(Op::Prim(q, args)) if *q == p => args[..].try_into().ok(),
            _ => None,
        }
    }
}
