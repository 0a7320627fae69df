//! Loops over arrays. Integers and conditions of their state that the host can compute stay with the host: a counter is then
//! a size, what is read at it a view, and nobody waits for the device to know whether the loop goes on.

use crate::flatten::access::Indices;
use crate::flatten::scalar::Scalar;
use crate::flatten::scope::Flat;
use crate::flatten::{Flattener, flat_types};
use crate::graph::builder::{Builder, is_size_prim, is_size_type};
use crate::graph::{Body, Type, Value};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Block, Fun, Region, ScalarOp};

/// What is known of each value of a loop's state.
#[derive(Clone, PartialEq)]
struct State {
    /// Whether it is a size that holds a number.
    hosted: Vec<bool>,
    /// The extent before the loop, if it is one that no step changes.
    same: Vec<Option<Value>>,
}

impl Flattener<'_> {
    pub(crate) fn array_loop(
        &mut self,
        init: &[ArrayId],
        test: &Block,
        step: &Block,
        results: &[ArrayId],
    ) -> Vec<Flat> {
        let before = self.scope.values(init);
        let types: Vec<Type> = results.iter().flat_map(|a| flat_types(self.program.ty(*a))).collect();
        // What is assumed at first, and given up where a step shows that it does not hold.
        let mut state = State {
            hosted: init.iter().zip(&step.results).flat_map(|(a, next)| self.may_stay(*a, next, step)).collect(),
            same: before.iter().zip(&types).map(|(v, ty)| (*ty == Type::Size).then_some(*v)).collect(),
        };
        let (step_body, test_body) = loop {
            let (step_body, mut known) = self.state_body(step, &state);
            if known == state {
                let test_body = self.test_body(test, &state);
                if !self.tests_narrow(&test_body, init, &mut known.hosted) {
                    break (step_body, test_body);
                }
            }
            state = known;
        };
        let State { hosted, same } = state;
        let before: Vec<Value> = before
            .into_iter()
            .zip(&hosted)
            .map(
                |(v, host)| {
                    if *host { self.b.known_after_checks(v).unwrap_or_else(|| self.b.read_back_number(v)) } else { v }
                },
            )
            .collect();
        let values = self.b.while_(&before, test_body, step_body);
        let values: Vec<Value> = values
            .iter()
            .zip(types)
            .zip(hosted.iter().zip(&same))
            .map(|((v, ty), (host, same))| self.of_state(*v, ty, *host, *same))
            .collect();
        self.split(results, &values)
    }

    /// A value of the state in the form that it has outside of the loop.
    fn of_state(&mut self, v: Value, ty: Type, hosted: bool, same: Option<Value>) -> Value {
        match same {
            Some(before) => {
                self.b.set_same(v, before);
                before
            }
            None => self.indices.unhosted(&mut self.b, v, ty, hosted),
        }
    }

    /// For each value of an array of the state whether the host may compute it, judging by how a step computes it.
    fn may_stay(&self, a: ArrayId, next: &ArrayId, step: &Block) -> Vec<bool> {
        let ty = self.program.ty(a);
        let function = step.stmts.iter().find(|s| s.results.contains(next)).and_then(|s| match &s.op {
            ArrayOp::Generate { f, .. } | ArrayOp::Map { f, .. } => Some(f),
            _ => None,
        });
        let stays =
            !self.faults().exact() && (step.params.contains(next) || function.is_some_and(|f| on_sizes(f, &f.body)));
        flat_types(ty)
            .into_iter()
            .map(|ty| stays && matches!(ty, Type::Tensor { scalar, rank: 0 } if is_size_type(scalar)))
            .collect()
    }

    /// Whether the device tests the state while the host has narrow integers of it: in each step tensors would be made of
    /// these. They stay with the device, then, and `hosted` says so.
    fn tests_narrow(&self, test: &Body, init: &[ArrayId], hosted: &mut [bool]) -> bool {
        if test.results.iter().all(|v| self.b.ty(*v) == Type::Size) {
            return false;
        }
        let types = init.iter().flat_map(|a| flat_types(self.program.ty(*a)));
        let mut found = false;
        for (host, ty) in hosted.iter_mut().zip(types) {
            let narrow = !matches!(ty, Type::Tensor { scalar: ScalarType::I64 | ScalarType::Bool, .. } | Type::Size);
            found |= *host && narrow;
            *host &= !narrow;
        }
        found
    }

    /// Adds the parameters of a block to the innermost body.
    fn state_params(&mut self, params: &[ArrayId], state: &State) {
        let mut known = state.hosted.iter().zip(&state.same);
        for &p in params {
            let ty = self.program.ty(p).clone();
            let mut values = Vec::new();
            for (ty, (host, same)) in flat_types(&ty).into_iter().zip(known.by_ref()) {
                let v = self.b.param(if *host { Type::Size } else { ty });
                values.push(self.of_state(v, ty, *host, *same));
            }
            self.define_param(p, &values, ty.elt.size());
        }
    }

    /// The body of a step, and what holds of the state after it of what is assumed before.
    fn state_body(&mut self, step: &Block, state: &State) -> (Body, State) {
        let mut known = state.clone();
        let body = self.body_with(
            step,
            |this| this.state_params(&step.params, state),
            |this, results| {
                for (v, host) in results.iter_mut().zip(&mut known.hosted).filter(|(_, host)| **host) {
                    match this.b.known_after_checks(*v) {
                        Some(size) => *v = size,
                        None => *host = false,
                    }
                }
                for (v, same) in results.iter().zip(&mut known.same) {
                    *same = same.filter(|before| this.b.is_same_size(*v, *before));
                }
            },
        );
        (body, known)
    }

    /// The test of a loop: yields its one element.
    fn test_body(&mut self, test: &Block, state: &State) -> Body {
        self.body_with(
            test,
            |this| this.state_params(&test.params, state),
            |this, results| {
                // A rank-0 array has no extents and, of `bool`, one column.
                results.truncate(1);
                if !this.faults().exact() {
                    results.iter_mut().for_each(|v| *v = this.b.known_after_checks(*v).unwrap_or(*v));
                }
            },
        )
    }
}

/// Whether a function uses operations that the host has on sizes, and reads only arrays that may be sizes.
fn on_sizes(f: &Fun, r: &Region) -> bool {
    r.nodes.iter().all(|n| match &n.op {
        ScalarOp::Const(_) | ScalarOp::Extent { .. } | ScalarOp::Select { .. } => true,
        ScalarOp::Prim(p, args) => {
            is_size_prim(*p, f.ty(args[0])) || (p.is_partial() && f.ty(args[0]) == ScalarType::I64)
        }
        ScalarOp::Cast(x) => is_size_type(f.ty(*x)) && n.results.iter().all(|r| is_size_type(f.ty(*r))),
        ScalarOp::Index(read) => read.index.is_empty(),
        ScalarOp::If { .. } => n.op.regions().into_iter().all(|r| acc_core::grow_stack(|| on_sizes(f, r))),
        ScalarOp::Bitcast(_) | ScalarOp::Own(_) | ScalarOp::While { .. } => false,
    })
}

impl Indices {
    /// A value of the state in the form that it has outside of the loop.
    pub(crate) fn unhosted(&self, b: &mut Builder, v: Value, ty: Type, hosted: bool) -> Value {
        match ty {
            Type::Tensor { scalar, .. } if hosted => {
                b.set_narrow(v, scalar);
                let x = self.tensor(b, Scalar::Size(v), scalar);
                b.cast(x, scalar)
            }
            _ => v,
        }
    }
}
