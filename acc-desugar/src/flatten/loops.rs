//! Scalar loops: loops of the graph where all lanes leave at once, loops on the lanes that are on where they do not.

use super::Flattener;
use super::level::Level;
use super::scalar::{Lanes, Scalar};
use crate::graph::{Type, Value};
use acc_core::data::ScalarType;
use acc_core::ir::{Node, Region, Val};
use smallvec::SmallVec;

impl Flattener<'_> {
    pub(super) fn scalar_loop(
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

    pub(super) fn bind(&mut self, lanes: &mut Lanes<'_>, params: &[Val], values: &[Value]) {
        for (p, s) in params.iter().zip(self.scalars_of(values)) {
            lanes.vals[p.index()] = Some(s);
        }
    }

    /// A loop on the lanes that are on and whose test holds, until there are none. Lanes with a fault, and those after
    /// the first of these, stop.
    pub(super) fn masked_loop(
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
    pub(super) fn loop_test(
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
    pub(super) fn confined(&mut self, mask: Value, space: &[Value]) -> Value {
        let inner = self.tokens.len() > 1;
        let tokens = match self.tokens.last_mut() {
            // In a statement's own body the checks stay, for its end to raise what they found.
            Some(t) if !inner => t.clone(),
            Some(t) => std::mem::take(t),
            None => Vec::new(),
        };
        if tokens.is_empty() { mask } else { self.b.confine(mask, tokens, space) }
    }
}
