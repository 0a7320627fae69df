//! Sorts along the last axis.
//!
//! libtorch sorts a long row of integers on a CPU digit by digit, and all else by comparing, which takes four to twenty times as
//! long. So floats are sorted by integers of the same order, and integers are as narrow as they can be.

use super::reduce::{ordered, unordered};
use crate::torch::TorchError;
use crate::torch::numbers::WithNumber;
use acc_core::data::ScalarType;
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Rows of so many elements are sorted digit by digit.
const MIN_DIGIT_SORTED_ELEMENTS: usize = 1 << 15;

/// A tensor sorted along its last axis, and the positions that the elements had.
pub(crate) fn sort(x: &Tensor, ty: ScalarType) -> Result<[Tensor; 2]> {
    let by_digits = x.device() == Device::Cpu && x.dim() == 1 && x.numel() >= MIN_DIGIT_SORTED_ELEMENTS;
    if by_digits && ty.is_float() {
        let (_, at) = integers_of_floats(x)?.f_sort_stable(true, -1, false)?;
        // Zeros of either sign, and all NaN, are one integer.
        return Ok([x.f_index_select(0, &at)?, at]);
    }
    let keys = with_one_nan(&ordered(x, ty)?)?;
    let narrow = if by_digits { narrowed(&keys)? } else { keys.shallow_clone() };
    let (sorted, at) = narrow.f_sort_stable(true, -1, false)?;
    Ok([unordered(&sorted.f_to_kind(keys.f_kind()?)?, ty)?, at])
}

/// Integers in the order of floats, those of NaN equal and the greatest. There are some floats.
fn integers_of_floats(x: &Tensor) -> Result<Tensor> {
    let (integers, sign, magnitude) = match x.f_kind()? {
        Kind::Half => (Kind::Int16, 15, i64::from(i16::MAX)),
        Kind::Float => (Kind::Int, 31, i64::from(i32::MAX)),
        _ => (Kind::Int64, 63, i64::MAX),
    };
    // The sum is 0 for -0, too.
    let mut x = x.add_number(0.0)?;
    if x.f_max()?.f_isnan()?.f_int64_value(&[])? != 0 {
        x = x.f_masked_fill(&x.f_isnan()?, f64::NAN)?;
    }
    let bits = x.f_view_dtype(integers)?;
    // Of negative floats the greater magnitude is the lesser integer.
    let below_sign = bits.shr_number(sign)?.and_number(magnitude)?;
    Ok(bits.f_bitwise_xor_tensor(&below_sign)?)
}

/// Integers of 64 bits as narrower ones, if all of them are.
fn narrowed(keys: &Tensor) -> Result<Tensor> {
    if keys.f_kind()? != Kind::Int64 {
        return Ok(keys.shallow_clone());
    }
    let (least, greatest) = keys.f_aminmax(None, false)?;
    let range = least.f_int64_value(&[])?..=greatest.f_int64_value(&[])?;
    let fits = |low: i64, high: i64| low <= *range.start() && *range.end() <= high;
    Ok(if fits(i16::MIN.into(), i16::MAX.into()) {
        keys.f_to_kind(Kind::Int16)?
    } else if fits(i32::MIN.into(), i32::MAX.into()) {
        keys.f_to_kind(Kind::Int)?
    } else {
        keys.shallow_clone()
    })
}

/// On a CUDA device libtorch sorts floats by their bits, so that a NaN with its sign set comes before all numbers; every
/// NaN becomes the one without sign, which comes after them, as on a CPU.
fn with_one_nan(keys: &Tensor) -> Result<Tensor> {
    if keys.device() == Device::Cpu || !keys.is_floating_point() {
        return Ok(keys.shallow_clone());
    }
    Ok(keys.f_masked_fill(&keys.f_isnan()?, f64::NAN)?)
}
