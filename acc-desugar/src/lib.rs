//! From second-order array programs to first-order tensor graphs: simplification and flattening.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

pub mod contraction;
mod flatten;
pub mod fuse;
pub mod graph;
pub mod operators;
pub mod restart;
mod segments;
mod simplify;
mod turned;

pub use flatten::{Faults, flatten, flatten_with};
pub use segments::{Segmented, scan_segments};
pub use simplify::{
    RULES, Rule, Rules, map_funs, map_op, pass_names, simplify, simplify_until, simplify_with, simplify_within,
};
pub use turned::transpose_late;
