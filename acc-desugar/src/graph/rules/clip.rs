//! Numbers between two literals: the least of a greatest, or the greatest of a least.

use crate::graph::builder::Builder;
use crate::graph::{Op, Value};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;

/// `min(max(x, low), high)` and `max(min(x, high), low)`, where something is between the literals.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Prim(p, args) = op else { return None };
    let (bounded, second) = bound(b, *p, args)?;
    let Op::Prim(q, args) = b.def(bounded)? else { return None };
    let (x, first) = bound(b, *q, args)?;
    let (low, high) = match (q, p) {
        (PrimOp::MaxP, PrimOp::MinP) => (first, second),
        (PrimOp::MinP, PrimOp::MaxP) => (second, first),
        _ => return None,
    };
    let has_bounds = matches!(low.ty, ScalarType::I32 | ScalarType::I64 | ScalarType::F32 | ScalarType::F64);
    // NaN comes after all numbers.
    let ordered = low.sort_key() <= high.sort_key() && high.sort_key() != u64::MAX;
    (has_bounds && ordered).then(|| b.clip(x, low, high))
}

/// The operand that is no literal of an operation that commutes, and the literal.
fn bound(b: &Builder, p: PrimOp, args: &[Value]) -> Option<(Value, Lit)> {
    let ([x, y], PrimOp::MinP | PrimOp::MaxP) = (args, p) else { return None };
    match (b.constant_of(*x), b.constant_of(*y)) {
        (None, Some(l)) => Some((*x, l)),
        (Some(l), None) => Some((*y, l)),
        (Some(_), Some(_)) | (None, None) => None,
    }
}
