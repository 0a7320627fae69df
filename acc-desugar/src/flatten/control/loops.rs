//! Scalar loops: loops of the graph where all lanes leave at once, loops on the lanes that are on where they do not.

use crate::flatten::Flattener;
use crate::flatten::access::on_demand::some_lane;
use crate::flatten::control::branch::scalars_of;
use crate::flatten::scalar::spread;
use crate::flatten::scalar::uniformity::Uniformity;
use crate::flatten::scalar::val;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::{Type, Value};
use crate::settings::Faults;
use acc_core::data::ScalarType;
use acc_core::ir::{Fun, Node, Region, Val};
use smallvec::SmallVec;
use std::collections::HashSet;

impl Flattener<'_> {
    pub(crate) fn scalar_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        init: &[Val],
        test: &Region,
        step: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let rank = lanes.space.len();
        let varying = lanes.uniformities[test.results[0].index()] == Uniformity::Varying;
        if varying && rank > 0 && self.faults() != Faults::Report {
            if !self.faults().exact()
                && let Some(results) = self.ragged_loop(lanes, n, init, [test, step], mask)
            {
                return results;
            }
            return self.lane_loop(lanes, n, init, test, step, mask);
        }
        if !varying && let Some(results) = self.counted_loop(lanes, n, init, test, step, mask) {
            return results;
        }
        let mut state = Vec::new();
        for (v, r) in init.iter().zip(&n.results) {
            let s = val(&mut self.b, lanes, *v);
            let s = self.indices.raise(&mut self.b, s, lanes.fun.ty(*v), lanes.uniformities[r.index()], rank);
            state.push(self.indices.value(&mut self.b, s));
        }
        if varying {
            return self.masked_loop(lanes, state, test, step, mask, varying);
        }
        // Without a lane there is no loop, even if it is the same for all.
        let some = some_lane(&mut self.b, &lanes.space.clone());
        if self.b.const_size(some).is_some_and(|c| c != 0) {
            return self.common_loop(lanes, n, state, test, step, mask);
        }
        let space = lanes.space.clone();
        let looped = |this: &mut Self| {
            let results = this.common_loop(lanes, n, state.clone(), test, step, mask);
            results.into_iter().map(|s| this.indices.value(&mut this.b, s)).collect()
        };
        let results = self.if_else(some, &space, looped, |_| state.clone());
        scalars_of(&self.b, &results)
    }

    /// A loop that all lanes leave at the same time.
    fn common_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        state: Vec<Value>,
        test: &Region,
        step: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let partial = test.is_partial() || step.is_partial();
        if (!lanes.space.is_empty() && partial) || mask.is_some() {
            return self.masked_loop(lanes, state, test, step, mask, false);
        }
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        let space = lanes.space.clone();
        self.open();
        let params = self.b.params(&types);
        bind(&mut self.b, lanes, &test.params, &params);
        let t = self.region(lanes, test, None);
        let t = self.indices.value(&mut self.b, t[0]);
        let test_body = self.close(vec![t], &space);
        self.open();
        let params = self.b.params(&types);
        bind(&mut self.b, lanes, &step.params, &params);
        let s = self.region(lanes, step, None);
        let s = self.indices.results_at(&mut self.b, lanes, &n.results, s);
        let step_body = self.close(s, &space);
        let results = self.b.while_(&state, test_body, step_body);
        scalars_of(&self.b, &results)
    }

    /// A loop that lanes leave at different times.
    pub(crate) fn lane_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        init: &[Val],
        test: &Region,
        step: &Region,
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let rank = lanes.space.len();
        let init: Vec<Value> = init.iter().map(|v| self.indices.val_tensor(&mut self.b, lanes, *v)).collect();
        // What lanes have of their own is given to the loop, so that it can drop lanes.
        let mut own: Vec<(Val, Value)> = Vec::new();
        for v in free_values([test, step]) {
            let s = val(&mut self.b, lanes, v);
            let uniform = match s {
                Scalar::Size(_) => true,
                Scalar::Tensor(t) => self.b.rank(t) == 0,
                Scalar::Affine(_) => false,
            };
            if !uniform {
                own.push((v, self.indices.value(&mut self.b, s)));
            }
        }
        let captured: Vec<Value> = own.iter().map(|(_, t)| *t).collect();
        let on = mask.unwrap_or_else(|| self.b.bool(true));
        let on = if self.b.rank(on) == 0 { on } else { self.b.lift(on, rank) };
        let used = used_values(lanes.fun);
        let kept = n.results.iter().map(|v| used.contains(v)).collect();
        let bodies = [(test, true), (step, false)].map(|(region, is_test)| {
            self.open();
            let count = self.b.param(Type::Size);
            let active = self.b.param(Type::Tensor { scalar: ScalarType::Bool, rank: 1 });
            let mut params = |values: &[Value]| -> Vec<Value> {
                let types: Vec<Type> =
                    values.iter().map(|v| Type::Tensor { scalar: self.b.scalar(*v), rank: 1 }).collect();
                self.b.params(&types)
            };
            let (state, others) = (params(&init), params(&captured));
            for v in state.iter().chain(&others).chain([&active]) {
                self.b.set_full(*v);
            }
            let space = std::mem::replace(&mut lanes.space, [count].into_iter().collect());
            let outside = lanes.vals.clone();
            bind(&mut self.b, lanes, &region.params, &state);
            for ((v, _), inside) in own.iter().zip(others) {
                lanes.vals[v.index()] = Some(Scalar::Tensor(inside));
            }
            let results = self.region(lanes, region, Some(active));
            let results = results
                .into_iter()
                .zip(&region.results)
                .map(|(s, v)| {
                    let t = self.indices.tensor(&mut self.b, s, lanes.fun.ty(*v));
                    let t = if is_test { self.b.and(active, t) } else { t };
                    spread(&mut self.b, t, &[count])
                })
                .collect();
            lanes.vals = outside;
            lanes.space = space;
            self.close(results, &[count])
        });
        let space = lanes.space.clone();
        let results = self.b.lane_loop(on, &space, &init, &captured, kept, bodies);
        scalars_of(&self.b, &results)
    }

    /// A loop on the lanes that are on and whose test holds, until there are none. Lanes with a fault, and those after
    /// the first of these, stop.
    pub(crate) fn masked_loop(
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
                let s = scalars_of(&self.b, &[*v])[0];
                let ty = self.b.scalar(*v);
                let t = self.indices.tensor(&mut self.b, s, ty);
                *v = spread(&mut self.b, t, &space);
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
        bind(&mut self.b, lanes, &step.params, &params);
        let next = self.region(lanes, step, Some(active));
        let mut results = Vec::new();
        for ((old, new), ty) in params.iter().zip(next).zip(&types) {
            let v = match (ty, new) {
                (Type::Size, Scalar::Size(v)) => v,
                _ => {
                    let scalar = self.b.scalar(*old);
                    let new = self.indices.tensor(&mut self.b, new, scalar);
                    let old_rank = self.b.rank(*old);
                    let new = self.b.lift(new, old_rank);
                    if varying { self.b.where_(active, new, *old) } else { new }
                }
            };
            results.push(v);
        }
        let next_active = self.loop_test(lanes, test, &results, active, &space);
        results.insert(0, next_active);
        let tokens = self.checks.close();
        debug_assert!(tokens.is_empty(), "the loop's test has taken the checks");
        let step_body = self.b.close(results);
        let results = self.b.while_(&init, test_body, step_body);
        scalars_of(&self.b, &results[1..])
    }

    /// The lanes of `on` without a fault so far for which the loop goes on.
    pub(crate) fn loop_test(
        &mut self,
        lanes: &mut Lanes<'_>,
        test: &Region,
        state: &[Value],
        on: Value,
        space: &[Value],
    ) -> Value {
        let on = self.checks.confined(&mut self.b, on, space);
        bind(&mut self.b, lanes, &test.params, state);
        let t = self.region(lanes, test, Some(on));
        let t = self.indices.tensor(&mut self.b, t[0], ScalarType::Bool);
        let t = self.b.and(on, t);
        self.checks.confined(&mut self.b, t, space)
    }
}

/// The values that regions use and do not define, in order of first use.
pub(crate) fn free_values(regions: [&Region; 2]) -> Vec<Val> {
    let (mut defined, mut out) = (HashSet::new(), Vec::new());
    for r in regions {
        free_in(r, &mut defined, &mut out);
    }
    let mut seen = HashSet::new();
    out.retain(|v| !defined.contains(v) && seen.insert(*v));
    out
}

fn free_in(r: &Region, defined: &mut HashSet<Val>, used: &mut Vec<Val>) {
    defined.extend(&r.params);
    for n in &r.nodes {
        used.extend(n.op.operands());
        for inner in n.op.regions() {
            acc_core::grow_stack(|| free_in(inner, defined, used));
        }
        defined.extend(&n.results);
    }
    used.extend(&r.results);
}

/// The values that a function uses anywhere.
fn used_values(f: &Fun) -> HashSet<Val> {
    let mut used = Vec::new();
    free_in(&f.body, &mut HashSet::new(), &mut used);
    used.into_iter().collect()
}

fn bind(b: &mut Builder, lanes: &mut Lanes<'_>, params: &[Val], values: &[Value]) {
    for (p, s) in params.iter().zip(scalars_of(b, values)) {
        lanes.vals[p.index()] = Some(s);
    }
}
