//! Masks: whether any lane is on, and values chosen lane by lane.

use crate::torch::TorchError;
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Whether any element of a tensor of `bool`, which has elements, is true; of rank 0.
pub(crate) fn any(t: &Tensor) -> Result<Tensor> {
    if t.dim() == 0 {
        return Ok(t.shallow_clone());
    }
    // The maximum of bytes is vectorised; `any` is not.
    Ok(t.f_view_dtype(Kind::Uint8)?.f_amax([0i64; 0], false)?.f_view_dtype(Kind::Bool)?)
}

/// How many elements of a tensor of `bool` are true.
pub(crate) fn count_lanes(t: &Tensor) -> Result<i64> {
    Ok(t.f_sum(Kind::Int64)?.f_int64_value(&[])?)
}

/// From so many elements on, `where`, which branches for each element, loses to arithmetic on bits.
const MIN_BITWISE_ELEMENTS: usize = 1 << 13;

/// The first value where the condition holds, else the second.
pub(crate) fn select_lanes(c: &Tensor, t: &Tensor, e: &Tensor) -> Result<Tensor> {
    selected(c, t, e, None)
}

/// The same. The result goes to `place`, one of the values that nobody needs any more and that has its shape.
pub(crate) fn selected(c: &Tensor, t: &Tensor, e: &Tensor, place: Option<&Tensor>) -> Result<Tensor> {
    let kind = t.f_kind()?;
    let bits = match kind {
        Kind::Bool | Kind::Uint8 | Kind::Int8 => Some(Kind::Int8),
        Kind::Int16 | Kind::Half => Some(Kind::Int16),
        Kind::Int | Kind::Float => Some(Kind::Int),
        Kind::Int64 | Kind::Double => Some(Kind::Int64),
        _ => None,
    };
    // A predictable mask costs nothing, but nobody knows it.
    let dense = c.numel() >= MIN_BITWISE_ELEMENTS && t.dim() + e.dim() > 0 && c.device() == Device::Cpu;
    let Some(bits) = bits.filter(|_| dense) else {
        return Ok(match place {
            Some(out) => t.f_where_self_out(out, c, e)?,
            None => t.f_where_self(c, e)?,
        });
    };
    // e + (t - e) c of the bits as integers that wrap around, which is t where c is 1.
    let c = c.f_view_dtype(Kind::Int8)?.f_to_kind(bits)?;
    let as_bits = |t: &Tensor| if kind == bits { Ok(t.shallow_clone()) } else { t.f_view_dtype(bits) };
    let (mut x, mut y) = (as_bits(t)?, as_bits(e)?);
    let into = |value: &Tensor| place.is_some_and(|place| std::ptr::eq(place, value));
    let difference = if into(t) { x.f_sub_(&y)? } else { x.f_sub(&y)? };
    let chosen = if into(e) {
        y.f_addcmul_(&difference, &c)?
    } else if difference.size() == c.size() {
        // Nobody else has it.
        let out = difference.shallow_clone();
        y.f_addcmul_out(&out, &difference, &c)?
    } else {
        y.f_addcmul(&difference, &c)?
    };
    Ok(if kind == bits { chosen } else { chosen.f_view_dtype(kind)? })
}

/// Whether any element of a tensor of `bool` is true.
pub(crate) fn any_lane(t: &Tensor) -> Result<bool> {
    Ok(t.numel() > 0 && any(t)?.f_int64_value(&[])? != 0)
}
