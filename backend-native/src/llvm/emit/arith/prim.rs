//! Primitive operations.

use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, number, put};
use crate::llvm::emit::{Emitter, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// Whether an operation is written out here. Others are expanded in the kernel IR, or left to tiles.
pub(crate) fn is_written(p: PrimOp) -> bool {
    use PrimOp as P;
    match p {
        P::AddP | P::SubP | P::MulP | P::DivP | P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP => true,
        P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP | P::ShlP | P::ShrP => true,
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP => true,
        P::NegP | P::AbsP | P::SignumP | P::NotP | P::PopCountP | P::LeadingZerosP | P::TrailingZerosP => true,
        P::SqrtP | P::FloorP | P::CeilP | P::RoundP | P::TruncP | P::IsNanP | P::IsInfiniteP => true,
        P::FmodP | P::PowP | P::Atan2P | P::ExpP | P::LnP | P::Log2P | P::Log10P => false,
        P::SinP | P::CosP | P::TanP | P::AsinP | P::AcosP | P::AtanP => false,
        P::SinhP | P::CoshP | P::TanhP | P::AsinhP | P::AcoshP | P::AtanhP => false,
    }
}

pub(crate) fn is_signed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64)
}

/// The LLVM instruction of a comparison.
fn comparison(p: PrimOp, ty: ScalarType) -> Option<&'static str> {
    use PrimOp as P;
    let float = ty.is_float();
    let signed = is_signed(ty);
    Some(match p {
        P::EqP if float => "fcmp oeq",
        P::NeP if float => "fcmp une",
        P::LtP if float => "fcmp olt",
        P::LeP if float => "fcmp ole",
        P::GtP if float => "fcmp ogt",
        P::GeP if float => "fcmp oge",
        P::EqP => "icmp eq",
        P::NeP => "icmp ne",
        P::LtP if signed => "icmp slt",
        P::LeP if signed => "icmp sle",
        P::GtP if signed => "icmp sgt",
        P::GeP if signed => "icmp sge",
        P::LtP => "icmp ult",
        P::LeP => "icmp ule",
        P::GtP => "icmp ugt",
        P::GeP => "icmp uge",
        _ => return None,
    })
}

impl Emitter<'_> {
    /// The value of a primitive operation.
    pub(crate) fn prim(&mut self, p: PrimOp, args: &[Val], result: Val) -> Value {
        let ty = self.ty(args[0]);
        if p.is_partial() {
            return self.divide(p, ty, args);
        }
        let level = self.facts.uniformities[result.index()];
        if level == Uniformity::Varying {
            if let Some(root) = self.quotient_by_root(p, args) {
                return root;
            }
            if let Some(quotient) = self.quotient_by_one(p, args) {
                return quotient;
            }
            if let Some(flags) = self.compared_lanes(p, args) {
                return Value::Varying(flags);
            }
            return self.map_parts(args, &mut |e, shape, a| e.code.operation(p, ty, shape, a));
        }
        // Affine operands are computed for the first lane; the result's step is known.
        let firsts: Vec<Operand> = args.iter().map(|&v| self.first_lane(v)).collect();
        let first = self.code.operation(p, ty, Shape::Scalar, &firsts);
        if let Uniformity::Affine(step) = level { Value::Affine(first, step) } else { Value::Uniform(first) }
    }

    /// A value in the first lane. One of which lanes are far apart is in vectors, even where differences of such values are not.
    fn first_lane(&mut self, v: Val) -> Operand {
        match self.scope.value(v) {
            Value::Varying(parts) => {
                let t = self.code.vector(self.ty(v));
                put!(self.code.f, "extractelement {t} {}, i64 0", parts[0])
            }
            Value::Uniform(_) | Value::Affine(..) => self.scope.scalar(v),
        }
    }
}

impl VectorCode {
    /// An operation on operands of one shape.
    pub(crate) fn operation(&mut self, p: PrimOp, ty: ScalarType, shape: Shape, a: &[Operand]) -> Operand {
        if ty == ScalarType::F16 {
            let wide: Vec<Operand> = a.iter().map(|x| self.f.widen(shape, x)).collect();
            let result = self.operation(p, ScalarType::F32, shape, &wide);
            return if p.result_type(ty) == ScalarType::F16 { self.f.narrow(shape, &result) } else { result };
        }
        if let Some(compare) = comparison(p, ty) {
            let (t, x, y) = (shape.of(element(ty)), &a[0], &a[1]);
            return put!(self.f, "{compare} {t} {x}, {y}");
        }
        match ty {
            ScalarType::F32 | ScalarType::F64 => self.float(p, ty, shape, a),
            ScalarType::Bool => self.f.boolean(p, shape, a),
            // A `char` has comparisons, minimum and maximum alone.
            _ => self.int(p, ty, shape, a),
        }
    }

    fn int(&mut self, p: PrimOp, ty: ScalarType, shape: Shape, a: &[Operand]) -> Operand {
        use PrimOp as P;
        let (el, x) = (element(ty), &a[0]);
        let (t, flags, bits) = (shape.of(el), shape.of("i1"), ty.size() * 8);
        let y = a.get(1).unwrap_or(x);
        let of = |e: &Self, text: &str| e.f.constant(shape, el, text);
        let name = match p {
            P::AddP => "add",
            P::SubP => "sub",
            P::MulP => "mul",
            P::AndP => "and",
            P::OrP => "or",
            P::XorP => "xor",
            P::MinP | P::MaxP => {
                let less = if p == P::MinP { P::LtP } else { P::GtP };
                let first = self.operation(less, ty, shape, &[x.clone(), y.clone()]);
                return put!(self.f, "select {flags} {first}, {t} {x}, {t} {y}");
            }
            P::ShlP | P::ShrP => {
                // Amounts beyond the width, negative ones included, shift all bits out.
                let (width, most, zero) =
                    (of(self, &bits.to_string()), of(self, &(bits - 1).to_string()), of(self, "0"));
                let within = put!(self.f, "icmp ult {t} {y}, {width}");
                if p == P::ShrP && is_signed(ty) {
                    let by = put!(self.f, "select {flags} {within}, {t} {y}, {t} {most}");
                    return put!(self.f, "ashr {t} {x}, {by}");
                }
                let by = put!(self.f, "select {flags} {within}, {t} {y}, {t} {zero}");
                let shift = if p == P::ShlP { "shl" } else { "lshr" };
                let shifted = put!(self.f, "{shift} {t} {x}, {by}");
                return put!(self.f, "select {flags} {within}, {t} {shifted}, {t} {zero}");
            }
            P::NegP => {
                let zero = of(self, "0");
                return put!(self.f, "sub {t} {zero}, {x}");
            }
            P::AbsP if !is_signed(ty) => return x.clone(),
            P::AbsP => {
                let suffix = shape.suffix(el);
                return put!(self.f, "call {t} @llvm.abs.{suffix}({t} {x}, i1 false)");
            }
            P::SignumP => {
                let zero = of(self, "0");
                let some = put!(self.f, "icmp ne {t} {x}, {zero}");
                let some = put!(self.f, "zext {flags} {some} to {t}");
                if !is_signed(ty) {
                    return some;
                }
                let most = of(self, &(bits - 1).to_string());
                let sign = put!(self.f, "ashr {t} {x}, {most}");
                return put!(self.f, "or {t} {sign}, {some}");
            }
            P::NotP => {
                let ones = of(self, "-1");
                return put!(self.f, "xor {t} {x}, {ones}");
            }
            P::PopCountP | P::LeadingZerosP | P::TrailingZerosP => {
                let suffix = shape.suffix(el);
                let count = match p {
                    P::PopCountP => put!(self.f, "call {t} @llvm.ctpop.{suffix}({t} {x})"),
                    P::LeadingZerosP => put!(self.f, "call {t} @llvm.ctlz.{suffix}({t} {x}, i1 false)"),
                    // Trailing zeros.
                    _ => put!(self.f, "call {t} @llvm.cttz.{suffix}({t} {x}, i1 false)"),
                };
                let to = shape.of("i32");
                return match bits.cmp(&32) {
                    std::cmp::Ordering::Less => put!(self.f, "zext {t} {count} to {to}"),
                    std::cmp::Ordering::Equal => count,
                    std::cmp::Ordering::Greater => put!(self.f, "trunc {t} {count} to {to}"),
                };
            }
            _ => {
                debug_assert!(false, "{} of integers", p.name());
                return x.clone();
            }
        };
        put!(self.f, "{name} {t} {x}, {y}")
    }

    fn float(&mut self, p: PrimOp, ty: ScalarType, shape: Shape, a: &[Operand]) -> Operand {
        use PrimOp as P;
        let (el, x) = (element(ty), &a[0]);
        let (t, flags, suffix) = (shape.of(el), shape.of("i1"), shape.suffix(el));
        let y = a.get(1).unwrap_or(x);
        let once = self.contract_flag();
        match p {
            P::AddP => put!(self.f, "fadd {once}{t} {x}, {y}"),
            P::SubP => put!(self.f, "fsub {once}{t} {x}, {y}"),
            P::MulP => put!(self.f, "fmul {once}{t} {x}, {y}"),
            P::DivP => put!(self.f, "fdiv {t} {x}, {y}"),
            P::NegP => put!(self.f, "fneg {t} {x}"),
            P::MinP | P::MaxP => {
                // The second operand if it is less (or greater) or NaN, else the first.
                let less = if p == P::MinP { "olt" } else { "ogt" };
                let choose = |e: &mut Self, x: &Operand, y: &Operand| {
                    let less = put!(e.f, "fcmp {less} {t} {x}, {y}");
                    put!(e.f, "select {flags} {less}, {t} {x}, {t} {y}")
                };
                // This select is one min/max instruction, which yields its second operand if either is NaN.
                match [x, y].map(number) {
                    [_, Some(k)] if !k.is_nan() => choose(self, y, x),
                    // Equal numbers other than zeros are interchangeable.
                    [Some(k), _] if !k.is_nan() && k != 0.0 => choose(self, x, y),
                    _ => {
                        let nan = put!(self.f, "fcmp uno {t} {y}, {y}");
                        let lesser = choose(self, y, x);
                        // Frozen, so that it stays one instruction.
                        let lesser = put!(self.f, "freeze {t} {lesser}");
                        put!(self.f, "select {flags} {nan}, {t} {y}, {t} {lesser}")
                    }
                }
            }
            P::AbsP | P::SqrtP | P::FloorP | P::CeilP | P::RoundP | P::TruncP => {
                let name = match p {
                    P::AbsP => "fabs",
                    P::SqrtP => "sqrt",
                    P::FloorP => "floor",
                    P::CeilP => "ceil",
                    P::RoundP => "roundeven",
                    // Truncation.
                    _ => "trunc",
                };
                put!(self.f, "call {t} @llvm.{name}.{suffix}({t} {x})")
            }
            P::SignumP => {
                let [zero, one, minus] = ["0.0", "1.0", "-1.0"].map(|c| self.f.constant(shape, el, c));
                let above = put!(self.f, "fcmp ogt {t} {x}, {zero}");
                let below = put!(self.f, "fcmp olt {t} {x}, {zero}");
                let rest = put!(self.f, "select {flags} {below}, {t} {minus}, {t} {x}");
                put!(self.f, "select {flags} {above}, {t} {one}, {t} {rest}")
            }
            P::IsNanP => put!(self.f, "fcmp uno {t} {x}, {x}"),
            P::IsInfiniteP => {
                let infinity = self.f.constant(shape, el, "0x7FF0000000000000");
                let magnitude = put!(self.f, "call {t} @llvm.fabs.{suffix}({t} {x})");
                put!(self.f, "fcmp oeq {t} {magnitude}, {infinity}")
            }
            _ => {
                debug_assert!(false, "{} of floats", p.name());
                x.clone()
            }
        }
    }
}

impl Function {
    fn boolean(&mut self, p: PrimOp, shape: Shape, a: &[Operand]) -> Operand {
        use PrimOp as P;
        let (t, x) = (shape.of("i1"), &a[0]);
        let y = a.get(1).unwrap_or(x);
        match p {
            P::AndP | P::MinP => put!(self, "and {t} {x}, {y}"),
            P::OrP | P::MaxP => put!(self, "or {t} {x}, {y}"),
            P::XorP => put!(self, "xor {t} {x}, {y}"),
            // Not: truth values have no other operation.
            _ => {
                let yes = self.constant(shape, "i1", "true");
                put!(self, "xor {t} {x}, {yes}")
            }
        }
    }
}
