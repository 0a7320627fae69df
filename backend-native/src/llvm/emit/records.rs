//! Scatters into records: one operation on vectors combines all leaves of an element.

use super::ending::Leaf;
use super::text::{Operand, element, put};
use super::value::{Parts, Shape};
use super::{Emitter, Word};
use crate::kernel::Record;

/// Lanes that a turn of the loop over them combines.
const AT_ONCE: usize = 4;

impl Emitter<'_> {
    /// Takes the lanes of a step that are on in turn.
    pub(super) fn by_records(&mut self, record: Record, leaves: &[Leaf], positions: &Parts) {
        let columns: Vec<Parts> = leaves.iter().map(|l| self.lanes(l.value)).collect();
        let new = (0..self.width.parts).map(|part| self.interleaved(record, columns.iter().map(|c| c[part].clone())));
        let new: Parts = new.collect();
        let vector = Shape::Lanes(record.places).of(element(record.ty));
        if self.is_alone() {
            for (position, new) in positions.iter().zip(&new) {
                let position = put!(self, "extractelement <1 x i64> {position}, i64 0");
                self.combine_record(record, &position, new);
            }
            return;
        }
        let at = self.spill("i64", positions);
        let buffer = self.buffer(element(record.ty), record.places);
        let lanes = self.width.lanes;
        let all = Shape::Lanes(lanes * record.places).of(element(record.ty));
        for (part, new) in new.iter().enumerate() {
            let p = put!(self, "getelementptr {vector}, ptr {buffer}, i64 {}", part * lanes);
            self.w.line(format_args!("store {all} {new}, ptr {p}, align {}", record.size()));
        }
        self.each_lane(AT_ONCE, &mut |e, k| {
            let (position, new) = (e.one_of("i64", &at, k), e.one_of(&vector, &buffer, k));
            e.combine_record(record, &position, &new);
        });
    }

    /// The leaves of a part's lanes, those of each lane side by side.
    fn interleaved(&mut self, record: Record, leaves: impl Iterator<Item = Operand>) -> Operand {
        let none = Operand::text("zeroinitializer");
        let mut columns: Vec<Operand> = leaves.collect();
        columns.resize(record.places, none.clone());
        let mut lanes = self.width.lanes;
        while columns.len() > 1 {
            let ty = Shape::Lanes(lanes).of(element(record.ty));
            let order: Vec<String> = (0..lanes).map(|k| format!("i32 {k}, i32 {}", lanes + k)).collect();
            let order = order.join(", ");
            let (even, odd) = columns.split_at(columns.len() / 2);
            let pairs = even
                .iter()
                .zip(odd)
                .map(|(a, b)| put!(self, "shufflevector {ty} {a}, {ty} {b}, <{} x i32> <{order}>", 2 * lanes));
            columns = pairs.collect();
            lanes *= 2;
        }
        columns.into_iter().next().unwrap_or(none)
    }

    /// Combines an element with the record at its target.
    fn combine_record(&mut self, record: Record, position: &Operand, new: &Operand) {
        let shape = Shape::Lanes(record.places);
        let (vector, size, out) = (shape.of(element(record.ty)), record.size(), self.word(Word::Out(0)));
        let p = put!(self, "getelementptr {vector}, ptr {out}, i64 {position}");
        let old = put!(self, "load {vector}, ptr {p}, align {size}, !noalias !2");
        let combined = self.operation(record.op, record.ty, shape, &[new.clone(), old]);
        self.w.line(format_args!("store {vector} {combined}, ptr {p}, align {size}, !noalias !2"));
    }
}
