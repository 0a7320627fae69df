//! Which statements end without a fault, whatever the arguments.

use super::extents::Extents;
use super::transposition::{axes, is_whole};
use acc_core::ir::{ArrayId, ArrayOp, Fun, Read, ScalarOp, Stmt, arrays_of_fun};

/// Whether a statement ends without a fault, if what it needs does.
pub(crate) fn is_total(s: &Stmt, extents: &Extents) -> bool {
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
