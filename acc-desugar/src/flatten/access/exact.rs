//! Reads of graphs whose faults are exact: each lane's position is looked at, and the elements are a view where the index is affine.
//!
//! The views have zeros around the array, for positions that are out of bounds: none is clamped before it is read, and the rules
//! over the graph find windows and products of matrices in these graphs as they do in others.

use crate::flatten::Flattener;
use crate::flatten::access::axis_access::AxisAccess;
use crate::flatten::access::read::{Lookup, clamp_at, clamp_size};
use crate::flatten::scalar::Scalar;
use crate::graph::Value;

impl Flattener<'_> {
    /// Reads axis by axis at an index whose components are uniform sizes or affine, each along other axes of the lanes.
    pub(super) fn read_exactly(
        &mut self,
        at: &Lookup<'_>,
        shape: &[Value],
        columns: &[Value],
        index: &[Scalar],
    ) -> Option<Vec<Value>> {
        let parts = self.indices.along_other_axes(at, index)?;
        if !parts.iter().all(|a| a.has_near_neighbours(&self.b)) {
            return None;
        }
        let (mut bad, mut details): (Option<Scalar>, Vec<Value>) = (None, Vec::new());
        let mut accesses = Vec::new();
        for ((s, a), n) in index.iter().zip(parts).zip(shape) {
            let position = self.indices.value(&mut self.b, *s);
            details.push(position);
            if a.terms.is_empty() {
                let (out, safe) = clamp_size(&mut self.b, position, *n);
                bad = Some(self.indices.either(&mut self.b, bad, Scalar::Size(out)));
                accesses.push(AxisAccess::Position(safe));
                continue;
            }
            if a.is_own_axis(&self.b, *n) {
                accesses.push(AxisAccess::Whole(a.terms[0].axis.axis));
                continue;
            }
            if self.is_guarded(&a, *n) {
                self.note_read(&a, *n);
            } else {
                let (out, _) = clamp_at(&mut self.b, position, *n);
                bad = Some(self.indices.either(&mut self.b, bad, Scalar::Tensor(out)));
            }
            accesses.push(AxisAccess::windows(&a, true));
        }
        self.check_index(at, bad, details, shape);
        Some(columns.iter().map(|c| self.read_column(*c, &accesses, at.space)).collect())
    }
}
