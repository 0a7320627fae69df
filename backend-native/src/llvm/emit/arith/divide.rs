//! Integer divisions and remainders.
//!
//! No processor divides vectors of integers, but they divide floats. Where both operands are exact as floats, rounding
//! the float quotient gives the integer one: an integer within half a unit in the last place of `x / y` is less than `1
//! / y` away. 64-bit integers are divided as doubles as long as all of a vector are small, else one by one. A uniform
//! divisor becomes a multiplication with its reciprocal: a double's for small operands, an integer's for large ones.

use crate::kernel::divisor;
use crate::llvm::emit::Emitter;
use crate::llvm::emit::arith::prim::is_signed;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// A float type that holds the operands of a division exactly.
pub(crate) struct Float {
    /// Its name, and that of the integers of the same width.
    pub name: &'static str,
    pub bits: &'static str,
    /// 1.5 times the least number whose neighbours are integers: adding it to an integer puts that integer, in two's
    /// complement, into the low bits. As a literal, and as bits.
    pub shift: &'static str,
    pub shift_bits: i64,
}

pub(crate) const SINGLE: Float =
    Float { name: "float", bits: "i32", shift: "0x4168000000000000", shift_bits: 0x4B40_0000 };
pub(crate) const DOUBLE: Float =
    Float { name: "double", bits: "i64", shift: "0x4338000000000000", shift_bits: 0x4338_0000_0000_0000 };

/// 64-bit integers up to this magnitude are divided as doubles: sums with `shift`, products and remainders are exact.
const MAX_EXACT_DIVIDEND: i64 = 1 << 50;
/// If the first lane of an affine value is this far from the limits, all lanes are within them.
const MAX_LANE_SPREAD: i64 = 1 << 40;

impl Emitter<'_> {
    /// An integer division or remainder; lanes with a zero divisor record a fault, unless the divisor is a constant.
    pub(crate) fn divide(&mut self, p: PrimOp, ty: ScalarType, args: &[Val]) -> Value {
        let [x, y] = [0, 1].map(|k| self.scope.value(args[k]));
        let is_total = divisor(&self.facts.body.consts, args[1]).is_some();
        let known = match &y {
            Value::Uniform(Operand::Text(t)) => t.parse::<i64>().ok().filter(|&d| d != 0 && d != -1),
            Value::Uniform(Operand::Register(_)) | Value::Affine(..) | Value::Varying(_) => None,
        };
        if let (Value::Uniform(x), Value::Uniform(y)) = (&x, &y) {
            if !is_total {
                let zero = put!(self.code.f, "icmp eq {} {y}, 0", element(ty));
                self.code.f.bail_out_if(&zero);
            }
            return Value::Uniform(self.code.f.quotient(p, ty, Shape::Scalar, known.is_some(), x, y));
        }
        let (xs, ys) = (self.vectors(args[0]), self.vectors(args[1]));
        let shape = self.code.shape();
        let mut parts = Parts::new();
        for part in 0..self.code.width.parts {
            if !is_total {
                let (t, y) = (shape.of(element(ty)), &ys[part]);
                let zero = put!(self.code.f, "icmp eq {t} {y}, zeroinitializer");
                self.code.record_fault(part, &zero);
            }
            parts.push(self.code.quotients(p, ty, known, [&x, &y], [&xs[part], &ys[part]]));
        }
        Value::Varying(parts)
    }
}

impl VectorCode {
    /// One vector of them. A `known` divisor is neither 0 nor -1.
    fn quotients(
        &mut self,
        p: PrimOp,
        ty: ScalarType,
        known: Option<i64>,
        values: [&Value; 2],
        [x, y]: [&Operand; 2],
    ) -> Operand {
        let shape = self.shape();
        let t = shape.of(element(ty));
        match (ty.size(), known) {
            // LLVM replaces these by shifts and multiplications.
            (..8, Some(_)) => return self.f.quotient(p, ty, shape, true, x, y),
            (8, Some(d)) if d.unsigned_abs().is_power_of_two() => return self.f.quotient(p, ty, shape, true, x, y),
            (..4, None) => return self.divide_as_floats(p, ty, &SINGLE, values[1], [x, y]),
            (4, None) => return self.divide_as_floats(p, ty, &DOUBLE, values[1], [x, y]),
            (_, None | Some(_)) => {}
        }
        let small = [self.are_small(ty, values[0], x), self.are_small(ty, values[1], y)];
        let small = put!(self.f, "and i1 {}, {}", small[0], small[1]);
        // Speculated, so that a quotient and a remainder of the same operands share most of it.
        let fast = self.divide_as_floats(p, ty, &DOUBLE, values[1], [x, y]);
        let (some, join, all) = (self.f.w.label(), self.f.w.label(), self.f.w.block);
        self.f.w.branch(&small, join, some);
        self.f.w.start(some);
        let slow = match values[1] {
            Value::Uniform(divisor) => self.divide_by_reciprocal(p, ty, x, divisor),
            Value::Affine(..) | Value::Varying(_) => self.f.quotient(p, ty, shape, known.is_some(), x, y),
        };
        let after = self.f.w.block;
        self.f.w.jump(join);
        self.f.w.start(join);
        put!(self.f, "phi {t} [ {fast}, {all} ], [ {slow}, {after} ]")
    }

    /// Whether all lanes of a 64-bit value are small enough for doubles.
    fn are_small(&mut self, ty: ScalarType, value: &Value, lanes: &Operand) -> Operand {
        let signed = is_signed(ty);
        let (shape, v, margin) = match value {
            Value::Uniform(v) => (Shape::Scalar, v, 0),
            Value::Affine(first, _) => (Shape::Scalar, first, MAX_LANE_SPREAD),
            Value::Varying(_) => (self.shape(), lanes, 0),
        };
        let (least, count) = if signed {
            (margin - MAX_EXACT_DIVIDEND, 2 * (MAX_EXACT_DIVIDEND - margin))
        } else {
            (0, MAX_EXACT_DIVIDEND)
        };
        let [least, count] = [least, count].map(|c| self.f.constant(shape, "i64", &c.to_string()));
        let t = shape.of("i64");
        let above = put!(self.f, "sub {t} {v}, {least}");
        let small = put!(self.f, "icmp ult {t} {above}, {count}");
        match shape {
            Shape::Scalar => small,
            Shape::Vector(_) => {
                let (flags, suffix) = (shape.of("i1"), shape.suffix("i1"));
                put!(self.f, "call i1 @llvm.vector.reduce.and.{suffix}({flags} {small})")
            }
        }
    }

    /// Divides operands that are exact as floats. The result is unspecified for a divisor of zero.
    fn divide_as_floats(
        &mut self,
        p: PrimOp,
        ty: ScalarType,
        float: &Float,
        divisor: &Value,
        args: [&Operand; 2],
    ) -> Operand {
        let (shape, el, signed) = (self.shape(), element(ty), is_signed(ty));
        let (t, f, bits) = (shape.of(el), shape.of(float.name), shape.of(float.bits));
        let shift = self.f.constant(shape, float.name, float.shift);
        let shift_bits = self.f.constant(shape, float.bits, &float.shift_bits.to_string());
        let [x, y] = args.map(|v| {
            if ty.size() < 8 {
                return put!(self.f, "{}itofp {t} {v} to {f}", if signed { "s" } else { "u" });
            }
            let sum = put!(self.f, "add {t} {v}, {shift_bits}");
            let sum = put!(self.f, "bitcast {bits} {sum} to {f}");
            put!(self.f, "fsub {f} {sum}, {shift}")
        });
        let floor = matches!(p, PrimOp::DivFloorP | PrimOp::ModFloorP) || !signed;
        let suffix = shape.suffix(float.name);
        let mut result = match divisor {
            Value::Uniform(_) => {
                let near = self.float_quotient(float, floor, [&x, &y]);
                put!(self.f, "fadd {f} {near}, {shift}")
            }
            Value::Affine(..) | Value::Varying(_) => {
                let round = if signed && floor { "floor" } else { "trunc" };
                let q = put!(self.f, "fdiv {f} {x}, {y}");
                let q = put!(self.f, "call {f} @llvm.{round}.{suffix}({f} {q})");
                put!(self.f, "fadd {f} {q}, {shift}")
            }
        };
        if !matches!(p, PrimOp::QuotP | PrimOp::DivFloorP) {
            // Both the product and the difference are exact.
            let q = put!(self.f, "fsub {f} {shift}, {result}");
            let rest = put!(self.f, "call {f} @llvm.fma.{suffix}({f} {q}, {f} {y}, {f} {x})");
            result = put!(self.f, "fadd {f} {rest}, {shift}");
        }
        let sum = put!(self.f, "bitcast {f} {result} to {bits}");
        match ty.size() {
            8 => put!(self.f, "sub {bits} {sum}, {shift_bits}"),
            _ => put!(self.f, "trunc {bits} {sum} to {t}"),
        }
    }

    /// The quotient, rounded down or towards zero, by a multiplication with the reciprocal of a uniform divisor, off by
    /// less than half.
    ///
    /// The quotient rounded down, `n`, has `n <= x / y <= n + 1 - 1 / |y|`. So `x / y - (1 - 1 / |y|) / 2` differs from
    /// `n` by at most `1 / 2 - 1 / (2 |y|)`; the errors of the reciprocal and of one sum are less than `(|x| + |y|) /
    /// (4 MAX_EXACT_DIVIDEND |y|)`.
    fn float_quotient(&mut self, float: &Float, floor: bool, [x, y]: [&Operand; 2]) -> Operand {
        let shape = self.shape();
        let (f, flags, suffix) = (shape.of(float.name), shape.of("i1"), shape.suffix(float.name));
        let [one, half] = ["1.0", "0.5"].map(|c| self.f.constant(shape, float.name, c));
        let reciprocal = put!(self.f, "fdiv {f} {one}, {y}");
        let unit = put!(self.f, "call {f} @llvm.fabs.{suffix}({f} {reciprocal})");
        let less = put!(self.f, "fmul {f} {unit}, {half}");
        let less = put!(self.f, "fsub {f} {less}, {half}");
        if floor {
            return put!(self.f, "call {f} @llvm.fma.{suffix}({f} {x}, {f} {reciprocal}, {f} {less})");
        }
        // Negative quotients are rounded up.
        let opposite = put!(self.f, "fneg {f} {reciprocal}");
        let above = put!(self.f, "call {f} @llvm.copysign.{suffix}({f} {less}, {f} {opposite})");
        let below = put!(self.f, "fneg {f} {above}");
        let zero = self.f.constant(shape, float.name, "0.0");
        let negative = put!(self.f, "fcmp olt {f} {x}, {zero}");
        let less = put!(self.f, "select {flags} {negative}, {f} {below}, {f} {above}");
        put!(self.f, "call {f} @llvm.fma.{suffix}({f} {x}, {f} {reciprocal}, {f} {less})")
    }
}

impl Function {
    /// LLVM's own division, of scalars or vectors. The result is unspecified for a divisor of zero; a `safe` one is
    /// neither 0 nor -1.
    pub(crate) fn quotient(
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
        // Division by 0, and by -1 of the least dividend, is undefined in LLVM, so both are replaced by 2. Not by 1:
        // LLVM 22 rewrites `x / select(c, y, 1)` into `select(c, x / y, x)` and divides all the same.
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
