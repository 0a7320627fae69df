//! Windows over the spatial axes of images: convolutions, pooling, patches; padding.

pub(in crate::api) mod convolution;
mod groups;
pub(in crate::api) mod layout;
pub(in crate::api) mod pad;
pub(in crate::api) mod pooling;
pub(in crate::api) mod transposed;
