//! Nodes of sizes: integers on the host.

use super::{Builder, is_size_type};
use crate::graph::{Op, SizeOp, Type, Value, Values};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::PrimOp;

impl Builder {
    pub(crate) fn size(&mut self, n: i64) -> Value {
        self.push1(Op::Size(n), Type::Size)
    }

    pub(crate) fn const_size(&self, v: Value) -> Option<i64> {
        self.def(v).and_then(|op| match op {
            Op::Size(n) => Some(*n),
            _ => None,
        })
    }

    /// How much more than another extent an extent is, at least, if that is known and not negative.
    pub(crate) fn beyond(&self, extent: Value, other: Value) -> Option<i64> {
        let (mut v, mut more) = (self.origin(extent), 0i64);
        let other = self.origin(other);
        loop {
            if v == other {
                return Some(more);
            }
            match self.def(v) {
                Some(Op::SizeOp(SizeOp::Add, a, b)) => {
                    // Extents do not overflow: one that is a sum was checked, or is of memory that exists.
                    let k = self.const_size(*b).filter(|k| *k >= 0)?;
                    more = more.checked_add(k)?;
                    v = self.origin(*a);
                }
                _ => break,
            }
        }
        // A least of two is no more than either.
        match self.def(other) {
            Some(Op::SizeOp(SizeOp::Min, a, b)) => {
                let (a, b) = (self.origin(*a), self.origin(*b));
                (v == a || v == b).then_some(more)
            }
            _ => None,
        }
    }

    pub(crate) fn size_op(&mut self, op: SizeOp, a: Value, b: Value) -> Value {
        match (op, self.const_size(a), self.const_size(b)) {
            (_, Some(x), Some(y)) => return self.size(op.apply(x, y)),
            (SizeOp::Add | SizeOp::Sub, _, Some(0))
            | (SizeOp::Mul | SizeOp::Count | SizeOp::Quot | SizeOp::Div, _, Some(1)) => {
                return a;
            }
            (SizeOp::Add, Some(0), _) | (SizeOp::Mul | SizeOp::Count, Some(1), _) => return b,
            (SizeOp::Min | SizeOp::Max, ..) if a == b => return a,
            (SizeOp::Eq, ..) if a == b => return self.size(1),
            (SizeOp::Lt | SizeOp::Sub, ..) if a == b => return self.size(0),
            (SizeOp::Sub | SizeOp::Add, _, Some(k)) => {
                // Constants come together.
                let k = if op == SizeOp::Sub { k.wrapping_neg() } else { k };
                if let Some(&Op::SizeOp(before @ (SizeOp::Add | SizeOp::Sub), x, by)) = self.def(a)
                    && let Some(by) = self.const_size(by)
                {
                    let by = if before == SizeOp::Sub { by.wrapping_neg() } else { by };
                    let sum = self.size(by.wrapping_add(k));
                    return self.size_op(SizeOp::Add, x, sum);
                }
            }
            _ => {}
        }
        self.push1(Op::SizeOp(op, a, b), Type::Size)
    }

    pub(crate) fn product(&mut self, sizes: &[Value]) -> Value {
        let one = self.size(1);
        sizes.iter().fold(one, |p, s| self.size_op(SizeOp::Count, p, *s))
    }

    pub(crate) fn not_size(&mut self, a: Value) -> Value {
        let zero = self.size(0);
        // What is 0 or 1 is its double negation.
        if let Some(&Op::SizeOp(SizeOp::Eq, x, none)) = self.def(a)
            && none == zero
            && matches!(self.def(x), Some(Op::SizeOp(SizeOp::Eq | SizeOp::Lt, ..)))
        {
            return x;
        }
        self.size_op(SizeOp::Eq, a, zero)
    }

    pub(crate) fn or_size(&mut self, a: Value, b: Value) -> Value {
        self.size_op(SizeOp::Max, a, b)
    }

    pub(crate) fn read_back(&mut self, x: Value) -> Value {
        if let Some(Op::FromSize(s)) = self.def(x) {
            return *s;
        }
        if let Some(s) = self.truth_of(x) {
            let no = self.not_size(s);
            return self.not_size(no);
        }
        if let Some(Op::Const(l)) = self.def(x) {
            let n = l.bits as i64;
            return self.size(n);
        }
        self.argument(x).unwrap_or_else(|| self.push1(Op::ReadBack(x), Type::Size))
    }

    /// A rank-0 parameter of the graph as a size: the host has it, whatever checks come before.
    pub(super) fn argument(&mut self, x: Value) -> Option<Value> {
        let origin = self.origin(x);
        self.is_argument(origin).then(|| self.push1(Op::Argument(origin), Type::Size))
    }

    /// Whether the host has the value: a rank-0 parameter of the graph, of a type that a size can be.
    pub(crate) fn is_argument(&self, x: Value) -> bool {
        let kind = matches!(self.ty(x), Type::Tensor { scalar, rank: 0 } if is_size_type(scalar));
        kind && self.bodies.first().is_some_and(|b| b.params.contains(&x))
    }

    /// The size that a rank-0 tensor is, if reading it costs nothing: it is known on the host, or read back already.
    pub(crate) fn known_size(&mut self, x: Value) -> Option<Value> {
        if let Some(Op::Cast(..)) = self.def(x) {
            return self.computed_size(x);
        }
        let known = matches!(self.def(x), Some(Op::FromSize(_) | Op::Const(_)))
            || self.truth_of(x).is_some()
            || self.is_argument(self.origin(x))
            || self.bodies.iter().any(|b| b.computed.contains_key(&Op::ReadBack(x)));
        known.then(|| self.read_back(x))
    }

    /// The size that a condition says is not 0.
    fn truth_of(&self, x: Value) -> Option<Value> {
        let Some(Op::Prim(PrimOp::NeP, args)) = self.def(x) else { return None };
        let (Some(Op::FromSize(s)), Some(zero)) = (self.def(args[0]), self.constant_of(args[1])) else { return None };
        (zero.bits == 0).then_some(*s)
    }

    /// A rank-0 tensor of integers or `bool` as a size, if the host knows it or can compute it, after the checks that it
    /// waits for.
    pub(crate) fn known_after_checks(&mut self, x: Value) -> Option<Value> {
        if !matches!(self.ty(x), Type::Tensor { scalar, rank: 0 } if is_size_type(scalar)) {
            return None;
        }
        match self.def(x) {
            Some(Op::Checked { .. }) => {
                let inner = self.beneath_checks(x);
                let size = self.known_after_checks(inner)?;
                Some(self.checked_with(x, &[size])[0])
            }
            _ => self.computed_size(x).or_else(|| self.known_size(x)),
        }
    }

    /// Whether some lane's position is out of bounds: see [`Op::Outside`].
    pub(crate) fn outside(&mut self, base: Value, steps: Values, lens: Values, extent: Value) -> Value {
        self.push1(Op::Outside { base, steps, lens, extent }, Type::Size)
    }

    pub(crate) fn tensor_of_size(&mut self, s: Value) -> Value {
        if let Some(n) = self.const_size(s) {
            return self.constant(n.lit());
        }
        self.tensor(Op::FromSize(s), ScalarType::I64, 0)
    }

    pub(crate) fn extent(&mut self, x: Value, axis: u32) -> Value {
        self.push1(Op::Extent(x, axis), Type::Size)
    }
}
