//! Graphs as modules of StableHLO (<https://openxla.org/stablehlo/spec>), the input of XLA and IREE, in text form.
//!
//! A module is made for the extents of a run ([`Specialisation`]): every extent in it is a number. It has one function,
//! `main`. Arguments are the columns of the program's arrays. Results are those of its results, an extent as a scalar for
//! each axis of an array without columns, and last, `fault`: 0, or 1 and the place of the check that failed, in the order of
//! the comments at the end of the module. Then the other results mean nothing.
//!
//! * Nodes are written on demand, in the region that needs them, so that branches stay lazy.
//! * A loop carries what a step changes: sizes that stay are numbers in it. What is found by writing its body, again if
//!   need be.
//! * A loop goes on while there is no fault.

mod body;
mod control;
mod moves;
mod ops;
mod partition;
mod rows;
mod scalar;
mod scans;
pub mod stage;
mod views;
mod writer;

use crate::specialise::{Cutting, Need, Specialisation, by_array};
use acc_core::ir::ArrayType;
use acc_desugar::graph::{FaultKind, Graph, Node, Op, Value};
use body::{Emitter, Held};
use control::Carried;
use std::fmt::Write;

/// Why writing stopped.
#[derive(Debug)]
enum Stop {
    /// The host must do something first.
    Host(Need),
    /// An extent depends on what the innermost loop or branch computes.
    Local,
    /// A step of a loop changes more than was taken for it.
    Again(Vec<Carried>),
    /// Shapes do not fit: the run has a fault, or nobody looks.
    Shapes,
    /// A shape that XLA has no room for: likewise.
    TooLarge(Vec<i64>),
    /// The extents alone tell that the run has a fault, found by the check at this place.
    Fault(i64),
    /// What cannot be in a verified graph.
    Defect(&'static str),
}

/// Why there is no module.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ModuleError {
    /// An extent depends on data.
    #[error("{what} depends on data, so that no one module can do for the program: {place}{help}")]
    NeedsHost {
        /// What the host has to look at.
        what: &'static str,
        /// The operation that yields it.
        place: String,
        /// What to do about it.
        help: String,
    },
    /// The run has a fault whatever the data are.
    #[error("with these extents the program has a fault: {0}")]
    Fault(String),
    /// A shape is too large.
    #[error("with these extents the program has an array of extents {0:?}, which is too large")]
    TooLarge(Vec<i64>),
    /// What cannot be in a verified graph.
    #[error("a defect: {0}")]
    Defect(&'static str),
}

/// What becomes of what a module cannot do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    /// The host prints traces. Otherwise what they show goes nowhere: a module has results alone.
    pub traces: bool,
    /// The host runs array loops step by step, to look at limits between steps.
    pub interruptible: bool,
    /// How arrays are cut, if there are several processes: then the module is for all of them, and says of its arguments and
    /// results how each is cut.
    pub cutting: Option<Cutting>,
    /// Every process has all of the results; otherwise they are cut by the rule.
    pub whole_results: bool,
}

/// A graph as a module, for what is known of its arguments. `inputs` and `outputs` are the types of the program's arrays.
pub fn stablehlo(
    graph: &Graph,
    inputs: &[ArrayType],
    outputs: &[ArrayType],
    known: &Specialisation,
    cutting: Option<Cutting>,
) -> Result<String, ModuleError> {
    let mut e = Emitter::new(graph, known, Options { cutting, ..Options::default() });
    exported(&mut e, inputs, outputs).map_err(|stop| error(graph, &stop))
}

fn exported(e: &mut Emitter<'_>, inputs: &[ArrayType], outputs: &[ArrayType]) -> Result<String, Stop> {
    let graph = e.graph;
    let (mut arguments, mut named, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for (k, array) in by_array(&graph.body.params, inputs).iter().enumerate() {
        for (c, v) in array.columns.iter().enumerate() {
            // All are arguments, used or not.
            e.held(*v)?;
            arguments.push(format!("in{k}_{c}"));
        }
    }
    let mut held = e.inline_once(&graph.body)?.into_iter();
    for (k, ty) in outputs.iter().enumerate() {
        let extents: Vec<Held> = held.by_ref().take(ty.rank).collect();
        let columns: Vec<Held> = held.by_ref().take(ty.elt.leaves().len()).collect();
        let (what, shown) = if columns.is_empty() { ("extent", extents) } else { ("", columns) };
        for (c, held) in shown.into_iter().enumerate() {
            named.push(format!("out{k}_{what}{c}"));
            results.push(match held {
                Held::Tensor(t) => t,
                Held::Size(s) => e.scalar_of(&s)?,
                Held::Token => return Err(Stop::Defect("a check as a result")),
            });
        }
    }
    named.push("fault".to_string());
    results.push(match e.outermost_fault() {
        Some(fault) => fault,
        None => e.w.int(0)?,
    });
    let mut out = format!("// main({}) -> ({})\n", arguments.join(", "), named.join(", "));
    let cuts: Vec<Option<usize>> = results.iter().map(|t| e.cut_by_rule(t)).collect();
    out += &stage::function(e, None, &results, &cuts)?;
    for (node, place) in body::checks(graph).into_iter().zip(1..) {
        let _ = writeln!(out, "// fault {place}: {}", shown_check(node));
    }
    Ok(out)
}

/// What a check looks for, and where.
fn shown_check(node: &Node) -> String {
    let what = match &node.op {
        Op::Fault { kind, .. } => match kind {
            FaultKind::IndexOutOfBounds { .. } => "index out of bounds",
            FaultKind::DivisionByZero => "division by zero",
            FaultKind::NegativeExtent => "negative extent",
            FaultKind::ShapeOverflow => "shape overflow",
            FaultKind::EmptyFold => "empty fold",
            FaultKind::ReshapeSize { .. } => "reshape size",
            FaultKind::StencilExtent { .. } => "stencil extent",
            FaultKind::CheckFailed { message } => message,
        },
        Op::Divisor(_) => "division by zero",
        Op::SegmentReduce { .. } => "segments",
        // Reads, writes and checks of positions.
        _ => "index out of bounds",
    };
    format!("{} at {}", what.replace('\n', " "), node.loc)
}

fn error(graph: &Graph, stop: &Stop) -> ModuleError {
    match stop {
        Stop::Host(Need::Number(v)) => {
            let help = if graph.body.params.contains(v) {
                "\n  help: it is the number of a parameter of rank 0; give it among the extents"
            } else {
                "\n  help: an executor runs such a program in stages"
            };
            ModuleError::NeedsHost { what: "an extent", place: defined(graph, *v), help: help.to_string() }
        }
        Stop::Host(Need::Node(v)) => ModuleError::NeedsHost {
            what: "an extent in a loop",
            place: defined(graph, *v),
            help: "\n  help: an executor runs such a loop step by step".to_string(),
        },
        Stop::Local => ModuleError::NeedsHost {
            what: "an extent",
            place: "inside a loop over elements".to_string(),
            help: String::new(),
        },
        Stop::Fault(place) => {
            let node = usize::try_from(place - 1).ok().and_then(|k| body::checks(graph).get(k).copied());
            ModuleError::Fault(node.map(shown_check).unwrap_or_default())
        }
        Stop::TooLarge(shape) => ModuleError::TooLarge(shape.clone()),
        Stop::Again(_) => ModuleError::Defect("a loop whose steps change without end"),
        Stop::Shapes => ModuleError::Defect("shapes that do not fit"),
        Stop::Defect(what) => ModuleError::Defect(what),
    }
}

/// What defines a value: the operation, of which combinator, and where.
fn defined(graph: &Graph, v: Value) -> String {
    if let Some(k) = graph.body.params.iter().position(|p| *p == v) {
        return format!("{v}, parameter {k} of the graph");
    }
    fn find(body: &acc_desugar::graph::Body, v: Value) -> Option<&Node> {
        body.nodes.iter().find_map(|n| {
            let inside = || n.op.bodies().into_iter().find_map(|b| acc_core::grow_stack(|| find(b, v)));
            if n.results.contains(&v) { Some(n) } else { inside() }
        })
    }
    let Some(node) = find(&graph.body, v) else { return v.to_string() };
    let combinator = graph.sources.get(node.source as usize).map_or("", |s| s.name);
    format!("{v}, the `{}` of `{combinator}` at {}", node.op.name(), node.loc)
}
