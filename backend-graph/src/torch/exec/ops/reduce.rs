//! Reductions, scans and contractions along the last axis.

use super::{elementwise, strided};
use crate::torch::transfer::{kind, literal};
use crate::torch::{Device, TorchError};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use acc_desugar::graph::ReduceOp;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// The tensor with the order of unsigned numbers as that of signed ones.
pub(crate) fn ordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    match ty {
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => elementwise::flip_sign(t, ty),
        ScalarType::Bool => Ok(t.f_view_dtype(Kind::Uint8)?),
        _ => Ok(t.shallow_clone()),
    }
}

/// The inverse of [`ordered`].
pub(crate) fn unordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    match ty {
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => elementwise::flip_sign(t, ty),
        ScalarType::Bool => Ok(t.f_view_dtype(Kind::Bool)?),
        _ => Ok(t.shallow_clone()),
    }
}

/// Rows of at most this many elements,
const MAX_COLUMNS_ONE_BY_ONE: i64 = 4;
/// of which there are at least so many, are reduced column by column: libtorch takes some ten nanoseconds for each row.
const MIN_ROWS_BY_COLUMN: i64 = 4096;

/// The operation on two elements.
pub(crate) fn operation(k: ReduceOp) -> PrimOp {
    match k {
        ReduceOp::Sum => PrimOp::AddP,
        ReduceOp::Product => PrimOp::MulP,
        ReduceOp::Min => PrimOp::MinP,
        ReduceOp::Max => PrimOp::MaxP,
        ReduceOp::All => PrimOp::AndP,
        ReduceOp::Any => PrimOp::OrP,
    }
}

/// Reductions of rows of `n` elements, 2 or more.
fn column_by_column(p: PrimOp, t: &Tensor, ty: ScalarType, n: i64) -> Result<Tensor> {
    let mut all = elementwise::apply(p, ty, &[&t.f_select(-1, 0)?, &t.f_select(-1, 1)?], None, None)?;
    for k in 2..n {
        all = elementwise::apply(p, ty, &[&all, &t.f_select(-1, k)?], None, Some((&all, true)))?;
    }
    Ok(all)
}

pub(crate) fn reduce(k: ReduceOp, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    if ty == ScalarType::F16 {
        return Ok(reduce(k, &t.f_to_kind(Kind::Float)?, ScalarType::F32)?.f_to_kind(Kind::Half)?);
    }
    if t.size().last() == Some(&0) {
        let outer = t.size();
        let neutral = literal(k.neutral(ty), Device::Cpu)?.f_to_device(t.device())?;
        return Ok(neutral.f_expand(outer.split_last().map_or(&[][..], |(_, outer)| outer), false)?);
    }
    let n = t.size().last().copied().unwrap_or(1);
    if (2..=MAX_COLUMNS_ONE_BY_ONE).contains(&n) && t.numel() as i64 / n >= MIN_ROWS_BY_COLUMN {
        return column_by_column(operation(k), t, ty, n);
    }
    let whole = |t: &Tensor, kind: Kind| match strided::are_apart(t) {
        true => strided::in_blocks(k, t, kind),
        false => strided::last_axis(k, t, kind, None),
    };
    match k {
        ReduceOp::Sum | ReduceOp::Product => whole(t, kind(ty)),
        // Reducing along no axis in particular is vectorised for integers.
        ReduceOp::Min if t.dim() == 1 && ty == ScalarType::I64 => Ok(t.f_min()?),
        ReduceOp::Max if t.dim() == 1 && ty == ScalarType::I64 => Ok(t.f_max()?),
        ReduceOp::Min | ReduceOp::All | ReduceOp::Max | ReduceOp::Any => {
            let t = ordered(t, ty)?;
            unordered(&whole(&t, t.f_kind()?)?, ty)
        }
    }
}

/// Sums of products along the last axes: matrix products, a batch of them over the axes that both operands have. Where a
/// mask is false the first factor is 0, and the product whatever the second one is.
pub(crate) fn contract([a, b]: [&Tensor; 2], mask: Option<&Tensor>, axes: usize, ty: ScalarType) -> Result<Tensor> {
    if a.dim() == 1 && a.size() == b.size() && mask.is_none() {
        return Ok(a.f_dot(b)?);
    }
    let outer = a.dim() - axes;
    let full: Vec<i64> = a.size().iter().zip(b.size()).map(|(x, y)| together(*x, y)).take(outer).collect();
    let products = match mask {
        // Zeros times what is no number are not 0.
        Some(mask) if !all_finite(b)? => {
            let products = a.f_mul(b)?.f_where_self(mask, &zero_like(a)?)?;
            products.f_sum_dim_intlist((outer as i64..a.dim() as i64).collect::<Vec<_>>(), false, kind(ty))?
        }
        _ => contract_parted(&without_copies(a, outer)?, &without_copies(b, outer)?, outer, ty)?,
    };
    // Along an axis of neither operand all is the same.
    Ok(if products.size() == full { products } else { products.f_expand(full, false)? })
}

/// The extent of an axis of two tensors together, one of which may repeat along it.
fn together(x: i64, y: i64) -> i64 {
    if x == 1 { y } else { x }
}

/// Sums that nobody else has, as those that begin with 0: none is -0.
pub(crate) fn begun_with_zero(mut sums: Tensor) -> Result<Tensor> {
    Ok(sums.f_add_scalar_(0.0)?)
}

/// Whether all numbers of a tensor are finite.
pub(crate) fn all_finite(t: &Tensor) -> Result<bool> {
    Ok(bool::try_from(t.f_isfinite()?.f_all()?)?)
}

fn zero_like(t: &Tensor) -> Result<Tensor> {
    Ok(Tensor::f_zeros([0i64; 0], (t.f_kind()?, t.device()))?)
}

/// A contraction whose `outer` axes stay.
fn contract_parted(a: &Tensor, b: &Tensor, outer: usize, ty: ScalarType) -> Result<Tensor> {
    let (left, right) = (a.size(), b.size());
    let ((rows, left_summed), (columns, right_summed)) = (left.split_at(outer), right.split_at(outer));
    let (m, n) = (left_summed.iter().product::<i64>(), right_summed.iter().product::<i64>());
    // The axes of both operands, then those of the left one alone, then those of the right one alone.
    let role = |&(_, (x, y)): &(usize, (&i64, &i64))| match (x, y) {
        (1, _) => 2,
        (_, 1) => 1,
        _ => 0,
    };
    let mut outer: Vec<_> = rows.iter().zip(columns).enumerate().collect();
    outer.sort_by_key(role);
    let extents: Vec<i64> = outer.iter().map(|(_, (x, y))| together(**x, **y)).collect();
    let size = |of: usize| outer.iter().zip(&extents).filter(|(o, _)| role(o) == of).map(|(_, n)| n).product::<i64>();
    let [batch, rows, columns] = [size(0), size(1), size(2)];
    let one_each = rows == 1 && columns == 1;
    let axes: Vec<i64> = outer.iter().map(|(k, _)| *k as i64).collect();
    if left_summed != right_summed || m == 0 || batch * rows * columns == 0 || one_each {
        let products = a.f_mul(b)?;
        if left_summed.len() == 1 {
            return reduce(ReduceOp::Sum, &products, ty);
        }
        let summed: Vec<i64> = (axes.len() as i64..products.dim() as i64).collect();
        return Ok(products.f_sum_dim_intlist(summed, false, kind(ty))?);
    }
    let all: Vec<i64> = axes.iter().copied().chain(axes.len() as i64..left.len() as i64).collect();
    let a = a.f_permute(all.as_slice())?.f_reshape([batch, rows, m])?;
    let b = b.f_permute(all.as_slice())?.f_reshape([batch, columns, n])?.f_transpose(1, 2)?;
    let products = match batch {
        1 => a.f_select(0, 0)?.f_matmul(&b.f_select(0, 0)?)?,
        _ => a.f_bmm(&b)?,
    };
    // Of one term the product itself comes back.
    let products = if m == 1 { begun_with_zero(products)? } else { products };
    let products = products.f_reshape(extents)?;
    if axes.is_sorted() {
        return Ok(products);
    }
    let mut back: Vec<i64> = (0..axes.len() as i64).collect();
    back.sort_by_key(|k| axes.get(*k as usize));
    Ok(products.f_permute(back.as_slice())?)
}

/// A tensor with one element along each of its first `outer` axes along which all are the same one in memory.
fn without_copies(t: &Tensor, outer: usize) -> Result<Tensor> {
    let mut t = t.shallow_clone();
    for (axis, (size, stride)) in t.size().into_iter().zip(t.stride()).take(outer).enumerate() {
        if stride == 0 && size > 1 {
            t = t.f_narrow(axis as i64, 0, 1)?;
        }
    }
    Ok(t)
}

/// The position of the first extreme of each row.
pub(crate) fn arg_extreme(k: ReduceOp, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    let t = ordered(t, ty)?;
    let t = if ty == ScalarType::F16 { t.f_to_kind(Kind::Float)? } else { t };
    Ok(match k {
        ReduceOp::Min => t.f_min_dim(-1, false)?.1,
        ReduceOp::Max | ReduceOp::Sum | ReduceOp::Product | ReduceOp::All | ReduceOp::Any => t.f_max_dim(-1, false)?.1,
    })
}

pub(crate) fn cumulative(k: ReduceOp, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    if ty == ScalarType::F16 {
        return Ok(cumulative(k, &t.f_to_kind(Kind::Float)?, ScalarType::F32)?.f_to_kind(Kind::Half)?);
    }
    Ok(match k {
        ReduceOp::Sum => t.f_cumsum(-1, kind(ty))?,
        ReduceOp::Product => t.f_cumprod(-1, kind(ty))?,
        // Scans of no element: libtorch refuses these for the two below.
        _ if t.numel() == 0 => t.shallow_clone(),
        ReduceOp::Min | ReduceOp::All => unordered(&ordered(t, ty)?.f_cummin(-1)?.0, ty)?,
        ReduceOp::Max | ReduceOp::Any => unordered(&ordered(t, ty)?.f_cummax(-1)?.0, ty)?,
    })
}

/// The totals of the elements before each one of a row, and then of all.
pub(crate) fn exclusive(k: ReduceOp, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    let mut shape = t.size();
    let n = shape.pop().unwrap_or(0);
    let neutral = literal(k.neutral(ty), Device::Cpu)?.f_to_device(t.device())?;
    let written = matches!(k, ReduceOp::Sum | ReduceOp::Product) && ty != ScalarType::F16;
    if !written {
        shape.push(1);
        return Ok(Tensor::f_cat(&[&neutral.f_expand(shape, false)?, &cumulative(k, t, ty)?], -1)?);
    }
    // The scan goes where it belongs.
    shape.push(n + 1);
    let all = Tensor::f_empty(shape, (kind(ty), t.device()))?;
    let _ = all.f_narrow(-1, 0, 1)?.f_fill_tensor_(&neutral)?;
    let rest = all.f_narrow(-1, 1, n)?;
    let _ = match k {
        ReduceOp::Product => t.f_cumprod_out(&rest, -1, kind(ty))?,
        _ => t.f_cumsum_out(&rest, -1, kind(ty))?,
    };
    Ok(all)
}
