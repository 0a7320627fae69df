//! Folds along a row with a user's operator.
//!
//! The elements of a block of [`PAIRWISE_BLOCK`](crate::kernel::grouping::PAIRWISE_BLOCK) are combined pairwise until
//! one is left, which is combined with the blocks before it. Each step reduces its elements to one vector, which is
//! spilled to the stack; a loop reduces these at the end of the block. So most vectors are full, and the code is short.
//! The tile executor has the same tree.

use crate::kernel::grouping::{PAIRWISE_BLOCK, SCAN_BLOCK};
use crate::kernel::{Body, Kernel, Output, Sink};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::scan::Carry;
use crate::llvm::emit::sinks::scan_runs::KEPT_ELEMENTS;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::{Operand, put};
use acc_core::data::ScalarType;
use std::fmt::Write;

/// Spilled elements of a leaf per block.
pub(crate) fn kept_elements(parts: usize) -> usize {
    PAIRWISE_BLOCK / parts
}

/// The stack that the folds and scans of a kernel spill to.
pub(crate) fn spilled_bytes(kernel: &Kernel, parts: usize) -> usize {
    let bytes = |o: &Output| kernel.values(o).iter().map(|&v| kernel.element.ty(v).size()).sum::<usize>();
    let kept = |o: &Output| match o.sink {
        Sink::Fold { builtin: None, .. } => kept_elements(parts),
        Sink::Scan { runs: true, .. } => KEPT_ELEMENTS + SCAN_BLOCK,
        Sink::Scan { .. } if kernel.outputs.iter().any(|o| o.sink.scans_runs()) => KEPT_ELEMENTS,
        _ => 0,
    };
    kernel.outputs.iter().map(|o| kept(o) * bytes(o)).sum()
}

impl Function {
    /// A stack buffer.
    pub(crate) fn memory(&mut self, bytes: usize) -> Operand {
        let k = self.buffers;
        self.buffers += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.prologue.text, "  %buffer{k} = alloca [{bytes} x i8], align 64");
        Operand::text(format!("%buffer{k}"))
    }
}

impl<'a> Emitter<'a> {
    /// Spills vectors; the buffer has room for all lanes.
    pub(crate) fn spill_lanes(&mut self, ty: ScalarType, parts: &Parts, memory: &Operand, first: &Operand) {
        let mask = std::mem::replace(&mut self.code.mask, Mask::All);
        let stream = std::mem::take(&mut self.hints.stream);
        let lane_step = std::mem::replace(&mut self.code.lane_step, 1);
        self.store(ty, parts, memory, first);
        self.code.lane_step = lane_step;
        self.hints.stream = stream;
        self.code.mask = mask;
    }

    /// Combines the first `count` elements of each leaf's buffer, after `carry`; the result is in the first lane.
    pub(crate) fn reduce_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        memory: &[Operand],
        carry: &Carry,
        count: &Operand,
    ) -> Carry {
        self.on_parts(1, |e| {
            let (head, level, root, before) =
                (e.code.f.w.label(), e.code.f.w.label(), e.code.f.w.label(), e.code.f.w.block);
            e.code.f.w.jump(head);
            e.code.f.w.start(head);
            let (left, mark) = (e.code.f.w.reserve_register(), e.code.f.w.position());
            let more = put!(e.code.f, "icmp sgt i64 {left}, 1");
            e.code.f.w.branch(&more, level, root);
            e.code.f.w.start(level);
            let pairs = put!(e.code.f, "lshr i64 {left}, 1");
            let next = put!(e.code.f, "sub i64 {left}, {pairs}");
            let lanes = e.code.width.lanes;
            e.counted_loop([&Operand::int(0), &next], lanes, LoopState::default(), None, |e, first, _| {
                e.pairs(body, types, memory, first, &pairs);
                Vec::new()
            });
            let last = e.code.f.w.block;
            e.code.f.w.jump(head);
            e.code.f.w.insert(mark, &format!("  {left} = phi i64 [ {count}, {before} ], [ {next}, {last} ]\n"));
            e.code.f.w.start(root);
            let zero = Operand::int(0);
            let kept = types.iter().zip(memory);
            let total: Vec<Operand> =
                kept.map(|(&ty, m)| e.code.load_contiguous(ty, m, &zero, 1, None, "")[0].clone()).collect();
            let leaves = e.after_carry(body, types, carry, &total, &e.code.lanes_until(1));
            Carry { leaves, there: Operand::text("true") }
        })
    }

    /// Combines a vector of pairs in memory, from pair `first` on, of those below `pairs`.
    fn pairs(&mut self, body: &'a Body, types: &[ScalarType], memory: &[Operand], first: &Operand, pairs: &Operand) {
        let low = put!(self.code.f, "shl i64 {first}, 1");
        let high = put!(self.code.f, "add i64 {low}, {}", self.code.width.lanes);
        let read = |e: &mut Self, (&ty, m): (&ScalarType, &Operand)| {
            [&low, &high].map(|at| e.code.load_contiguous(ty, m, at, 1, None, "")[0].clone()).into_iter().collect()
        };
        let values: Vec<Parts> = types.iter().zip(memory).map(|leaf| read(self, leaf)).collect();
        let halved = self.combine_pairs(body, types, &values, Some((first, pairs)));
        for ((x, &ty), m) in halved.iter().zip(types).zip(memory) {
            self.spill_lanes(ty, x, m, first);
        }
    }

    /// Combines the elements of a step until there is one vector of each leaf. `last` is the number of the last active
    /// lane, if not all are active.
    pub(crate) fn reduce_to_vector(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        elements: Vec<Parts>,
        last: Option<&Operand>,
    ) -> Vec<Parts> {
        let mut values = elements;
        let mut count = last.map(|last| put!(self.code.f, "add i64 {last}, 1"));
        while values.iter().any(|v| v.len() > 1) {
            let pairs = count.map(|count| {
                let pairs = put!(self.code.f, "lshr i64 {count}, 1");
                (put!(self.code.f, "sub i64 {count}, {pairs}"), pairs)
            });
            let zero = Operand::int(0);
            values = self.combine_pairs(body, types, &values, pairs.as_ref().map(|(_, pairs)| (&zero, pairs)));
            count = pairs.map(|(left, _)| left);
        }
        values
    }

    /// Combines neighbours of vectors, which are the pairs from number `first` on. If not all pairs exist, those below
    /// a number do; an element without a neighbour stays.
    fn combine_pairs(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        values: &[Parts],
        there: Option<(&Operand, &Operand)>,
    ) -> Vec<Parts> {
        let parts = values.first().map_or(0, Parts::len) / 2;
        let half = |e: &mut Self, odd: usize| -> Vec<Parts> {
            let leaf = |(v, &ty): (&Parts, &ScalarType)| {
                v.chunks_exact(2).map(|pair| e.code.shuffle(ty, &pair[0], &pair[1], &|k| 2 * k + odd)).collect()
            };
            values.iter().zip(types).map(leaf).collect()
        };
        let (evens, odds) = (half(self, 0), half(self, 1));
        let args: Vec<Value> = evens.iter().chain(&odds).cloned().map(Value::Varying).collect();
        self.on_parts(parts, |e| {
            if let Some((first, pairs)) = there {
                e.code.mask = e.code.first_lanes(first, pairs);
            }
            let paired: Vec<Option<Operand>> = (0..parts).map(|part| e.code.part_mask(part)).collect();
            e.inline_where(body, types, &args, &paired, &evens)
        })
    }
}
