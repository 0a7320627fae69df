//! Derivatives of array functions and of scalar functions.

pub(crate) mod check;
pub(crate) mod fixpoint;
pub(crate) mod grad;
pub(crate) mod modes;
pub(crate) mod partials;
pub(crate) mod parts;
pub(crate) mod rules;
pub(crate) mod scalars;
pub(crate) mod tangent;
