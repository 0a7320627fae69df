//! The nodes of a body in order: dispatch, and loops.

use crate::kernel::{Body, KernelOp, Node, Op, OpExt as _, Region, region_cost};
use crate::llvm::emit::facts::Facts;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// Vector operations of loops between two polls of the run's limits: a few milliseconds for the slowest ones.
pub(crate) const FUEL_PER_POLL: i64 = 1 << 19;

impl Emitter<'_> {
    pub(crate) fn node(&mut self, n: &Node) {
        match &n.op {
            Op::Const(none) => match *none {},
            Op::Prim(..) if self.defers(n.results[0]) => {}
            Op::Prim(p, args) => {
                let v = self.prim(*p, args, n.results[0]);
                self.scope.set(n.results[0], v);
            }
            Op::Cast(v) => {
                let x = self.cast(*v, n.results[0]);
                self.scope.set(n.results[0], x);
            }
            Op::Bitcast(v) => {
                let x = self.bitcast(*v, n.results[0]);
                let x = self.as_uniformity(x, n.results[0]);
                self.scope.set(n.results[0], x);
            }
            Op::Own(KernelOp::Fma(a, b, c)) => {
                let ty = self.ty(*a);
                let args = [*a, *b, *c];
                let v = self.map_parts(&args, &mut |e, shape, a| e.code.f.fma(ty, shape, [&a[0], &a[1], &a[2]]));
                self.scope.set(n.results[0], v);
            }
            Op::Own(KernelOp::Scale(x, power)) => {
                let v = self.scale(*x, *power);
                self.scope.set(n.results[0], v);
            }
            Op::Own(KernelOp::Unlikely(v)) => {
                self.scope.unlikely.insert(n.results[0]);
                self.scope.set(n.results[0], self.scope.value(*v));
            }
            Op::Own(KernelOp::Table { words, index }) => {
                let v = self.table(words, *index);
                self.scope.set(n.results[0], v);
            }
            Op::Select { cond, then, else_ } => {
                let result = n.results[0];
                let v = match () {
                    () if self.is_added_under(result, *cond) => self.scope.value(*then),
                    () if self.scope.halved.has(result) => self.narrow_select(*cond, [*then, *else_]),
                    () => self.select(*cond, *then, *else_),
                };
                self.scope.set(result, v);
            }
            Op::Own(KernelOp::Scalar { array, position }) => {
                let word = self.code.f.arg(KernelArg::Scalar(*array, *position));
                self.scope.set(n.results[0], Value::Uniform(word));
            }
            Op::Extent { array, axis } => {
                self.code.f.demand(*array);
                let word = self.code.f.arg(KernelArg::ArrayExtent(*array, *axis));
                self.scope.set(n.results[0], Value::Uniform(word));
            }
            Op::Index(l) => {
                self.load(n, l);
                for &r in &n.results {
                    let v = self.scope.value(r);
                    let v = self.as_uniformity(v, r);
                    self.scope.set(r, v);
                }
            }
            Op::Own(KernelOp::Inside { array, index }) => self.inside(n, *array, index),
            Op::Own(KernelOp::Check { array, index }) => self.check(*array, index),
            Op::If { cond, then, else_ } => {
                self.code.bail_out_on_fault();
                self.conditional(n, *cond, then, else_);
            }
            Op::While { init, test, step } => {
                self.code.bail_out_on_fault();
                self.while_loop(n, init, test, step);
            }
            // Bodies with calls are not compiled.
            Op::Own(KernelOp::Call { .. }) => {}
        }
    }

    /// Broadcasts a value if its uniformity says that it varies.
    fn as_uniformity(&mut self, value: Value, v: Val) -> Value {
        match (self.facts.uniformities[v.index()], &value) {
            (Uniformity::Varying, Value::Uniform(_) | Value::Affine(..)) => {
                Value::Varying(self.code.broadcast(&value, element(self.ty(v))))
            }
            _ => value,
        }
    }

    pub(super) fn select(&mut self, cond: Val, then: Val, else_: Val) -> Value {
        let el = element(self.ty(then));
        if self.facts.uniformities[cond.index()] != Uniformity::Uniform {
            return self.map_parts(&[cond, then, else_], &mut |e, shape, a| {
                let (t, flags, [c, x, y]) = (shape.of(el), shape.of("i1"), [&a[0], &a[1], &a[2]]);
                put!(e.code.f, "select {flags} {c}, {t} {x}, {t} {y}")
            });
        }
        // A uniform condition selects whole vectors.
        let c = self.scope.scalar(cond);
        self.map_parts(&[then, else_], &mut |e, shape, a| {
            let (t, x, y) = (shape.of(el), &a[0], &a[1]);
            put!(e.code.f, "select i1 {c}, {t} {x}, {t} {y}")
        })
    }

    /// The operands, and their type, in which a value crosses blocks.
    pub(super) fn carried(&mut self, v: Val, level: Uniformity) -> (Parts, String) {
        let el = element(self.ty(v));
        match level {
            Uniformity::Uniform | Uniformity::Affine(_) => (smallvec::smallvec![self.scope.scalar(v)], el.to_string()),
            Uniformity::Varying => (self.vectors(v), self.code.shape().of(el)),
        }
    }

    fn while_loop(&mut self, n: &Node, init: &[Val], test: &Region, step: &Region) {
        let outer = self.code.mask.clone();
        let uniformities: Vec<Uniformity> = test.params.iter().map(|p| self.facts.uniformities[p.index()]).collect();
        let uniform = is_uniform(&self.facts.uniformities, test);
        let outer_halved = self.scope.halved.clone();
        let halved: Vec<bool> = (0..init.len()).map(|k| self.narrow_state(init[k], k, test, step)).collect();
        let entering = init.iter().zip(&uniformities).zip(&halved).map(|((&v, &level), &halved)| match halved {
            true => (self.broadcast_narrow(v), self.code.vector(ScalarType::I32)),
            false => self.carried(v, level),
        });
        let entering: Vec<_> = entering.collect();
        let (kept_mask, all) = self.code.stored_mask();
        let entered: Parts = match &outer {
            _ if uniform => Parts::new(),
            Mask::All => smallvec::smallvec![all; self.code.width.parts],
            Mask::Lanes(m) => m.iter().map(|m| self.code.pack_mask(m)).collect(),
        };
        let (head, exit, before) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
        // Uniform loop state is carried as a broadcast vector, too, which LLVM would otherwise make anew at each use.
        let is_spread =
            |k: &usize| uniformities[*k] == Uniformity::Uniform && self.ty(test.params[*k]) != ScalarType::Bool;
        let both: Vec<usize> = (0..uniformities.len()).filter(is_spread).collect();
        let first_spread: Vec<Operand> =
            both.iter().map(|&k| self.code.splat(&entering[k].0[0], &entering[k].1)).collect();
        self.code.f.w.jump(head);
        self.code.f.w.start(head);
        let mark = self.code.f.w.position();
        let state: Vec<Parts> = entering
            .iter()
            .map(|(parts, _)| parts.iter().map(|_| self.code.f.w.reserve_register()).collect())
            .collect();
        let spread: Vec<Operand> = both.iter().map(|_| self.code.f.w.reserve_register()).collect();
        self.code.splats.extend(both.iter().map(|&k| state[k][0].clone()).zip(spread.iter().cloned()));
        for ((p, &level), s) in test.params.iter().zip(&uniformities).zip(&state) {
            self.scope.set(*p, Value::from_operands(level, s.clone()));
        }
        for ((p, &level), s) in step.params.iter().zip(&uniformities).zip(&state) {
            self.scope.set(*p, Value::from_operands(level, s.clone()));
        }
        // For loops that lanes leave at different iterations: the lanes that run, and the values with which the others
        // left.
        let kept_running: Parts = entered.iter().map(|_| self.code.f.w.reserve_register()).collect();
        let running: Parts = kept_running.iter().map(|m| self.code.unpack_mask(m)).collect();
        let mut left: Vec<(Parts, Parts)> = Vec::new();
        if !uniform {
            self.code.mask = Mask::Lanes(running.clone());
            let flags = self.code.mask_type();
            for (&p, r) in test.params.iter().zip(&n.results) {
                if !self.facts.used[r.index()] {
                    left.push((Parts::new(), Parts::new()));
                    continue;
                }
                let now = self.vectors(p);
                let t = self.code.vector(self.ty(p));
                let kept: Parts = now.iter().map(|_| self.code.f.w.reserve_register()).collect();
                let next = now.iter().zip(&kept).zip(&running).map(|((now, kept), m)| {
                    // A lane that runs may leave at this test.
                    put!(self.code.f, "select {flags} {m}, {t} {now}, {t} {kept}")
                });
                let next = next.collect();
                left.push((kept, next));
            }
        }
        let ahead = is_computed_ahead(self.facts.body, step);
        let cost = region_cost(test) + region_cost(step);
        if ahead {
            self.code.count_fuel(cost);
        }
        let (uniform_nodes, own) = self.facts.conjuncts(test, test.results[0]);
        // Uniform conditions are not part of the mask: where one fails, the loop ends.
        let leave = |e: &mut Self| {
            e.code.bail_out_on_fault();
            for &v in &uniform_nodes {
                let (c, go_on) = (e.scope.scalar(v), e.code.f.w.label());
                e.code.f.w.branch(&c, go_on, exit);
                e.code.f.w.start(go_on);
            }
        };
        let first = [test, step];
        self.part_by_part(if ahead { &first } else { &first[..1] }, leave);
        let mut go = kept_running.clone();
        for v in own {
            for (go, c) in go.iter_mut().zip(&self.vectors(v)) {
                let c = self.code.pack_mask(c);
                *go = put!(self.code.f, "and {kept_mask} {go}, {c}");
            }
        }
        let some = (!uniform).then(|| {
            let flags: Parts = go.iter().map(|m| self.code.unpack_mask(m)).collect();
            let some = self.code.any_lane(&flags);
            self.code.mask = Mask::Lanes(flags);
            some
        });
        if !ahead {
            if let Some(some) = &some {
                let body = self.code.f.w.label();
                self.code.f.w.branch(some, body, exit);
                self.code.f.w.start(body);
            }
            self.part_by_part(&[step], |_| ());
            self.code.count_fuel(cost);
        }
        let next: Vec<_> = step.results.iter().zip(&uniformities).map(|(&v, &l)| self.carried(v, l)).collect();
        let next_spread: Vec<Operand> = both.iter().map(|&k| self.code.splat(&next[k].0[0], &next[k].1)).collect();
        let back = self.code.f.w.block;
        match some.filter(|_| ahead) {
            Some(some) => self.code.f.w.branch(&some, head, exit),
            None => self.code.f.w.jump(head),
        }
        // The phis of the loop header, now that both ends are known.
        let mut phis = String::new();
        let mut phi = |register: &Operand, ty: &str, first: &Operand, next: &Operand| {
            phis.push_str(&format!("  {register} = phi {ty} [ {first}, {before} ], [ {next}, {back} ]\n"));
        };
        for ((&k, register), (first, next)) in both.iter().zip(&spread).zip(first_spread.iter().zip(&next_spread)) {
            phi(register, &self.code.shape().of(&entering[k].1), first, next);
        }
        for (s, ((first, ty), (next, _))) in state.iter().zip(entering.iter().zip(&next)) {
            for (r, (a, b)) in s.iter().zip(first.iter().zip(next)) {
                phi(r, ty, a, b);
            }
        }
        if !uniform {
            for ((r, first), go) in kept_running.iter().zip(&entered).zip(&go) {
                phi(r, &kept_mask, first, go);
            }
            for ((kept, next), &p) in left.iter().zip(&test.params) {
                let ty = self.code.vector(self.ty(p));
                for (r, b) in kept.iter().zip(next) {
                    phi(r, &ty, &Operand::text("zeroinitializer"), b);
                }
            }
        }
        self.code.f.w.insert(mark, &phis);
        self.code.f.w.start(exit);
        self.code.mask = outer;
        for (k, &r) in n.results.iter().enumerate() {
            let carried = match uniform {
                true => &state[k],
                false if self.facts.used[r.index()] => &left[k].1,
                false => continue,
            };
            let level = if uniform { uniformities[k] } else { Uniformity::Varying };
            let result = if halved[k] { self.code.widen_narrow(carried) } else { carried.clone() };
            self.scope.set(r, Value::from_operands(level, result));
        }
        self.scope.halved = outer_halved;
    }

    /// Writes the regions of a loop one after the other, and calls `settled` after the uniform nodes. Loop-carried
    /// values take registers for all vectors of a step; temporaries take them for one, if the vectors are computed one
    /// after the other.
    fn part_by_part(&mut self, regions: &[&Region], settled: impl FnOnce(&mut Self)) {
        let parts = self.code.width.parts;
        let Some((own, uniform_nodes)) =
            by_lanes(self.facts.body, &self.facts.uniformities, regions).filter(|_| parts > 1)
        else {
            regions.iter().for_each(|r| self.region(r));
            return settled(self);
        };
        uniform_nodes.into_iter().for_each(|n| self.node(n));
        settled(self);
        own.iter().for_each(|n| self.narrow_operands(n));
        let mut taken: HashMap<Val, Parts> = HashMap::new();
        for n in &own {
            n.op.visit_operands(&mut |v| {
                if let Some(Value::Affine(..) | Value::Varying(_)) = self.scope.values[v.index()] {
                    taken.entry(v).or_insert_with(|| self.vectors(v));
                }
            });
        }
        let before: Vec<(Val, Option<Value>)> =
            taken.keys().map(|v| (*v, self.scope.values[v.index()].clone())).collect();
        let mask = self.code.mask.clone();
        let mut made: HashMap<Val, Parts> = HashMap::new();
        self.code.width.parts = 1;
        for part in 0..parts {
            for (v, all) in &taken {
                self.scope.set(*v, Value::Varying(smallvec::smallvec![all[part].clone()]));
            }
            if let Mask::Lanes(m) = &mask {
                self.code.mask = Mask::Lanes(smallvec::smallvec![m[part].clone()]);
            }
            own.iter().for_each(|n| self.node(n));
            for &r in own.iter().flat_map(|n| &n.results) {
                made.entry(r).or_default().extend(self.vectors(r));
            }
        }
        self.code.width.parts = parts;
        self.code.mask = mask;
        for (v, value) in before {
            self.scope.values[v.index()] = value;
        }
        for (v, all) in made {
            self.scope.set(v, Value::Varying(all));
        }
        self.code.bail_out_on_fault();
    }
}

impl Facts<'_> {
    /// The conditions of which one of a region is the conjunction: uniform ones, and others.
    pub(super) fn conjuncts(&self, r: &Region, condition: Val) -> (Vec<Val>, Vec<Val>) {
        let (mut uniform_nodes, mut own, mut todo) = (Vec::new(), Vec::new(), vec![condition]);
        while let Some(v) = todo.pop() {
            match r.definition(v).map(|n| &n.op) {
                _ if self.uniformities[v.index()] == Uniformity::Uniform => uniform_nodes.push(v),
                Some(Op::Prim(PrimOp::AndP, args)) => todo.extend(args),
                Some(_) | None => own.push(v),
            }
        }
        (uniform_nodes, own)
    }
}

impl VectorCode {
    /// Charges the cost of a loop step, and polls the run's limits now and then.
    pub(crate) fn count_fuel(&mut self, cost: usize) {
        self.count_fuel_of(&Operand::int(1), cost);
    }

    /// The same for several steps at once.
    pub(crate) fn count_fuel_of(&mut self, steps: &Operand, cost: usize) {
        let cost = put!(self.f, "mul i64 {steps}, {}", cost.max(1) * self.width.parts);
        let fuel = put!(self.f, "load i64, ptr %fuel, align 8");
        let rest = put!(self.f, "sub i64 {fuel}, {cost}");
        self.f.w.line(format_args!("store i64 {rest}, ptr %fuel, align 8"));
        let empty = put!(self.f, "icmp slt i64 {rest}, 0");
        let (look, go_on) = (self.f.w.label(), self.f.w.label());
        self.f.w.unlikely_branch(&empty, look, go_on);
        self.f.w.start(look);
        let (tick, ticker) = (self.f.arg(KernelArg::Poll), self.f.arg(KernelArg::PollContext));
        let stop = put!(self.f, "call i32 {tick}(ptr {ticker})");
        self.f.w.line(format_args!("store i64 {FUEL_PER_POLL}, ptr %fuel, align 8"));
        let stop = put!(self.f, "icmp ne i32 {stop}, 0");
        self.f.w.unlikely_branch(&stop, self.f.stop, go_on);
        self.f.w.start(go_on);
    }
}

/// Splits loop regions into varying plain arithmetic and uniform nodes, for code vector by vector; `None` if there is
/// anything else.
pub(crate) fn by_lanes<'r>(
    body: &Body,
    uniformities: &[Uniformity],
    regions: &[&'r Region],
) -> Option<(Vec<&'r Node>, Vec<&'r Node>)> {
    let own = |n: &&Node| n.results.iter().any(|r| uniformities[r.index()] == Uniformity::Varying);
    let (own, uniform_nodes): (Vec<&Node>, Vec<&Node>) = regions.iter().flat_map(|r| &r.nodes).partition(own);
    let is_arithmetic = |n: &&Node| {
        matches!(
            n.op,
            Op::Prim(..)
                | Op::Cast(_)
                | Op::Bitcast(_)
                | Op::Select { .. }
                | Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..))
        )
    };
    // Uniform nodes come first: none depends on a varying one, as checks do and regions might.
    let takes_uniform = |n: &&Node| !n.results.is_empty() && n.op.regions().is_empty();
    let is_plain = own.iter().all(|n| is_arithmetic(n) && !n.op.is_partial(&body.consts))
        && uniform_nodes.iter().all(takes_uniform);
    is_plain.then_some((own, uniform_nodes))
}

/// Whether all lanes leave a loop with this test at once.
pub(crate) fn is_uniform(uniformities: &[Uniformity], test: &Region) -> bool {
    test.results.iter().all(|v| uniformities[v.index()] == Uniformity::Uniform)
}

/// Whether the step of a loop is computed before the exit branch: cheap arithmetic without faults, so that fewer values
/// stay in registers across the branch. The last iteration computes it in vain.
pub(crate) fn is_computed_ahead(body: &Body, step: &Region) -> bool {
    /// Steps up to this cost run in the shadow of the branch.
    const MAX_SPECULATED_STEP_COST: usize = 32;
    let plain = step.nodes.iter().all(|n| n.op.regions().is_empty() && !n.op.is_partial(&body.consts));
    plain && region_cost(step) <= MAX_SPECULATED_STEP_COST
}
