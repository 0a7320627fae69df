//! Reductions of segments of what is read at positions, as sums over the rows of a table are that bags have.

use super::Builder;
use crate::graph::{Op, ReduceOp, Value};
use acc_core::data::ScalarType;

impl Builder {
    /// Reductions of segments along the innermost axis.
    pub(crate) fn segment_reduce(&mut self, with: ReduceOp, x: Value, offsets: Value, full: bool) -> Value {
        let (x, at) = match self.read_at(with, x) {
            Some((x, at)) => (x, Some(at)),
            None => (x, None),
        };
        self.like(Op::SegmentReduce { with, x, at, offsets, full }, x)
    }

    /// What elements that are summed are read of, and at which positions of the innermost axis, if all they are is that.
    fn read_at(&mut self, with: ReduceOp, x: Value) -> Option<(Value, Value)> {
        // Of other operations and types libtorch has no sums of rows that it reads.
        if with != ReduceOp::Sum || !matches!(self.scalar(x), ScalarType::F32 | ScalarType::F64) {
            return None;
        }
        let mut checked = Vec::new();
        let x = self.unchecked(x, &mut checked);
        let (order, taken) = match self.def(x) {
            Some(Op::Transpose(taken, order)) => (Some(order.clone()), self.unchecked(*taken, &mut checked)),
            _ => (None, x),
        };
        let last = order.as_ref().map_or(self.rank(x).checked_sub(1), |o| o.last().map(|a| *a as usize))?;
        let (from, at) = match self.def(taken) {
            Some(Op::Take { x, axis, at }) if *axis as usize == last => (*x, *at),
            Some(Op::Gather(x, at)) if self.rank(*at) == 1 => (*x, *at),
            _ => return None,
        };
        // What waited for checks still does.
        let (from, at) = (self.after_checks(from, checked.clone()), self.after_checks(at, checked));
        let from = order.map_or(from, |order| self.transpose(from, &order));
        Some((from, at))
    }
}
