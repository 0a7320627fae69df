//! Graphs for people and for programs: text, DOT, Mermaid, JSON, ONNX and StableHLO.

pub mod cost;
mod dot;
mod drawing;
pub mod json;
mod mermaid;
pub mod onnx;
pub mod stablehlo;
mod text;

use acc_desugar::graph::{Body, Graph, Node, Op, Shapes};

/// A format of [`export`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One node a line, bodies indented.
    Text,
    /// The language of Graphviz: a cluster for each combinator of the program.
    Dot,
    /// For programs, which [`from_json`](json::from_json) reads again; [`schema`](json::schema) describes it.
    Json,
    /// The language of Mermaid, which pages in Markdown show: as DOT.
    Mermaid,
}

impl Format {
    /// Every format, by its name.
    pub const ALL: [(&'static str, Format); 4] =
        [("text", Format::Text), ("dot", Format::Dot), ("json", Format::Json), ("mermaid", Format::Mermaid)];
}

impl std::str::FromStr for Format {
    type Err = String;
    fn from_str(s: &str) -> Result<Format, String> {
        let found = Format::ALL.into_iter().find(|(name, _)| *name == s);
        found.map(|(_, format)| format).ok_or_else(|| {
            let names = Format::ALL.map(|(name, _)| name);
            format!("there is no format `{s}`; there are: {}", names.join(", "))
        })
    }
}

/// A graph in a format, with types, shapes and source lines.
///
/// Text, DOT and Mermaid show a tensor's type with its shape, `f32[t0, 3]`, in terms of the graph's sizes: extents are
/// run-time values, and one that only a run tells is `?`. `docs/GRAPHS.md` says what each format holds.
pub fn export(graph: &Graph, format: Format) -> String {
    match format {
        Format::Text => text::export(graph),
        Format::Dot => dot::export(graph),
        Format::Json => json::export(graph),
        Format::Mermaid => mermaid::export(graph),
    }
}

/// Indents a line. Deeper than so many levels nobody counts them, and a graph that nests bodies by the thousand would be
/// spaces for the most part.
pub(crate) fn indented(depth: usize) -> String {
    const MAX_LEVELS: usize = 100;
    "  ".repeat(depth.min(MAX_LEVELS))
}

/// What a node is called in a drawing: its operation, attributes, and results with their types and shapes.
fn label(node: &Node, shapes: &Shapes) -> Vec<String> {
    let mut out = vec![node.op.name().to_string()];
    out.extend(attributes(node).into_iter().map(|(k, v)| format!("{k} = {v}")));
    out.extend(node.results.iter().map(|r| format!("{r}: {}", shapes.show(*r))));
    out
}

/// The nodes of a body, those of one statement that stand together as one run.
fn runs(body: &Body) -> impl Iterator<Item = &[Node]> {
    body.nodes.chunk_by(|a, b| a.source == b.source)
}

/// What a cluster of nodes is called: the combinator that they come from, and where it stands.
fn cluster(graph: &Graph, nodes: &[Node]) -> String {
    let source = nodes.first().and_then(|n| graph.sources.get(n.source as usize));
    source.map_or(String::new(), |s| format!("{} at {}", s.name, s.loc))
}

/// What an operation has beside operands: names and values, the same in every format.
pub fn attributes(node: &Node) -> Vec<(&'static str, String)> {
    let list = |v: &[u32]| format!("[{}]", v.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    match &node.op {
        Op::Size(n) => vec![("value", n.to_string())],
        Op::Const(l) => vec![("value", l.to_string())],
        Op::Clip { low, high, .. } => vec![("low", low.to_string()), ("high", high.to_string())],
        Op::Cast(_, to) | Op::Bitcast(_, to) => vec![("to", to.to_string())],
        Op::Iota { ty, .. } => vec![("ty", ty.to_string())],
        Op::Transpose(_, axes) | Op::InsertAxes(_, axes) => vec![("axes", list(axes))],
        Op::Slice { axis, step, .. } => vec![("axis", axis.to_string()), ("step", step.to_string())],
        Op::Select { axis, .. }
        | Op::Flip(_, axis)
        | Op::Take { axis, .. }
        | Op::Concat(_, axis)
        | Op::Softmax { axis, .. }
        | Op::Extent(_, axis) => vec![("axis", axis.to_string())],
        Op::Normalize { axes, epsilon, scale, .. } => {
            let scaled = scale.is_some().to_string();
            vec![("axes", list(axes)), ("epsilon", epsilon.to_string()), ("scaled", scaled)]
        }
        Op::Contract { axes, .. } => vec![("axes", axes.to_string())],
        Op::Convolve { strides, dilations, .. } => vec![("strides", list(strides)), ("dilations", list(dilations))],
        Op::Pool { with, axis, stride, dilation, padded, .. } => vec![
            ("with", with.name().to_string()),
            ("axis", axis.to_string()),
            ("stride", stride.to_string()),
            ("dilation", dilation.to_string()),
            ("padded", padded.to_string()),
        ],
        Op::Unfold { axis, padded, .. } => vec![("axis", axis.to_string()), ("padded", padded.to_string())],
        Op::Pad { widths, mode, .. } => vec![("widths", list(widths)), ("mode", mode.name().to_string())],
        Op::InBounds { by_use, .. } => vec![("by_use", by_use.to_string())],
        Op::Scatter { mode, .. } => vec![("mode", mode.name().to_string())],
        Op::Reduce(k, _) | Op::Cumulative(k, _) | Op::Exclusive(k, _) | Op::ArgExtreme(k, _) => {
            vec![("with", k.name().to_string())]
        }
        Op::SegmentScan { with, .. } => vec![("with", with.name().to_string())],
        Op::SegmentReduce { with, full, .. } => vec![("with", with.name().to_string()), ("full", full.to_string())],
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
        | Op::Prim(..)
        | Op::Where(..)
        | Op::Reshape(..)
        | Op::Broadcast(..)
        | Op::Clamp(..)
        | Op::Divisor(_)
        | Op::Gather(..)
        | Op::Sort { .. }
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
pub fn roles(op: &Op) -> [&'static str; 2] {
    match op {
        Op::While { .. } | Op::LaneLoop { .. } => ["test", "step"],
        Op::Fold { .. } | Op::Scan { .. } => ["combine", ""],
        // Conditionals; others have no bodies.
        _ => ["then", "else"],
    }
}
