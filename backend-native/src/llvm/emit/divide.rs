//! Integer divisions and remainders.
//!
//! No processor divides vectors of integers. Floats it does, and where both operands are exact as floats, so is the quotient
//! once it is rounded to an integer: an integer within half a unit of the last place of `x / y` is less than `1 / y` away.
//! Integers of 64 bits are divided so as long as those of a vector are small, else one by one. By what is the same in all
//! lanes no lane is divided: they are multiplied with its reciprocal, which is exact, too, and of large ones that of integers.

use super::Emitter;
use super::prim::is_signed;
use super::text::{Operand, element, put};
use super::value::{Parts, Shape, V};
use crate::kernel::divisor;
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

/// Integers of 64 bits up to this size are divided as doubles: sums with `shift` are exact, and so are products and remainders.
const SMALL: i64 = 1 << 50;
/// The first lane of integers that grow from lane to lane is so far from the ends of that range at least, and the last one
/// then lies within.
const GROWTH: i64 = 1 << 40;

impl Emitter<'_> {
    /// An integer division or remainder; lanes whose divisor is zero meet a fault, unless it is known to be none.
    pub(super) fn divide(&mut self, p: PrimOp, ty: ScalarType, args: &[Val]) -> V {
        let [x, y] = [0, 1].map(|k| self.value(args[k]));
        let is_total = divisor(&self.body.consts, args[1]).is_some();
        let known = match &y {
            V::One(Operand::Text(t)) => t.parse::<i64>().ok().filter(|&d| d != 0 && d != -1),
            V::One(Operand::Register(_)) | V::Linear(..) | V::Lanes(_) => None,
        };
        if let (V::One(x), V::One(y)) = (&x, &y) {
            if !is_total {
                let zero = put!(self, "icmp eq {} {y}, 0", element(ty));
                self.decline_if(&zero);
            }
            return V::One(self.quotient(p, ty, Shape::One, known.is_some(), x, y));
        }
        let (xs, ys) = (self.lanes(args[0]), self.lanes(args[1]));
        let shape = self.shape();
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            if !is_total {
                let (t, y) = (shape.of(element(ty)), &ys[part]);
                let zero = put!(self, "icmp eq {t} {y}, zeroinitializer");
                self.fault(part, &zero);
            }
            parts.push(self.quotients(p, ty, known, [&x, &y], [&xs[part], &ys[part]]));
        }
        V::Lanes(parts)
    }

    /// A vector of them, of values and their lanes. A `known` divisor is neither 0 nor -1.
    fn quotients(
        &mut self,
        p: PrimOp,
        ty: ScalarType,
        known: Option<i64>,
        values: [&V; 2],
        [x, y]: [&Operand; 2],
    ) -> Operand {
        let shape = self.shape();
        let t = shape.of(element(ty));
        match (ty.size(), known) {
            // LLVM has shifts and products in their place.
            (..8, Some(_)) => return self.quotient(p, ty, shape, true, x, y),
            (8, Some(d)) if d.unsigned_abs().is_power_of_two() => return self.quotient(p, ty, shape, true, x, y),
            (..4, None) => return self.by_floats(p, ty, &SINGLE, values[1], [x, y]),
            (4, None) => return self.by_floats(p, ty, &DOUBLE, values[1], [x, y]),
            (_, None | Some(_)) => {}
        }
        let small = [self.are_small(ty, values[0], x), self.are_small(ty, values[1], y)];
        let small = put!(self, "and i1 {}, {}", small[0], small[1]);
        // Computed in any case, a quotient and a remainder of the same have the most of it in common.
        let fast = self.by_floats(p, ty, &DOUBLE, values[1], [x, y]);
        let (some, join, all) = (self.w.label(), self.w.label(), self.w.block);
        self.w.branch(&small, join, some);
        self.w.start(some);
        let slow = match values[1] {
            V::One(divisor) => self.by_reciprocal(p, ty, x, divisor),
            V::Linear(..) | V::Lanes(_) => self.quotient(p, ty, shape, known.is_some(), x, y),
        };
        let after = self.w.block;
        self.w.jump(join);
        self.w.start(join);
        put!(self, "phi {t} [ {fast}, {all} ], [ {slow}, {after} ]")
    }

    /// Whether all lanes of a value of 64 bits are small.
    fn are_small(&mut self, ty: ScalarType, value: &V, lanes: &Operand) -> Operand {
        let signed = is_signed(ty);
        let (shape, v, margin) = match value {
            V::One(v) => (Shape::One, v, 0),
            V::Linear(first, _) => (Shape::One, first, GROWTH),
            V::Lanes(_) => (self.shape(), lanes, 0),
        };
        let (least, count) = if signed { (margin - SMALL, 2 * (SMALL - margin)) } else { (0, SMALL) };
        let [least, count] = [least, count].map(|c| self.constant(shape, "i64", &c.to_string()));
        let t = shape.of("i64");
        let above = put!(self, "sub {t} {v}, {least}");
        let small = put!(self, "icmp ult {t} {above}, {count}");
        match shape {
            Shape::One => small,
            Shape::Lanes(_) => {
                let (flags, suffix) = (shape.of("i1"), shape.suffix("i1"));
                put!(self, "call i1 @llvm.vector.reduce.and.{suffix}({flags} {small})")
            }
        }
    }

    /// The same of operands that are exact as floats. A divisor of zero yields anything.
    fn by_floats(&mut self, p: PrimOp, ty: ScalarType, float: &Float, divisor: &V, args: [&Operand; 2]) -> Operand {
        let (shape, el, signed) = (self.shape(), element(ty), is_signed(ty));
        let (t, f, bits) = (shape.of(el), shape.of(float.name), shape.of(float.bits));
        let shift = self.constant(shape, float.name, float.shift);
        let shift_bits = self.constant(shape, float.bits, &float.shift_bits.to_string());
        let [x, y] = args.map(|v| {
            if ty.size() < 8 {
                return put!(self, "{}itofp {t} {v} to {f}", if signed { "s" } else { "u" });
            }
            let sum = put!(self, "add {t} {v}, {shift_bits}");
            let sum = put!(self, "bitcast {bits} {sum} to {f}");
            put!(self, "fsub {f} {sum}, {shift}")
        });
        let floor = matches!(p, PrimOp::DivFloorP | PrimOp::ModFloorP) || !signed;
        let suffix = shape.suffix(float.name);
        let mut result = match divisor {
            V::One(_) => {
                let near = self.near_quotient(float, floor, [&x, &y]);
                put!(self, "fadd {f} {near}, {shift}")
            }
            V::Linear(..) | V::Lanes(_) => {
                let round = if signed && floor { "floor" } else { "trunc" };
                let q = put!(self, "fdiv {f} {x}, {y}");
                let q = put!(self, "call {f} @llvm.{round}.{suffix}({f} {q})");
                put!(self, "fadd {f} {q}, {shift}")
            }
        };
        if !matches!(p, PrimOp::QuotP | PrimOp::DivFloorP) {
            // Each is exact, product and difference.
            let q = put!(self, "fsub {f} {shift}, {result}");
            let rest = put!(self, "call {f} @llvm.fma.{suffix}({f} {q}, {f} {y}, {f} {x})");
            result = put!(self, "fadd {f} {rest}, {shift}");
        }
        let sum = put!(self, "bitcast {f} {result} to {bits}");
        match ty.size() {
            8 => put!(self, "sub {bits} {sum}, {shift_bits}"),
            _ => put!(self, "trunc {bits} {sum} to {t}"),
        }
    }

    /// What is nearest to a quotient, rounded down or else towards zero, and to no other integer: a product with the
    /// reciprocal of a divisor that is the same in all lanes, which is divided for once.
    ///
    /// That which rounds down, `n`, has `n <= x / y <= n + 1 - 1 / |y|`. So `x / y - (1 - 1 / |y|) / 2` is less than half a
    /// unit away from it by `1 / (2 |y|)`; the errors, of the reciprocal and of one sum, are less than
    /// `(|x| + |y|) / (4 SMALL |y|)`.
    fn near_quotient(&mut self, float: &Float, floor: bool, [x, y]: [&Operand; 2]) -> Operand {
        let shape = self.shape();
        let (f, flags, suffix) = (shape.of(float.name), shape.of("i1"), shape.suffix(float.name));
        let [one, half] = ["1.0", "0.5"].map(|c| self.constant(shape, float.name, c));
        let reciprocal = put!(self, "fdiv {f} {one}, {y}");
        let unit = put!(self, "call {f} @llvm.fabs.{suffix}({f} {reciprocal})");
        let less = put!(self, "fmul {f} {unit}, {half}");
        let less = put!(self, "fsub {f} {less}, {half}");
        if floor {
            return put!(self, "call {f} @llvm.fma.{suffix}({f} {x}, {f} {reciprocal}, {f} {less})");
        }
        // Negative quotients are rounded up.
        let opposite = put!(self, "fneg {f} {reciprocal}");
        let above = put!(self, "call {f} @llvm.copysign.{suffix}({f} {less}, {f} {opposite})");
        let below = put!(self, "fneg {f} {above}");
        let zero = self.constant(shape, float.name, "0.0");
        let negative = put!(self, "fcmp olt {f} {x}, {zero}");
        let less = put!(self, "select {flags} {negative}, {f} {below}, {f} {above}");
        put!(self, "call {f} @llvm.fma.{suffix}({f} {x}, {f} {reciprocal}, {f} {less})")
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
