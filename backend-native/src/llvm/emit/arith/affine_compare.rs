//! Comparisons of integers that are one further in each lane, or quotients of such integers, with uniform ones: a comparison of
//! lane numbers, which are small, with the number of the first lane that has reached the other one.

use crate::kernel::access::{Index, Quotient};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// A first lane up to here, and a step, are no overflow.
pub(crate) const MAX_FIRST: i64 = i64::MAX >> 1;

impl Emitter<'_> {
    /// The flags of a comparison of an affine integer with a uniform one; none if the operation is another.
    pub(crate) fn compared_lanes(&mut self, p: PrimOp, args: &[Val]) -> Option<Parts> {
        let [a, b] = args[..] else { return None };
        if self.ty(a) != ScalarType::I64 || self.ty(b) != ScalarType::I64 {
            return None;
        }
        let (p, of, first, step, other) = match (self.scope.value(a), self.scope.value(b)) {
            (Value::Affine(first, step @ (1 | -1)), Value::Uniform(other)) => (p, a, first, step, other),
            (Value::Uniform(other), Value::Affine(first, step @ (1 | -1))) => (mirrored(p)?, b, first, step, other),
            (Value::Varying(_), Value::Uniform(other)) => return self.compared_quotients(p, a, &other),
            (Value::Uniform(other), Value::Varying(_)) => return self.compared_quotients(mirrored(p)?, b, &other),
            _ => return None,
        };
        let p = if step < 0 { mirrored(p)? } else { p };
        if !self.is_small(of) {
            let [least, most] = [-MAX_FIRST, MAX_FIRST];
            let beyond = put!(self.code.f, "icmp slt i64 {first}, {least}");
            self.code.f.bail_out_if(&beyond);
            let beyond = put!(self.code.f, "icmp sgt i64 {first}, {most}");
            self.code.f.bail_out_if(&beyond);
        }
        // The lane that equals the other number.
        let (x, y) = if step > 0 { (&other, &first) } else { (&first, &other) };
        let equal = put!(self.code.f, "call i64 @llvm.ssub.sat.i64(i64 {x}, i64 {y})");
        self.compared(p, &|e| e.code.lanes_below(&equal), &|e| {
            let end = put!(e.code.f, "call i64 @llvm.sadd.sat.i64(i64 {equal}, i64 1)");
            e.code.lanes_below(&end)
        })
    }

    /// The same of an integer that is a quotient.
    fn compared_quotients(&mut self, p: PrimOp, v: Val, other: &Operand) -> Option<Parts> {
        let quotient = self.quotient_along_lanes(v)?;
        self.compared(p, &|e| e.quotients_below(&quotient, other), &|e| {
            let next = put!(e.code.f, "call i64 @llvm.sadd.sat.i64(i64 {other}, i64 1)");
            e.quotients_below(&quotient, &next)
        })
    }

    /// The flags of a comparison of numbers that increase from lane to lane with another one, from the lanes `below` that one, and
    /// those `upto` it.
    fn compared(
        &mut self,
        p: PrimOp,
        below: &dyn Fn(&mut Self) -> Parts,
        upto: &dyn Fn(&mut Self) -> Parts,
    ) -> Option<Parts> {
        let inverted = |e: &mut Self, lanes: &dyn Fn(&mut Self) -> Parts| {
            let lanes = lanes(e);
            e.code.inverted(&lanes)
        };
        Some(match p {
            PrimOp::LtP => below(self),
            PrimOp::GeP => inverted(self, below),
            PrimOp::LeP => upto(self),
            PrimOp::GtP => inverted(self, upto),
            PrimOp::EqP | PrimOp::NeP => {
                let (upto, others) = (upto(self), inverted(self, below));
                let at = self.code.and_masks(&upto, &others);
                if p == PrimOp::EqP { at } else { self.code.inverted(&at) }
            }
            _ => return None,
        })
    }

    /// The quotient of an index along the lanes that an integer is.
    pub(crate) fn quotient_along_lanes(&self, v: Val) -> Option<Quotient> {
        self.facts.accesses.quotient(v, self.facts.lane?).cloned()
    }

    /// The lanes in which a quotient is less than a uniform integer.
    pub(crate) fn quotients_below(&mut self, Quotient { of, by }: &Quotient, end: &Operand) -> Parts {
        let first = self.first_of(of);
        // Quotients are not negative, and no dividend is as large as the product with this.
        let end = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {})", MAX_FIRST / by + 1);
        let end = put!(self.code.f, "call i64 @llvm.smax.i64(i64 {end}, i64 0)");
        let dividend = put!(self.code.f, "mul i64 {end}, {by}");
        let lanes = put!(self.code.f, "sub i64 {dividend}, {first}");
        self.code.lanes_below(&lanes)
    }

    /// Whether an index is an axis and a small constant, so that no step overflows.
    pub(crate) fn is_small(&self, v: Val) -> bool {
        match self.facts.accesses.index(v) {
            Index::Affine(sum) => sum.base.terms.is_empty() && sum.base.offset.unsigned_abs() < MAX_FIRST as u64 / 2,
            Index::Clamped(_) | Index::Wrapped(_) => false,
        }
    }
}

/// The comparison with exchanged operands; none if the operation is another.
pub(crate) fn mirrored(p: PrimOp) -> Option<PrimOp> {
    Some(match p {
        PrimOp::LtP => PrimOp::GtP,
        PrimOp::LeP => PrimOp::GeP,
        PrimOp::GtP => PrimOp::LtP,
        PrimOp::GeP => PrimOp::LeP,
        PrimOp::EqP | PrimOp::NeP => p,
        _ => return None,
    })
}

impl VectorCode {
    /// The lanes with an index below an extent, and not below 0, where the first lane has index `first` and each one
    /// has the next.
    pub(crate) fn lanes_within(&mut self, first: &Operand, extent: &Operand) -> Parts {
        let (end, begin) = (put!(self.f, "sub i64 {extent}, {first}"), put!(self.f, "sub i64 0, {first}"));
        let (upto, below) = (self.lanes_below(&end), self.lanes_below(&begin));
        let inside = self.inverted(&below);
        self.and_masks(&upto, &inside)
    }

    pub(crate) fn inverted(&mut self, flags: &Parts) -> Parts {
        let (ty, yes) = (self.mask_type(), self.f.constant(self.shape(), "i1", "true"));
        flags.iter().map(|x| put!(self.f, "xor {ty} {x}, {yes}")).collect()
    }
}
