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
mod int;
pub(crate) mod lanes;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod memory;
mod ops;
mod order;
pub(crate) mod pieces;
pub(crate) mod position;
pub(crate) mod prims;
pub(crate) mod reduce;
mod same;
pub(crate) mod scans;
pub(crate) mod scatter;
pub(crate) mod segments;
pub(crate) mod steps;
pub(crate) mod tape;
mod turn;
pub(crate) mod turned;
pub(crate) mod versions;
mod words;
