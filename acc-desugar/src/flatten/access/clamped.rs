//! Affine integers between bounds, as positions of neighbours at a border are: what is read at them is views, side by side.

use crate::flatten::Flattener;
use crate::flatten::access::affine::Term;
use crate::flatten::scalar::Scalar;
use crate::graph::{SizeOp, Value};
use acc_core::ir::PrimOp;

/// The index along an axis plus a constant, no less than `low` and no more than `high`; at least one of these is there.
#[derive(Clone, Copy)]
pub(crate) struct Clamped {
    pub(crate) axis: usize,
    /// The extent of the axis.
    len: Value,
    base: i64,
    low: Option<Value>,
    high: Option<Value>,
    /// Which bound holds where `high` is less than `low`.
    low_last: bool,
}

/// A part of the positions along an axis.
pub(crate) enum Part {
    /// `len` positions from `start` on.
    Run { start: Value, len: Value },
    /// `count` times this position.
    Repeated { at: Value, count: Value },
}

impl Flattener<'_> {
    /// Notes that an operation keeps the index along an axis between bounds.
    pub(crate) fn note_clamped(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let low_last = match p {
            PrimOp::MaxP => true,
            PrimOp::MinP => false,
            _ => return,
        };
        let [a, b] = *operands else { return };
        let operands = [a, b].map(|s| match s {
            Scalar::Tensor(v) => self.on_host_if_known(v),
            s => s,
        });
        let ([x, Scalar::Size(bound)] | [Scalar::Size(bound), x]) = operands else { return };
        let inner = match x {
            Scalar::Tensor(v) => self.indices.clamped.get(&v).copied(),
            x => self.affine_of(x).and_then(|a| {
                let [Term { axis, len, step }] = a.terms[..] else { return None };
                // One that may wrap around is not found between its ends.
                let base = self.b.const_size(a.base).filter(|b| i32::try_from(*b).is_ok())?;
                let along = self.b.const_size(step) == Some(1);
                along.then_some(Clamped { axis, len, base, low: None, high: None, low_last })
            }),
        };
        let Some(mut c) = inner else { return };
        let side = if low_last { &mut c.low } else { &mut c.high };
        if side.is_none() {
            *side = Some(bound);
            self.indices.clamped.insert(result, Clamped { low_last, ..c });
        }
    }

    /// What a position is between, if it runs along an axis of this extent.
    pub(crate) fn clamped(&self, position: Value, extent: Option<&Value>) -> Option<Clamped> {
        self.indices.clamped.get(&position).copied().filter(|c| Some(&c.len) == extent)
    }

    /// Whether every position is certainly in bounds, since the bounds are the array's and there is an element for each lane.
    pub(crate) fn is_clamped_inside(&mut self, c: &Clamped, extent: Value) -> bool {
        let Some(more) = self.b.beyond(extent, c.len) else { return false };
        let one = self.b.size(1);
        let below = match c.low {
            Some(low) => self.b.const_size(low) == Some(0),
            None => c.base >= 0,
        };
        let above = match c.high {
            Some(high) => {
                let end = self.b.size_op(SizeOp::Add, high, one);
                self.b.origin(end) == self.b.origin(extent)
            }
            None => c.base <= more,
        };
        below && above
    }

    /// Whether some lane's position is out of bounds: a size.
    pub(crate) fn clamped_outside(&mut self, c: &Clamped, extent: Value) -> Value {
        let zero = self.b.size(0);
        if self.is_clamped_inside(c, extent) {
            return zero;
        }
        let (low, high) = self.bounds(c);
        let (one, base) = (self.b.size(1), self.b.size(c.base));
        let end = self.b.size_op(SizeOp::Add, c.len, base);
        let last = self.b.size_op(SizeOp::Sub, end, one);
        let [first, last] = [base, last].map(|mut at| {
            if let Some(low) = low {
                at = self.b.size_op(SizeOp::Max, at, low);
            }
            match high {
                Some(high) => self.b.size_op(SizeOp::Min, at, high),
                None => at,
            }
        });
        let before = self.b.size_op(SizeOp::Lt, first, zero);
        let inside = self.b.size_op(SizeOp::Lt, last, extent);
        let behind = self.b.not_size(inside);
        let out = self.b.or_size(before, behind);
        let some = self.b.size_op(SizeOp::Lt, zero, c.len);
        self.b.size_op(SizeOp::Min, out, some)
    }

    /// The positions, one after the other.
    pub(crate) fn parts(&mut self, c: &Clamped) -> Vec<Part> {
        let (low, high) = self.bounds(c);
        let (zero, one, base) = (self.b.size(0), self.b.size(1), self.b.size(c.base));
        let mut parts = Vec::new();
        let (mut start, mut len) = (base, c.len);
        if let Some(at) = low {
            let below = self.b.size_op(SizeOp::Sub, at, base);
            let at_most = self.b.const_size(below);
            let count = self.b.size_op(SizeOp::Min, below, c.len);
            let count = self.b.size_op(SizeOp::Max, count, zero);
            parts.extend(border(at, count, at_most));
            start = self.b.size_op(SizeOp::Add, base, count);
            len = self.b.size_op(SizeOp::Sub, len, count);
        }
        let run = parts.len();
        if let Some(at) = high {
            let end = self.b.size_op(SizeOp::Add, c.len, base);
            let after = self.b.size_op(SizeOp::Add, at, one);
            let above = self.b.size_op(SizeOp::Sub, end, after);
            // Of a bound that is the greater of two either will do.
            let after = self.b.size_op(SizeOp::Add, c.high.unwrap_or(at), one);
            let at_most = self.b.beyond(after, c.len).map(|more| c.base - more);
            let count = self.b.size_op(SizeOp::Min, above, c.len);
            let count = self.b.size_op(SizeOp::Max, count, zero);
            parts.extend(border(at, count, at_most));
            len = self.b.size_op(SizeOp::Sub, len, count);
        }
        parts.insert(run, Part::Run { start, len });
        parts
    }

    /// The bounds, the lower one no more than the upper one.
    fn bounds(&mut self, c: &Clamped) -> (Option<Value>, Option<Value>) {
        let (Some(low), Some(high)) = (c.low, c.high) else { return (c.low, c.high) };
        let (op, keep) = if c.low_last { (SizeOp::Max, low) } else { (SizeOp::Min, high) };
        let other = self.b.size_op(op, low, high);
        if c.low_last { (Some(keep), Some(other)) } else { (Some(other), Some(keep)) }
    }
}

/// A bound's positions, of which there are at most so many, if that is known.
fn border(at: Value, count: Value, at_most: Option<i64>) -> Option<Part> {
    match at_most {
        Some(..=0) => None,
        Some(1) => Some(Part::Run { start: at, len: count }),
        _ => Some(Part::Repeated { at, count }),
    }
}
