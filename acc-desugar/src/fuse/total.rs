//! Which statements may be evaluated though nothing needs them, and which end.

use super::cost::facts;
use super::uses::{Site, Uses};
use crate::analysis::extents::Extents;
use crate::analysis::transposition::{axes, is_whole};
use acc_core::ir::{ArrayId, ArrayOp, Fun, Read, ScalarOp, Stmt, arrays_of_fun};

/// For each statement, whether something holds of it and of all it needs that is not needed anyway.
fn with_all_it_needs(uses: &Uses<'_>, holds: impl Fn(&Stmt) -> bool) -> Vec<bool> {
    let mut all: Vec<bool> = Vec::with_capacity(uses.sites.len());
    for Site { stmt, .. } in &uses.sites {
        let there = |a: ArrayId| uses.def[a.index()].is_none_or(|d| uses.sites[d].strict || all.get(d) == Some(&true));
        let code = stmt.op.funs();
        let mut read =
            stmt.op.arrays().into_iter().chain(code.iter().flat_map(|(_, f)| arrays_of_fun(f)).map(|(a, _)| a));
        let here = holds(stmt) && read.all(there);
        all.push(here);
    }
    all
}

/// For each statement, whether it and all it needs end without a fault or are needed anyway.
pub(super) fn total_statements(uses: &Uses<'_>, extents: &Extents) -> Vec<bool> {
    with_all_it_needs(uses, |s| {
        let Some(&result) = s.results.first() else { return false };
        let sized = match &s.op {
            ArrayOp::Map { .. } | ArrayOp::Fold { init: Some(_), .. } | ArrayOp::Scan { .. } => true,
            ArrayOp::Generate { shape, .. } => is_as_large_as_another(extents, result, shape),
            ArrayOp::Backpermute { index, xs, .. } => {
                axes(index).is_some_and(|order| is_whole(extents, result, *xs, &order))
            }
            _ => false,
        };
        let of_points = matches!(s.op, ArrayOp::Generate { .. } | ArrayOp::Map { indexed: true, .. });
        let space = of_points.then_some(result);
        sized && s.op.funs().iter().all(|(_, f)| !is_partial(extents, f, space))
    })
}

/// Whether an array has as many elements as one of those by whose extents its own are given.
fn is_as_large_as_another(extents: &Extents, a: ArrayId, shape: &Fun) -> bool {
    let sorted = |a: ArrayId| {
        let mut extents = extents.of(a).to_vec();
        extents.sort_unstable();
        extents
    };
    let own = sorted(a);
    own.is_empty() || arrays_of_fun(shape).into_iter().any(|(other, _)| sorted(other) == own)
}

/// Whether a function may fault or not end; its first parameters are the coordinates of an array's points, if one is given.
fn is_partial(extents: &Extents, f: &Fun, space: Option<ArrayId>) -> bool {
    let ends = space.map_or(&[][..], |a| extents.of(a));
    let is_in_bounds = |read: &Read<_>| {
        let all = extents.of(read.array);
        all.len() == read.index.len()
            && read.index.iter().zip(all).all(|(v, extent)| {
                let axis = f.body.params.iter().position(|p| p == v);
                axis.and_then(|axis| ends.get(axis)) == Some(extent)
            })
    };
    let mut any = false;
    f.body.visit(0, &mut |node, _| {
        any |= match &node.op {
            ScalarOp::Index(read) => !is_in_bounds(read),
            // What they hold is visited itself.
            ScalarOp::If { .. } => false,
            op => op.is_partial(),
        }
    });
    any
}

/// For each statement, whether it and all it needs end, be it with a fault, or are needed anyway.
pub(super) fn ending_statements(uses: &Uses<'_>) -> Vec<bool> {
    with_all_it_needs(uses, |s| s.op.blocks().is_empty() && !facts(s).loops)
}
