//! Remainders of affine integers by the extent of their axis, such as positions of neighbours that wrap around: reads at
//! them are two views, joined.

use crate::analysis::access::{self, Index};
use crate::flatten::access::Indices;
use crate::flatten::access::affine::LaneAxis;
use crate::graph::builder::Builder;
use crate::graph::{Op, SizeOp, Value};
use acc_core::ir::PrimOp;

/// The index along an axis plus a constant, modulo the extent of the axis.
#[derive(Clone, Copy)]
pub(crate) struct Wrapped {
    pub(crate) axis: usize,
    /// The extent of the axis.
    len: Value,
    offset: i64,
}

impl Indices {
    /// What a position is a remainder of, if it runs along an axis of the lanes of this extent, and that is the array's: it
    /// is then in bounds.
    pub(crate) fn wrapped(
        &self,
        b: &Builder,
        position: Value,
        lanes: Option<&Value>,
        extent: Value,
    ) -> Option<Wrapped> {
        let Index::Wrapped(access::Wrapped { of, by, op }) = self.known.get(&position)? else { return None };
        let LaneAxis { axis, len, .. } = of.shifted_axis(b)?;
        let same = |size: Value| b.origin(len) == b.origin(size);
        if Some(&len) != lanes || !same(*by) || !same(extent) {
            return None;
        }
        // The extent itself is no offset. What there are lanes of has one element at least.
        let (offset, least) = offset(b, of.base, len)?;
        // One that may wrap around is not found one after the other.
        let is_run = i32::try_from(offset).is_ok() && (*op == PrimOp::ModFloorP || least >= 0);
        is_run.then_some(Wrapped { axis, len, offset })
    }
}

/// The constant that a size is, or the one that it exceeds an extent (of at least 1) by; and the least that the size can be.
fn offset(b: &Builder, size: Value, extent: Value) -> Option<(i64, i64)> {
    if let Some(c) = b.const_size(size) {
        return Some((c, c));
    }
    let extent = b.origin(extent);
    let size = b.origin(size);
    let of = |a: Value, k: Value, sign: i64| {
        let k = b.const_size(k)?.checked_mul(sign)?;
        (b.origin(a) == extent).then_some((k, k.saturating_add(1)))
    };
    match b.def(size) {
        _ if size == extent => Some((0, 1)),
        Some(Op::SizeOp(SizeOp::Add, x, k)) => of(*x, *k, 1).or_else(|| of(*k, *x, 1)),
        Some(Op::SizeOp(SizeOp::Sub, x, k)) => of(*x, *k, -1),
        _ => None,
    }
}

impl Wrapped {
    /// The elements at such positions along an axis.
    pub(crate) fn read(&self, b: &mut Builder, c: Value, axis: u32) -> Value {
        let (zero, offset) = (b.size(0), b.size(self.offset));
        let start = b.size_op(SizeOp::Mod, offset, self.len);
        let until_end = b.size_op(SizeOp::Sub, self.len, start);
        let first = b.slice(c, axis, start, until_end, 1);
        let rest = b.slice(c, axis, zero, start, 1);
        b.concat(&[first, rest], axis)
    }
}
