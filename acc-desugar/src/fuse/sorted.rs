//! Sorted arrays: those that a program reads at the positions that sort them.
//!
//! Where nothing else needs the positions, elements can be sorted themselves, and no position is computed or stored.
//! Functions are compared as what they compute of the index, however they are spelled.

use super::uses::{By, Read, Uses};
use crate::analysis::contraction::Definitions;
use crate::analysis::extents::Extents;
use acc_core::ir::{self, ArrayId, ArrayOp, Program, ScalarOp, Stmt};

/// The array that a statement has the positions for that sort it.
pub(super) fn keys(s: &Stmt) -> Option<ArrayId> {
    let ArrayOp::Argsort { xs } = s.op else { return None };
    Some(xs)
}

/// The positions that a statement, by its number, reads an array at that they sort, if nothing else needs them.
pub(super) fn positions(
    p: &Program,
    defs: &Definitions<'_>,
    uses: &Uses<'_>,
    extents: &mut Extents,
    k: usize,
) -> Option<ArrayId> {
    let s = uses.sites[k].stmt;
    let ArrayOp::Backpermute { index, xs, .. } = &s.op else { return None };
    let mut reads = Vec::new();
    index.body.visit(0, &mut |n, _| {
        if let ScalarOp::Index(ir::Read { array, .. }) = &n.op {
            reads.push(*array);
        }
    });
    let [positions] = reads[..] else { return None };
    if keys(defs.get(positions)?) != Some(*xs) {
        return None;
    }
    let point: Vec<_> = (0..p.ty(positions).rank).map(|axis| extents.point(axis)).collect();
    let place = extents.read(positions, 0, &point);
    let (_, outer) = point.split_last()?;
    let element_by_element = extents.values(index, &point, None) == [outer, &[place]].concat();
    let alone = uses.of[positions.index()].iter().all(|u| match u.by {
        By::Stmt(by) => by == k || u.read == Read::Measured,
        By::Block(_) => false,
    });
    let together = uses.sites[uses.def[positions.index()]?].block == uses.sites[k].block;
    let whole = extents.of(s.results[0]) == extents.of(positions);
    (element_by_element && alone && together && whole).then_some(positions)
}
