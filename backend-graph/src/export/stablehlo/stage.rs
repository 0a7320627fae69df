//! Stages: what can be computed of a graph until the host must look at something, as one module.
//!
//! A run of a graph whose extents depend on data is a sequence of stages. Each is specialised to what is known by then
//! ([`Specialisation`]), takes tensors that stages before it made, and yields what later ones use.

use super::body::{Emitter, Held, Size};
use super::control::LaneLoop;
use super::writer::{Form, Result, Tensor, tensor_type};
use super::{ModuleError, Need, Options, Stop, error};
use crate::Specialisation;
use crate::specialise::Cutting;
use acc_core::data::ScalarType;
use acc_desugar::graph::{Body, Graph, Node, Op, Type, Value};
use std::collections::HashSet;
use std::fmt::Write;

/// A module, and what comes after it.
#[derive(Debug)]
pub struct Stage {
    /// The text of the module; none if nothing is left to compute.
    pub text: Option<String>,
    /// The values that are its arguments.
    pub inputs: Vec<Value>,
    /// Whether one more argument is how many steps it may take, an `i64`; then its last output is whether the loop goes on.
    pub budget: bool,
    /// Its results, without the last one, which is the fault found.
    pub outputs: Vec<Output>,
    /// Numbers that are known then, as [`Specialisation::numbers`] has them: of sizes, and of checks that were made.
    pub numbers: Vec<(Value, i64)>,
    /// What comes next.
    pub next: Next,
}

/// A result of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The value of the graph that it is, if it is one that later stages use.
    pub value: Option<Value>,
    /// Its extents.
    pub extents: Vec<i64>,
    /// Its type; of a size `i64`.
    pub ty: ScalarType,
    /// The axis along which it is cut over the processes, with padding at its end.
    pub cut: Option<usize>,
}

impl Output {
    /// What every process has: a number, or a condition.
    fn whole(ty: ScalarType) -> Output {
        Output { value: None, extents: Vec::new(), ty, cut: None }
    }
}

/// What comes after a stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing: these are the results of the body.
    Results(Vec<Yielded>),
    /// The last output is the number of this value.
    Number(Value),
    /// The host runs the node that defines this value.
    Node(Value),
    /// There is a fault, whatever the data are.
    Fault,
}

/// A result of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Yielded {
    /// A size that is a number.
    Number(i64),
    /// An output of the module, by its position.
    Output(usize),
    /// That a check was made.
    Check,
}

/// The next stage of the innermost of these bodies; each stands in the one before it, and is evaluated once with what is
/// known.
pub fn stage(
    graph: &Graph,
    bodies: &[&Body],
    known: &Specialisation,
    options: Options,
) -> std::result::Result<Stage, ModuleError> {
    let mut e = Emitter::new(graph, known, options);
    written(&mut e, bodies).map_err(|stop| error(graph, &stop))
}

fn written<'g>(e: &mut Emitter<'g>, bodies: &[&'g Body]) -> Result<Stage> {
    let Some((body, around)) = bodies.split_last() else { return Err(Stop::Defect("no body")) };
    around.iter().for_each(|b| e.enter(b));
    let stop = match e.inline_once(body) {
        Ok(results) => return finished(e, results),
        Err(Stop::Host(need)) => need,
        Err(Stop::Fault(_)) => return Ok(Stage::fault()),
        Err(stop) => return Err(stop),
    };
    e.leave_regions();
    let computed = e.computed();
    let used = used_later(e, bodies);
    let (mut tensors, mut outputs, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (v, held) in computed {
        let t = match held {
            Held::Token => {
                numbers.push((v, 0));
                continue;
            }
            Held::Size(Size::Number(n)) => {
                numbers.push((v, n));
                continue;
            }
            Held::Size(Size::Device(t)) | Held::Tensor(t) => t,
        };
        if used.contains(&v) && !e.inputs.iter().any(|(known, _)| *known == v) {
            outputs.push(Output { value: Some(v), extents: t.shape.to_vec(), ty: t.ty, cut: e.cut_by_rule(&t) });
            tensors.push(t);
        }
    }
    let next = match stop {
        Need::Number(v) => {
            let number = match e.counts.get(&v).cloned() {
                Some(count) => count,
                None => e.tensor(v)?,
            };
            let number = e.w.convert(&number, ScalarType::I64)?;
            outputs.push(Output::whole(ScalarType::I64));
            tensors.push(number);
            Next::Number(v)
        }
        Need::Node(v) => Next::Node(v),
    };
    module(e, tensors, outputs, numbers, next, None)
}

/// Some steps of a loop in the innermost of these bodies: its results are the next state, and before it which lanes are on if
/// these leave the loop one by one. An error if the host must run each step.
pub fn steps(
    graph: &Graph,
    bodies: &[&Body],
    node: &Node,
    known: &Specialisation,
    options: Options,
) -> std::result::Result<Stage, ModuleError> {
    let mut e = Emitter::new(graph, known, options);
    some_steps(&mut e, bodies, node).map_err(|stop| error(graph, &stop))
}

fn some_steps<'g>(e: &mut Emitter<'g>, bodies: &[&'g Body], node: &'g Node) -> Result<Stage> {
    bodies.iter().for_each(|b| e.enter(b));
    let budget = e.w.fresh(&Form::scalar(ScalarType::I64));
    let steps = match (&node.op, LaneLoop::of(node)) {
        (Op::While { test, step, .. }, _) => e.steps(&node.results, [test, step], &budget),
        (_, Some(lanes)) => e.lanes(&node.results, &lanes, Some(&budget)).map(|(mut state, on, more)| {
            state.insert(0, on);
            (state.into_iter().map(Held::Tensor).collect(), more)
        }),
        _ => Err(Stop::Defect("steps of what is no loop")),
    };
    let (state, more) = match steps {
        Err(Stop::Fault(_)) => return Ok(Stage::fault()),
        steps => steps?,
    };
    let (mut tensors, mut outputs, yielded) = yielded(e, state);
    outputs.push(Output::whole(ScalarType::Bool));
    tensors.push(more);
    let stage = module(e, tensors, outputs, Vec::new(), Next::Results(yielded), Some(&budget))?;
    Ok(Stage { budget: true, ..stage })
}

impl Stage {
    fn fault() -> Stage {
        Stage {
            text: None,
            inputs: Vec::new(),
            budget: false,
            outputs: Vec::new(),
            numbers: Vec::new(),
            next: Next::Fault,
        }
    }
}

fn finished(e: &mut Emitter<'_>, results: Vec<Held>) -> Result<Stage> {
    let (tensors, outputs, yielded) = yielded(e, results);
    module(e, tensors, outputs, Vec::new(), Next::Results(yielded), None)
}

/// The tensors among results, as outputs, and how the results come of them.
fn yielded(e: &Emitter<'_>, results: Vec<Held>) -> (Vec<Tensor>, Vec<Output>, Vec<Yielded>) {
    let (mut tensors, mut outputs, mut yielded) = (Vec::new(), Vec::new(), Vec::new());
    for held in results {
        yielded.push(match held {
            Held::Token => Yielded::Check,
            Held::Size(Size::Number(n)) => Yielded::Number(n),
            Held::Size(Size::Device(t)) | Held::Tensor(t) => {
                let cut = e.cut_by_rule(&t).filter(|_| !e.options.whole_results);
                outputs.push(Output { value: None, extents: t.shape.to_vec(), ty: t.ty, cut });
                tensors.push(t);
                Yielded::Output(outputs.len() - 1)
            }
        });
    }
    (tensors, outputs, yielded)
}

fn module(
    e: &mut Emitter<'_>,
    mut tensors: Vec<Tensor>,
    outputs: Vec<Output>,
    numbers: Vec<(Value, i64)>,
    next: Next,
    budget: Option<&Tensor>,
) -> Result<Stage> {
    let fault = e.outermost_fault();
    if tensors.is_empty() && fault.is_none() {
        return Ok(Stage { text: None, inputs: Vec::new(), budget: false, outputs, numbers, next });
    }
    tensors.push(match fault {
        Some(fault) => fault,
        None => e.w.int(0)?,
    });
    let inputs: Vec<Value> = e.inputs.iter().map(|(v, _)| *v).collect();
    let cuts: Vec<Option<usize>> = outputs.iter().map(|o| o.cut).chain([None]).collect();
    let text = function(e, budget, &tensors, &cuts)?;
    Ok(Stage { text: Some(text), inputs, budget: false, outputs, numbers, next })
}

/// The module with one function, of all inputs and one more argument, and with these results, cut along these axes.
pub(super) fn function(
    e: &mut Emitter<'_>,
    more: Option<&Tensor>,
    results: &[Tensor],
    cuts: &[Option<usize>],
) -> Result<String> {
    let inputs: Vec<_> = e.inputs.iter().map(|(v, t)| (t.clone(), e.cut_before(*v))).collect();
    let inputs = inputs.into_iter().chain(more.map(|t| (t.clone(), None)));
    let (params, unpadded): (Vec<_>, Vec<_>) = inputs.map(|(t, cut)| e.parameter(&t, cut)).unzip();
    let results = results.iter().zip(cuts).map(|(t, cut)| e.padded_result(t, *cut)).collect::<Result<Vec<_>>>()?;
    let types: Vec<String> = (results.iter().zip(cuts))
        .map(|(t, cut)| format!("{}{}", tensor_type(&t.shape, t.ty), e.sharding(t.rank(), *cut)))
        .collect();
    let mut out = String::from("module @acc {\n");
    out.push_str(&e.mesh());
    let _ = writeln!(out, "func.func public @main({}) -> ({}) {{", params.join(", "), types.join(", "));
    out.extend(unpadded);
    out.push_str(&e.w.finish(&results));
    out.push_str("}\n}\n");
    Ok(out)
}

/// A module that gathers a tensor that is cut along an axis: every process gets all of it.
pub fn gathered(
    extents: &[i64],
    ty: ScalarType,
    axis: usize,
    cutting: Cutting,
) -> std::result::Result<Stage, ModuleError> {
    let v = Value(0);
    let body = Body { params: vec![v], nodes: Vec::new(), results: vec![v] };
    let types = vec![Type::Tensor { scalar: ty, rank: extents.len() }];
    let graph = Graph { types, body, sources: Vec::new() };
    let mut known = Specialisation::default();
    known.shapes.insert(v, extents.to_vec());
    known.cut.insert(v, axis);
    stage(&graph, &[&graph.body], &known, Options { cutting: Some(cutting), whole_results: true, ..Options::default() })
}

/// The values that what is not computed yet may use.
fn used_later(e: &Emitter<'_>, bodies: &[&Body]) -> HashSet<Value> {
    fn of_node(node: &Node, used: &mut HashSet<Value>) {
        used.extend(node.op.operands());
        for b in node.op.bodies() {
            used.extend(b.results.iter().copied());
            acc_core::grow_stack(|| b.nodes.iter().for_each(|n| of_node(n, used)));
        }
    }
    fn of_body(e: &Emitter<'_>, body: &Body, used: &mut HashSet<Value>) {
        used.extend(body.results.iter().copied());
        for n in body.nodes.iter().filter(|n| !e.is_done(n)) {
            of_node(n, used);
        }
    }
    let mut used = HashSet::new();
    bodies.iter().for_each(|b| of_body(e, b, &mut used));
    used
}
