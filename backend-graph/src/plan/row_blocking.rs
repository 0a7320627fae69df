//! Steps that may go through large tensors together, some rows at a time.
//!
//! An element-wise operation on tensors that neither L1 nor L2 holds takes as long as these take from memory. Where
//! consecutive steps need, of each other's rows along axis 0, the same ones alone, a block of rows goes through all of them
//! while it is in a cache ([`Group`]); what no other step uses exists for a block at a time. A vector that is reduced at the end
//! need not exist as a whole: the totals of blocks are reduced once more.

use crate::counts;
use acc_core::data::ScalarType;
use acc_desugar::graph::{Body, Extent, Graph, Node, Op, ReduceOp, Shapes, Type, Value, Values};
use smallvec::smallvec;
use std::collections::{HashMap, HashSet};

/// Consecutive steps of a body that always run.
#[derive(Debug)]
#[cfg_attr(not(feature = "libtorch"), expect(dead_code, reason = "what executors alone look at"))]
pub(crate) struct Group {
    /// How many steps.
    pub(crate) steps: usize,
    /// What they take from outside row by row.
    pub(crate) cut: Vec<Value>,
    /// What later steps use, with its shape.
    pub(crate) results: Vec<(Value, Vec<Dim>)>,
    /// Reductions of all rows, each of one element.
    pub(crate) totals: Vec<(Value, ReduceOp)>,
    /// How many rows there are.
    pub(crate) rows: Dim,
    /// The shapes that tensors have which its steps make, with the bytes of an element.
    pub(crate) shapes: Vec<(Vec<Dim>, u64)>,
    /// What its steps compute, or move, of as many axes as any of that; none of a value that an operation makes on the way.
    pub(crate) made: Vec<Option<Value>>,
}

impl Group {
    /// Whether blocks are worth it: values that no later step uses need no memory then.
    pub(super) fn pays(&self) -> bool {
        let is_kept = |v: Value| self.results.iter().any(|(r, _)| *r == v);
        self.made.iter().any(|v| !v.is_some_and(is_kept))
    }
}

/// An extent of a group's values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Dim {
    Const(i64),
    /// A size.
    Size(Value),
    /// The extent of a tensor from outside along an axis.
    Of(Value, usize),
}

/// Orders the nodes of a graph so that those which may form groups follow one another; the groups, by the first result of
/// their first node.
pub(super) fn arrange(graph: &mut Graph) -> HashMap<Value, Group> {
    let shapes = Shapes::of(graph);
    let mut found = HashMap::new();
    let body = std::mem::take(&mut graph.body);
    let mut repeated = HashSet::new();
    body.visit(&mut |n: &Node| match &n.op {
        Op::Broadcast(x, _) if shapes.get(*x).first() == Some(&Extent::Const(1)) => {
            repeated.extend(n.results.iter().copied());
        }
        Op::Checked { values, .. } => {
            let same = n.results.iter().zip(values).filter(|(_, v)| repeated.contains(*v)).map(|(r, _)| *r);
            repeated.extend(same.collect::<Values>());
        }
        op if keeps_rows(op) && op.operands().first().is_some_and(|x| repeated.contains(x)) => {
            repeated.extend(n.results.iter().copied());
        }
        _ => {}
    });
    graph.body = Arranger { graph, shapes: &shapes, repeated, found: &mut found }.body(body, &HashSet::new()).0;
    found
}

fn is_view(op: &Op) -> bool {
    matches!(
        op,
        Op::InsertAxes(..)
            | Op::Transpose(..)
            | Op::Broadcast(..)
            | Op::Slice { .. }
            | Op::Select { .. }
            | Op::Checked { .. }
    )
}

/// Whether an operation is a view each of whose rows is one of a row of its operand.
fn keeps_rows(op: &Op) -> bool {
    match op {
        Op::Transpose(_, axes) => axes.first() == Some(&0),
        Op::InsertAxes(_, axes) => axes.first() != Some(&0),
        Op::Select { axis, .. } => *axis > 0,
        op => is_view(op),
    }
}

struct Arranger<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    /// Tensors all of whose rows are the same.
    repeated: HashSet<Value>,
    found: &'a mut HashMap<Value, Group>,
}

/// What a node needs to be in a group.
struct Needs {
    rows: Extent,
    /// Operands of which it needs the same rows.
    cut: Vec<Value>,
    /// Operands that it needs as they are.
    whole: Vec<Value>,
    /// The reduction of all rows that it is, of a vector that the group makes.
    total: Option<ReduceOp>,
}

/// A group that may get more nodes.
#[derive(Default)]
struct Open {
    nodes: Vec<Node>,
    /// How many of them always run.
    steps: usize,
    /// The results of these.
    results: Vec<Value>,
    totals: Vec<(Value, ReduceOp)>,
    /// Those whose shapes tensors have that it makes.
    shaped: Vec<Value>,
    /// What it makes, each with its rank; none of what an operation makes on the way.
    made: Vec<(Option<Value>, usize)>,
    rows: Option<Extent>,
    defined: HashSet<Value>,
    cut: HashSet<Value>,
    whole: HashSet<Value>,
    /// Where the extents of its values are found.
    dims: HashMap<Extent, Dim>,
}

impl Arranger<'_> {
    /// The body in order, and the values that it uses from outside; `lazy` are those around it that are evaluated on
    /// demand.
    fn body(&mut self, mut body: Body, lazy: &HashSet<Value>) -> (Body, HashSet<Value>) {
        let strict = body.strict();
        let mut lazy = lazy.clone();
        for (n, _) in body.nodes.iter().zip(&strict).filter(|(_, strict)| !**strict) {
            lazy.extend(n.results.iter().copied());
        }
        let mut used: HashSet<Value> = body.results.iter().copied().collect();
        let (mut out, mut open) = (Vec::with_capacity(body.nodes.len()), Open::default());
        let nodes = std::mem::take(&mut body.nodes);
        for (mut n, strict) in nodes.into_iter().zip(strict) {
            let mut inner = HashSet::new();
            for b in n.op.bodies_mut() {
                let (arranged, captured) = acc_core::grow_stack(|| self.body(std::mem::take(b), &lazy));
                *b = arranged;
                inner.extend(captured);
            }
            let operands = n.op.operands();
            used.extend(operands.iter().chain(&inner).copied());
            let depends = operands.iter().chain(&inner).any(|v| open.defined.contains(v));
            // What is evaluated on demand runs nowhere in particular.
            if !strict {
                if depends {
                    open.take(n)
                } else {
                    out.push(n)
                }
                continue;
            }
            if !depends && self.is_light(&n) {
                out.push(n);
                continue;
            }
            let on_demand = operands.iter().chain(&inner).any(|v| lazy.contains(v));
            match self.needs(&n).filter(|_| !on_demand) {
                Some(needs) => self.enter(&mut open, n, needs, &mut out),
                None => {
                    self.close(&mut open, &mut out);
                    out.push(n);
                }
            }
        }
        self.close(&mut open, &mut out);
        for n in &out {
            n.results.iter().for_each(|r| _ = used.remove(r));
        }
        body.params.iter().for_each(|p| _ = used.remove(p));
        body.nodes = out;
        (body, used)
    }

    /// Whether a node costs nearly nothing and stops no run, so that it may as well run before a group.
    fn is_light(&self, n: &Node) -> bool {
        match &n.op {
            Op::Size(_) | Op::Const(_) | Op::SizeOp(..) | Op::Argument(_) | Op::Outside { .. } => true,
            Op::Extent(..) | Op::FromSize(_) | Op::Iota { .. } => true,
            // What the host has found is no later for what element-wise operations do in between.
            Op::Fault { bad, .. } => self.graph.ty(*bad) == Type::Size,
            // Faults are raised in the order of the statements.
            Op::Checked { .. } => false,
            Op::Prim(p, _) if p.is_partial() => false,
            Op::Prim(..) | Op::Cast(..) | Op::Clip { .. } | Op::Where(..) => {
                n.results.iter().all(|r| matches!(self.shapes.get(*r).first(), None | Some(Extent::Const(1))))
            }
            op => is_view(op),
        }
    }

    /// What a node needs to be in a group; none if it cannot be.
    fn needs(&self, n: &Node) -> Option<Needs> {
        let shape = self.shapes.get(*n.results.first()?);
        if let (Op::Reduce(op, x), []) = (&n.op, shape) {
            return self.needs_of_total(*op, *x);
        }
        if let Op::Fault { bad, .. } = &n.op {
            return Some(Needs { rows: self.rows(*bad)?, cut: vec![*bad], whole: Vec::new(), total: None });
        }
        let rows = self.rows(*n.results.first()?)?;
        let mut whole = Vec::new();
        // The operands that broadcast to a rank.
        let (along, rank): (Values, usize) = match &n.op {
            Op::Prim(_, xs) => (xs.clone(), shape.len()),
            Op::Checked { values, .. } if n.results.iter().all(|r| self.rows(*r) == Some(rows)) => {
                (values.clone(), shape.len())
            }
            Op::Where(c, t, e) => (smallvec![*c, *t, *e], shape.len()),
            Op::Cast(x, _)
            | Op::Bitcast(x, _)
            | Op::Clip { x, .. }
            | Op::Clamp(x, _)
            | Op::Divisor(x)
            | Op::InBounds { at: x, .. }
            | Op::Broadcast(x, _) => (smallvec![*x], shape.len()),
            Op::Gather(source, at) => {
                whole.push(*source);
                (smallvec![*at], shape.len())
            }
            Op::Take { x, axis: 0, at } => {
                whole.push(*x);
                (smallvec![*at], 1)
            }
            Op::Take { x, at, .. } => {
                whole.push(*at);
                (smallvec![*x], shape.len())
            }
            Op::Softmax { x, axis: 1.., .. } | Op::Flip(x, 1..) | Op::Slice { x, axis: 1.., .. } => {
                (smallvec![*x], shape.len())
            }
            Op::Normalize { x, axes, scale, shift, .. } if axes.first() != Some(&0) => {
                (std::iter::once(*x).chain(*scale).chain(*shift).collect(), shape.len())
            }
            Op::Cumulative(_, x) if shape.len() > 1 => (smallvec![*x], shape.len()),
            Op::Transpose(x, axes) if axes.first() == Some(&0) => (smallvec![*x], shape.len()),
            Op::InsertAxes(x, axes) if axes.first() != Some(&0) => (smallvec![*x], shape.len() - axes.len()),
            Op::Reduce(_, x) | Op::ArgExtreme(_, x) | Op::Select { x, axis: 1.., .. } => {
                (smallvec![*x], shape.len() + 1)
            }
            // Of rows with rows, not with what all rows have.
            Op::Contract { left: a, right: b, mask: None, axes: 1 }
                if [a, b]
                    .iter()
                    .all(|x| self.shapes.get(**x).first() == Some(&rows) && !self.repeated.contains(*x)) =>
            {
                (smallvec![*a, *b], shape.len() + 1)
            }
            _ => return None,
        };
        let mut cut = Vec::new();
        for x in along {
            let shape = self.shapes.get(x);
            match shape.first() {
                None => whole.push(x),
                Some(Extent::Const(1)) if shape.len() == rank => whole.push(x),
                Some(e) if shape.len() == rank && *e == rows => cut.push(x),
                Some(_) => return None,
            }
        }
        Some(Needs { rows, cut, whole, total: None })
    }

    /// How many rows a tensor has, where that is more than one.
    fn rows(&self, x: Value) -> Option<Extent> {
        self.shapes.get(x).first().copied().filter(|e| !matches!(e, Extent::Const(1) | Extent::Unknown))
    }

    /// What the reduction of a vector needs to be in a group.
    fn needs_of_total(&self, op: ReduceOp, x: Value) -> Option<Needs> {
        let Type::Tensor { scalar, .. } = self.graph.ty(x) else { return None };
        let rows = self.rows(x)?;
        // Half floats are added in wider ones, and rounded once.
        (scalar != ScalarType::F16).then(|| Needs { rows, cut: vec![x], whole: Vec::new(), total: Some(op) })
    }

    /// Whether a node can follow those of a group.
    fn fits(&self, open: &Open, n: &Node, needs: &Needs) -> bool {
        let is_known =
            |e: &Extent| matches!(e, Extent::Const(_)) || open.dims.contains_key(e) || self.source(n, *e).is_some();
        open.rows.is_none_or(|rows| rows == needs.rows)
            && needs.cut.iter().all(|v| !open.whole.contains(v))
            && needs.whole.iter().all(|v| !open.cut.contains(v) && !open.defined.contains(v))
            && needs.whole.iter().all(|v| !needs.cut.contains(v))
            && (needs.total.is_none() || needs.cut.iter().all(|v| open.defined.contains(v)))
            && n.results.iter().flat_map(|r| self.shapes.get(*r)).all(is_known)
    }

    /// Where an extent of a node's result is found: among what it takes from outside.
    fn source(&self, n: &Node, e: Extent) -> Option<Dim> {
        if e == Extent::Unknown {
            return None;
        }
        for v in n.op.operands() {
            if let Some(axis) = self.shapes.get(v).iter().position(|known| *known == e) {
                return Some(Dim::Of(v, axis));
            }
        }
        let result = self.shapes.get(*n.results.first()?);
        let of = |sizes: &[Value]| result.iter().position(|known| *known == e).and_then(|k| sizes.get(k)).copied();
        match &n.op {
            Op::Broadcast(_, sizes) => of(sizes).map(Dim::Size),
            Op::Slice { axis, len, .. } => (result.get(*axis as usize) == Some(&e)).then_some(Dim::Size(*len)),
            _ => None,
        }
    }

    /// Adds a node to a group, or to the next one, if it can be in one.
    fn enter(&mut self, open: &mut Open, n: Node, needs: Needs, out: &mut Vec<Node>) {
        if !self.fits(open, &n, &needs) {
            self.close(open, out);
            if !self.fits(open, &n, &needs) {
                out.push(n);
                return;
            }
        }
        let shaped = shaped(&n);
        for r in n.results.iter().chain(&shaped) {
            for e in self.shapes.get(*r) {
                let known = match e {
                    Extent::Const(n) => Some(Dim::Const(*n)),
                    _ => open.dims.get(e).copied().or_else(|| self.source(&n, *e)),
                };
                // Of what the group computes itself an extent is known by another name.
                open.dims.extend(known.map(|d| (*e, d)));
            }
        }
        open.rows = Some(needs.rows);
        open.cut.extend(needs.cut.into_iter().filter(|v| !open.defined.contains(v)));
        open.whole.extend(needs.whole);
        let rank = |v: Option<&Value>| v.map_or(0, |v| self.shapes.get(*v).len());
        if !is_view(&n.op) {
            open.made.extend(n.results.first().map(|r| (Some(*r), rank(Some(r)))));
        }
        // Rows with rows are multiplied with all of their axes.
        let inner = rank(if let Op::Contract { left, .. } = &n.op { Some(left) } else { n.results.first() });
        open.made.extend(std::iter::repeat_n((None, inner), self.made_inside(&n.op)));
        open.steps += 1;
        open.results.extend(&n.results);
        open.totals.extend(n.results.first().copied().zip(needs.total));
        open.shaped.extend(shaped);
        open.take(n);
    }

    /// How many values an operation makes on the way.
    fn made_inside(&self, op: &Op) -> usize {
        let scalar = |v: &Value| match self.graph.ty(*v) {
            Type::Tensor { scalar, .. } => scalar,
            Type::Size | Type::Token => ScalarType::I64,
        };
        let calls = match op {
            // Rows with rows are multiplied, and then added up.
            Op::Contract { .. } => 2,
            Op::Prim(p, xs) => xs.first().map_or(1, |x| counts::prim(*p, scalar(x), None, false).0),
            Op::Cast(x, to) => counts::cast(scalar(x), *to),
            // One call, whose value is the result.
            _ => 1,
        };
        calls.saturating_sub(1)
    }

    fn close(&mut self, open: &mut Open, out: &mut Vec<Node>) {
        let mut open = std::mem::take(open);
        out.append(&mut open.nodes);
        if let Some(first) = open.results.first().copied()
            && let Some(group) = self.group(open)
        {
            self.found.insert(first, group);
        }
    }

    fn group(&self, open: Open) -> Option<Group> {
        let dims =
            |v: &Value| -> Option<Vec<Dim>> { self.shapes.get(*v).iter().map(|e| open.dims.get(e).copied()).collect() };
        let mut shapes: Vec<(Vec<Dim>, u64)> = Vec::new();
        for v in &open.shaped {
            let Type::Tensor { scalar, .. } = self.graph.ty(*v) else { return None };
            let (shape, bytes) = (dims(v)?, scalar.size() as u64);
            if !shapes.iter().any(|(known, wide)| *known == shape && *wide >= bytes) {
                shapes.push((shape, bytes));
            }
        }
        let rows_of =
            |r: &&Value| self.graph.ty(**r) != Type::Token && !open.totals.iter().any(|(total, _)| total == *r);
        let results = open.results.iter().filter(rows_of).map(|r| Some((*r, dims(r)?))).collect::<Option<_>>()?;
        let mut cut: Vec<Value> = open.cut.into_iter().collect();
        cut.sort_unstable();
        let rows = *open.dims.get(&open.rows?)?;
        let most = open.made.iter().map(|(_, rank)| *rank).max().unwrap_or(0);
        Some(Group {
            steps: open.steps,
            cut,
            results,
            totals: open.totals,
            rows,
            shapes,
            made: open.made.into_iter().filter(|(_, rank)| *rank == most).map(|(v, _)| v).collect(),
        })
    }
}

/// The values of an operation whose shapes tensors have that it makes: none of a view.
fn shaped(n: &Node) -> Values {
    match &n.op {
        // Rows with rows are multiplied before they are added up.
        Op::Contract { left, right, .. } => smallvec![*left, *right],
        op if is_view(op) => Values::new(),
        _ => n.results.first().copied().into_iter().collect(),
    }
}

impl Open {
    fn take(&mut self, n: Node) {
        self.defined.extend(n.results.iter().copied());
        self.nodes.push(n);
    }
}
