//! libtorch, through `tch`: the only module that names it.
//!
//! Every call that can raise a C++ exception is made in its fallible form, so that the exception becomes a
//! [`TorchError`]. The calls used without one (`size`, `kind`, `data_ptr` of a defined tensor) raise nothing.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod backend;
mod device;
mod error;
mod exec;
mod memory;
mod numbers;
mod options;
mod setup;
mod tensors;
mod threads;
mod transfer;
mod workers;

pub use backend::{Libtorch, Prepared};
pub use device::Device;
pub use error::TorchError;
pub use options::Options;
pub use setup::Setup;
pub use tensors::{array_of_tensor, tensor_of_array};
