//! Compactions: elements that are kept are counted, or stored one after the other.

use crate::kernel::{Kernel, only};
use crate::llvm::emit::KernelArg;
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, put, stored};
use acc_core::data::ScalarType;
use std::sync::{Arc, LazyLock};

/// The kernel that computes only which elements are kept.
pub(crate) fn counting(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.epilogue = None;
    for o in &mut kernel.outputs {
        let keep = kernel.element.region.results.get(o.values.start).copied();
        kernel.element = only(&kernel.element, keep.into_iter().collect());
        o.values = 0..1;
    }
    kernel
}

impl VectorCode {
    /// The active lanes of each part, as the bits of an `i64`.
    fn bits(&mut self) -> Vec<Operand> {
        let lanes = self.width.lanes;
        match self.mask.clone() {
            Mask::All => vec![Operand::int((1i64 << lanes) - 1); self.width.parts],
            Mask::Lanes(m) => {
                let flags = self.mask_type();
                m.iter()
                    .map(|m| {
                        let bits = put!(self.f, "bitcast {flags} {m} to i{lanes}");
                        put!(self.f, "zext i{lanes} {bits} to i64")
                    })
                    .collect()
            }
        }
    }

    /// Adds the number of active lanes.
    pub(crate) fn count_lanes(&mut self, count: Operand) -> Operand {
        let bits = self.bits();
        bits.iter().fold(count, |count, bits| {
            let ones = put!(self.f, "call i64 @llvm.ctpop.i64(i64 {bits})");
            put!(self.f, "add i64 {count}, {ones}")
        })
    }

    /// Stores the active lanes from position `at` on; returns the next position.
    pub(crate) fn compact(&mut self, leaves: &[(Leaf, Parts)], at: Operand) -> Operand {
        let bits = self.bits();
        let room = self.f.arg(KernelArg::TargetExtent(0));
        let leaves: Vec<(Operand, ScalarType, Parts)> = leaves
            .iter()
            .map(|(leaf, parts)| {
                let parts = self.memory_form(leaf.ty, parts);
                (self.f.arg(KernelArg::Output(leaf.number)), leaf.ty, parts)
            })
            .collect();
        let (wide, narrow, done) = (self.f.w.label(), self.f.w.label(), self.f.w.label());
        // Vectors of eight lanes are stored, even where there are fewer.
        let end = put!(self.f, "add i64 {at}, {}", self.width.step() + 8usize.saturating_sub(self.width.lanes));
        let fits = put!(self.f, "icmp sle i64 {end}, {room}");
        self.f.w.branch(&fits, wide, narrow);

        self.f.w.start(wide);
        let mut place = at.clone();
        for (part, bits) in bits.iter().enumerate() {
            let leaves: Vec<_> = leaves.iter().map(|(out, ty, parts)| (out, *ty, &parts[part])).collect();
            place = if cfg!(target_arch = "x86_64") {
                self.compact_by_table(bits, &leaves, place)
            } else {
                self.compact_by_overwriting(bits, &leaves, place)
            };
        }
        let wide_end = self.f.w.block;
        self.f.w.jump(done);

        // At the end of the memory, lane by lane.
        self.f.w.start(narrow);
        let (narrow_place, narrow_end) = self.compact_singly(&bits, &leaves, &at, &room, done);
        self.f.w.start(done);
        put!(self.f, "phi i64 [ {place}, {wide_end} ], [ {narrow_place}, {narrow_end} ]")
    }

    /// Stores groups of lanes with the active ones moved to the front, by a table of permutations; the lanes behind
    /// them are overwritten later.
    fn compact_by_table(
        &mut self,
        bits: &Operand,
        leaves: &[(&Operand, ScalarType, &Operand)],
        at: Operand,
    ) -> Operand {
        let lanes = self.width.lanes;
        let group_of = |ty: ScalarType| if ty.size() == 8 { 4 } else { lanes.min(8) };
        let step = leaves.iter().map(|(_, ty, _)| group_of(*ty)).min().unwrap_or(8);
        let mut place = at;
        for first in (0..lanes).step_by(step) {
            for (out, ty, x) in leaves {
                let group = group_of(*ty);
                if first.is_multiple_of(group) {
                    let set = self.f.set_of(bits, first, group);
                    let (value, front) = self.lanes_to_front(*ty, x, first, &set);
                    let p = put!(self.f, "getelementptr {}, ptr {out}, i64 {place}", stored(*ty));
                    self.f.w.line(format_args!("store {front} {value}, ptr {p}, align {}, !noalias !2", ty.size()));
                }
            }
            let set = self.f.set_of(bits, first, step);
            let ones = put!(self.f, "call i64 @llvm.ctpop.i64(i64 {set})");
            place = put!(self.f, "add i64 {place}, {ones}");
        }
        place
    }

    /// Moves the lanes of a set to the front, of four lanes from `first` on if they have eight bytes, else of eight;
    /// returns the vector and its type.
    fn lanes_to_front(&mut self, ty: ScalarType, x: &Operand, first: usize, set: &Operand) -> (Operand, String) {
        let (mem, bits, lanes) = (stored(ty), 8 * ty.size(), self.width.lanes);
        let wide = ty.size() == 8;
        let group = if wide { 4 } else { 8 };
        // As eight 32-bit words; lanes that do not exist are never taken.
        let order: Vec<String> = (first..first + group).map(|k| format!("i32 {}", k.min(lanes - 1))).collect();
        let vector = self.shape().of(mem);
        let x = put!(self.f, "shufflevector {vector} {x}, {vector} poison, <{group} x i32> <{}>", order.join(", "));
        let x = put!(self.f, "bitcast <{group} x {mem}> {x} to <{group} x i{bits}>");
        let x = match bits {
            64 => put!(self.f, "bitcast <4 x i64> {x} to <8 x i32>"),
            32 => x,
            _ => put!(self.f, "zext <8 x i{bits}> {x} to <8 x i32>"),
        };
        let table = self.f.table_of(&FRONTS[usize::from(wide)]);
        let p = put!(self.f, "getelementptr i64, ptr @t{table}, i64 {set}");
        let order = put!(self.f, "load <8 x i8>, ptr {p}, align 8");
        let order = put!(self.f, "zext <8 x i8> {order} to <8 x i32>");
        let x = put!(self.f, "call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> {x}, <8 x i32> {order})");
        match bits {
            64 | 32 => (x, "<8 x i32>".into()),
            _ => (put!(self.f, "trunc <8 x i32> {x} to <8 x i{bits}>"), format!("<8 x i{bits}>")),
        }
    }

    /// Stores every lane, and the next one over it if it is not active: no branch is mispredicted.
    fn compact_by_overwriting(
        &mut self,
        bits: &Operand,
        leaves: &[(&Operand, ScalarType, &Operand)],
        at: Operand,
    ) -> Operand {
        let mut place = at;
        for lane in 0..self.width.lanes {
            for (out, ty, x) in leaves {
                let (mem, size, vector) = (stored(*ty), ty.size(), self.shape().of(stored(*ty)));
                let x = put!(self.f, "extractelement {vector} {x}, i64 {lane}");
                let p = put!(self.f, "getelementptr {mem}, ptr {out}, i64 {place}");
                self.f.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
            }
            let shifted = put!(self.f, "lshr i64 {bits}, {lane}");
            let one = put!(self.f, "and i64 {shifted}, 1");
            place = put!(self.f, "add i64 {place}, {one}");
        }
        place
    }

    /// Stores the active lanes within the memory one by one; jumps to `done`.
    fn compact_singly(
        &mut self,
        bits: &[Operand],
        leaves: &[(Operand, ScalarType, Parts)],
        at: &Operand,
        room: &Operand,
        done: Label,
    ) -> (Operand, Label) {
        let lanes = self.width.lanes;
        let mut all = Operand::int(0);
        for (part, bits) in bits.iter().enumerate() {
            let moved = put!(self.f, "shl i64 {bits}, {}", part * lanes);
            all = put!(self.f, "or i64 {all}, {moved}");
        }
        let spilled: Vec<Operand> = leaves.iter().map(|(_, ty, parts)| self.spill(stored(*ty), parts)).collect();
        let (head, body, before) = (self.f.w.label(), self.f.w.label(), self.f.w.block);
        self.f.w.jump(head);
        self.f.w.start(head);
        let (left, place) = (self.f.w.reserve_register(), self.f.w.reserve_register());
        let mark = self.f.w.position();
        let more = put!(self.f, "icmp ne i64 {left}, 0");
        self.f.w.branch(&more, body, done);
        self.f.w.start(body);
        // Machine code and tiles agree on what is kept; memory safety does not depend on it.
        let outside = put!(self.f, "icmp sge i64 {place}, {room}");
        self.f.bail_out_if(&outside);
        let lane = put!(self.f, "call i64 @llvm.cttz.i64(i64 {left}, i1 true)");
        for ((out, ty, _), spilled) in leaves.iter().zip(&spilled) {
            let (mem, size) = (stored(*ty), ty.size());
            let p = put!(self.f, "getelementptr {mem}, ptr {spilled}, i64 {lane}");
            let x = put!(self.f, "load {mem}, ptr {p}, align {size}");
            let p = put!(self.f, "getelementptr {mem}, ptr {out}, i64 {place}");
            self.f.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
        }
        let next = put!(self.f, "add i64 {place}, 1");
        let less = put!(self.f, "sub i64 {left}, 1");
        let rest = put!(self.f, "and i64 {left}, {less}");
        let last = self.f.w.block;
        self.f.w.jump(head);
        self.f.w.insert(
            mark,
            &format!(
                "  {left} = phi i64 [ {all}, {before} ], [ {rest}, {last} ]\n  {place} = phi i64 [ {at}, {before} ], [ {next}, {last} ]\n"
            ),
        );
        (place, head)
    }
}

impl Function {
    /// The bits of a group of lanes.
    fn set_of(&mut self, bits: &Operand, first: usize, lanes: usize) -> Operand {
        let shifted = put!(self, "lshr i64 {bits}, {first}");
        put!(self, "and i64 {shifted}, {}", (1u64 << lanes) - 1)
    }
}

/// Permutations that move a set of lanes to the front, indexed by the bits of the set, as bytes: for eight lanes of one
/// word, and for four of two words.
static FRONTS: LazyLock<[Arc<[u64]>; 2]> = LazyLock::new(|| [fronts(8, 1), fronts(4, 2)]);

fn fronts(lanes: usize, words: usize) -> Arc<[u64]> {
    let front = |set: usize| {
        let on = (0..lanes).filter(|k| set >> k & 1 == 1);
        let places = on.flat_map(|k| (0..words).map(move |w| (k * words + w) as u64));
        places.enumerate().fold(0, |row, (at, place)| row | place << (8 * at))
    };
    (0..1 << lanes).map(front).collect()
}
