//! Primitive operations and conversions, element by element.

mod bits;
mod functions;
mod zeros;

use crate::export::onnx::Unsupported;
use crate::export::onnx::proto::DataType;
use crate::export::onnx::stored::{natural, range, stored};
use crate::export::onnx::writer::{Name, Writer, int_attribute, text_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_core::ir::PrimOp as P;

/// The number of bits of an integer type.
pub(super) fn width(ty: T) -> i64 {
    range(ty).map_or(64, |(bits, _)| i64::from(bits))
}

impl Writer {
    pub(in crate::export::onnx) fn op1(&mut self, op: &str, x: &Name) -> Name {
        self.node(op, &[x], Vec::new())
    }
    pub(in crate::export::onnx) fn op2(&mut self, op: &str, x: &Name, y: &Name) -> Name {
        self.node(op, &[x, y], Vec::new())
    }

    /// Integers of which the order is that of the values: of `u64` shifted, of `bool` 0 and 1.
    fn ordered(&mut self, x: &Name, ty: T) -> Name {
        match ty {
            T::U64 => {
                let least = self.int(i64::MIN);
                self.op2("Add", x, &least)
            }
            T::Bool => self.cast(x, DataType::Int64),
            _ => x.clone(),
        }
    }

    /// The logical shift of 64 bits, by 0 to 63.
    pub(in crate::export::onnx) fn shift(&mut self, x: &Name, by: &Name, direction: &str) -> Name {
        let (x, by) = (self.cast(x, DataType::Uint64), self.cast(by, DataType::Uint64));
        let y = self.node("BitShift", &[&x, &by], vec![text_attribute("direction", direction)]);
        self.cast(&y, DataType::Int64)
    }

    fn right(&mut self, x: &Name, by: i64) -> Name {
        let by = self.int(by);
        self.shift(x, &by, "RIGHT")
    }

    /// The number of one bits of 64.
    fn ones(&mut self, x: &Name) -> Name {
        let (fives, threes, nibbles) =
            (self.int(0x5555_5555_5555_5555), self.int(0x3333_3333_3333_3333), self.int(0x0f0f_0f0f_0f0f_0f0f));
        let half = self.right(x, 1);
        let half = self.op2("BitwiseAnd", &half, &fives);
        let pairs = self.op2("Sub", x, &half);
        let high = self.right(&pairs, 2);
        let high = self.op2("BitwiseAnd", &high, &threes);
        let low = self.op2("BitwiseAnd", &pairs, &threes);
        let fours = self.op2("Add", &low, &high);
        let high = self.right(&fours, 4);
        let sum = self.op2("Add", &fours, &high);
        let bytes = self.op2("BitwiseAnd", &sum, &nibbles);
        let spread = self.int(0x0101_0101_0101_0101);
        let total = self.op2("Mul", &bytes, &spread);
        self.right(&total, 56)
    }

    /// The low bits of an integer, as many as its type has.
    fn bits(&mut self, x: &Name, ty: T) -> Name {
        match range(ty) {
            Some((bits, true)) => {
                let mask = self.int((1 << bits) - 1);
                self.op2("BitwiseAnd", x, &mask)
            }
            Some((_, false)) | None => x.clone(),
        }
    }

    fn quotient(&mut self, x: &Name, y: &Name, ty: T) -> Name {
        if ty == T::U64 {
            return self.unsigned_quotient(x, y);
        }
        // The least number by -1 stops the process; its quotient is its negation.
        let (minus, one) = (self.int(-1), self.int(1));
        let negates = self.op2("Equal", y, &minus);
        let safe = self.either(&negates, &one, y);
        let (q, n) = (self.op2("Div", x, &safe), self.op1("Neg", x));
        let q = self.either(&negates, &n, &q);
        self.wrapped(&q, ty)
    }

    /// The quotient of 64-bit numbers without sign (Hacker's Delight, 9-3).
    fn unsigned_quotient(&mut self, x: &Name, y: &Name) -> Name {
        let (zero, one) = (self.int(0), self.int(1));
        let large = self.op2("Less", y, &zero);
        let safe = self.either(&large, &one, y);
        let half = self.right(x, 1);
        let q = self.op2("Div", &half, &safe);
        let q = self.op2("Add", &q, &q);
        let product = self.op2("Mul", &q, &safe);
        let r = self.op2("Sub", x, &product);
        let q = self.more_if_not_less(&q, &r, &safe);
        let of_large = self.more_if_not_less(&zero, x, y);
        self.either(&large, &of_large, &q)
    }

    /// `q`, or one more if `r >= y` without sign.
    fn more_if_not_less(&mut self, q: &Name, r: &Name, y: &Name) -> Name {
        let (r, y) = (self.ordered(r, T::U64), self.ordered(y, T::U64));
        let more = self.op2("GreaterOrEqual", &r, &y);
        let more = self.cast(&more, DataType::Int64);
        self.op2("Add", q, &more)
    }

    /// A float operation on a NaN is a NaN.
    fn keep_nan(&mut self, of: &[&Name], result: &Name, ty: T) -> Name {
        let mut out = result.clone();
        let (one, none) = (self.float(1.0, ty), self.float(f64::NAN, ty));
        for x in of {
            // A product keeps the sign of a zero, which a choice may not.
            let nan = self.op1("IsNaN", x);
            let factor = self.either(&nan, &none, &one);
            out = self.op2("Mul", &out, &factor);
        }
        out
    }

    /// An integer that is not 0 or 1 either way: -1, 0 or 1.
    fn signum(&mut self, x: &Name, ty: T) -> Name {
        match ty {
            T::U64 => {
                let (zero, one) = (self.int(0), self.int(1));
                let none = self.op2("Equal", x, &zero);
                self.either(&none, &zero, &one)
            }
            _ if ty.is_float() => {
                let (magnitude, zero, one) = (self.op1("Abs", x), self.float(0.0, ty), self.float(1.0, ty));
                let some = self.op2("Greater", &magnitude, &zero);
                let size = self.either(&some, &one, &magnitude);
                self.with_sign(&size, x, ty)
            }
            // `Sign` of onnxruntime 1.31 looks at the low 32 bits alone.
            _ => {
                let zero = self.int(0);
                let (over, under) = (self.op2("Greater", x, &zero), self.op2("Less", x, &zero));
                let (over, under) = (self.cast(&over, DataType::Int64), self.cast(&under, DataType::Int64));
                self.op2("Sub", &over, &under)
            }
        }
    }

    /// A primitive operation on operands of a type.
    pub(in crate::export::onnx) fn prim(&mut self, p: P, ty: T, x: &[Name]) -> Result<Name, Unsupported> {
        let (a, b) = (&x[0], x.get(1).unwrap_or(&x[0]));
        let float = ty.is_float();
        let exact = match p {
            P::AddP if float => self.sum(a, b, ty),
            P::AddP => self.op2("Add", a, b),
            P::SubP if float && self.is_minus_zero(b, ty) => {
                let zero = self.float(0.0, ty);
                self.sum(a, &zero, ty)
            }
            P::SubP => self.op2("Sub", a, b),
            P::MulP => self.op2("Mul", a, b),
            P::DivP => self.op2("Div", a, b),
            P::QuotP => return Ok(self.quotient(a, b, ty)),
            P::RemP => {
                let q = self.quotient(a, b, ty);
                let product = self.op2("Mul", &q, b);
                self.op2("Sub", a, &product)
            }
            P::DivFloorP | P::ModFloorP if ty == T::U64 => {
                let q = self.quotient(a, b, ty);
                if p == P::DivFloorP {
                    return Ok(q);
                }
                let product = self.op2("Mul", &q, b);
                self.op2("Sub", a, &product)
            }
            P::ModFloorP | P::DivFloorP => {
                // The remainder by -1 is 0; the runtime's stops the process for the least number.
                let (minus, one) = (self.int(-1), self.int(1));
                let negates = self.op2("Equal", b, &minus);
                let safe = self.either(&negates, &one, b);
                let m = self.node("Mod", &[a, &safe], vec![int_attribute("fmod", 0)]);
                if p == P::ModFloorP {
                    return Ok(m);
                }
                // One less than the truncated quotient where that is not whole and negative.
                let (q, zero) = (self.quotient(a, b, ty), self.int(0));
                let (left, right) = (self.op2("Less", a, &zero), self.op2("Less", b, &zero));
                let (negative, whole) = (self.op2("Xor", &left, &right), self.op2("Equal", &m, &zero));
                let broken = self.op1("Not", &whole);
                let down = self.op2("And", &negative, &broken);
                let less = self.op2("Sub", &q, &one);
                return Ok(self.either(&down, &less, &q));
            }
            P::FmodP => self.node("Mod", &[a, b], vec![int_attribute("fmod", 1)]),
            P::MinP | P::MaxP => return Ok(self.extreme(p == P::MinP, ty, a, b)),
            P::PowP => self.op2("Pow", a, b),
            P::Atan2P => self.atan2(ty, a, b),
            P::AndP | P::OrP | P::XorP => {
                let op = match p {
                    P::AndP => "And",
                    P::OrP => "Or",
                    _ => "Xor",
                };
                return Ok(if ty == T::Bool { self.op2(op, a, b) } else { self.op2(&format!("Bitwise{op}"), a, b) });
            }
            P::ShlP | P::ShrP => return Ok(self.shifted(p == P::ShlP, ty, a, b)),
            P::EqP | P::NeP => {
                let equal = self.op2("Equal", a, b);
                return Ok(if p == P::EqP { equal } else { self.op1("Not", &equal) });
            }
            P::LtP | P::LeP | P::GtP | P::GeP => {
                let op = match p {
                    P::LtP => "Less",
                    P::LeP => "LessOrEqual",
                    P::GtP => "Greater",
                    _ => "GreaterOrEqual",
                };
                let (a, b) = (self.ordered(a, ty), self.ordered(b, ty));
                return Ok(self.op2(op, &a, &b));
            }
            P::NegP => self.op1("Neg", a),
            P::AbsP if float || range(ty).is_some_and(|(_, signed)| signed) || ty == T::I64 => self.op1("Abs", a),
            P::AbsP => return Ok(a.clone()),
            P::SignumP => return Ok(self.signum(a, ty)),
            P::NotP if ty == T::Bool => return Ok(self.op1("Not", a)),
            P::NotP => self.op1("BitwiseNot", a),
            P::PopCountP => {
                let bits = self.bits(a, ty);
                return Ok(self.ones(&bits));
            }
            P::LeadingZerosP => {
                let mut filled = self.bits(a, ty);
                for by in [1, 2, 4, 8, 16, 32] {
                    let right = self.right(&filled, by);
                    filled = self.op2("BitwiseOr", &filled, &right);
                }
                let (width, ones) = (self.int(width(ty)), self.ones(&filled));
                return Ok(self.op2("Sub", &width, &ones));
            }
            P::TrailingZerosP => {
                // The bits below the lowest one; of 0, all.
                let one = self.int(1);
                let (not, less) = (self.op1("BitwiseNot", a), self.op2("Sub", a, &one));
                let below = self.op2("BitwiseAnd", &not, &less);
                let below = match range(ty) {
                    Some((bits, _)) => {
                        let mask = self.int((1 << bits) - 1);
                        self.op2("BitwiseAnd", &below, &mask)
                    }
                    None => below,
                };
                return Ok(self.ones(&below));
            }
            P::SqrtP => self.op1("Sqrt", a),
            P::ExpP => self.op1("Exp", a),
            P::LnP => self.op1("Log", a),
            P::Log2P => self.log(a, ty, std::f64::consts::LOG2_E),
            P::Log10P => self.log(a, ty, std::f64::consts::LOG10_E),
            P::SinP => self.op1("Sin", a),
            P::CosP => self.op1("Cos", a),
            P::TanhP => self.op1("Tanh", a),
            P::TanP => self.function("Tan", Writer::tan, ty, a),
            P::AsinP => self.function("Asin", Writer::asin, ty, a),
            P::AcosP => self.function("Acos", Writer::acos, ty, a),
            P::AtanP => self.function("Atan", Writer::atan, ty, a),
            P::SinhP => self.function("Sinh", Writer::sinh, ty, a),
            P::CoshP => self.function("Cosh", Writer::cosh, ty, a),
            P::AsinhP => self.function("Asinh", Writer::asinh, ty, a),
            P::AcoshP => self.function("Acosh", Writer::acosh, ty, a),
            P::AtanhP => self.function("Atanh", Writer::atanh, ty, a),
            P::FloorP => self.op1("Floor", a),
            P::CeilP => self.op1("Ceil", a),
            P::RoundP => self.op1("Round", a),
            P::TruncP => {
                // The magnitude's floor times the sign, that of a zero, too: its reciprocal has it.
                let one = self.literal(Lit::one(ty));
                let (size, minus) = (self.op1("Abs", a), self.op1("Neg", &one));
                let within = self.node("Clip", &[a, &minus, &one], Vec::new());
                let reciprocal = self.op2("Div", &one, &within);
                let (whole, sign) = (self.op1("Floor", &size), self.op1("Sign", &reciprocal));
                self.op2("Mul", &whole, &sign)
            }
            P::IsNanP => return Ok(self.op1("IsNaN", a)),
            P::IsInfiniteP => return Ok(self.op1("IsInf", a)),
        };
        Ok(self.wrapped(&exact, ty))
    }

    /// A function that runtimes have for single precision alone; `wide` is the same for doubles.
    fn function(&mut self, op: &str, wide: fn(&mut Writer, &Name) -> Name, ty: T, x: &Name) -> Name {
        if ty == T::F64 { wide(self, x) } else { self.op1(op, x) }
    }

    /// A logarithm from the natural one.
    fn log(&mut self, x: &Name, ty: T, factor: f64) -> Name {
        // In double precision, where it is rounded to less than that.
        let wide = self.convert(x, stored(ty), DataType::Double);
        let (ln, factor) = (self.op1("Log", &wide), self.double(factor));
        let y = self.op2("Mul", &ln, &factor);
        self.convert(&y, DataType::Double, stored(ty))
    }

    /// The lesser of two stored integers. `Min` and `Max` of onnxruntime 1.31 compare the low 32 bits alone.
    pub(in crate::export::onnx) fn lesser(&mut self, a: &Name, b: &Name) -> Name {
        self.extreme(true, T::I64, a, b)
    }

    /// The greater of two stored integers.
    pub(in crate::export::onnx) fn greater(&mut self, a: &Name, b: &Name) -> Name {
        self.extreme(false, T::I64, a, b)
    }

    fn extreme(&mut self, least: bool, ty: T, a: &Name, b: &Name) -> Name {
        if ty == T::Bool {
            return self.op2(if least { "And" } else { "Or" }, a, b);
        }
        if ty.is_float() {
            let y = self.op2(if least { "Min" } else { "Max" }, a, b);
            return self.keep_nan(&[a, b], &y, ty);
        }
        let (x, y) = (self.ordered(a, ty), self.ordered(b, ty));
        let less = self.op2("Less", &x, &y);
        if least { self.either(&less, a, b) } else { self.either(&less, b, a) }
    }

    fn shifted(&mut self, left: bool, ty: T, x: &Name, by: &Name) -> Name {
        let (zero, most, bits) = (self.int(0), self.int(63), self.int(width(ty)));
        let (low, high) = (self.op2("GreaterOrEqual", by, &zero), self.op2("Less", by, &bits));
        let fits = self.op2("And", &low, &high);
        let safe = self.greater(by, &zero);
        let safe = self.lesser(&safe, &most);
        if left {
            let y = self.shift(x, &safe, "LEFT");
            let y = self.either(&fits, &y, &zero);
            return self.wrapped(&y, ty);
        }
        let signed = matches!(ty, T::I8 | T::I16 | T::I32 | T::I64);
        if !signed {
            let y = self.shift(x, &safe, "RIGHT");
            return self.either(&fits, &y, &zero);
        }
        // Of a negative number the complement of its complement's shift: its sign comes in.
        let minus = self.int(-1);
        let negative = self.op2("Less", x, &zero);
        let sign = self.either(&negative, &minus, &zero);
        let flipped = self.op2("BitwiseXor", x, &sign);
        let y = self.shift(&flipped, &safe, "RIGHT");
        let y = self.op2("BitwiseXor", &y, &sign);
        self.either(&fits, &y, &sign)
    }

    /// The angle of a point from that of its quotient, by quadrant.
    fn atan2(&mut self, ty: T, y: &Name, x: &Name) -> Name {
        let (zero, one) = (self.float(0.0, ty), self.float(1.0, ty));
        let (pi, half) = (self.float(std::f64::consts::PI, ty), self.float(std::f64::consts::FRAC_PI_2, ty));
        let (ax, ay) = (self.op1("Abs", x), self.op1("Abs", y));
        // The angle in the first octant or the second; of the origin 0; of two infinities that of (1, 1).
        let steep = self.op2("Greater", &ay, &ax);
        let (least, most) = (self.op2("Min", &ax, &ay), self.op2("Max", &ax, &ay));
        let origin = self.op2("Equal", &most, &zero);
        let divisor = self.either(&origin, &one, &most);
        let quotient = self.op2("Div", &least, &divisor);
        let same = self.op2("Equal", &ax, &ay);
        let ratio = self.either(&same, &one, &quotient);
        let ratio = self.either(&origin, &zero, &ratio);
        let angle = self.function("Atan", Writer::atan, ty, &ratio);
        let rest = self.op2("Sub", &half, &angle);
        let angle = self.either(&steep, &rest, &angle);
        let left = self.is_negative(x, ty);
        let rest = self.op2("Sub", &pi, &angle);
        let angle = self.either(&left, &rest, &angle);
        let angle = self.with_sign(&angle, y, ty);
        self.keep_nan(&[x, y], &angle, ty)
    }

    /// A numeric conversion.
    pub(in crate::export::onnx) fn converted(&mut self, x: &Name, from: T, to: T) -> Name {
        match (from.is_float(), to.is_float()) {
            _ if from == to => x.clone(),
            (false, true) => {
                let x = if from == T::U64 { self.cast(x, DataType::Uint64) } else { x.clone() };
                if to != T::F16 {
                    return self.cast(&x, stored(to));
                }
                // Doubles have every integer that a half does not round to infinity.
                let wide = self.cast(&x, DataType::Double);
                self.rounded_half(&wide)
            }
            (true, true) => {
                if to == T::F16 {
                    self.rounded_half(x)
                } else {
                    self.convert(x, stored(from), stored(to))
                }
            }
            (true, false) => self.truncated(x, from, to),
            (false, false) => {
                let y = if from == T::Bool { self.cast(x, DataType::Int64) } else { x.clone() };
                if to == T::Bool {
                    return self.cast(&y, DataType::Bool);
                }
                self.wrapped(&y, to)
            }
        }
    }

    /// A float rounded once to a half.
    fn rounded_half(&mut self, x: &Name) -> Name {
        let half = self.cast(x, DataType::Float16);
        self.cast(&half, DataType::Float)
    }

    /// A float without its fraction, brought into the range of an integer type; of NaN 0.
    fn truncated(&mut self, x: &Name, from: T, to: T) -> Name {
        let wide = self.convert(x, stored(from), DataType::Double);
        let nan = self.op1("IsNaN", &wide);
        let nought = self.double(0.0);
        let wide = self.either(&nan, &nought, &wide);
        let clamp = |w: &mut Writer, x: &Name, low: f64, high: f64| {
            let (low, high) = (w.double(low), w.double(high));
            let x = w.op2("Max", x, &low);
            w.op2("Min", &x, &high)
        };
        if let Some((bits, signed)) = range(to) {
            let (low, high) = if signed {
                (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0)
            } else {
                (0.0, 2f64.powi(bits as i32) - 1.0)
            };
            let x = clamp(self, &wide, low, high);
            return self.cast(&x, DataType::Int64);
        }
        // The largest doubles below 2^63 and 2^64; what is above has the greatest integer.
        let top = 2f64.powi(63);
        let above = |w: &mut Writer, x: &Name, bound: f64| {
            let bound = w.double(bound);
            w.op2("GreaterOrEqual", x, &bound)
        };
        if to == T::Bool {
            let zero = self.double(0.0);
            let none = self.op2("Equal", &wide, &zero);
            return self.op1("Not", &none);
        }
        if to == T::I64 {
            let x = clamp(self, &wide, -top, top.next_down());
            let (y, most) = (self.cast(&x, DataType::Int64), self.int(i64::MAX));
            let over = above(self, &wide, top);
            return self.either(&over, &most, &y);
        }
        let low = clamp(self, &wide, 0.0, top.next_down());
        let low = self.cast(&low, DataType::Int64);
        let shift = self.double(top);
        let high = self.op2("Sub", &wide, &shift);
        let high = clamp(self, &high, 0.0, top.next_down());
        let (high, least) = (self.cast(&high, DataType::Int64), self.int(i64::MIN));
        let high = self.op2("Add", &high, &least);
        let upper = above(self, &wide, top);
        let y = self.either(&upper, &high, &low);
        let (over, most) = (above(self, &wide, 2.0 * top), self.int(-1));
        self.either(&over, &most, &y)
    }

    /// The same bits as another type: of integers a wrapped value.
    pub(in crate::export::onnx) fn same_bits(&mut self, x: &Name, from: T, to: T) -> Name {
        if from.is_float() != to.is_float() {
            let x = self.convert(x, stored(from), natural(from));
            let bits = self.bit_cast(&x, natural(to));
            return self.convert(&bits, natural(to), stored(to));
        }
        if to == T::U64 { x.clone() } else { self.wrapped(x, to) }
    }
}
