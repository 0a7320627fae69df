//! What programs are written with: arrays and scalars under construction, element types, shapes, indices.

pub(in crate::api) mod acc;
pub(in crate::api) mod access;
pub(in crate::api) mod array;
pub(in crate::api) mod class;
pub(in crate::api) mod elt;
pub(in crate::api) mod exp;
pub(in crate::api) mod index;
pub(in crate::api) mod ranked;
pub(in crate::api) mod shape;
pub(in crate::api) mod slice;
pub(in crate::api) mod struct_of_arrays;
