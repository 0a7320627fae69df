//! Reads of elements that lie a few places apart, one for each lane.

use super::Emitter;
use super::access::INPUT;
use super::text::{Operand, put, stored};
use super::value::{Parts, Shape};
use acc_core::data::ScalarType;

/// Bytes that lie so many places apart are narrowed from integers of four. Pairs are shuffled as quickly.
const WORD: usize = 4;

impl Emitter<'_> {
    /// Elements that are `step` places from each other: of all between them the vectors are read, which cover no more than that.
    pub(super) fn apart(&mut self, ty: ScalarType, column: &Operand, first: &Operand, step: usize) -> Parts {
        let lanes = self.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let vector = self.shape().of(mem);
        let start = put!(self, "getelementptr {mem}, ptr {column}, i64 {first}");
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            if step == WORD && size == 1 && cfg!(target_endian = "little") {
                let x = self.out_of_words(&start, part);
                parts.push(self.read(ty, x));
                continue;
            }
            // The last vector ends with the last element.
            let begins = |k: usize| if k + 1 < step { k * lanes } else { (lanes - 1) * step + 1 - lanes };
            let mut all: Option<Operand> = None;
            for k in 0..step {
                let p = put!(self, "getelementptr {mem}, ptr {start}, i64 {}", part * lanes * step + begins(k));
                let x = put!(self, "load {vector}, ptr {p}, align {size}{INPUT}");
                all = Some(match all {
                    None => x,
                    Some(before) => {
                        let lane = |lane: usize| match (lane * step / lanes, k) {
                            (of, k) if of == k => lanes + lane * step - begins(k),
                            // The first vector's lanes are in their places from the second one on.
                            (0, 1) => lane * step,
                            _ => lane,
                        };
                        let order: Vec<String> = (0..lanes).map(|l| format!("i32 {}", lane(l))).collect();
                        put!(
                            self,
                            "shufflevector {vector} {before}, {vector} {x}, <{lanes} x i32> <{}>",
                            order.join(", ")
                        )
                    }
                });
            }
            parts.extend(all.map(|x| self.read(ty, x)));
        }
        parts
    }

    /// The lanes of a part whose elements are the first bytes, or the last ones, of integers of four: these are read, and
    /// narrowed. Those of the first half of the lanes begin with their elements, the others end with them, so that nothing is
    /// read before the first or after the last element.
    fn out_of_words(&mut self, start: &Operand, part: usize) -> Operand {
        let lanes = self.width.lanes;
        let half = Shape::Lanes(lanes / 2);
        let (words, bytes) = (half.of("i32"), half.of("i8"));
        let begin = part * lanes * WORD;
        let p = put!(self, "getelementptr i8, ptr {start}, i64 {begin}");
        let x = put!(self, "load {words}, ptr {p}, align 1{INPUT}");
        let first = put!(self, "trunc {words} {x} to {bytes}");
        let p = put!(self, "getelementptr i8, ptr {start}, i64 {}", begin + lanes / 2 * WORD - (WORD - 1));
        let x = put!(self, "load {words}, ptr {p}, align 1{INPUT}");
        let by = self.constant(half, "i32", "24");
        let x = put!(self, "lshr {words} {x}, {by}");
        let second = put!(self, "trunc {words} {x} to {bytes}");
        let order: Vec<String> = (0..lanes).map(|l| format!("i32 {l}")).collect();
        put!(self, "shufflevector {bytes} {first}, {bytes} {second}, <{lanes} x i32> <{}>", order.join(", "))
    }
}
