//! Running a plan with libtorch.

mod cast;
mod fault;
mod groups;
mod lanes;
mod masks;
mod normalize;
mod ops;
mod prim;
mod reduce;
mod rows;
mod segments;
mod softmax;
mod strided;
mod value;
mod views;

pub(super) use cast::chr;

use super::setup::Session;
use super::threads::Threads;
use super::transfer::{Transfer, literal};
use super::{Device, TorchError};
use crate::plan::{Plan, PlannedBody, Step};
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayType, Loc};
use acc_core::exec::replay::Ended;
use acc_core::{Error, Meter, RunLimits, timeline};
use acc_desugar::Faults;
use acc_desugar::graph::{Node, Op, Type, Value};
use fault::{Flag, Pending};
use std::collections::HashMap;
use std::sync::Arc;
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
    block: Option<groups::Block<'a>>,
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

    /// Runs a step, in a span if somebody records.
    fn recorded(&mut self, step: &Step) -> Result<()> {
        if !timeline::is_on() {
            return self.step(step);
        }
        let node = &step.node;
        let mut span = timeline::span(timeline::Kind::Tensor, || node.op.name());
        span.note("values", || node.results.iter().map(Value::to_string).collect::<Vec<_>>().join(" "));
        span.note("source", || format!("{} at {}", self.exe.source_name(node), node.loc));
        self.step(step)?;
        let bytes = |v: &Value| self.tensor(*v).map_or(0, |t| t.numel() * t.kind().elt_size_in_bytes());
        span.note("bytes", || node.results.iter().map(bytes).sum::<usize>());
        Ok(())
    }

    /// Runs a step; what it needs from outside its body may have to be evaluated first.
    fn step(&mut self, step: &Step) -> Result<()> {
        self.limits.check()?;
        for o in &step.demands {
            if !self.is_set(*o) {
                self.force(*o)?;
            }
        }
        let node = &step.node;
        let exe = self.exe;
        let failed = |e: TorchError| e.at(exe.source_name(node), &node.loc);
        match &node.op {
            Op::If { cond, .. } => {
                let taken = if self.holds(*cond)? { step.bodies.first() } else { step.bodies.get(1) };
                let results = match taken {
                    Some(b) => self.body(b)?,
                    None => Vec::new(),
                };
                self.define(step, results);
            }
            Op::While { init, .. } => {
                let mut state = init.iter().map(|v| self.copy(*v)).collect::<TorchResult<Vec<_>>>()?;
                if let [test, next] = &step.bodies[..] {
                    loop {
                        self.limits.check()?;
                        self.bind(test, &state);
                        let condition = self.body(test)?;
                        if matches!(condition.first(), Some(Rt::Tensor(_))) {
                            self.settle()?;
                        }
                        let go = match condition.first() {
                            Some(condition) => condition.holds()?,
                            None => false,
                        };
                        if !go {
                            break;
                        }
                        self.bind(next, &state);
                        // The old state must not outlive the step: it may be the largest tensors of the run.
                        state.clear();
                        state = self.body(next)?;
                    }
                }
                self.define(step, state);
            }
            Op::LaneLoop { on, space, init, captured, kept, .. } => {
                self.lane_loop(step, *on, space, [init, captured], kept)?;
            }
            Op::Fold { columns, .. } => self.fold_rows(step, columns)?,
            Op::Scan { columns, .. } => self.scan_rows(step, columns)?,
            Op::Sort(x) => {
                let both = self.shared(&node.op, |run| run.sort(*x)).map_err(failed)?;
                let both = both.map(|t| self.charged(Rt::Tensor(t.into()), node));
                self.define(step, both.into_iter().collect::<Result<_>>()?);
            }
            Op::SegmentScan { with, x, starts } => {
                let scanned = self.shared(&node.op, |run| run.segment_scan(*with, *x, *starts))?;
                let rt = self.charged(Rt::Tensor(scanned.into()), node)?;
                self.define(step, vec![rt]);
            }
            Op::Fault { kind, bad, space, details, site } => {
                if exe.faults.exact() {
                    self.note_fault(node, kind, *bad, space, details, *site).map_err(failed)?;
                } else {
                    self.flag_fault(*bad, space)?;
                }
                self.define(step, vec![Rt::Token]);
            }
            Op::ReadBack(x) => {
                self.settle()?;
                let n = self.tensor(*x).and_then(|t| Ok(t.f_int64_value(&[])?)).map_err(failed)?;
                self.define(step, vec![Rt::Size(n)]);
            }
            Op::InBounds { at, extent, by_use } => {
                let at = self.in_bounds(*at, *extent, *by_use)?;
                self.define(step, vec![Rt::Tensor(at)]);
            }
            Op::Divisor(y) => {
                let y = self.divisor(*y).map_err(failed)?;
                self.define(step, vec![Rt::Tensor(y)]);
            }
            Op::Checked { values, raise, .. } => {
                if *raise && let Some(p) = self.pending.remove(&node.source) {
                    return Err(p.error.into());
                }
                let values = values.iter().map(|v| self.copy(*v)).collect::<TorchResult<Vec<_>>>()?;
                self.define(step, values);
            }
            Op::Trace { message, types, shown, values } => {
                let transfer = Transfer::new(exe.device);
                let shown = shown.iter().map(|v| self.copy(*v)).collect::<TorchResult<Vec<_>>>()?;
                let mut shown = shown.into_iter();
                let arrays =
                    types.iter().map(|ty| host_array(&transfer, ty, &mut shown)).collect::<Result<Vec<_>>>()?;
                acc_core::foreign::trace::emit(message, &arrays, 0);
                let values = values.iter().map(|v| self.copy(*v)).collect::<TorchResult<Vec<_>>>()?;
                self.define(step, values);
            }
            Op::Confine { mask, space, .. } => {
                let mask = self.confine(node, *mask, space).map_err(failed)?;
                self.define(step, vec![Rt::Tensor(mask.into())]);
            }
            op => {
                let counted = self.counts_results();
                if counted {
                    self.check_bytes_ahead(op, node)?;
                }
                let mut rt = match self.shared(op, |run| run.simple(op, node, step.overwrites)) {
                    Ok(rt) => rt,
                    Err(e) if finds_faults(op) => return Err(Stop::Suspected(Some(failed(e)))),
                    Err(e) => return Err(Stop::Error(failed(e))),
                };
                if counted {
                    rt = self.charged(rt, node)?;
                }
                if let Some(v) = node.results.first() {
                    self.set(*v, rt);
                }
            }
        }
        Ok(())
    }

    /// Calls an operation, on as many threads as it is worth.
    fn shared<T>(&mut self, op: &Op, call: impl FnOnce(&mut Self) -> T) -> T {
        let threads = self.threads;
        threads.work(self.elements(op), |_| call(self))
    }

    /// How many elements an operation looks at or makes; more, perhaps, where small operands are combined to a large result.
    fn elements(&self, op: &Op) -> i64 {
        let (mut greatest, mut product) = (0, 1i64);
        for v in op.operands() {
            match self.found(v) {
                Some(Rt::Tensor(t)) => {
                    if t.count != greatest {
                        product = product.saturating_mul(t.count.max(1));
                    }
                    greatest = greatest.max(t.count);
                }
                // The length of an iota is among its sizes.
                Some(Rt::Size(n)) if matches!(op, Op::Iota { .. }) => greatest = greatest.max(*n),
                Some(Rt::Size(_) | Rt::Token) | None => {}
            }
        }
        let spread = matches!(op, Op::Prim(..) | Op::Where(..) | Op::Contract(..));
        if spread { product.max(greatest) } else { greatest }
    }

    /// Whether the memory of results is counted here: on devices where libtorch does not ask for it (see
    /// [`memory`](crate::torch::memory)).
    fn counts_results(&self) -> bool {
        self.meter.is_limited() && self.exe.device != Device::Cpu
    }

    /// Holds an element-wise result to the limit before it is allocated: it has the extents of its operands together.
    fn check_bytes_ahead(&self, op: &Op, node: &Node) -> Result<()> {
        let (Op::Prim(..) | Op::Clip { .. } | Op::Where(..) | Op::Iota { .. }) = op else { return Ok(()) };
        let Some(Type::Tensor { scalar, rank }) = node.results.first().map(|v| self.exe.plan.graph().ty(*v)) else {
            return Ok(());
        };
        let mut extents = vec![1i64; rank];
        for v in op.operands() {
            match self.get(v)? {
                // The first size of an iota is its length.
                Rt::Size(n) if extents == [1] => extents.fill(*n),
                Rt::Size(_) => {}
                Rt::Tensor(t) if t.dim() == rank => {
                    extents.iter_mut().zip(t.size()).for_each(|(e, n)| *e = if *e == 1 { n } else { *e });
                }
                Rt::Tensor(_) | Rt::Token => {}
            }
        }
        let count = extents.iter().fold(1u64, |n, e| n.saturating_mul(u64::try_from(*e).unwrap_or(0)));
        self.meter.charge(count.saturating_mul(scalar.size() as u64))?;
        Ok(())
    }

    /// Counts the memory of a result, unless it is that of an operand.
    fn charged(&self, rt: Rt, node: &Node) -> Result<Rt> {
        let Rt::Tensor(Held { tensor, count, charge: None }) = rt else { return Ok(rt) };
        if !self.counts_results() {
            return Ok(Rt::Tensor(tensor.into()));
        }
        let is_view = matches!(node.op, Op::Slice { .. } | Op::Select { .. });
        for v in node.op.operands() {
            if let Rt::Tensor(of) = self.get(v)?
                && (is_view || of.data_ptr() == tensor.data_ptr())
            {
                return Ok(Rt::Tensor(Held { tensor, count, charge: of.charge.clone() }));
            }
        }
        let bytes = tensor.numel() * tensor.kind().elt_size_in_bytes();
        let charge = Some(Arc::new(self.meter.charge(bytes as u64)?));
        Ok(Rt::Tensor(Held { tensor, count, charge }))
    }

    fn define(&mut self, step: &Step, results: Vec<Rt>) {
        for (v, rt) in step.node.results.iter().zip(results) {
            self.set(*v, rt);
        }
    }

    fn bind(&mut self, body: &PlannedBody, state: &[Rt]) {
        for (p, rt) in body.params.iter().zip(state) {
            self.set(*p, rt.handle());
        }
    }
}

/// Whether the operation itself finds positions out of bounds, or divisors that are 0.
fn finds_faults(op: &Op) -> bool {
    match op {
        Op::Gather(..) | Op::Take { .. } | Op::Scatter { .. } | Op::SegmentReduce { .. } => true,
        Op::Prim(p, _) => p.is_partial(),
        _ => false,
    }
}
