//! Shapes as far as they are known before a run: in terms of the graph's sizes.

mod join;
mod verify;

use super::{Body, Graph, Node, Op, Type, Value};
use join::{Inferred, Joins, Way, seen, sizes_before};
use std::collections::HashMap;
use std::fmt;
pub use verify::verify_shapes;

/// An extent, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// A number.
    Const(i64),
    /// A size of the graph.
    Size(Value),
    /// Known only when the graph runs.
    Unknown,
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Const(n) => write!(f, "{n}"),
            Extent::Size(v) => write!(f, "{v}"),
            Extent::Unknown => f.write_str("?"),
        }
    }
}

/// The shapes of a graph's tensors.
pub struct Shapes {
    extents: Vec<Vec<Extent>>,
    types: Vec<Type>,
    sizes: Sizes,
}

/// What is known of sizes.
#[derive(Default)]
struct Sizes {
    constants: HashMap<Value, i64>,
    /// Sizes that are others, after checks, or in every step of a loop.
    origins: HashMap<Value, Value>,
}

impl Sizes {
    fn origin(&self, v: Value) -> Value {
        self.origins.get(&v).copied().unwrap_or(v)
    }

    /// What an extent is that is this size.
    fn extent(&self, v: Value) -> Extent {
        let v = self.origin(v);
        self.constants.get(&v).map_or(Extent::Size(v), |n| Extent::Const(*n))
    }
}

impl Shapes {
    /// Infers the shapes of a verified graph.
    pub fn of(graph: &Graph) -> Shapes {
        let mut infer = Infer {
            graph,
            extents: graph.types.iter().map(unknown).collect(),
            sizes: Sizes::default(),
            joins: Joins::default(),
        };
        infer.layout(&graph.body.params);
        infer.body(&graph.body);
        infer.joins.settle();
        let resolved = infer.extents.iter().map(|axes| axes.iter().map(|e| infer.joins.resolve(*e)).collect());
        Shapes { extents: resolved.collect(), types: graph.types.clone(), sizes: infer.sizes }
    }

    /// The extents of a tensor; empty for a size.
    pub fn get(&self, v: Value) -> &[Extent] {
        self.extents.get(v.index()).map_or(&[], Vec::as_slice)
    }

    /// What an extent is that is this size.
    pub fn size(&self, v: Value) -> Extent {
        self.sizes.extent(v)
    }

    /// The type of a value with its shape: `f32[t0, 3]`, `size`.
    pub fn show(&self, v: Value) -> String {
        match self.types.get(v.index()) {
            Some(Type::Tensor { scalar, .. }) => {
                let extents: Vec<String> = self.get(v).iter().map(Extent::to_string).collect();
                format!("{scalar}[{}]", extents.join(", "))
            }
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

fn unknown(ty: &Type) -> Vec<Inferred> {
    match ty {
        Type::Tensor { rank, .. } => vec![Inferred::UNKNOWN; *rank],
        Type::Size | Type::Token => Vec::new(),
    }
}

struct Infer<'a> {
    graph: &'a Graph,
    extents: Vec<Vec<Inferred>>,
    sizes: Sizes,
    joins: Joins,
}

impl Infer<'_> {
    fn set(&mut self, v: Value, extents: Vec<Inferred>) {
        self.extents[v.index()] = extents;
    }

    fn of(&self, v: Value) -> Vec<Inferred> {
        self.extents[v.index()].clone()
    }

    fn size(&self, v: Value) -> Extent {
        self.sizes.extent(v)
    }

    fn known(&self, v: Value) -> Inferred {
        Inferred::Known(self.size(v))
    }

    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|v| self.graph.ty(*v)).collect()
    }

    /// Arrays lie as their extents followed by their columns: a tensor has the sizes before it.
    fn layout(&mut self, values: &[Value]) {
        for (v, before) in values.iter().zip(sizes_before(&self.types(values))) {
            let extent =
                |at: Option<usize>| at.and_then(|at| values.get(at)).map_or(Inferred::UNKNOWN, |s| self.known(*s));
            let extents = before.into_iter().map(extent).collect();
            self.set(*v, extents);
        }
    }

    /// The joins of the tensors that come in by these values first: a list for each value, of a join for each axis.
    fn joined(&mut self, first: &[Value]) -> Vec<Vec<usize>> {
        let before = sizes_before(&self.types(first));
        let ways = (first.iter().zip(&before)).map(|(v, before)| self.ways(first, *v, before)).collect::<Vec<_>>();
        ways.into_iter().map(|axes| axes.into_iter().map(|way| self.joins.add(way)).collect()).collect()
    }

    /// They come in by these second.
    fn completed(&mut self, joins: &[Vec<usize>], second: &[Value]) {
        let before = sizes_before(&self.types(second));
        for ((v, before), joins) in second.iter().zip(&before).zip(joins) {
            for (way, join) in self.ways(second, *v, before).into_iter().zip(joins) {
                self.joins.complete(*join, way);
            }
        }
    }

    fn ways(&self, values: &[Value], v: Value, before: &[Option<usize>]) -> Vec<Way> {
        let own = |at: &Option<usize>| at.and_then(|at| values.get(at)).map_or(Extent::Unknown, |s| self.size(*s));
        self.of(v).into_iter().zip(before).map(|(extent, at)| Way { extent, own: own(at) }).collect()
    }

    /// They are seen as these.
    fn see(&mut self, joins: &[Vec<usize>], values: &[Value]) {
        let before = sizes_before(&self.types(values));
        for ((v, before), joins) in values.iter().zip(&before).zip(joins) {
            let extents = seen(values, before, joins, |s| self.size(s));
            self.set(*v, extents);
        }
    }

    /// Which of two extents a tensor has that broadcasts to both: 1 repeats, and what is known says more.
    fn broadcast(&self, operands: &[Value], rank: usize) -> Vec<Inferred> {
        let says = |e: Inferred| match (e, self.joins.resolve(e)) {
            (Inferred::Known(_), Extent::Const(1)) => 0,
            (Inferred::Joined { .. }, Extent::Const(1)) => 1,
            (_, Extent::Unknown) => 2,
            (_, Extent::Const(_) | Extent::Size(_)) => 3,
        };
        let mut out = vec![Inferred::ONE; rank];
        for v in operands {
            let extents = self.of(*v);
            if extents.len() == rank {
                for (o, e) in out.iter_mut().zip(extents) {
                    if says(e) > says(*o) {
                        *o = e;
                    }
                }
            }
        }
        out
    }

    fn columns_of(&mut self, columns: &[Value], params: &[Value]) {
        let Some((count, operands)) = params.split_first() else { return };
        for (v, column) in operands.iter().zip(columns.iter().cycle()) {
            let mut extents = self.of(*column);
            if let Some(n) = extents.last_mut() {
                *n = self.known(*count);
            }
            self.set(*v, extents);
        }
    }

    /// The bodies of a node, its operands known.
    fn bodies(&mut self, n: &Node) {
        match &n.op {
            Op::If { then, else_, .. } => {
                for b in [then, else_] {
                    acc_core::grow_stack(|| self.body(b));
                }
                let joins = self.joined(&then.results);
                self.completed(&joins, &else_.results);
                self.see(&joins, &n.results);
            }
            Op::While { init, test, step } => {
                for (before, names) in n.kept_sizes(|v| self.graph.ty(v) == Type::Size, |v| self.sizes.origin(v)) {
                    let before = self.sizes.origin(before);
                    self.sizes.origins.extend(names.map(|v| (v, before)));
                }
                let joins = self.joined(init);
                for b in [test, step] {
                    self.see(&joins, &b.params);
                    acc_core::grow_stack(|| self.body(b));
                }
                self.completed(&joins, &step.results);
                self.see(&joins, &n.results);
            }
            Op::Fold { columns, combine } | Op::Scan { columns, combine } => {
                self.columns_of(columns, &combine.params);
                acc_core::grow_stack(|| self.body(combine));
            }
            op => {
                for b in op.bodies() {
                    self.layout(&b.params);
                    acc_core::grow_stack(|| self.body(b));
                }
            }
        }
    }

    fn body(&mut self, body: &Body) {
        for n in &body.nodes {
            self.bodies(n);
            let Some(&r) = n.results.first() else { continue };
            let rank = unknown(&self.graph.ty(r)).len();
            let extents = match &n.op {
                Op::Size(k) => {
                    self.sizes.constants.insert(r, *k);
                    continue;
                }
                Op::Checked { values, .. } | Op::Trace { values, .. } => {
                    for (r, v) in n.results.iter().zip(values) {
                        let origin = self.sizes.origin(*v);
                        self.sizes.origins.insert(*r, origin);
                        let extents = self.of(*v);
                        self.set(*r, extents);
                    }
                    continue;
                }
                Op::Sort { x, count, .. } => {
                    let mut extents = self.of(*x);
                    if let (Some(count), Some(innermost)) = (count, extents.last_mut()) {
                        *innermost = self.known(*count);
                    }
                    n.results.iter().for_each(|r| self.set(*r, extents.clone()));
                    continue;
                }
                Op::SizeOp(..)
                | Op::ReadBack(_)
                | Op::Argument(_)
                | Op::Outside { .. }
                | Op::Extent(..)
                | Op::If { .. }
                | Op::While { .. }
                | Op::Fault { .. } => continue,
                Op::FromSize(_) | Op::Const(_) | Op::AnyLane(_) => vec![],
                Op::Iota { len, .. } => vec![self.known(*len)],
                Op::Prim(..) | Op::Where(..) => self.broadcast(&n.op.operands(), rank),
                Op::Cast(x, _)
                | Op::Bitcast(x, _)
                | Op::Clip { x, .. }
                | Op::Flip(x, _)
                | Op::Softmax { x, .. }
                | Op::Normalize { x, .. }
                | Op::Cumulative(_, x)
                | Op::SegmentScan { x, .. }
                | Op::Scatter { base: x, .. }
                | Op::Clamp(x, _)
                | Op::InBounds { at: x, .. }
                | Op::Divisor(x)
                | Op::Confine { mask: x, .. } => self.of(*x),
                Op::Reshape(_, shape) | Op::Broadcast(_, shape) => shape.iter().map(|s| self.known(*s)).collect(),
                Op::Transpose(x, axes) => {
                    let from = self.of(*x);
                    axes.iter().map(|a| from[*a as usize]).collect()
                }
                Op::InsertAxes(x, axes) => {
                    let mut out = self.of(*x);
                    for a in axes {
                        out.insert((*a as usize).min(out.len()), Inferred::ONE);
                    }
                    out
                }
                Op::Slice { x, axis, len, .. } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.known(*len);
                    out
                }
                Op::Select { x, axis, .. } => {
                    let mut out = self.of(*x);
                    out.remove(*axis as usize);
                    out
                }
                Op::Unfold { x, axis, lens, .. } => {
                    let mut out = self.of(*x);
                    let lens: Vec<Inferred> = lens.iter().map(|s| self.known(*s)).collect();
                    out.splice(*axis as usize..=*axis as usize, lens);
                    out
                }
                Op::Convolve { x, filters, places, .. } => {
                    let (x, filters) = (self.of(*x), self.of(*filters));
                    let places = places.iter().map(|s| self.known(*s));
                    [x[0], x[1], filters[1]].into_iter().chain(places).collect()
                }
                Op::Pool { x, axis, places, .. } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.known(*places);
                    out
                }
                Op::Gather(_, at) => self.of(*at),
                Op::Take { x, axis, at } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.of(*at)[0];
                    out
                }
                Op::Pad { x, .. } => vec![Inferred::UNKNOWN; self.of(*x).len()],
                Op::Fold { columns, .. } => {
                    for (r, c) in n.results.iter().zip(columns) {
                        let mut out = self.of(*c);
                        out.pop();
                        self.set(*r, out);
                    }
                    continue;
                }
                Op::LaneLoop { space, .. } => {
                    let extents: Vec<Inferred> = space.iter().map(|s| self.known(*s)).collect();
                    for r in &n.results {
                        self.set(*r, extents.clone());
                    }
                    continue;
                }
                Op::Scan { columns, .. } => {
                    for (r, c) in n.results.iter().zip(columns) {
                        let out = self.of(*c);
                        self.set(*r, out);
                    }
                    continue;
                }
                Op::Concat(xs, axis) => {
                    let mut out = self.of(xs[0]);
                    out[*axis as usize] = Inferred::UNKNOWN;
                    out
                }
                Op::Contract { left, right, axes, .. } => {
                    let mut out = self.broadcast(&[*left, *right], rank + *axes as usize);
                    out.truncate(rank);
                    out
                }
                Op::Reduce(_, x) | Op::ArgExtreme(_, x) => {
                    let mut out = self.of(*x);
                    out.pop();
                    out
                }
                Op::SegmentReduce { x, .. } | Op::Exclusive(_, x) => {
                    let mut out = self.of(*x);
                    if let Some(n) = out.last_mut() {
                        *n = Inferred::UNKNOWN;
                    }
                    out
                }
                Op::Nonzero(_) => vec![Inferred::UNKNOWN],
            };
            self.set(r, extents);
        }
    }
}
