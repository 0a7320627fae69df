//! Scatters that are more than one element after the other: of records, all leaves of which have one type and are combined by one
//! operation; and of an array into a row of another one, as the state of a step is put in a history, or an adjoint added.

use super::build::only;
use super::{AxisKind, Body, Initial, Ix, Kernel, Load, Op, Sink, Update};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, PrimOp, Val};

/// Elements of a scatter as an array of structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// What combines each leaf.
    pub op: PrimOp,
    /// The type of each leaf.
    pub ty: ScalarType,
    /// Leaves in a record, padded to a power of two, so that a vector holds all of them.
    pub places: usize,
}

impl Record {
    /// Its bytes.
    pub(crate) fn size(self) -> usize {
        self.places * self.ty.size()
    }
}

/// An array with a row replaced, or combined with other elements. Its rows have one axis less than it has itself.
#[derive(Clone, Debug)]
pub(crate) struct RowUpdate {
    /// The array before.
    pub array: ArrayId,
    /// The elements of the row, or those that it is combined with.
    pub source: ArrayId,
    /// What combines each leaf; none where the row is replaced.
    pub combine: Option<PrimOp>,
    /// The number of the row: a [trivial](super::Body::is_trivial) body.
    pub row: Body,
}

/// A record fits into a cache line.
const MAX_RECORD_BYTES: usize = 64;

impl Kernel {
    /// The records of the kernel's scatter, if its elements have several leaves that can be combined as such.
    pub(crate) fn record(&self) -> Option<Record> {
        let [output] = &self.outputs[..] else { return None };
        let Sink::Scatter { builtin: Some(updates), .. } = &output.sink else { return None };
        let mut types = self.values(output).iter().skip(output.sink.lead()).map(|&v| self.element.ty(v));
        let (op, ty) = (reduction(*updates.first()?)?, types.next()?);
        let places = updates.len().next_power_of_two();
        let uniform = updates.iter().all(|u| reduction(*u) == Some(op)) && types.all(|t| t == ty) && ty.is_num();
        (uniform && places > 1 && places * ty.size() <= MAX_RECORD_BYTES).then_some(Record { op, ty, places })
    }

    /// What the kernel does, if it puts a stored array into a row of another one, or adds it there, and nothing else.
    pub(crate) fn row_update(&self) -> Option<RowUpdate> {
        let [output] = &self.outputs[..] else { return None };
        let Sink::Scatter { initial: Initial::Array(array), builtin: Some(updates), rank, .. } = &output.sink else {
            return None;
        };
        let body = &self.element;
        let (taken, target) = self.values(output).split_first()?;
        let (target, leaves) = target.split_at_checked(*rank)?;
        let (row, within) = target.split_first()?;
        let all_taken = body.consts.iter().any(|(v, l)| v == taken && l.bits != 0);
        let in_order = within == &body.region.params[..] && self.axes.iter().all(|axis| *axis == AxisKind::Parallel);
        // The lesser of two zeros depends on which one comes first.
        let commutes = |p: &PrimOp| match p {
            PrimOp::AddP | PrimOp::MulP => leaves.iter().all(|v| body.ty(*v).is_num()),
            _ => leaves.iter().all(|v| body.ty(*v).is_int()),
        };
        let first = *updates.first()?;
        let combine = reduction(first).filter(commutes);
        let uniform = updates.iter().all(|u| *u == first) && (first == Update::New || combine.is_some());
        let mut row = only(body, vec![*row]);
        let of_point = row.region.params.iter().any(|p| row.used()[p.index()]);
        row.region.params.clear();
        let source = self.load(leaves)?;
        let whole = source.leaves.iter().enumerate().all(|(k, leaf)| k == *leaf as usize);
        let at_point = source.index.len() == self.axes.len() && source.index.iter().enumerate().all(is_axis);
        let alone = body.region.nodes.len() == row.region.nodes.len() + 1 && self.epilogue.is_none();
        let holds = all_taken && in_order && uniform && whole && at_point && alone && !of_point && row.is_trivial();
        holds.then_some(RowUpdate { array: *array, source: source.array, combine, row })
    }

    /// The read whose results these values are.
    fn load(&self, results: &[Val]) -> Option<&Load> {
        self.element.region.nodes.iter().find_map(|n| match &n.op {
            Op::Index(load) if n.results[..] == *results && load.edge.is_none() => Some(load),
            _ => None,
        })
    }
}

/// The reduction by which elements are combined, whichever comes first.
fn reduction(u: Update) -> Option<PrimOp> {
    match u {
        Update::Prim(p) | Update::PrimOldFirst(p) if p.is_reduction() => Some(p),
        Update::Prim(_) | Update::PrimOldFirst(_) | Update::New | Update::Old => None,
    }
}

/// Whether an index is that along the axis of its position.
fn is_axis((position, index): (usize, &Ix)) -> bool {
    matches!(*index, Ix::Affine { axis, scale: 1, offset: 0, base: None } if axis as usize == position)
}
