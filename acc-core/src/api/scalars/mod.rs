//! Scalar code: arithmetic, comparisons, bits, branches and loops.

pub(in crate::api) mod bits;
pub(in crate::api) mod bounded;
pub(in crate::api) mod compare;
pub(in crate::api) mod control;
pub(in crate::api) mod floating;
pub(in crate::api) mod integral;
pub(in crate::api) mod operators;
pub(in crate::api) mod real_float;
pub(in crate::api) mod rounding;
