//! Bits combined at positions, for which ONNX has no operation: each bit is a row of numbers that are 0 or 1.

use super::width;
use crate::export::onnx::body::Exporter;
use crate::export::onnx::proto::DataType;
use crate::export::onnx::writer::{Name, int_attribute, text_attribute};
use acc_core::data::ScalarType as T;
use acc_desugar::graph::BitOp;

/// So many bits, a power of two, are added to one number.
const SUMMED_BITS: i64 = 32;

impl Exporter<'_> {
    /// A vector with values combined with the current ones at positions.
    pub(in crate::export::onnx) fn scattered_bits(&mut self, [base, at, values]: [&Name; 3], k: BitOp, ty: T) -> Name {
        let count = if ty == T::Bool { 1 } else { width(ty) };
        let (column, rows) = (self.w.ints(&[1]), self.w.ints(&[count, 1]));
        let numbers = self.w.int(count);
        let numbers = self.w.range(&numbers);
        let numbers = self.w.op2("Unsqueeze", &numbers, &column);
        let one = self.w.int(1);
        let mut unpacked = |x: &Name| {
            let x = if ty == T::Bool { self.w.cast(x, DataType::Int64) } else { x.clone() };
            let x = self.w.op2("Expand", &x, &rows);
            let x = self.w.shift(&x, &numbers, "RIGHT");
            self.w.op2("BitwiseAnd", &x, &one)
        };
        let (base, values) = (unpacked(base), unpacked(values));
        let at = self.w.op2("Expand", at, &rows);
        let reduction = match k {
            BitOp::And => "min",
            BitOp::Or => "max",
            BitOp::Xor => "add",
        };
        let attributes = vec![int_attribute("axis", 1), text_attribute("reduction", reduction)];
        let combined = self.w.node("ScatterElements", &[&base, &at, &values], attributes);
        // Of a sum the lowest bit counts.
        let combined = self.w.op2("BitwiseAnd", &combined, &one);
        let packed = self.packed(&combined, &numbers, count);
        if ty == T::Bool { self.w.cast(&packed, DataType::Bool) } else { self.w.wrapped(&packed, ty) }
    }
    /// The numbers of which these are the bits, in `count` rows. Runtimes add integers of 64 bits in doubles, so the sums are of
    /// fewer bits.
    fn packed(&mut self, bits: &Name, numbers: &Name, count: i64) -> Name {
        let within = self.w.int(SUMMED_BITS - 1);
        let within = self.w.op2("BitwiseAnd", numbers, &within);
        let places = self.w.shift(bits, &within, "LEFT");
        let first = self.w.ints(&[0]);
        let mut packed = self.w.int(0);
        for start in (0..count).step_by(SUMMED_BITS as usize) {
            let (from, to, by) = (self.w.ints(&[start]), self.w.ints(&[start + SUMMED_BITS]), self.w.int(start));
            let part = self.w.node("Slice", &[&places, &from, &to, &first], Vec::new());
            let sum = self.w.node("ReduceSum", &[&part, &first], vec![int_attribute("keepdims", 0)]);
            let sum = self.w.shift(&sum, &by, "LEFT");
            packed = self.w.op2("BitwiseOr", &packed, &sum);
        }
        packed
    }
}
