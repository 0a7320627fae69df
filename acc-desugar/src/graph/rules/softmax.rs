//! Softmax and its logarithm, as they are written without overflow.

use super::views::operands;
use crate::graph::builder::Builder;
use crate::graph::{Op, ReduceOp, Value};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

/// A quotient or difference that ends one of
///
/// - `e / sum(e)`, where `e = exp(x - max(x))`,
/// - `(x - max(x)) - ln(sum(exp(x - max(x))))`,
/// - `x - (max(x) + ln(sum(exp(x - max(x)))))`.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Prim(p @ (PrimOp::DivP | PrimOp::SubP), args) = op else { return None };
    let [left, right] = args[..] else { return None };
    if !matches!(b.scalar(left), ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    let mut found = Found { b, rank: b.rank(left), axis: None, checked: Vec::new() };
    let (x, log) = if *p == PrimOp::DivP {
        let (e, _, x, _) = found.exponents(right)?;
        (e == left).then_some((x, false))?
    } else {
        (found.log_softmax(left, right)?, true)
    };
    let Found { axis, checked, .. } = found;
    let x = b.after_checks(x, checked);
    Some(b.softmax(x, axis?, log))
}

/// A softmax as far as it is matched.
struct Found<'b> {
    b: &'b Builder,
    rank: usize,
    /// The axis, as soon as a value is met that repeats along one.
    axis: Option<u32>,
    /// The checks between its parts.
    checked: Vec<Value>,
}

impl Found<'_> {
    fn unchecked(&mut self, v: Value) -> Value {
        self.b.unchecked(v, &mut self.checked)
    }

    /// What a difference is the logarithm of the softmax of.
    fn log_softmax(&mut self, left: Value, right: Value) -> Option<Value> {
        let right = self.row(right);
        if let Some([sum]) = operands(self.b, right, PrimOp::LnP) {
            let (_, less, x, _) = self.exponents(sum)?;
            return (less == left).then_some(x);
        }
        let [a, b] = operands(self.b, right, PrimOp::AddP)?.map(|v| self.row(v));
        let (greatest, [sum]) = match (operands(self.b, a, PrimOp::LnP), operands(self.b, b, PrimOp::LnP)) {
            (None, Some(sum)) => (a, sum),
            (Some(sum), None) => (b, sum),
            _ => return None,
        };
        let (_, _, x, top) = self.exponents(sum)?;
        (x == left && top == greatest).then_some(x)
    }

    /// Of the sum of `exp(x - max(x))` the exponential function, its operand, `x`, and the greatest.
    fn exponents(&mut self, sum: Value) -> Option<(Value, Value, Value, Value)> {
        let sum = self.row(sum);
        let e = self.reduced(ReduceOp::Sum, sum)?;
        let exponential = self.unchecked(e);
        let [less] = operands(self.b, exponential, PrimOp::ExpP)?;
        let difference = self.unchecked(less);
        let [x, top] = operands(self.b, difference, PrimOp::SubP)?;
        let top = self.row(top);
        (self.reduced(ReduceOp::Max, top)? == x).then_some((e, less, x, top))
    }

    /// What a value repeats along the axis.
    fn row(&mut self, v: Value) -> Value {
        let v = self.unchecked(v);
        match self.b.def(v) {
            Some(Op::InsertAxes(x, at)) if self.b.rank(v) == self.rank && at.len() == 1 => {
                let is_axis = *self.axis.get_or_insert(at[0]) == at[0];
                if is_axis { self.unchecked(*x) } else { v }
            }
            // What is the same for all elements of a vector stays of rank 0.
            _ if self.b.rank(v) == 0 && self.rank == 1 => {
                self.axis = Some(0);
                v
            }
            _ => v,
        }
    }

    /// What a value is the reduction of along the axis.
    fn reduced(&self, with: ReduceOp, v: Value) -> Option<Value> {
        let (axis, last) = (self.axis?, self.rank as u32 - 1);
        let Some(Op::Reduce(k, x)) = self.b.def(v) else { return None };
        if *k != with || self.b.rank(*x) != self.rank {
            return None;
        }
        match self.b.def(*x) {
            _ if axis == last => Some(*x),
            Some(Op::Transpose(x, order)) => {
                order.iter().copied().eq((0..=last).filter(|k| *k != axis).chain([axis])).then_some(*x)
            }
            _ => None,
        }
    }
}
