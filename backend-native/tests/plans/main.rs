//! Plans: kernels, what is fused, what is stored.

#[path = "../common/mod.rs"]
mod common;

mod explain;
mod fusion;
