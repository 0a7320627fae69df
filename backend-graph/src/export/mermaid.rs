//! Graphs in the language of Mermaid (<https://mermaid.js.org/syntax/flowchart.html>).

use super::cost::{CLASSES, Costs};
use super::{cluster, label, roles, runs};
use acc_desugar::graph::{Body, Graph, Node, Op, Shapes, Value};
use std::collections::HashMap;
use std::fmt::Write;

pub(super) fn export(graph: &Graph) -> String {
    let (shapes, costs) = (Shapes::of(graph), Costs::of(graph));
    let mut m = Mermaid {
        graph,
        shapes,
        costs,
        out: String::new(),
        edges: String::new(),
        names: HashMap::new(),
        nodes: 0,
        clusters: 0,
    };
    m.out.push_str("flowchart TB\n");
    for (class, fill) in CLASSES {
        let style = fill.map_or("fill:none,stroke:none".to_string(), |fill| format!("fill:{fill},color:#222222"));
        let _ = writeln!(m.out, "  classDef {class} {style}");
    }
    m.body(&graph.body, 1);
    m.out + &m.edges
}

struct Mermaid<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    costs: Costs,
    out: String,
    /// All edges: inside of a subgraph one would draw both its ends into it.
    edges: String,
    /// The box that a value comes from.
    names: HashMap<Value, String>,
    nodes: usize,
    clusters: usize,
}

/// A label in quotation marks; what is a sign of the language is written by its number.
fn quote(lines: &[String]) -> String {
    let mut out = String::from('"');
    for (k, line) in lines.iter().enumerate() {
        if k > 0 {
            out.push_str("<br/>");
        }
        for c in line.chars() {
            match c {
                '"' | '<' | '>' | '&' | '#' | ';' | '`' | '\\' => {
                    let _ = write!(out, "#{};", c as u32);
                }
                '\n' | '\r' => out.push(' '),
                c => out.push(c),
            }
        }
    }
    out.push('"');
    out
}

// Writing to a string cannot fail, so the results of `writeln!` say nothing.
impl Mermaid<'_> {
    fn fresh(&mut self) -> String {
        self.nodes += 1;
        format!("n{}", self.nodes)
    }

    fn open(&mut self, pad: &str, title: &str) {
        self.clusters += 1;
        let _ = writeln!(self.out, "{pad}subgraph c{}[{}]", self.clusters, quote(&[title.to_string()]));
    }

    fn body(&mut self, b: &Body, depth: usize) {
        let pad = "  ".repeat(depth);
        for p in &b.params {
            let name = self.fresh();
            let label = quote(&[format!("{p}: {}", self.shapes.show(*p))]);
            let _ = writeln!(self.out, "{pad}{name}([{label}])");
            self.names.insert(*p, name);
        }
        for nodes in runs(b) {
            self.open(&pad, &cluster(self.graph, nodes));
            for n in nodes {
                self.node(n, depth + 1);
            }
            let _ = writeln!(self.out, "{pad}end");
        }
        for (i, r) in b.results.iter().enumerate() {
            let name = self.fresh();
            let _ = writeln!(self.out, "{pad}{name}([\"result {i}\"])");
            self.edge(*r, &name);
        }
    }

    fn edge(&mut self, from: Value, to: &str) {
        if let Some(name) = self.names.get(&from) {
            let label = quote(&[self.shapes.show(from)]);
            let _ = writeln!(self.edges, "  {name} -->|{label}| {to}");
        }
    }

    fn node(&mut self, n: &Node, depth: usize) {
        let pad = "  ".repeat(depth);
        let name = self.fresh();
        let mut lines = label(n, &self.shapes);
        lines.push(n.loc.to_string());
        let label = quote(&lines);
        let (open, close) = match &n.op {
            Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => ("{{", "}}"),
            _ => ("[", "]"),
        };
        let class = self.costs.of_node(n).class();
        let _ = writeln!(self.out, "{pad}{name}{open}{label}{close}:::{class}");
        for o in n.op.operands() {
            self.edge(o, &name);
        }
        for r in &n.results {
            self.names.insert(*r, name.clone());
        }
        for (role, inner) in roles(&n.op).iter().zip(n.op.bodies()) {
            self.open(&pad, role);
            acc_core::grow_stack(|| self.body(inner, depth + 1));
            let _ = writeln!(self.out, "{pad}end");
        }
    }
}
