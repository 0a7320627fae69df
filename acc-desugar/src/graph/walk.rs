//! Walking graphs: what operations use and define.

use super::{Body, Node, Op, Value};
use smallvec::SmallVec;

impl Op {
    /// The values used directly, not those used inside bodies.
    pub fn operands(&self) -> SmallVec<[Value; 6]> {
        let mut out = SmallVec::new();
        match self {
            Op::Size(_) | Op::Const(_) => {}
            Op::ReadBack(a)
            | Op::Argument(a)
            | Op::Extent(a, _)
            | Op::FromSize(a)
            | Op::Divisor(a)
            | Op::Cast(a, _)
            | Op::Bitcast(a, _)
            | Op::Transpose(a, _)
            | Op::InsertAxes(a, _)
            | Op::Flip(a, _)
            | Op::Pad { x: a, .. }
            | Op::Clip { x: a, .. }
            | Op::Sort(a)
            | Op::Nonzero(a)
            | Op::Reduce(_, a)
            | Op::Softmax { x: a, .. }
            | Op::Cumulative(_, a)
            | Op::Exclusive(_, a)
            | Op::ArgExtreme(_, a)
            | Op::AnyLane(a)
            | Op::If { cond: a, .. } => out.push(*a),
            Op::SizeOp(_, a, b) | Op::Gather(a, b) | Op::Clamp(a, b) | Op::Contract(a, b) => out.extend([*a, *b]),
            Op::InBounds { at, extent, .. } => out.extend([*at, *extent]),
            Op::Normalize { x, scale, shift, .. } => out.extend([*x].into_iter().chain(*scale).chain(*shift)),
            Op::SegmentScan { x, starts, .. } => out.extend([*x, *starts]),
            Op::SegmentReduce { x, at, offsets, .. } => out.extend([*x].into_iter().chain(*at).chain([*offsets])),
            Op::Iota { len, start, step, ty: _ } => out.extend([*len, *start, *step]),
            Op::Outside { base, steps, lens, extent } => {
                out.extend([*base, *extent]);
                out.extend(steps.iter().chain(lens).copied());
            }
            Op::Unfold { x, start, lens, steps } => {
                out.extend([*x, *start]);
                out.extend(lens.iter().chain(steps).copied());
            }
            Op::Where(c, t, e) => out.extend([*c, *t, *e]),
            Op::Prim(_, v) | Op::Concat(v, _) | Op::Fold { columns: v, .. } | Op::Scan { columns: v, .. } => {
                out.extend(v.iter().copied())
            }
            Op::While { init, .. } => out.extend(init.iter().copied()),
            Op::LaneLoop { on, space, init, captured, .. } => {
                out.push(*on);
                out.extend(space.iter().chain(init).chain(captured).copied());
            }
            Op::Reshape(x, shape) | Op::Broadcast(x, shape) => {
                out.push(*x);
                out.extend(shape.iter().copied());
            }
            Op::Slice { x, start, len, .. } => out.extend([*x, *start, *len]),
            Op::Select { x, at, .. } | Op::Take { x, at, .. } => out.extend([*x, *at]),
            Op::Scatter { base, at, values, .. } => out.extend([*base, *at, *values]),
            Op::Fault { bad, space, details, .. } => {
                out.push(*bad);
                out.extend(space.iter().copied());
                out.extend(details.iter().copied());
            }
            Op::Checked { values, tokens, .. } => {
                out.extend(tokens.iter().copied());
                out.extend(values.iter().copied());
            }
            Op::Trace { shown, values, .. } => out.extend(shown.iter().chain(values).copied()),
            Op::Confine { mask, tokens, space } => {
                out.extend(tokens.iter().copied());
                out.push(*mask);
                out.extend(space.iter().copied());
            }
        }
        out
    }

    /// Replaces every value, those inside bodies included.
    pub(crate) fn rename(&mut self, f: &dyn Fn(Value) -> Value) {
        let one = |v: &mut Value| *v = f(*v);
        let all = |vs: &mut [Value]| vs.iter_mut().for_each(one);
        match self {
            Op::Size(_) | Op::Const(_) => {}
            Op::ReadBack(a)
            | Op::Argument(a)
            | Op::FromSize(a)
            | Op::Extent(a, _)
            | Op::Divisor(a)
            | Op::Cast(a, _)
            | Op::Bitcast(a, _)
            | Op::Transpose(a, _)
            | Op::InsertAxes(a, _)
            | Op::Flip(a, _)
            | Op::Pad { x: a, .. }
            | Op::Clip { x: a, .. }
            | Op::Sort(a)
            | Op::Nonzero(a)
            | Op::Reduce(_, a)
            | Op::Softmax { x: a, .. }
            | Op::Cumulative(_, a)
            | Op::Exclusive(_, a)
            | Op::ArgExtreme(_, a)
            | Op::AnyLane(a) => one(a),
            Op::SizeOp(_, a, b) | Op::Gather(a, b) | Op::Clamp(a, b) | Op::Contract(a, b) => {
                [a, b].into_iter().for_each(one)
            }
            Op::InBounds { at, extent, .. } => [at, extent].into_iter().for_each(one),
            Op::Normalize { x, scale, shift, .. } => {
                std::iter::once(x).chain(scale).chain(shift).for_each(one);
            }
            Op::SegmentScan { x, starts, .. } => [x, starts].into_iter().for_each(one),
            Op::SegmentReduce { x, at, offsets, .. } => {
                std::iter::once(x).chain(at).chain([offsets]).for_each(one);
            }
            Op::Iota { len, start, step, ty: _ } => [len, start, step].into_iter().for_each(one),
            Op::Outside { base, steps, lens, extent } => {
                [base, extent].into_iter().for_each(one);
                all(steps);
                all(lens);
            }
            Op::Unfold { x, start, lens, steps } => {
                [x, start].into_iter().for_each(one);
                all(lens);
                all(steps);
            }
            Op::Where(c, t, e) => [c, t, e].into_iter().for_each(one),
            Op::Prim(_, v) | Op::Concat(v, _) => all(v),
            Op::Fold { columns, combine } | Op::Scan { columns, combine } => {
                all(columns);
                acc_core::grow_stack(|| combine.rename(f));
            }
            Op::Reshape(x, shape) | Op::Broadcast(x, shape) => {
                one(x);
                all(shape);
            }
            Op::Slice { x, start, len, .. } => [x, start, len].into_iter().for_each(one),
            Op::Select { x, at, .. } | Op::Take { x, at, .. } => [x, at].into_iter().for_each(one),
            Op::Scatter { base, at, values, .. } => [base, at, values].into_iter().for_each(one),
            Op::If { cond, then, else_ } => {
                one(cond);
                acc_core::grow_stack(|| then.rename(f));
                acc_core::grow_stack(|| else_.rename(f));
            }
            Op::LaneLoop { on, space, init, captured, kept: _, test, step } => {
                one(on);
                all(space);
                all(init);
                all(captured);
                acc_core::grow_stack(|| test.rename(f));
                acc_core::grow_stack(|| step.rename(f));
            }
            Op::While { init, test, step } => {
                all(init);
                acc_core::grow_stack(|| test.rename(f));
                acc_core::grow_stack(|| step.rename(f));
            }
            Op::Fault { bad, space, details, .. } => {
                one(bad);
                all(space);
                all(details);
            }
            Op::Checked { values, tokens, .. } => {
                all(values);
                all(tokens);
            }
            Op::Trace { shown, values, .. } => {
                all(shown);
                all(values);
            }
            Op::Confine { mask, tokens, space } => {
                one(mask);
                all(tokens);
                all(space);
            }
        }
    }

    /// The bodies inside.
    pub fn bodies(&self) -> SmallVec<[&Body; 2]> {
        match self {
            Op::If { then, else_, .. } => smallvec::smallvec![then, else_],
            Op::While { test, step, .. } | Op::LaneLoop { test, step, .. } => smallvec::smallvec![test, step],
            Op::Fold { combine, .. } | Op::Scan { combine, .. } => smallvec::smallvec![combine],
            _ => SmallVec::new(),
        }
    }

    /// The bodies inside.
    pub fn bodies_mut(&mut self) -> SmallVec<[&mut Body; 2]> {
        match self {
            Op::If { then, else_, .. } => smallvec::smallvec![then, else_],
            Op::While { test, step, .. } | Op::LaneLoop { test, step, .. } => smallvec::smallvec![test, step],
            Op::Fold { combine, .. } | Op::Scan { combine, .. } => smallvec::smallvec![combine],
            _ => SmallVec::new(),
        }
    }

    /// The same, its bodies empty: a copy that is as small as the operation itself.
    pub fn without_bodies(&self) -> Op {
        match self {
            Op::If { cond, .. } => Op::If { cond: *cond, then: Body::default(), else_: Body::default() },
            Op::While { init, .. } => Op::While { init: init.clone(), test: Body::default(), step: Body::default() },
            Op::LaneLoop { on, space, init, captured, kept, .. } => Op::LaneLoop {
                on: *on,
                space: space.clone(),
                init: init.clone(),
                captured: captured.clone(),
                kept: kept.clone(),
                test: Body::default(),
                step: Body::default(),
            },
            Op::Fold { columns, .. } => Op::Fold { columns: columns.clone(), combine: Body::default() },
            Op::Scan { columns, .. } => Op::Scan { columns: columns.clone(), combine: Body::default() },
            plain => plain.clone(),
        }
    }
}

impl Body {
    /// Replaces every value, definitions included.
    pub(crate) fn rename(&mut self, f: &dyn Fn(Value) -> Value) {
        self.params.iter_mut().for_each(|v| *v = f(*v));
        for n in &mut self.nodes {
            n.results.iter_mut().for_each(|v| *v = f(*v));
            n.op.rename(f);
        }
        self.results.iter_mut().for_each(|v| *v = f(*v));
    }

    /// Every value defined in the body and those inside it, in order of definition.
    pub(crate) fn definitions(&self, out: &mut Vec<Value>) {
        out.extend(&self.params);
        for n in &self.nodes {
            for b in n.op.bodies() {
                acc_core::grow_stack(|| b.definitions(out));
            }
            out.extend(&n.results);
        }
    }

    /// Calls `f` on every node, those of inner bodies included.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Node)) {
        for n in &self.nodes {
            f(n);
            for b in n.op.bodies() {
                acc_core::grow_stack(|| b.visit(f));
            }
        }
    }
}
