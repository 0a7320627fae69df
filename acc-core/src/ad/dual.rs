//! Tangents of scalar functions, along any number of directions at once.

use super::code::{Code, sure};
use super::{Partial, active_in_region, scaled, tangent};
use crate::grow_stack;
use crate::ir::{Foreign, Fun, Ir, Node, PrimOp, Programs, Read, Region, ScalarOp, Val, Vals};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A tangent.
#[derive(Clone, Copy)]
pub struct Tangent {
    /// What it is.
    pub value: Val,
    /// Whether it may be a zero that multiplies nothing: of a branch not taken, or of a constant.
    pub careful: bool,
}

/// The tangents of a value, by direction.
pub type Tangents = SmallVec<[Option<Tangent>; 1]>;

/// The tangents of arrays: the leaves of an element that have one, and the array of them.
pub trait ArrayTangents<D: Programs = Ir> {
    /// The array of tangents, if there is one.
    fn tangent(&self, a: &D::Array) -> Option<D::Array>;
    /// Which leaves of its elements are floats.
    fn floats(&self, a: &D::Array) -> Vec<bool>;
}

/// No array has one.
pub struct NoArrays;

impl<D: Programs> ArrayTangents<D> for NoArrays {
    fn tangent(&self, _: &D::Array) -> Option<D::Array> {
        None
    }
    fn floats(&self, _: &D::Array) -> Vec<bool> {
        Vec::new()
    }
}

/// Writes nodes together with their tangents.
pub struct Dual<'a, D: Programs = Ir> {
    /// Where they are written.
    pub code: &'a mut Code<D>,
    /// How many tangents a value has.
    pub directions: usize,
    /// The tangents of arrays.
    pub arrays: &'a dyn ArrayTangents<D>,
    /// Those of values, so far.
    pub tangents: HashMap<Val, Tangents>,
}

impl<D: Programs> Dual<'_, D> {
    fn of(&self, v: Val, direction: usize) -> Option<Tangent> {
        self.tangents.get(&v)?.get(direction).copied().flatten()
    }

    fn has(&self, v: Val) -> bool {
        self.tangents.get(&v).is_some_and(|t| t.iter().any(Option::is_some))
    }

    fn set(&mut self, v: Val, tangents: Tangents) {
        if tangents.iter().any(Option::is_some) {
            self.tangents.insert(v, tangents);
        }
    }

    /// The tangent of a value, 0 if it has none.
    pub fn value(&mut self, v: Val, direction: usize) -> Val {
        match self.of(v, direction) {
            Some(t) => t.value,
            None => self.code.zero_like(v),
        }
    }

    /// Writes the nodes of a region and the tangents of what they yield.
    pub fn region(&mut self, r: &Region<D>) {
        grow_stack(|| r.nodes.iter().for_each(|n| self.node(n)));
    }

    /// Writes a node and the tangents of what it yields.
    pub fn node(&mut self, n: &Node<D>) {
        let around = std::mem::replace(&mut self.code.loc, n.loc.clone());
        match &n.op {
            ScalarOp::Const(_) | ScalarOp::Extent { .. } | ScalarOp::Bitcast(_) => self.code.push(n.clone()),
            ScalarOp::Prim(op, args) => {
                self.code.push(n.clone());
                let y = n.results[0];
                let all = (0..self.directions).map(|d| {
                    let tangents: Vec<Option<Tangent>> = args.iter().map(|v| self.of(*v, d)).collect();
                    let careful = tangents.iter().flatten().any(|t| t.careful);
                    let values: Vec<Option<Val>> = tangents.iter().map(|t| t.map(|t| t.value)).collect();
                    if tangents.iter().all(Option::is_none) {
                        return None;
                    }
                    let value = sure(tangent(self.code, *op, args, &y, &values, careful))?;
                    Some(Tangent { value, careful })
                });
                let all = all.collect();
                self.set(y, all);
            }
            ScalarOp::Cast(x) => {
                self.code.push(n.clone());
                let (y, ty) = (n.results[0], self.code.ty(n.results[0]));
                if ty.is_float() {
                    let cast = |t: Tangent, code: &mut Code<D>| Tangent { value: code.cast(t.value, ty), ..t };
                    let all = (0..self.directions).map(|d| self.of(*x, d).map(|t| cast(t, self.code)));
                    let all = all.collect();
                    self.set(y, all);
                }
            }
            ScalarOp::Select { cond, then, else_ } => {
                self.code.push(n.clone());
                let all = (0..self.directions).map(|d| {
                    let (t, u) = (self.of(*then, d), self.of(*else_, d));
                    if t.is_none() && u.is_none() {
                        return None;
                    }
                    let careful = [t, u].iter().any(|t| t.is_none_or(|t| t.careful));
                    let (t, u) = (self.value(*then, d), self.value(*else_, d));
                    Some(Tangent { value: self.code.choose(*cond, t, u), careful })
                });
                let all = all.collect();
                self.set(n.results[0], all);
            }
            ScalarOp::If { cond, then, else_ } => self.branch(n, *cond, then, else_),
            ScalarOp::While { init, test, step } => self.looped(n, init, test, step),
            ScalarOp::Own(Foreign { args, partials: Some(partials), .. }) => {
                self.code.push(n.clone());
                self.ruled(n, args, partials);
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                self.code.push(n.clone());
                self.foreign(n, args, fallback);
            }
            ScalarOp::Index(Read { array, leaves, index, .. }) => {
                self.code.push(n.clone());
                let Some(tangent) = self.arrays.tangent(array) else {
                    self.code.loc = around;
                    return;
                };
                let floats = self.arrays.floats(array);
                // The position of a leaf among the floats.
                let place = |leaf: u32| floats[..leaf as usize].iter().filter(|f| **f).count() as u32;
                let read: Vec<(Val, u32)> = n.results.iter().copied().zip(leaves.iter().copied()).collect();
                let read: Vec<(Val, u32)> = read.into_iter().filter(|(_, leaf)| floats[*leaf as usize]).collect();
                if !read.is_empty() {
                    let types: Vec<_> = read.iter().map(|(v, _)| self.code.ty(*v)).collect();
                    let leaves = read.iter().map(|(_, leaf)| place(*leaf)).collect();
                    let op = ScalarOp::Index(Read { array: tangent, leaves, index: index.clone(), edge: () });
                    let values = self.code.emit_all(op, &types);
                    for ((v, _), value) in read.into_iter().zip(values) {
                        self.set(v, (0..self.directions).map(|_| Some(Tangent { value, careful: false })).collect());
                    }
                }
            }
        }
        self.code.loc = around;
    }

    fn branch(&mut self, n: &Node<D>, cond: Val, then: &Region<D>, else_: &Region<D>) {
        self.code.open();
        self.region(then);
        // What is active in either branch has a tangent of both: the second is written before what both yield is known.
        let then_nodes = self.code.close(Vec::new(), Vec::new());
        self.code.open();
        self.region(else_);
        let else_nodes = self.code.close(Vec::new(), Vec::new());
        let mut active: Vec<(usize, usize)> = Vec::new();
        for k in 0..n.results.len() {
            for d in 0..self.directions {
                if self.of(then.results[k], d).is_some() || self.of(else_.results[k], d).is_some() {
                    active.push((k, d));
                }
            }
        }
        let finish = |this: &mut Self, r: &Region<D>, nodes: Region<D>| {
            this.code.open();
            nodes.nodes.iter().for_each(|n| this.code.push(n.clone()));
            let mut results = r.results.clone();
            for (k, d) in &active {
                results.push(this.value(r.results[*k], *d));
            }
            this.code.close(Vec::new(), results)
        };
        let (new_then, new_else) = (finish(self, then, then_nodes), finish(self, else_, else_nodes));
        let mut results: Vals = n.results.clone();
        for (k, d) in &active {
            let value = self.code.fresh(self.code.ty(n.results[*k]));
            results.push(value);
            let sides = [self.of(then.results[*k], *d), self.of(else_.results[*k], *d)];
            let careful = sides.iter().any(|t| t.is_none_or(|t| t.careful));
            self.put(n.results[*k], *d, Tangent { value, careful });
        }
        let op = ScalarOp::If { cond, then: new_then, else_: new_else };
        self.code.push(Node { results, op, loc: n.loc.clone() });
    }

    fn put(&mut self, v: Val, direction: usize, t: Tangent) {
        let directions = self.directions;
        let all = self.tangents.entry(v).or_insert_with(|| (0..directions).map(|_| None).collect());
        all[direction] = Some(t);
    }

    fn looped(&mut self, n: &Node<D>, init: &Vals, test: &Region<D>, step: &Region<D>) {
        let active = self.active_state(init, step);
        if active.is_empty() {
            return self.code.push(n.clone());
        }
        // Zero to begin with where the state is constant then.
        let mut init = init.clone();
        for (k, d) in &active {
            let t = self.value(init[*k], *d);
            init.push(t);
        }
        let mut params = test.params.clone();
        params.extend(active.iter().map(|(k, _)| self.code.fresh(self.code.ty(test.params[*k]))));
        let new_test = Region { params, nodes: test.nodes.clone(), results: test.results.clone() };
        let mut params = step.params.clone();
        for (k, d) in &active {
            let value = self.code.fresh(self.code.ty(step.params[*k]));
            params.push(value);
            self.put(step.params[*k], *d, Tangent { value, careful: true });
        }
        self.code.open();
        self.region(step);
        let mut results = step.results.clone();
        for (k, d) in &active {
            results.push(self.value(step.results[*k], *d));
        }
        let new_step = self.code.close(params, results);
        let mut results = n.results.clone();
        for (k, d) in &active {
            let value = self.code.fresh(self.code.ty(n.results[*k]));
            results.push(value);
            self.put(n.results[*k], *d, Tangent { value, careful: true });
        }
        let op = ScalarOp::While { init, test: new_test, step: new_step };
        self.code.push(Node { results, op, loc: n.loc.clone() });
    }

    /// Which of a loop's state, and along which directions, has a tangent in some step.
    fn active_state(&self, init: &Vals, step: &Region<D>) -> Vec<(usize, usize)> {
        let mut active = Vec::new();
        for d in 0..self.directions {
            // A function of the state: it is active as far as it depends on what is active around it.
            let starts: Vec<bool> = init.iter().map(|v| self.of(*v, d).is_some()).collect();
            let mut state = starts;
            loop {
                let f = Fun { types: self.code.types.clone(), body: step.clone() };
                let around = |v: Val| self.of(v, d).is_some();
                let values = active_in_region(&f, &state, &around, &|a, _| self.arrays.tangent(a).is_some());
                let next = step.results.iter().map(|v| values.active[v.index()]);
                let next: Vec<bool> = next.zip(&state).map(|(new, old)| new || *old).collect();
                if next == state {
                    break;
                }
                state = next;
            }
            active.extend(state.iter().enumerate().filter(|(_, a)| **a).map(|(k, _)| (k, d)));
        }
        active
    }

    /// The tangents of the results of a function with partial derivatives of its own.
    fn ruled(&mut self, n: &Node<D>, args: &Vals, partials: &Region<D>) {
        if !args.iter().any(|v| self.has(*v)) {
            return;
        }
        let known: Vec<Val> = args.iter().chain(&n.results).copied().collect();
        let mut slopes = self.code.placed(partials, &known).into_iter();
        for y in n.results.iter().filter(|v| self.code.ty(**v).is_float()).copied().collect::<Vec<_>>() {
            let ty = self.code.ty(y);
            let mut tangents: Tangents = (0..self.directions).map(|_| None).collect();
            for x in args.iter().filter(|v| self.code.ty(**v).is_float()).copied().collect::<Vec<_>>() {
                let Some(slope) = slopes.next() else { return };
                for (d, sum) in tangents.iter_mut().enumerate() {
                    let Some(t) = self.of(x, d) else { continue };
                    let part = sure(scaled(self.code, Partial::TimesSteep(slope), &t.value, t.careful));
                    let Some(part) = part else { continue };
                    let part = self.code.cast(part, ty);
                    *sum = Some(match *sum {
                        Some(s) => Tangent {
                            value: self.code.two(PrimOp::AddP, s.value, part),
                            careful: s.careful || t.careful,
                        },
                        None => Tangent { value: part, careful: t.careful },
                    });
                }
            }
            self.set(y, tangents);
        }
    }

    /// The tangents of a foreign function's results: of its fallback.
    fn foreign(&mut self, n: &Node<D>, args: &Vals, fallback: &Region<D>) {
        let whole = self.code.copy(fallback);
        for (p, arg) in whole.params.iter().zip(args) {
            if let Some(t) = self.tangents.get(arg).cloned() {
                self.tangents.insert(*p, t);
            }
        }
        let names: HashMap<Val, Val> = whole.params.iter().copied().zip(args.iter().copied()).collect();
        let body = whole.map(&mut |a| a.clone(), &mut |v| names.get(&v).copied().unwrap_or(v));
        self.region(&body);
        for (y, v) in n.results.iter().zip(&body.results) {
            if self.has(*v)
                && let Some(t) = self.tangents.get(v).cloned()
            {
                self.tangents.insert(*y, t);
            }
        }
    }
}
