//! Bodies: which nodes are written where, on demand, and the faults met on the way.

use super::Unsupported;
use super::proto::DataType;
use super::writer::{Name, Writer};
use acc_core::data::ScalarType;
use acc_desugar::graph::{Body, Graph, Node, Shapes, Type, Value};
use std::collections::HashMap;

pub(super) struct Exporter<'g> {
    pub(super) w: Writer,
    pub(super) graph: &'g Graph,
    pub(super) shapes: Shapes,
    scopes: Vec<Scope<'g>>,
}

/// A body that is being written.
#[derive(Default)]
struct Scope<'g> {
    /// What its values are called.
    names: HashMap<Value, Name>,
    /// Nodes that are written where they are needed, if they are.
    lazy: HashMap<Value, &'g Node>,
    /// Rank-0 booleans: whether a fault was met.
    faults: Vec<Name>,
    /// Whether those that were met around the body are among them.
    knows_around: bool,
}

impl<'g> Exporter<'g> {
    pub(super) fn new(graph: &'g Graph) -> Exporter<'g> {
        Exporter { w: Writer::new(), graph, shapes: Shapes::of(graph), scopes: vec![Scope::default()] }
    }

    /// Gives a value of the innermost body its name.
    pub(super) fn define(&mut self, v: Value, name: Name) {
        if let Some(s) = self.scopes.last_mut() {
            s.names.insert(v, name);
        }
    }

    /// The name of a value, which is written now if it waited to be needed.
    pub(super) fn value(&mut self, v: Value) -> Result<Name, Unsupported> {
        for s in self.scopes.iter().rev() {
            if let Some(name) = s.names.get(&v) {
                return Ok(name.clone());
            }
            if let Some(node) = s.lazy.get(&v) {
                let node = *node;
                // It belongs to the body that needs it: a branch that is not taken does not evaluate it.
                acc_core::grow_stack(|| self.write(node))?;
                return self.value(v);
            }
        }
        Err(Unsupported { what: format!("the value {v}, which is not defined") })
    }

    pub(super) fn values(&mut self, all: &[Value]) -> Result<Vec<Name>, Unsupported> {
        all.iter().map(|v| self.value(*v)).collect()
    }

    fn write(&mut self, node: &'g Node) -> Result<(), Unsupported> {
        let source = self.graph.sources.get(node.source as usize);
        let doc = source.map(|s| format!("{} at {}", s.name, node.loc)).unwrap_or_default();
        let around = std::mem::replace(&mut self.w.doc, doc);
        let names = self.node(node)?;
        for (v, name) in node.results.iter().zip(names) {
            self.define(*v, name);
        }
        self.w.doc = around;
        Ok(())
    }

    /// Notes that a fault was met where a rank-0 boolean is true.
    pub(super) fn fault(&mut self, bad: Name) {
        if let Some(s) = self.scopes.last_mut() {
            s.faults.push(bad);
        }
    }

    /// Whether a fault was met so far in the body.
    pub(super) fn faulted(&mut self) -> Name {
        let faults = self.scopes.last().map(|s| s.faults.clone()).unwrap_or_default();
        let mut faults = faults.into_iter();
        let Some(mut all) = faults.next() else { return self.w.truth(false) };
        for f in faults {
            all = self.w.op2("Or", &all, &f);
        }
        if let Some(s) = self.scopes.last_mut() {
            s.faults = vec![all.clone()];
        }
        all
    }

    /// Whether a fault was met so far, here or around the body; none if nothing was looked at.
    pub(super) fn fault_before(&mut self) -> Option<Name> {
        let (here, around) = self.scopes.split_last_mut()?;
        if !std::mem::replace(&mut here.knows_around, true) {
            here.faults.extend(around.iter().flat_map(|s| s.faults.iter().cloned()));
        }
        if here.faults.is_empty() { None } else { Some(self.faulted()) }
    }

    /// Writes a body's nodes where the writer stands, its parameters called so; the results, and whether a fault was met.
    pub(super) fn inline(&mut self, body: &'g Body, params: &[Name]) -> Result<(Vec<Name>, Name), Unsupported> {
        let names = body.params.iter().copied().zip(params.iter().cloned()).collect();
        self.scopes.push(Scope { names, ..Scope::default() });
        let done = self.nodes(body);
        let fault = self.faulted();
        self.scopes.pop();
        done.map(|results| (results, fault))
    }

    /// The same for the graph's own body, whose parameters have their names.
    pub(super) fn outermost(&mut self, body: &'g Body) -> Result<(Vec<Name>, Name), Unsupported> {
        let results = self.nodes(body)?;
        Ok((results, self.faulted()))
    }

    fn nodes(&mut self, body: &'g Body) -> Result<Vec<Name>, Unsupported> {
        // What is certainly needed is written in order, the rest where it is needed.
        let certain = body.strict();
        for (n, certain) in body.nodes.iter().zip(&certain) {
            if let (false, Some(s)) = (certain, self.scopes.last_mut()) {
                s.lazy.extend(n.results.iter().map(|r| (*r, n)));
            }
        }
        for (n, certain) in body.nodes.iter().zip(certain) {
            if certain {
                acc_core::grow_stack(|| self.write(n))?;
            }
        }
        self.values(&body.results)
    }

    /// The scalar type of a tensor; of a size `i64`.
    pub(super) fn scalar(&self, v: Value) -> ScalarType {
        match self.graph.ty(v) {
            Type::Tensor { scalar, .. } => scalar,
            Type::Size | Type::Token => ScalarType::I64,
        }
    }

    pub(super) fn rank(&self, v: Value) -> usize {
        match self.graph.ty(v) {
            Type::Tensor { rank, .. } => rank,
            Type::Size | Type::Token => 0,
        }
    }

    /// A size or a rank-0 boolean as a rank-0 boolean.
    pub(super) fn condition(&mut self, v: Value) -> Result<Name, Unsupported> {
        let x = self.value(v)?;
        Ok(self.truthy(&x, v))
    }

    /// A value that is called so, as a rank-0 boolean.
    pub(super) fn truthy(&mut self, x: &Name, v: Value) -> Name {
        if self.graph.ty(v) == Type::Size { self.w.cast(x, DataType::Bool) } else { x.clone() }
    }

    /// Sizes as the shape of a tensor; what a fault made negative is 0.
    pub(super) fn shape(&mut self, sizes: &[Value]) -> Result<Name, Unsupported> {
        let names = self.values(sizes)?;
        let (zeros, none) = (self.w.ints(&[0]), self.w.ints(&[]));
        if names.is_empty() {
            return Ok(none);
        }
        let parts: Vec<Name> = names.iter().map(|n| self.w.op2("Unsqueeze", n, &zeros)).collect();
        let parts: Vec<&Name> = parts.iter().collect();
        let axis = super::writer::int_attribute("axis", 0);
        let all = self.w.node("Concat", &parts, vec![axis]);
        let zero = self.w.int(0);
        Ok(self.w.greater(&all, &zero))
    }
}
