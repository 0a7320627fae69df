//! Factors that are equal along the axes of a sum are taken out of it: the adjoint of an array that was replicated, which is a sum
//! of products, is the sum of fewer of them, once multiplied by the rest.

use super::Reverse;
use acc_core::ad::{self, Code, Partial, sure};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, ScalarOp, Stmt, Val};
use std::collections::{HashMap, HashSet};

/// How many operations are looked through for factors.
const MAX_DEPTH: usize = 16;

/// What is done with a sum once.
#[derive(Clone, Copy)]
enum Outside {
    Negated,
    Doubled,
    /// Multiplied by a value that no summand changes.
    Times(Val),
}

/// A function of the elements of arrays, some of which are equal along the axes of a sum.
struct Summand<'f> {
    f: &'f Fun,
    /// The values that are the same in all summands.
    equal: HashSet<Val>,
    /// The first value that is computed in the same way as one.
    first: HashMap<Val, Val>,
    code: Code,
}

impl Reverse<'_, '_> {
    /// The sum of an array over all its axes but these.
    pub(super) fn sum_of_products(&mut self, a: ArrayId, kept: &[usize]) -> ArrayId {
        let stmt = self.w.definition(a).cloned();
        let factored = stmt.and_then(|s| self.factored(&s, kept));
        factored.unwrap_or_else(|| self.fold_axes(a, kept))
    }

    /// The same of what a statement yields, if there are factors to take out of it.
    fn factored(&mut self, s: &Stmt, kept: &[usize]) -> Option<ArrayId> {
        let ArrayOp::Map { xs, f, indexed: false } = &s.op else { return None };
        let (&[a], &[v]) = (&s.results[..], &f.body.results[..]) else { return None };
        // For each array the one that it repeats along the axes of the sum, with the positions of its axes among those kept.
        let repeated: Vec<Option<(ArrayId, Vec<usize>)>> = xs.iter().map(|x| self.repeated(*x, kept)).collect();
        let leaves: Vec<_> = xs.iter().map(|x| self.w.elt(*x).leaves()).collect();
        let mut params = f.body.params.iter().copied();
        let own: Vec<Vec<Val>> = leaves.iter().map(|leaves| params.by_ref().take(leaves.len()).collect()).collect();
        let is_repeated = |(_, repeated): &(&Vec<Val>, &Option<_>)| repeated.is_some();
        let equal = own.iter().zip(&repeated).filter(is_repeated).flat_map(|(own, _)| own.clone()).collect();
        let mut summand = Summand::new(f, equal, Code::of_function(f, &s.loc));
        let mut outside = Vec::new();
        let rest = summand.split(v, &mut outside, 0);
        if outside.is_empty() {
            return None;
        }
        let elt = self.w.elt(a).clone();
        let op = ArrayOp::Map { xs: xs.clone(), f: summand.code.done([rest]), indexed: false };
        let rest = self.w.stmt(self.w.rank(a), elt.clone(), op);
        let sum = self.fold_axes(rest, kept);
        Some(self.over(sum, elt.clone(), |c, index| {
            let mut args: Vec<Val> = Vec::new();
            for (leaves, repeated) in leaves.iter().zip(&repeated) {
                match repeated {
                    Some((source, axes)) => {
                        let at: Vec<Val> = axes.iter().map(|axis| index[*axis]).collect();
                        args.extend(c.read(*source, leaves, &at));
                    }
                    None => args.extend(c.zeros(leaves)),
                }
            }
            let mut total = c.read(sum, &elt.leaves(), index)[0];
            for outside in outside.iter().rev() {
                let partial = match outside {
                    Outside::Negated => Partial::MinusOne,
                    Outside::Doubled => {
                        total = c.two(PrimOp::AddP, total, total);
                        continue;
                    }
                    Outside::Times(factor) => {
                        let mut of_factor = f.clone();
                        of_factor.body.results = vec![*factor];
                        Partial::TimesSteep(c.inline(&of_factor, &args)[0])
                    }
                };
                total = sure(ad::scaled(c, partial, &total, false)).unwrap_or(total);
            }
            vec![total]
        }))
    }

    /// The array that this one repeats along all axes but these, if it does, and where its own axes are among these.
    fn repeated(&self, a: ArrayId, kept: &[usize]) -> Option<(ArrayId, Vec<usize>)> {
        let stmt = self.w.definition(a)?;
        let ArrayOp::Replicate { xs, axes, .. } = &stmt.op else { return None };
        let all = axes.iter().enumerate().filter(|(_, axis)| **axis == Axis::All);
        let places = all.map(|(k, _)| kept.iter().position(|kept| *kept == k)).collect::<Option<Vec<usize>>>()?;
        Some((*xs, places))
    }
}

impl<'f> Summand<'f> {
    /// With these parameters equal in all summands; the code gets the function's.
    fn new(f: &'f Fun, equal: HashSet<Val>, code: Code) -> Summand<'f> {
        let mut s = Summand { f, equal, first: HashMap::new(), code };
        let mut done: HashMap<(PrimOp, Vec<Val>), Val> = HashMap::new();
        for n in &f.body.nodes {
            s.code.push(n.clone());
            let operands = n.op.operands();
            if n.op.regions().is_empty() && operands.iter().all(|v| s.equal.contains(v)) {
                s.equal.extend(&n.results);
            }
            if let (ScalarOp::Prim(p, args), [v]) = (&n.op, &n.results[..]) {
                let args = args.iter().map(|v| s.first_of(*v)).collect();
                let first = *done.entry((*p, args)).or_insert(*v);
                s.first.insert(*v, first);
            }
        }
        s
    }

    fn first_of(&self, v: Val) -> Val {
        self.first.get(&v).copied().unwrap_or(v)
    }

    /// What is left of a value without the factors that are taken out of it.
    fn split(&mut self, v: Val, outside: &mut Vec<Outside>, depth: usize) -> Val {
        let Some(ScalarOp::Prim(op, args)) = self.f.body.definition(v).map(|n| &n.op) else { return v };
        if depth > MAX_DEPTH || !self.f.ty(v).is_float() {
            return v;
        }
        match (op, &args[..]) {
            (PrimOp::NegP, &[x]) => {
                outside.push(Outside::Negated);
                self.split(x, outside, depth + 1)
            }
            (PrimOp::AddP, &[x, y]) if self.first_of(x) == self.first_of(y) => {
                outside.push(Outside::Doubled);
                self.split(x, outside, depth + 1)
            }
            (PrimOp::MulP, &[x, y]) if self.equal.contains(&x) => {
                outside.push(Outside::Times(x));
                self.split(y, outside, depth + 1)
            }
            (PrimOp::MulP, &[x, y]) if self.equal.contains(&y) => {
                outside.push(Outside::Times(y));
                self.split(x, outside, depth + 1)
            }
            (PrimOp::MulP, &[x, y]) => {
                let before = outside.len();
                let (a, b) = (self.split(x, outside, depth + 1), self.split(y, outside, depth + 1));
                if outside.len() == before { v } else { self.code.two(PrimOp::MulP, a, b) }
            }
            _ => v,
        }
    }
}
