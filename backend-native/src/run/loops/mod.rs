//! Array loops (`awhile`).
//!
//! A loop whose steps launch the same kernels over the same extents is *recorded*: what a launch computes before it calls
//! machine code, it computes once, and the following steps only make the calls, on memory that is taken once, too.
//! [`order`] says which steps may be recorded, [`record`] prepares the calls, and [`replay`] makes them, on several
//! threads with [`rounds`]. Where arrays are larger than caches, several steps go through them in one pass instead
//! ([`blocked_steps`]).
//!
//! A recorded step that does anything but complete (a fault, a demand, other extents) leaves the state before it as it is.
//! That step then runs launch by launch, which finds the fault, evaluates what is demanded, or goes on with other extents.

mod blocked_steps;
mod order;
mod product;
mod record;
mod replay;
mod rounds;

use super::launch::{Columns, Job, finish};
use super::rows::{packing, product::plan};
use super::{Run, Value, View, defect, int, scalar_eval};
use crate::Compile;
use crate::buffer::AnyBuffer;
use crate::kernel::RowUpdate;
use crate::lower::{BlockPlan, Packed};
use crate::tile::lanes::{self, first_bits};
use acc_core::data::Column;
use acc_core::ir::{ArrayId, PrimOp};
use acc_core::{Error, timeline};
use order::{Action, Order};
use record::{Prepared, Recorder};
use replay::{End, Replayed, update};
use smallvec::SmallVec;

/// The state of a loop.
pub(super) type State = SmallVec<[Value; 2]>;

/// Steps that are launched before the first recording, which takes about as long as three of them. After each recording
/// that is left there are twice as many.
const LAUNCHED_STEPS: usize = 2;

impl<'p> Run<'p> {
    /// The state of a loop at its end.
    pub(super) fn iterate(
        &mut self,
        test: &'p BlockPlan,
        step: &'p BlockPlan,
        mut state: State,
    ) -> Result<State, Error> {
        let (mut launched, mut left) = (LAUNCHED_STEPS, LAUNCHED_STEPS);
        self.forget_evaluations(test, step);
        loop {
            self.cx.limits.check()?;
            if left == 0 && !matches!(self.cx.compile, Compile::Never) {
                let always = |s: usize| self.evaluations[s] == launched;
                if let Some(order) = Order::of(self.plan, test, step, &always) {
                    match self.recorded(&order, test, step, state)? {
                        (end, true) => return Ok(end),
                        (after, false) => state = after,
                    }
                }
                launched = launched.saturating_mul(2);
                left = launched;
                self.forget_evaluations(test, step);
            }
            left = left.saturating_sub(1);
            self.enter(test, state.iter().cloned());
            let go = self.block(test, &[])?;
            self.leave(test);
            if !is_true(&go) {
                return Ok(state);
            }
            // The step holds the only reference to the state, so that it can update it in place.
            self.enter(step, state);
            state = self.block(step, &[])?;
            self.leave(step);
        }
    }

    /// Counts the evaluations of a loop's steps from zero.
    fn forget_evaluations(&mut self, test: &BlockPlan, step: &BlockPlan) {
        test.steps.iter().chain(&step.steps).for_each(|&s| self.evaluations[s] = 0);
    }

    /// Goes on from a state with recorded steps; returns the state after them, and whether the loop is over.
    fn recorded(
        &mut self,
        order: &Order<'p>,
        test: &'p BlockPlan,
        step: &'p BlockPlan,
        state: State,
    ) -> Result<(State, bool), Error> {
        let Some(mut next) = self.traced(order, test, step, &state) else {
            self.leave(test);
            self.leave(step);
            return Ok((state, false));
        };
        drop(state);
        let actions = [&order.test, &order.step].map(|steps| order.actions(steps, &self.values));
        let row = |(component, update): &(usize, RowUpdate)| (*component, update.combine, self.row_of(update));
        let rows: Vec<_> = order.rows.iter().map(row).collect();
        self.without_elements(order.varying());
        for (component, combine, row) in rows {
            let (number, source) = row?;
            self.update_row(&mut next[component], number, combine, &source)?;
        }
        let (state, end) = match actions {
            [Some(test_actions), Some(step_actions)] => {
                let actions = [test_actions, step_actions];
                match self.blocked_steps(order, [test, step], &actions, next)? {
                    (state, true) => (state, End::Ended),
                    (state, false) => self.replayed(order, [test, step], actions, state),
                }
            }
            _ => (next, End::Left),
        };
        self.leave(test);
        self.leave(step);
        match end {
            End::Ended => Ok((state, true)),
            End::Left => Ok((state, false)),
            End::Stopped(error) => Err(error),
        }
    }

    /// Forgets the elements of arrays, but not their extents: what is computed again takes no memory meanwhile.
    fn without_elements(&mut self, arrays: impl IntoIterator<Item = ArrayId>) {
        for a in arrays {
            if let Some(v) = &mut self.values[a.index()] {
                v.columns = None;
            }
        }
    }

    /// Goes on from a state by these actions. The arrays of a step have extents.
    fn replayed(
        &self,
        order: &Order<'p>,
        [test, step]: [&'p BlockPlan; 2],
        actions: [Vec<Action<'p>>; 2],
        state: State,
    ) -> (State, End) {
        let view = View { values: &self.values };
        let launches = actions.iter().flatten().filter_map(Action::launch);
        let launches: Vec<_> = launches.map(|(launch, inits)| (self.unguarded(launch), inits)).collect();
        if self.may_block_rows(test) || self.may_block_rows(step) {
            return (state, End::Left);
        }
        let jobs: Vec<Job<'_>> = launches.iter().map(|(launch, inits)| self.bound(launch, inits, &view)).collect();
        let prepared = jobs.iter().map(|job| {
            let product = plan(job.launch, &self.values);
            // Operands are packed in each step.
            let packs = |packed: &Packed<_>| product.is_none() && packing::pays_off(packed, &job.extents, &view);
            let is_packed = job.launch.packed.as_ref().is_some_and(|packed| packs(packed));
            if is_packed { None } else { Prepared::new(job, product) }
        });
        let Some(prepared) = prepared.collect() else { return (state, End::Left) };
        let types = |a: ArrayId| self.plan.types[a.index()].elt.leaves().as_slice().into();
        let recorder = Recorder {
            cx: self.cx,
            values: &self.values,
            types: &types,
            actions,
            rows: &order.rows,
            prepared,
            params: [&test.params, &step.params],
            results: [&test.results, &step.results],
        };
        let mut span = timeline::span(timeline::Kind::Kernel, || order.title());
        let mut recording = recorder.record(state);
        let Replayed { steps, phase, end } = recording.replay(&self.values, self.cx);
        span.note("steps", || steps.to_string());
        (recording.into_state(phase, &step.params, &self.values), end)
    }

    /// The state after a step, all arrays of which keep their values; none if it does not complete, or has other extents.
    fn traced(&mut self, order: &Order<'p>, test: &'p BlockPlan, step: &'p BlockPlan, state: &State) -> Option<State> {
        order.results().for_each(|a| self.values[a.index()] = None);
        self.enter(test, state.iter().cloned());
        self.enter(step, state.iter().cloned());
        let around = std::mem::take(&mut self.dying);
        let plan = self.plan;
        let completes =
            |run: &mut Self, steps: &[usize]| steps.iter().try_for_each(|&s| run.step(&plan.steps[s])).is_ok();
        let go = completes(self, &order.test) && self.stored(&test.results).is_some_and(|go| is_true(&go));
        let completed = go && completes(self, &order.step) && self.rows_are_inside(order);
        self.dying = around;
        // Rows are replaced when nothing else holds the arrays.
        for (component, update) in &order.rows {
            self.values[step.results[*component].index()] = self.values[update.array.index()].clone();
        }
        let next = if completed { self.stored(&step.results) } else { None };
        next.filter(|next| next.iter().zip(state).all(|(next, now)| next.shape == now.shape))
    }

    /// Whether the rows that a step replaces are there, and have the extents of what they are replaced by.
    fn rows_are_inside(&self, order: &Order<'_>) -> bool {
        order.rows.iter().all(|(_, update)| {
            let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| &v.shape[..]);
            let (Some([rows, row @ ..]), Ok((number, _))) = (shape(update.array), self.row_of(update)) else {
                return false;
            };
            number < *rows && shape(update.source) == Some(row)
        })
    }

    /// The number of the row that a step replaces, and what it is replaced by.
    fn row_of(&self, update: &RowUpdate) -> Result<(usize, Value), Error> {
        let source = self.values[update.source.index()].as_ref().filter(|v| v.columns.is_some());
        let number = source.and_then(|source| {
            let number = *scalar_eval::evaluate(&update.row, &self.values[..])?.first()?;
            Some((usize::try_from(int(number)).ok()?, source.clone()))
        });
        number.ok_or_else(|| defect(format!("{} has no row", update.array)))
    }

    /// Replaces a row, or combines it with others, in place if nothing else holds the array.
    fn update_row(
        &self,
        array: &mut Value,
        number: usize,
        combine: Option<PrimOp>,
        source: &Value,
    ) -> Result<(), Error> {
        let columns = array.columns.take().unwrap_or_default();
        let mut buffers: Vec<AnyBuffer> = match AnyBuffer::reclaim_all::<Columns>(columns) {
            Ok(buffers) => buffers,
            Err(columns) => {
                let types: Vec<_> = columns.iter().map(Column::ty).collect();
                let mut buffers = self.cx.columns(&types, array.shape.iter().product())?;
                for (to, from) in buffers.iter_mut().zip(&columns) {
                    lanes::copy(from.slice(), to.as_out());
                }
                buffers
            }
        };
        let len = array.shape[1..].iter().product();
        for (to, from) in buffers.iter_mut().zip(source.columns.iter().flatten()) {
            update(to, number, len, combine, from.slice());
        }
        array.columns = Some(finish(buffers));
        Ok(())
    }

    /// The values of arrays, if their elements are in memory.
    fn stored(&self, arrays: &[ArrayId]) -> Option<State> {
        let value = |a: &ArrayId| self.values[a.index()].clone().filter(|v| v.columns.is_some());
        arrays.iter().map(value).collect()
    }
}

/// Whether the result of a test is true.
fn is_true(go: &State) -> bool {
    let go = go.first().and_then(|v| v.columns.as_ref()?.first());
    go.is_some_and(|c| first_bits(c.slice()) != 0)
}
