//! Graphs in the language of Graphviz.

use super::cost::{Cost, Costs};
use super::{cluster, label, roles, runs};
use acc_desugar::graph::{Body, Graph, Node, Op, Shapes, Value};
use std::collections::HashMap;
use std::fmt::Write;

pub(super) fn export(graph: &Graph) -> String {
    let (shapes, costs) = (Shapes::of(graph), Costs::of(graph));
    let mut d = Dot {
        graph,
        shapes,
        costs,
        out: String::new(),
        edges: String::new(),
        names: HashMap::new(),
        nodes: 0,
        clusters: 0,
    };
    d.out.push_str(
        "digraph acc {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=8];\n",
    );
    d.body(&graph.body, 1);
    d.out + &d.edges + "}\n"
}

struct Dot<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    costs: Costs,
    out: String,
    /// All edges: inside of a cluster one would draw both its ends into it.
    edges: String,
    /// The box that a value comes from.
    names: HashMap<Value, String>,
    nodes: usize,
    clusters: usize,
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
        for nodes in runs(b) {
            self.clusters += 1;
            let label = cluster(self.graph, nodes);
            let _ = writeln!(self.out, "{pad}subgraph cluster_{} {{", self.clusters);
            let _ = writeln!(self.out, "{pad}  label={}; color=\"#999999\"; fontsize=9;", quote(&label));
            for n in nodes {
                self.node(n, depth + 1);
            }
            let _ = writeln!(self.out, "{pad}}}");
        }
        for (i, r) in b.results.iter().enumerate() {
            let name = self.fresh();
            let label = quote(&format!("result {i}"));
            let _ = writeln!(self.out, "{pad}{name} [label={label}, shape=ellipse, style=bold];");
            self.edge(*r, &name);
        }
    }

    fn edge(&mut self, from: Value, to: &str) {
        if let Some(name) = self.names.get(&from) {
            let label = quote(&self.shapes.show(from));
            let _ = writeln!(self.edges, "  {name} -> {to} [label={label}];");
        }
    }

    fn node(&mut self, n: &Node, depth: usize) {
        let pad = "  ".repeat(depth);
        let name = self.fresh();
        let label = quote(&label(n, &self.shapes).join("\n"));
        let cost = self.costs.of_node(n);
        let tooltip = quote(&format!("{}\n{cost}", n.loc));
        let _ = writeln!(self.out, "{pad}{name} [label={label}, tooltip={tooltip}, {}];", style(&n.op, cost));
        for o in n.op.operands() {
            self.edge(o, &name);
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
