//! Where tensors come from, for [contractions](crate::analysis::contraction).

use super::Builder;
use crate::analysis::contraction::{Axes, Origin, Source, View};
use crate::graph::{Op, Value, Values};
use acc_core::ir::PrimOp;

impl Source for Builder {
    type Value = Value;

    /// Axes along which a tensor does not vary, of extent 1, are none of the space.
    fn origin(&self, v: Value) -> Option<Origin<Value>> {
        let varying = |x: Value| self.varying(x).axes;
        let op = self.def(v)?;
        if let Op::Prim(PrimOp::MulP, args) = op {
            let [x, y] = args[..] else { return None };
            return Some(Origin::Product([x, y].map(|value| self.varying(value))));
        }
        let (value, axes) = if let Op::Checked { .. } = op {
            let x = self.beneath_checks(v);
            (x, varying(x))
        } else if let Op::Broadcast(x, _) = op {
            (*x, varying(*x))
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

impl Builder {
    /// A value over a space of its rank.
    pub(crate) fn varying(&self, value: Value) -> View<Value> {
        let axes: Axes = (0..self.rank(value)).map(|k| (self.axes(value) >> k & 1 == 1).then_some(k)).collect();
        View { value, axes }
    }

    /// Values of the shape of what a value's elements are those of, moved as these were.
    pub(crate) fn moved_with(&mut self, v: Value, xs: &[Value]) -> Values {
        let op = self.def(v).cloned();
        if let Some(Op::Transpose(_, axes)) = op {
            xs.iter().map(|x| self.transpose(*x, &axes)).collect()
        } else if let Some(Op::InsertAxes(_, at)) = op {
            xs.iter().map(|x| self.insert_axes(*x, at.clone())).collect()
        } else if let Some(Op::Broadcast(_, shape)) = op {
            xs.iter().map(|x| self.broadcast(*x, &shape)).collect()
        } else if let Some(Op::Slice { axis, start, len, step, .. }) = op {
            xs.iter().map(|x| self.slice(*x, axis, start, len, step)).collect()
        } else {
            xs.into()
        }
    }
}
