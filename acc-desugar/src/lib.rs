//! From second-order array programs to first-order tensor graphs and to groups of statements that become one kernel.
//!
//! [`pipeline`] lists the passes, [`pass`] runs them.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

pub mod analysis;
mod flatten;
mod functions;
pub mod fuse;
pub mod graph;
pub mod pass;
mod passes;
pub mod pipeline;
mod settings;

pub use functions::{flatten, flatten_with, fuse, fuse_within, simplify, simplify_with, simplify_within};
pub use passes::differentiate::{Note, explain as explain_derivatives};
pub use passes::simplify::{map_funs, map_op};
pub use settings::{Faults, KEPT_STATES, RULES, Rule, Rules, Segmented, Settings};
