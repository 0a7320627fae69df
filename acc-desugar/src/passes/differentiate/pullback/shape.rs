//! Adjoints of operations that move elements.

use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, Stmt, Val};

impl Reverse<'_, '_> {
    /// As a function of points that reads.
    pub(super) fn backpermute(&mut self, s: &Stmt, xs: ArrayId, index: &Fun, by: ArrayId) -> Result<(), Error> {
        let ty = self.w.ty(s.results[0]).clone();
        let mut c = Code::of_index(ty.rank, &self.w.loc);
        let at = c.inline(index, &c.params());
        let element = c.read(xs, &ty.elt.leaves(), &at);
        let op = ArrayOp::Generate { shape: self.w.extents_of(by), f: c.done(element) };
        self.through(ty, op, by)
    }

    pub(super) fn replicate(&mut self, xs: ArrayId, axes: &[Axis], by: ArrayId) {
        let kept: Vec<usize> = (0..axes.len()).filter(|k| axes[*k] == Axis::All).collect();
        let adjoint = self.sum_of_products(by, &kept);
        self.contribute_points(xs, adjoint);
    }

    pub(super) fn slice(&mut self, xs: ArrayId, axes: &[Axis], position: &Fun, by: ArrayId) {
        if !self.is_active(xs) {
            return;
        }
        if self.is_carried(xs) && axes.contains(&Axis::Fixed) {
            let target = self.slice_target(axes, position);
            return self.add_at(xs, by, target);
        }
        let elt = self.w.tangent_elt(xs);
        let leaves = elt.leaves();
        let adjoint = self.over(xs, elt, |c, index| {
            let fixed = c.inline(position, &[]);
            let mut fixed = fixed.into_iter();
            let mut there = c.truth(true);
            let mut kept: Vec<Val> = Vec::new();
            for (axis, i) in axes.iter().zip(index) {
                match axis {
                    Axis::All => kept.push(*i),
                    Axis::Fixed => {
                        if let Some(p) = fixed.next() {
                            let same = c.two(PrimOp::EqP, *i, p);
                            there = c.two(PrimOp::AndP, there, same);
                        }
                    }
                }
            }
            c.read_where(there, by, &leaves, &kept)
        });
        self.contribute(xs, adjoint);
    }

    /// The targets of a permute that puts elements where a slice reads them.
    pub(super) fn slice_target(&self, axes: &[Axis], position: &Fun) -> Fun {
        let rank = axes.iter().filter(|axis| **axis == Axis::All).count();
        let mut target = Code::of_index(rank, &self.w.loc);
        let mut kept = target.params().into_iter();
        let taken = target.literal(Lit::one(ScalarType::U8));
        let mut fixed = target.inline(position, &[]).into_iter();
        let along = |axis: &Axis| match axis {
            Axis::All => kept.next(),
            Axis::Fixed => fixed.next(),
        };
        let place: Vec<Val> = std::iter::once(taken).chain(axes.iter().filter_map(along)).collect();
        target.done(place)
    }
}
