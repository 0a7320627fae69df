//! Integers combined bit by bit at positions, for which libtorch has no operation. On the CPU it is a loop over the memory of
//! the tensors, as libtorch's scatters are there; on other devices each bit is scattered by itself.

use crate::torch::TorchError;
use crate::torch::numbers::WithNumber;
use acc_desugar::graph::BitOp;
use std::ops::{BitAnd, BitOr, BitXor};
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// A rank-1 tensor with values, of its kind, combined with the current ones at positions; an error if one is out of bounds.
pub(crate) fn scatter_bits(k: BitOp, base: &Tensor, at: &Tensor, values: &Tensor) -> Result<Tensor> {
    if values.numel() == 0 {
        return Ok(base.shallow_clone());
    }
    if base.device() != Device::Cpu {
        return bit_by_bit(k, base, at, values);
    }
    let mut result = base.f_empty_like()?;
    result.f_copy_(base)?;
    let (at, values) = (at.f_contiguous()?, values.f_contiguous()?);
    match base.f_kind()?.elt_size_in_bytes() {
        1 => words::<u8>(k, &result, &at, &values),
        2 => words::<u16>(k, &result, &at, &values),
        4 => words::<u32>(k, &result, &at, &values),
        _ => words::<u64>(k, &result, &at, &values),
    }?;
    Ok(result)
}

/// The same for words of one width, into contiguous memory that nobody else has.
fn words<W>(k: BitOp, result: &Tensor, at: &Tensor, values: &Tensor) -> Result<()>
where
    W: Copy + BitAnd<Output = W> + BitOr<Output = W> + BitXor<Output = W>,
{
    // SAFETY: the tensors are contiguous and of this width, the positions `i64`. Nobody else has the result's memory.
    let (result, at, values) = unsafe {
        let result = std::slice::from_raw_parts_mut(result.data_ptr().cast::<W>(), result.numel());
        let at = std::slice::from_raw_parts(at.data_ptr().cast_const().cast::<i64>(), at.numel());
        (result, at, std::slice::from_raw_parts(values.data_ptr().cast_const().cast::<W>(), values.numel()))
    };
    match k {
        BitOp::And => combine(result, at, values, |a, b| a & b),
        BitOp::Or => combine(result, at, values, |a, b| a | b),
        BitOp::Xor => combine(result, at, values, |a, b| a ^ b),
    }
}

fn combine<W: Copy>(result: &mut [W], at: &[i64], values: &[W], by: impl Fn(W, W) -> W) -> Result<()> {
    for (at, value) in at.iter().zip(values) {
        let place = usize::try_from(*at).ok().and_then(|at| result.get_mut(at));
        let place = place.ok_or_else(|| TorchError::new("a position is out of bounds"))?;
        *place = by(*place, *value);
    }
    Ok(())
}

fn bit_by_bit(k: BitOp, base: &Tensor, at: &Tensor, values: &Tensor) -> Result<Tensor> {
    let kind = base.f_kind()?;
    if kind == Kind::Bool {
        let [base, values] = [base, values].map(|t| t.f_view_dtype(Kind::Uint8));
        return Ok(bit_by_bit(k, &base?, at, &values?)?.f_view_dtype(kind)?);
    }
    let reduction = match k {
        BitOp::And => "amin",
        BitOp::Or => "amax",
        BitOp::Xor => "sum",
    };
    let mut result = base.f_zeros_like()?;
    for number in 0..8 * kind.elt_size_in_bytes() as i64 {
        let bit = |t: &Tensor| t.shr_number(number)?.and_number(1);
        let combined = bit(base)?.f_internal_scatter_reduce(0, at, &bit(values)?, reduction, true)?;
        // Of a sum the lowest bit counts.
        result = result.f_bitwise_or_tensor(&combined.and_number(1)?.shl_number(number)?)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_by_itself_yields_the_same() {
        let words: Vec<i64> =
            (0..500u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as i64).collect();
        let at = Tensor::f_from_slice(&(0..500i64).map(|i| i * i % 7).collect::<Vec<_>>()).unwrap();
        for kind in [Kind::Bool, Kind::Uint8, Kind::Int8, Kind::Int16, Kind::Int, Kind::Int64] {
            let words = Tensor::f_from_slice(&words).unwrap();
            let words = if kind == Kind::Bool { words.f_lt(0).unwrap() } else { words.f_to_kind(kind).unwrap() };
            let base = words.f_narrow(0, 3, 14).unwrap().f_slice(0, 0, 14, 2).unwrap();
            for k in BitOp::ALL {
                let want = scatter_bits(k, &base, &at, &words).unwrap();
                assert!(want.f_equal(&bit_by_bit(k, &base, &at, &words).unwrap()).unwrap(), "{k:?} of {kind:?}");
            }
        }
    }

    #[test]
    fn a_position_out_of_bounds_is_an_error() {
        let words = Tensor::f_from_slice(&[1i64, 2, 4]).unwrap();
        for at in [-1i64, 3] {
            let at = Tensor::f_from_slice(&[0, at, 1]).unwrap();
            assert!(scatter_bits(BitOp::Or, &words, &at, &words).is_err());
        }
    }
}
