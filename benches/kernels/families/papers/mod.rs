//! Kernels that papers about other languages measure, each in its natural form.

mod cnn;
mod dex;
mod tensors;

use crate::row::Row;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [tensors::rows(), dex::rows(), cnn::rows()].into_iter().flatten().collect()
}
