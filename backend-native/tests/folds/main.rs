//! Folds and scans, in each of the ways in which they are computed.

#[path = "../common/mod.rs"]
mod common;

mod column_blocks;
mod fallible;
mod pairwise_folds;
mod scans;
mod short_rows;
