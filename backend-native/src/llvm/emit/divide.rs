//! Integer divisions and remainders.
//!
//! No processor divides vectors of integers. Floats it does, and where both operands are exact as floats, so is the quotient
//! once it is rounded to an integer: an integer within half a unit of the last place of `x / y` is less than `1 / y` away.
//! Integers of 64 bits are divided so as long as those of a vector are small, else one by one.

use super::Emitter;
use super::prim::is_signed;
use super::text::{Operand, element, put};
use super::value::{Parts, Shape, V};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// A float type that holds the operands of a division.
pub(super) struct Float {
    /// Its name, and that of the integers with as many bits.
    pub name: &'static str,
    pub bits: &'static str,
    /// One and a half times the least number whose neighbours are integers: the last bits of its sum with an integer are those
    /// of the integer, in two's complement. As a literal, and its bits.
    pub shift: &'static str,
    pub shift_bits: i64,
}

pub(super) const SINGLE: Float =
    Float { name: "float", bits: "i32", shift: "0x4168000000000000", shift_bits: 0x4B40_0000 };
pub(super) const DOUBLE: Float =
    Float { name: "double", bits: "i64", shift: "0x4338000000000000", shift_bits: 0x4338_0000_0000_0000 };

/// Integers of 64 bits up to this size are divided as doubles: the sum with `shift` is exact, and so are products and
/// remainders.
const SMALL: i64 = 1 << 51;

impl Emitter<'_> {
    /// An integer division or remainder; lanes whose divisor is zero meet a fault.
    pub(super) fn divide(&mut self, p: PrimOp, ty: ScalarType, args: &[Val]) -> V {
        let known = match self.value(args[1]) {
            V::One(Operand::Text(t)) => t.parse::<i64>().ok().filter(|&d| d != 0 && d != -1),
            V::One(Operand::Register(_)) | V::Linear(..) | V::Lanes(_) => None,
        };
        if args.iter().all(|&v| matches!(self.value(v), V::One(_))) {
            let (x, y) = (self.one(args[0]), self.one(args[1]));
            if known.is_none() {
                let zero = put!(self, "icmp eq {} {y}, 0", element(ty));
                self.decline_if(&zero);
            }
            return V::One(self.quotient(p, ty, Shape::One, known.is_some(), &x, &y));
        }
        let (xs, ys) = (self.lanes(args[0]), self.lanes(args[1]));
        let shape = self.shape();
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            if known.is_none() {
                let (t, y) = (shape.of(element(ty)), &ys[part]);
                let zero = put!(self, "icmp eq {t} {y}, zeroinitializer");
                self.fault(part, &zero);
            }
            parts.push(self.quotients(p, ty, known, &xs[part], &ys[part]));
        }
        V::Lanes(parts)
    }

    /// A vector of them. A `known` divisor is neither 0 nor -1.
    fn quotients(&mut self, p: PrimOp, ty: ScalarType, known: Option<i64>, x: &Operand, y: &Operand) -> Operand {
        let (shape, t, flags) = (self.shape(), self.shape().of(element(ty)), self.mask_type());
        match (ty.size(), known) {
            // LLVM has shifts and products in their place.
            (..8, Some(_)) => return self.quotient(p, ty, shape, true, x, y),
            (8, Some(d)) if d.unsigned_abs().is_power_of_two() => return self.quotient(p, ty, shape, true, x, y),
            (..4, None) => return self.by_floats(p, ty, &SINGLE, x, y),
            (4, None) => return self.by_floats(p, ty, &DOUBLE, x, y),
            (_, None | Some(_)) => {}
        }
        let (least, count) = if is_signed(ty) { (-SMALL, 2 * SMALL) } else { (0, SMALL) };
        let [least, count] = [least, count].map(|c| self.constant(shape, "i64", &c.to_string()));
        let [small, also] = [x, y].map(|v| {
            let above = put!(self, "sub {t} {v}, {least}");
            put!(self, "icmp ult {t} {above}, {count}")
        });
        let small = put!(self, "and {flags} {small}, {also}");
        let suffix = shape.suffix("i1");
        let small = put!(self, "call i1 @llvm.vector.reduce.and.{suffix}({flags} {small})");
        let (all, some, join) = (self.w.label(), self.w.label(), self.w.label());
        self.w.branch(&small, all, some);
        self.w.start(all);
        let fast = self.by_floats(p, ty, &DOUBLE, x, y);
        let after_all = self.w.block;
        self.w.jump(join);
        self.w.start(some);
        let slow = self.quotient(p, ty, shape, known.is_some(), x, y);
        let after_some = self.w.block;
        self.w.jump(join);
        self.w.start(join);
        put!(self, "phi {t} [ {fast}, {after_all} ], [ {slow}, {after_some} ]")
    }

    /// The same of operands that are exact as floats. A divisor of zero yields anything.
    fn by_floats(&mut self, p: PrimOp, ty: ScalarType, float: &Float, x: &Operand, y: &Operand) -> Operand {
        let (shape, el, signed) = (self.shape(), element(ty), is_signed(ty));
        let (t, f, bits) = (shape.of(el), shape.of(float.name), shape.of(float.bits));
        let shift = self.constant(shape, float.name, float.shift);
        let shift_bits = self.constant(shape, float.bits, &float.shift_bits.to_string());
        let [x, y] = [x, y].map(|v| {
            if ty.size() < 8 {
                return put!(self, "{}itofp {t} {v} to {f}", if signed { "s" } else { "u" });
            }
            let sum = put!(self, "add {t} {v}, {shift_bits}");
            let sum = put!(self, "bitcast {bits} {sum} to {f}");
            put!(self, "fsub {f} {sum}, {shift}")
        });
        let floor = signed && matches!(p, PrimOp::DivFloorP | PrimOp::ModFloorP);
        let (round, suffix) = (if floor { "floor" } else { "trunc" }, shape.suffix(float.name));
        let q = put!(self, "fdiv {f} {x}, {y}");
        let mut result = put!(self, "call {f} @llvm.{round}.{suffix}({f} {q})");
        if !matches!(p, PrimOp::QuotP | PrimOp::DivFloorP) {
            let product = put!(self, "fmul {f} {result}, {y}");
            result = put!(self, "fsub {f} {x}, {product}");
        }
        let sum = put!(self, "fadd {f} {result}, {shift}");
        let sum = put!(self, "bitcast {f} {sum} to {bits}");
        match ty.size() {
            8 => put!(self, "sub {bits} {sum}, {shift_bits}"),
            _ => put!(self, "trunc {bits} {sum} to {t}"),
        }
    }

    /// One or a vector of them, as LLVM divides. A divisor of zero yields anything; a `safe` one is neither 0 nor -1.
    pub(super) fn quotient(
        &mut self,
        p: PrimOp,
        ty: ScalarType,
        shape: Shape,
        safe: bool,
        x: &Operand,
        y: &Operand,
    ) -> Operand {
        let el = element(ty);
        let (t, flags, signed) = (shape.of(el), shape.of("i1"), is_signed(ty));
        let zero = self.constant(shape, el, "0");
        let one = self.constant(shape, el, "1");
        let wants_quotient = matches!(p, PrimOp::QuotP | PrimOp::DivFloorP);
        let floor = signed && matches!(p, PrimOp::DivFloorP | PrimOp::ModFloorP);
        // What LLVM divides by is neither 0 nor -1, which it leaves undefined (-1 with the least dividend). Nor is it 1
        // in their place: LLVM 22 takes a choice between a divisor and 1 for one between the quotient and the dividend,
        // and divides all the same.
        let (mut divisor, mut minus) = (y.clone(), None);
        if !safe {
            let two = self.constant(shape, el, "2");
            let is_zero = put!(self, "icmp eq {t} {divisor}, {zero}");
            divisor = put!(self, "select {flags} {is_zero}, {t} {two}, {t} {divisor}");
            if signed {
                let ones = self.constant(shape, el, "-1");
                let is_minus = put!(self, "icmp eq {t} {y}, {ones}");
                divisor = put!(self, "select {flags} {is_minus}, {t} {two}, {t} {divisor}");
                minus = Some(is_minus);
            }
        }
        let kind = if signed { "s" } else { "u" };
        if !floor && !wants_quotient {
            let r = put!(self, "{kind}rem {t} {x}, {divisor}");
            return match minus {
                Some(minus) => put!(self, "select {flags} {minus}, {t} {zero}, {t} {r}"),
                None => r,
            };
        }
        let mut q = put!(self, "{kind}div {t} {x}, {divisor}");
        if let Some(minus) = minus {
            let negated = put!(self, "sub {t} {zero}, {x}");
            q = put!(self, "select {flags} {minus}, {t} {negated}, {t} {q}");
        }
        if !floor {
            return q;
        }
        let product = put!(self, "mul {t} {q}, {y}");
        let r = put!(self, "sub {t} {x}, {product}");
        let inexact = put!(self, "icmp ne {t} {r}, {zero}");
        let signs = put!(self, "xor {t} {r}, {y}");
        let opposite = put!(self, "icmp slt {t} {signs}, {zero}");
        let lower = put!(self, "and {flags} {inexact}, {opposite}");
        if wants_quotient {
            let below = put!(self, "sub {t} {q}, {one}");
            put!(self, "select {flags} {lower}, {t} {below}, {t} {q}")
        } else {
            let above = put!(self, "add {t} {r}, {y}");
            put!(self, "select {flags} {lower}, {t} {above}, {t} {r}")
        }
    }
}
