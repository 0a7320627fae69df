//! Element types beyond plain numbers.

pub(in crate::api) mod complex;
pub(in crate::api) mod complex_constants;
pub(in crate::api) mod complex_functions;
pub(in crate::api) mod either;
pub(in crate::api) mod functor;
pub(in crate::api) mod monoid;
pub(in crate::api) mod monoid_wrappers;
pub(in crate::api) mod option;
pub(in crate::api) mod ordering;
pub(in crate::api) mod ratio;
pub(in crate::api) mod simd;
pub(in crate::api) mod sum_type;
