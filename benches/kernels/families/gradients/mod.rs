//! Losses, and losses with their gradients, beside both written by hand: the gradient in reverse mode, derived by hand.

mod bodies;
mod clusters;
mod heat;
mod histogram;
mod mixture;
mod scan;

use super::{label, vector};
use crate::row::Row;
use acc_core::prelude::{Matrix, ScalarElt};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [mixture::rows(), clusters::rows(), histogram::rows(), scan::rows(), bodies::rows(), heat::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// What a row computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Loss,
    WithGradient,
}

/// The rows of a problem: the loss alone, and with its gradient.
fn both(make: impl Fn(What) -> Row + Copy + 'static) -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(move || make(What::Loss)), Box::new(move || make(What::WithGradient))]
}

/// A matrix of this many columns.
fn rows_of<E: ScalarElt + Copy>(columns: usize, values: &[E]) -> Matrix<E> {
    let shape = (values.len() / columns, columns);
    Matrix::from_vec(shape, values.to_vec()).unwrap_or_else(|e| panic!("rows of {columns}: {e}"))
}
