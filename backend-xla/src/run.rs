//! A run: stage after stage, and what the host does between them. It looks at numbers, runs loops whose steps change extents,
//! prints traces, and looks at the limits.

use crate::argument::Argument;
use crate::device::Device;
use crate::layout::Layout;
use crate::stages::{Compiled, Of, Stages};
use crate::tensors::{Held, Layer, Tensor, arrays, find, specialisation};
use acc_core::data::ScalarType;
use acc_core::exec::replay::Ended;
use acc_core::{Error, Meter, RunLimits, timeline};
use acc_desugar::graph::{Body, Node, Op, Value};
use backend_graph::export::stablehlo::Options;
use backend_graph::export::stablehlo::stage::{Next, Output, Yielded};
use backend_graph::specialise::Cutting;
use std::time::{Duration, Instant};

/// How many steps a loop takes at first before the limits are looked at.
const FIRST_STEPS: i64 = 64;

/// About how long a loop runs until the limits are looked at.
const MAX_TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(40);

/// One run of a graph.
pub(crate) struct Run<'r> {
    pub(crate) device: &'r Device,
    /// How arrays are cut, on a mesh.
    pub(crate) cutting: Option<Cutting>,
    /// Whether every process gets all of the results.
    pub(crate) whole_results: bool,
    pub(crate) stages: &'r Stages,
    pub(crate) limits: &'r RunLimits,
    pub(crate) meter: Meter,
}

fn defect(message: &str) -> Ended {
    Ended::from(Error::defect("xla", message))
}

/// The results of a body, of what its last stage made.
fn yielded(all: &[Yielded], made: &[Tensor]) -> Result<Vec<Held>, Ended> {
    let held = all.iter().map(|y| match y {
        Yielded::Number(n) => Some(Held::Number(*n)),
        Yielded::Output(k) => made.get(*k).cloned().map(Held::Tensor),
        Yielded::Check => Some(Held::Number(0)),
    });
    held.collect::<Option<_>>().ok_or_else(|| defect("a result is missing"))
}

impl<'r> Run<'r> {
    /// The results of the graph for these arguments.
    pub(crate) fn graph(&self, args: &[Argument<'_>]) -> Result<Vec<Held>, Ended> {
        let body = &self.stages.graph.body;
        let mut layer = Layer::default();
        let mut params = body.params.iter();
        for argument in args {
            for held in argument.held(self.device, self.cutting, self.limits).map_err(Ended::from)? {
                let v = params.next().ok_or_else(|| defect("a parameter is missing"))?;
                layer.held.insert(*v, held);
            }
        }
        self.body(&mut vec![body], &mut vec![layer])
    }

    /// What the host takes part in, at a depth of bodies. On a mesh, whose processes must take the same steps, it does not look
    /// at the clock: there a limit ends the worker.
    fn options(&self, depth: usize) -> Options {
        let limited = self.limits.deadline.is_some() || self.limits.cancel.is_some();
        Options {
            traces: true,
            interruptible: limited && self.cutting.is_none(),
            cutting: self.cutting,
            whole_results: self.whole_results && depth == 1,
        }
    }

    /// The results of the innermost of these bodies, of each of which a layer tells what is known.
    fn body(&self, bodies: &mut Vec<&'r Body>, layers: &mut Vec<Layer>) -> Result<Vec<Held>, Ended> {
        loop {
            self.limits.check().map_err(Ended::from)?;
            let known = specialisation(layers);
            let options = self.options(bodies.len());
            let compiled = match self.stages.next(self.device, bodies, Of::Body, &known, options, self.limits) {
                // What no module can do the interpreter does.
                Err(Error::Export { .. }) => return Err(Ended::Fault(None)),
                compiled => compiled.map_err(Ended::from)?,
            };
            let stage = &compiled.stage;
            if let Next::Number(v) = stage.next
                && let Some(held) = find(layers, v)
            {
                // No need to compute anything.
                let n = held.number().map_err(Ended::from)?;
                innermost(layers)?.looked_at.insert(v, n);
                continue;
            }
            let mut made = self.compute(&compiled, layers, None)?;
            let layer = innermost(layers)?;
            layer.held.extend(stage.numbers.iter().map(|(v, n)| (*v, Held::Number(*n))));
            for (output, tensor) in stage.outputs.iter().zip(&made) {
                if let Some(v) = output.value {
                    layer.held.insert(v, Held::Tensor(tensor.clone()));
                }
            }
            match &stage.next {
                Next::Results(all) => {
                    return yielded(all, &made);
                }
                Next::Number(v) => {
                    let n = made.pop().ok_or_else(|| defect("a number is missing"))?;
                    layer.looked_at.insert(*v, n.number().map_err(Ended::from)?);
                }
                Next::Node(v) => {
                    // It may be one around the loop whose step needs it.
                    let (mut around, node) = self.stages.node(*v).ok_or_else(|| defect("a node is missing"))?;
                    let results = self.node(node, &mut around, layers)?;
                    innermost(layers)?.held.extend(node.results.iter().copied().zip(results));
                }
                Next::Fault => return Err(Ended::Fault(None)),
            }
        }
    }

    /// The outputs of a stage; a fault ends the run.
    fn compute(&self, compiled: &Compiled, layers: &[Layer], budget: Option<&Tensor>) -> Result<Vec<Tensor>, Ended> {
        let Some(executable) = &compiled.executable else { return Ok(Vec::new()) };
        let stage = &compiled.stage;
        let mut span = timeline::span(timeline::Kind::Tensor, || "stage");
        span.note("results", || stage.outputs.len());
        let mut inputs = Vec::new();
        for v in &stage.inputs {
            match find(layers, *v) {
                Some(Held::Tensor(t)) => inputs.push(&*t.buffer),
                _ => return Err(defect("an input of a stage is missing")),
            }
        }
        inputs.extend(budget.map(|t| &*t.buffer));
        let of = |o: &Output| Layout { extents: o.extents.clone(), ty: o.ty, cut: o.cut };
        let fault = Layout::whole(&[], ScalarType::I64);
        let layouts: Vec<Layout> = stage.outputs.iter().map(of).chain([fault.clone()]).collect();
        let made = self.device.run(executable, &inputs, &layouts, self.limits).map_err(Ended::from)?;
        let mut made = made.into_iter();
        let mut out = Vec::new();
        for (layout, buffer) in layouts.into_iter().take(stage.outputs.len()).zip(made.by_ref()) {
            out.push(Tensor::made(buffer, layout, self.device.processes(), &self.meter).map_err(Ended::from)?);
        }
        let found = made.next().ok_or_else(|| defect("a module does not tell its fault"))?;
        match Tensor::of_argument(found, fault).number().map_err(Ended::from)? {
            0 => Ok(out),
            _ => Err(Ended::Fault(None)),
        }
    }

    /// What the host runs.
    fn node(&self, node: &'r Node, bodies: &mut Vec<&'r Body>, layers: &mut Vec<Layer>) -> Result<Vec<Held>, Ended> {
        let held = |layers: &[Layer], all: &[Value]| {
            let held = all.iter().map(|v| find(layers, *v).cloned()).collect::<Option<Vec<Held>>>();
            held.ok_or_else(|| defect("an operand is missing"))
        };
        match &node.op {
            Op::While { init, test, step } => {
                let state = held(layers, init)?;
                let (state, more) = self.some_steps(node, &step.params, Some(state), bodies, layers)?;
                let state = state.ok_or_else(|| defect("a loop without a state"))?;
                if more { self.host_loop(state, [test, step], bodies, layers) } else { Ok(state) }
            }
            Op::LaneLoop { step, .. } => {
                // Which lanes are on goes before their state.
                let on = step.params.get(1).copied();
                let state: Vec<Value> = on.into_iter().chain(node.results.iter().copied()).collect();
                match self.some_steps(node, &state, None, bodies, layers)? {
                    (Some(state), false) => Ok(state.into_iter().skip(1).collect()),
                    // There is a loop in it: no module, but the interpreter can be stopped.
                    _ => Err(Ended::Fault(None)),
                }
            }
            Op::Trace { message, types, shown, values } => {
                let shown = held(layers, shown)?.into_iter().map(|held| held.whole(self.device, self.limits));
                let shown = shown.collect::<Result<Vec<_>, _>>().map_err(Ended::from)?;
                if self.device.is_first() {
                    let arrays = arrays(types, &shown).map_err(Ended::from)?;
                    acc_core::foreign::trace::emit(message, &arrays, 0);
                }
                held(layers, values)
            }
            _ => Err(defect("the host is to run what it cannot")),
        }
    }

    /// A loop on the device, some steps at a time, between which the limits are looked at. Its state goes from one time to
    /// the next by these names; without one it begins. The state after it, and whether the loop goes on, since the host must
    /// run each step.
    fn some_steps(
        &self,
        node: &'r Node,
        names: &[Value],
        mut state: Option<Vec<Held>>,
        bodies: &[&'r Body],
        layers: &mut Vec<Layer>,
    ) -> Result<(Option<Vec<Held>>, bool), Ended> {
        // All processes of a mesh take as many.
        let mut budget: i64 = if self.cutting.is_some() { i64::MAX } else { FIRST_STEPS };
        loop {
            self.limits.check().map_err(Ended::from)?;
            let mut layer = Layer::default();
            layer.held.extend(names.iter().copied().zip(state.iter().flatten().cloned()));
            layers.push(layer);
            let known = specialisation(layers);
            let (of, options) = (Of::Steps(node), self.options(bodies.len() + 1));
            let made = self.stages.next(self.device, bodies, of, &known, options, self.limits).map(|compiled| {
                let start = Instant::now();
                let steps = Tensor::of_number(self.device, budget, self.limits).map_err(Ended::from)?;
                let made = self.compute(&compiled, layers, Some(&steps))?;
                Ok::<_, Ended>((compiled, made, start.elapsed()))
            });
            layers.pop();
            let (compiled, mut made, time) = match made {
                // An extent changes, or a loop is in the loop.
                Err(Error::Export { .. }) => return Ok((state, true)),
                made => made.map_err(Ended::from)??,
            };
            let Next::Results(all) = &compiled.stage.next else { return Err(Ended::Fault(None)) };
            let more = made.pop().ok_or_else(|| defect("a loop does not tell whether it goes on"))?;
            state = Some(yielded(all, &made)?);
            if more.number().map_err(Ended::from)? == 0 {
                return Ok((state, false));
            }
            if time < MAX_TIME_BETWEEN_LOOKS / 4 {
                budget = budget.saturating_mul(2);
            } else if time > MAX_TIME_BETWEEN_LOOKS {
                budget = (budget / 2).max(1);
            }
        }
    }

    /// A loop, step by step. A size that a step changes is passed on as a scalar of the device, so that what does not need
    /// it as an extent is compiled once.
    fn host_loop(
        &self,
        mut state: Vec<Held>,
        [test, step]: [&'r Body; 2],
        bodies: &mut Vec<&'r Body>,
        layers: &mut Vec<Layer>,
    ) -> Result<Vec<Held>, Ended> {
        let mut varies = vec![false; state.len()];
        loop {
            let more = self.inside(test, &state, bodies, layers)?;
            let more = more.first().ok_or_else(|| defect("a test yields nothing"))?;
            if more.number().map_err(Ended::from)? == 0 {
                return Ok(state);
            }
            let mut next = self.inside(step, &state, bodies, layers)?;
            for ((next, before), varies) in next.iter_mut().zip(&state).zip(&mut varies) {
                if let Held::Number(n) = *next {
                    *varies = *varies || !matches!(before, Held::Number(m) if *m == n);
                    if *varies {
                        *next = Held::Tensor(Tensor::of_number(self.device, n, self.limits).map_err(Ended::from)?);
                    }
                }
            }
            state = next;
        }
    }

    /// The results of a body for these arguments.
    fn inside(
        &self,
        body: &'r Body,
        args: &[Held],
        bodies: &mut Vec<&'r Body>,
        layers: &mut Vec<Layer>,
    ) -> Result<Vec<Held>, Ended> {
        let mut layer = Layer::default();
        layer.held.extend(body.params.iter().copied().zip(args.iter().cloned()));
        bodies.push(body);
        layers.push(layer);
        let results = acc_core::grow_stack(|| self.body(bodies, layers));
        layers.pop();
        bodies.pop();
        results
    }
}

fn innermost(layers: &mut [Layer]) -> Result<&mut Layer, Ended> {
    layers.last_mut().ok_or_else(|| defect("a body without a layer"))
}
