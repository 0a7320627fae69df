//! Element-wise operations, conversions, and arithmetic on sizes.

use super::Stop;
use super::body::{Emitter, Size};
use super::writer::{Form, Result, Tensor, Writer};
use acc_core::data::{Lit, Prim, ScalarType as T};
use acc_core::ir::PrimOp as P;
use acc_desugar::graph::{SizeOp, Value};

impl Writer {
    pub(super) fn prim(&mut self, p: P, xs: &[Tensor]) -> Result {
        let [x, ..] = xs else { return Err(Stop::Defect("an operation without operands")) };
        let y = xs.get(1).unwrap_or(x);
        let ty = x.ty;
        let of_bits = |bits: &'static str, other: &'static str| if ty == T::Bool { bits } else { other };
        match p {
            P::AddP => self.binary("add", x, y),
            P::SubP => self.binary("subtract", x, y),
            P::MulP => self.binary("multiply", x, y),
            P::DivP | P::QuotP => self.binary("divide", x, y),
            P::RemP | P::FmodP => self.binary("remainder", x, y),
            P::MinP => self.binary(of_bits("and", "minimum"), x, y),
            P::MaxP => self.binary(of_bits("or", "maximum"), x, y),
            P::PowP => self.binary("power", x, y),
            P::Atan2P => self.binary("atan2", x, y),
            P::AndP => self.binary("and", x, y),
            P::OrP => self.binary("or", x, y),
            P::XorP => self.binary("xor", x, y),
            P::ShlP => self.binary("shift_left", x, y),
            P::ShrP if ty.is_signed() => self.binary("shift_right_arithmetic", x, y),
            P::ShrP => self.binary("shift_right_logical", x, y),
            P::EqP => self.compare("EQ", x, y),
            P::NeP => self.compare("NE", x, y),
            P::LtP => self.compare("LT", x, y),
            P::LeP => self.compare("LE", x, y),
            P::GtP => self.compare("GT", x, y),
            P::GeP => self.compare("GE", x, y),
            P::DivFloorP | P::ModFloorP => self.rounded_down(p, x, y),
            P::NegP => self.unary("negate", x),
            P::AbsP if ty.is_signed() || ty.is_float() => self.unary("abs", x),
            P::AbsP => Ok(x.clone()),
            P::SignumP if ty.is_signed() || ty.is_float() => self.unary("sign", x),
            P::SignumP => {
                let one = self.small(1, ty)?;
                self.binary("minimum", x, &one)
            }
            P::NotP => self.not(x),
            P::PopCountP => self.bit_count("popcnt", x),
            P::LeadingZerosP => self.bit_count("count_leading_zeros", x),
            P::TrailingZerosP => {
                // The zeros below the lowest one bit are the ones of `!x & (x - 1)`.
                let one = self.small(1, ty)?;
                let (not, less) = (self.not(x)?, self.binary("subtract", x, &one)?);
                let below = self.binary("and", &not, &less)?;
                self.bit_count("popcnt", &below)
            }
            P::SqrtP => self.unary("sqrt", x),
            P::ExpP => self.unary("exponential", x),
            P::LnP => self.unary("log", x),
            P::Log2P => self.logarithm(x, std::f64::consts::LN_2),
            P::Log10P => self.logarithm(x, std::f64::consts::LN_10),
            P::SinP => self.unary("sine", x),
            P::CosP => self.unary("cosine", x),
            P::TanP => self.unary("tan", x),
            P::TanhP => self.unary("tanh", x),
            P::FloorP => self.unary("floor", x),
            P::CeilP => self.unary("ceil", x),
            P::RoundP => self.unary("round_nearest_even", x),
            // Of one operand, and of a constant one, it is wrong for vectors in the plugin that `scripts/xla.sh` brings.
            P::AtanP => {
                let (one, two) = (self.scalar(1f64.lit())?, self.scalar(2f64.lit())?);
                let (high, low) = (self.scalar(1e150f64.lit())?, self.scalar((-1e150f64).lit())?);
                let wide = self.convert(x, T::F64)?;
                let wide = self.binary("minimum", &wide, &high)?;
                let wide = self.binary("maximum", &wide, &low)?;
                let square = self.binary("multiply", &wide, &wide)?;
                let sum = self.binary("add", &square, &one)?;
                let root = self.unary("sqrt", &sum)?;
                let beside = self.binary("add", &root, &one)?;
                let half = self.binary("atan2", &wide, &beside)?;
                let y = self.binary("multiply", &half, &two)?;
                self.cast(&y, ty)
            }
            P::AsinP | P::AcosP | P::AsinhP | P::AcoshP | P::AtanhP => self.of_chlo(p.name(), x),
            P::SinhP | P::CoshP => self.hyperbolic(p, x),
            P::TruncP => {
                let zero = self.small(0, ty)?;
                let (negative, up) = (self.compare("LT", x, &zero)?, self.unary("ceil", x)?);
                let down = self.unary("floor", x)?;
                self.select(&negative, &up, &down)
            }
            P::IsNanP => self.compare("NE", x, x),
            P::IsInfiniteP => {
                let infinity = self.scalar(acc_desugar::graph::ReduceOp::Min.neutral(ty))?;
                let magnitude = self.unary("abs", x)?;
                self.compare("EQ", &magnitude, &infinity)
            }
        }
    }

    fn bit_count(&mut self, op: &str, x: &Tensor) -> Result {
        let y = self.unary(op, x)?;
        self.convert(&y, T::I32)
    }

    /// A function of the dialect of functions that StableHLO is extended by.
    fn of_chlo(&mut self, name: &str, x: &Tensor) -> Result {
        let form = x.form();
        self.define(&format!("chlo.{name} {} : {form} -> {form}", x.name), form.shape, form.ty)
    }

    /// Of numbers greater than 1 by squares of half the powers, which do not overflow before the result does. XLA's own functions
    /// are further off the larger the number is.
    fn hyperbolic(&mut self, p: P, x: &Tensor) -> Result {
        if x.ty == T::F16 {
            let wide = self.convert(x, T::F32)?;
            let y = self.hyperbolic(p, &wide)?;
            return self.cast(&y, T::F16);
        }
        let (one, two) = (self.small(1, x.ty)?, self.small(2, x.ty)?);
        let magnitude = self.unary("abs", x)?;
        let half = self.binary("divide", &magnitude, &two)?;
        let root = self.unary("exponential", &half)?;
        let inverse = self.binary("divide", &one, &root)?;
        let [rising, falling] = [self.half_square(&root)?, self.half_square(&inverse)?];
        let far = if p == P::SinhP {
            let sign = self.unary("sign", x)?;
            let difference = self.binary("subtract", &rising, &falling)?;
            self.binary("multiply", &difference, &sign)?
        } else {
            self.binary("add", &rising, &falling)?
        };
        let is_far = self.compare("GT", &magnitude, &one)?;
        let near = self.of_chlo(p.name(), x)?;
        self.select(&is_far, &far, &near)
    }

    /// Half the square of a number, which overflows no sooner than that.
    fn half_square(&mut self, x: &Tensor) -> Result {
        let two = self.small(2, x.ty)?;
        let half = self.binary("divide", x, &two)?;
        self.binary("multiply", &half, x)
    }

    /// By natural logarithms of `f64`: those of powers of the base are exact then.
    fn logarithm(&mut self, x: &Tensor, ln_base: f64) -> Result {
        let wide = self.convert(x, T::F64)?;
        let (ln, base) = (self.unary("log", &wide)?, self.scalar(ln_base.lit())?);
        let y = self.binary("divide", &ln, &base)?;
        self.cast(&y, x.ty)
    }

    /// A quotient rounded down, or what it leaves.
    fn rounded_down(&mut self, p: P, x: &Tensor, y: &Tensor) -> Result {
        let is_quotient = p == P::DivFloorP;
        if !x.ty.is_signed() {
            return self.binary(if is_quotient { "divide" } else { "remainder" }, x, y);
        }
        let (rest, zero) = (self.binary("remainder", x, y)?, self.small(0, x.ty)?);
        let some = self.compare("NE", &rest, &zero)?;
        let (rest_sign, sign) = (self.compare("LT", &rest, &zero)?, self.compare("LT", y, &zero)?);
        let differ = self.compare("NE", &rest_sign, &sign)?;
        let off = self.binary("and", &some, &differ)?;
        if is_quotient {
            let quotient = self.binary("divide", x, y)?;
            let off = self.convert(&off, x.ty)?;
            return self.binary("subtract", &quotient, &off);
        }
        let moved = self.binary("add", &rest, y)?;
        self.select(&off, &moved, &rest)
    }

    /// A conversion with the meaning of Rust's `as`.
    pub(super) fn cast(&mut self, x: &Tensor, to: T) -> Result {
        match (x.ty, to) {
            (T::U32, T::Char) => {
                let bound = |n: char| Lit { ty: T::U32, bits: u64::from(u32::from(n)) };
                let (last, before) = (self.scalar(bound(char::MAX))?, self.scalar(bound('\u{d7ff}'))?);
                let (after, other) =
                    (self.scalar(bound('\u{e000}'))?, self.scalar(bound(char::REPLACEMENT_CHARACTER))?);
                let beyond = self.compare("GT", x, &last)?;
                let (high, low) = (self.compare("GT", x, &before)?, self.compare("LT", x, &after)?);
                let surrogate = self.binary("and", &high, &low)?;
                let none = self.binary("or", &beyond, &surrogate)?;
                let y = self.select(&none, &other, x)?;
                Ok(Tensor { ty: T::Char, ..y })
            }
            // One type of the module.
            (T::Char, T::U32) => Ok(Tensor { ty: T::U32, ..x.clone() }),
            (T::F64, T::F16) => {
                let odd = self.rounded_to_odd(x)?;
                self.convert(&odd, T::F16)
            }
            _ => self.convert(x, to),
        }
    }

    /// `f64` in `f32`, what is between two numbers as that whose last bit is 1: rounded again it is as if rounded once. (XLA
    /// converts to `f16` by way of `f32`.)
    fn rounded_to_odd(&mut self, x: &Tensor) -> Result {
        let near = self.convert(x, T::F32)?;
        let back = self.convert(&near, T::F64)?;
        let inexact = self.compare("NE", &back, x)?;
        // NaN is none.
        let is_number = self.compare("EQ", x, x)?;
        let inexact = self.binary("and", &inexact, &is_number)?;
        let (far, own) = (self.unary("abs", &back)?, self.unary("abs", x)?);
        let away = self.compare("GT", &far, &own)?;
        let bits = self.bitcast(&near, T::U32)?;
        let one = self.small(1, T::U32)?;
        let below = self.binary("subtract", &bits, &one)?;
        let towards_zero = self.select(&away, &below, &bits)?;
        let odd = self.binary("or", &towards_zero, &one)?;
        let y = self.select(&inexact, &odd, &bits)?;
        self.bitcast(&y, T::F32)
    }

    pub(super) fn bitcast(&mut self, x: &Tensor, to: T) -> Result {
        if x.ty == to {
            return Ok(x.clone());
        }
        self.reformed("bitcast_convert", x, Form { shape: x.shape.clone(), ty: to })
    }
}

impl Emitter<'_> {
    /// A tensor of rank 0 as a size.
    pub(super) fn read_back(&mut self, x: Tensor) -> Result<Size> {
        if let Some(n) = x.number {
            return Ok(Size::Number(n));
        }
        let root = x.root;
        let y = self.w.convert(&x, T::I64)?;
        Ok(Size::Device(Tensor { root, ..y }))
    }

    pub(super) fn size_op(&mut self, op: SizeOp, x: &Size, y: &Size) -> Result<Size> {
        if let (Size::Number(x), Size::Number(y)) = (x, y) {
            return Ok(Size::Number(op.apply(*x, *y)));
        }
        let (x, y) = (self.scalar_of(x)?, self.scalar_of(y)?);
        let root = x.root.or(y.root);
        let (x, y) = (&x, &y);
        let z = match op {
            SizeOp::Add => self.w.binary("add", x, y)?,
            SizeOp::Sub => self.w.binary("subtract", x, y)?,
            SizeOp::Mul => self.w.binary("multiply", x, y)?,
            SizeOp::Min => self.w.binary("minimum", x, y)?,
            SizeOp::Max => self.w.binary("maximum", x, y)?,
            SizeOp::Eq => self.compared("EQ", x, y)?,
            SizeOp::Lt => self.compared("LT", x, y)?,
            SizeOp::Count => self.saturated_product(x, y)?,
            SizeOp::Quot => self.divided(P::QuotP, x, y)?,
            SizeOp::Rem => self.divided(P::RemP, x, y)?,
            SizeOp::Div => self.divided(P::DivFloorP, x, y)?,
            SizeOp::Mod => self.divided(P::ModFloorP, x, y)?,
        };
        Ok(Size::Device(Tensor { root, ..z }))
    }

    fn compared(&mut self, direction: &str, x: &Tensor, y: &Tensor) -> Result {
        let holds = self.w.compare(direction, x, y)?;
        self.w.convert(&holds, T::I64)
    }

    /// Doubles show whether a product is too large for 64 bits.
    fn saturated_product(&mut self, x: &Tensor, y: &Tensor) -> Result {
        let product = self.w.binary("multiply", x, y)?;
        let (wide_x, wide_y) = (self.w.convert(x, T::F64)?, self.w.convert(y, T::F64)?);
        let (wide, bound) = (self.w.binary("multiply", &wide_x, &wide_y)?, self.w.scalar(2f64.powi(63).lit())?);
        let (over, greatest) = (self.w.compare("GE", &wide, &bound)?, self.w.int(i64::MAX)?);
        self.w.select(&over, &greatest, &product)
    }

    /// A quotient or remainder of sizes; by 0 it is 0.
    fn divided(&mut self, p: P, x: &Tensor, y: &Tensor) -> Result {
        let (zero, one) = (self.w.int(0)?, self.w.int(1)?);
        let none = self.w.compare("EQ", y, &zero)?;
        let divisor = self.w.select(&none, &one, y)?;
        let z = self.w.prim(p, &[x.clone(), divisor])?;
        self.w.select(&none, &zero, &z)
    }

    pub(super) fn outside(&mut self, base: Value, steps: &[Value], lens: &[Value], extent: Value) -> Result<Size> {
        let sizes = |e: &mut Self, all: &[Value]| all.iter().map(|v| e.size(*v)).collect::<Result<Vec<Size>>>();
        let ends = sizes(self, &[base, extent])?;
        let (steps, lens) = (sizes(self, steps)?, sizes(self, lens)?);
        let numbers = |all: &[Size]| {
            let number = |s: &Size| match s {
                Size::Number(n) => Some(i128::from(*n)),
                Size::Device(_) => None,
            };
            all.iter().map(number).collect::<Option<Vec<i128>>>()
        };
        if let (Some(ends), Some(steps), Some(lens)) = (numbers(&ends), numbers(&steps), numbers(&lens)) {
            return Ok(Size::Number(i64::from(out_of_extent(&ends, &steps, &lens))));
        }
        // In doubles, which do not wrap, and are exact as far as memory reaches.
        let mut root = None;
        let mut wide = |e: &mut Self, s: &Size| {
            let x = e.scalar_of(s)?;
            root = root.or(x.root);
            e.w.convert(&x, T::F64)
        };
        let [base, extent] = &ends[..] else { return Err(Stop::Defect("a range has two ends")) };
        let (base, extent) = (wide(self, base)?, wide(self, extent)?);
        let (zero, one) = (self.w.scalar(0f64.lit())?, self.w.scalar(1f64.lit())?);
        let (mut low, mut high, mut empty) = (base.clone(), base, self.w.truth(false)?);
        for (step, len) in steps.iter().zip(&lens) {
            let (step, len) = (wide(self, step)?, wide(self, len)?);
            let none = self.w.compare("LE", &len, &zero)?;
            empty = self.w.binary("or", &empty, &none)?;
            let last = self.w.binary("subtract", &len, &one)?;
            let far = self.w.binary("multiply", &step, &last)?;
            let (down, up) = (self.w.binary("minimum", &far, &zero)?, self.w.binary("maximum", &far, &zero)?);
            low = self.w.binary("add", &low, &down)?;
            high = self.w.binary("add", &high, &up)?;
        }
        let (under, over) = (self.w.compare("LT", &low, &zero)?, self.w.compare("GE", &high, &extent)?);
        let out = self.w.binary("or", &under, &over)?;
        let some = self.w.not(&empty)?;
        let out = self.w.binary("and", &out, &some)?;
        let out = self.w.convert(&out, T::I64)?;
        Ok(Size::Device(Tensor { root, ..out }))
    }

    /// The nearest position; without any, one that differs.
    pub(super) fn clamped(&mut self, at: &Tensor, extent: &Size) -> Result {
        let (n, zero, one) = (self.scalar_of(extent)?, self.w.int(0)?, self.w.int(1)?);
        let last = self.w.binary("subtract", &n, &one)?;
        let y = self.w.binary("minimum", at, &last)?;
        let y = self.w.binary("maximum", &y, &zero)?;
        match extent {
            Size::Number(n) if *n > 0 => Ok(y),
            _ => {
                let (some, other) = (self.w.compare("GT", &n, &zero)?, self.w.not(at)?);
                self.w.select(&some, &y, &other)
            }
        }
    }

    /// Which positions are not in `0..extent`.
    pub(super) fn out_of_bounds(&mut self, at: &Tensor, extent: &Tensor) -> Result {
        let (wide, zero) = (self.w.convert(at, T::I64)?, self.w.int(0)?);
        let (under, over) = (self.w.compare("LT", &wide, &zero)?, self.w.compare("GE", &wide, extent)?);
        self.w.binary("or", &under, &over)
    }
}

/// What [`Op::Outside`](acc_desugar::graph::Op::Outside) is, of numbers: the base and the extent, steps and lengths.
fn out_of_extent(ends: &[i128], steps: &[i128], lens: &[i128]) -> bool {
    let [base, extent] = ends else { return false };
    if lens.iter().any(|n| *n <= 0) {
        return false;
    }
    let far = || steps.iter().zip(lens).map(|(step, len)| step.saturating_mul(len - 1));
    let low = far().fold(*base, |low, far| low.saturating_add(far.min(0)));
    let high = far().fold(*base, |high, far| high.saturating_add(far.max(0)));
    low < 0 || high >= *extent
}
