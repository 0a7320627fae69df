//! Running a plan with libtorch.

mod fault;
mod join;
mod lane_loop;
mod operator_rows;
mod ops;
mod row_blocking;
mod steps;
mod value;

pub(super) use ops::cast::chr;

use super::setup::Session;
use super::threads::Threads;
use super::transfer::{Transfer, literal};
use super::{Device, TorchError};
use crate::plan::{Plan, PlannedBody};
use acc_core::data::ArrayData;
use acc_core::exec::replay::Ended;
use acc_core::ir::{ArrayType, Loc};
use acc_core::{Error, Meter, RunLimits};
use acc_desugar::Faults;
use acc_desugar::graph::{Node, Op, Value};
use fault::{Flag, Pending};
use std::collections::HashMap;
use tch::Tensor;
use value::{Held, Rt};

type Result<T> = std::result::Result<T, Stop>;
type TorchResult<T> = std::result::Result<T, TorchError>;

/// Why a run stopped.
pub(crate) enum Stop {
    /// The program has a fault, or an operation that finds faults by itself failed with this error.
    Suspected(Option<Error>),
    /// Anything else.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Error(e)
    }
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Ended {
        match stop {
            Stop::Suspected(fault) => Ended::Fault(fault.map(Box::new)),
            Stop::Error(e) => Ended::from(e),
        }
    }
}

impl From<tch::TchError> for Stop {
    fn from(e: tch::TchError) -> Stop {
        TorchError::from(e).into()
    }
}

impl From<TorchError> for Stop {
    fn from(e: TorchError) -> Stop {
        Stop::Error(e.into())
    }
}

/// A plan with what one device needs to run it.
pub(crate) struct Executable {
    plan: Plan,
    device: Device,
    faults: Faults,
    /// How many bytes of the widest value a block of rows has, if steps may run in blocks.
    block: Option<i64>,
    constants: Constants,
    /// For each [`Op::Argument`]'s operand: which argument, and which leaf of it.
    arguments: HashMap<Value, (usize, usize)>,
    /// The values that something takes as tensors.
    tensors: Vec<bool>,
}

/// The values of a plan that something takes as tensors: what the host alone looks at need not be one.
fn taken_as_tensors(plan: &Plan) -> Vec<bool> {
    let mut taken = vec![false; plan.graph().types.len()];
    let mut take = |v: &Value| {
        if let Some(slot) = taken.get_mut(v.index()) {
            *slot = true;
        }
    };
    plan.body().results.iter().for_each(&mut take);
    for step in plan.steps() {
        step.bodies.iter().flat_map(|b| &b.results).for_each(&mut take);
        if !matches!(step.node.op, Op::Argument(_)) {
            step.node.op.operands().iter().for_each(&mut take);
        }
    }
    taken
}

/// Literals by value, made once: a rank-0 tensor on the device is three times as fast an operand as a number.
struct Constants(Vec<Option<Rt>>);

// SAFETY: the tensors are never written to; another thread only makes further handles of them, which counts references
// atomically.
unsafe impl Sync for Constants {}

impl Executable {
    pub(crate) fn new(
        plan: Plan,
        device: Device,
        faults: Faults,
        block: usize,
        params: &[ArrayType],
    ) -> std::result::Result<Executable, Error> {
        let limits = RunLimits::none();
        let _session = Session::enter(&limits, &limits.meter());
        let mut constants: Vec<Option<Rt>> = plan.graph().types.iter().map(|_| None).collect();
        for step in plan.steps() {
            let literal = match &step.node.op {
                Op::Const(l) => Rt::Tensor(literal(*l, device).map_err(|e| e.at("const", &step.node.loc))?.into()),
                Op::Size(n) => Rt::Size(*n),
                _ => continue,
            };
            if let Some(slot) = step.node.results.first().and_then(|v| constants.get_mut(v.index())) {
                *slot = Some(literal);
            }
        }
        let mut arguments = HashMap::new();
        let mut values = plan.body().params.iter();
        for (position, ty) in params.iter().enumerate() {
            values.by_ref().take(ty.rank).for_each(drop);
            for (leaf, v) in values.by_ref().take(ty.elt.leaves().len()).enumerate() {
                arguments.insert(*v, (position, leaf));
            }
        }
        let tensors = taken_as_tensors(&plan);
        // Blocks are for the caches of a processor, and find faults in no order.
        let block = i64::try_from(block).ok().filter(|n| *n > 0 && device == Device::Cpu && !faults.exact());
        Ok(Executable { plan, device, faults, block, constants: Constants(constants), arguments, tensors })
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The combinator that a node comes from.
    fn source_name(&self, node: &Node) -> &'static str {
        self.plan.graph().sources.get(node.source as usize).map_or("graph", |s| s.name)
    }

    /// Runs the plan; `types` are those of the results.
    pub(crate) fn run(&self, args: &[ArrayData], types: &[ArrayType], limits: &RunLimits) -> Result<Vec<ArrayData>> {
        let meter = limits.meter();
        let session = Session::enter(limits, &meter);
        session.outcome(self.run_here(args, types, limits, meter, &session.threads))
    }

    fn run_here(
        &self,
        args: &[ArrayData],
        types: &[ArrayType],
        limits: &RunLimits,
        meter: Meter,
        threads: &Threads,
    ) -> Result<Vec<ArrayData>> {
        // Declared before the values: it owns the memory that argument tensors share, and is dropped after them.
        let mut transfer = Transfer::new(self.device);
        let mut run = Run {
            exe: self,
            args,
            limits,
            meter,
            threads,
            values: std::iter::repeat_with(|| None).take(self.plan.graph().types.len()).collect(),
            pending: HashMap::new(),
            flags: Vec::new(),
            block: None,
        };
        let mut params = self.plan.body().params.iter();
        for arg in args {
            for &extent in arg.shape() {
                if let Some(v) = params.next() {
                    run.set(*v, Rt::Size(i64::try_from(extent).unwrap_or(i64::MAX)));
                }
            }
            for column in arg.columns() {
                let Some(v) = params.next().filter(|v| self.tensors.get(v.index()) == Some(&true)) else { continue };
                // SAFETY: operations write to memory that a step of this run made, alone (see `Step::overwrites`); all
                // tensors of the run are in `run`, which is dropped before `transfer`, or go through `take`.
                let tensor = unsafe { transfer.lend(column, arg.shape()) };
                let tensor = tensor.map_err(|e| e.at("argument", &Loc::unknown()))?;
                run.set(*v, Rt::Tensor(tensor.into()));
            }
        }
        let results = run.body(self.plan.body())?;
        run.settle()?;
        let mut results = results.into_iter();
        let mut out = Vec::new();
        for ty in types {
            out.push(host_array(&transfer, ty, &mut results)?);
        }
        Ok(out)
    }
}

/// A host array from its extents and columns, the next of `values`.
fn host_array(transfer: &Transfer, ty: &ArrayType, values: &mut dyn Iterator<Item = Rt>) -> Result<ArrayData> {
    let mut shape = Vec::new();
    for _ in 0..ty.rank {
        match values.next() {
            Some(Rt::Size(n)) => shape.push(usize::try_from(n).unwrap_or(0)),
            _ => return Err(TorchError::new("an array has no extent").into()),
        }
    }
    let mut columns = Vec::new();
    for leaf in ty.elt.leaves() {
        let Some(Rt::Tensor(t)) = values.next() else {
            return Err(TorchError::new("an array has no column").into());
        };
        // SAFETY: nothing writes to tensors here.
        columns.push(unsafe { transfer.take(t.tensor, leaf) }?);
    }
    Ok(ArrayData::new(shape, ty.elt.clone(), columns).map_err(|e| TorchError::new(e.to_string()))?)
}

struct Run<'a> {
    exe: &'a Executable,
    args: &'a [ArrayData],
    limits: &'a RunLimits,
    meter: Meter,
    threads: &'a Threads,
    values: Vec<Option<Rt>>,
    /// The first fault found in each statement that has not ended yet.
    pending: HashMap<u32, Pending>,
    /// What was found out on the device about faults and not looked at yet.
    flags: Vec<Flag>,
    /// What it is a part of, if it is not the whole.
    block: Option<row_blocking::Block<'a>>,
}

impl Run<'_> {
    fn set(&mut self, v: Value, rt: Rt) {
        if let Some(slot) = self.values.get_mut(v.index()) {
            *slot = Some(rt);
        }
    }

    fn get(&self, v: Value) -> TorchResult<&Rt> {
        self.found(v).ok_or_else(|| TorchError::new(format!("the value {v} was not evaluated")))
    }

    fn found(&self, v: Value) -> Option<&Rt> {
        let own = self.values.get(v.index());
        let outer = || self.block.as_ref().and_then(|b| b.outer.value(v));
        let constant = || self.exe.constants.0.get(v.index()).and_then(Option::as_ref);
        own.and_then(Option::as_ref).or_else(constant).or_else(outer)
    }

    fn size(&self, v: Value) -> TorchResult<i64> {
        match self.get(v)? {
            Rt::Size(n) => Ok(*n),
            Rt::Tensor(_) | Rt::Token => Err(TorchError::new(format!("the value {v} is not a size"))),
        }
    }

    fn held(&self, v: Value) -> TorchResult<&Held> {
        match self.get(v)? {
            Rt::Tensor(t) => Ok(t),
            Rt::Size(_) | Rt::Token => Err(TorchError::new(format!("the value {v} is not a tensor"))),
        }
    }

    fn tensor(&self, v: Value) -> TorchResult<&Tensor> {
        Ok(&self.held(v)?.tensor)
    }

    fn sizes(&self, vs: &[Value]) -> TorchResult<Vec<i64>> {
        vs.iter().map(|v| self.size(*v)).collect()
    }

    fn copy(&self, v: Value) -> TorchResult<Rt> {
        Ok(self.get(v)?.handle())
    }

    /// Runs a body whose parameters are set.
    fn body(&mut self, body: &PlannedBody) -> Result<Vec<Rt>> {
        acc_core::grow_stack(|| self.body_here(body))
    }

    fn body_here(&mut self, body: &PlannedBody) -> Result<Vec<Rt>> {
        let mut groups = body.groups.iter().peekable();
        let mut done = 0;
        for (k, &id) in body.strict.iter().enumerate() {
            if let Some((_, group)) = groups.next_if(|(first, _)| *first == k)
                && let Some(steps) = body.strict.get(k..k + group.steps)
                && self.group(group, steps)?
            {
                done = k + group.steps;
            }
            if let Some(step) = self.exe.plan.step(id) {
                if k >= done {
                    self.recorded(step)?;
                }
                self.free(&step.last_use_of);
            }
        }
        for v in &body.demands {
            self.force(*v)?;
        }
        let results = body.results.iter().map(|v| self.copy(*v)).collect::<TorchResult<Vec<_>>>()?;
        self.free(&body.values);
        Ok(results)
    }

    fn free(&mut self, values: &[Value]) {
        for v in values {
            if let Some(slot) = self.values.get_mut(v.index()) {
                *slot = None;
            }
        }
    }

    /// Whether a condition holds; of a tensor after what was found out before.
    fn holds(&mut self, condition: Value) -> Result<bool> {
        if let Rt::Tensor(_) = self.get(condition)? {
            self.settle()?;
        }
        Ok(self.get(condition)?.holds()?)
    }

    fn is_set(&self, v: Value) -> bool {
        self.found(v).is_some()
    }

    /// Evaluates a value that was left until somebody demands it, with what it needs.
    fn force(&mut self, v: Value) -> Result<()> {
        let mut stack = vec![v];
        while let Some(&v) = stack.last() {
            if self.is_set(v) {
                stack.pop();
                continue;
            }
            let Some(step) = self.exe.plan.definition(v).and_then(|id| self.exe.plan.step(id)) else {
                return Err(TorchError::new(format!("the parameter {v} is not set")).into());
            };
            let before = stack.len();
            // The host has arguments, as tensors or not.
            if !matches!(step.node.op, Op::Argument(_)) {
                stack.extend(step.node.op.operands().into_iter().filter(|o| !self.is_set(*o)));
            }
            if stack.len() == before {
                acc_core::grow_stack(|| self.recorded(step))?;
                stack.pop();
            }
        }
        Ok(())
    }
}
