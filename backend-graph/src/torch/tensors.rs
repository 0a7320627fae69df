//! Host arrays of tensors' memory, for those who use `tch` beside this crate.

use super::transfer::{Transfer, extents};
use super::{Device, TorchError};
use acc_core::api::{Array, ScalarElt, Shape};
use acc_core::data::{ArrayData, HasScalarType};
use tch::Tensor;

/// A tensor as a host array, without a copy if it is contiguous and on the CPU. Its rank and kind must be those of the
/// array; `u16`, `u32`, `u64` and `char` are the bits of the signed kind of their width.
///
/// # Safety
///
/// Nothing may write to the tensor's memory from now on, through another tensor that shares it.
///
/// ```
/// use acc_core::prelude::*;
/// let t = tch::Tensor::from_slice(&[1.0f32, 2.0, 3.0]);
/// // SAFETY: no other tensor shares its memory.
/// let xs: Vector<f32> = unsafe { backend_graph::torch::array_of_tensor(t) }?;
/// let doubled = backend_graph::Libtorch::cpu().run(use_(&xs).map(|x| x * 2.0))?;
/// let t = backend_graph::torch::tensor_of_array(doubled)?;
/// assert_eq!(Vec::<f32>::try_from(t)?, [2.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub unsafe fn array_of_tensor<Sh: Shape, E: ScalarElt>(tensor: Tensor) -> Result<Array<Sh, E>, TorchError> {
    let shape = tensor.size().into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    let shape = shape.map_err(|e| TorchError::new(e.to_string()))?;
    let ty = <E as HasScalarType>::TYPE;
    // SAFETY: by this function's contract nobody writes to the memory.
    let column = unsafe { Transfer::new(Device::Cpu).take(tensor, ty) }?;
    let data = ArrayData::new(shape, E::ty(), [column]);
    data.and_then(Array::from_data).map_err(|e| TorchError::new(e.to_string()))
}

/// A host array as a tensor: the result of a run of the graph executor without a copy, if nobody shares it.
pub fn tensor_of_array<Sh: Shape, E: ScalarElt>(array: Array<Sh, E>) -> Result<Tensor, TorchError> {
    let extents = extents(array.data().shape())?;
    let data = array.into_data();
    let mut columns = data.into_columns();
    let column = columns.pop().ok_or_else(|| TorchError::new("a scalar without a column"))?;
    Ok(super::transfer::tensor_of_column(column)?.f_view(extents.as_slice())?)
}
