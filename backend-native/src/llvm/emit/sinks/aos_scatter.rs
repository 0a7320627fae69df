//! Scatters into arrays of structures: one vector operation combines all leaves of an element.

use crate::kernel::Record;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::value::{Parts, Shape};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg};

/// Iterations unrolled in the loop over lanes.
const LANES_PER_ITERATION: usize = 4;

impl Emitter<'_> {
    /// Combines the active lanes of a step one after the other.
    pub(crate) fn scatter_records(&mut self, record: Record, leaves: &[Leaf], positions: &Parts) {
        let columns: Vec<Parts> = leaves.iter().map(|l| self.vectors(l.value)).collect();
        let new = (0..self.code.width.parts)
            .map(|part| self.code.interleave_leaves(record, columns.iter().map(|c| c[part].clone())));
        let new: Parts = new.collect();
        let vector = Shape::Vector(record.places).of(element(record.ty));
        if self.code.is_alone() {
            for (position, new) in positions.iter().zip(&new) {
                let position = put!(self.code.f, "extractelement <1 x i64> {position}, i64 0");
                self.code.combine_record(record, &position, new);
            }
            return;
        }
        let at = self.code.spill("i64", positions);
        let buffer = self.code.buffer(element(record.ty), record.places);
        let lanes = self.code.width.lanes;
        let all = Shape::Vector(lanes * record.places).of(element(record.ty));
        for (part, new) in new.iter().enumerate() {
            let p = put!(self.code.f, "getelementptr {vector}, ptr {buffer}, i64 {}", part * lanes);
            self.code.f.w.line(format_args!("store {all} {new}, ptr {p}, align {}", record.size()));
        }
        self.each_lane(LANES_PER_ITERATION, &mut |e, k| {
            let (position, new) = (e.code.f.one_of("i64", &at, k), e.code.f.one_of(&vector, &buffer, k));
            e.code.combine_record(record, &position, &new);
        });
    }
}

impl VectorCode {
    /// Interleaves the leaves of a part, those of each lane side by side.
    fn interleave_leaves(&mut self, record: Record, leaves: impl Iterator<Item = Operand>) -> Operand {
        let none = Operand::text("zeroinitializer");
        let mut columns: Vec<Operand> = leaves.collect();
        columns.resize(record.places, none.clone());
        let mut lanes = self.width.lanes;
        while columns.len() > 1 {
            let ty = Shape::Vector(lanes).of(element(record.ty));
            let order: Vec<String> = (0..lanes).map(|k| format!("i32 {k}, i32 {}", lanes + k)).collect();
            let order = order.join(", ");
            let (even, odd) = columns.split_at(columns.len() / 2);
            let pairs = even
                .iter()
                .zip(odd)
                .map(|(a, b)| put!(self.f, "shufflevector {ty} {a}, {ty} {b}, <{} x i32> <{order}>", 2 * lanes));
            columns = pairs.collect();
            lanes *= 2;
        }
        columns.into_iter().next().unwrap_or(none)
    }

    /// Combines an element with the record at its target.
    fn combine_record(&mut self, record: Record, position: &Operand, new: &Operand) {
        let shape = Shape::Vector(record.places);
        let (vector, size, out) = (shape.of(element(record.ty)), record.size(), self.f.arg(KernelArg::Output(0)));
        let p = put!(self.f, "getelementptr {vector}, ptr {out}, i64 {position}");
        let old = put!(self.f, "load {vector}, ptr {p}, align {size}, !noalias !2");
        let combined = self.operation(record.op, record.ty, shape, &[new.clone(), old]);
        self.f.w.line(format_args!("store {vector} {combined}, ptr {p}, align {size}, !noalias !2"));
    }
}
