//! Arithmetic: each operation written out as the language defines it.

pub(crate) mod affine_compare;
mod cast;
pub(crate) mod divide;
pub(crate) mod i64_convert;
pub(crate) mod prim;
mod quotient;
pub(crate) mod reciprocal;
pub(crate) mod relaxed;
pub(crate) mod scale;
