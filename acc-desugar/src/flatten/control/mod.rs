//! Conditionals and loops.

mod array_loop;
mod branch;
pub(crate) mod index_set_splitting;
pub(crate) mod loops;
mod ragged_loop;
mod reduction_loop;
