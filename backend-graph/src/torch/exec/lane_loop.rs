//! Loops that lanes leave one by one.
//!
//! All lanes take every step, and what a lane that has left is to keep is held back. When few are left of many, the
//! others are put aside (the thresholds were measured: with them a Mandelbrot set takes a sixth of the time).

use super::ops::masks;
use super::{Held, Result, Rt, Run};
use crate::plan::{PlannedBody, Step};
use crate::torch::TorchError;
use acc_desugar::graph::Value;
use tch::{Kind, Tensor};

type TorchResult<T> = std::result::Result<T, TorchError>;

/// So few lanes are not worth putting any aside.
const MIN_COMPACTED_LANES: i64 = 4096;
/// After how many steps the lanes left are counted.
const STEPS_BETWEEN_COUNTS: u32 = 4;

/// The lanes that are still looked at.
struct Lanes {
    /// Their positions in the index space; none if they are all there.
    at: Option<Tensor>,
    count: i64,
    /// Which of them are on.
    active: Tensor,
    state: Vec<Tensor>,
    captured: Vec<Tensor>,
}

impl Lanes {
    /// The lanes at these positions alone, all of them on.
    fn keep(&mut self, at: &Tensor) -> TorchResult<()> {
        for t in self.state.iter_mut().chain(&mut self.captured) {
            *t = t.f_index_select(0, at)?;
        }
        self.at = Some(match &self.at {
            Some(before) => before.f_index_select(0, at)?,
            None => at.shallow_clone(),
        });
        self.count = at.numel() as i64;
        self.active = all_on(self.count, at.device())?;
        Ok(())
    }
}

impl Run<'_> {
    pub(super) fn lane_loop(
        &mut self,
        step: &Step,
        on: Value,
        space: &[Value],
        [init, captured]: [&[Value]; 2],
        kept: &[bool],
    ) -> Result<()> {
        let [test, next] = &step.bodies[..] else { return Ok(()) };
        let space = self.sizes(space)?;
        let count: i64 = space.iter().product();
        let on = self.tensor(on)?.shallow_clone();
        let flat = |t: &Tensor| -> TorchResult<Tensor> { Ok(t.f_expand(&space, false)?.f_reshape([-1])?) };
        let all = |run: &Self, values: &[Value]| -> TorchResult<Vec<Tensor>> {
            values.iter().map(|v| flat(run.tensor(*v)?)).collect()
        };
        let mut lanes = Lanes {
            at: None,
            count,
            active: all_on(count, on.device())?,
            state: all(self, init)?,
            captured: all(self, captured)?,
        };
        // The results of the lanes that were put aside.
        let mut results: Option<Vec<Tensor>> = None;
        if on.dim() > 0 || on.f_int64_value(&[])? == 0 {
            results = Some(copies(&lanes.state)?);
            lanes.keep(&flat(&on)?.f_nonzero()?.f_reshape([-1])?)?;
        }
        let mut round = 0;
        while lanes.count > 0 {
            self.limits.check()?;
            self.enter(test, &lanes);
            lanes.active = self.tensors(test)?.pop().ok_or_else(|| TorchError::new("a test yields nothing"))?;
            self.settle()?;
            if !masks::any_lane(&lanes.active)? {
                break;
            }
            round += 1;
            let mut all_on = false;
            if lanes.count >= MIN_COMPACTED_LANES && round % STEPS_BETWEEN_COUNTS == 0 {
                let left = masks::count_lanes(&lanes.active)?;
                if left * 4 < lanes.count * 3 {
                    match &mut results {
                        None => results = Some(copies(&lanes.state)?),
                        Some(results) => put(results, &lanes, kept)?,
                    }
                    lanes.keep(&lanes.active.f_nonzero()?.f_reshape([-1])?)?;
                    all_on = true;
                } else {
                    all_on = left == lanes.count;
                }
            }
            self.enter(next, &lanes);
            let new = self.tensors(next)?;
            for ((old, new), kept) in lanes.state.iter_mut().zip(new).zip(kept) {
                *old = if *kept && !all_on { masks::select_lanes(&lanes.active, &new, old)? } else { new };
            }
        }
        let results = match results {
            None => lanes.state,
            Some(mut results) => {
                put(&mut results, &lanes, kept)?;
                results
            }
        };
        for (v, t) in step.node.results.iter().zip(results) {
            let rt = self.charged(Rt::Tensor(t.f_reshape(&space)?.into()), &step.node)?;
            self.set(*v, rt);
        }
        Ok(())
    }

    /// Sets the parameters of a test or step.
    fn enter(&mut self, body: &PlannedBody, lanes: &Lanes) {
        let tensors = std::iter::once(&lanes.active).chain(&lanes.state).chain(&lanes.captured);
        let values = tensors.map(|t| Rt::Tensor(t.shallow_clone().into()));
        for (p, rt) in body.params.iter().zip(std::iter::once(Rt::Size(lanes.count)).chain(values)) {
            self.set(*p, rt);
        }
    }

    /// Runs a body that yields tensors.
    pub(super) fn tensors(&mut self, body: &PlannedBody) -> Result<Vec<Tensor>> {
        let results = self.body(body)?;
        let tensors = results.into_iter().map(|rt| match rt {
            Rt::Tensor(Held { tensor, .. }) => Ok(tensor),
            Rt::Size(_) | Rt::Token => Err(TorchError::new("a tensor was expected")),
        });
        Ok(tensors.collect::<TorchResult<_>>()?)
    }
}

fn all_on(count: i64, device: tch::Device) -> TorchResult<Tensor> {
    Ok(Tensor::f_ones([1], (Kind::Bool, device))?.f_expand([count], false)?)
}

/// The state in memory of its own, to be written to.
fn copies(state: &[Tensor]) -> TorchResult<Vec<Tensor>> {
    state.iter().map(|t| Ok(t.f_contiguous()?.f_detach_copy()?)).collect()
}

/// Puts the state of lanes at their places.
fn put(results: &mut [Tensor], lanes: &Lanes, kept: &[bool]) -> TorchResult<()> {
    let Some(at) = &lanes.at else { return Ok(()) };
    for ((result, state), kept) in results.iter_mut().zip(&lanes.state).zip(kept) {
        if *kept {
            *result = result.f_scatter_(0, at, state)?;
        }
    }
    Ok(())
}
