//! Elements along a row, folded and scanned step by step.

use super::ending::{Ending, Leaf, Out};
use super::scan::Carry;
use super::steps::State;
use super::text::{Operand, element, put, stored};
use super::value::{Mask, Parts};
use super::{Emitter, Form, Word};
use crate::kernel::Finish;
use acc_core::data::ScalarType;

impl<'a> Ending<'a> {
    /// A step along a row: its elements are folded or scanned with those before them.
    pub(super) fn chunk(&self, e: &mut Emitter<'a>, first: &Operand, state: State) -> State {
        let mut before = state.0.into_iter();
        let mut after = State::default();
        let last = matches!(e.mask, Mask::Lanes(_)).then(|| {
            // Columns from the first one in the order of the scan on, itself included.
            let left = if e.lane_step > 0 {
                put!(e, "sub i64 %c1, {first}")
            } else {
                let after = put!(e, "add i64 {first}, 1");
                put!(e, "sub i64 {after}, %c0")
            };
            let count = put!(e, "call i64 @llvm.smin.i64(i64 {left}, i64 {})", e.width.step());
            put!(e, "sub i64 {count}, 1")
        });
        let mut results: Vec<(Leaf, Parts)> = Vec::new();
        let mut combined: Vec<Parts> = Vec::new();
        for o in &self.outs {
            let elements: Vec<Parts> = o.leaves.iter().map(|l| e.lanes(l.value)).collect();
            match (&o.output.finish, o.known) {
                (Finish::Fold { .. }, Some(ops)) => {
                    for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&elements) {
                        for (part, x) in parts.iter().enumerate() {
                            let Some((acc, ty)) = before.next() else { continue };
                            after.0.push((e.accumulate(op, leaf.ty, part, &acc, x), ty));
                        }
                    }
                }
                (Finish::Scan { .. }, Some(ops)) if let Some(mark) = o.mark => {
                    let carries = before.by_ref().take(ops.len()).map(|(carry, _)| carry).collect();
                    let (scanned, carries) = e.scan_afresh(ops, &o.types(), mark, &elements, carries);
                    let types = o.leaves.iter().map(|l| element(l.ty).to_string());
                    after.0.extend(carries.into_iter().zip(types));
                    if self.form == Form::Totals {
                        continue;
                    }
                    if self.is_preceded(o) {
                        let marks = scanned[mark].clone();
                        for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&scanned) {
                            let chunk = self.before(e, *leaf);
                            let chunk = e.splat(&chunk, element(leaf.ty));
                            let all = parts.iter().zip(&marks).map(|(x, m)| e.afresh(op, leaf.ty, &chunk, x, m));
                            combined.push(all.collect());
                        }
                    } else {
                        combined.extend(scanned);
                    }
                }
                (Finish::Scan { .. }, Some(ops)) => {
                    for ((leaf, &op), parts) in o.leaves.iter().zip(ops).zip(&elements) {
                        let carry = if self.follows(o) { before.next() } else { None };
                        let scanned = carry.map(|(carry, ty)| {
                            let (scanned, carry) = e.scan(op, leaf.ty, parts, carry);
                            after.0.push((carry, ty));
                            scanned
                        });
                        if self.sums_up(o) {
                            for (part, (x, (acc, ty))) in parts.iter().zip(before.by_ref()).enumerate() {
                                after.0.push((e.accumulate(op, leaf.ty, part, &acc, x), ty));
                            }
                        }
                        let Some(scanned) = scanned else { continue };
                        if self.is_preceded(o) {
                            let chunk = self.before(e, *leaf);
                            let chunk = e.splat(&chunk, element(leaf.ty));
                            let all = scanned
                                .iter()
                                .map(|x| e.operation(op, leaf.ty, e.shape(), &[chunk.clone(), x.clone()]));
                            combined.push(all.collect());
                        } else {
                            combined.push(scanned);
                        }
                    }
                }
                (Finish::Fold { combine, .. }, None) => {
                    let at = put!(e, "sub i64 {first}, {}", self.block);
                    let at = put!(e, "udiv i64 {at}, {}", e.width.parts);
                    let gathered = e.gathered(combine, &o.types(), elements, last.as_ref());
                    for ((leaf, parts), memory) in o.leaves.iter().zip(&gathered).zip(&o.kept) {
                        e.keep_lanes(leaf.ty, parts, memory, &at);
                    }
                    after.0.extend(before.by_ref().take(self.carried_by(e, o)));
                }
                (Finish::Scan { combine, .. }, None) => {
                    let (types, Some(carry)) = (o.types(), o.carried(&mut before)) else { continue };
                    if self.form == Form::Totals {
                        let next = e.fold_by(combine, &types, &elements, &carry, last.as_ref());
                        o.carry(e, next, &mut after);
                        continue;
                    }
                    let (scanned, next) = e.scan_by(combine, &types, &elements, &carry, last.as_ref());
                    o.carry(e, next, &mut after);
                    if !self.is_preceded(o) {
                        combined.extend(scanned);
                        continue;
                    }
                    let leaves = o.leaves.iter().map(|l| {
                        let before = self.before(e, *l);
                        e.splat(&before, element(l.ty))
                    });
                    let leaves = leaves.collect();
                    let there = if self.form == Form::Whole {
                        Operand::text("true")
                    } else {
                        let there = e.word(Word::Preceded(o.leaves.first().map_or(0, |l| l.number)));
                        put!(e, "icmp ne i64 {there}, 0")
                    };
                    combined.extend(e.prepend_by(combine, &types, &Carry { there, leaves }, &scanned));
                }
                (Finish::Store, _) => results.extend(o.leaves.iter().copied().zip(elements)),
                (Finish::Scatter { .. } | Finish::Segments { .. } | Finish::Compact, _) => {}
            }
        }
        if self.form == Form::Totals {
            return after;
        }
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
        after
    }

    /// Whether steps carry on what a known operator has scanned.
    pub(super) fn follows(&self, o: &Out<'_>) -> bool {
        o.is_scan() && (self.form != Form::Totals || o.mark.is_some())
    }

    /// Whether lanes keep partial results of a known operator: folds, and the totals of chunks that are scanned, which a scan
    /// of them alone would find more slowly.
    pub(super) fn sums_up(&self, o: &Out<'_>) -> bool {
        !o.is_scan() || (o.mark.is_none() && self.form != Form::Whole)
    }

    /// Whether anything comes before the elements of a row or chunk that are scanned.
    fn is_preceded(&self, o: &Out<'_>) -> bool {
        matches!(self.form, Form::Chunk { .. }) || (self.form == Form::Whole && o.output.finish.has_init())
    }

    /// Where the result of a scan stands whose element is the first column of the row: whole rows have their initial value,
    /// too.
    fn scanned_row(&self, e: &mut Emitter<'a>, o: &Out<'a>) -> Operand {
        if self.form != Form::Whole || !o.output.finish.has_init() {
            return self.row.clone();
        }
        let extent = e.word(Word::Extent(self.kernel.axes.len() as u32 - 1));
        let before = put!(e, "udiv i64 {}, {extent}", self.row);
        let before = if self.right { before } else { put!(e, "add i64 {before}, 1") };
        put!(e, "add i64 {}, {before}", self.row)
    }

    /// Stores the initial value of a whole row's scan: before the first result from the left, or behind the last one.
    pub(super) fn store_init(&self, e: &mut Emitter<'a>, o: &Out<'a>) {
        let row = self.scanned_row(e, o);
        let column =
            if self.right { e.word(Word::Extent(self.kernel.axes.len() as u32 - 1)) } else { Operand::int(-1) };
        for &leaf in &o.leaves {
            let (before, out, mem) = (self.before(e, leaf), e.word(Word::Out(leaf.number)), stored(leaf.ty));
            let before = if leaf.ty == ScalarType::Bool { put!(e, "zext i1 {before} to i8") } else { before };
            let to = put!(e, "getelementptr {mem}, ptr {out}, i64 {row}");
            let to = put!(e, "getelementptr {mem}, ptr {to}, i64 {column}");
            e.w.line(format_args!("store {mem} {before}, ptr {to}, align {}, !noalias !2", leaf.ty.size()));
        }
    }
}
