//! Plans: kernels, what is fused, what is stored.

#[path = "../common/mod.rs"]
mod common;

mod deep;
mod explain;
mod fusion;
