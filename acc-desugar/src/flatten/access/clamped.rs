//! Affine integers between bounds, such as positions of neighbours at a border: reads at them are views, joined.

use crate::analysis::access::{Bound, Index};
use crate::flatten::access::Indices;
use crate::graph::builder::Builder;
use crate::graph::{SizeOp, Value};

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
enum Part {
    /// `len` positions from `start` on.
    Run { start: Value, len: Value },
    /// `count` times this position.
    Repeated { at: Value, count: Value },
}

/// The positions at a bound, and at most how many there are, if that is known.
fn border(at: Value, count: Value, at_most: Option<i64>) -> Option<Part> {
    match at_most {
        Some(..=0) => None,
        Some(1) => Some(Part::Run { start: at, len: count }),
        _ => Some(Part::Repeated { at, count }),
    }
}

impl Indices {
    /// What a position is between, if it runs along an axis of this extent.
    pub(crate) fn clamped(&self, b: &Builder, position: Value, extent: Option<&Value>) -> Option<Clamped> {
        let Index::Clamped(c) = self.known.get(&position)? else { return None };
        let axis = c.of.shifted_axis(b)?;
        // One that may wrap around is not found between its ends.
        let base = b.const_size(c.of.base).filter(|b| i32::try_from(*b).is_ok())?;
        let (low, high, low_last) = match c.bounds[..] {
            [Bound::AtLeast(low)] => (Some(low), None, true),
            [Bound::AtMost(high)] => (None, Some(high), false),
            [Bound::AtMost(high), Bound::AtLeast(low)] => (Some(low), Some(high), true),
            [Bound::AtLeast(low), Bound::AtMost(high)] => (Some(low), Some(high), false),
            _ => return None,
        };
        let clamped = Clamped { axis: axis.axis, len: axis.len, base, low, high, low_last };
        (Some(&axis.len) == extent).then_some(clamped)
    }
}

impl Clamped {
    /// Whether every position is certainly in bounds, since the bounds are the array's and there is an element for each lane.
    pub(crate) fn is_inside(&self, b: &mut Builder, extent: Value) -> bool {
        let Some(more) = b.beyond(extent, self.len) else { return false };
        let one = b.size(1);
        let below = match self.low {
            Some(low) => b.const_size(low) == Some(0),
            None => self.base >= 0,
        };
        let above = match self.high {
            Some(high) => {
                let end = b.size_op(SizeOp::Add, high, one);
                b.origin(end) == b.origin(extent)
            }
            None => self.base <= more,
        };
        below && above
    }

    /// Whether some lane's position is out of bounds: a size.
    pub(crate) fn outside(&self, b: &mut Builder, extent: Value) -> Value {
        let zero = b.size(0);
        if self.is_inside(b, extent) {
            return zero;
        }
        let (low, high) = self.bounds(b);
        let (one, base) = (b.size(1), b.size(self.base));
        let end = b.size_op(SizeOp::Add, self.len, base);
        let last = b.size_op(SizeOp::Sub, end, one);
        let [first, last] = [base, last].map(|mut at| {
            if let Some(low) = low {
                at = b.size_op(SizeOp::Max, at, low);
            }
            match high {
                Some(high) => b.size_op(SizeOp::Min, at, high),
                None => at,
            }
        });
        let before = b.size_op(SizeOp::Lt, first, zero);
        let inside = b.size_op(SizeOp::Lt, last, extent);
        let behind = b.not_size(inside);
        let out = b.or_size(before, behind);
        let some = b.size_op(SizeOp::Lt, zero, self.len);
        b.size_op(SizeOp::Min, out, some)
    }

    /// The positions, one after the other.
    fn parts(&self, b: &mut Builder) -> Vec<Part> {
        let (low, high) = self.bounds(b);
        let (zero, one, base) = (b.size(0), b.size(1), b.size(self.base));
        let mut parts = Vec::new();
        let (mut start, mut len) = (base, self.len);
        if let Some(at) = low {
            let below = b.size_op(SizeOp::Sub, at, base);
            let at_most = b.const_size(below);
            let count = b.size_op(SizeOp::Min, below, self.len);
            let count = b.size_op(SizeOp::Max, count, zero);
            parts.extend(border(at, count, at_most));
            start = b.size_op(SizeOp::Add, base, count);
            len = b.size_op(SizeOp::Sub, len, count);
        }
        let run = parts.len();
        if let Some(at) = high {
            let end = b.size_op(SizeOp::Add, self.len, base);
            let after = b.size_op(SizeOp::Add, at, one);
            let above = b.size_op(SizeOp::Sub, end, after);
            // Of a bound that is the greater of two either will do.
            let after = b.size_op(SizeOp::Add, self.high.unwrap_or(at), one);
            let at_most = b.beyond(after, self.len).map(|more| self.base - more);
            let count = b.size_op(SizeOp::Min, above, self.len);
            let count = b.size_op(SizeOp::Max, count, zero);
            parts.extend(border(at, count, at_most));
            len = b.size_op(SizeOp::Sub, len, count);
        }
        parts.insert(run, Part::Run { start, len });
        parts
    }

    /// The bounds, the lower one no more than the upper one.
    fn bounds(&self, b: &mut Builder) -> (Option<Value>, Option<Value>) {
        let (Some(low), Some(high)) = (self.low, self.high) else { return (self.low, self.high) };
        let (op, keep) = if self.low_last { (SizeOp::Max, low) } else { (SizeOp::Min, high) };
        let other = b.size_op(op, low, high);
        if self.low_last { (Some(keep), Some(other)) } else { (Some(other), Some(keep)) }
    }

    /// The elements at positions between bounds along an axis.
    pub(crate) fn read(&self, b: &mut Builder, c: Value, axis: u32) -> Value {
        let zero = b.size(0);
        let parts: Vec<Value> = self
            .parts(b)
            .into_iter()
            .map(|part| match part {
                Part::Run { start, len } => b.slice(c, axis, start, len, 1),
                Part::Repeated { at, count } => {
                    let positions = b.iota_from(count, at, zero);
                    b.take(c, axis, positions)
                }
            })
            .collect();
        match parts[..] {
            [part] => part,
            _ => b.concat(&parts, axis),
        }
    }
}
