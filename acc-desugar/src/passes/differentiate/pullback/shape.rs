//! Adjoints of operations that move elements.

use super::super::sweep::Site;
use super::Reverse;
use acc_core::Error;
use acc_core::ir::{ArrayId, Axis, Fun, PrimOp, Val};

impl Reverse<'_, '_> {
    pub(super) fn backpermute(&mut self, xs: ArrayId, index: &Fun, by: ArrayId) -> Result<(), Error> {
        if !self.is_active(xs) {
            return Ok(());
        }
        let (mut code, lanes) = self.lanes(&[by]);
        let at = code.inline(index, &lanes.index);
        let floats = super::super::writer::float_leaves(self.w.elt(xs));
        let leaves = floats.into_iter().map(|leaf| leaf as u32).zip(lanes.elements[0].iter().copied()).collect();
        let site = Site { array: xs, index: at, guard: None, leaves, loc: self.w.loc.clone() };
        self.site(&lanes, code, &site);
        Ok(())
    }

    pub(super) fn replicate(&mut self, xs: ArrayId, axes: &[Axis], by: ArrayId) {
        let kept: Vec<usize> = (0..axes.len()).filter(|k| axes[*k] == Axis::All).collect();
        let adjoint = self.fold_axes(by, &kept);
        self.contribute(xs, adjoint);
    }

    pub(super) fn slice(&mut self, xs: ArrayId, axes: &[Axis], position: &Fun, by: ArrayId) {
        if !self.is_active(xs) {
            return;
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
}
