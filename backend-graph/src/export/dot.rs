//! Graphs in the language of Graphviz.

use super::{attributes, roles};
use acc_desugar::graph::{Body, Graph, Node, Op, Shapes, Value};
use std::collections::HashMap;
use std::fmt::Write;

pub(super) fn export(graph: &Graph) -> String {
    let mut d =
        Dot { graph, shapes: Shapes::of(graph), out: String::new(), names: HashMap::new(), nodes: 0, clusters: 0 };
    d.out.push_str(
        "digraph acc {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=8];\n",
    );
    d.body(&graph.body, 1);
    d.out.push_str("}\n");
    d.out
}

struct Dot<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    out: String,
    /// The box that a value comes from.
    names: HashMap<Value, String>,
    nodes: usize,
    clusters: usize,
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Small arithmetic on the host is drawn smaller than what moves data.
fn style(op: &Op) -> &'static str {
    match op {
        Op::Size(_)
        | Op::SizeOp(..)
        | Op::Argument(_)
        | Op::Outside { .. }
        | Op::FromSize(_)
        | Op::Extent(..)
        | Op::Const(_) => "shape=plaintext, fontcolor=\"#777777\"",
        Op::Reshape(..)
        | Op::Broadcast(..)
        | Op::Transpose(..)
        | Op::InsertAxes(..)
        | Op::Slice { .. }
        | Op::Select { .. }
        | Op::Unfold { .. }
        | Op::Iota { .. } => "style=filled, fillcolor=\"#eeeeee\"",
        Op::Prim(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Where(..) | Op::Clamp(..) => {
            "style=filled, fillcolor=\"#dbe9f6\""
        }
        Op::Gather(..)
        | Op::Take { .. }
        | Op::Pad { .. }
        | Op::Scatter { .. }
        | Op::Concat(..)
        | Op::Flip(..)
        | Op::SortPermutation(_)
        | Op::Nonzero(_) => "style=filled, fillcolor=\"#fde2c8\"",
        Op::Reduce(..)
        | Op::Contract(..)
        | Op::ArgExtreme(..)
        | Op::Cumulative(..)
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::AnyLane(_) => "style=filled, fillcolor=\"#d5ecd4\"",
        Op::ReadBack(_) => "style=filled, fillcolor=\"#f6c9c9\"",
        Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => "shape=diamond, style=filled, fillcolor=\"#fff3b0\"",
        Op::Fault { .. }
        | Op::InBounds { .. }
        | Op::Divisor(_)
        | Op::Checked { .. }
        | Op::Trace { .. }
        | Op::Confine { .. } => "shape=octagon, fontcolor=\"#aa0000\"",
    }
}

// Writing to a string cannot fail, so the results of `writeln!` say nothing.
impl Dot<'_> {
    fn fresh(&mut self) -> String {
        self.nodes += 1;
        format!("n{}", self.nodes)
    }

    fn body(&mut self, b: &Body, depth: usize) {
        let pad = "  ".repeat(depth);
        for p in &b.params {
            let name = self.fresh();
            let label = quote(&format!("{p}: {}", self.shapes.show(*p)));
            let _ = writeln!(self.out, "{pad}{name} [label={label}, shape=ellipse];");
            self.names.insert(*p, name);
        }
        // Neighbours from one statement share a cluster.
        let mut k = 0;
        while let Some(first) = b.nodes.get(k) {
            let source = first.source;
            let end = b.nodes[k..].iter().position(|n| n.source != source).map_or(b.nodes.len(), |n| k + n);
            self.clusters += 1;
            let label = match self.graph.sources.get(source as usize) {
                Some(s) => format!("{} at {}", s.name, s.loc),
                None => String::new(),
            };
            let _ = writeln!(self.out, "{pad}subgraph cluster_{} {{", self.clusters);
            let _ = writeln!(self.out, "{pad}  label={}; color=\"#999999\"; fontsize=9;", quote(&label));
            for n in &b.nodes[k..end] {
                self.node(n, depth + 1);
            }
            let _ = writeln!(self.out, "{pad}}}");
            k = end;
        }
        for (i, r) in b.results.iter().enumerate() {
            let name = self.fresh();
            let label = quote(&format!("result {i}"));
            let _ = writeln!(self.out, "{pad}{name} [label={label}, shape=ellipse, style=bold];");
            self.edge(*r, &name, &pad);
        }
    }

    fn edge(&mut self, from: Value, to: &str, pad: &str) {
        if let Some(name) = self.names.get(&from) {
            let label = quote(&self.shapes.show(from));
            let _ = writeln!(self.out, "{pad}{name} -> {to} [label={label}];");
        }
    }

    fn node(&mut self, n: &Node, depth: usize) {
        let pad = "  ".repeat(depth);
        let name = self.fresh();
        let mut label = n.op.name().to_string();
        for (k, v) in attributes(n) {
            let _ = write!(label, "\n{k} = {v}");
        }
        for r in &n.results {
            let _ = write!(label, "\n{r}: {}", self.shapes.show(*r));
        }
        let tooltip = quote(&n.loc.to_string());
        let _ = writeln!(self.out, "{pad}{name} [label={}, tooltip={tooltip}, {}];", quote(&label), style(&n.op));
        for o in n.op.operands() {
            self.edge(o, &name, &pad);
        }
        for r in &n.results {
            self.names.insert(*r, name.clone());
        }
        for (role, inner) in roles(&n.op).iter().zip(n.op.bodies()) {
            self.clusters += 1;
            let _ = writeln!(self.out, "{pad}subgraph cluster_{} {{", self.clusters);
            let _ = writeln!(self.out, "{pad}  label={}; style=dashed;", quote(role));
            acc_core::grow_stack(|| self.body(inner, depth + 1));
            let _ = writeln!(self.out, "{pad}}}");
        }
    }
}
