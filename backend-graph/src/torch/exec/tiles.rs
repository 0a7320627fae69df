//! Element-wise operations that take several steps, on so many elements at a time that what is between the steps stays near
//! the processor.

use crate::torch::TorchError;
use tch::{Device, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// How many elements each thread has of a tile: as many as libtorch gives a thread at least.
const PER_THREAD: i64 = 1 << 15;

/// How many elements a tile has.
pub(super) fn length() -> i64 {
    PER_THREAD * i64::from(tch::get_num_threads().max(1))
}

/// The elements of an operand in the order of memory, whatever its axes.
pub(super) enum Operand {
    /// One for each element of the result.
    Each(Tensor),
    /// One for all.
    One(Tensor),
}

impl Operand {
    /// An operand of an operation whose result has this shape, if its elements lie next to one another as those of the
    /// result do.
    pub(super) fn of(t: &Tensor, shape: &[i64]) -> Result<Option<Operand>> {
        if t.dim() == 0 {
            return Ok(Some(Operand::One(t.shallow_clone())));
        }
        if t.device() != Device::Cpu || t.size() != shape || !t.is_contiguous() {
            return Ok(None);
        }
        Ok(Some(Operand::Each(t.f_view([-1i64])?)))
    }

    /// Its elements of a tile.
    pub(super) fn part(&self, (start, len): (i64, i64)) -> Result<Tensor> {
        Ok(match self {
            Operand::Each(t) => t.f_narrow(0, start, len)?,
            Operand::One(t) => t.shallow_clone(),
        })
    }
}

/// The first element and the length of each tile of so many elements.
pub(super) fn all(count: i64) -> impl Iterator<Item = (i64, i64)> {
    let length = length();
    (0..count).step_by(usize::try_from(length).unwrap_or(1)).map(move |start| (start, length.min(count - start)))
}
