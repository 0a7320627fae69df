//! Derivatives of array functions and of scalar functions.

pub(crate) mod check;
pub(crate) mod grad;
pub(crate) mod modes;
mod parts;
pub(crate) mod scalars;
pub(crate) mod tangent;
