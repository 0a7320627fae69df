//! Building graphs: types are computed, repeated operations are one node.

mod control;
mod normalize;
mod origin;
mod segments;
mod size;
mod softmax;
mod tensor;

pub(crate) use tensor::neutral;

use super::{Body, Graph, Node, Op, Source, Type, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::Loc;
use std::collections::{HashMap, HashSet};

/// A graph under construction: a stack of bodies, the innermost of which gets the nodes.
pub(crate) struct Builder {
    types: Vec<Type>,
    /// The axes of each tensor whose extent may be other than 1.
    axes: Vec<AxisSet>,
    /// The axes of each tensor that for sure have the extent of what it is a column of, or of the space of its lanes.
    full: Vec<AxisSet>,
    /// Whether computing a value can neither fail nor be seen, nor take forever.
    total: Vec<bool>,
    bodies: Vec<Open>,
    /// Results that nodes were given after others were made, with the first one of the node.
    late: HashMap<Value, Value>,
    /// How many terms sums of rows have.
    summed: HashMap<Value, Value>,
    sources: Vec<Source>,
    source: u32,
    loc: Loc,
}

/// A set of axes, as bits.
pub(crate) type AxisSet = u32;

struct Open {
    params: Vec<Value>,
    nodes: Vec<Node>,
    known: HashMap<Op, Values>,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let mut b = Builder {
            types: Vec::new(),
            axes: Vec::new(),
            full: Vec::new(),
            total: Vec::new(),
            bodies: Vec::new(),
            late: HashMap::new(),
            summed: HashMap::new(),
            sources: Vec::new(),
            source: 0,
            loc: Loc::unknown(),
        };
        b.open();
        b
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
        self.source = source;
        self.loc = loc;
    }

    /// The location of the expression whose nodes follow.
    pub(crate) fn at(&mut self, loc: &Loc) {
        if loc.is_known() {
            self.loc = loc.clone();
        }
    }

    pub(crate) fn param(&mut self, ty: Type) -> Value {
        let v = self.fresh(ty);
        self.top().params.push(v);
        v
    }

    fn fresh(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        self.axes.push(all_axes(&ty));
        self.full.push(0);
        self.total.push(true);
        Value(self.types.len() as u32 - 1)
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
        self.bodies.push(Open { params: Vec::new(), nodes: Vec::new(), known: HashMap::new() });
    }

    /// Closes the innermost body.
    pub(crate) fn close(&mut self, results: Vec<Value>) -> Body {
        match self.bodies.pop() {
            Some(b) => Body { params: b.params, nodes: b.nodes, results },
            None => Body { params: Vec::new(), nodes: Vec::new(), results },
        }
    }

    pub(crate) fn finish(mut self, results: Vec<Value>) -> Graph {
        let mut body = self.close(results);
        prune(&mut body, &mut HashSet::new());
        // The values that are left are numbered without gaps.
        let mut defined = Vec::new();
        body.definitions(&mut defined);
        let types = defined.iter().map(|v| self.types[v.index()]).collect();
        let number: HashMap<Value, Value> =
            defined.into_iter().enumerate().map(|(k, v)| (v, Value(k as u32))).collect();
        body.rename(&|v| number.get(&v).copied().unwrap_or(v));
        Graph { types, body, sources: self.sources }
    }

    /// The value that this one is, apart from checks made before it.
    pub(crate) fn origin(&self, v: Value) -> Value {
        let mut v = v;
        while let Some((Op::Checked { values, .. } | Op::Trace { values, .. }, results)) = self.defining(v)
            && let Some(k) = results.iter().position(|r| *r == v)
            && let Some(inner) = values.get(k)
        {
            v = *inner;
        }
        v
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
        // Branches and loops are never compared, since that would take as long as they are large; a fault is noted, and
        // a message printed, where it stands.
        let noted = matches!(op, Op::Fault { .. } | Op::Checked { .. } | Op::Trace { .. } | Op::Confine { .. });
        let sharable = op.bodies().is_empty() && !noted;
        if sharable && let Some(v) = self.bodies.iter().rev().find_map(|b| b.known.get(&op)) {
            return v.clone();
        }
        let results: Values = types.iter().map(|t| self.fresh(*t)).collect();
        self.set_axes(&op, &results);
        let total = self.is_total_op(&op);
        results.iter().for_each(|r| self.total[r.index()] = total);
        let (source, loc) = (self.source, self.loc.clone());
        if sharable {
            self.top().known.insert(op.clone(), results.clone());
        }
        self.top().nodes.push(Node { results: results.clone(), op, source, loc });
        results
    }

    /// The axes of a tensor whose extent may be other than 1.
    pub(crate) fn axes(&self, v: Value) -> AxisSet {
        self.axes[v.index()]
    }

    /// Whether a tensor has the whole extents of what it is a column of, or of the space of its lanes.
    pub(crate) fn is_full(&self, v: Value) -> bool {
        self.full[v.index()] == all_axes(&self.types[v.index()])
    }

    /// Whether each axis is known to have an extent of 1, or the whole one.
    pub(crate) fn is_settled(&self, v: Value) -> bool {
        self.axes(v) & !self.full[v.index()] == 0
    }

    /// Says of a column that it is full.
    pub(crate) fn set_full(&mut self, v: Value) {
        self.full[v.index()] = all_axes(&self.types[v.index()]);
    }

    /// Says of sums of rows how many terms each has.
    pub(crate) fn set_summed(&mut self, sums: Value, terms: Value) {
        self.summed.insert(sums, terms);
    }

    /// Says of a tensor that it has the whole extents along these axes, and an extent of 1 along the others.
    pub(crate) fn set_along(&mut self, v: Value, axes: AxisSet) {
        (self.axes[v.index()], self.full[v.index()]) = (axes, axes);
    }

    fn set_axes(&mut self, op: &Op, results: &[Value]) {
        if let Op::Checked { values, .. } = op {
            for (r, v) in results.iter().zip(values) {
                self.axes[r.index()] = self.axes(*v);
                self.full[r.index()] = self.full[v.index()];
            }
        }
        if let Op::Sort(_) = op {
            results.iter().for_each(|r| {
                let all = all_axes(&self.types[r.index()]);
                (self.axes[r.index()], self.full[r.index()]) = (all, all);
            });
        }
        let [r] = *results else { return };
        let all = all_axes(&self.types[r.index()]);
        let of = |sets: &[AxisSet], x: &Value| sets[x.index()];
        let (axes, full) = match op {
            Op::Prim(..) | Op::Where(..) => {
                let union = |sets: &[AxisSet]| op.operands().iter().fold(0, |set, v| set | sets[v.index()]);
                (union(&self.axes), union(&self.full))
            }
            Op::Cast(x, _)
            | Op::Bitcast(x, _)
            | Op::Clip { x, .. }
            | Op::Clamp(x, _)
            | Op::InBounds { at: x, .. }
            | Op::Divisor(x)
            | Op::Gather(_, x) => (of(&self.axes, x), of(&self.full, x)),
            Op::Slice { x, .. }
            | Op::Flip(x, _)
            | Op::Take { x, .. }
            | Op::Softmax { x, .. }
            | Op::Normalize { x, .. }
            | Op::Cumulative(_, x)
            | Op::Exclusive(_, x)
            | Op::Pad { x, .. } => (all, of(&self.full, x)),
            Op::Iota { .. } | Op::Broadcast(..) | Op::Reshape(..) | Op::Unfold { .. } | Op::Nonzero(_) => (all, all),
            Op::Reduce(_, x) | Op::ArgExtreme(_, x) => (all, of(&self.full, x) & all),
            Op::SegmentReduce { x, .. } | Op::SegmentScan { x, .. } => (all, of(&self.full, x)),
            Op::Scatter { base, .. } => (all, of(&self.full, base)),
            Op::Concat(xs, _) => (all, xs.iter().fold(all, |set, x| set & of(&self.full, x))),
            Op::InsertAxes(x, at) => {
                let spread = |mut rest: AxisSet| {
                    let mut set = 0;
                    for axis in (0..all.count_ones()).filter(|axis| !at.contains(axis)) {
                        set |= (rest & 1) << axis;
                        rest >>= 1;
                    }
                    set
                };
                (spread(of(&self.axes, x)), spread(of(&self.full, x)))
            }
            Op::Transpose(x, axes) => {
                let moved =
                    |from: AxisSet| axes.iter().enumerate().fold(0, |set, (to, a)| set | (((from >> a) & 1) << to));
                (moved(of(&self.axes, x)), moved(of(&self.full, x)))
            }
            // Of any extents.
            Op::Select { .. }
            | Op::Contract(..)
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::If { .. }
            | Op::While { .. }
            | Op::LaneLoop { .. }
            | Op::Trace { .. }
            | Op::Confine { .. } => return,
            // With what they are known for already.
            Op::Checked { .. } | Op::Sort(_) => return,
            // Of rank 0, or no tensors.
            Op::Const(_)
            | Op::FromSize(_)
            | Op::AnyLane(_)
            | Op::Size(_)
            | Op::SizeOp(..)
            | Op::ReadBack(_)
            | Op::Argument(_)
            | Op::Outside { .. }
            | Op::Extent(..)
            | Op::Fault { .. } => return,
        };
        self.axes[r.index()] = axes;
        self.full[r.index()] = full;
    }

    /// Whether computing a value can neither fail nor be seen, nor take forever: it may be done though nobody needs it.
    pub(crate) fn is_total(&self, v: Value) -> bool {
        self.total[v.index()]
    }

    /// Says of a value of the innermost body that it is computed in any case, so that needing it makes no difference.
    pub(crate) fn set_total(&mut self, v: Value) {
        if self.place(v).is_some_and(|(body, _)| body + 1 == self.bodies.len()) {
            self.total[v.index()] = true;
        }
    }

    fn is_total_op(&self, op: &Op) -> bool {
        !self.may_fail(op) && op.operands().iter().all(|v| self.is_total(*v))
    }

    /// Whether an operation itself may fail, be seen, or take forever.
    fn may_fail(&self, op: &Op) -> bool {
        match op {
            // Positions and divisors may be bad ones.
            Op::InBounds { .. } | Op::Divisor(_) | Op::Gather(..) | Op::Take { .. } | Op::Scatter { .. } => true,
            Op::Prim(p, args) if p.is_partial() => self.constant_of(args[1]).is_none_or(|d| d == Lit::zero(d.ty)),
            Op::SegmentReduce { .. } | Op::ArgExtreme(..) | Op::Fold { .. } | Op::Scan { .. } => true,
            Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => true,
            Op::Fault { .. } | Op::Checked { .. } | Op::Trace { .. } | Op::Confine { .. } => true,
            Op::Size(_) | Op::SizeOp(..) | Op::ReadBack(_) | Op::Argument(_) | Op::Outside { .. } => false,
            Op::Extent(..) | Op::FromSize(_) | Op::Const(_) | Op::Iota { .. } => false,
            Op::Prim(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Where(..) | Op::Clip { .. } | Op::Clamp(..) => false,
            Op::Reshape(..) | Op::Broadcast(..) | Op::Transpose(..) | Op::InsertAxes(..) | Op::Flip(..) => false,
            // Of what is not there they have zeros.
            Op::Slice { .. } | Op::Select { .. } | Op::Unfold { .. } => false,
            Op::Pad { .. } | Op::Concat(..) | Op::Sort(_) | Op::Nonzero(_) | Op::AnyLane(_) => false,
            Op::Reduce(..) | Op::Contract(..) | Op::Softmax { .. } | Op::Normalize { .. } => false,
            Op::Cumulative(..) | Op::Exclusive(..) | Op::SegmentScan { .. } => false,
        }
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

    /// The value that this one is, apart from the checks right before it.
    pub(crate) fn beneath_checks(&self, v: Value) -> Value {
        match self.defining(v) {
            Some((Op::Checked { values, .. }, results)) => {
                let at = results.iter().position(|r| *r == v);
                at.and_then(|k| values.get(k)).copied().unwrap_or(v)
            }
            _ => v,
        }
    }

    /// Values after the same checks as a checked one: what needs them in its place needs these, which are made, and end the
    /// run, where they were. Those that were not defined there yet are checked here.
    pub(crate) fn checked_with(&mut self, v: Value, values: &[Value]) -> Values {
        let Some((body, node)) = self.place(v) else { return values.into() };
        let Op::Checked { values: checked, tokens, raise } = self.bodies[body].nodes[node].op.clone() else {
            return values.into();
        };
        let mut all = Values::new();
        for &x in values {
            let results = &self.bodies[body].nodes[node].results;
            // One of its own results has waited for the checks.
            let own = results.contains(&x).then_some(x);
            let known = own.or_else(|| checked.iter().position(|c| *c == x).map(|k| results[k]));
            all.push(match known {
                Some(r) => r,
                None if self.place(x) > Some((body, node)) => self.checked(&[x], tokens.clone(), raise)[0],
                None => self.check_too(body, node, x),
            });
        }
        all
    }

    /// A value after these checked ones' checks, in the order in which they are made.
    pub(crate) fn after_checks(&mut self, x: Value, mut checked: Vec<Value>) -> Value {
        checked.sort_by_key(|c| self.place(*c));
        checked.into_iter().fold(x, |x, c| self.checked_with(c, &[x])[0])
    }

    fn check_too(&mut self, body: usize, node: usize, x: Value) -> Value {
        let r = self.fresh(self.ty(x));
        (self.axes[r.index()], self.full[r.index()]) = (self.axes(x), self.full[x.index()]);
        let node = &mut self.bodies[body].nodes[node];
        self.total[r.index()] = node.results.first().is_some_and(|first| self.total[first.index()]);
        if let Op::Checked { values, .. } = &mut node.op {
            values.push(x);
        }
        node.results.push(r);
        self.late.extend(node.results.first().map(|first| (r, *first)));
        r
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
        let defined = self.place(v).is_some_and(|(body, _)| body < depth);
        defined || self.bodies.iter().take(depth).any(|b| b.params.contains(&v))
    }

    /// The open body and the number of the node in it that defines a value.
    pub(super) fn place(&self, v: Value) -> Option<(usize, usize)> {
        // Values are numbered in order of definition, also across bodies, but for those that came late.
        let first = self.late.get(&v).copied().unwrap_or(v);
        self.bodies.iter().enumerate().rev().find_map(|(body, b)| {
            let k = b.nodes.partition_point(|n| n.results.first().is_none_or(|r| *r <= first)).checked_sub(1)?;
            b.nodes[k].results.contains(&v).then_some((body, k))
        })
    }
}

fn all_axes(ty: &Type) -> AxisSet {
    match ty {
        Type::Tensor { rank, .. } => (1 << rank) - 1,
        Type::Size | Type::Token => 0,
    }
}

/// Removes nodes that no result needs. `live` are the values that the bodies around need.
fn prune(body: &mut Body, live: &mut HashSet<Value>) {
    live.extend(body.results.iter().copied());
    let mut kept = Vec::new();
    for mut n in std::mem::take(&mut body.nodes).into_iter().rev() {
        // Of values that wait for a check those that nobody needs do not count as needed.
        if let Op::Checked { values, .. } = &mut n.op {
            let mut needed = n.results.iter().map(|r| live.contains(r));
            values.retain(|_| needed.next() == Some(true));
            n.results.retain(|r| live.contains(r));
        }
        if n.results.iter().any(|r| live.contains(r)) {
            live.extend(n.op.operands());
            for b in n.op.bodies_mut() {
                acc_core::grow_stack(|| prune(b, live));
            }
            kept.push(n);
        }
    }
    kept.reverse();
    body.nodes = kept;
}
