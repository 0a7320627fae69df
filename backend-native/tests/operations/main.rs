//! Results of operations, against the interpreter.

#[path = "../common/mod.rs"]
mod common;

mod casts;
mod chains;
mod compaction;
mod divisions;
mod executors_agree;
mod fallible_scatter;
mod in_place;
mod math;
mod operations;
mod relaxed;
mod scalar_eval;
mod scatter;
mod semantics;
mod stencils;
