//! Zeros around a tensor: a tensor that is read with zeros around it needs no other zeros there.

use super::contract::is_zero;
use super::windows::are_zero_outside;
use crate::graph::builder::Builder;
use crate::graph::{Op, Value};

/// A choice of zero wherever positions are outside of the tensor that is read at them.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Where(mask, then, zero) = *op else { return None };
    let same_axes = b.rank(mask) == b.rank(then) && b.axes(mask) & !b.axes(then) == 0;
    (is_zero(b, zero) && same_axes && are_zero_outside(b, &[then], mask)).then_some(then)
}
