//! The programs of the papers' rows, written as a user writes them. Each command times them beside kernels written by hand.

pub mod dex;
pub mod network;
pub mod scheduled;
pub mod tensors;
