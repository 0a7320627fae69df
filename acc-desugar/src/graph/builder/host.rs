//! Integers and truth values of rank 0 that follow from what the host has: the host computes them, too, and nobody waits for
//! a device.

use super::Builder;
use crate::graph::{Op, SizeOp, Type, Value};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Whether a size holds the numbers of a type: integers that 64 bits with a sign can be, and truth values.
pub(crate) fn is_size_type(ty: ScalarType) -> bool {
    ty == ScalarType::Bool || (ty.is_int() && ty != ScalarType::U64)
}

/// Whether the host computes this operation on sizes; the results of narrow integers are to be wrapped.
pub(crate) fn is_size_prim(p: PrimOp, ty: ScalarType) -> bool {
    use PrimOp as P;
    match ty {
        ScalarType::Bool => matches!(p, P::AndP | P::OrP | P::NotP),
        _ if is_size_type(ty) => matches!(
            p,
            P::AddP
                | P::SubP
                | P::MulP
                | P::MinP
                | P::MaxP
                | P::EqP
                | P::NeP
                | P::LtP
                | P::LeP
                | P::GtP
                | P::GeP
                | P::NegP
        ),
        _ => false,
    }
}

impl Builder {
    /// A primitive operation on sizes.
    pub(crate) fn size_prim(&mut self, p: PrimOp, v: &[Value]) -> Value {
        let (a, b) = (v[0], *v.last().unwrap_or(&v[0]));
        match p {
            PrimOp::AddP => self.size_op(SizeOp::Add, a, b),
            PrimOp::SubP => self.size_op(SizeOp::Sub, a, b),
            PrimOp::MulP => self.size_op(SizeOp::Mul, a, b),
            PrimOp::MinP | PrimOp::AndP => self.size_op(SizeOp::Min, a, b),
            PrimOp::MaxP | PrimOp::OrP => self.size_op(SizeOp::Max, a, b),
            PrimOp::EqP => self.size_op(SizeOp::Eq, a, b),
            PrimOp::LtP => self.size_op(SizeOp::Lt, a, b),
            PrimOp::GtP => self.size_op(SizeOp::Lt, b, a),
            PrimOp::NeP => {
                let eq = self.size_op(SizeOp::Eq, a, b);
                self.not_size(eq)
            }
            PrimOp::LeP => {
                let gt = self.size_op(SizeOp::Lt, b, a);
                self.not_size(gt)
            }
            PrimOp::GeP => {
                let lt = self.size_op(SizeOp::Lt, a, b);
                self.not_size(lt)
            }
            PrimOp::NegP => {
                let zero = self.size(0);
                self.size_op(SizeOp::Sub, zero, a)
            }
            // [`is_size_prim`] lets no other operation through; not is the last.
            _ => self.not_size(a),
        }
    }

    /// The number of a type that a size wraps to.
    fn wrapped_size(&mut self, s: Value, ty: ScalarType) -> Value {
        if ty.bits() >= 64 || ty == ScalarType::Bool || self.narrow.get(&s) == Some(&ty) {
            return s;
        }
        let modulus = self.size(1 << ty.bits());
        let half = self.size(if ty.is_signed() { 1 << (ty.bits() - 1) } else { 0 });
        let up = self.size_op(SizeOp::Add, s, half);
        let low = self.size_op(SizeOp::Mod, up, modulus);
        let wrapped = self.size_op(SizeOp::Sub, low, half);
        self.set_narrow(wrapped, ty);
        wrapped
    }

    /// Says of a size that it is a number of a type.
    pub(crate) fn set_narrow(&mut self, s: Value, ty: ScalarType) {
        self.narrow.insert(s, ty);
    }

    /// The value of a rank-0 tensor of a type that a size can be, read back from the device.
    pub(crate) fn read_back_number(&mut self, x: Value) -> Value {
        let x = if self.scalar(x) == ScalarType::Bool { x } else { self.cast(x, ScalarType::I64) };
        self.read_back(x)
    }

    /// What a rank-0 tensor is as a size, if it is arithmetic on sizes and literals.
    pub(crate) fn computed_size(&mut self, x: Value) -> Option<Value> {
        self.computed_once(x, &mut HashMap::new())
    }

    fn computed_once(&mut self, x: Value, known: &mut HashMap<Value, Option<Value>>) -> Option<Value> {
        if let Some(found) = known.get(&x) {
            return *found;
        }
        let found = acc_core::grow_stack(|| self.computed(x, known));
        known.insert(x, found);
        found
    }

    fn computed(&mut self, x: Value, known: &mut HashMap<Value, Option<Value>>) -> Option<Value> {
        let Type::Tensor { scalar, rank: 0 } = self.ty(x) else { return None };
        if !is_size_type(scalar) {
            return None;
        }
        if let Some(s) = self.argument(x) {
            self.set_narrow(s, scalar);
            return Some(s);
        }
        match self.def(x)?.clone() {
            Op::FromSize(s) => Some(s),
            Op::Const(l) => number(l).map(|n| self.size(n)),
            Op::Cast(from, to) if from_integer(self.ty(from)) => {
                let s = self.computed_once(from, known)?;
                Some(self.wrapped_size(s, to))
            }
            Op::Prim(p, args) if is_size_prim(p, self.scalar(args[0])) => {
                let operands =
                    args.iter().map(|a| self.computed_once(*a, known)).collect::<Option<SmallVec<[Value; 2]>>>()?;
                let result = self.size_prim(p, &operands);
                Some(self.wrapped_size(result, scalar))
            }
            _ => None,
        }
    }
}

/// The integer, or truth value, that a literal is.
fn number(l: Lit) -> Option<i64> {
    match l.ty {
        ScalarType::Bool => Some(i64::from(l.bits != 0)),
        _ => acc_core::eval::eval_cast(l, ScalarType::I64).ok().map(|l| l.bits as i64),
    }
}

fn from_integer(ty: Type) -> bool {
    matches!(ty, Type::Tensor { scalar, .. } if is_size_type(scalar))
}
