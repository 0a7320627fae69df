//! Shapes as far as they are known before a run: in terms of the graph's sizes.

use super::{Body, Graph, Op, Type, Value};
use std::collections::HashMap;
use std::fmt;

/// An extent, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// A number.
    Const(i64),
    /// A size of the graph.
    Size(Value),
    /// ReduceOp only when the graph runs.
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
}

impl Shapes {
    /// Infers the shapes of a verified graph.
    pub fn of(graph: &Graph) -> Shapes {
        let mut infer = Infer {
            graph,
            extents: graph.types.iter().map(unknown).collect(),
            constants: HashMap::new(),
            origins: HashMap::new(),
        };
        infer.layout(&graph.body.params);
        infer.body(&graph.body);
        Shapes { extents: infer.extents, types: graph.types.clone() }
    }

    /// The extents of a tensor; empty for a size.
    pub fn get(&self, v: Value) -> &[Extent] {
        self.extents.get(v.index()).map_or(&[], Vec::as_slice)
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

fn unknown(ty: &Type) -> Vec<Extent> {
    match ty {
        Type::Tensor { rank, .. } => vec![Extent::Unknown; *rank],
        Type::Size | Type::Token => Vec::new(),
    }
}

struct Infer<'a> {
    graph: &'a Graph,
    extents: Vec<Vec<Extent>>,
    constants: HashMap<Value, i64>,
    /// Sizes that are others, after checks.
    origins: HashMap<Value, Value>,
}

impl Infer<'_> {
    fn set(&mut self, v: Value, extents: Vec<Extent>) {
        self.extents[v.index()] = extents;
    }

    fn of(&self, v: Value) -> Vec<Extent> {
        self.extents[v.index()].clone()
    }

    fn size(&self, v: Value) -> Extent {
        let v = self.origins.get(&v).copied().unwrap_or(v);
        self.constants.get(&v).map_or(Extent::Size(v), |n| Extent::Const(*n))
    }

    /// Arrays lie as their extents followed by their columns: a tensor has the sizes before it.
    fn layout(&mut self, values: &[Value]) {
        let mut sizes: Vec<Extent> = Vec::new();
        let mut after_column = false;
        for &v in values {
            match self.graph.ty(v) {
                Type::Size => {
                    if std::mem::take(&mut after_column) {
                        sizes.clear();
                    }
                    sizes.push(self.size(v));
                }
                Type::Tensor { rank, .. } => {
                    after_column = true;
                    // Extents of an array without columns may stand before.
                    if let Some(start) = sizes.len().checked_sub(rank) {
                        self.set(v, sizes[start..].to_vec());
                    }
                }
                Type::Token => {}
            }
        }
    }

    fn broadcast(&self, operands: &[Value], rank: usize) -> Vec<Extent> {
        let mut out = vec![Extent::Const(1); rank];
        for v in operands {
            let extents = self.of(*v);
            if extents.len() == rank {
                for (o, e) in out.iter_mut().zip(extents) {
                    if *o == Extent::Const(1) || (*o == Extent::Unknown && e != Extent::Const(1)) {
                        *o = e;
                    }
                }
            }
        }
        out
    }

    fn body(&mut self, body: &Body) {
        for n in &body.nodes {
            for b in n.op.bodies() {
                self.layout(&b.params);
                acc_core::grow_stack(|| self.body(b));
            }
            let Some(&r) = n.results.first() else { continue };
            let rank = unknown(&self.graph.ty(r)).len();
            let extents = match &n.op {
                Op::Size(k) => {
                    self.constants.insert(r, *k);
                    continue;
                }
                Op::If { .. } | Op::While { .. } => {
                    self.layout(&n.results);
                    continue;
                }
                Op::Checked { values, .. } | Op::Trace { values, .. } => {
                    for (r, v) in n.results.iter().zip(values) {
                        let origin = self.origins.get(v).copied().unwrap_or(*v);
                        self.origins.insert(*r, origin);
                        let extents = self.of(*v);
                        self.set(*r, extents);
                    }
                    continue;
                }
                Op::Sort(x) => {
                    n.results.iter().for_each(|r| self.set(*r, self.of(*x)));
                    continue;
                }
                Op::SizeOp(..)
                | Op::ReadBack(_)
                | Op::Argument(_)
                | Op::Outside { .. }
                | Op::Extent(..)
                | Op::Fault { .. } => continue,
                Op::FromSize(_) | Op::Const(_) | Op::AnyLane(_) => vec![],
                Op::Iota { len, .. } => vec![self.size(*len)],
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
                Op::Reshape(_, shape) | Op::Broadcast(_, shape) => shape.iter().map(|s| self.size(*s)).collect(),
                Op::Transpose(x, axes) => {
                    let from = self.of(*x);
                    axes.iter().map(|a| from[*a as usize]).collect()
                }
                Op::InsertAxes(x, axes) => {
                    let mut out = self.of(*x);
                    for a in axes {
                        out.insert((*a as usize).min(out.len()), Extent::Const(1));
                    }
                    out
                }
                Op::Slice { x, axis, len, .. } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.size(*len);
                    out
                }
                Op::Select { x, axis, .. } => {
                    let mut out = self.of(*x);
                    out.remove(*axis as usize);
                    out
                }
                Op::Unfold { x, axis, lens, .. } => {
                    let mut out = self.of(*x);
                    let lens: Vec<Extent> = lens.iter().map(|s| self.size(*s)).collect();
                    out.splice(*axis as usize..=*axis as usize, lens);
                    out
                }
                Op::Convolve { x, filters, places, .. } => {
                    let (x, filters) = (self.of(*x), self.of(*filters));
                    let places = places.iter().map(|s| self.size(*s));
                    [x[0], x[1], filters[1]].into_iter().chain(places).collect()
                }
                Op::Pool { x, axis, places, .. } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.size(*places);
                    out
                }
                Op::Gather(_, at) => self.of(*at),
                Op::Take { x, axis, at } => {
                    let mut out = self.of(*x);
                    out[*axis as usize] = self.of(*at)[0];
                    out
                }
                Op::Pad { x, .. } => vec![Extent::Unknown; self.of(*x).len()],
                Op::Fold { columns, .. } => {
                    for (r, c) in n.results.iter().zip(columns) {
                        let mut out = self.of(*c);
                        out.pop();
                        self.set(*r, out);
                    }
                    continue;
                }
                Op::LaneLoop { space, .. } => {
                    let extents: Vec<Extent> = space.iter().map(|s| self.size(*s)).collect();
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
                    out[*axis as usize] = Extent::Unknown;
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
                        *n = Extent::Unknown;
                    }
                    out
                }
                Op::Nonzero(_) => vec![Extent::Unknown],
            };
            self.set(r, extents);
        }
    }
}
