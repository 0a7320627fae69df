//! Rules over finished graphs: several operations that together are one of a library become that one.
//!
//! The law that every rule obeys: results stay the same, up to the rounding of the one operation; values that waited for
//! checks still do; and nothing is evaluated where it was not.
//!
//! One walk through the graph, in order, asks each rule about each node. A rule looks at the node and at what it was
//! computed from, and adds the nodes that replace it. What nothing needs after that is removed.

mod bags;
mod clip;
pub(crate) mod contract;
mod factors;
mod normalize;
mod pools;
mod selections;
mod softmax;
mod views;
mod windows;
mod zeros;

use super::builder::Builder;
use super::{Body, Graph, Node, Op, Type, Value};
use crate::settings::Settings;
use acc_core::{Error, RunLimits};
use std::collections::HashMap;

/// From an operation with one result to the value that replaces it.
type Rule = fn(&mut Builder, &Op) -> Option<Value>;

/// The rules, by the names under which they are switched off. Those of a list look at what all before it have left.
const RULES: &[&[(&str, Rule)]] = &[
    &[
        ("zeros", zeros::rule),
        ("clip", clip::rule),
        ("softmax", softmax::rule),
        ("normalize", normalize::rule),
        ("contract", contract::rule),
        ("factors", factors::rule),
        ("bags", bags::rule),
        (selections::NAME, selections::rule),
    ],
    &[("windows", windows::rule), ("pools", pools::rule)],
];

/// How many nodes are looked at between two looks at the limits.
const NODES_BETWEEN_CHECKS: u32 = 512;

pub(crate) fn pass(graph: Graph, settings: &Settings<'_>) -> Result<Graph, Error> {
    RULES.iter().try_fold(graph, |graph, rules| {
        let on = rules.iter().copied().filter(|(name, _)| settings.rules.on(name));
        rewritten(graph, on.collect(), settings)
    })
}

fn rewritten(graph: Graph, rules: Vec<(&str, Rule)>, settings: &Settings<'_>) -> Result<Graph, Error> {
    if rules.is_empty() {
        return Ok(graph);
    }
    let Graph { types, body, sources } = graph;
    let (mut b, limits) = (Builder::of(types, sources), settings.limits);
    if rules.iter().any(|(name, _)| *name == selections::NAME) {
        selections::mark(&mut b, &body);
    }
    let mut r = Rewriter {
        b,
        rules: rules.into_iter().map(|(_, rule)| rule).collect(),
        replaced: HashMap::new(),
        limits,
        nodes: 0,
        stopped: None,
    };
    let body = r.body(body);
    match r.stopped {
        Some(e) => Err(e),
        None if r.replaced.is_empty() => Ok(r.b.unchanged(body)),
        None => Ok(r.b.graph(body)),
    }
}

struct Rewriter<'a> {
    b: Builder,
    rules: Vec<Rule>,
    /// The values that replaced others.
    replaced: HashMap<Value, Value>,
    limits: &'a RunLimits,
    nodes: u32,
    /// The limit that was reached: the graph is not finished.
    stopped: Option<Error>,
}

impl Rewriter<'_> {
    fn body(&mut self, mut body: Body) -> Body {
        self.b.open_with(&body.params);
        for node in std::mem::take(&mut body.nodes) {
            self.nodes += 1;
            if self.nodes.is_multiple_of(NODES_BETWEEN_CHECKS) && self.stopped.is_none() {
                self.stopped = self.limits.check().err();
            }
            if self.stopped.is_none() {
                self.node(node);
            }
        }
        let results = body.results.iter().map(|v| self.current(*v)).collect();
        self.b.close(results)
    }

    fn node(&mut self, mut node: Node) {
        if !self.replaced.is_empty() {
            node.op.rename_operands(&|v| self.current(v));
        }
        let is_size = |v| self.b.ty(v) == Type::Size;
        for (before, names) in node.kept_sizes(is_size, |v| self.b.origin(self.current(v))) {
            names.into_iter().for_each(|v| self.b.set_same(v, before));
        }
        for body in node.op.bodies_mut() {
            *body = acc_core::grow_stack(|| self.body(std::mem::take(body)));
        }
        self.b.as_from(&node);
        let new = self.rules.iter().find_map(|rule| rule(&mut self.b, &node.op));
        match (new, node.results.first()) {
            (Some(new), Some(old)) => _ = self.replaced.insert(*old, new),
            _ => self.b.adopt(node),
        }
    }

    /// What a value is after rewriting.
    fn current(&self, v: Value) -> Value {
        self.replaced.get(&v).copied().unwrap_or(v)
    }
}
