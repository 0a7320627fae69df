//! Comparisons, which libtorch does element by element where it stores truth values, and with vectors where it stores
//! numbers.

use super::tiles::{self, Operand};
use crate::torch::TorchError;
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

pub(super) type Comparison = fn(&Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>;
/// The same; what holds is stored as 1 in the second tensor, whose kind is that of the operands.
pub(super) type ComparisonInto = fn(&Tensor, &Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>;

/// From so many elements on it is faster to store numbers first, and to convert these, as vectors, too,
const MANY: usize = 1 << 13;
/// if the numbers have at most 32 bits; wider ones
const MANY_WIDE: usize = 1 << 14;

/// What a comparison says of each pair.
pub(super) fn holds(ty: ScalarType, x: &Tensor, y: &Tensor, f: Comparison, into: ComparisonInto) -> Result<Tensor> {
    let many = match ty {
        ScalarType::F32 | ScalarType::I32 | ScalarType::U32 => MANY,
        ScalarType::F64 | ScalarType::I64 | ScalarType::U64 => MANY_WIDE,
        _ => usize::MAX,
    };
    let count = x.numel().max(y.numel());
    if count < many || x.device() != tch::Device::Cpu {
        return Ok(f(x, y)?);
    }
    let wide = many == MANY_WIDE;
    if (wide || count > tiles::length() as usize)
        && let Some(truth) = in_tiles(kind(ty), x, y, into)?
    {
        return Ok(truth);
    }
    // Of wider numbers there is nothing to be won if they go through memory.
    if wide {
        return Ok(f(x, y)?);
    }
    let numbers = Tensor::f_empty([0i64], (kind(ty), x.device()))?;
    Ok(into(x, &numbers, y)?.f_to_kind(Kind::Bool)?)
}

/// The same tile by tile, if the elements of both lie in one order: the numbers stay near the processor.
fn in_tiles(kind: Kind, x: &Tensor, y: &Tensor, into: ComparisonInto) -> Result<Option<Tensor>> {
    let shape = if x.dim() > 0 { x.size() } else { y.size() };
    let [Some(xs), Some(ys)] = [Operand::of(x, &shape)?, Operand::of(y, &shape)?] else { return Ok(None) };
    let truth = Tensor::f_empty(&shape, (Kind::Bool, x.device()))?;
    let (flat, count) = (truth.f_view([-1i64])?, truth.numel() as i64);
    let all = Tensor::f_empty([tiles::length().min(count)], (kind, x.device()))?;
    for tile in tiles::all(count) {
        let numbers = all.f_narrow(0, 0, tile.1)?;
        let _ = into(&xs.part(tile)?, &numbers, &ys.part(tile)?)?;
        flat.f_narrow(0, tile.0, tile.1)?.f_copy_(&numbers)?;
    }
    Ok(Some(truth))
}
