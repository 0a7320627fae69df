//! Columns as tensors and tensors as columns, without a copy where that is sound.
//!
//! Every scalar type has one tensor kind of the same width. libtorch has no arithmetic on u16, u32 and u64, and `tch`
//! no kind for them: they, and `char`, are the bits of the signed integer of their width.

use super::exec::chr;
use super::numbers::WithNumber;
use super::{Device, TorchError};
use acc_core::data::{Column, ColumnOwner, ColumnSlice, Lit, ScalarType};
use acc_core::timeline;
use std::any::Any;
use std::sync::Arc;
use tch::{Kind, Tensor};

/// The kind of the tensors that hold scalars of this type.
pub(crate) fn kind(ty: ScalarType) -> Kind {
    match ty {
        ScalarType::I8 => Kind::Int8,
        ScalarType::U8 => Kind::Uint8,
        ScalarType::I16 | ScalarType::U16 => Kind::Int16,
        ScalarType::I32 | ScalarType::U32 | ScalarType::Char => Kind::Int,
        ScalarType::I64 | ScalarType::U64 => Kind::Int64,
        ScalarType::F16 => Kind::Half,
        ScalarType::F32 => Kind::Float,
        ScalarType::F64 => Kind::Double,
        ScalarType::Bool => Kind::Bool,
    }
}

/// A literal as a 0-d tensor.
pub(crate) fn literal(lit: Lit, device: Device) -> Result<Tensor, TorchError> {
    let bytes = lit.bits.to_le_bytes();
    let bytes = bytes.get(..lit.ty.size()).unwrap_or(&bytes);
    // A copy of the bytes, in the machine's order.
    #[cfg(target_endian = "big")]
    let bytes: &[u8] = &bytes.iter().rev().copied().collect::<Vec<u8>>();
    let tensor = Tensor::f_from_data_size(bytes, &[], kind(lit.ty))?;
    Ok(tensor.f_to_device(device.tch())?)
}

/// The address and the length in bytes of a column's memory.
fn bytes(slice: ColumnSlice<'_>) -> (*const u8, usize) {
    macro_rules! each {
        ($($variant:ident),*) => {
            match slice { $(ColumnSlice::$variant(s) => (s.as_ptr().cast(), size_of_val(s))),* }
        };
    }
    each!(I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, Bool, Char)
}

/// Takes columns to libtorch and tensors back, for one run.
///
/// On the CPU an argument is lent: its tensor is the column's memory, which this keeps alive. On another device it is
/// copied there.
pub(crate) struct Transfer {
    device: Device,
    lent: Vec<Column>,
}

impl Transfer {
    pub(crate) fn new(device: Device) -> Transfer {
        Transfer { device, lent: Vec::new() }
    }

    /// A column as a tensor of this shape, whose size must be the column's length.
    ///
    /// # Safety
    ///
    /// Nothing may write to the tensor or to one that shares its memory, and all of these must be dropped, or handed to
    /// [`take`](Transfer::take), before `self` is.
    pub(crate) unsafe fn lend(&mut self, column: &Column, shape: &[usize]) -> Result<Tensor, TorchError> {
        let extents = extents(shape)?;
        let mut span = timeline::span(timeline::Kind::Transfer, || "argument");
        span.note("bytes", || column.len() * column.ty().size());
        if acc_core::data::shape_size(shape).ok() != Some(column.len()) {
            let length = column.len();
            return Err(TorchError::new(format!("shape {shape:?} is invalid for a column of {length} elements")));
        }
        // The result of an earlier run comes back as the tensor that it is.
        if let Some(owner) = column.owner().as_any().and_then(|owner| owner.downcast_ref::<TensorOwner>()) {
            return Ok(owner.tensor.f_to_device(self.device.tch())?.f_view(extents.as_slice())?);
        }
        let (address, _) = bytes(column.slice());
        // SAFETY: the column has as many initialised scalars as the shape, each as wide as the kind (see `kind`). They
        // stay where they are for as long as `lent` holds the column, so, by this function's contract, for as long as
        // the tensor or one that shares its memory lives; and nobody writes to them.
        let tensor = unsafe { Tensor::f_from_blob(address, &extents, &[], kind(column.ty()), tch::Device::Cpu) }?;
        if self.device == Device::Cpu {
            self.lent.push(column.clone());
            return Ok(tensor);
        }
        Ok(tensor.f_to_device(self.device.tch())?)
    }

    /// A tensor as a column of this type, whose kind it must have; elements in row-major order.
    ///
    /// # Safety
    ///
    /// Nothing may write to the tensor's memory from now on, through another tensor that shares it.
    pub(crate) unsafe fn take(&self, tensor: Tensor, ty: ScalarType) -> Result<Column, TorchError> {
        let found = tensor.f_kind()?;
        let mut span = timeline::span(timeline::Kind::Transfer, || "result");
        span.note("bytes", || tensor.numel() * ty.size());
        if found != kind(ty) {
            return Err(TorchError::new(format!("a tensor of {found:?} where {:?} holds {ty}", kind(ty))));
        }
        let tensor = in_rows(&tensor)?;
        let owner = TensorOwner::new(tensor, ty);
        if owner.length == 0 {
            return Ok(Column::from_lits(ty, []));
        }
        let Some(column) = self.lender(&owner) else { return owner.column() };
        let whole = bytes(column.slice()) == (owner.address as *const u8, owner.length * ty.size());
        if whole && column.ty() == ty {
            return Ok(column.clone());
        }
        TensorOwner::new(owner.tensor.f_detach_copy()?, ty).column()
    }

    /// The column that lent the memory of a tensor: the tensor must then not outlive this run.
    fn lender(&self, owner: &TensorOwner) -> Option<&Column> {
        self.lent.iter().find(|column| {
            let (start, length) = bytes(column.slice());
            (start as usize..start as usize + length).contains(&owner.address)
        })
    }
}

/// A tensor on the CPU with the elements in row-major order, into which their own device brings them.
fn in_rows(tensor: &Tensor) -> Result<Tensor, TorchError> {
    let one = tensor.numel() > 1 && tensor.stride().iter().zip(tensor.size()).all(|(step, n)| *step == 0 || n == 1);
    if !one {
        return Ok(tensor.f_contiguous()?.f_to_device(tch::Device::Cpu)?);
    }
    // One element repeated: filling memory is faster than copying what is apart.
    let element = tensor.f_as_strided([0i64; 0], [0i64; 0].as_slice(), None)?.f_to_device(tch::Device::Cpu)?;
    Ok(Tensor::f_empty(tensor.size(), (tensor.f_kind()?, tch::Device::Cpu))?.f_fill_tensor_(&element)?)
}

/// A shape as libtorch takes it.
pub(super) fn extents(shape: &[usize]) -> Result<Vec<i64>, TorchError> {
    let extents = shape.iter().map(|&extent| i64::try_from(extent)).collect::<Result<Vec<i64>, _>>();
    extents.map_err(|_| TorchError::new(format!("shape {shape:?} is too large")))
}

/// A column as a tensor of rank 1 that nobody else writes to: its own memory, if that is a tensor's and nobody shares
/// it, else a copy.
pub(super) fn tensor_of_column(column: Column) -> Result<Tensor, TorchError> {
    match column.into_owner::<TensorOwner>() {
        Ok(owner) => Ok(owner.tensor.f_view(-1)?),
        Err(column) => {
            let shape = [column.len()];
            let mut transfer = Transfer::new(Device::Cpu);
            // SAFETY: the tensor, which nobody writes to, is dropped before `transfer` is; the copy has its own memory.
            let lent = unsafe { transfer.lend(&column, &shape) }?;
            Ok(lent.f_detach_copy()?)
        }
    }
}

/// Whether these are the bits of a `char`: below the end of Unicode, and no surrogate.
fn is_char(bits: u32) -> bool {
    (bits < 0x11_0000) & (bits.wrapping_sub(0xd800) >= 0x800)
}

/// A contiguous tensor on the CPU that holds a column's memory.
struct TensorOwner {
    tensor: Tensor,
    ty: ScalarType,
    /// In elements; not 0.
    length: usize,
    /// Of the first element. An integer, because the memory may be read from any thread.
    address: usize,
}

// SAFETY: `tensor` is only read: its memory through `slice`, and its handle by making another, which counts references
// atomically. The other fields are plain values.
unsafe impl Sync for TensorOwner {}

impl TensorOwner {
    fn new(tensor: Tensor, ty: ScalarType) -> TensorOwner {
        TensorOwner { length: tensor.numel(), address: tensor.data_ptr() as usize, ty, tensor }
    }

    /// The elements as bits of an integer or as floats.
    ///
    /// # Safety
    ///
    /// Every bit pattern must be valid in `T`, and `T` as wide as `self.ty`.
    unsafe fn elements<T>(&self) -> &[T] {
        // SAFETY: the tensor is contiguous and on the CPU, so `length` elements of the kind of `ty`, which `T` is as
        // wide as, lie at `address`; the reference to `tensor` keeps them. Nobody writes to them (see `Transfer::take`).
        // libtorch aligns each allocation to 64 bytes and each view to its elements.
        unsafe { std::slice::from_raw_parts(self.address as *const T, self.length) }
    }

    /// Whether the memory, as it is, holds values of the type. A view of other bits as bool need not have only 0 and
    /// 1, and arithmetic on code points need not give one.
    fn is_valid(&self) -> bool {
        // All elements are looked at, whatever the first ones are: such a loop is vector code.
        // SAFETY: integers have no invalid bit pattern, and each is as wide as the type (see `kind`).
        unsafe {
            match self.ty {
                ScalarType::Bool => self.elements::<u8>().iter().fold(0, |all, bits| all | bits) <= 1,
                ScalarType::Char => !self.elements::<u32>().iter().fold(false, |any, &bits| any | !is_char(bits)),
                _ => true,
            }
        }
    }

    /// The memory as a column. Invalid values are read as [`Prim::from_bits64`] reads them.
    ///
    /// [`Prim::from_bits64`]: acc_core::data::Prim::from_bits64
    fn column(self) -> Result<Column, TorchError> {
        if self.is_valid() {
            return Ok(Column::from_owner(Arc::new(self)));
        }
        let mended = match self.ty {
            ScalarType::Bool => self.tensor.f_view_dtype(Kind::Uint8)?.ne_number(0)?,
            _ => chr(&self.tensor)?,
        };
        Ok(Column::from_owner(Arc::new(TensorOwner::new(mended, self.ty))))
    }
}

impl ColumnOwner for TensorOwner {
    fn slice(&self) -> ColumnSlice<'_> {
        macro_rules! typed {
            ($($variant:ident),*) => {
                match self.ty {
                    // SAFETY: `elements`' contract holds for integers and floats, and for bool and char because an
                    // owner becomes a column only if it `is_valid`.
                    $(ScalarType::$variant => ColumnSlice::$variant(unsafe { self.elements() })),*
                }
            };
        }
        typed!(I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, Bool, Char)
    }

    fn into_any(self: Arc<Self>) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::Prim;
    use acc_core::prelude::f16;

    /// A column through libtorch and back, as a new tensor.
    fn round_trip(column: &Column) -> Column {
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        unsafe {
            let tensor = transfer.lend(column, &[column.len()]).unwrap();
            transfer.take(tensor.f_detach_copy().unwrap(), column.ty()).unwrap()
        }
    }

    fn samples() -> Vec<Column> {
        vec![
            Column::from_vec(vec![i8::MIN, -1, 0, i8::MAX]),
            Column::from_vec(vec![i16::MIN, -1, 0, i16::MAX]),
            Column::from_vec(vec![i32::MIN, -1, 0, i32::MAX]),
            Column::from_vec(vec![i64::MIN, -1, 0, i64::MAX]),
            Column::from_vec(vec![0u8, 1, 128, u8::MAX]),
            Column::from_vec(vec![0u16, 1, 1 << 15, u16::MAX]),
            Column::from_vec(vec![0u32, 1, 1 << 31, u32::MAX]),
            Column::from_vec(vec![0u64, 1, 1 << 63, u64::MAX]),
            Column::from_vec(vec![f16::NEG_ZERO, f16::NAN, f16::INFINITY, f16::MIN_POSITIVE_SUBNORMAL]),
            Column::from_vec(vec![-0.0f32, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 2.0]),
            Column::from_vec(vec![-0.0f64, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE / 2.0]),
            Column::from_vec(vec![true, false, true]),
            Column::from_vec(vec!['a', '\0', '\u{10FFFF}']),
        ]
    }

    #[test]
    fn every_scalar_type_comes_back_bit_for_bit() {
        let samples = samples();
        let types: Vec<ScalarType> = samples.iter().map(Column::ty).collect();
        assert_eq!(types, ScalarType::ALL);
        for column in samples {
            assert_eq!(round_trip(&column), column);
            let empty = Column::from_lits(column.ty(), []);
            assert_eq!(round_trip(&empty), empty);
        }
    }

    #[test]
    fn a_literal_has_the_value_of_its_bits() {
        for column in samples() {
            for i in 0..column.len() {
                let lit = column.slice().get(i).unwrap();
                let tensor = literal(lit, Device::Cpu).unwrap();
                assert_eq!((tensor.dim(), tensor.f_kind().unwrap()), (0, kind(lit.ty)));
                // SAFETY: nothing else has the tensor.
                let back = unsafe { Transfer::new(Device::Cpu).take(tensor, lit.ty) }.unwrap();
                assert_eq!(back.slice().get(0), Some(lit));
            }
        }
    }

    #[test]
    fn an_argument_is_not_copied_and_comes_back_as_itself() {
        let column = Column::from_vec(vec![1.0f32, 2.0, 3.0, 4.0]);
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        unsafe {
            let tensor = transfer.lend(&column, &[2, 2]).unwrap();
            assert_eq!(tensor.data_ptr() as usize, bytes(column.slice()).0 as usize);
            assert_eq!(tensor.size(), [2, 2]);
            let back = transfer.take(tensor.f_view([4]).unwrap(), ScalarType::F32).unwrap();
            assert!(back.ptr_eq(&column));
        }
    }

    #[test]
    fn a_view_of_an_argument_outlives_the_argument() {
        let column = Column::from_vec((0..1000i64).collect());
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        let part = unsafe {
            let tensor = transfer.lend(&column, &[1000]).unwrap();
            transfer.take(tensor.f_narrow(0, 10, 3).unwrap(), ScalarType::I64).unwrap()
        };
        drop((column, transfer));
        assert_eq!(part.as_slice::<i64>(), Some(&[10, 11, 12][..]));
    }

    #[test]
    fn an_argument_read_as_another_type_of_its_kind_is_copied() {
        let column = Column::from_vec(vec![-1i32, 2]);
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        let bits = unsafe {
            let tensor = transfer.lend(&column, &[2]).unwrap();
            transfer.take(tensor, ScalarType::U32).unwrap()
        };
        assert_eq!(bits.as_slice::<u32>(), Some(&[u32::MAX, 2][..]));
    }

    #[test]
    fn a_result_goes_into_the_next_run_without_a_copy() {
        let column = round_trip(&Column::from_vec(vec![1u16, 2, 3]));
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        unsafe {
            let tensor = transfer.lend(&column, &[3, 1]).unwrap();
            assert_eq!(tensor.data_ptr() as usize, bytes(column.slice()).0 as usize);
            assert_eq!(transfer.take(tensor, ScalarType::U16).unwrap(), column);
        }
    }

    #[test]
    fn a_strided_tensor_comes_back_in_row_major_order() {
        let tensor =
            Tensor::f_from_slice(&[1i32, 2, 3, 4, 5, 6]).unwrap().f_view([2, 3]).unwrap().f_transpose(0, 1).unwrap();
        // SAFETY: nothing else has the tensor.
        let column = unsafe { Transfer::new(Device::Cpu).take(tensor, ScalarType::I32) }.unwrap();
        assert_eq!(column.as_slice::<i32>(), Some(&[1, 4, 2, 5, 3, 6][..]));
    }

    #[test]
    fn bits_that_are_no_value_are_mended() {
        let flags = Tensor::f_from_slice(&[0u8, 1, 2, 255]).unwrap().f_view_dtype(Kind::Bool).unwrap();
        // SAFETY: nothing else has the tensor.
        let column = unsafe { Transfer::new(Device::Cpu).take(flags, ScalarType::Bool) }.unwrap();
        assert_eq!(column.as_slice::<bool>(), Some(&[false, true, true, true][..]));
        let points = Tensor::f_from_slice(&[0x61, 0xD800, -1]).unwrap();
        // SAFETY: nothing else has the tensor.
        let column = unsafe { Transfer::new(Device::Cpu).take(points, ScalarType::Char) }.unwrap();
        let replaced = char::REPLACEMENT_CHARACTER;
        assert_eq!(column.as_slice::<char>(), Some(&['a', replaced, replaced][..]));
    }

    #[test]
    fn a_wrong_shape_or_kind_is_an_error() {
        let column = Column::from_vec(vec![1i32, 2, 3]);
        let mut transfer = Transfer::new(Device::Cpu);
        // SAFETY: the tensors are used here only, and nothing writes to them.
        unsafe {
            let error = transfer.lend(&column, &[2, 2]).unwrap_err();
            assert_eq!(error.message, "shape [2, 2] is invalid for a column of 3 elements");
            assert!(transfer.lend(&column, &[usize::MAX, 0]).is_err());
            let tensor = transfer.lend(&column, &[3]).unwrap();
            assert!(transfer.take(tensor, ScalarType::F32).is_err());
        }
    }

    #[test]
    fn a_column_of_a_tensor_is_read_from_many_threads() {
        let column = round_trip(&Column::from_vec((0..10_000u32).collect()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let sum: u64 = column.as_slice::<u32>().unwrap().iter().map(|&x| x.to_bits64()).sum();
                    assert_eq!(sum, 49_995_000);
                });
            }
        });
    }
}
