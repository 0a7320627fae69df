//! Reads of single elements of one or two bytes: as the words that they lie in.
//!
//! Processors gather words of four bytes and more; LLVM reads narrower elements one by one. An aligned word has no byte in another
//! page than the element in it, so that it can be read though the array may begin or end within it; what else it has is not
//! looked at.

use super::Emitter;
use super::text::{Operand, put, stored};
use super::value::{Parts, V};
use acc_core::data::ScalarType;

/// Bytes of the narrowest elements that processors gather.
const WORD: usize = 4;

impl Emitter<'_> {
    /// Whether elements are gathered as words.
    pub(super) fn gathers_words(&self, ty: ScalarType) -> bool {
        self.target.gathers() && ty.size() < WORD
    }

    /// Reads narrow elements at positions of which each has one; `scope` says of whose memory.
    pub(super) fn gather_words(&mut self, ty: ScalarType, column: &Operand, positions: &Parts, scope: &str) -> V {
        let (lanes, element) = (self.width.lanes, self.shape().of(stored(ty)));
        let (longs, words) = (self.shape().of("i64"), self.shape().of("i32"));
        let [two, size] = [2, ty.size().ilog2()].map(|n| self.constant(self.shape(), "i64", &n.to_string()));
        let three = self.constant(self.shape(), "i32", "3");
        let all = self.constant(self.shape(), "i1", "true");
        // From the word that the array begins in.
        let address = put!(self, "ptrtoint ptr {column} to i64");
        let skipped = put!(self, "and i64 {address}, {}", WORD - 1);
        let back = put!(self, "sub i64 0, {skipped}");
        let start = put!(self, "getelementptr i8, ptr {column}, i64 {back}");
        let skipped = self.splat(&skipped, "i64");
        let mut parts = Parts::new();
        for at in positions {
            let bytes = match ty.size() {
                1 => at.clone(),
                _ => put!(self, "shl {longs} {at}, {size}"),
            };
            let place = put!(self, "add {longs} {bytes}, {skipped}");
            let word = put!(self, "lshr {longs} {place}, {two}");
            let p = put!(self, "getelementptr i32, ptr {start}, {longs} {word}");
            let x = put!(
                self,
                "call {words} @llvm.masked.gather.v{lanes}i32.v{lanes}p0(<{lanes} x ptr> {p}, i32 {WORD}, <{lanes} x i1> {all}, {words} zeroinitializer){scope}"
            );
            let place = put!(self, "trunc {longs} {place} to {words}");
            let byte = put!(self, "and {words} {place}, {three}");
            let shift = put!(self, "shl {words} {byte}, {three}");
            let x = put!(self, "lshr {words} {x}, {shift}");
            let x = put!(self, "trunc {words} {x} to {element}");
            parts.push(self.read(ty, x));
        }
        V::Lanes(parts)
    }
}
