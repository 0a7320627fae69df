//! Building graphs: types are computed, repeated operations are one node.

mod checks;
mod control;
mod extent;
mod facts;
mod host;
mod prune;
mod size;
mod tensor;

pub(crate) use tensor::{Pooled, Windows, neutral};

use super::{Body, Graph, Node, Op, Source, Type, Value, Values};
use acc_core::data::ScalarType;
use acc_core::ir::Loc;
pub(crate) use extent::ExtentFrom;
pub(crate) use facts::AxisSet;
use facts::Facts;
pub(crate) use host::{is_size_prim, is_size_type};
use std::collections::HashMap;

/// A graph under construction: a stack of bodies, the innermost of which gets the nodes.
pub(crate) struct Builder {
    types: Vec<Type>,
    facts: Facts,
    places: Vec<Place>,
    bodies: Vec<Open>,
    /// How many bodies have been opened.
    opened: u32,
    /// Sizes that are numbers of a narrow type.
    narrow: HashMap<Value, ScalarType>,
    sources: Vec<Source>,
    source: u32,
    loc: Loc,
}

/// Where a value is defined.
#[derive(Clone, Copy)]
struct Place {
    /// How many bodies are around its own.
    depth: u32,
    /// The number of the body, in the order in which they were opened.
    body: u32,
    /// The position of the node; none of a parameter.
    node: Option<u32>,
}

struct Open {
    number: u32,
    params: Vec<Value>,
    nodes: Vec<Node>,
    /// The results of operations, those of the nodes from `nodes_unseen` on left out: a graph that is rewritten is indexed
    /// only when a rule adds a node.
    computed: HashMap<Op, Values>,
    nodes_unseen: usize,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let mut b = Builder::of(Vec::new(), Vec::new());
        b.open();
        b
    }

    /// To rewrite a graph with values of these types.
    pub(crate) fn of(types: Vec<Type>, sources: Vec<Source>) -> Builder {
        let places = vec![Place { depth: 0, body: 0, node: None }; types.len()];
        let facts = Facts::of(&types);
        let (bodies, narrow) = (Vec::new(), HashMap::new());
        Builder { facts, places, types, bodies, opened: 0, narrow, sources, source: 0, loc: Loc::unknown() }
    }

    /// Starts a statement: the nodes that follow belong to it. Returns what [`resume`](Builder::resume) takes to go on
    /// with the statement around it.
    pub(crate) fn source(&mut self, name: &'static str, loc: &Loc) -> (u32, Loc) {
        self.sources.push(Source { name, loc: loc.clone() });
        let before = (self.source, std::mem::replace(&mut self.loc, loc.clone()));
        self.source = self.sources.len() as u32 - 1;
        before
    }

    /// Goes on with a statement.
    pub(crate) fn resume(&mut self, (source, loc): (u32, Loc)) {
        (self.source, self.loc) = (source, loc);
    }

    /// The location of the expression whose nodes follow.
    pub(crate) fn at(&mut self, loc: &Loc) {
        if loc.is_known() {
            self.loc = loc.clone();
        }
    }

    pub(crate) fn param(&mut self, ty: Type) -> Value {
        let v = self.fresh(ty, None);
        self.top().params.push(v);
        v
    }

    /// A value that a node of the innermost body will define, or a parameter of it.
    fn fresh(&mut self, ty: Type, node: Option<usize>) -> Value {
        self.types.push(ty);
        self.facts.push(&ty);
        let place = self.here(node);
        self.places.push(place);
        Value(self.types.len() as u32 - 1)
    }

    fn here(&mut self, node: Option<usize>) -> Place {
        let body = self.top().number;
        Place { depth: self.bodies.len() as u32 - 1, body, node: node.map(|n| n as u32) }
    }

    fn top(&mut self) -> &mut Open {
        if self.bodies.is_empty() {
            self.open();
        }
        let last = self.bodies.len() - 1;
        &mut self.bodies[last]
    }

    /// Opens a body inside the current one.
    pub(crate) fn open(&mut self) {
        self.opened += 1;
        let (params, nodes, computed) = (Vec::new(), Vec::new(), HashMap::new());
        self.bodies.push(Open { number: self.opened, params, nodes, computed, nodes_unseen: 0 });
    }

    /// Opens a body of the graph that is rewritten.
    pub(crate) fn open_with(&mut self, params: &[Value]) {
        self.open();
        let place = self.here(None);
        params.iter().for_each(|p| self.places[p.index()] = place);
        self.top().params = params.into();
    }

    /// Adds a node of the graph that is rewritten.
    pub(crate) fn adopt(&mut self, node: Node) {
        let at = self.top().nodes.len();
        let place = self.here(Some(at));
        node.results.iter().for_each(|r| self.places[r.index()] = place);
        self.set_axes(&node.op, &node.results);
        self.top().nodes.push(node);
    }

    /// The statement and the expression that nodes are from from now on.
    pub(crate) fn as_from(&mut self, node: &Node) {
        (self.source, self.loc) = (node.source, node.loc.clone());
    }

    /// Closes the innermost body.
    pub(crate) fn close(&mut self, results: Vec<Value>) -> Body {
        match self.bodies.pop() {
            Some(b) => Body { params: b.params, nodes: b.nodes, results },
            None => Body { params: Vec::new(), nodes: Vec::new(), results },
        }
    }

    pub(crate) fn finish(mut self, results: Vec<Value>) -> Graph {
        let body = self.close(results);
        self.graph(body)
    }

    /// The graph with this body.
    pub(crate) fn unchanged(self, body: Body) -> Graph {
        Graph { types: self.types, body, sources: self.sources }
    }

    /// The graph with this body, without what no result needs.
    pub(crate) fn graph(self, mut body: Body) -> Graph {
        prune::prune(&mut body);
        // The values that are left are numbered without gaps.
        let mut defined = Vec::new();
        body.definitions(&mut defined);
        let types = defined.iter().map(|v| self.types[v.index()]).collect();
        let mut numbers = vec![Value(0); self.types.len()];
        defined.into_iter().enumerate().for_each(|(k, v)| numbers[v.index()] = Value(k as u32));
        body.rename(&|v| numbers[v.index()]);
        Graph { types, body, sources: self.sources }
    }

    pub(crate) fn ty(&self, v: Value) -> Type {
        self.types[v.index()]
    }

    pub(crate) fn rank(&self, v: Value) -> usize {
        match self.ty(v) {
            Type::Tensor { rank, .. } => rank,
            Type::Size | Type::Token => 0,
        }
    }

    pub(crate) fn scalar(&self, v: Value) -> ScalarType {
        match self.ty(v) {
            Type::Tensor { scalar, .. } => scalar,
            Type::Size | Type::Token => ScalarType::I64,
        }
    }

    /// Adds a node of these result types, or finds the same operation in the bodies around.
    pub(crate) fn push(&mut self, op: Op, types: &[Type]) -> Values {
        let sharable = is_sharable(&op);
        if sharable && let Some(v) = self.bodies.iter_mut().rev().find_map(|b| b.computed(&op)) {
            return v;
        }
        let at = self.top().nodes.len();
        let results: Values = types.iter().map(|t| self.fresh(*t, Some(at))).collect();
        self.set_axes(&op, &results);
        let total = self.is_total_op(&op);
        results.iter().for_each(|r| self.facts.total[r.index()] = total);
        let (source, loc) = (self.source, self.loc.clone());
        if sharable {
            self.top().computed.insert(op.clone(), results.clone());
        }
        let top = self.top();
        top.nodes_unseen += usize::from(top.nodes_unseen == at);
        top.nodes.push(Node { results: results.clone(), op, source, loc });
        results
    }

    /// The operation that a value is the only result of, if it may fail by its operands alone.
    pub(crate) fn harmless(&self, v: Value) -> Option<Op> {
        let (op, results) = self.defining(v)?;
        (results.len() == 1 && !self.may_fail(op)).then(|| op.clone())
    }

    /// The same operation on other operands as a value's.
    pub(crate) fn again(&mut self, mut op: Op, of: Value, operands: &HashMap<Value, Value>) -> Value {
        op.rename(&|v| operands.get(&v).copied().unwrap_or(v));
        let ty = self.ty(of);
        self.push1(op, ty)
    }

    fn push1(&mut self, op: Op, ty: Type) -> Value {
        self.push(op, &[ty])[0]
    }

    fn tensor(&mut self, op: Op, scalar: ScalarType, rank: usize) -> Value {
        self.push1(op, Type::Tensor { scalar, rank })
    }

    fn like(&mut self, op: Op, x: Value) -> Value {
        let ty = self.ty(x);
        self.push1(op, ty)
    }

    /// The operation that defines a value, if it is a node's in the bodies open.
    pub(crate) fn def(&self, v: Value) -> Option<&Op> {
        self.defining(v).map(|(op, _)| op)
    }

    pub(super) fn defining(&self, v: Value) -> Option<(&Op, &Values)> {
        let (body, node) = self.place(v)?;
        let node = &self.bodies[body].nodes[node];
        Some((&node.op, &node.results))
    }

    /// How many bodies are open.
    pub(crate) fn depth(&self) -> usize {
        self.bodies.len()
    }

    /// Whether a value is known in the outermost so many bodies.
    pub(crate) fn is_within(&self, v: Value, depth: usize) -> bool {
        self.open_body(v).is_some_and(|body| body < depth)
    }

    /// Which of the open bodies defines a value.
    fn open_body(&self, v: Value) -> Option<usize> {
        let place = self.places.get(v.index())?;
        let body = self.bodies.get(place.depth as usize)?;
        (body.number == place.body).then_some(place.depth as usize)
    }

    /// The open body and the number of the node in it that defines a value.
    pub(super) fn place(&self, v: Value) -> Option<(usize, usize)> {
        let body = self.open_body(v)?;
        Some((body, self.places[v.index()].node? as usize))
    }

    /// The parameters of the open body that has this one.
    pub(super) fn params_beside(&self, v: Value) -> &[Value] {
        match (self.open_body(v), self.place(v)) {
            (Some(body), None) => &self.bodies[body].params,
            _ => &[],
        }
    }
}

impl Open {
    /// The results of an operation that was computed in this body before.
    fn computed(&mut self, op: &Op) -> Option<Values> {
        for n in self.nodes.iter().skip(self.nodes_unseen).filter(|n| is_sharable(&n.op)) {
            self.computed.entry(n.op.clone()).or_insert_with(|| n.results.clone());
        }
        self.nodes_unseen = self.nodes.len();
        self.computed.get(op).cloned()
    }
}

/// Whether an operation is compared with others. Branches and loops are not, since that would take as long as they are
/// large; a fault is noted, and a message printed, where it stands.
fn is_sharable(op: &Op) -> bool {
    let noted = matches!(op, Op::Fault { .. } | Op::Checked { .. } | Op::Trace { .. } | Op::Confine { .. });
    !noted && op.bodies().is_empty()
}
