//! The tensor kernels of Susungi, Rink, Cohen, Castrillon, Tadonki: Meta-programming for Cross-Domain Tensor Optimizations
//! (2018), with the extents that are measured there.

mod contractions;
mod convolution;
mod doubles;
mod elements;
mod images;

use crate::row::Row;
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [contractions::rows(), convolution::rows(), elements::rows(), images::rows()].into_iter().flatten().collect()
}

/// An array of this shape.
fn tensor<Sh: Shape>(shape: impl IntoShape<Sh>, values: &[f64]) -> Array<Sh, f64> {
    Array::from_vec(shape, values.to_vec()).unwrap_or_else(|e| panic!("a tensor: {e}"))
}

/// How far a sum may be from that by hand, which rounds once for a product and a sum and adds in another order.
const TOLERANCE: f64 = 1e-12;
