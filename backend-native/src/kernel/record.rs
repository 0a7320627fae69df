//! Scatters of records: all leaves of an element have one type, and are combined by one operation.

use super::{Kernel, Sink, Update};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

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

/// A record fits into a cache line.
const MAX_RECORD_BYTES: usize = 64;

impl Kernel {
    /// The records of the kernel's scatter, if its elements have several leaves that can be combined as such.
    pub(crate) fn record(&self) -> Option<Record> {
        let [output] = &self.outputs[..] else { return None };
        let Sink::Scatter { builtin: Some(updates), .. } = &output.sink else { return None };
        let operation = |u: &Update| match *u {
            Update::Prim(p) | Update::PrimOldFirst(p) if p.is_reduction() => Some(p),
            Update::Prim(_) | Update::PrimOldFirst(_) | Update::New | Update::Old => None,
        };
        let mut types = self.values(output).iter().skip(output.sink.lead()).map(|&v| self.element.ty(v));
        let (op, ty) = (operation(updates.first()?)?, types.next()?);
        let places = updates.len().next_power_of_two();
        let uniform = updates.iter().all(|u| operation(u) == Some(op)) && types.all(|t| t == ty) && ty.is_num();
        (uniform && places > 1 && places * ty.size() <= MAX_RECORD_BYTES).then_some(Record { op, ty, places })
    }
}
