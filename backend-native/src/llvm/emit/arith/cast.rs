//! Numeric conversions.

use crate::llvm::emit::Emitter;
use crate::llvm::emit::arith::prim::is_signed;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Parts, Shape, Value};
use crate::llvm::emit::text::{Operand, double_bits, element, put};
use acc_core::data::ScalarType;
use acc_core::ir::Val;

impl Function {
    /// Bits of an f16 to f32.
    pub(crate) fn widen(&mut self, shape: Shape, x: &Operand) -> Operand {
        let (bits, half, float) = (shape.of("i16"), shape.of("half"), shape.of("float"));
        let h = put!(self, "bitcast {bits} {x} to {half}");
        put!(self, "fpext {half} {h} to {float}")
    }

    /// f32 to the bits of an f16, rounded to nearest.
    pub(crate) fn narrow(&mut self, shape: Shape, x: &Operand) -> Operand {
        let (bits, half, float) = (shape.of("i16"), shape.of("half"), shape.of("float"));
        let h = put!(self, "fptrunc {float} {x} to {half}");
        put!(self, "bitcast {half} {h} to {bits}")
    }

    fn convert(&mut self, from: ScalarType, to: ScalarType, shape: Shape, x: &Operand) -> Operand {
        use ScalarType as S;
        let (f, t) = (shape.of(element(from)), shape.of(element(to)));
        match (from, to) {
            _ if from == to => x.clone(),
            (S::F16, _) => {
                let wide = self.widen(shape, x);
                self.convert(S::F32, to, shape, &wide)
            }
            (S::F64, S::F16) => {
                let odd = self.round_to_odd(shape, x);
                self.narrow(shape, &odd)
            }
            (_, S::F16) => {
                // Integers that f32 does not hold exactly are beyond the range of f16 anyway.
                let wide = self.convert(from, S::F32, shape, x);
                self.narrow(shape, &wide)
            }
            (S::F32, S::F64) => put!(self, "fpext {f} {x} to {t}"),
            (S::F64, S::F32) => put!(self, "fptrunc {f} {x} to {t}"),
            (S::F32 | S::F64, S::I8 | S::U8 | S::I16 | S::U16) | (S::F64, S::I32 | S::U32) => {
                self.clamped_to(from, to, shape, x)
            }
            (S::F32, S::I64 | S::U64) if self.converts_i64_by_halves(shape) => {
                let wide = self.convert(S::F32, S::F64, shape, x);
                self.saturated(S::F64, to, shape, &wide)
            }
            (S::F32 | S::F64, _) => self.saturated(from, to, shape, x),
            (S::I64 | S::U64, S::F64) if self.converts_i64_by_halves(shape) => self.i64_to_double(from, shape, x),
            (S::I64 | S::U64, S::F32) if self.converts_i64_by_halves(shape) => self.i64_to_single(from, shape, x),
            (_, S::F32 | S::F64) => {
                let kind = if is_signed(from) { "si" } else { "ui" };
                put!(self, "{kind}tofp {f} {x} to {t}")
            }
            (S::U32, S::Char) => self.code_point(shape, x),
            // Between integers; `bool` counts as 0 or 1.
            _ => {
                let bits = |ty: ScalarType| if ty == S::Bool { 1 } else { ty.size() * 8 };
                match bits(from).cmp(&bits(to)) {
                    std::cmp::Ordering::Greater => put!(self, "trunc {f} {x} to {t}"),
                    std::cmp::Ordering::Equal => x.clone(),
                    std::cmp::Ordering::Less if is_signed(from) => put!(self, "sext {f} {x} to {t}"),
                    std::cmp::Ordering::Less => put!(self, "zext {f} {x} to {t}"),
                }
            }
        }
    }

    /// Float to integer, towards zero, saturating, and 0 for NaN.
    fn saturated(&mut self, from: ScalarType, to: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (f, t, flags) = (shape.of(element(from)), shape.of(element(to)), shape.of("i1"));
        let (signed, bits) = (is_signed(to), to.size() * 8);
        let kind = if signed { "si" } else { "ui" };
        if shape == Shape::Scalar {
            let (a, b) = (shape.suffix(element(to)), shape.suffix(element(from)));
            return put!(self, "call {t} @llvm.fpto{kind}.sat.{a}.{b}({f} {x})");
        }
        // LLVM expands the saturating intrinsic lane by lane.
        let end = 2f64.powi(bits as i32 - i32::from(signed));
        let start = if signed { -end } else { 0.0 };
        let [low, high, zero] = [start, end, 0.0].map(|c| self.constant(shape, element(from), &double_bits(c)));
        let most = if signed { i64::MAX >> (64 - bits) } else { -1 };
        let most = self.constant(shape, element(to), &most.to_string());
        // False for NaN.
        let fits = put!(self, "fcmp olt {f} {x}, {high}");
        let within = put!(self, "select {flags} {fits}, {f} {x}, {f} {zero}");
        let is_above = put!(self, "fcmp ogt {f} {within}, {low}");
        let within = put!(self, "select {flags} {is_above}, {f} {within}, {f} {low}");
        let result = if to.size() == 8 && self.converts_i64_by_halves(shape) {
            self.double_to_i64(shape, &within)
        } else {
            put!(self, "fpto{kind} {f} {within} to {t}")
        };
        let above = put!(self, "fcmp oge {f} {x}, {high}");
        put!(self, "select {flags} {above}, {t} {most}, {t} {result}")
    }

    /// The same where the float type holds the integer type's bounds: clamps first, then converts to 32 bits, which
    /// processors do on vectors.
    fn clamped_to(&mut self, from: ScalarType, to: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (f, t, w) = (shape.of(element(from)), shape.of(element(to)), shape.of("i32"));
        let (flags, bits) = (shape.of("i1"), to.size() as i32 * 8);
        let [least, most] = match is_signed(to) {
            true => [-2f64.powi(bits - 1), 2f64.powi(bits - 1) - 1.0],
            false => [0.0, 2f64.powi(bits) - 1.0],
        };
        let [least, most] = [least, most].map(|c| self.constant(shape, element(from), &double_bits(c)));
        let mut within = x.clone();
        if is_signed(to) {
            let zero = self.constant(shape, element(from), "0.0");
            let nan = put!(self, "fcmp uno {f} {x}, {zero}");
            within = put!(self, "select {flags} {nan}, {f} {zero}, {f} {x}");
        }
        // Each select is one min/max instruction, which yields 0 for NaN and 0.
        let above = put!(self, "fcmp ogt {f} {within}, {least}");
        let within = put!(self, "select {flags} {above}, {f} {within}, {f} {least}");
        let below = put!(self, "fcmp olt {f} {within}, {most}");
        let within = put!(self, "select {flags} {below}, {f} {within}, {f} {most}");
        let kind = if to == ScalarType::U32 { "ui" } else { "si" };
        let wide = put!(self, "fpto{kind} {f} {within} to {w}");
        if to.size() == 4 { wide } else { put!(self, "trunc {w} {wide} to {t}") }
    }

    /// `u32` to `char`: U+FFFD for what is no code point.
    fn code_point(&mut self, shape: Shape, x: &Operand) -> Operand {
        let (t, flags) = (shape.of("i32"), shape.of("i1"));
        let [surrogates, count, last, replacement] =
            [0xd800, 0x800, 0x10_ffff, 0xfffd].map(|c: i32| self.constant(shape, "i32", &c.to_string()));
        let from_first = put!(self, "sub {t} {x}, {surrogates}");
        let surrogate = put!(self, "icmp ult {t} {from_first}, {count}");
        let beyond = put!(self, "icmp ugt {t} {x}, {last}");
        let bad = put!(self, "or {flags} {surrogate}, {beyond}");
        put!(self, "select {flags} {bad}, {t} {replacement}, {t} {x}")
    }

    /// Double to float, rounded to odd: a second rounding to fewer digits is then exact (Boldo and Melquiond, "When
    /// double rounding is odd").
    fn round_to_odd(&mut self, shape: Shape, x: &Operand) -> Operand {
        let (double, float, bits, flags) = (shape.of("double"), shape.of("float"), shape.of("i32"), shape.of("i1"));
        let suffix = shape.suffix("double");
        let near = put!(self, "fptrunc {double} {x} to {float}");
        let back = put!(self, "fpext {float} {near} to {double}");
        let [size, given] =
            [&back, x].map(|v| self.w.put(format_args!("call {double} @llvm.fabs.{suffix}({double} {v})")));
        let one = self.constant(shape, "i32", "1");
        let raw = put!(self, "bitcast {float} {near} to {bits}");
        // Round towards zero first: if the magnitude grew, step back by one.
        let over = put!(self, "fcmp ogt {double} {size}, {given}");
        let over = put!(self, "zext {flags} {over} to {bits}");
        let below = put!(self, "sub {bits} {raw}, {over}");
        let odd = put!(self, "or {bits} {below}, {one}");
        let inexact = put!(self, "fcmp one {double} {back}, {x}");
        let chosen = put!(self, "select {flags} {inexact}, {bits} {odd}, {bits} {raw}");
        put!(self, "bitcast {bits} {chosen} to {float}")
    }
}

impl Emitter<'_> {
    pub(crate) fn cast(&mut self, v: Val, result: Val) -> Value {
        let (from, to) = (self.ty(v), self.ty(result));
        if let Value::Affine(first, step) = self.scope.value(v)
            && matches!(to, ScalarType::F32 | ScalarType::F64)
            && step.unsigned_abs() <= 1 << 16
            && !self.code.f.target.converts_i64()
        {
            return self.affine_as_floats(v, &first, step, to);
        }
        self.map_parts(&[v], &mut |e, shape, a| e.code.f.convert(from, to, shape, &a[0]))
    }

    pub(crate) fn bitcast(&mut self, v: Val, result: Val) -> Value {
        let (from, to) = (element(self.ty(v)), element(self.ty(result)));
        if from == to {
            return self.scope.value(v);
        }
        self.map_parts(&[v], &mut |e, shape, a| {
            let (f, t, x) = (shape.of(from), shape.of(to), &a[0]);
            put!(e.code.f, "bitcast {f} {x} to {t}")
        })
    }

    /// Affine integers to floats: the first lane as a double, plus constant offsets, exact below 2^52. LLVM would
    /// convert vectors of 64-bit integers lane by lane.
    fn affine_as_floats(&mut self, v: Val, first: &Operand, step: i64, to: ScalarType) -> Value {
        let (lanes, ty, double) = (self.code.width.lanes, self.code.vector(to), self.code.shape().of("double"));
        let above = put!(self.code.f, "add i64 {first}, {}", 1i64 << 52);
        let exact = put!(self.code.f, "icmp ult i64 {above}, {}", 1i64 << 53);
        let (near, far, join) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.label());
        self.code.f.w.branch(&exact, near, far);
        self.code.f.w.start(near);
        let first = put!(self.code.f, "sitofp i64 {first} to double");
        let first = self.code.splat(&first, "double");
        let fast: Parts = (0..self.code.width.parts)
            .map(|part| {
                let more = |lane: usize| ((part * lanes + lane) as i64 * step) as f64;
                let more: Vec<_> = (0..lanes).map(|k| format!("double {}", double_bits(more(k)))).collect();
                let sum = put!(self.code.f, "fadd {double} {first}, <{}>", more.join(", "));
                self.code.f.convert(ScalarType::F64, to, self.code.shape(), &sum)
            })
            .collect();
        let after_near = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(far);
        let slow: Vec<_> =
            self.vectors(v).iter().map(|x| self.code.f.convert(ScalarType::I64, to, self.code.shape(), x)).collect();
        let after_far = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(join);
        let either = fast.iter().zip(&slow);
        Value::Varying(
            either.map(|(a, b)| put!(self.code.f, "phi {ty} [ {a}, {after_near} ], [ {b}, {after_far} ]")).collect(),
        )
    }
}
