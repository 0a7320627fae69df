//! From second-order array programs to first-order tensor graphs: simplification and flattening.
#![forbid(unsafe_code)]

mod flatten;
pub mod graph;

pub use flatten::flatten;
