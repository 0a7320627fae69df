//! What is known of values beside their types: along which axes they vary, and whether computing them does no harm.

use super::Builder;
use crate::graph::{Op, Type, Value};
use acc_core::data::Lit;
use std::collections::{HashMap, HashSet};

/// A set of axes, as bits.
pub(crate) type AxisSet = u32;

/// What is known of each value.
#[derive(Default)]
pub(super) struct Facts {
    /// The axes of each tensor whose extent may be other than 1.
    pub(super) axes: Vec<AxisSet>,
    /// The axes along which each tensor certainly has the extent of its array, or of the space of its lanes.
    pub(super) full: Vec<AxisSet>,
    /// Whether computing a value can neither fail nor be seen, nor take forever.
    pub(super) total: Vec<bool>,
    /// The results of sorts of which parts of rows are all that is read.
    read_in_parts: HashSet<Value>,
    /// Sizes of a loop's state that no step changes, and what they are before the loop.
    same: HashMap<Value, Value>,
}

impl Facts {
    pub(super) fn of(types: &[Type]) -> Facts {
        let mut facts = Facts::default();
        types.iter().for_each(|t| facts.push(t));
        facts
    }

    /// One more value, of which nothing is known but its type.
    pub(super) fn push(&mut self, ty: &Type) {
        self.axes.push(all_axes(ty));
        self.full.push(0);
        self.total.push(true);
    }

    /// Says of a value what is known of the axes of another one.
    pub(super) fn copy(&mut self, to: Value, from: Value) {
        let (to, from) = (to.index(), from.index());
        (self.axes[to], self.full[to]) = (self.axes[from], self.full[from]);
    }

    fn set(&mut self, v: Value, axes: AxisSet, full: AxisSet) {
        (self.axes[v.index()], self.full[v.index()]) = (axes, full);
    }
}

fn all_axes(ty: &Type) -> AxisSet {
    match ty {
        Type::Tensor { rank, .. } => (1 << rank) - 1,
        Type::Size | Type::Token => 0,
    }
}

impl Builder {
    /// The axes of a tensor whose extent may be other than 1.
    pub(crate) fn axes(&self, v: Value) -> AxisSet {
        self.facts.axes[v.index()]
    }

    /// Whether a tensor certainly has the extents of its array, or of the space of its lanes.
    pub(crate) fn is_full(&self, v: Value) -> bool {
        self.facts.full[v.index()] == all_axes(&self.types[v.index()])
    }

    /// Whether each axis is known to have an extent of 1, or the whole one.
    pub(crate) fn is_settled(&self, v: Value) -> bool {
        self.axes(v) & !self.facts.full[v.index()] == 0
    }

    /// Says of a column that it is full.
    pub(crate) fn set_full(&mut self, v: Value) {
        self.facts.full[v.index()] = all_axes(&self.types[v.index()]);
    }

    /// Says of a tensor that it may have an extent of 1 along any axis.
    pub(crate) fn set_unsettled(&mut self, v: Value) {
        self.facts.full[v.index()] = 0;
    }

    /// Says of a tensor that it has the whole extents along these axes, and an extent of 1 along the others.
    pub(crate) fn set_along(&mut self, v: Value, axes: AxisSet) {
        self.facts.set(v, axes, axes);
    }

    pub(super) fn set_axes(&mut self, op: &Op, results: &[Value]) {
        if let Op::Checked { values, .. } = op {
            results.iter().zip(values).for_each(|(r, v)| self.facts.copy(*r, *v));
        }
        if let Op::Sort { .. } = op {
            for r in results {
                let all = all_axes(&self.types[r.index()]);
                self.facts.set(*r, all, all);
            }
        }
        let [r] = *results else { return };
        let all = all_axes(&self.types[r.index()]);
        let facts = &self.facts;
        let of = |sets: &[AxisSet], x: &Value| sets[x.index()];
        let (axes, full) = match op {
            Op::Prim(..) | Op::Where(..) => {
                let union = |sets: &[AxisSet]| op.operands().iter().fold(0, |set, v| set | sets[v.index()]);
                (union(&facts.axes), union(&facts.full))
            }
            Op::Cast(x, _)
            | Op::Bitcast(x, _)
            | Op::Clip { x, .. }
            | Op::Clamp(x, _)
            | Op::InBounds { at: x, .. }
            | Op::Divisor(x)
            | Op::Gather(_, x) => (of(&facts.axes, x), of(&facts.full, x)),
            Op::Slice { x, .. }
            | Op::Pool { x, .. }
            | Op::Flip(x, _)
            | Op::Softmax { x, .. }
            | Op::Normalize { x, .. }
            | Op::Cumulative(_, x)
            | Op::Exclusive(_, x)
            | Op::Pad { x, .. } => (all, of(&facts.full, x)),
            Op::Take { x, axis, .. } => (of(&facts.axes, x) | 1 << axis, of(&facts.full, x)),
            Op::Broadcast(_, shape) | Op::Reshape(_, shape) => {
                let ones = shape.iter().enumerate().filter(|(_, n)| self.const_size(**n) == Some(1));
                (all & !ones.fold(0, |set, (k, _)| set | 1 << k), all)
            }
            Op::Iota { .. } | Op::Nonzero(_) => (all, all),
            Op::Unfold { x, axis, lens, .. } => {
                let place = |set: AxisSet| {
                    let (before, new) = ((1 << axis) - 1, ((1 << lens.len()) - 1) << axis);
                    set & before | new | (set >> (axis + 1)) << (*axis as usize + lens.len())
                };
                (place(of(&facts.axes, x)), place(of(&facts.full, x)))
            }
            Op::Convolve { .. } => (all, all),
            Op::Reduce(_, x) | Op::ArgExtreme(_, x) => (all, of(&facts.full, x) & all),
            Op::SegmentReduce { x, .. } | Op::SegmentScan { x, .. } => (all, of(&facts.full, x)),
            Op::Scatter { base, .. } => (all, of(&facts.full, base)),
            Op::Concat(xs, _) => (all, xs.iter().fold(all, |set, x| set & of(&facts.full, x))),
            Op::InsertAxes(x, at) => {
                let spread = |mut rest: AxisSet| {
                    let mut set = 0;
                    for axis in (0..all.count_ones()).filter(|axis| !at.contains(axis)) {
                        set |= (rest & 1) << axis;
                        rest >>= 1;
                    }
                    set
                };
                (spread(of(&facts.axes, x)), spread(of(&facts.full, x)))
            }
            Op::Transpose(x, axes) => {
                let moved =
                    |from: AxisSet| axes.iter().enumerate().fold(0, |set, (to, a)| set | (((from >> a) & 1) << to));
                (moved(of(&facts.axes, x)), moved(of(&facts.full, x)))
            }
            // Of any extents.
            Op::Select { .. }
            | Op::Contract { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::If { .. }
            | Op::While { .. }
            | Op::LaneLoop { .. }
            | Op::Trace { .. }
            | Op::Confine { .. } => return,
            // Set above.
            Op::Checked { .. } | Op::Sort { .. } => return,
            // Of rank 0, or no tensors.
            Op::Const(_)
            | Op::FromSize(_)
            | Op::AnyLane(_)
            | Op::Size(_)
            | Op::SizeOp(..)
            | Op::ReadBack(_)
            | Op::Argument(_)
            | Op::Outside { .. }
            | Op::Extent(..)
            | Op::Fault { .. } => return,
        };
        self.facts.set(r, axes, full);
    }

    /// Whether parts of rows are all that is read of the results of a sort, one of which this is.
    pub(crate) fn is_read_in_parts(&self, v: Value) -> bool {
        self.facts.read_in_parts.contains(&v)
    }

    pub(crate) fn set_read_in_parts(&mut self, sorts: HashSet<Value>) {
        self.facts.read_in_parts = sorts;
    }

    /// The size before a loop that one of its state is in every step, or this size itself.
    pub(crate) fn same(&self, v: Value) -> Value {
        self.facts.same.get(&v).copied().unwrap_or(v)
    }

    /// Says that a size of a loop's state is the same in every step as before the loop.
    pub(crate) fn set_same(&mut self, v: Value, before: Value) {
        self.facts.same.insert(v, self.same(before));
    }

    /// Whether two sizes are the same one, apart from checks, or the same number.
    pub(crate) fn is_same_size(&self, a: Value, b: Value) -> bool {
        let number = self.const_size(a);
        self.origin(a) == self.origin(b) || number.is_some() && number == self.const_size(b)
    }

    /// Whether computing a value can neither fail nor be seen, nor take forever: it may be done though nobody needs it.
    pub(crate) fn is_total(&self, v: Value) -> bool {
        self.facts.total[v.index()]
    }

    /// Says of a value of the innermost body that it is computed in any case, so that needing it makes no difference.
    pub(crate) fn set_total(&mut self, v: Value) {
        if self.place(v).is_some_and(|(body, _)| body + 1 == self.bodies.len()) {
            self.facts.total[v.index()] = true;
        }
    }

    pub(super) fn is_total_op(&self, op: &Op) -> bool {
        !self.may_fail(op) && op.operands().iter().all(|v| self.is_total(*v))
    }

    /// Whether an operation itself may fail, be seen, or take forever.
    pub(super) fn may_fail(&self, op: &Op) -> bool {
        match op {
            // Positions and divisors may be bad ones.
            Op::InBounds { .. } | Op::Divisor(_) | Op::Gather(..) | Op::Take { .. } | Op::Scatter { .. } => true,
            Op::Prim(p, args) if p.is_partial() => self.constant_of(args[1]).is_none_or(|d| d == Lit::zero(d.ty)),
            Op::SegmentReduce { .. } | Op::ArgExtreme(..) | Op::Fold { .. } | Op::Scan { .. } => true,
            Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => true,
            Op::Fault { .. } | Op::Checked { .. } | Op::Trace { .. } | Op::Confine { .. } => true,
            Op::Size(_) | Op::SizeOp(..) | Op::ReadBack(_) | Op::Argument(_) | Op::Outside { .. } => false,
            Op::Extent(..) | Op::FromSize(_) | Op::Const(_) | Op::Iota { .. } => false,
            Op::Prim(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Where(..) | Op::Clip { .. } | Op::Clamp(..) => false,
            Op::Reshape(..) | Op::Broadcast(..) | Op::Transpose(..) | Op::InsertAxes(..) | Op::Flip(..) => false,
            // Out of bounds they have zeros.
            Op::Slice { .. } | Op::Select { .. } | Op::Unfold { .. } => false,
            Op::Pad { .. } | Op::Concat(..) | Op::Sort { .. } | Op::Nonzero(_) | Op::AnyLane(_) => false,
            Op::Reduce(..) | Op::Pool { .. } | Op::Contract { .. } | Op::Convolve { .. } => false,
            Op::Softmax { .. } | Op::Normalize { .. } => false,
            Op::Cumulative(..) | Op::Exclusive(..) | Op::SegmentScan { .. } => false,
        }
    }
}
