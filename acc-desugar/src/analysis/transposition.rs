//! Backpermutes that only change the order of axes.

use super::extents::Extents;
use acc_core::ir::{ArrayId, Fun};

/// For each axis of a backpermute's result the axis of its operand along which it runs, if its index has each coordinate once.
pub(crate) fn axes(index: &Fun) -> Option<Vec<usize>> {
    let (params, results) = (&index.body.params, &index.body.results);
    let order: Vec<usize> = params.iter().filter_map(|p| results.iter().position(|r| r == p)).collect();
    (order.len() == results.len() && params.len() == results.len()).then_some(order)
}

/// The same, if the order changes.
pub(crate) fn axis_order(index: &Fun) -> Option<Vec<usize>> {
    axes(index).filter(|order| !is_identity(order))
}

pub(crate) fn is_identity(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(k, &axis)| k == axis)
}

/// Of the axes of a transposition of another one's result, the axes of that one's operand.
pub(crate) fn composed(order: &[usize], inner: &[usize]) -> Vec<usize> {
    order.iter().map(|&axis| inner[axis]).collect()
}

/// Whether an array that has another one's axes in this order has all of its elements.
pub(crate) fn is_whole(extents: &Extents, result: ArrayId, xs: ArrayId, order: &[usize]) -> bool {
    let (own, all) = (extents.of(result), extents.of(xs));
    own.iter().zip(order).all(|(extent, &axis)| all.get(axis) == Some(extent))
}
