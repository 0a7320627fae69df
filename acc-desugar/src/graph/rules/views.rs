//! Where tensors come from, for the rules that look through views of them.

use crate::analysis::contraction::{Axes, Origin, Source, View};
use crate::graph::builder::Builder;
use crate::graph::{Op, Value, Values};
use acc_core::ir::PrimOp;

impl Source for Builder {
    type Value = Value;

    /// Axes along which a tensor does not vary, of extent 1, are none of the space.
    fn origin(&self, v: Value) -> Option<Origin<Value>> {
        let of = |x: Value| varying(self, x).axes;
        let op = self.def(v)?;
        if let Op::Prim(PrimOp::MulP, args) = op {
            let [x, y] = args[..] else { return None };
            return Some(Origin::Product([x, y].map(|value| varying(self, value))));
        }
        let (value, axes) = if let Op::Checked { .. } = op {
            let x = self.beneath_checks(v);
            (x, of(x))
        } else if let Op::Broadcast(x, _) = op {
            (*x, of(*x))
        } else if let Op::Transpose(x, order) = op {
            (*x, (0..order.len() as u32).map(|k| order.iter().position(|axis| *axis == k)).collect())
        } else if let Op::InsertAxes(x, at) = op {
            (*x, (0..self.rank(v)).filter(|k| !at.contains(&(*k as u32))).map(Some).collect())
        } else {
            return None;
        };
        Some(Origin::Moved(View { value, axes }))
    }
}

/// A value over a space of its rank.
pub(super) fn varying(b: &Builder, value: Value) -> View<Value> {
    let axes: Axes = (0..b.rank(value)).map(|k| (b.axes(value) >> k & 1 == 1).then_some(k)).collect();
    View { value, axes }
}

/// Moves values in the way that the view `v` moves its operand, whose shape they have.
pub(super) fn moved_with(b: &mut Builder, v: Value, xs: &[Value]) -> Values {
    let op = b.def(v).cloned();
    if let Some(Op::Transpose(_, axes)) = op {
        xs.iter().map(|x| b.transpose(*x, &axes)).collect()
    } else if let Some(Op::InsertAxes(_, at)) = op {
        xs.iter().map(|x| b.insert_axes(*x, at.clone())).collect()
    } else if let Some(Op::Broadcast(_, shape)) = op {
        xs.iter().map(|x| b.broadcast(*x, &shape)).collect()
    } else if let Some(Op::Slice { axis, start, len, step, .. }) = op {
        xs.iter().map(|x| b.slice(*x, axis, start, len, step)).collect()
    } else {
        xs.into()
    }
}

/// The operands of a primitive operation, if a value is that.
pub(super) fn operands<const N: usize>(b: &Builder, v: Value, p: PrimOp) -> Option<[Value; N]> {
    match b.def(v) {
        Some(Op::Prim(q, args)) if *q == p => args[..].try_into().ok(),
        _ => None,
    }
}
