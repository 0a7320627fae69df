//! Loops over lanes, of which the tile executor of `backend-native` is made.
//!
//! A loop applies one operation, or a chain of them, to many values of one scalar type, and is compiled for several
//! processors ([`versions`]). These loops take most of the build time of the native backend, change rarely, and know
//! nothing of programs and kernels: hence a crate of their own, which no other crate is meant to use.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod chain_ops;
pub mod choices;
pub mod int;
pub mod lanes;
pub mod memory;
mod ops;
pub mod prims;
pub mod reduce;
pub mod register_blocks;
pub mod scans;
pub mod segments;
mod types;
pub mod versions;
