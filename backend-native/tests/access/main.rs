//! Loads and stores by access pattern.

#[path = "../common/mod.rs"]
mod common;

mod comparisons;
mod guarded;
mod interleaved;
mod layout;
mod multi_row;
mod permuted_axes;
mod repeated;
mod subword_gather;
mod wrapped_and_clamped;
