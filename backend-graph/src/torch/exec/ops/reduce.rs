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
