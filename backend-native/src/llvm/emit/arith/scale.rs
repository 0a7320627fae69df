//! Products with powers of two.

use crate::llvm::emit::Emitter;
use crate::llvm::emit::arith::divide::{DOUBLE, Float, SINGLE};
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Shape, Value};
use crate::llvm::emit::text::{Operand, put};
use acc_core::data::ScalarType;
use acc_core::ir::Val;

impl Emitter<'_> {
    /// [`KernelOp::Scale`](crate::kernel::KernelOp::Scale): one instruction on AVX-512, else two multiplications with powers of two
    /// made of integer bits.
    pub(crate) fn scale(&mut self, x: Val, by: Val) -> Value {
        let ty = self.ty(x);
        self.map_parts(&[x, by], &mut |e, shape, args| e.code.f.scaled(ty, shape, &args[0], &args[1]))
    }
}

impl Function {
    fn scaled(&mut self, ty: ScalarType, shape: Shape, x: &Operand, by: &Operand) -> Operand {
        let (float, name, bias, digits) =
            if ty == ScalarType::F64 { (&DOUBLE, "pd", 1023, 52) } else { (&SINGLE, "ps", 127, 23) };
        let &Float { name: element, bits, shift, shift_bits } = float;
        let t = shape.of(element);
        if let Shape::Vector(n) = shape
            && self.target.has_mask_registers()
            && matches!(n * ty.size(), 16 | 32 | 64)
        {
            let width = 8 * n * ty.size();
            let (mask, rounding) = (format!("i{}", n.max(8)), if width == 512 { ", i32 4" } else { "" });
            return put!(
                self,
                "call {t} @llvm.x86.avx512.mask.scalef.{name}.{width}({t} {x}, {t} {by}, {t} zeroinitializer, {mask} -1{rounding})"
            );
        }
        let ints = shape.of(bits);
        let [shift, less, one, digits] = [
            (element, shift.to_string()),
            (bits, (shift_bits - 2 * bias).to_string()),
            (bits, "1".to_string()),
            (bits, digits.to_string()),
        ]
        .map(|(element, text)| self.constant(shape, element, &text));
        let shifted = put!(self, "fadd {t} {by}, {shift}");
        let shifted = put!(self, "bitcast {t} {shifted} to {ints}");
        let biased = put!(self, "sub {ints} {shifted}, {less}");
        let half = put!(self, "ashr {ints} {biased}, {one}");
        let rest = put!(self, "sub {ints} {biased}, {half}");
        let mut y = x.clone();
        for exponent in [half, rest] {
            let power = put!(self, "shl {ints} {exponent}, {digits}");
            let power = put!(self, "bitcast {ints} {power} to {t}");
            y = put!(self, "fmul {t} {y}, {power}");
        }
        y
    }
}
