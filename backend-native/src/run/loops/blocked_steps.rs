//! Loops whose arrays are larger than caches: [several steps in one pass](crate::run::row_blocking::time_steps), where each stores rows
//! that depend on rows around them, and whether it follows depends on scalars alone.

use super::order::{Action, Order};
use super::{State, is_true};
use crate::kernel::{Body, Op, Sink};
use crate::lower::BlockPlan;
use crate::lower::row_blocking::is_row_wise;
use crate::lower::row_reads::row_reads;
use crate::run::launch::finish;
use crate::run::row_blocking::time_steps::{Origin, StepKernels};
use crate::run::{Run, scalar_eval};
use crate::tile::lanes;
use crate::tile::machine::Stop;
use acc_core::Error;
use acc_core::ir::ArrayId;
use std::collections::HashMap;

/// Steps that certainly follow.
struct Ahead {
    count: usize,
    /// The state after them, the scalars of which are those of that step.
    scalars: State,
    /// Whether the loop is over then.
    is_over: bool,
}

impl<'p> Run<'p> {
    /// Goes on from a state by several steps at a time, as long as that is possible; returns the state after them, and whether the loop
    /// is over. The arrays of a step have extents.
    pub(super) fn blocked_steps(
        &mut self,
        order: &Order<'p>,
        [test, step]: [&'p BlockPlan; 2],
        [test_actions, step_actions]: &[Vec<Action<'p>>; 2],
        mut state: State,
    ) -> Result<(State, bool), Error> {
        let is_scalar = |a: &Action<'_>| matches!(a, Action::Scalars { body, .. } if !self.reads_elements(order, body));
        let are_scalars = test_actions.iter().all(is_scalar);
        let Some(kernels) =
            self.step_kernels(order, step, step_actions).filter(|_| are_scalars && order.rows.is_empty())
        else {
            return Ok((state, false));
        };
        let Some(most) = self.steps_of_pass(&kernels) else { return Ok((state, false)) };
        let is_over = loop {
            self.cx.limits.check()?;
            let ahead = self.ahead([test, step], [&test_actions[..], &step_actions[..]], &kernels, &state, most)?;
            if ahead.count == 0 {
                break ahead.is_over;
            }
            self.enter(step, state.iter().cloned());
            match self.steps_in_blocks(&kernels, ahead.count) {
                Ok(Some(arrays)) => {
                    let all = arrays.into_iter().zip(ahead.scalars);
                    state = all.map(|(array, scalar)| array.unwrap_or(scalar)).collect();
                }
                // The step that faults, or needs another array, is launched.
                Ok(None) | Err(Stop::Demand(_) | Stop::Fault(..)) => break false,
                Err(Stop::Error(e)) => return Err(e),
            }
            self.without_elements(step.params.iter().copied());
            if ahead.is_over {
                break true;
            }
        };
        self.without_elements(order.varying());
        Ok((state, is_over))
    }

    /// The kernels of a step; none if they do anything but store rows of arrays that have more than one element, read scalars that
    /// differ between steps, or rows that are far apart.
    fn step_kernels(&self, order: &Order<'p>, step: &'p BlockPlan, actions: &[Action<'p>]) -> Option<StepKernels<'p>> {
        let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| &v.shape[..]);
        let mut origins: HashMap<ArrayId, Origin> = HashMap::new();
        for (component, &param) in step.params.iter().enumerate() {
            if !shape(param)?.is_empty() {
                origins.insert(param, Origin::State(component));
            }
        }
        let (mut launches, mut reads) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Scalars { body, .. } if self.reads_elements(order, body) => return None,
                Action::Scalars { .. } => {}
                Action::View { array, source } => {
                    if let Some(&origin) = origins.get(source) {
                        (shape(*array)? == shape(*source)?).then(|| origins.insert(*array, origin))?;
                    }
                }
                Action::Launch { launch, results, target: None, .. } => {
                    let launch = self.unguarded(launch);
                    let kernel = &launch.kernel;
                    let stores = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store));
                    let reads_others = |a| order.varies(a) && !origins.contains_key(&a);
                    if !stores || !is_row_wise(launch) || !row_reads(kernel, reads_others)?.is_empty() {
                        return None;
                    }
                    let own = row_reads(kernel, |a| origins.contains_key(&a))?.into_iter();
                    reads.push(own.map(|read| Some((*origins.get(&read.array)?, read))).collect::<Option<_>>()?);
                    let all = results.iter().enumerate();
                    origins.extend(all.map(|(result, a)| (*a, Origin::Result(launches.len(), result))));
                    launches.push(launch);
                }
                Action::Launch { .. } | Action::Same { .. } | Action::Position { .. } => return None,
            }
        }
        let next: Vec<Option<Origin>> = step.results.iter().map(|r| origins.get(r).copied()).collect();
        let known =
            |(r, origin): (&ArrayId, &Option<Origin>)| origin.is_some() || shape(*r).is_some_and(<[usize]>::is_empty);
        (!launches.is_empty() && step.results.iter().zip(&next).all(known)).then_some(StepKernels {
            launches,
            reads,
            params: &step.params,
            next,
        })
    }

    /// Whether a scalar depends on elements of arrays that differ between steps.
    fn reads_elements(&self, order: &Order<'p>, body: &Body) -> bool {
        let is_array = |a: ArrayId| self.values[a.index()].as_ref().is_none_or(|v| !v.shape.is_empty());
        let mut found = false;
        body.region.visit(0, &mut |n, _| {
            found |= matches!(&n.op, Op::Index(l) if order.varies(l.array) && is_array(l.array));
        });
        found
    }

    /// The steps that follow for certain from a state on, at most so many. What cannot be evaluated ends them.
    fn ahead(
        &mut self,
        [test, step]: [&'p BlockPlan; 2],
        [test_actions, step_actions]: [&[Action<'p>]; 2],
        kernels: &StepKernels<'_>,
        state: &State,
        most: usize,
    ) -> Result<Ahead, Error> {
        let mut ahead = Ahead { count: 0, scalars: state.clone(), is_over: false };
        while ahead.count < most {
            self.enter(test, ahead.scalars.iter().cloned());
            let go = if self.evaluated(test_actions)? { self.stored(&test.results) } else { None };
            let Some(go) = go else { break };
            if !is_true(&go) {
                ahead.is_over = true;
                break;
            }
            self.enter(step, ahead.scalars.iter().cloned());
            if !self.evaluated(step_actions)? {
                break;
            }
            let scalars = step.results.iter().zip(&kernels.next).zip(&ahead.scalars).map(|((r, origin), before)| {
                let scalar = || self.values[r.index()].clone().filter(|v| v.columns.is_some());
                if origin.is_none() { scalar() } else { Some(before.clone()) }
            });
            let Some(scalars) = scalars.collect() else { break };
            (ahead.scalars, ahead.count) = (scalars, ahead.count + 1);
        }
        Ok(ahead)
    }

    /// Evaluates the scalars among actions; whether all could be.
    fn evaluated(&mut self, actions: &[Action<'p>]) -> Result<bool, Error> {
        for action in actions {
            match action {
                Action::Scalars { body, results } => {
                    let Some(bits) = scalar_eval::evaluate(body, &self.values[..]) else { return Ok(false) };
                    let mut bits = bits.into_iter();
                    for r in results {
                        let types = self.plan.types[r.index()].elt.leaves();
                        let mut columns = self.cx.columns(types.as_slice(), 1)?;
                        columns.iter_mut().zip(&mut bits).for_each(|(c, bits)| lanes::fill_first(c.as_out(), bits));
                        if let Some(v) = &mut self.values[r.index()] {
                            v.columns = Some(finish(columns));
                        }
                    }
                }
                Action::View { array, source } => {
                    let columns = self.values[source.index()].as_ref().and_then(|v| v.columns.clone());
                    if let Some(v) = &mut self.values[array.index()] {
                        v.columns = columns;
                    }
                }
                Action::Launch { .. } => {}
                Action::Same { .. } | Action::Position { .. } => return Ok(false),
            }
        }
        Ok(true)
    }
}
