//! Faults. A graph that reports them notes each where it happens, and raises it at the end of its statement. One that
//! detects them gathers flags on the device, and looks at them when it looks at anything there, at the latest at the end.

use super::ops::masks::any;
use super::{Held, Rt, Run, Stop};
use crate::torch::TorchError;
use crate::torch::numbers::{WithNumber, range};
use acc_core::ir::ArrayId;
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

/// Something on the device that tells of faults.
pub(super) enum Flag {
    /// True if there is one; of rank 0.
    Bad(Tensor),
    /// The least and the greatest position, and the extent that they must be in.
    Range(Tensor, Tensor, i64),
}

impl Flag {
    fn is_bad(&self) -> Result<bool, TorchError> {
        Ok(match self {
            Flag::Bad(t) => t.f_int64_value(&[])? != 0,
            Flag::Range(least, greatest, extent) => {
                least.f_int64_value(&[])? < 0 || greatest.f_int64_value(&[])? >= *extent
            }
        })
    }
}

/// How many flags are gathered before they are looked at.
const MAX_PENDING_FLAGS: usize = 256;

impl Run<'_> {
    /// Looks at the flags gathered so far: the run stops if one tells of a fault.
    pub(super) fn settle(&mut self) -> Result<(), Stop> {
        for flag in std::mem::take(&mut self.flags) {
            if flag.is_bad()? {
                return Err(Stop::Suspected(None));
            }
        }
        Ok(())
    }

    /// The same if they are many: a loop that the host counts gathers without end.
    pub(super) fn settle_many(&mut self) -> Result<(), Stop> {
        if self.flags.len() >= MAX_PENDING_FLAGS { self.settle() } else { Ok(()) }
    }

    /// Gathers whether `bad` holds for some lane; what the host knows stops the run at once.
    pub(super) fn flag_fault(&mut self, bad: Value, space: &[Value]) -> Result<(), Stop> {
        if self.sizes(space)?.contains(&0) {
            return Ok(());
        }
        let flag = match self.get(bad)? {
            Rt::Size(0) | Rt::Token => return Ok(()),
            Rt::Size(_) => return Err(Stop::Suspected(None)),
            Rt::Tensor(t) if t.numel() == 0 => return Ok(()),
            Rt::Tensor(t) => any(t)?,
        };
        self.flags.push(Flag::Bad(flag));
        self.settle_many()
    }

    /// Positions, and a flag for those out of bounds, unless what uses them finds these.
    pub(super) fn in_bounds(&mut self, at: Value, extent: Value, by_use: bool) -> Result<Held, Stop> {
        let extent = self.size(extent)?;
        let held = self.held(at)?.handle();
        if held.numel() == 0 {
            return Ok(held);
        }
        if extent <= 0 {
            return Err(Stop::Suspected(None));
        }
        let on_cpu = held.device() == tch::Device::Cpu;
        if by_use && on_cpu {
            return Ok(held);
        }
        // Of a narrow type the last position of a large extent may be none.
        let held: Held = if held.f_kind()? == Kind::Int64 { held } else { held.f_to_kind(Kind::Int64)?.into() };
        let (least, greatest) = held.f_aminmax(None, false)?;
        self.flags.push(Flag::Range(least, greatest, extent));
        // A bad position ends a CUDA context for good.
        Ok(if on_cpu { held } else { super::ops::views::clamp(&held, extent)?.into() })
    }

    /// Divisors; on CUDA, where dividing by 0 is no error, with a flag for those that are 0.
    pub(super) fn divisor(&mut self, y: Value) -> Result<Held, TorchError> {
        let held = self.held(y)?.handle();
        if held.device() == tch::Device::Cpu || held.numel() == 0 {
            return Ok(held);
        }
        let zero = held.eq_number(0)?;
        let mended = held.fill_number(&zero, 1)?;
        self.flags.push(Flag::Bad(any(&zero)?));
        Ok(mended.into())
    }

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
        if !super::ops::masks::any_lane(t)? {
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
        let lane = range(count, [0, count, 1], (Kind::Int64, mask.device()))?.f_reshape(&space)?;
        let before = lane.lt_number(p.lane)?;
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
            Fault::IndexOutOfBounds { array: ArrayId(*array).into(), index: half.0.to_vec(), shape: sizes(half.1) }
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
