//! The kernels, by family.

pub mod axes;
pub mod bodies;
pub mod counting;
pub mod filter;
pub mod gradients;
pub mod mandelbrot;
pub mod options;
pub mod papers;
pub mod products;
pub mod scans;
pub mod sort;
pub mod sparse;
pub mod stencils;
pub mod stream;

use crate::row::Row;
use acc_core::prelude::{Matrix, ScalarElt, Vector};

/// Every kernel at every size, each made when it is timed.
pub fn all() -> Vec<Box<dyn Fn() -> Row>> {
    let families = [
        stream::rows,
        options::rows,
        mandelbrot::rows,
        bodies::rows,
        stencils::rows,
        axes::rows,
        scans::rows,
        filter::rows,
        sort::rows,
        counting::rows,
        products::rows,
        sparse::rows,
        papers::rows,
        gradients::rows,
    ];
    families.iter().flat_map(|rows| rows()).collect()
}

/// A number of elements as in `1.6e7`.
pub fn label(n: usize) -> String {
    format!("{:e}", n as f64)
}

fn vector<E: ScalarElt + Copy>(values: &[E]) -> Vector<E> {
    Vector::from(values.to_vec())
}

fn matrix<E: ScalarElt + Copy>(n: usize, values: &[E]) -> Matrix<E> {
    Matrix::from_vec((n, n), values.to_vec()).unwrap_or_else(|e| panic!("a square matrix: {e}"))
}
