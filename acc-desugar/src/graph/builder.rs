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
    /// The axes of each tensor whose extent may be other than 1.
    axes: Vec<AxisSet>,
    /// The axes of each tensor that for sure have the extent of what it is a column of, or of the space of its lanes.
    full: Vec<AxisSet>,
    bodies: Vec<Open>,
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
            bodies: Vec::new(),
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

    fn set_axes(&mut self, op: &Op, results: &[Value]) {
        if let Op::Checked { values, .. } = op {
            for (r, v) in results.iter().zip(values) {
                self.axes[r.index()] = self.axes(*v);
                self.full[r.index()] = self.full[v.index()];
            }
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
            | Op::Clamp(x, _)
            | Op::InBounds { at: x, .. }
            | Op::Divisor(x)
            | Op::Gather(_, x) => (of(&self.axes, x), of(&self.full, x)),
            Op::Slice { x, .. } | Op::Flip(x, _) | Op::Take { x, .. } | Op::Cumulative(_, x) | Op::Pad { x, .. } => {
                (all, of(&self.full, x))
            }
            Op::Iota { .. }
            | Op::Broadcast(..)
            | Op::Reshape(..)
            | Op::Unfold { .. }
            | Op::Nonzero(_)
            | Op::SortPermutation(_) => (all, all),
            Op::Reduce(_, x) | Op::ArgExtreme(_, x) => (all, of(&self.full, x) & all),
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
            _ => return,
        };
        self.axes[r.index()] = axes;
        self.full[r.index()] = full;
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

    /// How much more than another extent an extent is, at least, if that is known and not negative.
    pub(crate) fn beyond(&self, extent: Value, other: Value) -> Option<i64> {
        let (mut v, mut more) = (self.origin(extent), 0i64);
        let other = self.origin(other);
        loop {
            if v == other {
                return Some(more);
            }
            match self.def(v) {
                Some(Op::SizeOp(SizeOp::Add, a, b)) => {
                    // Extents do not overflow: one that is a sum was checked, or is of memory that exists.
                    let k = self.const_size(*b).filter(|k| *k >= 0)?;
                    more = more.checked_add(k)?;
                    v = self.origin(*a);
                }
                _ => break,
            }
        }
        // A least of two is no more than either.
        match self.def(other) {
            Some(Op::SizeOp(SizeOp::Min, a, b)) => {
                let (a, b) = (self.origin(*a), self.origin(*b));
                (v == a || v == b).then_some(more)
            }
            _ => None,
        }
    }

    /// The value that this one is apart from the checks right before it, and these.
    pub(crate) fn beneath_checks(&self, v: Value) -> (Value, Option<(Vec<Value>, bool)>) {
        if let Some((Op::Checked { values, tokens, raise }, results)) = self.defining(v)
            && let Some(inner) = results.iter().position(|r| *r == v).and_then(|k| values.get(k))
        {
            return (*inner, Some((tokens.clone(), *raise)));
        }
        (v, None)
    }

    /// Values after checks.
    pub(crate) fn after(&mut self, checks: Option<(Vec<Value>, bool)>, values: &[Value]) -> Values {
        match checks {
            Some((tokens, raise)) => self.checked(values, tokens, raise),
            None => values.into(),
        }
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
            (SizeOp::Add | SizeOp::Sub, _, Some(0))
            | (SizeOp::Mul | SizeOp::Count | SizeOp::Quot | SizeOp::Div, _, Some(1)) => {
                return a;
            }
            (SizeOp::Add, Some(0), _) | (SizeOp::Mul | SizeOp::Count, Some(1), _) => return b,
            (SizeOp::Min | SizeOp::Max, ..) if a == b => return a,
            (SizeOp::Eq, ..) if a == b => return self.size(1),
            (SizeOp::Lt | SizeOp::Sub, ..) if a == b => return self.size(0),
            (SizeOp::Sub | SizeOp::Add, _, Some(k)) => {
                // Constants come together.
                let k = if op == SizeOp::Sub { k.wrapping_neg() } else { k };
                if let Some(&Op::SizeOp(SizeOp::Add, x, by)) = self.def(a)
                    && let Some(by) = self.const_size(by)
                {
                    let sum = self.size(by.wrapping_add(k));
                    return self.size_op(SizeOp::Add, x, sum);
                }
            }
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
        let origin = self.origin(x);
        if self.is_argument(origin) {
            // The host has it, and it is what it is whatever checks come before.
            return self.push1(Op::Argument(origin), Type::Size);
        }
        self.push1(Op::ReadBack(x), Type::Size)
    }

    /// Whether the host has the value: a rank-0 parameter of the graph, of a type that a size can be.
    pub(crate) fn is_argument(&self, x: Value) -> bool {
        let kind = matches!(self.ty(x), Type::Tensor { scalar: ScalarType::I64 | ScalarType::Bool, rank: 0 });
        kind && self.bodies.first().is_some_and(|b| b.params.contains(&x))
    }

    /// The size that a rank-0 tensor is, if reading it costs nothing: it is known on the host, or read back already.
    pub(crate) fn known_size(&mut self, x: Value) -> Option<Value> {
        let known = matches!(self.def(x), Some(Op::FromSize(_) | Op::Const(_)))
            || self.is_argument(self.origin(x))
            || self.bodies.iter().any(|b| b.known.contains_key(&Op::ReadBack(x)));
        known.then(|| self.read_back(x))
    }

    /// Whether some lane's position is out of bounds: see [`Op::Outside`].
    pub(crate) fn outside(&mut self, base: Value, steps: Values, lens: Values, extent: Value) -> Value {
        self.push1(Op::Outside { base, steps, lens, extent }, Type::Size)
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

    pub(crate) fn iota(&mut self, len: Value) -> Value {
        let (start, step) = (self.size(0), self.size(1));
        self.iota_from(len, start, step)
    }

    pub(crate) fn iota_from(&mut self, len: Value, start: Value, step: Value) -> Value {
        self.tensor(Op::Iota { len, start, step }, ScalarType::I64, 1)
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
        if let Some(v) = self.test_of_choice(p, args) {
            return v;
        }
        self.tensor(Op::Prim(p, args.into()), scalar, rank)
    }

    /// A comparison of a choice between two literals with a third is the choice's condition, or its negation, or neither.
    fn test_of_choice(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let [x, y] = *args else { return None };
        let (c, t, e) = match self.def(x)? {
            Op::Where(c, t, e) => (*c, self.constant_of(*t)?, self.constant_of(*e)?),
            Op::Cast(c, ty) if self.scalar(*c) == ScalarType::Bool => (*c, Lit::one(*ty), Lit::zero(*ty)),
            _ => return None,
        };
        let with = self.constant_of(y)?;
        let (then, otherwise) = match p {
            PrimOp::EqP if !with.ty.is_float() => (t == with, e == with),
            PrimOp::NeP if !with.ty.is_float() => (t != with, e != with),
            _ => return None,
        };
        match (then, otherwise) {
            (true, false) => Some(c),
            (false, true) => Some(self.not(c)),
            (true, true) | (false, false) => None,
        }
    }

    pub(crate) fn const_bool(&self, v: Value) -> Option<bool> {
        self.constant_of(v).and_then(|l| l.get::<bool>())
    }

    /// The literal that a tensor is.
    pub(crate) fn constant_of(&self, v: Value) -> Option<Lit> {
        match self.def(v) {
            Some(Op::Const(l)) => Some(*l),
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
        // What the same condition chose before.
        let t = match self.def(t) {
            Some(Op::Where(again, x, _)) if *again == c => *x,
            _ => t,
        };
        let rank = [c, t, e].iter().map(|v| self.rank(*v)).max().unwrap_or(0);
        let scalar = self.scalar(t);
        if let (Some(one), Some(zero)) = (self.constant_of(t), self.constant_of(e))
            && scalar.is_num()
            && self.rank(c) == rank
            && one == Lit::one(scalar)
            && zero == Lit::zero(scalar)
        {
            return self.cast(c, scalar);
        }
        self.tensor(Op::Where(c, t, e), scalar, rank)
    }

    pub(crate) fn clamp(&mut self, at: Value, extent: Value) -> Value {
        self.like(Op::Clamp(at, extent), at)
    }

    pub(crate) fn in_bounds(&mut self, at: Value, extent: Value, by_use: bool) -> Value {
        self.like(Op::InBounds { at, extent, by_use }, at)
    }

    pub(crate) fn divisor(&mut self, y: Value) -> Value {
        self.like(Op::Divisor(y), y)
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

    pub(crate) fn unfold(&mut self, x: Value, start: Value, lens: &[Value], steps: &[Value]) -> Value {
        let scalar = self.scalar(x);
        self.tensor(Op::Unfold { x, start, lens: lens.into(), steps: steps.into() }, scalar, lens.len())
    }

    // ---- data movement

    pub(crate) fn gather(&mut self, source: Value, at: Value) -> Value {
        let (scalar, rank) = (self.scalar(source), self.rank(at));
        self.tensor(Op::Gather(source, at), scalar, rank)
    }

    pub(crate) fn take(&mut self, x: Value, axis: u32, at: Value) -> Value {
        self.like(Op::Take { x, axis, at }, x)
    }

    pub(crate) fn pad(&mut self, x: Value, widths: SmallVec<[u32; 4]>, mode: super::PadMode) -> Value {
        if widths.iter().all(|w| *w == 0) {
            return x;
        }
        self.like(Op::Pad { x, widths, mode }, x)
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

    /// Sums of products along the innermost axis.
    pub(crate) fn contract(&mut self, a: Value, b: Value) -> Value {
        let (scalar, rank) = (self.scalar(a), self.rank(a) - 1);
        self.tensor(Op::Contract(a, b), scalar, rank)
    }

    /// The first position of an extreme along the innermost axis.
    pub(crate) fn arg_extreme(&mut self, k: super::Known, x: Value) -> Value {
        let rank = self.rank(x) - 1;
        self.tensor(Op::ArgExtreme(k, x), ScalarType::I64, rank)
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

    /// A fold of rows with an operator.
    pub(crate) fn fold(&mut self, columns: &[Value], combine: Body) -> Values {
        let types: Vec<Type> = columns
            .iter()
            .map(|c| Type::Tensor { scalar: self.scalar(*c), rank: self.rank(*c).saturating_sub(1) })
            .collect();
        self.push(Op::Fold { columns: columns.into(), combine }, &types)
    }

    /// A scan of rows with an operator.
    pub(crate) fn scan(&mut self, columns: &[Value], combine: Body) -> Values {
        let types: Vec<Type> = columns.iter().map(|c| self.ty(*c)).collect();
        self.push(Op::Scan { columns: columns.into(), combine }, &types)
    }

    /// A loop that lanes leave one by one.
    pub(crate) fn lane_loop(
        &mut self,
        on: Value,
        space: &[Value],
        init: &[Value],
        captured: &[Value],
        kept: SmallVec<[bool; 4]>,
        bodies: [Body; 2],
    ) -> Values {
        let rank = space.len();
        let types: Vec<Type> = init.iter().map(|v| Type::Tensor { scalar: self.scalar(*v), rank }).collect();
        let [test, step] = bodies;
        let (space, init, captured) = (space.into(), init.into(), captured.into());
        self.push(Op::LaneLoop { on, space, init, captured, kept, test, step }, &types)
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
