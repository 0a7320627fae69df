//! libtorch, through `tch`: the only module that names it.
//!
//! Every call that can raise a C++ exception is made in its fallible form, so that the exception becomes a
//! [`TorchError`]. The calls used without one (`size`, `kind`, `data_ptr` of a defined tensor) raise nothing.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod device;
mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the executor, which opens sessions, is not written yet"))]
mod setup;
#[cfg_attr(not(test), expect(dead_code, reason = "the executor, which transfers, is not written yet"))]
mod transfer;

pub use device::Device;
pub use error::TorchError;
pub use setup::Setup;
