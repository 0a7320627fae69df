//! From second-order array programs to first-order tensor graphs and to groups of statements that become one kernel.
//!
//! [`pipeline`] lists the passes, [`pass`] runs them.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

pub mod analysis;
mod flatten;
pub mod fuse;
pub mod graph;
pub mod pass;
mod passes;
pub mod pipeline;

pub use flatten::{Faults, flatten, flatten_with};
pub use pass::Settings;
pub use passes::scan_segments::Segmented;
pub use passes::simplify::{RULES, Rule, Rules, map_funs, map_op, simplify, simplify_with, simplify_within};
