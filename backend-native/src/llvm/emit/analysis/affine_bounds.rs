//! Bounds of indices that are affine sums over axes, such as those of sliding windows: one comparison of each bound
//! proves that all are in range.

use crate::kernel::access::{Affine, Index};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::text::{Operand, put};
use acc_core::ir::Val;

/// Steps and extents below these limits cannot overflow in a sum of a few products.
const STEP_LIMIT: u64 = 1 << 20;
const EXTENT_LIMIT: i64 = 1 << 40;
/// Axes and values of a sum; longer sums are checked lane by lane.
const MAX_TERMS: usize = 4;

/// Whether the bounds of a sum are computed without overflow.
fn fits(sum: &Affine) -> bool {
    let is_small = |f: i64| f.unsigned_abs() < STEP_LIMIT;
    let is_short = sum.terms.len() + sum.base.terms.len() <= MAX_TERMS;
    is_short && sum.terms.iter().all(|t| is_small(t.step.offset)) && is_small(sum.base.offset / EXTENT_LIMIT)
}

impl Emitter<'_> {
    /// The least and the greatest value of an affine sum; none if it is no sum, or part of it is not computed yet. Axes
    /// that are not bound yet have `ranges`: the first index and the one after the last.
    pub(crate) fn bounds_of_affine(
        &mut self,
        v: Val,
        ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>,
    ) -> Option<[Operand; 2]> {
        let Index::Affine(sum) = self.facts.accesses.index(v) else { return None };
        let base = &sum.base;
        if sum.is_uniform() || !fits(&sum) || !self.is_known(base) {
            return None;
        }
        let mut ends = [base.offset, base.offset].map(Operand::int);
        let mut add = |e: &mut Self, factor: i64, values: [Operand; 2]| {
            let values = if factor < 0 { [values[1].clone(), values[0].clone()] } else { values };
            for (end, value) in ends.iter_mut().zip(values) {
                let term = put!(e.code.f, "mul i64 {value}, {factor}");
                *end = put!(e.code.f, "add i64 {end}, {term}");
            }
        };
        for &(v, factor) in &base.terms {
            let value = self.scope.scalar(v);
            add(self, factor, [value.clone(), value]);
        }
        for (axis, factor) in sum.terms.iter().map(|t| (t.axis as usize, t.step.offset)) {
            match ranges(self, axis) {
                Some([first, end]) => {
                    let vast = put!(self.code.f, "icmp sgt i64 {end}, {EXTENT_LIMIT}");
                    self.code.f.bail_out_if(&vast);
                    let last = put!(self.code.f, "sub i64 {end}, 1");
                    add(self, factor, [first, last]);
                }
                None => {
                    let (Axis::Uniform(at) | Axis::Lanes(at)) = self.scope.axes[axis].clone();
                    add(self, factor, [at.clone(), at]);
                }
            }
        }
        Some(ends)
    }
}
