//! Numeric conversions with the meaning of Rust's `as`, which libtorch leaves to the processor.

use super::elementwise::widen;
use crate::torch::TorchError;
use crate::torch::numbers::WithNumber;
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

pub(crate) fn cast(x: &Tensor, from: ScalarType, to: ScalarType) -> Result<Tensor> {
    if from == ScalarType::U32 && to == ScalarType::Char {
        return chr(x);
    }
    if to == ScalarType::F16 {
        return to_half(x, from);
    }
    if from.is_float() && to.is_int() {
        return float_to_int(x, to);
    }
    if from == ScalarType::U64 && to.is_float() {
        return u64_to_float(x, to);
    }
    // Integers wrap by dropping bits; unsigned ones of less than 64 bits are first widened to their value.
    Ok(widen(x, from)?.f_to_kind(kind(to))?)
}

/// Code points that are no characters become U+FFFD.
pub(crate) fn chr(x: &Tensor) -> Result<Tensor> {
    let outside = x.lt_number(0)?.f_logical_or(&x.gt_number(0x10_ffffi64)?)?;
    let surrogate = x.ge_number(0xd800i64)?.f_logical_and(&x.le_number(0xdfffi64)?)?;
    x.fill_number(&outside.f_logical_or(&surrogate)?, 0xfffdi64)
}

/// Whether all numbers are in the range of an integer type, as far as that is known without waiting for a device.
fn in_range(x: &Tensor, to: ScalarType) -> Result<bool> {
    if x.numel() == 0 || x.device() != tch::Device::Cpu {
        return Ok(false);
    }
    // The half that has no sign bit: words of 64 bits have no other room.
    let bits = to.bits() as i32 - i32::from(to.is_signed() || to == ScalarType::U64);
    let least = if to.is_signed() { -2f64.powi(bits) } else { 0.0 };
    let (low, high) = x.f_aminmax(None, false)?;
    // If one is NaN, both are.
    Ok(low.f_double_value(&[])? >= least && high.f_double_value(&[])? < 2f64.powi(bits))
}

/// Saturates; NaN becomes 0.
fn float_to_int(x: &Tensor, to: ScalarType) -> Result<Tensor> {
    let x = if x.f_kind()? == Kind::Half { x.f_to_kind(Kind::Float)? } else { x.shallow_clone() };
    if in_range(&x, to)? {
        return match to {
            // Stored as the bits of signed numbers.
            ScalarType::U16 | ScalarType::U32 => Ok(x.f_to_kind(Kind::Int64)?.f_to_kind(kind(to))?),
            _ => Ok(x.f_to_kind(kind(to))?),
        };
    }
    // Every bound below is exact in f64.
    let x = x.f_to_kind(Kind::Double)?;
    let x = x.fill_number(&x.f_isnan()?, 0.0)?;
    let clamped = |low: f64, high: f64| -> Result<Tensor> {
        Ok(x.clamped(low, high, None)?.f_to_kind(Kind::Int64)?.f_to_kind(kind(to))?)
    };
    match to {
        ScalarType::I8 => clamped(f64::from(i8::MIN), f64::from(i8::MAX)),
        ScalarType::I16 => clamped(f64::from(i16::MIN), f64::from(i16::MAX)),
        ScalarType::I32 => clamped(f64::from(i32::MIN), f64::from(i32::MAX)),
        ScalarType::U8 => clamped(0.0, f64::from(u8::MAX)),
        ScalarType::U16 => clamped(0.0, f64::from(u16::MAX)),
        ScalarType::U32 => clamped(0.0, f64::from(u32::MAX)),
        ScalarType::U64 => {
            let (half, whole) = (2f64.powi(63), 2f64.powi(64));
            // The upper half of the range, moved into that of i64 and back by flipping the sign bit.
            let upper = x.ge_number(half)?;
            let low = x.fill_number(&upper, 0.0)?.max_number(0.0)?.f_to_kind(Kind::Int64)?;
            let high = x.sub_number(half)?.fill_number(&upper.f_logical_not()?, 0.0)?;
            let high = high.fill_number(&x.ge_number(whole)?, 0.0)?.f_to_kind(Kind::Int64)?.xor_number(i64::MIN)?;
            Ok(high.f_where_self(&upper, &low)?.fill_number(&x.ge_number(whole)?, -1)?)
        }
        _ => {
            let limit = 2f64.powi(63);
            let (large, small) = (x.ge_number(limit)?, x.lt_number(-limit)?);
            let inside = x.fill_number(&large.f_logical_or(&small)?, 0.0)?.f_to_kind(Kind::Int64)?;
            Ok(inside.fill_number(&large, i64::MAX)?.fill_number(&small, i64::MIN)?)
        }
    }
}

/// Rounded once.
fn to_half(x: &Tensor, from: ScalarType) -> Result<Tensor> {
    let x = match from {
        // By way of the float that holds it, or is as much out of range as it is.
        ScalarType::F64 => x.shallow_clone(),
        ScalarType::F32 => return Ok(x.f_to_kind(Kind::Half)?),
        _ => cast(x, from, ScalarType::F64)?,
    };
    // libtorch goes from f64 by way of f32: rounded to odd, so that no tie arises on the way.
    let near = x.f_to_kind(Kind::Float)?;
    let bits = near.f_view_dtype(Kind::Int)?;
    let back = near.f_to_kind(Kind::Double)?;
    let beyond = back.f_abs()?.f_gt_tensor(&x.f_abs()?)?.f_to_kind(Kind::Int)?;
    let odd = bits.f_sub(&beyond)?.or_number(1i64)?.f_view_dtype(Kind::Float)?;
    let exact = back.f_eq_tensor(&x)?.f_logical_or(&x.f_isnan()?)?;
    Ok(near.f_where_self(&exact, &odd)?.f_to_kind(Kind::Half)?)
}

/// Rounded once: halving keeps the lowest bit, so that ties are still seen.
fn u64_to_float(x: &Tensor, to: ScalarType) -> Result<Tensor> {
    let negative = x.lt_number(0)?;
    let half = x.shr_number(1)?.and_number(i64::MAX)?;
    let half = half.f_bitwise_or_tensor(&x.and_number(1i64)?)?;
    let large = half.f_to_kind(kind(to))?.mul_number(2.0)?;
    Ok(large.f_where_self(&negative, &x.f_to_kind(kind(to))?)?)
}
