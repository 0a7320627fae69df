//! How lanes read arrays: as views where the index is understood, by gathers elsewhere.

pub(crate) mod affine;
pub(crate) mod clamped;
mod on_demand;
pub(crate) mod read;
pub(crate) mod split_axis;
pub(crate) mod wrapped;
