//! Graphs for people and for programs: text, DOT and JSON.

mod dot;
mod json;
pub mod onnx;
mod text;

use acc_desugar::graph::{Graph, Node, Op, ScatterMode};

/// A format of [`export`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One node a line, bodies indented.
    Text,
    /// The language of Graphviz: a cluster for each combinator of the program.
    Dot,
    /// One object: see [`export`].
    Json,
}

impl std::str::FromStr for Format {
    type Err = String;
    fn from_str(s: &str) -> Result<Format, String> {
        match s {
            "text" => Ok(Format::Text),
            "dot" => Ok(Format::Dot),
            "json" => Ok(Format::Json),
            other => Err(format!("there is no format `{other}`: use text, dot or json")),
        }
    }
}

/// A graph in a format, with types, shapes and source lines.
///
/// Text and DOT show a tensor's type with its shape, `f32[t0, 3]`, in terms of the graph's sizes: extents are run-time
/// values, and one that only a run tells is `?`.
///
/// JSON is an object `{"format": "acc-graph", "version": 1, "sources": [..], "body": {..}}`. A body has `params`, `nodes`
/// and `results` (names of values). A parameter or a node's result is `{"value", "type", "shape"}`: the type as `f32[2]`,
/// scalar type and rank, or `size`; of a tensor the shape, a list of numbers, names of sizes, or null. A node is
/// `{"op", "attributes", "operands", "results", "source", "location", "bodies"}`; `source` is a position in `sources`,
/// the combinators of the program with their locations.
pub fn export(graph: &Graph, format: Format) -> String {
    match format {
        Format::Text => text::export(graph),
        Format::Dot => dot::export(graph),
        Format::Json => json::export(graph),
    }
}

/// What an operation has beside operands: names and values, the same in every format.
fn attributes(node: &Node) -> Vec<(&'static str, String)> {
    let list = |v: &[u32]| format!("[{}]", v.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    match &node.op {
        Op::Size(n) => vec![("value", n.to_string())],
        Op::Const(l) => vec![("value", l.to_string())],
        Op::Cast(_, to) | Op::Bitcast(_, to) => vec![("to", to.to_string())],
        Op::Transpose(_, axes) | Op::InsertAxes(_, axes) => vec![("axes", list(axes))],
        Op::Slice { axis, step, .. } => vec![("axis", axis.to_string()), ("step", step.to_string())],
        Op::Select { axis, .. }
        | Op::Flip(_, axis)
        | Op::Take { axis, .. }
        | Op::Concat(_, axis)
        | Op::Extent(_, axis) => vec![("axis", axis.to_string())],
        Op::Pad { widths, mode, .. } => vec![("widths", list(widths)), ("mode", mode.name().to_string())],
        Op::InBounds { by_use, .. } => vec![("by_use", by_use.to_string())],
        Op::Scatter { mode, .. } => vec![(
            "mode",
            match mode {
                ScatterMode::Last => "last".to_string(),
                ScatterMode::Combine(k) => k.name().to_string(),
            },
        )],
        Op::Reduce(k, _) | Op::Cumulative(k, _) | Op::ArgExtreme(k, _) => vec![("with", k.name().to_string())],
        Op::Fault { kind, site, .. } => vec![("kind", format!("{kind:?}")), ("site", site.to_string())],
        Op::Trace { message, types, .. } => {
            vec![("message", format!("{message:?}")), ("arrays", types.len().to_string())]
        }
        Op::Checked { raise, .. } => vec![("raise", raise.to_string())],
        Op::SizeOp(..)
        | Op::ReadBack(_)
        | Op::Argument(_)
        | Op::Outside { .. }
        | Op::FromSize(_)
        | Op::Iota { .. }
        | Op::Prim(..)
        | Op::Where(..)
        | Op::Reshape(..)
        | Op::Broadcast(..)
        | Op::Clamp(..)
        | Op::Contract(..)
        | Op::Divisor(_)
        | Op::Unfold { .. }
        | Op::Gather(..)
        | Op::SortPermutation(_)
        | Op::Nonzero(_)
        | Op::AnyLane(_)
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::If { .. }
        | Op::While { .. }
        | Op::LaneLoop { .. }
        | Op::Confine { .. } => vec![],
    }
}

/// The roles of an operation's bodies.
fn roles(op: &Op) -> [&'static str; 2] {
    match op {
        Op::While { .. } | Op::LaneLoop { .. } => ["test", "step"],
        Op::Fold { .. } | Op::Scan { .. } => ["combine", ""],
        _ => ["then", "else"],
    }
}
