//! The tile executor: runs bodies of the kernel IR over tiles of lanes that stay in the cache.
//!
//! Every value of a body has a buffer of lanes; an instruction is one vectorised loop over them. At a conditional the
//! lanes are partitioned, so that each side runs on the lanes that take it; a loop runs on the lanes that still go
//! on. Results do not depend on how lanes are grouped into tiles.

mod chain;
mod chains;
pub(crate) mod compile;
mod control;
mod edges;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod memory;
mod order;
pub(crate) mod position;
mod same;
pub(crate) mod scatter;
pub(crate) mod tape;
mod turn;
pub(crate) mod turned;
mod words;

/// The loops that instructions are.
pub(crate) use backend_native_lanes::{int, lanes, pieces, prims, reduce, scans, segments, steps, versions};
