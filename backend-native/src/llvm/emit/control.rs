//! Nodes in order, conditionals and loops.

use super::text::{Operand, element, put};
use super::value::{Mask, Parts, V};
use super::{Emitter, Level, Word};
use crate::kernel::{Body, Node, Op, Region, region_cost};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// Vector operations of loops between two looks at the clock: a few milliseconds even of the dearest.
pub(super) const FUEL: i64 = 1 << 19;

impl Emitter<'_> {
    pub(super) fn node(&mut self, n: &Node) {
        match &n.op {
            Op::Prim(..) if self.divides(n.results[0]) => {}
            Op::Prim(p, args) => {
                let v = self.prim(*p, args, n.results[0]);
                self.set(n.results[0], v);
            }
            Op::Cast(v) => {
                let x = self.cast(*v, n.results[0]);
                self.set(n.results[0], x);
            }
            Op::Bitcast(v) => {
                let x = self.bitcast(*v, n.results[0]);
                let x = self.at_level(x, n.results[0]);
                self.set(n.results[0], x);
            }
            Op::Fma(a, b, c) => {
                let el = element(self.ty(*a));
                let v = self.each(&[*a, *b, *c], &mut |e, shape, a| {
                    let (t, suffix, [x, y, z]) = (shape.of(el), shape.suffix(el), [&a[0], &a[1], &a[2]]);
                    put!(e, "call {t} @llvm.fma.{suffix}({t} {x}, {t} {y}, {t} {z})")
                });
                self.set(n.results[0], v);
            }
            Op::Scale(x, power) => {
                let v = self.scale(*x, *power);
                self.set(n.results[0], v);
            }
            Op::Table { words, index } => {
                let v = self.table(words, *index);
                self.set(n.results[0], v);
            }
            Op::Select { cond, then, else_ } => {
                let halved = self.halved.has(n.results[0]);
                let v = if halved { self.choice(*cond, [*then, *else_]) } else { self.select(*cond, *then, *else_) };
                self.set(n.results[0], v);
            }
            Op::Scalar { array, position } => {
                let word = self.word(Word::Scalar(*array, *position));
                self.set(n.results[0], V::One(word));
            }
            Op::Extent { array, axis } => {
                self.demand(*array);
                let word = self.word(Word::ArrayExtent(*array, *axis));
                self.set(n.results[0], V::One(word));
            }
            Op::Load(l) => {
                self.load(n, l);
                for &r in &n.results {
                    let v = self.value(r);
                    let v = self.at_level(v, r);
                    self.set(r, v);
                }
            }
            Op::Inside { array, index } => self.inside(n, *array, index),
            Op::Check { array, index } => self.check(*array, index),
            Op::If { cond, then, else_ } => {
                self.settle();
                if self.levels[cond.index()] == Level::One {
                    self.branch(n, *cond, then, else_);
                } else {
                    self.partition(n, *cond, then, else_);
                }
            }
            Op::While { init, test, step } => {
                self.settle();
                self.while_(n, init, test, step);
            }
            // Bodies with calls are not compiled.
            Op::Call { .. } => {}
        }
    }

    /// The value in the form that its level asks for.
    fn at_level(&mut self, value: V, v: Val) -> V {
        match (self.levels[v.index()], &value) {
            (Level::Lanes, V::One(_) | V::Linear(..)) => V::Lanes(self.spread(&value, element(self.ty(v)))),
            _ => value,
        }
    }

    fn select(&mut self, cond: Val, then: Val, else_: Val) -> V {
        let el = element(self.ty(then));
        if self.levels[cond.index()] != Level::One {
            return self.each(&[cond, then, else_], &mut |e, shape, a| {
                let (t, flags, [c, x, y]) = (shape.of(el), shape.of("i1"), [&a[0], &a[1], &a[2]]);
                put!(e, "select {flags} {c}, {t} {x}, {t} {y}")
            });
        }
        // One condition chooses whole vectors.
        let c = self.one(cond);
        self.each(&[then, else_], &mut |e, shape, a| {
            let (t, x, y) = (shape.of(el), &a[0], &a[1]);
            put!(e, "select i1 {c}, {t} {x}, {t} {y}")
        })
    }

    /// The operands that carry a value of a level between blocks, and their type.
    fn carried(&mut self, v: Val, level: Level) -> (Parts, String) {
        let el = element(self.ty(v));
        match level {
            Level::One | Level::Linear(_) => (smallvec::smallvec![self.one(v)], el.to_string()),
            Level::Lanes => (self.lanes(v), self.shape().of(el)),
        }
    }

    /// The value that these operands carry.
    fn delivered(level: Level, operands: Parts) -> V {
        match (level, operands.first()) {
            (Level::One, Some(o)) => V::One(o.clone()),
            (Level::Linear(step), Some(o)) => V::Linear(o.clone(), step),
            _ => V::Lanes(operands),
        }
    }

    /// A conditional whose condition is the same for all lanes.
    fn branch(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        let c = self.one(cond);
        let (yes, no, join) = (self.w.label(), self.w.label(), self.w.label());
        self.w.branch(&c, yes, no);
        let mut sides = Vec::new();
        for (start, region) in [(yes, then), (no, else_)] {
            self.w.start(start);
            self.region(region);
            let results = n.results.iter().zip(&region.results);
            let carried: Vec<_> = results.map(|(r, &v)| self.carried(v, self.levels[r.index()])).collect();
            sides.push((carried, self.w.block));
            self.w.jump(join);
        }
        self.w.start(join);
        for (k, &r) in n.results.iter().enumerate() {
            let ty = &sides[0].0[k].1;
            let operands = (0..sides[0].0[k].0.len()).map(|p| {
                let [(a, from), (b, or)] = [0, 1].map(|s| (&sides[s].0[k].0[p], sides[s].1));
                put!(self, "phi {ty} [ {a}, {from} ], [ {b}, {or} ]")
            });
            let operands: Parts = operands.collect();
            self.set(r, Self::delivered(self.levels[r.index()], operands));
        }
    }

    /// A conditional that lanes take or not: each side runs under a mask, if a lane takes it.
    fn partition(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        let outer = self.mask.clone();
        let conds = self.lanes(cond);
        let (ty, yes) = (self.mask_type(), self.constant(self.shape(), "i1", "true"));
        let nots: Parts = conds.iter().map(|c| put!(self, "xor {ty} {c}, {yes}")).collect();
        let mut sides: Vec<Vec<Parts>> = Vec::new();
        for (region, flags) in [(then, &conds), (else_, &nots)] {
            self.mask = outer.clone();
            if region.nodes.is_empty() {
                let values = region.results.iter().map(|&v| self.lanes(v));
                sides.push(values.collect());
                continue;
            }
            let mask: Parts = (0..self.width.parts).map(|p| self.masked(p, &flags[p])).collect();
            let some = self.any(&mask);
            let (run, join, before) = (self.w.label(), self.w.label(), self.w.block);
            self.w.branch(&some, run, join);
            self.w.start(run);
            self.mask = Mask::Lanes(mask);
            self.region(region);
            let results: Vec<(Parts, String)> =
                region.results.iter().map(|&v| (self.lanes(v), self.vector(self.ty(v)))).collect();
            let after = self.w.block;
            self.w.jump(join);
            self.w.start(join);
            let merged = results.iter().map(|(parts, t)| {
                // Zero where no lane runs: never poison, which would spread through masks.
                let phi = parts.iter().map(|x| put!(self, "phi {t} [ {x}, {after} ], [ zeroinitializer, {before} ]"));
                phi.collect()
            });
            let merged = merged.collect();
            sides.push(merged);
        }
        self.mask = outer;
        for (k, &r) in n.results.iter().enumerate() {
            let t = self.vector(self.ty(r));
            let parts = (0..self.width.parts).map(|p| {
                let (c, x, y) = (&conds[p], &sides[0][k][p], &sides[1][k][p]);
                put!(self, "select {ty} {c}, {t} {x}, {t} {y}")
            });
            let parts = parts.collect();
            self.set(r, V::Lanes(parts));
        }
    }

    fn while_(&mut self, n: &Node, init: &[Val], test: &Region, step: &Region) {
        let outer = self.mask.clone();
        let levels: Vec<Level> = test.params.iter().map(|p| self.levels[p.index()]).collect();
        let uniform = is_uniform(&self.levels, test);
        let outer_halved = self.halved.clone();
        let halved: Vec<bool> = (0..init.len()).map(|k| self.halve(init[k], k, test, step)).collect();
        let entering = init.iter().zip(&levels).zip(&halved).map(|((&v, &level), &halved)| match halved {
            true => (self.spread_half(v), self.vector(ScalarType::I32)),
            false => self.carried(v, level),
        });
        let entering: Vec<_> = entering.collect();
        let (kept_mask, all) = self.kept_mask();
        let entered: Parts = match &outer {
            _ if uniform => Parts::new(),
            Mask::All => smallvec::smallvec![all; self.width.parts],
            Mask::Lanes(m) => m.iter().map(|m| self.keep(m)).collect(),
        };
        let (head, exit, before) = (self.w.label(), self.w.label(), self.w.block);
        // What is the same for all lanes is carried as a vector, too: one that is made in each step would be made anew
        // for each of its uses.
        let is_spread = |k: &usize| levels[*k] == Level::One && self.ty(test.params[*k]) != ScalarType::Bool;
        let both: Vec<usize> = (0..levels.len()).filter(is_spread).collect();
        let first_spread: Vec<Operand> = both.iter().map(|&k| self.splat(&entering[k].0[0], &entering[k].1)).collect();
        self.w.jump(head);
        self.w.start(head);
        let mark = self.w.mark();
        let state: Vec<Parts> =
            entering.iter().map(|(parts, _)| parts.iter().map(|_| self.w.promise()).collect()).collect();
        let spread: Vec<Operand> = both.iter().map(|_| self.w.promise()).collect();
        self.splats.extend(both.iter().map(|&k| state[k][0].clone()).zip(spread.iter().cloned()));
        for ((p, &level), s) in test.params.iter().zip(&levels).zip(&state) {
            self.set(*p, Self::delivered(level, s.clone()));
        }
        for ((p, &level), s) in step.params.iter().zip(&levels).zip(&state) {
            self.set(*p, Self::delivered(level, s.clone()));
        }
        // Where lanes leave at different times: those that run, and what the others left with.
        let kept_running: Parts = entered.iter().map(|_| self.w.promise()).collect();
        let running: Parts = kept_running.iter().map(|m| self.flags(m)).collect();
        let mut left: Vec<(Parts, Parts)> = Vec::new();
        if !uniform {
            self.mask = Mask::Lanes(running.clone());
            let flags = self.mask_type();
            for (&p, r) in test.params.iter().zip(&n.results) {
                if !self.used[r.index()] {
                    left.push((Parts::new(), Parts::new()));
                    continue;
                }
                let now = self.lanes(p);
                let t = self.vector(self.ty(p));
                let kept: Parts = now.iter().map(|_| self.w.promise()).collect();
                let next = now.iter().zip(&kept).zip(&running).map(|((now, kept), m)| {
                    // A lane that runs may leave at this test.
                    put!(self, "select {flags} {m}, {t} {now}, {t} {kept}")
                });
                let next = next.collect();
                left.push((kept, next));
            }
        }
        let ahead = is_computed_ahead(self.body, step);
        let cost = region_cost(test) + region_cost(step);
        if ahead {
            self.tick(cost);
        }
        let (alike, own) = self.conjuncts(test);
        // What holds for no lane or for all of them is no part of the mask: where it does not hold, the loop ends.
        let leave = |e: &mut Self| {
            e.settle();
            for &v in &alike {
                let (c, go_on) = (e.one(v), e.w.label());
                e.w.branch(&c, go_on, exit);
                e.w.start(go_on);
            }
        };
        let first = [test, step];
        self.part_by_part(if ahead { &first } else { &first[..1] }, leave);
        let mut go = kept_running.clone();
        for v in own {
            for (go, c) in go.iter_mut().zip(&self.lanes(v)) {
                let c = self.keep(c);
                *go = put!(self, "and {kept_mask} {go}, {c}");
            }
        }
        let some = (!uniform).then(|| {
            let flags: Parts = go.iter().map(|m| self.flags(m)).collect();
            let some = self.any(&flags);
            self.mask = Mask::Lanes(flags);
            some
        });
        if !ahead {
            if let Some(some) = &some {
                let body = self.w.label();
                self.w.branch(some, body, exit);
                self.w.start(body);
            }
            self.part_by_part(&[step], |_| ());
            self.tick(cost);
        }
        let next: Vec<_> = step.results.iter().zip(&levels).map(|(&v, &l)| self.carried(v, l)).collect();
        let next_spread: Vec<Operand> = both.iter().map(|&k| self.splat(&next[k].0[0], &next[k].1)).collect();
        let back = self.w.block;
        match some.filter(|_| ahead) {
            Some(some) => self.w.branch(&some, head, exit),
            None => self.w.jump(head),
        }
        // The phis of the head, now that both ends are known.
        let mut phis = String::new();
        let mut phi = |register: &Operand, ty: &str, first: &Operand, next: &Operand| {
            phis.push_str(&format!("  {register} = phi {ty} [ {first}, {before} ], [ {next}, {back} ]\n"));
        };
        for ((&k, register), (first, next)) in both.iter().zip(&spread).zip(first_spread.iter().zip(&next_spread)) {
            phi(register, &self.shape().of(&entering[k].1), first, next);
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
                let ty = self.vector(self.ty(p));
                for (r, b) in kept.iter().zip(next) {
                    phi(r, &ty, &Operand::text("zeroinitializer"), b);
                }
            }
        }
        self.w.insert(mark, &phis);
        self.w.start(exit);
        self.mask = outer;
        for (k, &r) in n.results.iter().enumerate() {
            let carried = match uniform {
                true => &state[k],
                false if self.used[r.index()] => &left[k].1,
                false => continue,
            };
            let level = if uniform { levels[k] } else { Level::Lanes };
            let result = if halved[k] { self.widened(carried) } else { carried.clone() };
            self.set(r, Self::delivered(level, result));
        }
        self.halved = outer_halved;
    }

    /// Writes regions of a loop, one after the other, and calls `settled` once all is written that is alike for all lanes.
    /// What is carried around the loop takes registers for all vectors of a step; what is computed in between takes them for
    /// one, if the vectors are computed one after the other.
    fn part_by_part(&mut self, regions: &[&Region], settled: impl FnOnce(&mut Self)) {
        let parts = self.width.parts;
        let Some((own, alike)) = by_lanes(self.body, &self.levels, regions).filter(|_| parts > 1) else {
            regions.iter().for_each(|r| self.region(r));
            return settled(self);
        };
        alike.into_iter().for_each(|n| self.node(n));
        settled(self);
        own.iter().for_each(|n| self.halves_of(n));
        let mut taken: HashMap<Val, Parts> = HashMap::new();
        for n in &own {
            n.op.operands(&mut |v| {
                if let Some(V::Linear(..) | V::Lanes(_)) = self.values[v.index()] {
                    taken.entry(v).or_insert_with(|| self.lanes(v));
                }
            });
        }
        let before: Vec<(Val, Option<V>)> = taken.keys().map(|v| (*v, self.values[v.index()].clone())).collect();
        let mask = self.mask.clone();
        let mut made: HashMap<Val, Parts> = HashMap::new();
        self.width.parts = 1;
        for part in 0..parts {
            for (v, all) in &taken {
                self.set(*v, V::Lanes(smallvec::smallvec![all[part].clone()]));
            }
            if let Mask::Lanes(m) = &mask {
                self.mask = Mask::Lanes(smallvec::smallvec![m[part].clone()]);
            }
            own.iter().for_each(|n| self.node(n));
            for &r in own.iter().flat_map(|n| &n.results) {
                made.entry(r).or_default().extend(self.lanes(r));
            }
        }
        self.width.parts = parts;
        self.mask = mask;
        for (v, value) in before {
            self.values[v.index()] = value;
        }
        for (v, all) in made {
            self.set(v, V::Lanes(all));
        }
        self.settle();
    }

    /// The conditions that a test is the conjunction of: those that are the same for all lanes, and the others.
    fn conjuncts(&self, test: &Region) -> (Vec<Val>, Vec<Val>) {
        let (mut alike, mut own, mut todo) = (Vec::new(), Vec::new(), vec![test.results[0]]);
        while let Some(v) = todo.pop() {
            let node = test.nodes.iter().find(|n| n.results.contains(&v)).map(|n| &n.op);
            match node {
                _ if self.levels[v.index()] == Level::One => alike.push(v),
                Some(Op::Prim(PrimOp::AndP, args)) => todo.extend(args),
                Some(_) | None => own.push(v),
            }
        }
        (alike, own)
    }

    /// Counts what a step of a loop costs; looks at the clock now and then.
    pub(super) fn tick(&mut self, cost: usize) {
        let cost = cost.max(1) * self.width.parts;
        let fuel = put!(self, "load i64, ptr %fuel, align 8");
        let rest = put!(self, "sub i64 {fuel}, {cost}");
        self.w.line(format_args!("store i64 {rest}, ptr %fuel, align 8"));
        let empty = put!(self, "icmp slt i64 {rest}, 0");
        let (look, go_on) = (self.w.label(), self.w.label());
        self.w.rare(&empty, look, go_on);
        self.w.start(look);
        let (tick, ticker) = (self.word(Word::Tick), self.word(Word::Ticker));
        let stop = put!(self, "call i32 {tick}(ptr {ticker})");
        self.w.line(format_args!("store i64 {FUEL}, ptr %fuel, align 8"));
        let stop = put!(self, "icmp ne i32 {stop}, 0");
        self.w.rare(&stop, self.stop, go_on);
        self.w.start(go_on);
    }
}

/// The nodes of a loop's regions, if they are written vector by vector: those whose results are each lane's own, which are plain
/// arithmetic, and those that are alike for all lanes.
pub(super) fn by_lanes<'r>(
    body: &Body,
    levels: &[Level],
    regions: &[&'r Region],
) -> Option<(Vec<&'r Node>, Vec<&'r Node>)> {
    let own = |n: &&Node| n.results.iter().any(|r| levels[r.index()] == Level::Lanes);
    let (own, alike): (Vec<&Node>, Vec<&Node>) = regions.iter().flat_map(|r| &r.nodes).partition(own);
    let is_arithmetic = |n: &&Node| {
        matches!(n.op, Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } | Op::Fma(..) | Op::Scale(..))
    };
    // What is alike comes first: it takes nothing of what is not, which checks do, and regions may.
    let takes_alike = |n: &&Node| !n.results.is_empty() && n.op.regions().is_empty();
    let is_plain =
        own.iter().all(|n| is_arithmetic(n) && !n.op.is_partial(&body.consts)) && alike.iter().all(takes_alike);
    is_plain.then_some((own, alike))
}

/// Whether all lanes leave a loop with this test at once.
pub(super) fn is_uniform(levels: &[Level], test: &Region) -> bool {
    test.results.iter().all(|v| levels[v.index()] == Level::One)
}

/// Whether the step of a loop is written before the branch that leaves the loop: arithmetic that takes less than what
/// the branch would keep in registers. The last turn computes it for nothing.
pub(super) fn is_computed_ahead(body: &Body, step: &Region) -> bool {
    /// Operations that a processor does while the branch is decided.
    const MOST: usize = 32;
    let plain = step.nodes.iter().all(|n| n.op.regions().is_empty() && !n.op.is_partial(&body.consts));
    plain && region_cost(step) <= MOST
}
