//! The tile executor: runs bodies of the kernel IR as bytecode over tiles of lanes that stay in the cache.
//!
//! Every value of a body has a buffer of lanes; an instruction is one vectorised loop over them. At a conditional the
//! lanes are partitioned, and each side runs on the lanes that take it; a loop runs on the lanes that have not left.
//! Results do not depend on how lanes are grouped into tiles.

pub(crate) mod access;
pub(crate) mod bytecode;
mod chain;
mod control;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod scatter;

/// The loops that instructions consist of.
pub(crate) use backend_native_lanes::{
    chain_ops, choices, int, lanes, prims, reduce, register_blocks, scans, segments, versions,
};
