//! Scatters of rows: where the lanes of a step have consecutive targets, as where rows are added to rows, vectors are
//! combined with vectors. No two lanes have one target, so that each target takes its elements in the same order as
//! one by one.

use crate::kernel::{Accesses, Kernel, Sink, Uniformity, Update};
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::value::Parts;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// Narrower elements have no masked loads and stores on many processors.
const MIN_ELEMENT_BYTES: usize = 4;

/// Whether all scatters of a kernel, along these axes, are of rows.
pub(crate) fn scatters_rows(kernel: &Kernel, axes: &[Uniformity]) -> bool {
    let uniformities = Accesses::of(&kernel.element).uniformities(axes);
    kernel.record().is_none()
        && kernel.outputs.iter().all(|o| {
            let Sink::Scatter { builtin: Some(_), rank, .. } = &o.sink else { return false };
            let (index, leaves) = kernel.element.region.results[o.values.clone()][1..].split_at(*rank);
            is_of_rows(&uniformities, index.iter().copied(), leaves.iter().map(|v| kernel.element.ty(*v)))
        })
}

/// Whether targets at this index follow the lanes one by one.
fn is_of_rows(
    uniformities: &[Uniformity],
    index: impl DoubleEndedIterator<Item = Val>,
    mut types: impl Iterator<Item = ScalarType>,
) -> bool {
    let mut index = index.rev().map(|v| uniformities[v.index()]);
    index.next() == Some(Uniformity::Affine(1))
        && index.all(|u| u == Uniformity::Uniform)
        && types.all(|ty| ty.size() >= MIN_ELEMENT_BYTES)
}

impl Emitter<'_> {
    /// Whether the lanes of a step have consecutive targets.
    pub(crate) fn has_row_targets(&self, index: &[Leaf], leaves: &[Leaf]) -> bool {
        let index = index.iter().map(|l| l.value);
        self.code.width.lanes > 1 && is_of_rows(&self.facts.uniformities, index, leaves.iter().map(|l| l.ty))
    }

    /// The row-major position of the first lane's target; lanes out of bounds record a fault.
    pub(crate) fn first_target(&mut self, index: &[Leaf]) -> Operand {
        let ty = self.code.shape().of("i64");
        let mut position = Operand::int(0);
        for (d, leaf) in index.iter().enumerate() {
            let extent = self.code.f.arg(KernelArg::TargetExtent(d as u32));
            let (first, parts) = (self.scope.scalar(leaf.value), self.code.width.parts);
            let outside: Parts = if d + 1 < index.len() {
                let outside = put!(self.code.f, "icmp uge i64 {first}, {extent}");
                smallvec::smallvec![self.code.splat(&outside, "i1"); parts]
            } else {
                let n = self.code.splat(&extent, "i64");
                self.vectors(leaf.value).iter().map(|i| put!(self.code.f, "icmp uge {ty} {i}, {n}")).collect()
            };
            for (part, flags) in outside.iter().enumerate() {
                self.code.record_fault(part, flags);
            }
            let row = put!(self.code.f, "mul i64 {position}, {extent}");
            position = put!(self.code.f, "add i64 {row}, {first}");
        }
        position
    }

    /// Combines the active lanes of a step with the targets from a position on.
    pub(crate) fn combine_row(&mut self, leaves: &[Leaf], updates: &[Update], first: &Operand) {
        for (leaf, update) in leaves.iter().zip(updates) {
            let out = self.code.f.arg(KernelArg::Output(leaf.number));
            let new = self.vectors(leaf.value);
            let combined = match update {
                Update::Old => continue,
                Update::New => new,
                Update::Prim(p) | Update::PrimOldFirst(p) => self.combined(*p, *leaf, &new, &out, first),
            };
            self.store(leaf.ty, &combined, &out, first);
        }
    }

    /// New elements combined with those of the result. As in the tile executor: the operation is commutative if the old
    /// value stands first.
    fn combined(&mut self, op: PrimOp, leaf: Leaf, new: &Parts, out: &Operand, first: &Operand) -> Parts {
        let old = self.code.load_contiguous(leaf.ty, out, first, 1, None, ", !noalias !2");
        let (shape, pairs) = (self.code.shape(), new.iter().zip(&old));
        pairs.map(|(x, y)| self.code.operation(op, leaf.ty, shape, &[x.clone(), y.clone()])).collect()
    }
}
