//! Commands that hold the executors to each other.

pub mod fuzz;
pub mod matrix;
pub mod reduce;
