//! Operations that define arrays.

pub(in crate::api) mod arithmetic;
pub(in crate::api) mod axis;
pub(in crate::api) mod construct;
pub(in crate::api) mod control;
pub(in crate::api) mod elementwise;
pub(in crate::api) mod filter;
pub(in crate::api) mod neighbours;
pub(in crate::api) mod permute;
pub(in crate::api) mod random;
pub(in crate::api) mod reduce;
pub(in crate::api) mod reshape;
pub(in crate::api) mod sort;
pub(in crate::api) mod stencil;
pub(in crate::api) mod windows;
