//! Where an extent of a tensor comes from.

use super::Builder;
use crate::graph::{Op, Type, Value};

/// What an extent is.
pub(crate) enum ExtentFrom {
    /// That of another tensor along an axis.
    Operand(Value, usize),
    Size(Value),
    One,
}

/// Through so many operations an extent is followed.
const MAX_OPERATIONS: usize = 32;

impl Builder {
    /// The size that the extent of a tensor along an axis is, if that is known before the graph runs.
    pub(crate) fn known_extent(&self, mut x: Value, mut axis: usize) -> Option<Value> {
        for _ in 0..MAX_OPERATIONS {
            match self.extent_from(x, axis)? {
                ExtentFrom::Operand(of, along) => (x, axis) = (of, along),
                ExtentFrom::Size(size) => return Some(size),
                ExtentFrom::One => return None,
            }
        }
        None
    }

    /// What the extent of a tensor along an axis is, as far as one operation says; none if it is known only when the graph
    /// runs.
    pub(crate) fn extent_from(&self, v: Value, axis: usize) -> Option<ExtentFrom> {
        use ExtentFrom::{One, Operand, Size};
        let Some((op, results)) = self.defining(v) else {
            return self.beside_column(self.params_beside(v), v, axis).map(Size);
        };
        let last = self.rank(v).checked_sub(1) == Some(axis);
        Some(match op {
            Op::Reshape(_, shape) | Op::Broadcast(_, shape) => Size(*shape.get(axis)?),
            Op::LaneLoop { space, .. } => Size(*space.get(axis)?),
            Op::Unfold { x, axis: a, lens, .. } => match axis.checked_sub(*a as usize) {
                None => Operand(*x, axis),
                Some(k) if k < lens.len() => Size(lens[k]),
                Some(_) => Operand(*x, axis + 1 - lens.len()),
            },
            Op::Convolve { x, filters, places, .. } => match axis {
                0 | 1 => Operand(*x, axis),
                2 => Operand(*filters, 1),
                _ => Size(*places.get(axis - 3)?),
            },
            Op::Pool { axis: a, places, .. } if *a as usize == axis => Size(*places),
            Op::Iota { len, .. } => Size(*len),
            Op::Slice { axis: a, len, .. } if *a as usize == axis => Size(*len),
            Op::Take { axis: a, at, .. } if *a as usize == axis => Operand(*at, 0),
            Op::Concat(_, a) if *a as usize == axis => return None,
            Op::Exclusive(..) | Op::SegmentReduce { .. } if last => return None,
            Op::Transpose(x, order) => Operand(*x, *order.get(axis)? as usize),
            Op::InsertAxes(_, at) if at.contains(&(axis as u32)) => One,
            Op::InsertAxes(x, at) => Operand(*x, axis - at.iter().filter(|a| (**a as usize) < axis).count()),
            Op::Select { x, axis: a, .. } => Operand(*x, axis + usize::from(*a as usize <= axis)),
            Op::Prim(..) | Op::Where(..) | Op::Contract { .. } => {
                // What operands of rank 0 or with an extent of 1 repeat to.
                let operands = op.operands();
                let varies = |x: &&Value| self.axes(**x) >> axis & 1 == 1;
                operands.iter().find(varies).map_or(One, |x| Operand(*x, axis))
            }
            Op::Checked { values: columns, .. }
            | Op::Trace { values: columns, .. }
            | Op::Fold { columns, .. }
            | Op::Scan { columns, .. } => {
                let k = results.iter().position(|r| *r == v)?;
                Operand(*columns.get(k)?, axis)
            }
            Op::If { .. } | Op::While { .. } => Size(self.beside_column(results, v, axis)?),
            Op::Sort { count: Some(count), .. } if last => Size(*count),
            Op::Sort { x, .. } => Operand(*x, axis),
            Op::Cast(x, _)
            | Op::Bitcast(x, _)
            | Op::Clip { x, .. }
            | Op::Clamp(x, _)
            | Op::InBounds { at: x, .. }
            | Op::Divisor(x)
            | Op::Slice { x, .. }
            | Op::Flip(x, _)
            | Op::Gather(_, x)
            | Op::Take { x, .. }
            | Op::Scatter { base: x, .. }
            | Op::Reduce(_, x)
            | Op::Pool { x, .. }
            | Op::SegmentReduce { x, .. }
            | Op::ArgExtreme(_, x)
            | Op::Softmax { x, .. }
            | Op::Normalize { x, .. }
            | Op::Cumulative(_, x)
            | Op::Exclusive(_, x)
            | Op::SegmentScan { x, .. }
            | Op::Confine { mask: x, .. } => Operand(*x, axis),
            Op::Concat(xs, _) => Operand(*xs.first()?, axis),
            Op::Pad { .. } | Op::Nonzero(_) => return None,
            Op::Size(_) | Op::SizeOp(..) | Op::ReadBack(_) | Op::Argument(_) | Op::Outside { .. } => return None,
            Op::Extent(..) | Op::FromSize(_) | Op::Const(_) | Op::AnyLane(_) | Op::Fault { .. } => return None,
        })
    }

    /// The extent of a column among the values of arrays, which are extents and then columns of each.
    fn beside_column(&self, values: &[Value], column: Value, axis: usize) -> Option<Value> {
        let at = values.iter().position(|v| *v == column)?;
        let is_size = |v: &Value| self.ty(*v) == Type::Size;
        let end = values[..at].iter().rposition(is_size)? + 1;
        let start = end.checked_sub(self.rank(column))?;
        values.get(start..end).filter(|sizes| sizes.iter().all(is_size))?.get(axis).map(|size| self.same(*size))
    }
}
