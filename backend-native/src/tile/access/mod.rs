//! Reads of arrays, tile by tile.

mod boundary;
pub(crate) mod load;
pub(crate) mod position;
mod register_transpose;
pub(crate) mod transposed_load;
