//! Conditionals: a branch where the condition is uniform, else masks, and branches around what no lane takes.

use crate::kernel::{Node, Op, Region, is_partial};
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::{Label, put};
use crate::llvm::emit::{Emitter, Uniformity};
use acc_core::ir::Val;

impl Emitter<'_> {
    /// Writes a conditional in the way that suits its condition.
    pub(super) fn conditional(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        if self.facts.uniformities[cond.index()] == Uniformity::Uniform {
            self.uniform_if(n, cond, then, else_);
        } else if self.scope.unlikely.contains(&cond) && !is_partial(else_, &self.facts.body.consts) {
            self.unlikely_if(n, cond, then, else_);
        } else if let Some(reads) = self.proven_reads(n) {
            self.masked_reads(n, cond, [then, else_], reads);
        } else if matches!(self.code.mask, Mask::All)
            && let Some(guarded) = n.results.first().and_then(|r| self.scope.guarded.get(r)).cloned()
        {
            self.guarded_if(n, guarded, [then, else_], |e| e.masked_if(n, cond, then, else_));
        } else if matches!(self.code.mask, Mask::All) && guards_reads(then, else_) {
            self.whole_or_masked_if(n, cond, then, else_);
        } else {
            self.masked_if(n, cond, then, else_);
        }
    }

    /// A conditional with a uniform condition: a branch.
    fn uniform_if(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        let c = self.scope.scalar(cond);
        let (yes, no, join) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.label());
        self.code.f.w.branch(&c, yes, no);
        let mut sides = Vec::new();
        for (start, region) in [(yes, then), (no, else_)] {
            self.code.f.w.start(start);
            self.region(region);
            let results = n.results.iter().zip(&region.results);
            let carried: Vec<_> = results.map(|(r, &v)| self.carried(v, self.facts.uniformities[r.index()])).collect();
            sides.push((carried, self.code.f.w.block));
            self.code.f.w.jump(join);
        }
        self.code.f.w.start(join);
        for (k, &r) in n.results.iter().enumerate() {
            let ty = &sides[0].0[k].1;
            let operands = (0..sides[0].0[k].0.len()).map(|p| {
                let [(a, from), (b, or)] = [0, 1].map(|s| (&sides[s].0[k].0[p], sides[s].1));
                put!(self.code.f, "phi {ty} [ {a}, {from} ], [ {b}, {or} ]")
            });
            let operands: Parts = operands.collect();
            self.scope.set(r, Value::from_operands(self.facts.uniformities[r.index()], operands));
        }
    }

    /// A conditional whose first side hardly any lane takes: the second is computed for all lanes, and where some lane
    /// takes the first, its results are put in place.
    fn unlikely_if(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        self.region(else_);
        let outer = self.code.mask.clone();
        let conds = self.vectors(cond);
        let mask: Parts = (0..self.code.width.parts).map(|p| self.code.and_mask(p, &conds[p])).collect();
        let some = self.code.any_lane(&mask);
        let kept: Vec<Parts> = else_.results.iter().map(|&v| self.vectors(v)).collect();
        let (run, join, before) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
        self.code.f.w.unlikely_branch(&some, run, join);
        self.code.f.w.start(run);
        self.code.mask = Mask::Lanes(mask);
        self.region(then);
        let mixed = then.results.iter().zip(&kept).map(|(&v, kept)| {
            let own = self.vectors(v);
            self.code.selected(self.ty(v), &conds, &own, kept)
        });
        let mixed: Vec<Parts> = mixed.collect();
        let after = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(join);
        self.code.mask = outer;
        self.join_sides(n, [(&mixed, after), (&kept, before)]);
    }

    /// A conditional of which often all lanes take the first side: where they do it runs without a mask, so that reads are
    /// compared with bounds at both ends alone.
    fn whole_or_masked_if(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        let conds = self.vectors(cond);
        let nots = self.code.inverted(&conds);
        let some = self.code.any_lane(&nots);
        let (part, whole, join) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.label());
        self.code.f.w.branch(&some, part, whole);
        self.code.f.w.start(whole);
        self.region(then);
        let all: Vec<Parts> = then.results.iter().map(|&v| self.vectors(v)).collect();
        let after_all = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(part);
        self.masked_if(n, cond, then, else_);
        let masked: Vec<Parts> = n.results.iter().map(|&v| self.vectors(v)).collect();
        let after = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(join);
        self.join_sides(n, [(&all, after_all), (&masked, after)]);
    }

    /// Defines the results of a node as those of the block that control comes from.
    pub(super) fn join_sides(&mut self, n: &Node, [(a, from), (b, or)]: [(&[Parts], Label); 2]) {
        for ((&r, a), b) in n.results.iter().zip(a).zip(b) {
            let t = self.code.vector(self.ty(r));
            let parts = a.iter().zip(b).map(|(x, y)| put!(self.code.f, "phi {t} [ {x}, {from} ], [ {y}, {or} ]"));
            let parts = parts.collect();
            self.scope.set(r, Value::Varying(parts));
        }
    }

    /// A conditional with a varying condition: each side runs under a mask, if any lane takes it.
    fn masked_if(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        let outer = self.code.mask.clone();
        let conds = self.vectors(cond);
        let nots = self.code.inverted(&conds);
        let mut sides: Vec<Vec<Parts>> = Vec::new();
        for (region, flags) in [(then, &conds), (else_, &nots)] {
            self.code.mask = outer.clone();
            if region.nodes.is_empty() {
                let values = region.results.iter().map(|&v| self.vectors(v));
                sides.push(values.collect());
                continue;
            }
            let mask: Parts = (0..self.code.width.parts).map(|p| self.code.and_mask(p, &flags[p])).collect();
            let some = self.code.any_lane(&mask);
            let (run, join, before) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
            self.code.f.w.branch(&some, run, join);
            self.code.f.w.start(run);
            self.code.mask = Mask::Lanes(mask);
            self.region(region);
            let results: Vec<(Parts, String)> =
                region.results.iter().map(|&v| (self.vectors(v), self.code.vector(self.ty(v)))).collect();
            let after = self.code.f.w.block;
            self.code.f.w.jump(join);
            self.code.f.w.start(join);
            let merged = results.iter().map(|(parts, t)| {
                // Zero where no lane runs, never poison, which would spread through masks.
                let phi =
                    parts.iter().map(|x| put!(self.code.f, "phi {t} [ {x}, {after} ], [ zeroinitializer, {before} ]"));
                phi.collect()
            });
            let merged = merged.collect();
            sides.push(merged);
        }
        self.code.mask = outer;
        for (k, &r) in n.results.iter().enumerate() {
            let parts = if self.is_added_under(r, cond) {
                sides[0][k].clone()
            } else {
                self.code.selected(self.ty(r), &conds, &sides[0][k], &sides[1][k])
            };
            self.scope.set(r, Value::Varying(parts));
        }
    }

    /// Whether nothing takes a value where a condition does not hold: it is a factor of a term that is added under this mask.
    pub(super) fn is_added_under(&self, v: Val, cond: Val) -> bool {
        self.scope.terms_under.get(&v) == Some(&cond)
    }
}

/// Whether a conditional guards reads, and is short enough to be written twice.
fn guards_reads(then: &Region, else_: &Region) -> bool {
    const MAX_NODES: usize = 48;
    let plain = then.nodes.iter().all(|n| n.op.regions().is_empty());
    let reads = then.nodes.iter().any(|n| matches!(n.op, Op::Index(_)));
    plain && reads && else_.nodes.is_empty() && then.nodes.len() <= MAX_NODES
}
