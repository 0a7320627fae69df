//! Conversions between 64-bit integers and floats where processors have none on vectors (AVX2): each 32-bit half is
//! placed into the low bits of a double.

use crate::llvm::emit::arith::divide::DOUBLE;
use crate::llvm::emit::arith::prim::is_signed;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::Shape;
use crate::llvm::emit::text::{Operand, double_bits, put};
use acc_core::data::ScalarType;

impl Function {
    /// Whether values of this shape are converted by halves.
    pub(crate) fn converts_i64_by_halves(&self, shape: Shape) -> bool {
        shape != Shape::Scalar && !self.target.converts_i64()
    }

    /// Integers to doubles: the sum of both halves, each exact, rounded once.
    pub(crate) fn i64_to_double(&mut self, from: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (t, f) = (shape.of("i64"), shape.of("double"));
        let (low_base, high_base) = (2f64.powi(52), 2f64.powi(84));
        let [low_bits, high_bits] =
            [low_base, high_base].map(|b| self.constant(shape, "i64", &b.to_bits().to_string()));
        let low_mask = self.constant(shape, "i64", &u32::MAX.to_string());
        let half = self.constant(shape, "i64", "32");
        // Signed integers are offset to unsigned ones.
        let (x, origin) = match is_signed(from) {
            true => {
                let sign = self.constant(shape, "i64", &i64::MIN.to_string());
                (put!(self, "xor {t} {x}, {sign}"), 2f64.powi(63))
            }
            false => (x.clone(), 0.0),
        };
        let low = put!(self, "and {t} {x}, {low_mask}");
        let low = put!(self, "or {t} {low}, {low_bits}");
        let low = put!(self, "bitcast {t} {low} to {f}");
        let high = put!(self, "lshr {t} {x}, {half}");
        let high = put!(self, "or {t} {high}, {high_bits}");
        let high = put!(self, "bitcast {t} {high} to {f}");
        let bases = self.constant(shape, "double", &double_bits(high_base + low_base + origin));
        let high = put!(self, "fsub {f} {high}, {bases}");
        put!(self, "fadd {f} {high}, {low}")
    }

    /// Integers to singles. Above 2^53 the low bits become a sticky bit (round to odd), so that the second rounding is
    /// exact.
    pub(crate) fn i64_to_single(&mut self, from: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (t, flags) = (shape.of("i64"), shape.of("i1"));
        let last = self.constant(shape, "i64", "2047");
        let others = self.constant(shape, "i64", "-2048");
        let set = put!(self, "and {t} {x}, {last}");
        let set = put!(self, "add {t} {set}, {last}");
        let odd = put!(self, "or {t} {x}, {set}");
        let odd = put!(self, "and {t} {odd}, {others}");
        let held = 1i64 << 53;
        let (origin, count) = if is_signed(from) { (held, 2 * held) } else { (0, held) };
        let [origin, count] = [origin, count].map(|c| self.constant(shape, "i64", &c.to_string()));
        let place = put!(self, "add {t} {x}, {origin}");
        let is_held = put!(self, "icmp ult {t} {place}, {count}");
        let x = put!(self, "select {flags} {is_held}, {t} {x}, {t} {odd}");
        let wide = self.i64_to_double(from, shape, &x);
        put!(self, "fptrunc {} {wide} to {}", shape.of("double"), shape.of("float"))
    }

    /// Doubles in the range of the integer type to integers, towards zero.
    pub(crate) fn double_to_i64(&mut self, shape: Shape, x: &Operand) -> Operand {
        let (t, f, suffix) = (shape.of("i64"), shape.of("double"), shape.suffix("double"));
        let half = self.constant(shape, "i64", "32");
        let [unit, down, shift, low_base] =
            [2f64.powi(-32), -2f64.powi(32), f64::from_bits(DOUBLE.shift_bits as u64), 2f64.powi(52)]
                .map(|c| self.constant(shape, "double", &double_bits(c)));
        let low_bits = self.constant(shape, "i64", &2f64.powi(52).to_bits().to_string());
        let whole = put!(self, "call {f} @llvm.trunc.{suffix}({f} {x})");
        let high = put!(self, "fmul {f} {whole}, {unit}");
        let high = put!(self, "call {f} @llvm.floor.{suffix}({f} {high})");
        let low = put!(self, "call {f} @llvm.fma.{suffix}({f} {high}, {f} {down}, {f} {whole})");
        let high = put!(self, "fadd {f} {high}, {shift}");
        let high = put!(self, "bitcast {f} {high} to {t}");
        let high = put!(self, "shl {t} {high}, {half}");
        let low = put!(self, "fadd {f} {low}, {low_base}");
        let low = put!(self, "bitcast {f} {low} to {t}");
        let low = put!(self, "xor {t} {low}, {low_bits}");
        put!(self, "or {t} {high}, {low}")
    }
}
