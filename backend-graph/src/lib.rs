//! backend-graph

#[cfg(feature = "libtorch")]
pub mod torch;
