//! Backpermutes that only change the order of axes.

use super::extents::Extents;
use acc_core::ir::{ArrayId, Fun};
use std::collections::HashMap;

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

fn is_identity(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(k, &axis)| k == axis)
}

/// Whether an array that has another one's axes in this order has all of its elements.
pub(crate) fn is_whole(extents: &Extents, result: ArrayId, xs: ArrayId, order: &[usize]) -> bool {
    let (own, all) = (extents.of(result), extents.of(xs));
    own.iter().zip(order).all(|(extent, &axis)| all.get(axis) == Some(extent))
}

/// The elements of another array, each axis along one of that array's.
pub(crate) struct Transposed {
    pub of: ArrayId,
    pub order: Vec<usize>,
}

/// Arrays that are transpositions of others. One of a transposition is one of the array that this transposes.
#[derive(Default)]
pub(crate) struct Transpositions {
    found: HashMap<ArrayId, Transposed>,
}

impl Transpositions {
    pub(crate) fn get(&self, a: ArrayId) -> Option<&Transposed> {
        self.found.get(&a)
    }

    /// Takes note that a result has all elements of an array, and its axes in this order. If it has the axes of an array in their
    /// own order, it is that array.
    pub(crate) fn note(&mut self, result: ArrayId, xs: ArrayId, order: Vec<usize>) -> Option<ArrayId> {
        let transposed = match self.get(xs) {
            Some(inner) => Transposed { of: inner.of, order: order.iter().map(|&axis| inner.order[axis]).collect() },
            None => Transposed { of: xs, order },
        };
        if is_identity(&transposed.order) {
            return Some(transposed.of);
        }
        self.found.insert(result, transposed);
        None
    }
}
