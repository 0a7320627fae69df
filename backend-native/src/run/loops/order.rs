//! Which loops may be recorded: those whose steps are known before they run, and are kernels that store their elements, fold
//! rows or scatter, scalars, arrays that only have extents, and rows of arrays of the state.

use crate::kernel::{AxisKind, Bits, Body, Initial, Op, Output, RowUpdate, Sink};
use crate::lower::{BlockPlan, Materialization};
use crate::prepare::{Closed, Launch, Part, Plan, Step, Work};
use crate::run::kernel::Inits;
use crate::run::{Value, scalar_eval};
use acc_core::ir::{ArrayId, ArrayOp, Axis};
use std::collections::HashSet;

/// The steps of a loop's two blocks, in the order of their evaluation.
pub(super) struct Order<'p> {
    plan: &'p Plan,
    pub test: Vec<usize>,
    pub step: Vec<usize>,
    /// The arrays of the state of which each step replaces a row, by their positions in the state. That comes last in a step.
    pub rows: Vec<(usize, RowUpdate)>,
    /// The arrays that differ between steps: parameters and results.
    varying: HashSet<ArrayId>,
    /// What the test and the step yield.
    yielded: HashSet<ArrayId>,
}

/// What a recorded step does.
pub(super) enum Action<'p> {
    /// Evaluates a closed function, which must yield what it did.
    Same { body: &'p Body, value: Bits },
    /// Evaluates the position of a slice, which must be in bounds.
    Position { array: ArrayId, source: ArrayId, axes: &'p [Axis], body: &'p Body },
    /// Evaluates a kernel of one point.
    Scalars { body: &'p Body, results: Vec<ArrayId> },
    /// Launches a kernel, or the epilogue of one, with initial values of its results.
    Launch { launch: &'p Launch, inits: Inits, results: Vec<ArrayId>, target: Option<Target> },
    /// Gives the memory of one array to another.
    View { array: ArrayId, source: ArrayId },
}

/// The array that a scatter combines elements into.
pub(super) struct Target {
    pub array: ArrayId,
    /// Whether nothing else needs the array, so that its memory becomes that of the result.
    pub in_place: bool,
}

impl<'p> Action<'p> {
    pub(super) fn launch(&self) -> Option<(&'p Launch, &Inits)> {
        match self {
            Action::Launch { launch, inits, .. } => Some((launch, inits)),
            Action::Same { .. } | Action::Position { .. } | Action::Scalars { .. } | Action::View { .. } => None,
        }
    }
}

impl<'p> Order<'p> {
    /// None if steps of this loop are not recorded. `always` says of which steps it is known that those launched so far
    /// evaluated them; that the others will is assumed.
    pub(super) fn of(
        plan: &'p Plan,
        test: &BlockPlan,
        step: &BlockPlan,
        always: &dyn Fn(usize) -> bool,
    ) -> Option<Order<'p>> {
        let (test_steps, all) = (evaluated(plan, test, always)?, evaluated(plan, step, always)?);
        let yielded = test.results.iter().chain(&step.results).copied().collect();
        let mut order =
            Order { plan, test: test_steps, step: Vec::new(), rows: Vec::new(), varying: HashSet::new(), yielded };
        for &s in &all {
            match row_update(plan, step, s, &all) {
                Some(row) => order.rows.push(row),
                None => order.step.push(s),
            }
        }
        let replaced = order.rows.iter().map(|(component, _)| step.results[*component]);
        let params = test.params.iter().chain(&step.params).copied();
        order.varying = order.results().chain(replaced).chain(params).collect();
        let recordable = order.steps().all(|s| order.is_recordable(s));
        recordable.then_some(order)
    }

    fn steps(&self) -> impl Iterator<Item = &'p Step> {
        let plan = self.plan;
        self.test.iter().chain(&self.step).map(move |&s| &plan.steps[s])
    }

    /// The arrays that the steps define.
    pub(super) fn results(&self) -> impl Iterator<Item = ArrayId> {
        self.steps().flat_map(|s| s.results.iter().copied())
    }

    /// The parameters, and the arrays that the steps define.
    pub(super) fn varying(&self) -> impl Iterator<Item = ArrayId> {
        self.varying.iter().copied()
    }

    /// Whether an array differs between steps.
    pub(super) fn varies(&self, a: ArrayId) -> bool {
        self.varying.contains(&a)
    }

    /// What the steps store.
    pub(super) fn title(&self) -> String {
        let launches = self.steps().filter_map(|s| match &s.work {
            Work::Kernel { launch, .. } => Some(launch.kernel.title()),
            _ => None,
        });
        launches.collect::<Vec<_>>().join("; ")
    }

    fn is_recordable(&self, s: &Step) -> bool {
        match &s.work {
            Work::Array { closed, materialization, .. } => {
                matches!(materialization, Materialization::Fused | Materialization::View)
                    && closed.iter().all(|c| self.is_scalar(c))
            }
            Work::Kernel { launch, parts } => {
                let epilogue = launch.epilogue.as_ref().is_none_or(|e| stores(e) && !e.kernel.axes.is_empty());
                (stores(launch) || folds(launch) || target(launch).is_some())
                    && epilogue
                    && !launch.kernel.has_schedule
                    && launch.permuted.is_none()
                    && launch.flag_positions.is_none()
                    && launch.flags.is_empty()
                    && parts.iter().flat_map(|p| &p.closed).all(|c| self.is_scalar(c))
            }
            Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => false,
        }
    }

    /// Whether a closed function is equal in all steps, or evaluated without tiles.
    fn is_scalar(&self, c: &Closed) -> bool {
        match c {
            Closed::Known(_) => true,
            Closed::Code(f) => f.body.is_some() || !f.code.bytecode.arrays.iter().any(|a| self.varying.contains(a)),
        }
    }

    /// The body of a closed function that reads what differs between steps.
    fn varying_body(&self, c: &'p Closed) -> Option<&'p Body> {
        let Closed::Code(f) = c else { return None };
        let body = f.body.as_deref()?;
        let reads = |op: &Op| matches!(op, Op::Index(l) if self.varying.contains(&l.array));
        body.region.nodes.iter().any(|n| reads(&n.op)).then_some(body)
    }

    /// What each step of a block does, in order, as far as it depends on the step before; none if a scalar cannot be
    /// evaluated. All arrays have the values of a step.
    pub(super) fn actions(&self, steps: &[usize], values: &[Option<Value>]) -> Option<Vec<Action<'p>>> {
        let plan = self.plan;
        let mut actions = Vec::new();
        for &s in steps {
            let step = &plan.steps[s];
            match &step.work {
                Work::Array { op, closed, materialization } => {
                    let &[array] = &step.results[..] else { return None };
                    self.closed(array, op, closed, values, &mut actions)?;
                    if matches!(materialization, Materialization::View) {
                        actions.push(Action::View { array, source: *op.arrays().first()? });
                    }
                }
                Work::Kernel { launch, parts } => {
                    for p in parts {
                        self.closed(p.result, &p.op, &p.closed, values, &mut actions)?;
                    }
                    let results = launch.kernel.outputs.iter().map(|o| o.result).collect();
                    if launch.is_trivial {
                        actions.push(Action::Scalars { body: &launch.kernel.element, results });
                        continue;
                    }
                    let outputs = parts.iter().zip(&launch.kernel.outputs);
                    let inits = outputs.map(|(p, o)| initial(p, o, values)).collect::<Option<_>>()?;
                    let target =
                        target(launch).map(|array| Target { array, in_place: self.is_dead_after(s, array, steps) });
                    actions.push(Action::Launch { launch, inits, results, target });
                    if let Some(launch) = &launch.epilogue {
                        let results = launch.kernel.outputs.iter().map(|o| o.result).collect::<Vec<_>>();
                        let inits = results.iter().map(|_| None).collect();
                        actions.push(Action::Launch { launch, inits, results, target: None });
                    }
                }
                Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => return None,
            }
        }
        Some(actions)
    }

    /// Whether the memory of an array holds a result of these steps that nothing reads after one of them.
    fn is_dead_after(&self, s: usize, array: ArrayId, steps: &[usize]) -> bool {
        let is_kernel = |s: usize| matches!(self.plan.steps[s].work, Work::Kernel { .. });
        let defined = self.plan.def[array.index()].is_some_and(|d| steps.contains(&d) && is_kernel(d));
        let (before, after) = steps.split_at(steps.iter().position(|&other| other == s).unwrap_or(0));
        let mut readers = after.iter().skip(1).chain(before.iter().filter(|&&other| !is_kernel(other)));
        let own = match &self.plan.steps[s].work {
            Work::Kernel { launch, .. } => {
                launch.reads(array) || launch.epilogue.as_ref().is_some_and(|e| e.reads(array))
            }
            Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => true,
        };
        let in_row = |(_, row): &(usize, RowUpdate)| row.source == array || row.row.arrays().contains(&array);
        defined
            && !own
            && !self.yielded.contains(&array)
            && !readers.any(|&other| reads(&self.plan.steps[other], array))
            && !self.rows.iter().any(in_row)
    }

    /// Adds the closed functions of an array that differ between steps.
    fn closed(
        &self,
        array: ArrayId,
        op: &'p ArrayOp,
        closed: &'p [Closed],
        values: &[Option<Value>],
        actions: &mut Vec<Action<'p>>,
    ) -> Option<()> {
        for body in closed.iter().filter_map(|c| self.varying_body(c)) {
            actions.push(match op {
                ArrayOp::Slice { axes, xs, .. } => Action::Position { array, source: *xs, axes, body },
                // Extents and initial values.
                _ => Action::Same { body, value: scalar_eval::evaluate(body, values)? },
            });
        }
        Some(())
    }
}

/// Whether a launch stores each element at its point, of which there may be many.
fn stores(launch: &Launch) -> bool {
    launch.kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store))
        && launch.kernel.axes.iter().all(|axis| *axis == AxisKind::Parallel)
        && (launch.is_trivial || !launch.kernel.axes.is_empty())
}

/// Whether a launch folds along its last axes.
fn folds(launch: &Launch) -> bool {
    let (folded, axes) = (launch.kernel.folded(), &launch.kernel.axes);
    folded > 0
        && axes.iter().take(axes.len() - folded).all(|axis| *axis == AxisKind::Parallel)
        && launch.kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Store | Sink::Fold { .. }))
}

/// The array that a launch combines elements into, if it does only that.
fn target(launch: &Launch) -> Option<ArrayId> {
    match &launch.kernel.outputs[..] {
        [Output { sink: Sink::Scatter { initial: Initial::Array(array), .. }, .. }] => Some(*array),
        _ => None,
    }
}

/// The initial value of an output, if it has one; none of that if it cannot be evaluated.
fn initial(p: &Part, o: &Output, values: &[Option<Value>]) -> Option<Option<Bits>> {
    match p.closed.first().filter(|_| o.sink.has_init()) {
        None => Some(None),
        Some(Closed::Known(bits)) => Some(Some(bits.clone())),
        Some(Closed::Code(f)) => Some(Some(scalar_eval::evaluate(f.body.as_deref()?, values)?)),
    }
}

/// The component of a loop's state of which a step does nothing but replace a row, if no other step reads what comes of that.
fn row_update(plan: &Plan, b: &BlockPlan, s: usize, all: &[usize]) -> Option<(usize, RowUpdate)> {
    let (&[result], Work::Kernel { launch, parts }) = (&plan.steps[s].results[..], &plan.steps[s].work) else {
        return None;
    };
    let update = launch.kernel.row_update()?;
    let mut own = b.results.iter().enumerate().filter(|(_, r)| **r == result);
    let (Some((component, _)), None) = (own.next(), own.next()) else { return None };
    let is_state = b.params.get(component) == Some(&update.array);
    let is_alone = parts.iter().all(|p| p.closed.is_empty());
    let is_read = all.iter().any(|&other| reads(&plan.steps[other], result));
    (is_state && is_alone && !is_read && launch.epilogue.is_none()).then_some((component, update))
}

/// Whether a step reads an array.
fn reads(s: &Step, a: ArrayId) -> bool {
    let in_closed = |c: &Closed| matches!(c, Closed::Code(f) if f.code.bytecode.arrays.contains(&a));
    s.needs.contains(&a)
        || match &s.work {
            Work::Array { op, closed, .. } => op.arrays().contains(&a) || closed.iter().any(in_closed),
            Work::Kernel { launch, parts } => {
                let launches = [Some(launch), launch.epilogue.as_ref()];
                launches.into_iter().flatten().any(|l| l.arrays.contains(&a))
                    || parts.iter().any(|p| p.needs.contains(&a) || p.closed.iter().any(in_closed))
            }
            Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => true,
        }
}

/// The steps of a block that are always evaluated, in order; none if they read others, or others yield its results.
fn evaluated(plan: &Plan, b: &BlockPlan, always: &dyn Fn(usize) -> bool) -> Option<Vec<usize>> {
    let (evaluated, others): (Vec<usize>, Vec<usize>) = b.steps.iter().partition(|&&s| always(s));
    let others: Vec<ArrayId> = others.iter().flat_map(|&s| &plan.steps[s].results).copied().collect();
    let read = |a: &ArrayId| b.results.contains(a) || evaluated.iter().any(|&s| reads(&plan.steps[s], *a));
    (!others.iter().any(read)).then_some(evaluated)
}
