//! What is known of a kernel before its code is written.

pub(crate) mod affine_bounds;
pub(crate) mod elementwise;
