//! Walking graphs: what operations use and define.

use super::{Body, FaultKind, Flags, Node, Numbers, Op, PadMode, ReduceOp, ScatterMode, SizeOp, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, PrimOp};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A field of an operation: values, bodies, or neither.
pub(super) trait Field {
    /// The values used directly.
    fn values(&self, _out: &mut SmallVec<[Value; 6]>) {}

    /// Replaces every value, those inside a body included.
    fn rename(&mut self, _f: &dyn Fn(Value) -> Value) {}

    /// Replaces the values used directly.
    fn rename_here(&mut self, f: &dyn Fn(Value) -> Value) {
        self.rename(f);
    }

    /// The body that it is.
    fn body(&self) -> Option<&Body> {
        None
    }

    /// The same, to change it.
    fn body_mut(&mut self) -> Option<&mut Body> {
        None
    }

    /// The field of a copy of the operation without bodies.
    fn bare(&self) -> Self
    where
        Self: Sized + Clone,
    {
        self.clone()
    }
}

impl Field for Value {
    fn values(&self, out: &mut SmallVec<[Value; 6]>) {
        out.push(*self);
    }
    fn rename(&mut self, f: &dyn Fn(Value) -> Value) {
        *self = f(*self);
    }
}

macro_rules! many_values {
    ($($T:ty),*) => { $(
        impl Field for $T {
            fn values(&self, out: &mut SmallVec<[Value; 6]>) {
                out.extend(self.iter().copied());
            }
            fn rename(&mut self, f: &dyn Fn(Value) -> Value) {
                self.iter_mut().for_each(|v| *v = f(*v));
            }
        }
    )* };
}
many_values!(Values, Vec<Value>, Option<Value>);

impl Field for Body {
    fn rename(&mut self, f: &dyn Fn(Value) -> Value) {
        acc_core::grow_stack(|| Body::rename(self, f));
    }
    fn rename_here(&mut self, _f: &dyn Fn(Value) -> Value) {}
    fn body(&self) -> Option<&Body> {
        Some(self)
    }
    fn body_mut(&mut self) -> Option<&mut Body> {
        Some(self)
    }
    fn bare(&self) -> Body {
        Body::default()
    }
}

macro_rules! no_values {
    ($($T:ty),* $(,)?) => { $(impl Field for $T {})* };
}
no_values!(
    i64,
    u32,
    bool,
    Numbers,
    Flags,
    Lit,
    ScalarType,
    PrimOp,
    SizeOp,
    ReduceOp,
    PadMode,
    ScatterMode,
    FaultKind,
    Arc<str>,
    Vec<ArrayType>,
);

impl Node {
    /// Of a loop over arrays, the sizes of its state that no step changes: each as it is before the loop, and as the test, the step
    /// and the results name it.
    pub(crate) fn kept_sizes(
        &self,
        is_size: impl Fn(Value) -> bool,
        origin: impl Fn(Value) -> Value,
    ) -> Vec<(Value, [Value; 3])> {
        let Op::While { init, test, step } = &self.op else { return Vec::new() };
        let kept = step.passed_on(init, origin).into_iter().filter(|k| is_size(init[*k]));
        kept.map(|k| (init[k], [test.params[k], step.params[k], self.results[k]])).collect()
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

    /// Of a loop's step: the positions of the values in the state that each step passes on, apart from checks, whether as they
    /// came or as they were before the loop, by `origin`.
    fn passed_on(&self, init: &[Value], origin: impl Fn(Value) -> Value) -> Vec<usize> {
        let mut checked = HashMap::new();
        for n in &self.nodes {
            if let Op::Checked { values, .. } | Op::Trace { values, .. } = &n.op {
                checked.extend(n.results.iter().copied().zip(values.iter().copied()));
            }
        }
        let is_passed = |k: &usize| {
            let mut v = self.results[*k];
            while let Some(inner) = checked.get(&v) {
                v = *inner;
            }
            v == self.params[*k] || origin(v) == origin(init[*k])
        };
        (0..init.len()).filter(is_passed).collect()
    }

    /// For each node whether the body's results certainly need it. The others are evaluated on demand.
    pub fn strict(&self) -> Vec<bool> {
        let mut needed: HashSet<Value> = self.results.iter().copied().collect();
        let mut strict = vec![false; self.nodes.len()];
        for (n, strict) in self.nodes.iter().zip(&mut strict).rev() {
            if n.results.iter().any(|r| needed.contains(r)) {
                *strict = true;
                needed.extend(n.op.operands());
            }
        }
        strict
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
