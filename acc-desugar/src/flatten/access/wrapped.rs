//! Remainders of affine integers by the extent of their axis, such as positions of neighbours that wrap around: reads at
//! them are two views, joined.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::Term;
use crate::flatten::scalar::Scalar;
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

impl Flattener<'_> {
    /// Notes that an operation yields such remainders.
    pub(crate) fn note_wrapped(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let rounds_down = match p {
            PrimOp::ModFloorP => true,
            PrimOp::RemP => false,
            _ => return,
        };
        let [x, Scalar::Size(by)] = *operands else { return };
        let Some(a) = self.indices.affine_of(x) else { return };
        let [Term { axis, len, step }] = a.terms[..] else { return };
        if self.b.const_size(step) != Some(1) || self.b.origin(len) != self.b.origin(by) {
            return;
        }
        // The extent itself is no offset. What there are lanes of has one element at least.
        let Some((offset, least)) = self.offset(a.base, len) else { return };
        // One that may wrap around is not found one after the other.
        if i32::try_from(offset).is_ok() && (rounds_down || least >= 0) {
            self.indices.wrapped.insert(result, Wrapped { axis, len, offset });
        }
    }

    /// The constant that a size is, or the one that it exceeds an extent (of at least 1) by; and the least that the size can be.
    fn offset(&self, size: Value, extent: Value) -> Option<(i64, i64)> {
        if let Some(c) = self.b.const_size(size) {
            return Some((c, c));
        }
        let extent = self.b.origin(extent);
        let size = self.b.origin(size);
        let of = |a: Value, k: Value, sign: i64| {
            let k = self.b.const_size(k)?.checked_mul(sign)?;
            (self.b.origin(a) == extent).then_some((k, k.saturating_add(1)))
        };
        match self.b.def(size) {
            _ if size == extent => Some((0, 1)),
            Some(Op::SizeOp(SizeOp::Add, a, b)) => of(*a, *b, 1).or_else(|| of(*b, *a, 1)),
            Some(Op::SizeOp(SizeOp::Sub, a, b)) => of(*a, *b, -1),
            _ => None,
        }
    }
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
        let same = |r: &Wrapped| Some(&r.len) == lanes && b.origin(r.len) == b.origin(extent);
        self.wrapped.get(&position).copied().filter(same)
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
