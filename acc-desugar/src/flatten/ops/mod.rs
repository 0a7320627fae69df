//! Statements.

pub(crate) mod chosen;
pub(crate) mod fold;
pub(crate) mod permute;
pub(crate) mod permute_extreme;
pub(crate) mod permute_in_order;
pub(crate) mod segments;
pub(crate) mod sort;
pub(crate) mod stencil;

use crate::flatten::access::read::Lookup;
use crate::flatten::access::read::clamp_size;
use crate::flatten::scalar::Scalar;
use crate::flatten::scalar::spread;
use crate::flatten::scope::Flat;
use crate::flatten::{Faults, Flattener, flat_types};
use crate::graph::builder::Builder;
use crate::graph::{Body, FaultKind, Op, SizeOp, Type, Value, Values};
use acc_core::ir::{
    ArrayId, ArrayOp, Axis, Block, Closed, Extents, ForeignFun, Fun, OpPart, Sizes, Stmt, result_extents,
    strict_statements,
};
use smallvec::SmallVec;
use std::convert::Infallible;
use std::sync::Arc;

impl Flattener<'_> {
    /// The statements of a block, in the innermost body.
    pub(crate) fn statements(&mut self, block: &Block) {
        let strict = strict_statements(&block.stmts, &block.results);
        for (s, strict) in block.stmts.iter().zip(&strict) {
            if *strict {
                self.scope.eager.extend(s.results.iter().copied());
            }
        }
        self.each_statement(block);
    }

    fn each_statement(&mut self, block: &Block) {
        for s in &block.stmts {
            let around = self.b.source(s.operation(), &s.loc);
            let outer = self.checks.begin(&s.loc);
            let stopped = self.stopped_stmt(s);
            let flats = stopped.unwrap_or_else(|| acc_core::grow_stack(|| self.stmt(s)));
            self.b.at(&s.loc);
            let flats = match self.checks.end(outer) {
                Some(tokens) => self.checked(flats, tokens),
                None => flats,
            };
            for (a, flat) in s.results.iter().zip(flats) {
                if self.scope.eager.contains(a) {
                    flat.values().for_each(|v| self.b.set_total(v));
                    let bytes = self.program.ty(*a).elt.size();
                    self.scope.note_shape(&self.b, &flat.shape, bytes);
                }
                self.scope.define(*a, flat);
            }
            self.b.resume(around);
        }
    }

    /// The arrays, after the statement's checks.
    fn checked(&mut self, flats: Vec<Flat>, tokens: Vec<Value>) -> Vec<Flat> {
        // Extents too: an array without columns has nothing else, and extents may depend on what was checked.
        let all: Vec<Value> = flats.iter().flat_map(Flat::values).collect();
        let values = self.b.checked(&all, tokens, true);
        for (before, after) in all.iter().zip(&values) {
            if self.scope.extents.contains(before) {
                self.scope.extents.insert(*after);
            }
        }
        let mut rest = &values[..];
        flats
            .iter()
            .map(|f| {
                let (shape, tail) = rest.split_at(f.shape.len());
                let (columns, tail) = tail.split_at(f.columns.len());
                rest = tail;
                // Without columns the extents are all that can wait for the checks. Where the first fault is looked for, so
                // do the extents of all arrays: to look at one needs the array, before whoever looks can find a fault.
                let wait = columns.is_empty() || self.faults() == Faults::Report;
                let shape = if wait { shape.into() } else { f.shape.clone() };
                Flat { shape, columns: columns.into() }
            })
            .collect()
    }

    fn stmt(&mut self, s: &Stmt) -> Vec<Flat> {
        match &s.op {
            ArrayOp::Generate { shape: _, f } => {
                let space = self.extents_of(s);
                let columns = self.map_lanes(f, true, &[], &space, None);
                vec![Flat { shape: space, columns: columns.into() }]
            }
            ArrayOp::Map { f, xs, indexed } => vec![self.map(f, xs, *indexed, s)],
            ArrayOp::Fold { f, init, xs } => vec![self.fold(f, init.as_ref(), *xs)],
            ArrayOp::FoldSeg { f, init, xs, offsets } => vec![self.fold_seg(f, init.as_ref(), *xs, *offsets)],
            ArrayOp::Scan { dir, f, init, xs } => vec![self.scan(*dir, f, init.as_ref(), *xs)],
            ArrayOp::Permute { combine, defaults, target, xs } => {
                vec![self.permute(combine, *defaults, target, *xs, s.results[0])]
            }
            ArrayOp::Backpermute { shape: _, index, xs } => {
                let space = self.extents_of(s);
                let from = self.array(*xs);
                let loc = self.checks.loc.clone();
                let mut read = |this: &mut Self, index: Vec<Scalar>, space: &[Value]| -> Vec<Value> {
                    let at = Lookup { array: *xs, space, mask: None };
                    this.b.at(&loc);
                    let columns = this.read(&at, &from.shape, &from.columns, &index);
                    columns.into_iter().map(|c| spread(&mut this.b, c, space)).collect()
                };
                let columns = self.over_split_space(index, true, &[], &space, &mut read);
                vec![Flat { shape: space, columns: columns.into() }]
            }
            ArrayOp::Stencil { f, inputs } => vec![self.stencil(f, inputs, s)],
            ArrayOp::Argsort { xs } => vec![self.argsort(*xs)],
            ArrayOp::Check { ok, message, xs } => vec![self.check_array(ok, message, *xs)],
            ArrayOp::Reshape { shape: _, xs } => {
                let from = self.array(*xs);
                let to = self.extents_of(s);
                let (a, b) = (self.b.product(&from.shape), self.b.product(&to));
                let same = self.b.size_op(SizeOp::Eq, a, b);
                let bad = self.b.not_size(same);
                let details = from.shape.iter().chain(&to).copied().collect();
                self.check_stmt(FaultKind::ReshapeSize { from: from.shape.len() as u32 }, bad, &[], details);
                let checked = self.after_raise(&to);
                let columns = from.columns.iter().map(|c| self.b.reshape(*c, &checked)).collect();
                vec![Flat { shape: to, columns }]
            }
            ArrayOp::Replicate { axes, extents: _, xs } => vec![self.replicate(axes, *xs, s)],
            ArrayOp::Slice { axes, index, xs } => vec![self.slice(axes, index, *xs)],
            ArrayOp::Compute { xs, .. } => vec![self.array(*xs)],
            ArrayOp::Foreign { function: ForeignFun::Host(_), xs, fallback } => {
                for (p, x) in fallback.params.iter().zip(xs) {
                    let flat = self.array(*x);
                    self.scope.define(*p, flat);
                    if self.scope.eager.contains(x) {
                        self.scope.eager.insert(*p);
                    }
                }
                // What the fallback certainly needs is certainly needed only where the statement is.
                if s.results.iter().any(|r| self.scope.eager.contains(r)) {
                    self.statements(fallback);
                } else {
                    self.each_statement(fallback);
                }
                fallback.results.iter().map(|a| self.array(*a)).collect()
            }
            ArrayOp::Foreign { function: ForeignFun::Trace(message), xs, .. } => {
                let (shown, rest) = xs.split_at(xs.len() - s.results.len());
                let types = shown.iter().map(|a| self.program.ty(*a).clone()).collect();
                let (shown, values) = (self.scope.values(shown), self.scope.values(rest));
                let values = self.b.trace(message.clone(), types, &shown, &values);
                self.split(&s.results, &values)
            }
            ArrayOp::If { cond, then, else_ } => {
                let cond = match self.closed(cond)[..] {
                    [s] => {
                        let v = self.indices.value(&mut self.b, s);
                        self.after_raise(&[v])[0]
                    }
                    _ => self.b.bool(true),
                };
                let [then, else_] = [then, else_].map(|b| self.body(b, &[]));
                let values = self.b.if_(cond, then, else_);
                self.split(&s.results, &values)
            }
            ArrayOp::While { init, test, step } => self.array_loop(init, test, step, &s.results),
            ArrayOp::Derivative { .. } | ArrayOp::Ruled { .. } => unreachable!("the first pass expands derivatives"),
        }
    }

    /// An array whose extents, too, are had only if a condition holds.
    fn check_array(&mut self, ok: &Fun, message: &Arc<str>, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let answer = self.closed(ok);
        let mut answer = answer.into_iter().map(|s| self.indices.value(&mut self.b, s)).collect::<Vec<_>>().into_iter();
        if let Some(ok) = answer.next() {
            let bad = if self.b.ty(ok) == Type::Size { self.b.not_size(ok) } else { self.b.not(ok) };
            self.check_stmt(FaultKind::CheckFailed { message: message.clone() }, bad, &[], answer.collect());
        }
        let (shape, columns) = (self.after_raise(&from.shape), self.after_raise(&from.columns));
        self.scope.extents.extend(shape.iter().copied());
        Flat { shape, columns }
    }

    /// The extents of a statement's result. Those that a closed function yields may be negative or too large, which are
    /// faults.
    pub(crate) fn extents_of(&mut self, s: &Stmt) -> Values {
        let Ok(extents) = result_extents(&s.op, &mut Operands { flattener: self, op: &s.op });
        let extents: Values = extents.unwrap_or_default().into_iter().collect();
        let computed = s.op.parts().iter().any(|part| matches!(part, OpPart::Fun(_, Closed::Extents, _)));
        if computed && !matches!(s.op, ArrayOp::Slice { .. }) { self.valid_shape(&extents, s) } else { extents }
    }

    /// Negative extents are faults; returns whether any might be one.
    fn check_extents_of(&mut self, sizes: &[Value]) -> bool {
        let (zero, mut negative) = (self.b.size(0), self.b.size(0));
        let mut unknown = false;
        for s in sizes {
            let constant = self.b.const_size(*s);
            if self.scope.extents.contains(s) || constant.is_some_and(|n| n >= 0) {
                continue;
            }
            unknown = true;
            let bad = self.b.size_op(SizeOp::Lt, *s, zero);
            negative = self.b.or_size(negative, bad);
        }
        self.check_stmt(FaultKind::NegativeExtent, negative, &[], sizes.to_vec());
        unknown
    }

    fn valid_shape(&mut self, sizes: &[Value], s: &Stmt) -> Values {
        let unknown = self.check_extents_of(sizes);
        // What counts are the bytes of an element, all its columns together.
        let bytes: usize = s.results.iter().map(|r| self.program.ty(*r).elt.size()).sum();
        if unknown || sizes.len() > 1 && !self.scope.is_shape(&self.b, sizes, bytes) {
            let n = self.b.product(sizes);
            let limit = self.b.size(isize::MAX as i64 / bytes.max(1) as i64);
            let large = self.b.size_op(SizeOp::Lt, limit, n);
            self.check_stmt(FaultKind::ShapeOverflow, large, &[], sizes.to_vec());
        }
        let sizes = self.after_raise(sizes);
        self.scope.extents.extend(sizes.iter().copied());
        sizes
    }

    fn map(&mut self, f: &Fun, xs: &[ArrayId], indexed: bool, s: &Stmt) -> Flat {
        let flats: Vec<Flat> = xs.iter().map(|x| self.array(*x)).collect();
        let space = self.extents_of(s);
        let mut args = Vec::new();
        for f in &flats {
            for c in &f.columns {
                let whole = narrow(&mut self.b, *c);
                args.push(if f.shape == space { whole } else { cut(&mut self.b, *c, &f.shape, &space) });
            }
        }
        let columns = self.map_lanes(f, indexed, &args, &space, None);
        Flat { shape: space, columns: columns.into() }
    }

    fn replicate(&mut self, axes: &[Axis], xs: ArrayId, s: &Stmt) -> Flat {
        let from = self.array(xs);
        let shape = self.extents_of(s);
        let inserted: SmallVec<[u32; 4]> =
            (0..axes.len() as u32).filter(|i| axes[*i as usize] == Axis::Fixed).collect();
        let columns = from
            .columns
            .iter()
            .map(|c| {
                let c = self.b.insert_axes(*c, inserted.clone());
                self.b.broadcast(c, &shape)
            })
            .collect();
        Flat { shape, columns }
    }

    fn slice(&mut self, axes: &[Axis], index: &Fun, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let fixed = self.closed_sizes(index);
        let mut positions = fixed.iter();
        let (mut bad, mut shape, mut at) = (self.b.size(0), Values::new(), Vec::new());
        let mut details: Vec<Value> = Vec::new();
        for (axis, (a, n)) in axes.iter().zip(&from.shape).enumerate() {
            match (a, positions.clone().next()) {
                (Axis::Fixed, Some(i)) => {
                    positions.next();
                    let (out, safe) = clamp_size(&mut self.b, *i, *n);
                    bad = self.b.or_size(bad, out);
                    at.push((axis as u32, safe));
                    details.push(*i);
                }
                _ => {
                    shape.push(*n);
                    let zero = self.b.size(0);
                    details.push(zero);
                }
            }
        }
        details.extend(&from.shape);
        self.check_stmt(FaultKind::IndexOutOfBounds { array: xs.0 }, bad, &[], details);
        let columns = from
            .columns
            .iter()
            .map(|c| {
                let mut c = self.after_raise(&[*c])[0];
                // The last axis first, so that the others keep their numbers.
                for (axis, position) in at.iter().rev() {
                    c = self.b.select(c, *axis, *position);
                }
                c
            })
            .collect();
        Flat { shape, columns }
    }

    // ---- blocks

    /// A block as a body: its parameters and results as extents and columns.
    fn body(&mut self, block: &Block, params: &[ArrayId]) -> Body {
        self.body_with(
            block,
            |this| params.iter().for_each(|&p| this.array_param(p, this.program.ty(p).elt.size())),
            |_, _| {},
        )
    }

    /// The same of parameters that are added by `params` and of results changed by `finish`.
    pub(crate) fn body_with(
        &mut self,
        block: &Block,
        params: impl FnOnce(&mut Self),
        finish: impl FnOnce(&mut Self, &mut Vec<Value>),
    ) -> Body {
        let (eager, shapes) = (self.scope.eager.clone(), self.scope.shapes.clone());
        self.b.open();
        params(self);
        self.statements(block);
        let mut results = self.scope.values(&block.results);
        finish(self, &mut results);
        (self.scope.eager, self.scope.shapes) = (eager, shapes);
        self.b.close(results)
    }

    /// Arrays from the values of a body.
    pub(crate) fn split(&mut self, arrays: &[ArrayId], values: &[Value]) -> Vec<Flat> {
        let mut rest = values;
        let mut out = Vec::new();
        for a in arrays {
            let ty = self.program.ty(*a).clone();
            let (head, tail) = rest.split_at(flat_types(&ty).len());
            rest = tail;
            out.push(self.flat_of(&ty, head));
        }
        out
    }
}

/// The operands of an operation, and its closed function.
struct Operands<'f, 'p, 'o> {
    flattener: &'f mut Flattener<'p>,
    op: &'o ArrayOp,
}

impl Sizes<'_> for Operands<'_, '_, '_> {
    type Size = Value;
    type Error = Infallible;

    fn of(&self, a: ArrayId) -> Result<Extents<Value>, Infallible> {
        Ok(self.flattener.array(a).shape.into_iter().collect())
    }
    fn closed(&mut self, f: &Fun) -> Result<Extents<Value>, Infallible> {
        let sizes = self.flattener.closed_sizes(f);
        // Those of new axes on their own: a negative one beside an extent of 0 is a fault, too.
        if matches!(self.op, ArrayOp::Replicate { .. }) {
            self.flattener.check_extents_of(&sizes);
        }
        Ok(sizes.into_iter().collect())
    }
    fn least(&mut self, sizes: &[Value]) -> Value {
        let mut all = sizes.iter().copied();
        let first = all.next().unwrap_or_else(|| self.flattener.b.size(0));
        all.fold(first, |least, n| {
            let least = self.flattener.b.size_op(SizeOp::Min, least, n);
            self.flattener.scope.extents.insert(least);
            least
        })
    }
    fn succ(&mut self, n: Value) -> Value {
        let one = self.flattener.b.size(1);
        self.flattener.b.size_op(SizeOp::Add, n, one)
    }
    fn pred(&mut self, n: Value) -> Value {
        let one = self.flattener.b.size(1);
        self.flattener.b.size_op(SizeOp::Sub, n, one)
    }
}

/// What a column repeats, with extents of 1 where it does: as operand of element-wise code it is as good.
fn narrow(b: &mut Builder, column: Value) -> Value {
    let inner = b.beneath_checks(column);
    match b.def(inner) {
        Some(Op::Broadcast(x, _)) if b.rank(*x) == b.rank(column) => {
            let x = *x;
            b.checked_with(column, &[x])[0]
        }
        _ => column,
    }
}

/// The leading part of a column along every axis.
fn cut(g: &mut Builder, column: Value, from: &[Value], to: &[Value]) -> Value {
    let zero = g.size(0);
    let mut c = column;
    for (axis, (a, b)) in from.iter().zip(to).enumerate() {
        if a != b {
            c = g.slice(c, axis as u32, zero, *b, 1);
        }
    }
    c
}
