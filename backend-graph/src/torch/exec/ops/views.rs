//! Ranges, and tensors of the elements of others: slices, gathers, pads.

use super::cast;
use crate::torch::TorchError;
use crate::torch::numbers::{WithNumber, full, number, range};
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use acc_desugar::graph::PadMode;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Whether a position of a lane is out of bounds: see [`Op::Outside`](acc_desugar::graph::Op::Outside).
pub(crate) fn outside(base: i64, steps: &[i64], lens: &[i64], extent: i64) -> bool {
    if lens.iter().any(|n| *n <= 0) {
        return false;
    }
    let (mut least, mut greatest) = (i128::from(base), i128::from(base));
    for (step, len) in steps.iter().zip(lens) {
        let way = i128::from(*step) * i128::from(len - 1);
        if way < 0 { least += way } else { greatest += way }
    }
    least < 0 || greatest >= i128::from(extent)
}

pub(crate) fn iota(len: i64, start: i64, step: i64, ty: ScalarType, device: tch::Device) -> Result<Tensor> {
    // How large numbers are exact in the type; and libtorch computes the length of a range in doubles.
    let bits = match ty {
        ScalarType::F32 => 24,
        ScalarType::I32 => 31,
        _ => 52,
    };
    let exact = |n: &i64| n.unsigned_abs() < 1 << bits;
    let end = step.checked_mul(len).filter(exact).and_then(|way| start.checked_add(way)).filter(exact);
    let exact = end.is_some() && exact(&start) && exact(&step);
    let options = (kind(ty), device);
    if ty != ScalarType::I64 && !exact {
        return cast::cast(&iota(len, start, step, ScalarType::I64, device)?, ScalarType::I64, ty);
    }
    match end {
        _ if step == 0 => full(&[len], start, options),
        Some(end) => range(len, [start, end, step], options),
        None => range(len, [0, len, 1], options)?.mul_number(step)?.add_number(start),
    }
}

/// Positions moved into `0..extent`; off their place if there is nothing in it.
pub(crate) fn clamp(at: &Tensor, extent: i64) -> Result<Tensor> {
    Ok(if extent > 0 { at.clamped(0, extent - 1, None)? } else { at.f_bitwise_not()? })
}

/// Zeros that take no memory to speak of.
fn zeros(shape: &[i64], like: &Tensor) -> Result<Tensor> {
    Ok(Tensor::f_zeros([0i64; 0], (like.f_kind()?, like.device()))?.f_expand(shape, false)?)
}

/// `len` positions from `start`, `step` apart, along an axis; zeros if they are not all there.
pub(crate) fn slice(t: &Tensor, axis: usize, start: i64, len: i64, step: i64) -> Result<Tensor> {
    let mut shape = t.size();
    let extent = shape.get(axis).copied().unwrap_or(0);
    if len > 0 && outside(start, &[step], &[len], extent) {
        if let Some(n) = shape.get_mut(axis) {
            *n = len;
        }
        return zeros(&shape, t);
    }
    Ok(match (len, step) {
        (_, 1) if len == extent && start == 0 => t.shallow_clone(),
        (..=0, _) => t.f_narrow(axis as i64, 0, 0)?,
        (_, 1) => t.f_narrow(axis as i64, start, len)?,
        _ => t.f_slice(axis as i64, start, start + (len - 1) * step + 1, step)?,
    })
}

/// One position of an axis; zeros if it is not there.
pub(crate) fn select(t: &Tensor, axis: usize, at: i64) -> Result<Tensor> {
    let mut shape = t.size();
    if axis < shape.len() && !(0..shape.remove(axis)).contains(&at) {
        return zeros(&shape, t);
    }
    Ok(t.f_select(axis as i64, at)?)
}

/// The positions along an axis: see [`Op::Unfold`](acc_desugar::graph::Op::Unfold).
pub(crate) struct Positions<'a> {
    pub(crate) start: i64,
    pub(crate) lens: &'a [i64],
    pub(crate) steps: &'a [i64],
    pub(crate) padded: bool,
}

impl Positions<'_> {
    /// The least position, and how many there are up to the greatest one; none if there is no position.
    fn range(&self) -> Option<(i64, i64)> {
        if self.lens.iter().any(|n| *n <= 0) {
            return None;
        }
        let ways = || self.steps.iter().zip(self.lens).map(|(step, len)| step.saturating_mul(len - 1));
        let below = ways().map(|w| w.min(0)).fold(0, i64::saturating_add);
        let above = ways().map(|w| w.max(0)).fold(1, i64::saturating_add);
        Some((self.start.saturating_add(below), above.saturating_sub(below)))
    }
}

/// The elements at those of `len` positions of an axis from `start` on that are in bounds, and how many positions are out of bounds
/// before and behind them.
pub(crate) fn in_bounds(t: &Tensor, axis: usize, start: i64, len: i64) -> Result<(Tensor, [i64; 2])> {
    let extent = t.size().get(axis).copied().unwrap_or(0);
    let (first, end) = (start.clamp(0, extent), start.saturating_add(len).clamp(0, extent));
    let count = (end - first).max(0);
    let before = (first - start).min(len);
    Ok((t.f_narrow(axis as i64, first, count)?, [before, len - before - count]))
}

/// A tensor with so many zeros before and behind it along the axes from `first` on.
pub(crate) fn with_zeros(t: Tensor, first: usize, around: &[[i64; 2]]) -> Result<Tensor> {
    // Pairs of widths, of the last axis first.
    let mut widths = vec![0; 2 * (t.dim() - first - around.len())];
    widths.extend(around.iter().rev().flatten());
    if widths.iter().all(|w| *w == 0) { Ok(t) } else { Ok(t.f_constant_pad_nd(widths.as_slice())?) }
}

/// An axis read at `start + Σ steps·index`.
pub(crate) fn unfold(t: &Tensor, axis: usize, at: &Positions<'_>) -> Result<Tensor> {
    let Positions { start, lens, steps, padded } = *at;
    let mut shape = t.size();
    let extent = shape.get(axis).copied().unwrap_or(0);
    let mut strides = t.stride();
    let stride = strides.get(axis).copied().unwrap_or(1);
    shape.splice(axis..=axis, lens.iter().copied());
    match at.range() {
        None => return zeros(&shape, t),
        Some((first, len)) if padded && (first >= extent || first.saturating_add(len) <= 0) => return zeros(&shape, t),
        Some((first, len)) if padded && outside(first, &[1], &[len], extent) => {
            let (there, around) = in_bounds(t, axis, first, len)?;
            let there = with_zeros(there, axis, &[around])?;
            return unfold(&there, axis, &Positions { start: start - first, lens, steps, padded: false });
        }
        Some(_) if outside(start, steps, lens, extent) => return zeros(&shape, t),
        Some(_) => {}
    }
    // A stride is not negative: such an axis is taken from its other end, and reversed.
    let (mut first, mut reversed) = (start, Vec::new());
    for (k, (step, len)) in steps.iter().zip(lens).enumerate() {
        if *step < 0 {
            first += step * (len - 1);
            reversed.push((axis + k) as i64);
        }
    }
    strides.splice(axis..=axis, steps.iter().map(|step| step.abs() * stride));
    let view = t.f_narrow(axis as i64, first, extent - first)?.f_as_strided(shape, strides.as_slice(), None)?;
    Ok(if reversed.is_empty() { view } else { view.f_flip(reversed.as_slice())? })
}

/// Positions as `index_select` takes them.
pub(crate) fn positions(at: &Tensor) -> Result<Tensor> {
    Ok(match at.f_kind()? {
        Kind::Int | Kind::Int64 => at.shallow_clone(),
        _ => at.f_to_kind(Kind::Int)?,
    })
}

pub(crate) fn gather(source: &Tensor, at: &Tensor) -> Result<Tensor> {
    if source.numel() == 0 {
        return zeros(&at.size(), source);
    }
    let at = &positions(at)?;
    if at.dim() == 1 {
        return Ok(source.f_index_select(0, at)?);
    }
    Ok(source.f_index_select(0, &at.f_reshape([-1])?)?.f_reshape(at.size())?)
}

pub(crate) fn take(t: &Tensor, axis: usize, at: &Tensor) -> Result<Tensor> {
    let mut shape = t.size();
    if let Some(n) = shape.get_mut(axis)
        && *n == 0
    {
        *n = at.numel() as i64;
        return zeros(&shape, t);
    }
    Ok(t.f_index_select(axis as i64, &positions(at)?)?)
}

/// A tensor with places more at both ends of its axes, but for those without elements.
pub(crate) fn pad(t: &Tensor, widths: &[u32], mode: PadMode) -> Result<Tensor> {
    let shape = t.size();
    let widths: Vec<i64> = widths.iter().zip(&shape).map(|(w, n)| if *n == 0 { 0 } else { i64::from(*w) }).collect();
    if t.numel() == 0 {
        let shape: Vec<i64> = shape.iter().zip(&widths).map(|(n, w)| n + 2 * w).collect();
        return zeros(&shape, t);
    }
    if let ([n], [w], PadMode::Nearest | PadMode::Wrap) = (&shape[..], &widths[..], mode) {
        let (first, last) = match mode {
            PadMode::Wrap => (t.f_narrow(0, n - w, *w)?, t.f_narrow(0, 0, *w)?),
            _ => (t.f_narrow(0, 0, 1)?.f_expand([*w], false)?, t.f_narrow(0, n - 1, 1)?.f_expand([*w], false)?),
        };
        return Ok(Tensor::f_cat(&[first, t.shallow_clone(), last], 0)?);
    }
    if shape.len() > 3 {
        // libtorch pads three axes at most.
        let mut t = t.shallow_clone();
        for (axis, (n, w)) in shape.iter().zip(&widths).enumerate().filter(|(_, (_, w))| **w > 0) {
            t = t.f_index_select(axis as i64, &padded_positions(*n, *w, mode, t.device())?)?;
        }
        return Ok(t);
    }
    let name = match mode {
        PadMode::Nearest => "replicate",
        PadMode::Mirror => "reflect",
        PadMode::Wrap => "circular",
    };
    let both: Vec<i64> = widths.iter().rev().flat_map(|w| [*w, *w]).collect();
    let kind = t.f_kind()?;
    let t = if kind == Kind::Bool { t.f_view_dtype(Kind::Uint8)? } else { t.shallow_clone() };
    let padded =
        t.f_unsqueeze(0)?.f_unsqueeze(0)?.f_pad(both.as_slice(), name, None)?.f_squeeze_dim(0)?.f_squeeze_dim(0)?;
    Ok(if kind == Kind::Bool { padded.f_view_dtype(kind)? } else { padded })
}

/// Which position each place of a padded axis of `n` elements shows.
fn padded_positions(n: i64, width: i64, mode: PadMode, device: tch::Device) -> Result<Tensor> {
    let last = n - 1;
    let at = range(n + 2 * width, [-width, n + width, 1], (Kind::Int64, device))?;
    match mode {
        PadMode::Nearest => at.clamped(0, last, None),
        // Those before the first one are as far behind it, and those behind the last one as far before.
        PadMode::Mirror => {
            let from_last = at.f_abs()?.f_neg()?.add_number(last)?.f_abs()?;
            from_last.f_neg()?.add_number(last)?.clamped(0, last, None)
        }
        PadMode::Wrap => Ok(at.f_remainder_tensor(&number(n, Kind::Int64)?)?),
    }
}
