//! Drawings: boxes for nodes inside of clusters for combinators and bodies, and edges, in any language for these.

use super::cost::{Cost, Costs};
use super::{cluster, label, roles, runs};
use acc_desugar::graph::{Body, Graph, Node, Shapes, Value};
use std::collections::HashMap;
use std::fmt::Write;

/// How a language writes the parts of a drawing, each without the indentation of its first line.
pub(super) trait Language {
    /// What ends a cluster.
    const END: &str;
    /// The box of a parameter.
    fn parameter(name: &str, text: &str) -> String;
    /// The box of the result of this number.
    fn result(name: &str, number: usize) -> String;
    /// The box of a node, labelled with these lines.
    fn node(name: &str, node: &Node, label: Vec<String>, cost: Cost) -> String;
    /// An edge between two boxes.
    fn edge(from: &str, to: &str, text: &str) -> String;
    /// What begins a cluster, the lines of it apart: of the nodes of a combinator, or of a body inside of a node.
    fn begin(number: usize, title: &str, is_body: bool) -> Vec<String>;
}

/// The clusters and boxes of a graph, then its edges: inside of a cluster one would draw both its ends into it.
pub(super) fn draw<L: Language>(graph: &Graph) -> String {
    let mut d = Drawing {
        graph,
        shapes: Shapes::of(graph),
        costs: Costs::of(graph),
        out: String::new(),
        edges: String::new(),
        names: HashMap::new(),
        boxes: 0,
        clusters: 0,
    };
    d.body::<L>(&graph.body, 1);
    d.out + &d.edges
}

struct Drawing<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    costs: Costs,
    out: String,
    edges: String,
    /// The box that a value comes from.
    names: HashMap<Value, String>,
    boxes: usize,
    clusters: usize,
}

// Writing to a string cannot fail, so the results of `writeln!` say nothing.
impl Drawing<'_> {
    fn fresh(&mut self) -> String {
        self.boxes += 1;
        format!("n{}", self.boxes)
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", super::indented(depth));
    }

    fn begin<L: Language>(&mut self, depth: usize, title: &str, is_body: bool) {
        self.clusters += 1;
        for (k, line) in L::begin(self.clusters, title, is_body).iter().enumerate() {
            self.line(depth + k.min(1), line);
        }
    }

    fn body<L: Language>(&mut self, b: &Body, depth: usize) {
        for p in &b.params {
            let name = self.fresh();
            let text = format!("{p}: {}", self.shapes.show(*p));
            self.line(depth, &L::parameter(&name, &text));
            self.names.insert(*p, name);
        }
        for nodes in runs(b) {
            self.begin::<L>(depth, &cluster(self.graph, nodes), false);
            for n in nodes {
                self.node::<L>(n, depth + 1);
            }
            self.line(depth, L::END);
        }
        for (number, r) in b.results.iter().enumerate() {
            let name = self.fresh();
            self.line(depth, &L::result(&name, number));
            self.edge::<L>(*r, &name);
        }
    }

    fn edge<L: Language>(&mut self, from: Value, to: &str) {
        if let Some(name) = self.names.get(&from) {
            let _ = writeln!(self.edges, "  {}", L::edge(name, to, &self.shapes.show(from)));
        }
    }

    fn node<L: Language>(&mut self, n: &Node, depth: usize) {
        let name = self.fresh();
        let node = L::node(&name, n, label(n, &self.shapes), self.costs.of_node(n));
        self.line(depth, &node);
        for o in n.op.operands() {
            self.edge::<L>(o, &name);
        }
        for r in &n.results {
            self.names.insert(*r, name.clone());
        }
        for (role, inner) in roles(&n.op).iter().zip(n.op.bodies()) {
            self.begin::<L>(depth, role, true);
            acc_core::grow_stack(|| self.body::<L>(inner, depth + 1));
            self.line(depth, L::END);
        }
    }
}
