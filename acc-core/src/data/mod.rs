//! Host data: scalar types, element types, columns and untyped arrays.

mod array;
mod column;
mod elt;
mod scalar;

pub use array::{ArrayData, ShapeError, linear_index, shape_size, unlinear_index};
pub(crate) use column::ColumnBuf;
pub use column::{Column, ColumnElt, ColumnOwner, ColumnSlice};
pub use elt::{EltType, Leaves};
pub use scalar::{HasScalarType, Lit, Prim, ScalarType, nearest_f16};
