//! Faults: noted where they happen, raised at the end of their statement.

use super::{Rt, Run};
use crate::torch::TorchError;
use acc_core::{Error, Fault};
use acc_desugar::graph::{FaultKind, Node, Value};
use tch::{Kind, Tensor};

/// The first fault of a statement so far.
pub(super) struct Pending {
    /// The row-major position of the lane.
    lane: i64,
    /// The order of the check.
    site: u32,
    pub(super) error: Error,
}

impl Run<'_> {
    /// Notes a fault for the first lane where `bad` is true, unless an earlier one is noted.
    pub(super) fn note_fault(
        &mut self,
        node: &Node,
        kind: &FaultKind,
        bad: Value,
        space: &[Value],
        details: &[Value],
        site: u32,
    ) -> Result<(), TorchError> {
        let space = self.sizes(space)?;
        let Some(lane) = self.first_lane(bad, &space)? else { return Ok(()) };
        if self.pending.get(&node.source).is_some_and(|p| (p.lane, p.site) <= (lane, site)) {
            return Ok(());
        }
        let mut numbers = Vec::new();
        for v in details {
            numbers.push(match self.get(*v)? {
                Rt::Size(n) => *n,
                Rt::Tensor(t) => at_lane(t, &space, lane)?,
                Rt::Token => 0,
            });
        }
        let op = self.exe.source_name(node);
        let error = Error::Fault { fault: fault(kind, &numbers), op, loc: node.loc.clone() };
        self.pending.insert(node.source, Pending { lane, site, error });
        Ok(())
    }

    fn first_lane(&self, bad: Value, space: &[i64]) -> Result<Option<i64>, TorchError> {
        // Without a lane nothing was evaluated.
        if space.contains(&0) {
            return Ok(None);
        }
        let t = match self.get(bad)? {
            Rt::Size(n) => return Ok((*n != 0).then_some(0)),
            Rt::Tensor(t) => t,
            Rt::Token => return Ok(None),
        };
        if !super::ops::any_lane(t)? {
            return Ok(None);
        }
        if t.dim() == 0 {
            return Ok(Some(0));
        }
        let lanes = t.f_expand(space, false)?.f_reshape([-1])?;
        Ok(Some(lanes.f_nonzero()?.f_int64_value(&[0, 0])?))
    }

    /// A mask without the lanes from the first fault on.
    pub(super) fn confine(&self, node: &Node, mask: Value, space: &[Value]) -> Result<Tensor, TorchError> {
        let mask = self.tensor(mask)?;
        let Some(p) = self.pending.get(&node.source) else { return Ok(mask.shallow_clone()) };
        let space = self.sizes(space)?;
        let count = space.iter().product::<i64>();
        let lane = Tensor::f_arange(count, (Kind::Int64, mask.device()))?.f_reshape(&space)?;
        let before = lane.f_lt(p.lane)?;
        Ok(before.f_logical_and(mask)?)
    }
}

/// The integer that a tensor, which broadcasts to the space, holds for a lane.
fn at_lane(t: &Tensor, space: &[i64], lane: i64) -> Result<i64, TorchError> {
    if t.dim() == 0 {
        return Ok(t.f_int64_value(&[])?);
    }
    Ok(t.f_expand(space, false)?.f_reshape([-1])?.f_int64_value(&[lane])?)
}

fn fault(kind: &FaultKind, numbers: &[i64]) -> Fault {
    let sizes = |v: &[i64]| v.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect::<Vec<_>>();
    let half = numbers.split_at(numbers.len() / 2);
    match kind {
        FaultKind::IndexOutOfBounds { array } => {
            Fault::IndexOutOfBounds { array: format!("a{array}"), index: half.0.to_vec(), shape: sizes(half.1) }
        }
        FaultKind::DivisionByZero => Fault::DivisionByZero,
        FaultKind::NegativeExtent => Fault::NegativeExtent { shape: numbers.to_vec() },
        FaultKind::ShapeOverflow => Fault::ShapeOverflow { shape: numbers.to_vec() },
        FaultKind::EmptyFold => Fault::EmptyFold { shape: sizes(numbers) },
        FaultKind::ReshapeSize { from } => {
            let (from, to) = numbers.split_at((*from as usize).min(numbers.len()));
            Fault::ReshapeSize { from: sizes(from), to: sizes(to) }
        }
        FaultKind::StencilExtent { boundary } => {
            Fault::StencilExtent { shape: sizes(half.0), window: sizes(half.1), boundary }
        }
        FaultKind::CheckFailed { message } => Fault::check_failed(message, numbers),
    }
}
