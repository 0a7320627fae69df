//! Divisions of 64-bit integers of any size by a uniform divisor.
//!
//! For a divisor `d`, let `m` be the greatest integer with `m d < 2^64`. The upper half of `x m` is then the quotient
//! of `x` by `d` or one less, since `2^64 / d - m <= 1`; the remainder tells which (Granlund and Montgomery, "Division
//! by invariant integers using multiplication", have a 65-bit multiplier that is never off). `m` itself is computed in
//! floating point: LLVM hoists that out of loops, but never speculates an integer division.

use crate::llvm::emit::arith::prim::is_signed;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, double_bits, put};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

/// Divisors from here on have at most three multiples, and distances to multiples that overflow signed integers.
const MIN_LARGE_DIVISOR: u64 = 1 << 62;

/// The value of a constant operand.
fn literal(o: &Operand) -> Option<i64> {
    match o {
        Operand::Text(text) => text.parse().ok(),
        Operand::Register(_) => None,
    }
}

impl VectorCode {
    /// Quotients or remainders of a vector. The result is unspecified for a divisor of zero.
    pub(crate) fn divide_by_reciprocal(
        &mut self,
        p: PrimOp,
        ty: ScalarType,
        x: &Operand,
        divisor: &Operand,
    ) -> Operand {
        let (shape, signed) = (self.shape(), is_signed(ty));
        let (t, flags, suffix) = (shape.of("i64"), shape.of("i1"), shape.suffix("i64"));
        let wants_quotient = matches!(p, PrimOp::QuotP | PrimOp::DivFloorP);
        let floor = signed && matches!(p, PrimOp::DivFloorP | PrimOp::ModFloorP);
        let (mut size, mut magnitude) = (divisor.clone(), x.clone());
        if signed {
            size = match literal(divisor) {
                Some(d) => Operand::int(d.wrapping_abs()),
                None => put!(self.f, "call i64 @llvm.abs.i64(i64 {divisor}, i1 false)"),
            };
            magnitude = put!(self.f, "call {t} @llvm.abs.{suffix}({t} {x}, i1 false)");
        }
        let reciprocal = self.f.reciprocal(&size);
        let low = self.upper_half(&magnitude, &reciprocal);
        let size = self.splat(&size, "i64");
        let product = put!(self.f, "mul {t} {low}, {size}");
        let rest = put!(self.f, "sub {t} {magnitude}, {product}");
        let is_less = put!(self.f, "icmp uge {t} {rest}, {size}");
        let quotient = |e: &mut Self| {
            let one = put!(e.f, "zext {flags} {is_less} to {t}");
            put!(e.f, "add {t} {low}, {one}")
        };
        let remainder = |e: &mut Self| {
            // Wraps around to a larger number unless `rest >= size`.
            let below = put!(e.f, "sub {t} {rest}, {size}");
            put!(e.f, "call {t} @llvm.umin.{suffix}({t} {rest}, {t} {below})")
        };
        if !signed {
            return if wants_quotient { quotient(self) } else { remainder(self) };
        }
        let last = self.f.constant(shape, "i64", "63");
        let wide = self.splat(divisor, "i64");
        let signs = put!(self.f, "xor {t} {x}, {wide}");
        let opposite = put!(self.f, "ashr {t} {signs}, {last}");
        let is_below = |e: &mut Self| {
            let rest = remainder(e);
            let inexact = put!(e.f, "icmp ne {t} {rest}, zeroinitializer");
            let inexact = put!(e.f, "sext {flags} {inexact} to {t}");
            put!(e.f, "and {t} {inexact}, {opposite}")
        };
        if wants_quotient {
            let q = quotient(self);
            let complement = put!(self.f, "xor {t} {q}, {opposite}");
            let q = put!(self.f, "sub {t} {complement}, {opposite}");
            if !floor {
                return q;
            }
            let below = is_below(self);
            return put!(self.f, "add {t} {q}, {below}");
        }
        let rest = remainder(self);
        let sign = put!(self.f, "ashr {t} {x}, {last}");
        let complement = put!(self.f, "xor {t} {rest}, {sign}");
        let r = put!(self.f, "sub {t} {complement}, {sign}");
        if !floor {
            return r;
        }
        let below = is_below(self);
        let more = put!(self.f, "and {t} {below}, {wide}");
        put!(self.f, "add {t} {r}, {more}")
    }

    /// The upper 64 bits of the products of a vector with a scalar, from 32-bit multiplications.
    fn upper_half(&mut self, x: &Operand, y: &Operand) -> Operand {
        let shape = self.shape();
        let t = shape.of("i64");
        let half = self.f.constant(shape, "i64", "32");
        let low = self.f.constant(shape, "i64", &u32::MAX.to_string());
        let y = self.splat(y, "i64");
        let [x_low, y_low] = [x, &y].map(|v| self.f.w.put(format_args!("and {t} {v}, {low}")));
        let [x_high, y_high] = [x, &y].map(|v| self.f.w.put(format_args!("lshr {t} {v}, {half}")));
        let lows = put!(self.f, "mul {t} {x_low}, {y_low}");
        let lows = put!(self.f, "lshr {t} {lows}, {half}");
        let first = put!(self.f, "mul {t} {x_high}, {y_low}");
        let first = put!(self.f, "add {t} {first}, {lows}");
        let first_low = put!(self.f, "and {t} {first}, {low}");
        let second = put!(self.f, "mul {t} {x_low}, {y_high}");
        let second = put!(self.f, "add {t} {second}, {first_low}");
        let highs = put!(self.f, "mul {t} {x_high}, {y_high}");
        let [first, second] = [&first, &second].map(|v| self.f.w.put(format_args!("lshr {t} {v}, {half}")));
        let highs = put!(self.f, "add {t} {highs}, {first}");
        put!(self.f, "add {t} {highs}, {second}")
    }
}

impl Function {
    /// `(2^64 - 1) / d`, rounded down, of an unsigned scalar; for 0 that of 1.
    fn reciprocal(&mut self, d: &Operand) -> Operand {
        if let Some(d) = literal(d) {
            return Operand::int((u64::MAX / (d as u64).max(1)) as i64);
        }
        let d = put!(self, "call i64 @llvm.umax.i64(i64 {d}, i64 1)");
        let float = put!(self, "uitofp i64 {d} to double");
        // Off by at most 2^12 / d + 1; 2^64 / 1 would overflow.
        let near = put!(self, "fdiv double {}, {float}", double_bits(2f64.powi(64)));
        let most = double_bits(2f64.powi(64).next_down());
        let fits = put!(self, "fcmp olt double {near}, {most}");
        let near = put!(self, "select i1 {fits}, double {near}, double {most}");
        let near = put!(self, "fptoui double {near} to i64");
        // Correct by the distance of its multiple from 2^64 - 1, which is below 2^63, in divisors, to the nearest.
        let product = put!(self, "mul i64 {near}, {d}");
        let rest = put!(self, "sub i64 -1, {product}");
        let more = put!(self, "sitofp i64 {rest} to double");
        let more = put!(self, "fdiv double {more}, {float}");
        let more = put!(self, "call double @llvm.roundeven.f64(double {more})");
        let more = put!(self, "call i64 @llvm.fptosi.sat.i64.f64(double {more})");
        let near = put!(self, "add i64 {near}, {more}");
        let product = put!(self, "mul i64 {near}, {d}");
        let rest = put!(self, "sub i64 -1, {product}");
        // Now at most half a divisor off, in either direction.
        let below = put!(self, "ashr i64 {rest}, 63");
        let near = put!(self, "add i64 {near}, {below}");
        let is_third = put!(self, "icmp ule i64 {d}, {}", (u64::MAX / 3) as i64);
        let is_half = put!(self, "icmp ule i64 {d}, {}", (u64::MAX / 2) as i64);
        let few = put!(self, "select i1 {is_half}, i64 2, i64 1");
        let few = put!(self, "select i1 {is_third}, i64 3, i64 {few}");
        let is_small = put!(self, "icmp ult i64 {d}, {MIN_LARGE_DIVISOR}");
        put!(self, "select i1 {is_small}, i64 {near}, i64 {few}")
    }
}
