//! Scalar code over an index space, under masks.

use super::level::{Level, levels, on_host};
use super::{Flat, Flattener};
use crate::graph::{FaultKind, SizeOp, Type, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, Fun, Node, PrimOp, Region, ScalarOp, Val};
use smallvec::SmallVec;

/// A scalar value in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    /// An integer or `bool` on the host.
    Size(Value),
    /// A tensor: of rank 0 if uniform, else of the space's rank.
    Tensor(Value),
}

/// A scalar function on its way into the graph.
pub(super) struct Lanes<'f> {
    fun: &'f Fun,
    levels: Vec<Level>,
    vals: Vec<Option<Scalar>>,
    /// The extents of the index space.
    space: Values,
    /// The index along each axis, if the function takes it: a read at these is a view.
    iotas: Vec<Value>,
}

impl Flattener<'_> {
    /// The index along each axis of a space, as lanes.
    pub(super) fn iotas(&mut self, space: &[Value]) -> Vec<Value> {
        let rank = space.len();
        (0..rank)
            .map(|axis| {
                let iota = self.b.iota(space[axis]);
                let others = (0..rank as u32).filter(|a| *a as usize != axis).collect();
                self.b.insert_axes(iota, others)
            })
            .collect()
    }

    /// Applies a function to lanes. Its parameters are the space's `iotas`, if it takes the index, then `args`, tensors
    /// of the space's rank.
    pub(super) fn apply(
        &mut self,
        f: &Fun,
        iotas: &[Value],
        args: &[Value],
        space: &[Value],
        mask: Option<Value>,
    ) -> Vec<Scalar> {
        let mut lanes = Lanes {
            fun: f,
            levels: levels(f),
            vals: vec![None; f.types.len()],
            space: space.into(),
            iotas: iotas.to_vec(),
        };
        for (p, a) in f.body.params.iter().zip(iotas.iter().chain(args)) {
            lanes.vals[p.index()] = Some(Scalar::Tensor(*a));
        }
        self.region(&mut lanes, &f.body, mask)
    }

    /// Applies a function to lanes; the results are tensors of the space's rank and extents.
    pub(super) fn map_lanes(
        &mut self,
        f: &Fun,
        iotas: &[Value],
        args: &[Value],
        space: &[Value],
        mask: Option<Value>,
    ) -> Vec<Value> {
        let results = self.apply(f, iotas, args, space, mask);
        let types: Vec<ScalarType> = f.result_types().collect();
        results
            .into_iter()
            .zip(types)
            .map(|(s, ty)| {
                let v = self.tensor(s, ty);
                self.spread(v, space)
            })
            .collect()
    }

    /// A tensor of lanes with the whole space's extents.
    pub(super) fn spread(&mut self, v: Value, space: &[Value]) -> Value {
        let v = self.b.lift(v, space.len());
        self.b.broadcast(v, space)
    }

    /// A closed function's results: on the host where that is possible.
    pub(super) fn closed(&mut self, f: &Fun) -> Vec<Scalar> {
        self.apply(f, &[], &[], &[], None)
    }

    /// A closed function's results as sizes.
    pub(super) fn closed_sizes(&mut self, f: &Fun) -> Values {
        let results = self.closed(f);
        results.into_iter().map(|s| self.size(s)).collect()
    }

    fn size(&mut self, s: Scalar) -> Value {
        match s {
            Scalar::Size(v) => v,
            Scalar::Tensor(v) => {
                let v = self.after_checks(v);
                self.b.read_back(v)
            }
        }
    }

    /// A value that the host is about to look at: the checks made so far come first.
    fn after_checks(&mut self, v: Value) -> Value {
        match self.tokens.last() {
            Some(t) if !t.is_empty() => {
                let tokens = t.clone();
                self.b.checked(&[v], tokens, false)[0]
            }
            _ => v,
        }
    }

    /// A scalar as a tensor; `ty` is its type.
    pub(super) fn tensor(&mut self, s: Scalar, ty: ScalarType) -> Value {
        match s {
            Scalar::Tensor(v) => v,
            Scalar::Size(v) if ty == ScalarType::Bool => match self.b.const_size(v) {
                Some(n) => self.b.bool(n != 0),
                None => {
                    let (x, zero) = (self.b.tensor_of_size(v), self.b.constant(0i64.lit()));
                    self.b.prim(PrimOp::NeP, &[x, zero])
                }
            },
            Scalar::Size(v) => self.b.tensor_of_size(v),
        }
    }

    /// A scalar at a level, which is its own or above.
    fn raise(&mut self, s: Scalar, ty: ScalarType, level: Level, rank: usize) -> Scalar {
        match level {
            Level::Size => s,
            Level::Uniform => Scalar::Tensor(self.tensor(s, ty)),
            Level::Varying => {
                let v = self.tensor(s, ty);
                Scalar::Tensor(self.b.lift(v, rank))
            }
        }
    }

    fn masked(&mut self, mask: Option<Value>, bad: Value) -> Value {
        match mask {
            Some(m) if self.b.ty(bad) == Type::Size => {
                let bad = self.tensor(Scalar::Size(bad), ScalarType::Bool);
                self.b.and(m, bad)
            }
            Some(m) => self.b.and(m, bad),
            None => bad,
        }
    }

    /// Notes a check of the current statement as a whole, not of an expression in it.
    pub(super) fn check_stmt(&mut self, kind: FaultKind, bad: Value, space: &[Value], details: Vec<Value>) {
        let loc = self.loc.clone();
        self.b.at(&loc);
        self.check(kind, bad, space, details);
    }

    /// Notes a check of the current expression.
    pub(super) fn check(&mut self, kind: FaultKind, bad: Value, space: &[Value], details: Vec<Value>) {
        if self.b.const_size(bad) == Some(0) || self.b.const_bool(bad) == Some(false) {
            return;
        }
        let site = self.sites;
        self.sites += 1;
        let token = self.b.fault(kind, bad, space, details, site);
        if let Some(t) = self.tokens.last_mut() {
            t.push(token);
        }
    }

    fn region(&mut self, lanes: &mut Lanes<'_>, r: &Region, mask: Option<Value>) -> Vec<Scalar> {
        for n in &r.nodes {
            self.b.at(&n.loc);
            let results = self.node(lanes, n, mask);
            for (v, s) in n.results.iter().zip(results) {
                lanes.vals[v.index()] = Some(s);
            }
        }
        r.results.iter().map(|v| self.val(lanes, *v)).collect()
    }

    fn val(&mut self, lanes: &Lanes<'_>, v: Val) -> Scalar {
        match lanes.vals[v.index()] {
            Some(s) => s,
            // The verifier has seen every use after its definition.
            None => Scalar::Tensor(self.b.constant(Lit::zero(lanes.fun.ty(v)))),
        }
    }

    fn val_tensor(&mut self, lanes: &Lanes<'_>, v: Val) -> Value {
        let s = self.val(lanes, v);
        self.tensor(s, lanes.fun.ty(v))
    }

    fn node(&mut self, lanes: &mut Lanes<'_>, n: &Node, mask: Option<Value>) -> SmallVec<[Scalar; 2]> {
        let one = |s| SmallVec::from_iter([s]);
        match &n.op {
            ScalarOp::Const(l) => one(match l.ty {
                ScalarType::I64 | ScalarType::Bool => Scalar::Size(self.b.size(l.bits as i64)),
                _ => Scalar::Tensor(self.b.constant(*l)),
            }),
            ScalarOp::Extent { array, axis } => {
                let flat = self.readable(*array, lanes, mask);
                one(Scalar::Size(flat.shape[*axis as usize]))
            }
            ScalarOp::Prim(p, args) => one(self.prim(lanes, *p, args, mask)),
            ScalarOp::Cast(a) => {
                let x = self.val_tensor(lanes, *a);
                one(Scalar::Tensor(self.b.cast(x, lanes.fun.ty(n.results[0]))))
            }
            ScalarOp::Bitcast(a) => {
                let x = self.val_tensor(lanes, *a);
                one(Scalar::Tensor(self.b.bitcast(x, lanes.fun.ty(n.results[0]))))
            }
            ScalarOp::Select { cond, then, else_ } => {
                let [c, t, e] = [*cond, *then, *else_].map(|v| self.val(lanes, v));
                one(match (c, t, e) {
                    (Scalar::Size(c), Scalar::Size(t), Scalar::Size(e)) => Scalar::Size(self.select_size(c, t, e)),
                    _ => {
                        let c = self.tensor(c, ScalarType::Bool);
                        let [t, e] = [*then, *else_].map(|v| self.val_tensor(lanes, v));
                        Scalar::Tensor(self.b.where_(c, t, e))
                    }
                })
            }
            ScalarOp::If { cond, then, else_ } => self.conditional(lanes, n, *cond, then, else_, mask),
            ScalarOp::While { init, test, step } => self.scalar_loop(lanes, n, init, test, step, mask),
            ScalarOp::Index { array, leaves, index } => {
                let flat = self.readable(*array, lanes, mask);
                let index: Vec<Scalar> = index.iter().map(|v| self.val(lanes, *v)).collect();
                let at = Lookup { array: *array, space: &lanes.space, iotas: &lanes.iotas, mask };
                let columns: Vec<Value> = leaves.iter().map(|l| flat.columns[*l as usize]).collect();
                self.read(&at, &flat.shape, &columns, &index).into_iter().map(Scalar::Tensor).collect()
            }
        }
    }

    fn select_size(&mut self, c: Value, t: Value, e: Value) -> Value {
        // e + c (t - e), with c 0 or 1; wrapping, so any sizes will do.
        let d = self.b.size_op(SizeOp::Sub, t, e);
        let d = self.b.size_op(SizeOp::Mul, c, d);
        self.b.size_op(SizeOp::Add, e, d)
    }

    fn prim(&mut self, lanes: &Lanes<'_>, p: PrimOp, args: &[Val], mask: Option<Value>) -> Scalar {
        let scalars: SmallVec<[Scalar; 2]> = args.iter().map(|v| self.val(lanes, *v)).collect();
        let ty = lanes.fun.ty(args[0]);
        if on_host(p, ty) && scalars.iter().all(|s| matches!(s, Scalar::Size(_))) {
            let sizes: SmallVec<[Value; 2]> = scalars.iter().map(|s| self.size(*s)).collect();
            return Scalar::Size(self.host_prim(p, &sizes));
        }
        let mut tensors: SmallVec<[Value; 2]> = scalars.into_iter().map(|s| self.tensor(s, ty)).collect();
        if p.is_partial() {
            tensors[1] = self.divisor(tensors[1], ty, lanes, mask);
        }
        Scalar::Tensor(self.b.prim(p, &tensors))
    }

    fn host_prim(&mut self, p: PrimOp, v: &[Value]) -> Value {
        let (a, b) = (v[0], *v.last().unwrap_or(&v[0]));
        match p {
            PrimOp::AddP => self.b.size_op(SizeOp::Add, a, b),
            PrimOp::SubP => self.b.size_op(SizeOp::Sub, a, b),
            PrimOp::MulP => self.b.size_op(SizeOp::Mul, a, b),
            PrimOp::MinP | PrimOp::AndP => self.b.size_op(SizeOp::Min, a, b),
            PrimOp::MaxP | PrimOp::OrP => self.b.size_op(SizeOp::Max, a, b),
            PrimOp::EqP => self.b.size_op(SizeOp::Eq, a, b),
            PrimOp::LtP => self.b.size_op(SizeOp::Lt, a, b),
            PrimOp::GtP => self.b.size_op(SizeOp::Lt, b, a),
            PrimOp::NeP => {
                let eq = self.b.size_op(SizeOp::Eq, a, b);
                self.b.not_size(eq)
            }
            PrimOp::LeP => {
                let gt = self.b.size_op(SizeOp::Lt, b, a);
                self.b.not_size(gt)
            }
            PrimOp::GeP => {
                let lt = self.b.size_op(SizeOp::Lt, a, b);
                self.b.not_size(lt)
            }
            PrimOp::NegP => {
                let zero = self.b.size(0);
                self.b.size_op(SizeOp::Sub, zero, a)
            }
            // `on_host` lets no other operation through; not is the last.
            _ => self.b.not_size(a),
        }
    }

    /// A divisor that is never zero: where it was, a fault is noted for lanes that are on.
    fn divisor(&mut self, y: Value, ty: ScalarType, lanes: &Lanes<'_>, mask: Option<Value>) -> Value {
        let zero = Lit::zero(ty);
        if let Some(crate::graph::Op::Const(l)) = self.b.def(y)
            && *l != zero
        {
            return y;
        }
        let (zero, one) = (self.b.constant(zero), self.b.constant(Lit::one(ty)));
        let is_zero = self.b.prim(PrimOp::EqP, &[y, zero]);
        let bad = self.masked(mask, is_zero);
        self.check(FaultKind::DivisionByZero, bad, &lanes.space.clone(), vec![]);
        self.b.where_(is_zero, one, y)
    }

    // ---- conditionals

    fn conditional(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        cond: Val,
        then: &Region,
        else_: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let c = self.val(lanes, cond);
        let level = lanes.levels[cond.index()];
        let trivial =
            |r: &Region| r.nodes.len() <= 4 && r.nodes.iter().all(|n| !n.op.is_partial() && n.op.regions().is_empty());
        if level == Level::Varying || (level == Level::Uniform && trivial(then) && trivial(else_)) {
            return self.select_lanes(lanes, n, c, then, else_, mask);
        }
        // The condition is the same for all lanes: a branch of the graph.
        let c = match c {
            Scalar::Size(v) => v,
            Scalar::Tensor(v) => self.after_checks(v),
        };
        let bodies = [then, else_].map(|r| {
            self.open();
            let results = self.region(lanes, r, mask);
            let results = self.results_at(lanes, &n.results, results);
            self.close(results, &lanes.space.clone())
        });
        let [t, e] = bodies;
        let results = self.b.if_(c, t, e);
        self.scalars_of(&results)
    }

    /// Both branches, each under its mask, joined.
    fn select_lanes(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        c: Scalar,
        then: &Region,
        else_: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let c = self.tensor(c, ScalarType::Bool);
        let sides = [(then, false), (else_, true)].map(|(r, negate)| {
            // Code that cannot fault needs no mask.
            let m = r.is_partial().then(|| {
                let on = if negate { self.b.not(c) } else { c };
                self.masked(mask, on)
            });
            self.region(lanes, r, m.or(mask))
        });
        let mut out = SmallVec::new();
        for (k, v) in n.results.iter().enumerate() {
            let ty = lanes.fun.ty(*v);
            let (t, e) = (self.tensor(sides[0][k], ty), self.tensor(sides[1][k], ty));
            out.push(Scalar::Tensor(self.b.where_(c, t, e)));
        }
        out
    }

    /// Values as the levels of these results ask.
    fn results_at(&mut self, lanes: &Lanes<'_>, results: &[Val], scalars: Vec<Scalar>) -> Vec<Value> {
        let rank = lanes.space.len();
        results
            .iter()
            .zip(scalars)
            .map(|(v, s)| match self.raise(s, lanes.fun.ty(*v), lanes.levels[v.index()], rank) {
                Scalar::Size(v) | Scalar::Tensor(v) => v,
            })
            .collect()
    }

    pub(super) fn scalars_of(&self, values: &[Value]) -> SmallVec<[Scalar; 2]> {
        values.iter().map(|v| if self.b.ty(*v) == Type::Size { Scalar::Size(*v) } else { Scalar::Tensor(*v) }).collect()
    }

    /// Opens a body inside the current one.
    pub(super) fn open(&mut self) {
        self.b.open();
        self.tokens.push(Vec::new());
    }

    /// Closes it; its results wait for the checks made in it.
    pub(super) fn close(&mut self, results: Vec<Value>, space: &[Value]) -> crate::graph::Body {
        let tokens = self.tokens.pop().unwrap_or_default();
        let results = if tokens.is_empty() {
            results
        } else {
            // Of a single lane the first fault in time is the first in order, so the run may end with it.
            self.b.checked(&results, tokens, space.is_empty()).to_vec()
        };
        self.b.close(results)
    }

    // ---- loops

    fn scalar_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        init: &[Val],
        test: &Region,
        step: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let rank = lanes.space.len();
        let mut state = Vec::new();
        for (v, r) in init.iter().zip(&n.results) {
            let s = self.val(lanes, *v);
            match self.raise(s, lanes.fun.ty(*v), lanes.levels[r.index()], rank) {
                Scalar::Size(v) | Scalar::Tensor(v) => state.push(v),
            }
        }
        let varying = lanes.levels[test.results[0].index()] == Level::Varying;
        let partial = test.is_partial() || step.is_partial();
        if varying || (rank > 0 && partial) || mask.is_some() {
            return self.masked_loop(lanes, state, test, step, mask, varying);
        }
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        let space = lanes.space.clone();
        self.open();
        let params = self.b.params(&types);
        self.bind(lanes, &test.params, &params);
        let t = self.region(lanes, test, None);
        let t = match t[0] {
            Scalar::Size(v) | Scalar::Tensor(v) => v,
        };
        let test_body = self.close(vec![t], &space);
        self.open();
        let params = self.b.params(&types);
        self.bind(lanes, &step.params, &params);
        let s = self.region(lanes, step, None);
        let s = self.results_at(lanes, &n.results, s);
        let step_body = self.close(s, &space);
        let results = self.b.while_(&state, test_body, step_body);
        self.scalars_of(&results)
    }

    fn bind(&mut self, lanes: &mut Lanes<'_>, params: &[Val], values: &[Value]) {
        for (p, s) in params.iter().zip(self.scalars_of(values)) {
            lanes.vals[p.index()] = Some(s);
        }
    }

    /// A loop on the lanes that are on and whose test holds, until there are none. Lanes with a fault, and those after
    /// the first of these, stop.
    fn masked_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        mut state: Vec<Value>,
        test: &Region,
        step: &Region,
        mask: Option<Value>,
        varying: bool,
    ) -> SmallVec<[Scalar; 2]> {
        let (rank, space) = (lanes.space.len(), lanes.space.clone());
        if varying {
            // Lanes leave the loop at different times, so each has a state of its own.
            for v in &mut state {
                let s = self.scalars_of(&[*v])[0];
                let ty = self.b.scalar(*v);
                let t = self.tensor(s, ty);
                *v = self.spread(t, &space);
            }
        }
        let on = mask.unwrap_or_else(|| self.b.bool(true));
        let on = self.b.lift(on, rank);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        // Which lanes enter the first step.
        let active = self.loop_test(lanes, test, &state, on, &space);
        let mut init = vec![active];
        init.extend(&state);
        self.open();
        let active = self.b.param(Type::Tensor { scalar: ScalarType::Bool, rank });
        self.b.params(&types);
        let any = self.b.any(active);
        let test_body = self.close(vec![any], &space);
        self.open();
        let active = self.b.param(Type::Tensor { scalar: ScalarType::Bool, rank });
        let params = self.b.params(&types);
        self.bind(lanes, &step.params, &params);
        let next = self.region(lanes, step, Some(active));
        let mut results = Vec::new();
        for ((old, new), ty) in params.iter().zip(next).zip(&types) {
            let v = match (ty, new) {
                (Type::Size, Scalar::Size(v)) => v,
                _ => {
                    let scalar = self.b.scalar(*old);
                    let new = self.tensor(new, scalar);
                    let old_rank = self.b.rank(*old);
                    let new = self.b.lift(new, old_rank);
                    if varying { self.b.where_(active, new, *old) } else { new }
                }
            };
            results.push(v);
        }
        let next_active = self.loop_test(lanes, test, &results, active, &space);
        results.insert(0, next_active);
        let tokens = self.tokens.pop().unwrap_or_default();
        debug_assert!(tokens.is_empty(), "the loop's test has taken the checks");
        let step_body = self.b.close(results);
        let results = self.b.while_(&init, test_body, step_body);
        self.scalars_of(&results[1..])
    }

    /// The lanes of `on` without a fault so far for which the loop goes on.
    fn loop_test(
        &mut self,
        lanes: &mut Lanes<'_>,
        test: &Region,
        state: &[Value],
        on: Value,
        space: &[Value],
    ) -> Value {
        let on = self.confined(on, space);
        self.bind(lanes, &test.params, state);
        let t = self.region(lanes, test, Some(on));
        let t = self.tensor(t[0], ScalarType::Bool);
        let t = self.b.and(on, t);
        self.confined(t, space)
    }

    /// A mask without the lanes that the checks made in this body have stopped.
    fn confined(&mut self, mask: Value, space: &[Value]) -> Value {
        let inner = self.tokens.len() > 1;
        let tokens = match self.tokens.last_mut() {
            // In a statement's own body the checks stay, for its end to raise what they found.
            Some(t) if !inner => t.clone(),
            Some(t) => std::mem::take(t),
            None => Vec::new(),
        };
        if tokens.is_empty() { mask } else { self.b.confine(mask, tokens, space) }
    }

    // ---- reads

    /// An array that lanes may read. One that nothing else needs is evaluated only if a lane demands it.
    fn readable(&mut self, a: ArrayId, lanes: &Lanes<'_>, mask: Option<Value>) -> Flat {
        let flat = self.array(a);
        if self.eager.contains(&a) || (mask.is_none() && lanes.space.is_empty()) {
            return flat;
        }
        let cond = match mask {
            Some(m) => self.b.any(m),
            None => {
                let n = self.b.product(&lanes.space.clone());
                let zero = self.b.size(0);
                self.b.size_op(SizeOp::Lt, zero, n)
            }
        };
        if self.b.const_size(cond).is_some_and(|c| c != 0) {
            return flat;
        }
        let ty = self.program.ty(a).clone();
        self.b.open();
        let then = self.b.close(flat.shape.iter().chain(&flat.columns).copied().collect());
        self.b.open();
        let zero = self.b.size(0);
        let shape: Values = flat.shape.iter().map(|_| zero).collect();
        let mut values = shape.to_vec();
        for s in ty.elt.leaves() {
            let x = self.b.constant(Lit::zero(s));
            values.push(self.b.full(x, &shape));
        }
        let else_ = self.b.close(values);
        let values = self.b.if_(cond, then, else_);
        self.flat_of(&ty, &values)
    }

    /// Reads columns of an array at an index: a view where the index is the lanes' own, else a gather.
    pub(super) fn read(&mut self, at: &Lookup<'_>, shape: &[Value], columns: &[Value], index: &[Scalar]) -> Vec<Value> {
        if let Some(axes) = self.axes_of(at, shape, index) {
            return columns.iter().map(|c| self.view(*c, &axes, at.space.len())).collect();
        }
        let mut bad: Option<Scalar> = None;
        let mut linear: Option<Value> = None;
        let mut details = Vec::new();
        for (i, n) in index.iter().zip(shape) {
            let n_t = self.b.tensor_of_size(*n);
            let safe = match *i {
                Scalar::Size(i) => {
                    details.push(i);
                    let (out, safe) = self.clamp_size(i, *n);
                    bad = Some(self.either(bad, Scalar::Size(out)));
                    self.b.tensor_of_size(safe)
                }
                Scalar::Tensor(i) if at.axis(i, *n).is_some() => {
                    details.push(i);
                    i
                }
                Scalar::Tensor(i) => {
                    details.push(i);
                    let (out, safe) = self.clamp(i, n_t);
                    bad = Some(self.either(bad, Scalar::Tensor(out)));
                    safe
                }
            };
            linear = Some(match linear {
                Some(k) => {
                    let k = self.b.prim(PrimOp::MulP, &[k, n_t]);
                    self.b.prim(PrimOp::AddP, &[k, safe])
                }
                None => safe,
            });
        }
        if let Some(Scalar::Size(bad) | Scalar::Tensor(bad)) = bad {
            let bad = self.masked(at.mask, bad);
            details.extend(shape);
            self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, bad, at.space, details);
        }
        let linear = match linear {
            Some(k) => k,
            None => self.b.constant(0i64.lit()),
        };
        // A clamped index of one dimension does not say that the others have elements.
        let size = self.b.product(shape);
        let size_t = self.b.tensor_of_size(size);
        let linear = if shape.len() > 1 {
            let (_, k) = self.clamp(linear, size_t);
            k
        } else {
            linear
        };
        columns
            .iter()
            .map(|c| {
                let flat = self.b.reshape(*c, &[size]);
                let flat = self.b.pad_if_empty(flat);
                self.b.gather(flat, linear)
            })
            .collect()
    }

    /// Whether an index component is out of an extent's bounds, and the nearest one in bounds (0 if there is none).
    fn clamp(&mut self, i: Value, n: Value) -> (Value, Value) {
        let (zero, one) = (self.b.constant(0i64.lit()), self.b.constant(1i64.lit()));
        let low = self.b.prim(PrimOp::LtP, &[i, zero]);
        let high = self.b.prim(PrimOp::GeP, &[i, n]);
        let out = self.b.prim(PrimOp::OrP, &[low, high]);
        let last = self.b.prim(PrimOp::SubP, &[n, one]);
        let i = self.b.prim(PrimOp::MinP, &[i, last]);
        (out, self.b.prim(PrimOp::MaxP, &[i, zero]))
    }

    /// The same on the host.
    pub(super) fn clamp_size(&mut self, i: Value, n: Value) -> (Value, Value) {
        let (zero, one) = (self.b.size(0), self.b.size(1));
        let last = self.b.size_op(SizeOp::Sub, n, one);
        let low = self.b.size_op(SizeOp::Lt, i, zero);
        let high = self.b.size_op(SizeOp::Lt, last, i);
        let out = self.b.or_size(low, high);
        let i = self.b.size_op(SizeOp::Min, i, last);
        (out, self.b.size_op(SizeOp::Max, i, zero))
    }

    /// Whether either condition holds.
    fn either(&mut self, a: Option<Scalar>, b: Scalar) -> Scalar {
        match (a, b) {
            (None, b) => b,
            (Some(Scalar::Size(a)), Scalar::Size(b)) => Scalar::Size(self.b.or_size(a, b)),
            (Some(a), b) => {
                let [a, b] = [a, b].map(|s| self.tensor(s, ScalarType::Bool));
                Scalar::Tensor(self.b.prim(PrimOp::OrP, &[a, b]))
            }
        }
    }

    /// The axis of the space that each component of an index runs along, if all do, in bounds and each along another.
    fn axes_of(&mut self, at: &Lookup<'_>, shape: &[Value], index: &[Scalar]) -> Option<Vec<usize>> {
        let mut axes = Vec::new();
        for (i, n) in index.iter().zip(shape) {
            let Scalar::Tensor(v) = i else { return None };
            let axis = at.axis(*v, *n)?;
            if axes.contains(&axis) {
                return None;
            }
            axes.push(axis);
        }
        Some(axes)
    }

    /// A column whose axis `i` runs along axis `axes[i]` of the lanes.
    fn view(&mut self, column: Value, axes: &[usize], rank: usize) -> Value {
        let mut order: Vec<u32> = (0..axes.len() as u32).collect();
        order.sort_by_key(|i| axes[*i as usize]);
        let v = self.b.transpose(column, &order);
        let missing: SmallVec<[u32; 4]> = (0..rank as u32).filter(|a| !axes.contains(&(*a as usize))).collect();
        // An array of rank 0 is the same for all lanes, and stays so.
        if axes.is_empty() { v } else { self.b.insert_axes(v, missing) }
    }
}

/// A read by lanes.
pub(super) struct Lookup<'a> {
    pub(super) array: ArrayId,
    pub(super) space: &'a [Value],
    pub(super) iotas: &'a [Value],
    pub(super) mask: Option<Value>,
}

impl Lookup<'_> {
    /// The axis that an index component runs along, if it is one of the lanes' own and in bounds of `extent`.
    fn axis(&self, component: Value, extent: Value) -> Option<usize> {
        let k = self.iotas.iter().position(|i| *i == component)?;
        (self.space[k] == extent).then_some(k)
    }
}
