//! Loops over lanes: what the tile executor of `backend-native` is made of.
//!
//! A loop does one operation, or a chain of them, to many values of one scalar type, and is compiled for several processors
//! ([`versions`]). Such loops take most of the time that the native backend takes to compile, change rarely, and know nothing
//! of programs and kernels: hence a crate of their own, which no other crate is meant to use.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod int;
pub mod lanes;
pub mod memory;
mod ops;
pub mod pieces;
pub mod prims;
pub mod reduce;
pub mod scans;
pub mod segments;
pub mod steps;
mod types;
pub mod versions;
