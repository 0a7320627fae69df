//! Concatenations. Of concatenations the parts are written to their places (see [`Step::is_inner`](crate::plan::Step)).

use super::Run;
use crate::torch::TorchError;
use crate::torch::transfer::kind;
use acc_desugar::graph::{Op, Value};
use tch::Tensor;

type Result<T> = std::result::Result<T, TorchError>;

/// What is joined: a tensor, or what others are joined to along an axis.
enum Part<'a> {
    Tensor(&'a Tensor),
    Join { shape: Vec<i64>, axis: usize, parts: Vec<Part<'a>> },
}

impl Part<'_> {
    fn shape(&self) -> Vec<i64> {
        match self {
            Part::Tensor(t) => t.size(),
            Part::Join { shape, .. } => shape.clone(),
        }
    }

    fn write(&self, mut to: Tensor) -> Result<()> {
        match self {
            Part::Tensor(t) => to.f_copy_(t)?,
            Part::Join { axis, parts, .. } => {
                let mut start = 0;
                for part in parts {
                    let len = part.shape().get(*axis).copied().unwrap_or(0);
                    let place = to.f_narrow(*axis as i64, start, len)?;
                    acc_core::grow_stack(|| part.write(place))?;
                    start += len;
                }
            }
        }
        Ok(())
    }
}

impl Run<'_> {
    /// Tensors of one type, joined along an axis.
    pub(super) fn joined(&self, xs: &[Value], axis: u32) -> Result<Tensor> {
        if xs.iter().all(|x| self.is_set(*x)) {
            let xs = xs.iter().map(|x| self.tensor(*x)).collect::<Result<Vec<_>>>()?;
            return Ok(Tensor::f_cat(&xs, i64::from(axis))?);
        }
        let join = self.join(xs, axis)?;
        let ty = xs.first().map(|x| kind(self.scalar(*x)));
        let ty = ty.ok_or_else(|| TorchError::new("a concatenation of nothing"))?;
        let result = Tensor::f_empty(join.shape(), (ty, self.exe.device.tch()))?;
        join.write(result.shallow_clone())?;
        Ok(result)
    }

    fn join(&self, xs: &[Value], axis: u32) -> Result<Part<'_>> {
        let axis = axis as usize;
        let parts = xs.iter().map(|x| acc_core::grow_stack(|| self.part(*x))).collect::<Result<Vec<_>>>()?;
        let mut shape = parts.first().map(Part::shape).unwrap_or_default();
        if let Some(n) = shape.get_mut(axis) {
            *n = parts.iter().map(|p| p.shape().get(axis).copied().unwrap_or(0)).sum();
        }
        Ok(Part::Join { shape, axis, parts })
    }

    fn part(&self, x: Value) -> Result<Part<'_>> {
        let step = self.exe.plan.definition(x).and_then(|id| self.exe.plan.step(id));
        match step.map(|s| (&s.node.op, s.is_inner)) {
            Some((Op::Concat(xs, axis), true)) => self.join(xs, *axis),
            _ => Ok(Part::Tensor(self.tensor(x)?)),
        }
    }
}
