//! Conditionals: branches of the graph where the condition is the same for all lanes, masks where it varies.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::guarded::Guard;
use crate::flatten::scalar::uniformity::selects;
use crate::flatten::scalar::val;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::{Type, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Node, Region, ScalarOp, Val};
use smallvec::SmallVec;

/// From so many nodes on a branch inside of a loop costs more than a look at its mask.
const MIN_SKIPPED_NODES: usize = 16;

impl Flattener<'_> {
    pub(crate) fn conditional(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        cond: Val,
        then: &Region,
        else_: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let c = val(&mut self.b, lanes, cond);
        if let Scalar::Size(c) = c
            && let Some(holds) = self.b.const_size(c)
        {
            return self.region(lanes, if holds != 0 { then } else { else_ }, mask).into();
        }
        if selects(lanes.uniformities[cond.index()], then, else_) {
            return self.select_lanes(lanes, n, c, then, else_, mask);
        }
        // The condition is the same for all lanes: a branch of the graph.
        let c = match c {
            Scalar::Size(v) => v,
            s => {
                let v = self.indices.value(&mut self.b, s);
                self.after_checks(v)
            }
        };
        let bodies = [then, else_].map(|r| {
            self.open();
            let results = self.region(lanes, r, mask);
            let results = self.indices.results_at(&mut self.b, lanes, &n.results, results);
            self.close(results, &lanes.space.clone())
        });
        let [t, e] = bodies;
        let results = self.b.if_(c, t, e);
        scalars_of(&self.b, &results)
    }

    /// Both branches, each under its mask, joined.
    pub(crate) fn select_lanes(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        c: Scalar,
        then: &Region,
        else_: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let c = self.indices.tensor(&mut self.b, c, ScalarType::Bool);
        if let Some(results) = self.pieces(lanes, n, c, [then, else_], mask) {
            return results;
        }
        let mut guard = None;
        let sides = [(then, false), (else_, true)].map(|(r, negate)| {
            let bounds = self.indices.bounds.get(&c).filter(|_| !negate);
            if let Some(bounds) = bounds {
                self.guards.push(Guard::new(bounds.clone()));
            }
            let guarded = bounds.is_some();
            // Code that cannot fault needs no mask.
            let m = r.is_partial().then(|| {
                let on = if negate { self.b.not(c) } else { c };
                self.masked(mask, on)
            });
            let results = match m {
                Some(m) if self.is_skippable(r) => self.unless_empty(lanes, n, r, m),
                _ => self.region(lanes, r, m.or(mask)),
            };
            if guarded {
                guard = self.guards.pop();
            }
            results
        });
        // Of zeros elsewhere rules see more if the condition is about what is read.
        let zeros = sides[1].iter().all(|s| match *s {
            Scalar::Tensor(v) => self.b.constant_of(v).is_some_and(|l| l == Lit::zero(l.ty)),
            Scalar::Size(_) | Scalar::Affine(_) => false,
        });
        let written = guard.filter(|_| zeros).and_then(|g| g.condition(&mut self.indices, &mut self.b));
        let c = written.unwrap_or(c);
        let mut out = SmallVec::new();
        for (k, v) in n.results.iter().enumerate() {
            let ty = lanes.fun.ty(*v);
            let (t, e) =
                (self.indices.tensor(&mut self.b, sides[0][k], ty), self.indices.tensor(&mut self.b, sides[1][k], ty));
            let result = self.b.where_(c, t, e);
            if ty == ScalarType::Bool {
                self.indices.note_choice(&mut self.b, c, [t, e], result);
            }
            out.push(Scalar::Tensor(result));
        }
        out
    }

    /// Whether it is worth a look at the mask whether any lane takes a branch: one with a loop looks at its lanes in each
    /// step, and in a loop each step makes up for the looks of others at branches of some length.
    fn is_skippable(&self, branch: &Region) -> bool {
        let (mut nodes, mut loops) = (0, false);
        branch.visit(0, &mut |n, _| {
            nodes += 1;
            loops |= matches!(n.op, ScalarOp::While { .. });
        });
        !self.faults().exact() && (loops || (self.loops > 0 && nodes >= MIN_SKIPPED_NODES))
    }

    /// A branch under a mask, which is not run if no lane takes it.
    fn unless_empty(&mut self, lanes: &mut Lanes<'_>, n: &Node, branch: &Region, mask: Value) -> Vec<Scalar> {
        let (rank, space) = (lanes.space.len(), lanes.space.clone());
        let any = self.b.any(mask);
        let any = self.after_checks(any);
        let fun = lanes.fun;
        let results = |this: &mut Self| {
            let results = this.region(lanes, branch, Some(mask));
            let lifted = results.into_iter().zip(&n.results).map(|(s, v)| {
                let t = this.indices.tensor(&mut this.b, s, fun.ty(*v));
                this.b.lift(t, rank)
            });
            lifted.collect()
        };
        let none = |this: &mut Self| {
            let zeros = n.results.iter().map(|v| {
                let zero = this.b.constant(Lit::zero(fun.ty(*v)));
                this.b.lift(zero, rank)
            });
            zeros.collect()
        };
        self.if_else(any, &space, results, none).into_iter().map(Scalar::Tensor).collect()
    }

    /// One of two bodies of the graph, for lanes of a space.
    pub(crate) fn if_else(
        &mut self,
        cond: Value,
        space: &[Value],
        then: impl FnOnce(&mut Self) -> Vec<Value>,
        else_: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Values {
        self.open();
        let results = then(self);
        let then = self.close(results, space);
        self.open();
        let results = else_(self);
        let else_ = self.close(results, space);
        self.b.if_(cond, then, else_)
    }
}

impl Indices {
    /// Values as the uniformities of these results ask.
    pub(crate) fn results_at(
        &self,
        b: &mut Builder,
        lanes: &Lanes<'_>,
        results: &[Val],
        scalars: Vec<Scalar>,
    ) -> Vec<Value> {
        let rank = lanes.space.len();
        results
            .iter()
            .zip(scalars)
            .map(|(v, s)| {
                let s = self.raise(b, s, lanes.fun.ty(*v), lanes.uniformities[v.index()], rank);
                self.value(b, s)
            })
            .collect()
    }
}

pub(crate) fn scalars_of(b: &Builder, values: &[Value]) -> SmallVec<[Scalar; 2]> {
    values.iter().map(|v| if b.ty(*v) == Type::Size { Scalar::Size(*v) } else { Scalar::Tensor(*v) }).collect()
}
