//! What passes find out about programs without changing them.

pub mod access;
pub mod choice;
pub mod contraction;
pub(crate) mod extents;
pub mod operators;
pub mod segmented_operator;
