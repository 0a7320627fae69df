//! Arrays that lanes demand: evaluated on demand, unless nobody can tell.

use super::scalar::Lanes;
use super::{Flat, Flattener};
use crate::graph::{FaultKind, Op, SizeOp, Value, Values};
use acc_core::data::Lit;
use acc_core::ir::ArrayId;

impl Flattener<'_> {
    /// Whether a space has any lane.
    pub(super) fn some_lane(&mut self, space: &[Value]) -> Value {
        let (n, zero) = (self.b.product(space), self.b.size(0));
        self.b.size_op(SizeOp::Lt, zero, n)
    }

    /// An array that lanes may read. One that nothing else needs is evaluated only if a lane demands it, or if that can
    /// do no harm.
    pub(super) fn readable(&mut self, a: ArrayId, lanes: &Lanes<'_>, mask: Option<Value>) -> Flat {
        let flat = self.array(a);
        if self.eager.contains(&a) || (mask.is_none() && lanes.space.is_empty()) {
            return flat;
        }
        let flat = self.where_lanes_are(&flat, &lanes.space);
        let cond = match mask {
            Some(m) => self.b.any(m),
            None if flat.values().all(|v| self.b.is_total(v)) => return flat,
            None => self.some_lane(&lanes.space.clone()),
        };
        if self.b.const_size(cond).is_some_and(|c| c != 0) {
            return flat;
        }
        let ty = self.program.ty(a).clone();
        self.b.open();
        let then = self.b.close(flat.values().collect());
        self.b.open();
        let zero = self.b.size(0);
        let shape: Values = flat.shape.iter().map(|_| zero).collect();
        let mut values = shape.to_vec();
        for s in ty.elt.leaves() {
            let x = self.b.constant(Lit::zero(s));
            values.push(self.b.full(x, &shape));
        }
        let else_ = self.b.close(values);
        let values = self.b.if_(cond, then, else_);
        self.flat_of(&ty, &values)
    }

    /// An array without checks that an extent of the lanes' space is not 0: where lanes are it is not.
    fn where_lanes_are(&self, flat: &Flat, space: &[Value]) -> Flat {
        let extents: Vec<Value> = space.iter().map(|n| self.b.origin(*n)).collect();
        let strip = |v: &Value| {
            let mut v = *v;
            while let Some(Op::Checked { tokens, .. }) = self.b.def(v)
                && tokens.iter().all(|t| self.emptiness(*t).is_some_and(|n| extents.contains(&n)))
            {
                v = self.b.beneath_checks(v);
            }
            v
        };
        Flat { shape: flat.shape.iter().map(strip).collect(), columns: flat.columns.iter().map(strip).collect() }
    }

    /// The extent that a check finds to be 0.
    fn emptiness(&self, token: Value) -> Option<Value> {
        let Some(Op::Fault { kind: FaultKind::EmptyFold, bad, .. }) = self.b.def(token) else { return None };
        match self.b.def(*bad) {
            Some(Op::SizeOp(SizeOp::Eq, n, zero)) if self.b.const_size(*zero) == Some(0) => Some(self.b.origin(*n)),
            _ => None,
        }
    }
}
