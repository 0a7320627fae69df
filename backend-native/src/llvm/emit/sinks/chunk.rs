//! Folds and scans along a row, step by step.

use crate::kernel::Sink;
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::sinks::scan::Carry;
use crate::llvm::emit::sinks::sink::{Leaf, SinkEmitter, SinkOutput};
use crate::llvm::emit::text::value::{Mask, Parts};
use crate::llvm::emit::text::{Operand, element, put, stored};
use crate::llvm::emit::{Emitter, KernelArg, Variant};
use acc_core::data::ScalarType;

impl<'a> SinkEmitter<'a> {
    /// A step: folds or scans its elements after those before them.
    pub(crate) fn chunk(&self, e: &mut Emitter<'a>, first: &Operand, state: LoopState) -> LoopState {
        let mut before = state.0.into_iter();
        let mut after = LoopState::default();
        let last = matches!(e.code.mask, Mask::Lanes(_)).then(|| {
            // The remaining columns in the order of the scan.
            let left = if e.code.lane_step > 0 {
                put!(e.code.f, "sub i64 %c1, {first}")
            } else {
                let after = put!(e.code.f, "add i64 {first}, 1");
                put!(e.code.f, "sub i64 {after}, %c0")
            };
            let count = put!(e.code.f, "call i64 @llvm.smin.i64(i64 {left}, i64 {})", e.code.width.step());
            put!(e.code.f, "sub i64 {count}, 1")
        });
        let mut results: Vec<(Leaf, Parts)> = Vec::new();
        let mut combined: Vec<Parts> = Vec::new();
        for o in &self.outs {
            let elements = o.elements(e);
            match (&o.output.sink, o.builtin) {
                (Sink::Fold { fused: true, .. }, _) => {
                    for (leaf, factors) in o.leaves.iter().zip(elements.chunks(2)) {
                        for (part, (x, y)) in factors[0].iter().zip(&factors[1]).enumerate() {
                            let Some((acc, ty)) = before.next() else { continue };
                            after.0.push((e.code.accumulate_product(leaf.ty, part, &acc, [x, y]), ty));
                        }
                    }
                }
                (Sink::Fold { .. }, Some(ops)) => {
                    for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&elements) {
                        for (part, x) in parts.iter().enumerate() {
                            let Some((acc, ty)) = before.next() else { continue };
                            after.0.push((e.code.accumulate(op, leaf.ty, part, &acc, x), ty));
                        }
                    }
                }
                (Sink::Scan { .. }, Some(ops)) if let Some(mark) = o.mark => {
                    let carries = before.by_ref().take(ops.len()).map(|(carry, _)| carry).collect();
                    let (scanned, carries) = e.code.segmented_scan(ops, &o.types(), mark, &elements, carries);
                    let types = o.leaves.iter().map(|l| element(l.ty).to_string());
                    after.0.extend(carries.into_iter().zip(types));
                    if self.variant == Variant::ChunkTotals {
                        continue;
                    }
                    if self.is_preceded(o) {
                        let marks = scanned[mark].clone();
                        for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&scanned) {
                            let chunk = self.before(e, *leaf);
                            let chunk = e.code.splat(&chunk, element(leaf.ty));
                            let all =
                                parts.iter().zip(&marks).map(|(x, m)| e.code.segmented_op(op, leaf.ty, &chunk, x, m));
                            combined.push(all.collect());
                        }
                    } else {
                        combined.extend(scanned);
                    }
                }
                (Sink::Scan { .. }, Some(ops)) => {
                    for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&elements) {
                        let carry = if self.follows(o) { before.next() } else { None };
                        let scanned = carry.map(|(carry, ty)| {
                            let (scanned, carry) = e.code.scan(op, leaf.ty, parts, carry);
                            after.0.push((carry, ty));
                            scanned
                        });
                        if self.sums_up(o) {
                            for (part, (x, (acc, ty))) in parts.iter().zip(before.by_ref()).enumerate() {
                                after.0.push((e.code.accumulate(op, leaf.ty, part, &acc, x), ty));
                            }
                        }
                        let Some(scanned) = scanned else { continue };
                        if self.is_preceded(o) {
                            let chunk = self.before(e, *leaf);
                            let chunk = e.code.splat(&chunk, element(leaf.ty));
                            let all = scanned
                                .iter()
                                .map(|x| e.code.operation(op, leaf.ty, e.code.shape(), &[chunk.clone(), x.clone()]));
                            combined.push(all.collect());
                        } else {
                            combined.push(scanned);
                        }
                    }
                }
                (Sink::Fold { combine, .. }, None) => {
                    let at = put!(e.code.f, "sub i64 {first}, {}", self.fold_block);
                    let at = put!(e.code.f, "udiv i64 {at}, {}", e.code.width.parts);
                    let gathered = e.reduce_to_vector(combine, &o.types(), elements, last.as_ref());
                    for ((leaf, parts), memory) in o.leaves.iter().zip(&gathered).zip(&o.kept) {
                        e.spill_lanes(leaf.ty, parts, memory, &at);
                    }
                    after.0.extend(before.by_ref().take(self.carried_by(e, o)));
                }
                (Sink::Scan { runs: true, .. }, None) => {
                    let number = e.code.column(first);
                    let at = put!(e.code.f, "sub i64 {number}, {}", self.scan_block);
                    for ((leaf, parts), buffers) in o.leaves.iter().zip(&elements).zip(&o.runs) {
                        e.spill_lanes(leaf.ty, parts, &buffers.kept, &at);
                    }
                    after.0.extend(before.by_ref().take(self.carried_by(e, o)));
                }
                (Sink::Scan { combine, .. }, None) => {
                    let (types, Some(carry)) = (o.types(), o.carried(&mut before)) else { continue };
                    if self.variant == Variant::ChunkTotals {
                        let next = e.fold_by(combine, &types, &elements, &carry, last.as_ref());
                        o.carry(e, next, &mut after);
                        continue;
                    }
                    let (mut scanned, next) = e.scan_by(combine, &types, &elements, &carry, last.as_ref());
                    o.carry(e, next, &mut after);
                    if self.is_preceded(o) {
                        let before = self.before_chunk(e, o);
                        scanned = e.prepend_by(combine, &types, &before, &scanned);
                    }
                    combined.extend(scanned);
                }
                (Sink::Store, _) => results.extend(o.leaves.iter().copied().zip(elements)),
                (Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact, _) => {}
            }
        }
        if self.variant == Variant::ChunkTotals {
            return after;
        }
        if !self.keeps_scans() {
            self.store_combined(e, combined, results, first);
            return after;
        }
        // Results of scans are stored together, at the end of the block.
        let number = e.code.column(first);
        let at = put!(e.code.f, "sub i64 {number}, {}", self.scan_block);
        let scanned = self.outs.iter().filter(|o| o.is_scan() && !o.output.sink.scans_runs());
        let buffers = scanned.flat_map(|o| o.leaves.iter().zip(&o.runs));
        for ((leaf, buffers), parts) in buffers.zip(&combined) {
            e.spill_lanes(leaf.ty, parts, &buffers.kept, &at);
        }
        for (leaf, parts) in results {
            self.store(e, leaf, &parts, first);
        }
        after
    }

    /// Stores other results of a step, those of its scans, and those of their epilogue.
    pub(crate) fn store_combined(
        &self,
        e: &mut Emitter<'a>,
        combined: Vec<Parts>,
        mut results: Vec<(Leaf, Parts)>,
        first: &Operand,
    ) {
        if let Some(epilogue) = self.kernel.epilogue.as_ref().filter(|_| self.scans()) {
            let values = e.inline_here(&epilogue.body, &combined);
            for &(number, k, ty) in &self.after {
                let leaf = Leaf { number, value: epilogue.body.region.results[k], ty };
                results.push((leaf, values[k].clone()));
            }
        }
        for (leaf, parts) in results {
            self.store(e, leaf, &parts, first);
        }
        let mut combined = combined.into_iter();
        for o in self.outs.iter().filter(|o| o.is_scan()) {
            let own: Vec<Parts> = combined.by_ref().take(o.leaves.len()).collect();
            if o.output.stored {
                let row = self.scanned_row(e, o);
                o.leaves.iter().zip(&own).for_each(|(leaf, parts)| self.store_in(e, *leaf, parts, &row, first));
            }
        }
    }

    /// What precedes a row or chunk that is scanned.
    pub(crate) fn before_chunk(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>) -> Carry {
        let leaves = o.leaves.iter().map(|l| {
            let before = self.before(e, *l);
            e.code.splat(&before, element(l.ty))
        });
        let leaves = leaves.collect();
        if self.variant == Variant::BatchedRows {
            return Carry { there: Operand::text("true"), leaves };
        }
        let there = e.code.f.arg(KernelArg::HasCarryIn(o.leaves.first().map_or(0, |l| l.number)));
        Carry { there: put!(e.code.f, "icmp ne i64 {there}, 0"), leaves }
    }

    /// Whether steps carry the running result of a built-in operator.
    pub(crate) fn follows(&self, o: &SinkOutput<'_>) -> bool {
        o.is_scan() && (self.variant != Variant::ChunkTotals || o.mark.is_some())
    }

    /// Whether lanes keep partial results of a built-in operator: in folds, and for the totals of scanned chunks, which
    /// are cheaper as sums by lanes than by scanning.
    pub(crate) fn sums_up(&self, o: &SinkOutput<'_>) -> bool {
        !o.is_scan() || (o.mark.is_none() && self.variant != Variant::BatchedRows)
    }

    /// Whether a row or chunk that is scanned has a prefix.
    pub(crate) fn is_preceded(&self, o: &SinkOutput<'_>) -> bool {
        matches!(self.variant, Variant::Chunk { .. })
            || (self.variant == Variant::BatchedRows && o.output.sink.has_init())
    }

    /// The position of a scan's result for the first column of the row; whole rows also store their initial value.
    fn scanned_row(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>) -> Operand {
        if self.variant != Variant::BatchedRows || !o.output.sink.has_init() {
            return self.row.clone();
        }
        let extent = e.code.f.arg(KernelArg::Extent(self.kernel.axes.len() as u32 - 1));
        let before = put!(e.code.f, "udiv i64 {}, {extent}", self.row);
        let before = if self.right { before } else { put!(e.code.f, "add i64 {before}, 1") };
        put!(e.code.f, "add i64 {}, {before}", self.row)
    }

    /// Stores the initial value of a whole row's scan: before the first result from the left, or behind the last one.
    pub(crate) fn store_init(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>) {
        let row = self.scanned_row(e, o);
        let column = if self.right {
            e.code.f.arg(KernelArg::Extent(self.kernel.axes.len() as u32 - 1))
        } else {
            Operand::int(-1)
        };
        for &leaf in &o.leaves {
            let (before, out, mem) =
                (self.before(e, leaf), e.code.f.arg(KernelArg::Output(leaf.number)), stored(leaf.ty));
            let before = if leaf.ty == ScalarType::Bool { put!(e.code.f, "zext i1 {before} to i8") } else { before };
            let to = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {row}");
            let to = put!(e.code.f, "getelementptr {mem}, ptr {to}, i64 {column}");
            e.code.f.w.line(format_args!("store {mem} {before}, ptr {to}, align {}, !noalias !2", leaf.ty.size()));
        }
    }
}
