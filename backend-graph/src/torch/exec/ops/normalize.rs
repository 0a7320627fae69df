//! Normalisation along some axes.

use crate::torch::TorchError;
use crate::torch::numbers::{WithNumber, full};
use acc_core::data::Lit;
use std::cmp::Reverse;
use tch::Tensor;

type Result<T> = std::result::Result<T, TorchError>;

/// What results are multiplied with, and what is added then.
#[derive(Clone, Copy)]
pub(crate) struct Affine<'a> {
    pub(crate) scale: Option<&'a Tensor>,
    pub(crate) shift: Option<&'a Tensor>,
}

/// Numbers less their mean, over the root of their variance and a small number.
pub(crate) fn normalize(x: &Tensor, axes: &[u32], epsilon: Lit, affine: Affine<'_>) -> Result<Tensor> {
    let axes: Vec<i64> = axes.iter().map(|a| i64::from(*a)).collect();
    let epsilon = epsilon.get::<f64>().or(epsilon.get::<f32>().map(f64::from));
    let epsilon = epsilon.ok_or_else(|| TorchError::new("what is normalised is no float"))?;
    // The axes in the order in which they lie in memory.
    let strides = x.stride();
    let mut order: Vec<i64> = (0..x.dim() as i64).collect();
    order.sort_by_key(|k| Reverse(strides.get(*k as usize).copied()));
    let innermost = order.iter().rev().take(axes.len()).all(|k| axes.contains(k));
    if innermost && x.numel() > 0 {
        let in_memory = arranged(x, &order)?;
        if in_memory.is_contiguous() {
            return rows(&in_memory, &order, axes.len(), epsilon, affine);
        }
    }
    by_steps(x, &axes, epsilon, affine)
}

fn arranged(t: &Tensor, order: &[i64]) -> Result<Tensor> {
    Ok(if order.is_sorted() { t.shallow_clone() } else { t.f_permute(order)? })
}

/// Along the last so many axes of a tensor whose axes were put into this order, by libtorch's own function, which is good
/// at rows of memory.
fn rows(x: &Tensor, order: &[i64], inner: usize, epsilon: f64, affine: Affine<'_>) -> Result<Tensor> {
    let mut sizes = x.size();
    let row = sizes.split_off(sizes.len().saturating_sub(inner));
    let outer = vec![1i64; sizes.len()];
    let one = [outer, row.clone()].concat();
    // What all rows share.
    let shared = |t: &Tensor| -> Result<Option<Tensor>> {
        let t = arranged(t, order)?;
        let mut size = t.size();
        let inner = size.split_off(sizes.len());
        if size.iter().any(|n| *n != 1) {
            return Ok(None);
        }
        let t = if inner == row { t } else { t.f_expand(one.as_slice(), false)? };
        Ok(Some(t.f_reshape(row.as_slice())?))
    };
    let mut rest = affine;
    let scale = affine.scale.map(shared).transpose()?.flatten();
    if scale.is_some() {
        rest.scale = None;
    }
    // A shift comes after the scale.
    let shift = if rest.scale.is_none() { affine.shift.map(shared).transpose()?.flatten() } else { None };
    if shift.is_some() {
        rest.shift = None;
    }
    // Without one of the two libtorch goes element by element. What changes no number is one, and the zero below zero.
    let of = (x.f_kind()?, x.device());
    let scale = scale.map_or_else(|| Tensor::f_ones(row.as_slice(), of), Ok)?;
    let shift = shift.map_or_else(|| full(&row, -0.0, of), Ok)?;
    let normal = x.f_layer_norm(row.as_slice(), Some(&scale), Some(&shift), epsilon, false)?;
    let mut back: Vec<i64> = (0..order.len() as i64).collect();
    back.sort_by_key(|k| order.iter().position(|from| from == k));
    rest.applied(arranged(&normal, &back)?)
}

/// The same as a program has it.
fn by_steps(x: &Tensor, axes: &[i64], epsilon: f64, affine: Affine<'_>) -> Result<Tensor> {
    let kind = x.f_kind()?;
    let mean = |t: &Tensor| t.f_mean_dim(axes, true, kind);
    let less = x.f_sub(&mean(x)?)?;
    let mut by = mean(&less.f_mul(&less)?)?.add_number(epsilon)?.f_rsqrt()?;
    let mut rest = affine;
    // A scale that varies along the other axes alone is one of few numbers.
    if let Some(scale) = affine.scale
        && axes.iter().all(|k| scale.size().get(*k as usize) == Some(&1))
    {
        by = by.f_mul(scale)?;
        rest.scale = None;
    }
    rest.applied(less.f_mul_out(&less, &by)?)
}

impl Affine<'_> {
    /// What becomes of a tensor that nobody else has.
    fn applied(&self, mut t: Tensor) -> Result<Tensor> {
        if let Some(scale) = self.scale {
            t = t.f_mul_out(&t, scale)?;
        }
        if let Some(shift) = self.shift {
            t = t.f_add_out(&t, shift)?;
        }
        Ok(t)
    }
}
