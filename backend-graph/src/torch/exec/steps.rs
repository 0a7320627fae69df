//! Steps: control and faults; everything else is an operation of [`ops`](super::ops).

use super::value::{Held, Rt};
use super::{Result, Run, Stop, TorchResult, host_array};
use crate::plan::{PlannedBody, Step};
use crate::torch::transfer::Transfer;
use crate::torch::{Device, TorchError};
use acc_core::timeline;
use acc_desugar::graph::{Node, Op, Type, Value};
use std::sync::Arc;

impl Run<'_> {
    /// Runs a step, in a span if somebody records.
    pub(super) fn recorded(&mut self, step: &Step) -> Result<()> {
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
        if step.is_inner {
            return Ok(());
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
            Op::Sort { x, count, last } => {
                let both = self.shared(&node.op, |run| run.sort(*x, *count, *last)).map_err(failed)?;
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
    pub(super) fn shared<T>(&mut self, op: &Op, call: impl FnOnce(&mut Self) -> T) -> T {
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
        let spread = matches!(op, Op::Prim(..) | Op::Where(..) | Op::Contract { .. } | Op::Convolve { .. });
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
    pub(super) fn charged(&self, rt: Rt, node: &Node) -> Result<Rt> {
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

    pub(super) fn define(&mut self, step: &Step, results: Vec<Rt>) {
        for (v, rt) in step.node.results.iter().zip(results) {
            self.set(*v, rt);
        }
    }

    pub(super) fn bind(&mut self, body: &PlannedBody, state: &[Rt]) {
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
