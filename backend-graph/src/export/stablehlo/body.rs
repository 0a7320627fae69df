//! Bodies: which nodes are written where, on demand, and the faults found on the way.

use super::writer::{Form, OUTERMOST, Result, Tensor, Writer};
use super::{Need, Options, Stop};
use crate::Specialisation;
use acc_core::data::{Prim, ScalarType};
use acc_desugar::graph::{Body, Graph, Node, Op, Shapes, Type, Value};
use std::collections::HashMap;

/// A size, as it is known when a module is written.
#[derive(Clone, Debug)]
pub(super) enum Size {
    /// A number.
    Number(i64),
    /// A scalar of the module, of `i64`.
    Device(Tensor),
}

/// A value of the graph in the module.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Size(Size),
    Tensor(Tensor),
    /// A check was made.
    Token,
}

pub(super) struct Emitter<'g> {
    pub(super) w: Writer,
    pub(super) graph: &'g Graph,
    known: &'g Specialisation,
    pub(super) options: Options,
    /// The tensors that were computed before, in the order of their first use.
    pub(super) inputs: Vec<(Value, Tensor)>,
    scopes: Vec<Scope<'g>>,
    /// Of each open region the first fault found in it: 0, or 1 and the place of a check.
    faults: Vec<Option<Tensor>>,
    places: HashMap<Value, i64>,
    /// What is known of extents in terms of the graph's sizes.
    pub(super) shapes: Shapes,
    /// How many positions there are of nodes that the host must count.
    pub(super) counts: HashMap<Value, Tensor>,
}

/// A body that is being written.
struct Scope<'g> {
    held: HashMap<Value, Held>,
    /// Nodes that are written where they are needed, if they are.
    waiting: HashMap<Value, &'g Node>,
    /// The depth of the region that it is written in.
    depth: usize,
    /// Whether the body, and those around it, are evaluated once: what it computes can be kept for the next module.
    once: bool,
}

/// The checks of a graph in the order of its nodes, each by the first value that its node defines. The place of a check
/// is its position.
pub(super) fn checks(graph: &Graph) -> Vec<&Node> {
    fn within<'g>(body: &'g Body, out: &mut Vec<&'g Node>) {
        for n in &body.nodes {
            if matches!(n.op, Op::Fault { .. } | Op::InBounds { .. } | Op::Divisor(_) | Op::SegmentReduce { .. }) {
                out.push(n);
            }
            n.op.bodies().into_iter().for_each(|b| acc_core::grow_stack(|| within(b, out)));
        }
    }
    let mut out = Vec::new();
    within(&graph.body, &mut out);
    out
}

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, known: &'g Specialisation, options: Options) -> Emitter<'g> {
        let places = checks(graph).into_iter().zip(1..);
        let places = places.filter_map(|(n, place)| Some((*n.results.first()?, place))).collect();
        Emitter {
            w: Writer::new(),
            graph,
            known,
            options,
            inputs: Vec::new(),
            scopes: Vec::new(),
            faults: vec![None],
            places,
            shapes: Shapes::of(graph),
            counts: HashMap::new(),
        }
    }

    // ---- values

    /// A value, which is written now if it waited to be needed.
    pub(super) fn held(&mut self, v: Value) -> Result<Held> {
        // A parameter of a step that is written here, and may be known from the step before the module.
        if let Some(held) = self.scopes.iter().rev().find_map(|s| s.held.get(&v)) {
            return Ok(held.clone());
        }
        if let Some(held) = self.known_before(v) {
            return Ok(held);
        }
        for (k, s) in self.scopes.iter().enumerate().rev() {
            if let Some(node) = s.waiting.get(&v) {
                let node = *node;
                // It belongs to the region that needs it: a branch that is not taken does not evaluate it.
                let depth = self.w.depth();
                let inside = self.scopes.iter().position(|s| s.depth == depth).unwrap_or(k);
                acc_core::grow_stack(|| self.write(node, k.max(inside)))?;
                return self.held(v);
            }
        }
        Err(Stop::Defect("a value that is not defined"))
    }

    /// A value that was computed before the module.
    fn known_before(&mut self, v: Value) -> Option<Held> {
        let number = self.known.numbers.get(&v).copied();
        let ty = self.graph.ty(v);
        match (ty, number, self.known.shapes.get(&v)) {
            (Type::Token, Some(_), _) => Some(Held::Token),
            (Type::Size, Some(n), _) => Some(Held::Size(Size::Number(n))),
            (Type::Size, None, Some(_)) => Some(Held::Size(Size::Device(self.input(v, &[], ScalarType::I64)))),
            (Type::Tensor { scalar, .. }, number, Some(shape)) => {
                let t = self.input(v, shape, scalar);
                Some(Held::Tensor(Tensor { number: number.filter(|_| t.rank() == 0), ..t }))
            }
            _ => None,
        }
    }

    /// The axis along which a value that was computed before the module is cut.
    pub(super) fn cut_before(&self, v: Value) -> Option<usize> {
        self.known.cut.get(&v).copied()
    }

    /// Whether a value was computed before the module.
    pub(super) fn is_known(&self, v: Value) -> bool {
        self.known.shapes.contains_key(&v)
    }

    fn input(&mut self, v: Value, shape: &[i64], ty: ScalarType) -> Tensor {
        if let Some((_, t)) = self.inputs.iter().find(|(known, _)| *known == v) {
            return t.clone();
        }
        let t = self.w.fresh(&Form { shape: shape.into(), ty });
        let t = Tensor { root: Some(v).filter(|_| shape.is_empty()), ..t };
        self.inputs.push((v, t.clone()));
        t
    }

    pub(super) fn tensor(&mut self, v: Value) -> Result {
        match self.held(v)? {
            Held::Tensor(t) => Ok(t),
            Held::Size(s) => self.scalar_of(&s),
            Held::Token => Err(Stop::Defect("a check used as a tensor")),
        }
    }

    pub(super) fn tensors(&mut self, all: &[Value]) -> Result<Vec<Tensor>> {
        all.iter().map(|v| self.tensor(*v)).collect()
    }

    pub(super) fn size(&mut self, v: Value) -> Result<Size> {
        match self.held(v)? {
            Held::Size(s) => Ok(s),
            Held::Tensor(_) | Held::Token => Err(Stop::Defect("a tensor used as a size")),
        }
    }

    /// A size as a scalar of the module.
    pub(super) fn scalar_of(&mut self, size: &Size) -> Result {
        match size {
            Size::Number(n) => self.w.int(*n),
            Size::Device(t) => Ok(t.clone()),
        }
    }

    pub(super) fn device_size(&mut self, v: Value) -> Result {
        let size = self.size(v)?;
        self.scalar_of(&size)
    }

    /// A size that an extent is; what a fault made negative is 0.
    pub(super) fn extent(&mut self, v: Value) -> Result<i64> {
        match self.size(v)? {
            Size::Number(n) => Ok(n.max(0)),
            Size::Device(t) => Err(self.host_needs(t.root)),
        }
    }

    pub(super) fn shape(&mut self, all: &[Value]) -> Result<super::writer::Shape> {
        all.iter().map(|v| self.extent(*v)).collect()
    }

    /// That the host must look at a number, if it can.
    pub(super) fn host_needs(&self, root: Option<Value>) -> Stop {
        root.map_or(Stop::Local, |v| Stop::Host(Need::Number(v)))
    }

    fn write(&mut self, node: &'g Node, scope: usize) -> Result<()> {
        if let Some(source) = self.graph.sources.get(node.source as usize) {
            self.w.note(source.name, &node.loc);
        }
        let all = self.node(node)?;
        for (v, held) in node.results.iter().zip(all) {
            self.define(scope, *v, held);
        }
        Ok(())
    }

    fn define(&mut self, scope: usize, v: Value, held: Held) {
        let outermost = self.runs_once(scope);
        let number = self.known.numbers.get(&v).copied().filter(|_| outermost);
        let held = match held {
            Held::Size(Size::Device(t)) => Held::Size(match number {
                Some(n) => Size::Number(n),
                None => Size::Device(Tensor { root: t.root.or(outermost.then_some(v)), ..t }),
            }),
            Held::Tensor(t) if t.rank() == 0 => {
                Held::Tensor(Tensor { root: t.root.or(outermost.then_some(v)), number: t.number.or(number), ..t })
            }
            other => other,
        };
        if let Some(s) = self.scopes.get_mut(scope) {
            s.held.insert(v, held);
        }
    }

    /// Whether what is written in a body now is evaluated once, and outside of regions.
    fn runs_once(&self, scope: usize) -> bool {
        self.w.depth() == OUTERMOST && self.scopes.get(scope).is_some_and(|s| s.once)
    }

    /// Whether the host can take part here.
    pub(super) fn at_host(&self) -> bool {
        self.runs_once(self.scopes.len().saturating_sub(1))
    }

    /// What is known of a node's first value beforehand.
    pub(super) fn known(&self, v: Value) -> Option<i64> {
        self.known.numbers.get(&v).copied().filter(|_| self.at_host())
    }

    // ---- bodies

    /// Writes a body's nodes where the writer stands; its results. It may be written again elsewhere.
    pub(super) fn inline(&mut self, body: &'g Body, params: Vec<Held>) -> Result<Vec<Held>> {
        let scope = self.scopes.len();
        let held = body.params.iter().copied().zip(params).collect();
        self.scopes.push(Scope { held, waiting: HashMap::new(), depth: self.w.depth(), once: false });
        let done = self.nodes(body, scope);
        self.scopes.truncate(scope);
        done
    }

    /// The same of a body that is written here alone.
    pub(super) fn inline_once(&mut self, body: &'g Body) -> Result<Vec<Held>> {
        let scope = self.scopes.len();
        self.enter(body);
        // Where it stops what it computed so far is kept.
        let results = self.nodes(body, scope)?;
        self.scopes.truncate(scope);
        Ok(results)
    }

    /// Opens a body whose nodes are all written on demand.
    pub(super) fn enter(&mut self, body: &'g Body) {
        let mut waiting = HashMap::new();
        for n in &body.nodes {
            waiting.extend(n.results.iter().map(|r| (*r, n)));
        }
        let once = self.scopes.is_empty() || self.at_host();
        self.scopes.push(Scope { held: HashMap::new(), waiting, depth: self.w.depth(), once });
    }

    fn nodes(&mut self, body: &'g Body, scope: usize) -> Result<Vec<Held>> {
        let certain = body.strict();
        for (n, certain) in body.nodes.iter().zip(&certain) {
            if let (false, Some(s)) = (certain, self.scopes.get_mut(scope)) {
                s.waiting.extend(n.results.iter().map(|r| (*r, n)));
            }
        }
        for (n, certain) in body.nodes.iter().zip(certain) {
            if certain && !self.is_done(n) {
                acc_core::grow_stack(|| self.write(n, scope))?;
            }
        }
        body.results.iter().map(|v| self.held(*v)).collect()
    }

    /// Whether all that a node defines is held, or was computed before the module.
    pub(super) fn is_done(&self, node: &Node) -> bool {
        let known = |v: &Value| self.known.shapes.contains_key(v) || self.known.numbers.contains_key(v);
        let held = |v: &Value| self.scopes.iter().any(|s| s.held.contains_key(v));
        node.results.iter().all(|v| known(v) || held(v))
    }

    /// What was computed once, and outside of regions, and was not known before.
    pub(super) fn computed(&self) -> Vec<(Value, Held)> {
        let once = self.scopes.iter().filter(|s| s.once && s.depth == OUTERMOST);
        let mut all: Vec<(Value, Held)> = once.flat_map(|s| s.held.iter().map(|(v, h)| (*v, h.clone()))).collect();
        all.sort_by_key(|(v, _)| *v);
        all
    }

    /// Leaves the regions that writing stopped in.
    pub(super) fn leave_regions(&mut self) {
        self.w.abandon(OUTERMOST);
        self.faults.truncate(OUTERMOST);
    }

    /// The fault found so far, if anything was looked at.
    pub(super) fn outermost_fault(&mut self) -> Option<Tensor> {
        self.faults.first().cloned().flatten()
    }

    // ---- regions

    /// Opens a region of the module.
    pub(super) fn open(&mut self, params: &[Form]) -> Vec<Tensor> {
        self.faults.push(None);
        self.w.open(params)
    }

    /// Writes in a region; if that stops, the region is dropped.
    pub(super) fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (depth, scopes) = (self.w.depth(), self.scopes.len());
        let done = write(self);
        if done.is_err() {
            self.w.abandon(depth);
            self.faults.truncate(depth);
            self.scopes.truncate(scopes);
        }
        done
    }

    /// The text of the innermost region so far, and the fault found in it.
    pub(super) fn suspend(&mut self) -> (String, Option<Tensor>) {
        (self.w.suspend(), self.faults.pop().flatten())
    }

    pub(super) fn resume(&mut self, (text, fault): (String, Option<Tensor>)) {
        self.w.resume(text);
        self.faults.push(fault);
    }

    /// Closes the innermost region, which yields these; faults in it are dropped, or among these.
    pub(super) fn close(&mut self, results: &[Tensor]) -> String {
        self.faults.pop();
        self.w.close(results)
    }

    /// A region of scalar code without faults: from two operands of each type to what it yields.
    pub(super) fn region(
        &mut self,
        params: &[Form],
        write: impl FnOnce(&mut Self, &[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<String> {
        self.inside(|e| {
            let params = e.open(params);
            let results = write(e, &params)?;
            Ok(e.close(&results))
        })
    }

    // ---- faults

    /// Notes the fault of a check where a scalar is true.
    pub(super) fn fault(&mut self, node: &Node, bad: &Tensor) -> Result<()> {
        let place = node.results.first().and_then(|v| self.places.get(v)).copied().unwrap_or(0);
        match bad.number {
            Some(0) => return Ok(()),
            Some(_) if self.w.depth() == OUTERMOST => return Err(Stop::Fault(place)),
            _ => {}
        }
        let (place, none) = (self.w.int(place)?, self.w.int(0)?);
        let code = self.w.select(bad, &place, &none)?;
        self.add_fault(&code)
    }

    /// Notes a fault by its code.
    pub(super) fn add_fault(&mut self, code: &Tensor) -> Result<()> {
        let before = self.faults.last().cloned().flatten();
        let first = match before {
            None => code.clone(),
            Some(before) => self.first_fault(&before, code)?,
        };
        if let Some(fault) = self.faults.last_mut() {
            *fault = Some(first);
        }
        Ok(())
    }

    /// The first of two faults.
    pub(super) fn first_fault(&mut self, before: &Tensor, code: &Tensor) -> Result {
        let none = self.w.int(0)?;
        let fine = self.w.compare("EQ", before, &none)?;
        self.w.select(&fine, code, before)
    }

    /// The fault found in the innermost region, or one found before it.
    pub(super) fn fault_here(&mut self, before: &Tensor) -> Result {
        match self.faults.last().cloned().flatten() {
            None => Ok(before.clone()),
            Some(here) => self.first_fault(before, &here),
        }
    }

    /// Whether any element is true.
    pub(super) fn any(&mut self, x: &Tensor) -> Result {
        if x.rank() == 0 {
            return Ok(x.clone());
        }
        let flat = self.w.reshape(x, &[x.elements()])?;
        self.reduced(acc_desugar::graph::ReduceOp::Any, &flat)
    }

    /// A size or a scalar of `bool` as a scalar of `bool`.
    pub(super) fn condition(&mut self, held: &Held) -> Result {
        match held {
            Held::Tensor(t) => Ok(t.clone()),
            Held::Size(Size::Number(n)) => self.w.scalar((*n != 0).lit()),
            Held::Size(Size::Device(t)) => {
                let zero = self.w.int(0)?;
                self.w.compare("NE", t, &zero)
            }
            Held::Token => Err(Stop::Defect("a check used as a condition")),
        }
    }
}
