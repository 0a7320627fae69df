//! Gathers of elements of one or two bytes, by the aligned words around them.
//!
//! Processors gather words of four bytes and more; LLVM would read narrower elements one by one. An aligned word never
//! crosses into another page than its element, so that it can be read even where the array begins or ends inside of it;
//! its other bytes are ignored.

use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put, stored};
use acc_core::data::ScalarType;

/// The width of the narrowest gather.
const GATHER_WORD_BYTES: usize = 4;

impl Function {
    /// Whether elements of a type are gathered as words.
    pub(crate) fn gathers_words(&self, ty: ScalarType) -> bool {
        self.target.gathers() && ty.size() < GATHER_WORD_BYTES
    }
}

impl VectorCode {
    /// Gathers narrow elements from positions that all can be read; `scope` names the alias scope.
    pub(crate) fn gather_words(&mut self, ty: ScalarType, column: &Operand, positions: &Parts, scope: &str) -> Value {
        let (lanes, element) = (self.width.lanes, self.shape().of(stored(ty)));
        let (longs, words) = (self.shape().of("i64"), self.shape().of("i32"));
        let [two, size] = [2, ty.size().ilog2()].map(|n| self.f.constant(self.shape(), "i64", &n.to_string()));
        let three = self.f.constant(self.shape(), "i32", "3");
        let all = self.f.constant(self.shape(), "i1", "true");
        // Counted from the word in which the array begins.
        let address = put!(self.f, "ptrtoint ptr {column} to i64");
        let skipped = put!(self.f, "and i64 {address}, {}", GATHER_WORD_BYTES - 1);
        let back = put!(self.f, "sub i64 0, {skipped}");
        let start = put!(self.f, "getelementptr i8, ptr {column}, i64 {back}");
        let skipped = self.splat(&skipped, "i64");
        let mut parts = Parts::new();
        for at in positions {
            let bytes = match ty.size() {
                1 => at.clone(),
                _ => put!(self.f, "shl {longs} {at}, {size}"),
            };
            let place = put!(self.f, "add {longs} {bytes}, {skipped}");
            let word = put!(self.f, "lshr {longs} {place}, {two}");
            let p = put!(self.f, "getelementptr i32, ptr {start}, {longs} {word}");
            let x = put!(
                self.f,
                "call {words} @llvm.masked.gather.v{lanes}i32.v{lanes}p0(<{lanes} x ptr> {p}, i32 {GATHER_WORD_BYTES}, <{lanes} x i1> {all}, {words} zeroinitializer){scope}"
            );
            let place = put!(self.f, "trunc {longs} {place} to {words}");
            let byte = put!(self.f, "and {words} {place}, {three}");
            let shift = put!(self.f, "shl {words} {byte}, {three}");
            let x = put!(self.f, "lshr {words} {x}, {shift}");
            let x = put!(self.f, "trunc {words} {x} to {element}");
            parts.push(self.register_form(ty, x));
        }
        Value::Varying(parts)
    }
}
