//! The executor on XLA: graphs become modules of StableHLO, which a plugin of PJRT compiles and runs.
//!
//! A plugin is a shared library, found when the process first asks for it ([`status`]); `scripts/xla.sh` of the repository
//! brings one for the CPU.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod backend;
mod ffi;
mod find;
mod run;
mod stages;
mod tensors;

pub use backend::{Prepared, Xla};
pub use ffi::About;
pub use find::{HOW_TO_GET_ONE, Status, status};
