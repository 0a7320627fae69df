//! Building graphs: types are computed, repeated operations are one node.

use super::{Body, Graph, Node, Op, SizeOp, Source, Type, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::ArrayType;
use acc_core::ir::{Loc, PrimOp};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A graph under construction: a stack of bodies, the innermost of which gets the nodes.
pub(crate) struct Builder {
    types: Vec<Type>,
    bodies: Vec<Open>,
    sources: Vec<Source>,
    source: u32,
    loc: Loc,
}

struct Open {
    params: Vec<Value>,
    nodes: Vec<Node>,
    known: HashMap<Op, Values>,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let mut b =
            Builder { types: Vec::new(), bodies: Vec::new(), sources: Vec::new(), source: 0, loc: Loc::unknown() };
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
        let (source, loc) = (self.source, self.loc.clone());
        if sharable {
            self.top().known.insert(op.clone(), results.clone());
        }
        self.top().nodes.push(Node { results: results.clone(), op, source, loc });
        results
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

    // ---- sizes

    pub(crate) fn size(&mut self, n: i64) -> Value {
        self.push1(Op::Size(n), Type::Size)
    }

    pub(crate) fn const_size(&self, v: Value) -> Option<i64> {
        self.def(v).and_then(|op| match op {
            Op::Size(n) => Some(*n),
            _ => None,
        })
    }

    /// The operation that defines a value, if it is a node's in the bodies open.
    pub(crate) fn def(&self, v: Value) -> Option<&Op> {
        self.defining(v).map(|(op, _)| op)
    }

    fn defining(&self, v: Value) -> Option<(&Op, &Values)> {
        // Values are numbered in order of definition, also across bodies.
        self.bodies.iter().rev().find_map(|b| {
            let k = b.nodes.partition_point(|n| n.results.first().is_none_or(|r| *r <= v));
            b.nodes[..k].last().filter(|n| n.results.contains(&v)).map(|n| (&n.op, &n.results))
        })
    }

    pub(crate) fn size_op(&mut self, op: SizeOp, a: Value, b: Value) -> Value {
        match (op, self.const_size(a), self.const_size(b)) {
            (_, Some(x), Some(y)) => return self.size(op.apply(x, y)),
            (SizeOp::Add | SizeOp::Sub, _, Some(0)) | (SizeOp::Mul | SizeOp::Count | SizeOp::Div, _, Some(1)) => {
                return a;
            }
            (SizeOp::Add, Some(0), _) | (SizeOp::Mul | SizeOp::Count, Some(1), _) => return b,
            (SizeOp::Min | SizeOp::Max, ..) if a == b => return a,
            (SizeOp::Eq, ..) if a == b => return self.size(1),
            _ => {}
        }
        self.push1(Op::SizeOp(op, a, b), Type::Size)
    }

    pub(crate) fn product(&mut self, sizes: &[Value]) -> Value {
        let one = self.size(1);
        sizes.iter().fold(one, |p, s| self.size_op(SizeOp::Count, p, *s))
    }

    pub(crate) fn not_size(&mut self, a: Value) -> Value {
        let zero = self.size(0);
        self.size_op(SizeOp::Eq, a, zero)
    }

    pub(crate) fn or_size(&mut self, a: Value, b: Value) -> Value {
        self.size_op(SizeOp::Max, a, b)
    }

    pub(crate) fn read_back(&mut self, x: Value) -> Value {
        if let Some(Op::FromSize(s)) = self.def(x) {
            return *s;
        }
        if let Some(Op::Const(l)) = self.def(x) {
            let n = l.bits as i64;
            return self.size(n);
        }
        self.push1(Op::ReadBack(x), Type::Size)
    }

    pub(crate) fn tensor_of_size(&mut self, s: Value) -> Value {
        if let Some(n) = self.const_size(s) {
            return self.constant(n.lit());
        }
        self.tensor(Op::FromSize(s), ScalarType::I64, 0)
    }

    pub(crate) fn extent(&mut self, x: Value, axis: u32) -> Value {
        self.push1(Op::Extent(x, axis), Type::Size)
    }

    // ---- tensors

    pub(crate) fn constant(&mut self, l: Lit) -> Value {
        self.tensor(Op::Const(l), l.ty, 0)
    }

    pub(crate) fn bool(&mut self, x: bool) -> Value {
        self.constant(x.lit())
    }

    pub(crate) fn iota(&mut self, n: Value) -> Value {
        self.tensor(Op::Iota(n), ScalarType::I64, 1)
    }

    /// A 0-d tensor repeated to a shape.
    pub(crate) fn full(&mut self, x: Value, shape: &[Value]) -> Value {
        let one = self.lift(x, shape.len());
        self.broadcast(one, shape)
    }

    pub(crate) fn prim(&mut self, p: PrimOp, args: &[Value]) -> Value {
        let rank = args.iter().map(|a| self.rank(*a)).max().unwrap_or(0);
        let scalar = p.result_type(self.scalar(args[0]));
        // Masks are often trivially true.
        if p == PrimOp::AndP && scalar == ScalarType::Bool {
            for (a, b) in [(args[0], args[1]), (args[1], args[0])] {
                if self.const_bool(a) == Some(true) && self.rank(b) == rank {
                    return b;
                }
            }
        }
        self.tensor(Op::Prim(p, args.into()), scalar, rank)
    }

    pub(crate) fn const_bool(&self, v: Value) -> Option<bool> {
        match self.def(v) {
            Some(Op::Const(l)) => l.get::<bool>(),
            _ => None,
        }
    }

    pub(crate) fn and(&mut self, a: Value, b: Value) -> Value {
        self.prim(PrimOp::AndP, &[a, b])
    }

    pub(crate) fn not(&mut self, a: Value) -> Value {
        self.prim(PrimOp::NotP, &[a])
    }

    pub(crate) fn cast(&mut self, x: Value, to: ScalarType) -> Value {
        if self.scalar(x) == to {
            return x;
        }
        let rank = self.rank(x);
        self.tensor(Op::Cast(x, to), to, rank)
    }

    pub(crate) fn bitcast(&mut self, x: Value, to: ScalarType) -> Value {
        let rank = self.rank(x);
        self.tensor(Op::Bitcast(x, to), to, rank)
    }

    pub(crate) fn where_(&mut self, c: Value, t: Value, e: Value) -> Value {
        if t == e {
            return t;
        }
        let rank = [c, t, e].iter().map(|v| self.rank(*v)).max().unwrap_or(0);
        let scalar = self.scalar(t);
        self.tensor(Op::Where(c, t, e), scalar, rank)
    }

    // ---- views

    pub(crate) fn reshape(&mut self, x: Value, shape: &[Value]) -> Value {
        let scalar = self.scalar(x);
        self.tensor(Op::Reshape(x, shape.into()), scalar, shape.len())
    }

    pub(crate) fn broadcast(&mut self, x: Value, shape: &[Value]) -> Value {
        if shape.is_empty() {
            return x;
        }
        let scalar = self.scalar(x);
        self.tensor(Op::Broadcast(x, shape.into()), scalar, shape.len())
    }

    pub(crate) fn transpose(&mut self, x: Value, axes: &[u32]) -> Value {
        if axes.iter().enumerate().all(|(i, a)| i == *a as usize) {
            return x;
        }
        self.like(Op::Transpose(x, axes.into()), x)
    }

    pub(crate) fn insert_axes(&mut self, x: Value, at: SmallVec<[u32; 4]>) -> Value {
        if at.is_empty() {
            return x;
        }
        let (scalar, rank) = (self.scalar(x), self.rank(x) + at.len());
        self.tensor(Op::InsertAxes(x, at), scalar, rank)
    }

    /// `x` with as many leading axes of extent 1 as make its rank `rank`; only for rank 0 operands.
    pub(crate) fn lift(&mut self, x: Value, rank: usize) -> Value {
        if self.rank(x) == rank { x } else { self.insert_axes(x, (0..rank as u32).collect()) }
    }

    pub(crate) fn slice(&mut self, x: Value, axis: u32, start: Value, len: Value, step: u32) -> Value {
        self.like(Op::Slice { x, axis, start, len, step }, x)
    }

    pub(crate) fn select(&mut self, x: Value, axis: u32, at: Value) -> Value {
        let (scalar, rank) = (self.scalar(x), self.rank(x) - 1);
        self.tensor(Op::Select { x, axis, at }, scalar, rank)
    }

    pub(crate) fn flip(&mut self, x: Value, axis: u32) -> Value {
        self.like(Op::Flip(x, axis), x)
    }

    // ---- data movement

    pub(crate) fn gather(&mut self, source: Value, at: Value) -> Value {
        let (scalar, rank) = (self.scalar(source), self.rank(at));
        self.tensor(Op::Gather(source, at), scalar, rank)
    }

    pub(crate) fn take(&mut self, x: Value, axis: u32, at: Value) -> Value {
        self.like(Op::Take { x, axis, at }, x)
    }

    pub(crate) fn pad_if_empty(&mut self, x: Value) -> Value {
        self.like(Op::PadIfEmpty(x), x)
    }

    pub(crate) fn scatter(&mut self, base: Value, at: Value, values: Value, mode: super::ScatterMode) -> Value {
        self.like(Op::Scatter { base, at, values, mode }, base)
    }

    pub(crate) fn concat(&mut self, xs: &[Value], axis: u32) -> Value {
        self.like(Op::Concat(xs.into(), axis), xs[0])
    }

    pub(crate) fn sort_permutation(&mut self, x: Value) -> Value {
        let rank = self.rank(x);
        self.tensor(Op::SortPermutation(x), ScalarType::I64, rank)
    }

    pub(crate) fn nonzero(&mut self, x: Value) -> Value {
        self.tensor(Op::Nonzero(x), ScalarType::I64, 1)
    }

    pub(crate) fn reduce(&mut self, k: super::Known, x: Value) -> Value {
        let (scalar, rank) = (self.scalar(x), self.rank(x) - 1);
        self.tensor(Op::Reduce(k, x), scalar, rank)
    }

    pub(crate) fn cumulative(&mut self, k: super::Known, x: Value) -> Value {
        self.like(Op::Cumulative(k, x), x)
    }

    /// Whether any lane of a mask is on, as a rank-0 tensor.
    pub(crate) fn any(&mut self, mask: Value) -> Value {
        if self.rank(mask) == 0 {
            return mask;
        }
        self.tensor(Op::AnyLane(mask), ScalarType::Bool, 0)
    }

    // ---- control and faults

    pub(crate) fn if_(&mut self, cond: Value, then: Body, else_: Body) -> Values {
        let types: Vec<Type> = then.results.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::If { cond, then, else_ }, &types)
    }

    pub(crate) fn while_(&mut self, init: &[Value], test: Body, step: Body) -> Values {
        let types: Vec<Type> = init.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::While { init: init.into(), test, step }, &types)
    }

    pub(crate) fn fault(
        &mut self,
        kind: super::FaultKind,
        bad: Value,
        space: &[Value],
        details: Vec<Value>,
        site: u32,
    ) -> Value {
        self.push1(Op::Fault { kind, bad, space: space.into(), details, site }, Type::Token)
    }

    pub(crate) fn checked(&mut self, values: &[Value], tokens: Vec<Value>, raise: bool) -> Values {
        let types: Vec<Type> = values.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::Checked { values: values.into(), tokens, raise }, &types)
    }

    pub(crate) fn trace(
        &mut self,
        message: Arc<str>,
        arrays: Vec<ArrayType>,
        shown: &[Value],
        values: &[Value],
    ) -> Values {
        let types: Vec<Type> = values.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::Trace { message, types: arrays, shown: shown.into(), values: values.into() }, &types)
    }

    pub(crate) fn confine(&mut self, mask: Value, tokens: Vec<Value>, space: &[Value]) -> Value {
        self.like(Op::Confine { mask, tokens, space: space.into() }, mask)
    }

    pub(crate) fn params(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|t| self.param(*t)).collect()
    }
}

/// Removes nodes that no result needs. `live` are the values that the bodies around need.
fn prune(body: &mut Body, live: &mut HashSet<Value>) {
    live.extend(body.results.iter().copied());
    let mut kept = Vec::new();
    for mut n in std::mem::take(&mut body.nodes).into_iter().rev() {
        if n.results.iter().any(|r| live.contains(r)) {
            live.extend(n.op.operands());
            match &mut n.op {
                Op::If { then: a, else_: b, .. } | Op::While { test: a, step: b, .. } => {
                    acc_core::grow_stack(|| prune(a, live));
                    acc_core::grow_stack(|| prune(b, live));
                }
                _ => {}
            }
            kept.push(n);
        }
    }
    kept.reverse();
    body.nodes = kept;
}
