//! Epilogues over permuted axes: what reads the results of a scan with axes in another order, as a scan of columns does that
//! is written between two transpositions.

use super::super::kernel::{Kind, together};
use super::super::uses::{By, Read};
use super::join::Path;
use super::{Decider, Place};
use crate::analysis::transposition::axis_order;
use acc_core::ir::ArrayOp;

impl Decider<'_> {
    /// Makes the element-wise kernel that reads the results of a scan with axes in another order its epilogue, if nothing
    /// else reads them.
    pub(super) fn take_permuted_epilogue(&mut self, k: usize) {
        let Some(own) = self.number(k) else { return };
        let Some((number, order)) = self.permuting_reader(k) else { return };
        let (scan, after) = (self.kernel(own), self.kernel(number));
        let alone = scan.main.len() == 1 && scan.epilogue.is_empty() && matches!(scan.kind, Kind::Scan(_));
        let plain = after.kind == Kind::Points && after.epilogue.is_empty();
        let extents = self.extents.of(self.result(k));
        let permuted: Vec<_> = order.iter().filter_map(|&axis| extents.get(axis).copied()).collect();
        let needed = !scan.needed && !after.needed || together(scan, after);
        if !alone
            || !plain
            || after.space != permuted
            || !needed
            || !self.fit(scan, after)
            || self.depends(own, number) == Path::Around
        {
            return;
        }
        let (epilogue, space, kind) = (after.main.clone(), scan.space.clone(), scan.kind);
        self.merge(own, number);
        if let Some(new) = &mut self.kernels[number] {
            new.main.retain(|m| !epilogue.contains(m));
            new.epilogue = epilogue;
            new.after = permuted;
            new.order = Some(order);
            new.space = space;
            new.kind = kind;
        }
    }

    /// The kernel that alone reads the results of a scan, by one statement that permutes their axes, at its own points; and the
    /// order of these.
    fn permuting_reader(&self, k: usize) -> Option<(usize, Vec<usize>)> {
        let ArrayOp::Scan { .. } = &self.uses.sites[k].stmt.op else { return None };
        let mut readers = self.uses.of[self.result(k).index()].iter().filter(|u| u.read != Read::Measured);
        let (Some(reader), None) = (readers.next(), readers.next()) else { return None };
        let By::Stmt(by) = reader.by else { return None };
        let ArrayOp::Backpermute { index, .. } = &self.uses.sites[by].stmt.op else { return None };
        let number = match self.place[by] {
            Place::Apart => return None,
            Place::Kernel(number) => number,
            Place::Inlined => {
                let mut numbers = self.reads[by].keys().map(|&root| self.number(root));
                let first = numbers.next()??;
                let here = numbers.all(|n| n == Some(first)) && self.reads[by].values().all(|r| r.only_point());
                here.then_some(first)?
            }
        };
        axis_order(index).map(|order| (number, order))
    }
}
