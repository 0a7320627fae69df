//! Graphs in the language of Graphviz.

use super::cost::Cost;
use super::drawing::{Language, draw};
use acc_desugar::graph::{Graph, Node, Op};

// With ranks of the whole graph edges may go in and out of clusters in any order, which ranks of clusters fail at.
const HEAD: &str = "digraph acc {
  rankdir=TB;
  newrank=true;
  node [shape=box, fontname=\"Helvetica\", fontsize=10];
  edge [fontname=\"Helvetica\", fontsize=8];
";

pub(super) fn export(graph: &Graph) -> String {
    format!("{HEAD}{}}}\n", draw::<Dot>(graph))
}

struct Dot;

impl Language for Dot {
    const END: &str = "}";

    fn parameter(name: &str, text: &str) -> String {
        format!("{name} [label={}, shape=ellipse];", quote(text))
    }

    fn result(name: &str, number: usize) -> String {
        format!("{name} [label=\"result {number}\", shape=ellipse, style=bold];")
    }

    fn node(name: &str, node: &Node, label: Vec<String>, cost: Cost) -> String {
        let tooltip = quote(&format!("{}\n{cost}", node.loc));
        format!("{name} [label={}, tooltip={tooltip}, {}];", quote(&label.join("\n")), style(&node.op, cost))
    }

    fn edge(from: &str, to: &str, text: &str) -> String {
        format!("{from} -> {to} [label={}];", quote(text))
    }

    fn begin(number: usize, title: &str, is_body: bool) -> Vec<String> {
        let look = if is_body { "style=dashed;" } else { "color=\"#999999\"; fontsize=9;" };
        vec![format!("subgraph cluster_{number} {{"), format!("label={}; {look}", quote(title))]
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The colour tells the cost, the shape of the box what it is.
fn style(op: &Op, cost: Cost) -> String {
    let shape = match op {
        Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => "diamond",
        Op::Fault { .. }
        | Op::InBounds { .. }
        | Op::Divisor(_)
        | Op::Checked { .. }
        | Op::Trace { .. }
        | Op::Confine { .. } => "octagon",
        _ if cost == Cost::Host => "plaintext",
        _ => "box",
    };
    match cost.fill() {
        Some(fill) => format!("shape={shape}, style=filled, fillcolor=\"{fill}\""),
        None => format!("shape={shape}, fontcolor=\"#777777\""),
    }
}
