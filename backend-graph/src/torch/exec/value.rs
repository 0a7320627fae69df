//! The values of a run.

use crate::torch::TorchError;
use acc_core::Charge;
use std::sync::Arc;
use tch::Tensor;

/// A value of a run.
pub(super) enum Rt {
    Size(i64),
    Tensor(Held),
    Token,
}

/// A tensor, with what its memory counts for; a view shares the charge of what it views.
pub(super) struct Held {
    pub(super) tensor: Tensor,
    /// How many elements it has.
    pub(super) count: i64,
    pub(super) charge: Option<Arc<Charge>>,
}

impl std::ops::Deref for Held {
    type Target = Tensor;
    fn deref(&self) -> &Tensor {
        &self.tensor
    }
}

impl From<Tensor> for Held {
    /// Memory that does not count: an argument's, or too little to count.
    fn from(tensor: Tensor) -> Held {
        Held { count: tensor.numel() as i64, tensor, charge: None }
    }
}

impl Held {
    pub(super) fn handle(&self) -> Held {
        Held { tensor: self.tensor.shallow_clone(), count: self.count, charge: self.charge.clone() }
    }
}

impl Rt {
    /// Another handle of the value.
    pub(super) fn handle(&self) -> Rt {
        match self {
            Rt::Size(n) => Rt::Size(*n),
            Rt::Tensor(t) => Rt::Tensor(t.handle()),
            Rt::Token => Rt::Token,
        }
    }

    /// Whether a condition, a size or a rank-0 tensor of `bool`, holds.
    pub(super) fn holds(&self) -> Result<bool, TorchError> {
        match self {
            Rt::Size(n) => Ok(*n != 0),
            Rt::Tensor(t) => Ok(t.f_int64_value(&[])? != 0),
            Rt::Token => Err(TorchError::new("a check is no condition")),
        }
    }
}
