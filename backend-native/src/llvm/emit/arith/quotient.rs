//! Floats divided by one number for all lanes, without divisions.
//!
//! Let `z` be the reciprocal of `y`, rounded. Then `q + (x - q y) z`, of which a fused multiplication and addition rounds each step
//! once, is the quotient as a division rounds it, if `q` is one of its two neighbours (Markstein, "Computation of elementary
//! functions on the IBM RISC System/6000 processor", 1990), and if `x - q y` is exact, which it is unless `x` is very small. The
//! product `x z` is less than one unit in the last place off, and so such a neighbour, if the reciprocal of a constant is known
//! to be near enough; else the same step makes it one. Zeros, infinities and NaN are products with `z`. Where any other lane is out
//! of range, the vectors are divided after all.

use crate::kernel::{Op, Region};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::value::{Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, double_bits, element, number, put};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// What is divided without a division.
struct Range {
    /// The bits of a number's significand.
    precision: u32,
    /// Divisors are at least two to the power of minus this, and at most to that of this.
    divisors: i32,
    /// The powers of two between which dividends are: remainders and quotients are normal numbers.
    dividends: [i32; 2],
    greatest: f64,
}

impl Range {
    /// None where divisions of vectors of so many bytes take no longer: `f32` is divided twice as fast as `f64`, and vectors of 64
    /// bytes half as fast as others.
    fn of(ty: ScalarType, vector_bytes: usize) -> Option<Range> {
        match ty {
            ScalarType::F64 => Some(Range { precision: 53, divisors: 64, dividends: [-890, 950], greatest: f64::MAX }),
            ScalarType::F32 if vector_bytes >= 64 => {
                Some(Range { precision: 24, divisors: 20, dividends: [-80, 100], greatest: f64::from(f32::MAX) })
            }
            _ => None,
        }
    }

    fn has_divisor(&self, y: f64) -> bool {
        (2f64.powi(-self.divisors)..=2f64.powi(self.divisors)).contains(&y.abs())
    }

    /// Whether products with the rounded reciprocal of a number are less than one unit off its quotients.
    fn is_near(&self, y: f64) -> bool {
        // As integers: the reciprocal of `significand / 2^(p - 1)`, which is between 1 and 2, in units of 2^-p.
        let hidden = 1u128 << (self.precision - 1);
        let dropped = 53 - self.precision;
        let significand = u128::from((y.to_bits() & ((1 << 52) - 1)) >> dropped) + hidden;
        let one = hidden << self.precision;
        let reciprocal = (one + significand / 2) / significand;
        (reciprocal * significand).abs_diff(one) <= hidden / 2
    }
}

impl Emitter<'_> {
    /// Quotients by a number that is equal in all lanes; none if that number is a power of two, out of range, or nothing is gained.
    pub(crate) fn quotient_by_one(&mut self, p: PrimOp, args: &[Val]) -> Option<Value> {
        let [x, y] = *args else { return None };
        let ty = self.ty(x);
        let range = Range::of(ty, self.code.width.lanes * ty.size()).filter(|_| p == PrimOp::DivP)?;
        // Memory takes longer than one division.
        if self.hints.stream && divisions(&self.facts.body.region) == 1 {
            return None;
        }
        let Value::Uniform(y) = self.scope.value(y) else { return None };
        let steps = match number(&y) {
            // Division by a power of two is multiplication for LLVM.
            Some(y) if y.to_bits() << 12 == 0 || !range.has_divisor(y) => return None,
            Some(y) if range.is_near(y) => 1,
            Some(_) => 2,
            None if matches!(y, Operand::Text(_)) => return None,
            None => 2,
        };
        let parts = self.vectors(x);
        Some(Value::Varying(self.code.quotients_by_one(ty, &range, steps, &parts, &y)))
    }
}

/// The divisions of a region.
fn divisions(region: &Region) -> usize {
    let mut count = 0;
    region.visit(0, &mut |n, _| count += usize::from(matches!(n.op, Op::Prim(PrimOp::DivP, _))));
    count
}

impl VectorCode {
    fn quotients_by_one(&mut self, ty: ScalarType, range: &Range, steps: usize, xs: &Parts, y: &Operand) -> Parts {
        let (el, shape) = (element(ty), self.shape());
        let (t, flags, suffix) = (shape.of(el), shape.of("i1"), shape.suffix(el));
        let one = if number(y).is_some() { self.reciprocal_of(ty, y) } else { put!(self.f, "fdiv {el} 1.0, {y}") };
        let (z, minus_y) = (self.splat(&one, el), put!(self.f, "fneg {el} {y}"));
        let (divisor, minus_y) = (self.splat(y, el), self.splat(&minus_y, el));
        let [low, high] = range.dividends.map(|power| self.f.constant(shape, el, &double_bits(2f64.powi(power))));
        let greatest = self.f.constant(shape, el, &double_bits(range.greatest));
        let (mut quotients, mut beyond) = (Parts::new(), Vec::new());
        for x in xs {
            let product = put!(self.f, "fmul {t} {x}, {z}");
            let size = put!(self.f, "call {t} @llvm.fabs.{suffix}({t} {x})");
            let large = put!(self.f, "fcmp oge {t} {size}, {low}");
            let small = put!(self.f, "fcmp ole {t} {size}, {high}");
            let inside = put!(self.f, "and {flags} {large}, {small}");
            let mut q = product.clone();
            for _ in 0..steps {
                let rest = self.f.fma(ty, shape, [&q, &minus_y, x]);
                q = self.f.fma(ty, shape, [&rest, &z, &q]);
            }
            quotients.push(put!(self.f, "select {flags} {inside}, {t} {q}, {t} {product}"));
            // Zeros, infinities and NaN are no reason to divide.
            let some = put!(self.f, "fcmp one {t} {x}, zeroinitializer");
            let finite = put!(self.f, "fcmp ole {t} {size}, {greatest}");
            let outside = put!(self.f, "xor {flags} {inside}, {}", self.f.constant(shape, "i1", "true"));
            let outside = put!(self.f, "and {flags} {outside}, {some}");
            beyond.push(put!(self.f, "and {flags} {outside}, {finite}"));
        }
        let mut divides = self.any_lane(&beyond);
        if number(y).is_none() {
            let size = put!(self.f, "call {el} @llvm.fabs.{}({el} {y})", Shape::Scalar.suffix(el));
            let [least, most] = [-range.divisors, range.divisors].map(|power| double_bits(2f64.powi(power)));
            let small = put!(self.f, "fcmp ult {el} {size}, {least}");
            let large = put!(self.f, "fcmp ugt {el} {size}, {most}");
            let outside = put!(self.f, "or i1 {small}, {large}");
            divides = put!(self.f, "or i1 {divides}, {outside}");
        }
        let types = vec![t.clone(); quotients.len()];
        let divide = |c: &mut Self, _| xs.iter().map(|x| put!(c.f, "fdiv {t} {x}, {divisor}")).collect();
        self.if_then(&divides, &types, quotients.into_vec(), divide).into()
    }

    /// The rounded reciprocal of a constant.
    fn reciprocal_of(&self, ty: ScalarType, y: &Operand) -> Operand {
        let z = 1.0 / number(y).unwrap_or(1.0);
        // Once rounded: a quotient of two `f32` in `f64` rounds to that in `f32`.
        Operand::text(double_bits(if ty == ScalarType::F32 { f64::from(z as f32) } else { z }))
    }
}

#[cfg(test)]
mod tests {
    use super::Range;
    use acc_core::data::ScalarType;

    /// Quotients of random numbers, and of those next to multiples, are those of divisions.
    #[test]
    fn quotients_are_those_of_divisions() {
        let (double, single) = (Range::of(ScalarType::F64, 32).unwrap(), Range::of(ScalarType::F32, 64).unwrap());
        let mut bits = 1u64;
        let mut next = || {
            bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bits ^ bits >> 33
        };
        let mut is_near = [0, 0];
        for number in 0..2000 {
            let y = if number < 1000 { f64::from(number) + 3.0 } else { 1.0 + (next() >> 12) as f64 / 2f64.powi(52) };
            let (z, steps) = (1.0 / y, if double.is_near(y) { 1 } else { 2 });
            is_near[steps - 1] += 1;
            for k in 0..500 {
                let quotient = 1.0 + (next() >> 12) as f64 / 2f64.powi(52);
                let x = if k % 2 == 0 { quotient } else { f64::from_bits((quotient * y).to_bits() + k % 3 - 1) };
                let step = |q: f64, _| (-q).mul_add(y, x).mul_add(z, q);
                assert_eq!((0..steps).fold(x * z, step).to_bits(), (x / y).to_bits(), "{x:e} / {y:e}");
            }
            let y = y as f32;
            let (z, steps) = (1.0 / y, if single.is_near(f64::from(y)) { 1 } else { 2 });
            for k in 0..500 {
                let quotient = 1.0 + (next() >> 41) as f32 / 2f32.powi(23);
                let x = if k % 2 == 0 { quotient } else { f32::from_bits((quotient * y).to_bits() + k % 3 - 1) };
                let step = |q: f32, _| (-q).mul_add(y, x).mul_add(z, q);
                assert_eq!((0..steps).fold(x * z, step).to_bits(), (x / y).to_bits(), "{x:e} / {y:e}");
            }
        }
        assert!(is_near[0] > is_near[1] && is_near[1] > 0, "{is_near:?}");
    }
}
