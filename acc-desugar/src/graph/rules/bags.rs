//! Sums of segments of elements that are read at positions, such as bags of a table's rows: the sum reads them itself.

use crate::graph::builder::Builder;
use crate::graph::{Op, ReduceOp, Value};
use acc_core::data::ScalarType;

/// A sum of segments whose elements are all read at positions of the innermost axis.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    // Of other operations and types libtorch has no sums of rows that it reads.
    let Op::SegmentReduce { with: with @ ReduceOp::Sum, x, at: None, offsets, full } = *op else { return None };
    if !matches!(b.scalar(x), ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    let mut checked = Vec::new();
    let x = b.unchecked(x, &mut checked);
    let (order, taken) = match b.def(x) {
        Some(Op::Transpose(taken, order)) => (Some(order.clone()), b.unchecked(*taken, &mut checked)),
        _ => (None, x),
    };
    let last = order.as_ref().map_or(b.rank(x).checked_sub(1), |o| o.last().map(|a| *a as usize))?;
    let (from, at) = match b.def(taken) {
        Some(Op::Take { x, axis, at }) if *axis as usize == last => (*x, *at),
        Some(Op::Gather(x, at)) if b.rank(*at) == 1 => (*x, *at),
        _ => return None,
    };
    let (from, at) = (b.after_checks(from, checked.clone()), b.after_checks(at, checked));
    let x = order.map_or(from, |order| b.transpose(from, &order));
    Some(b.segment_reduce(with, x, Some(at), offsets, full))
}
