//! Softmax along an axis.

use super::elementwise;
use super::reduce::reduce;
use crate::torch::TorchError;
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use acc_desugar::graph::ReduceOp;
use tch::{Device, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// libtorch's own function is good at rows of memory with at least so many elements: of shorter ones it takes some ten
/// times as long as its other operations together, and of other axes about twice.
fn long(ty: ScalarType) -> i64 {
    if ty == ScalarType::F32 { 16 } else { 128 }
}

/// Softmax along an axis of floats, or its logarithm.
pub(crate) fn softmax(x: &Tensor, axis: i64, log: bool, ty: ScalarType) -> Result<Tensor> {
    let whole = |x: &Tensor, axis: i64| -> Result<Tensor> {
        Ok(if log { x.f_log_softmax(axis, None)? } else { x.f_softmax(axis, None)? })
    };
    if x.device() != Device::Cpu {
        return whole(x, axis);
    }
    // The axes in the order in which they lie in memory.
    let (sizes, strides) = (x.size(), x.stride());
    let axes: Vec<i64> = (0..x.dim() as i64).collect();
    let mut order = axes.clone();
    order.sort_by_key(|k| std::cmp::Reverse(strides.get(*k as usize).copied()));
    if order.last() != Some(&axis) || sizes.get(axis as usize).is_none_or(|n| *n < long(ty)) {
        return by_steps(x, axis, log, ty);
    }
    let mut back = axes;
    back.sort_by_key(|k| order.iter().position(|from| from == k));
    Ok(whole(&x.f_permute(&order)?, -1)?.f_permute(&back)?)
}

/// The same as a program has it.
fn by_steps(x: &Tensor, axis: i64, log: bool, ty: ScalarType) -> Result<Tensor> {
    let along = |k: ReduceOp, t: &Tensor| -> Result<Tensor> {
        Ok(reduce(k, &t.f_movedim_int(axis, -1)?, ty)?.f_unsqueeze(axis)?)
    };
    let less = x.f_sub(&along(ReduceOp::Max, x)?)?;
    if log {
        let sums = along(ReduceOp::Sum, &less.f_exp()?)?;
        return elementwise::apply(PrimOp::SubP, ty, &[&less, &sums.f_log()?], None, Some((&less, true)));
    }
    let e = elementwise::apply(PrimOp::ExpP, ty, &[&less], None, Some((&less, true)))?;
    let sums = along(ReduceOp::Sum, &e)?;
    elementwise::apply(PrimOp::DivP, ty, &[&e, &sums], None, Some((&e, true)))
}
