//! What passes find out about programs without changing them.

pub mod access;
pub mod choice;
pub(crate) mod comparison;
pub mod contraction;
pub mod cost;
pub(crate) mod extents;
pub(crate) mod guards;
pub mod operators;
pub(crate) mod readers;
pub mod segmented_operator;
pub(crate) mod total;
pub(crate) mod transposition;
