//! Folds and scans, with each of their strategies.

#[path = "../common/mod.rs"]
mod common;

mod column_blocks;
mod fallible;
mod guarded_terms;
mod pairwise_folds;
mod register_tiles;
mod row_pairs;
mod scans;
mod segments;
mod short_rows;
