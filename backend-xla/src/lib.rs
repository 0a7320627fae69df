//! The executor on XLA: graphs become modules of StableHLO, which a plugin of PJRT compiles and runs.
//!
//! A plugin is a shared library, found when the process first asks for it ([`status`]); `scripts/xla.sh` of the repository
//! brings one for the CPU.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod argument;
mod backend;
mod collectives;
mod device;
mod ffi;
mod find;
mod layout;
mod mesh;
mod run;
mod sharded;
mod stages;
mod tensors;
mod worker;

pub use backend::{Prepared, Xla};
pub use collectives::collectives;
pub use ffi::About;
pub use find::{HOW_TO_GET_JAXLIB, HOW_TO_GET_ONE, JAXLIB_VERSION, Status, jaxlib as jaxlib_folder, status};
pub use mesh::Mesh;
pub use sharded::{CallOn, Cut, FilesError, MeshArgument, MeshArguments, OnMesh, Sharded};
pub use worker::{Collective, DEFAULT_PORT, Place, is_launched, trace_file, trace_name, variables};
