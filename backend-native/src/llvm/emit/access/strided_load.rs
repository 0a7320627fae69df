//! Loads with a small stride between lanes.

use crate::llvm::emit::access::address::INPUT_SCOPE;
use crate::llvm::emit::text::value::Parts;
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put, stored};
use acc_core::data::ScalarType;

impl VectorCode {
    /// Every `step`-th element: loads the contiguous vectors that cover all lanes and shuffles the elements out; reads
    /// nothing beyond.
    pub(crate) fn strided_load(&mut self, ty: ScalarType, column: &Operand, first: &Operand, step: usize) -> Parts {
        let lanes = self.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let vector = self.shape().of(mem);
        let start = put!(self.f, "getelementptr {mem}, ptr {column}, i64 {first}");
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            // The last vector ends with the last element.
            let begins = |k: usize| if k + 1 < step { k * lanes } else { (lanes - 1) * step + 1 - lanes };
            let mut all: Option<Operand> = None;
            for k in 0..step {
                let p = put!(self.f, "getelementptr {mem}, ptr {start}, i64 {}", part * lanes * step + begins(k));
                let x = put!(self.f, "load {vector}, ptr {p}, align {size}{INPUT_SCOPE}");
                all = Some(match all {
                    None => x,
                    Some(before) => {
                        let lane = |lane: usize| match (lane * step / lanes, k) {
                            (of, k) if of == k => lanes + lane * step - begins(k),
                            // Lanes of the first vector are moved together with those of the second.
                            (0, 1) => lane * step,
                            _ => lane,
                        };
                        let order: Vec<String> = (0..lanes).map(|l| format!("i32 {}", lane(l))).collect();
                        put!(
                            self.f,
                            "shufflevector {vector} {before}, {vector} {x}, <{lanes} x i32> <{}>",
                            order.join(", ")
                        )
                    }
                });
            }
            parts.extend(all.map(|x| self.register_form(ty, x)));
        }
        parts
    }
}
