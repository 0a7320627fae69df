//! Reads and writes of memory: how addresses follow the lanes, and the instructions for each way.

pub(crate) mod address;
pub(crate) mod boundary;
pub(crate) mod clamped;
pub(crate) mod interleaved;
pub(crate) mod load;
mod repeated;
pub(crate) mod row_lanes;
pub(crate) mod strided_load;
pub(crate) mod subword_gather;
pub(crate) mod transposed_load;
pub(crate) mod unaligned_streaming;
pub(crate) mod wrapped;
