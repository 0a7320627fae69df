//! Conditionals and loops.

pub(crate) mod array_loop;
pub(crate) mod branch;
pub(crate) mod index_set_splitting;
pub(crate) mod loops;
pub(crate) mod ragged_loop;
pub(crate) mod reduction_loop;
