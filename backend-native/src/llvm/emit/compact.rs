//! Elements that are kept, counted or stored one after the other.

use super::ending::Leaf;
use super::text::{Operand, put, stored};
use super::value::{Mask, Parts};
use super::{Emitter, Word};
use crate::kernel::{Kernel, only};
use acc_core::data::ScalarType;

/// The kernel that computes no more than which elements are kept.
pub(super) fn counted(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.epilogue = None;
    for o in &mut kernel.outputs {
        let keep = kernel.element.region.results.get(o.values.start).copied();
        kernel.element = only(&kernel.element, keep.into_iter().collect());
        o.values = 0..1;
    }
    kernel
}

impl<'a> Emitter<'a> {
    /// For each part the lanes that are on, as the bits of an `i64`.
    fn bits(&mut self) -> Vec<Operand> {
        let lanes = self.width.lanes;
        match self.mask.clone() {
            Mask::All => vec![Operand::int((1i64 << lanes) - 1); self.width.parts],
            Mask::Lanes(m) => {
                let flags = self.mask_type();
                m.iter()
                    .map(|m| {
                        let bits = put!(self, "bitcast {flags} {m} to i{lanes}");
                        put!(self, "zext i{lanes} {bits} to i64")
                    })
                    .collect()
            }
        }
    }

    /// Adds the number of lanes that are on.
    pub(super) fn count_lanes(&mut self, count: Operand) -> Operand {
        let bits = self.bits();
        bits.iter().fold(count, |count, bits| {
            let ones = put!(self, "call i64 @llvm.ctpop.i64(i64 {bits})");
            put!(self, "add i64 {count}, {ones}")
        })
    }

    /// Stores the lanes that are on, from place `at` on; the place that follows.
    pub(super) fn compact(&mut self, leaves: &[(Leaf, Parts)], at: Operand) -> Operand {
        let bits = self.bits();
        let room = self.word(Word::TargetExtent(0));
        let leaves: Vec<(Operand, ScalarType, Parts)> = leaves
            .iter()
            .map(|(leaf, parts)| {
                let parts = self.in_memory(leaf.ty, parts);
                (self.word(Word::Out(leaf.number)), leaf.ty, parts)
            })
            .collect();
        let (wide, narrow, done) = (self.w.label(), self.w.label(), self.w.label());
        let end = put!(self, "add i64 {at}, {}", self.width.step());
        let fits = put!(self, "icmp sle i64 {end}, {room}");
        self.w.branch(&fits, wide, narrow);

        // Every lane is stored, and the next one over it if it is not kept: no branch is mispredicted.
        self.w.start(wide);
        let mut place = at.clone();
        for (part, bits) in bits.iter().enumerate() {
            for lane in 0..self.width.lanes {
                for (out, ty, parts) in &leaves {
                    let (mem, size, vector) = (stored(*ty), ty.size(), self.shape().of(stored(*ty)));
                    let x = put!(self, "extractelement {vector} {}, i64 {lane}", parts[part]);
                    let p = put!(self, "getelementptr {mem}, ptr {out}, i64 {place}");
                    self.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
                }
                let shifted = put!(self, "lshr i64 {bits}, {lane}");
                let one = put!(self, "and i64 {shifted}, 1");
                place = put!(self, "add i64 {place}, {one}");
            }
        }
        let wide_end = self.w.block;
        self.w.jump(done);

        // Near the end of the room, lane by lane.
        self.w.start(narrow);
        let (narrow_place, narrow_end) = self.compact_narrow(&bits, &leaves, &at, &room, done);
        self.w.start(done);
        put!(self, "phi i64 [ {place}, {wide_end} ], [ {narrow_place}, {narrow_end} ]")
    }

    /// The same with no store beyond the room; jumps to `done`.
    fn compact_narrow(
        &mut self,
        bits: &[Operand],
        leaves: &[(Operand, ScalarType, Parts)],
        at: &Operand,
        room: &Operand,
        done: super::Label,
    ) -> (Operand, super::Label) {
        let lanes = self.width.lanes;
        let mut all = Operand::int(0);
        for (part, bits) in bits.iter().enumerate() {
            let moved = put!(self, "shl i64 {bits}, {}", part * lanes);
            all = put!(self, "or i64 {all}, {moved}");
        }
        let spilled: Vec<Operand> = leaves.iter().map(|(_, ty, parts)| self.spill(stored(*ty), parts)).collect();
        let (head, body, before) = (self.w.label(), self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let (left, place) = (self.w.promise(), self.w.promise());
        let mark = self.w.mark();
        let more = put!(self, "icmp ne i64 {left}, 0");
        self.w.branch(&more, body, done);
        self.w.start(body);
        // Machine code and tiles agree on what is kept; memory does not depend on it.
        let outside = put!(self, "icmp sge i64 {place}, {room}");
        self.decline_if(&outside);
        let lane = put!(self, "call i64 @llvm.cttz.i64(i64 {left}, i1 true)");
        for ((out, ty, _), spilled) in leaves.iter().zip(&spilled) {
            let (mem, size) = (stored(*ty), ty.size());
            let p = put!(self, "getelementptr {mem}, ptr {spilled}, i64 {lane}");
            let x = put!(self, "load {mem}, ptr {p}, align {size}");
            let p = put!(self, "getelementptr {mem}, ptr {out}, i64 {place}");
            self.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
        }
        let next = put!(self, "add i64 {place}, 1");
        let less = put!(self, "sub i64 {left}, 1");
        let rest = put!(self, "and i64 {left}, {less}");
        let last = self.w.block;
        self.w.jump(head);
        self.w.insert(
            mark,
            &format!(
                "  {left} = phi i64 [ {all}, {before} ], [ {rest}, {last} ]\n  {place} = phi i64 [ {at}, {before} ], [ {next}, {last} ]\n"
            ),
        );
        (place, head)
    }
}
