//! Loops around a body, and loops in it.

mod blocks;
mod conditionals;
pub(crate) mod control;
pub(crate) mod guarded_reads;
pub(crate) mod loop_state;
pub(super) mod masked_reads;
pub(crate) mod multi_row;
pub(crate) mod narrow_induction;
pub(crate) mod nest;
pub(crate) mod scheduled;
mod skipped_terms;
pub(crate) mod structured;
pub(crate) mod tile_shape;
pub(crate) mod width;
