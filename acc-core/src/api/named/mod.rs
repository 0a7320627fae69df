//! Arrays with named axes: programs that say what each index ranges over (Paszke and others, *Getting to the point. Index
//! sets and parallelism-preserving autodiff for pointful array programming*, 2021).
//!
//! [`axes!`](crate::axes) makes types of names. A [`Named`] array has a name for each axis; [`each`] makes one of a
//! function of indices, and [`total`] and its like reduce over indices. An index over one axis does not fit another, which
//! rustc says; two arrays with one name and two sizes are a fault. The programs are those of the other combinators.

pub(in crate::api) mod accumulate;
pub(in crate::api) mod array;
pub(in crate::api) mod axis;
pub(in crate::api) mod each;
pub(in crate::api) mod fold;
pub(in crate::api) mod index;
mod scope;
