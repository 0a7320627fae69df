//! The kernels, by family.

pub mod counting;
pub mod grids;
pub mod linear;
pub mod math;
pub mod scans;
pub mod stream;

use crate::row::Row;
use acc_core::prelude::{ScalarElt, Vector};

/// Every kernel at every size, made when it is its turn.
pub fn all() -> Vec<Box<dyn Fn() -> Row>> {
    let mut out = stream::rows();
    out.extend(math::rows());
    out.extend(grids::rows());
    out.extend(scans::rows());
    out.extend(counting::rows());
    out.extend(linear::rows());
    out
}

/// A number of elements as in `1.6e7`.
pub fn label(n: usize) -> String {
    format!("{:e}", n as f64)
}

fn vector<E: ScalarElt + Copy>(values: &[E]) -> Vector<E> {
    Vector::from(values.to_vec())
}
