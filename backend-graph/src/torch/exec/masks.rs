//! Masks: whether any lane is on, and values chosen lane by lane.

use crate::torch::TorchError;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Whether any element of a tensor of `bool`, which has elements, is true; of rank 0.
pub(super) fn any(t: &Tensor) -> Result<Tensor> {
    if t.dim() == 0 {
        return Ok(t.shallow_clone());
    }
    // The maximum of bytes is vectorised; `any` is not.
    Ok(t.f_view_dtype(Kind::Uint8)?.f_amax([0i64; 0], false)?.f_view_dtype(Kind::Bool)?)
}

/// How many elements of a tensor of `bool` are true.
pub(super) fn count_lanes(t: &Tensor) -> Result<i64> {
    Ok(t.f_sum(Kind::Int64)?.f_int64_value(&[])?)
}

/// From so many elements on, `where`, which branches for each element, loses to arithmetic on bits.
const MANY: usize = 1 << 16;

/// The first value where the condition holds, else the second.
pub(super) fn select_lanes(c: &Tensor, t: &Tensor, e: &Tensor) -> Result<Tensor> {
    selected(c, t, e, None)
}

/// The same. The result goes to `place`, one of the values that nobody needs any more and that has its shape.
pub(super) fn selected(c: &Tensor, t: &Tensor, e: &Tensor, place: Option<&Tensor>) -> Result<Tensor> {
    let kind = t.f_kind()?;
    let bits = match kind {
        Kind::Int | Kind::Float => Kind::Int,
        Kind::Int64 | Kind::Double => Kind::Int64,
        Kind::Int16 | Kind::Half => Kind::Int16,
        _ => kind,
    };
    // A predictable mask costs nothing, but nobody knows it.
    let dense = c.numel() >= MANY && c.dim() > 0 && t.dim() + e.dim() > 0;
    if !dense || !matches!(bits, Kind::Int | Kind::Int64) {
        return Ok(match place {
            Some(out) => t.f_where_self_out(out, c, e)?,
            None => t.f_where_self(c, e)?,
        });
    }
    // ((t ^ e) & -c) ^ e, or with the roles of `t` and `e` exchanged and c - 1, all ones where `c` is false. The sign of
    // a byte fills the wider numbers.
    let exchanged = place.is_some_and(|place| std::ptr::eq(place, e));
    let c = c.f_view_dtype(Kind::Int8)?;
    let all_ones = if exchanged { c.f_sub_scalar(1)? } else { c.f_neg()? }.f_to_kind(bits)?;
    let as_bits = |t: &Tensor| if kind == bits { Ok(t.shallow_clone()) } else { t.f_view_dtype(bits) };
    let (mut x, y) = if exchanged { (as_bits(e)?, as_bits(t)?) } else { (as_bits(t)?, as_bits(e)?) };
    let differing = if place.is_some() { x.f_bitwise_xor_tensor_(&y)? } else { x.f_bitwise_xor_tensor(&y)? };
    let taken = in_place_if(differing, &all_ones, Tensor::f_bitwise_and_tensor_, Tensor::f_bitwise_and_tensor)?;
    let chosen = in_place_if(taken, &y, Tensor::f_bitwise_xor_tensor_, Tensor::f_bitwise_xor_tensor)?;
    Ok(if kind == bits { chosen } else { chosen.f_view_dtype(kind)? })
}

/// An operation that writes into its first operand, which nobody else has, if that has the shape of the result.
fn in_place_if(
    mut x: Tensor,
    y: &Tensor,
    write: impl Fn(&mut Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>,
    make: impl Fn(&Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>,
) -> Result<Tensor> {
    let (shape, other) = (x.size(), y.size());
    let covers =
        other.len() <= shape.len() && other.iter().rev().zip(shape.iter().rev()).all(|(b, a)| b == a || *b == 1);
    Ok(if covers { write(&mut x, y)? } else { make(&x, y)? })
}

/// Whether any element of a tensor of `bool` is true.
pub(super) fn any_lane(t: &Tensor) -> Result<bool> {
    Ok(t.numel() > 0 && any(t)?.f_int64_value(&[])? != 0)
}
