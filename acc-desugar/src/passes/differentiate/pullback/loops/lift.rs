//! Loops of scalars that read active arrays, as loops of arrays.
//!
//! Elements that all steps of a point read leave the loop ([`invariant`](super::invariant)). If it reads others, the statement becomes
//! three: what comes before the loop, at all points; the loop, in each step of which all points take a step that have not left it; and
//! what comes after. The adjoints of loops of arrays are known.

use super::super::super::sweep::without_fallbacks;
use super::super::Reverse;
use super::invariant::hoisted;
use super::unnest::unnested;
use acc_core::Error;
use acc_core::ad::{Code, used_from_around};
use acc_core::data::{EltType, Prim, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, Node, PrimOp, Read, Region, ScalarOp, Stmt, Val, Vals};
use std::collections::{HashMap, HashSet};

/// A function around a loop.
struct Around<'f> {
    f: &'f Fun,
    /// Which node the loop is, what it yields, and its parts.
    at: usize,
    results: &'f Vals,
    init: &'f Vals,
    test: &'f Region,
    step: &'f Region,
    /// What the loop, or what comes after it, uses of what was before it, but for literals.
    kept: Vec<Val>,
    /// The literals before it.
    literals: Vec<&'f Node>,
}

impl Reverse<'_, '_> {
    /// The statements that an element-wise statement becomes whose function has such a loop, outside of branches.
    pub(in super::super) fn lifted(&mut self, s: &Stmt, f: &Fun) -> Result<Option<(Vec<Stmt>, ArrayId)>, Error> {
        let reads = |r: &Region| {
            let mut any = false;
            r.visit(0, &mut |n, _| {
                any |= matches!(&n.op, ScalarOp::Index(Read { array, .. }) if self.is_active(*array))
            });
            any
        };
        let mut reading_loop = false;
        f.body.visit(0, &mut |n, _| {
            reading_loop |= matches!(n.op, ScalarOp::While { .. }) && n.op.regions().into_iter().any(reads);
        });
        let Some(&y) = s.results.first().filter(|_| reading_loop) else { return Ok(None) };
        let f = without_fallbacks(f);
        let is_active = |read: &Read| self.is_active(read.array);
        let hoisted = if !self.w.assumes { None } else { hoisted(&f, &is_active) };
        if let Some(f) = hoisted {
            return Ok(Some(self.with_function(s, y, f)));
        }
        let f = unnested(&f, &reads);
        let found = f.body.nodes.iter().enumerate().find_map(|(at, n)| match &n.op {
            ScalarOp::While { init, test, step } if reads(test) || reads(step) => {
                Some((at, &n.results, init, test, step))
            }
            _ => None,
        });
        let Some((at, results, init, test, step)) = found else { return Ok(None) };
        let literals = f.body.nodes[..at].iter().filter(|n| matches!(n.op, ScalarOp::Const(_))).collect();
        let mut around = Around { f: &f, at, results, init, test, step, kept: Vec::new(), literals };
        around.kept = around.kept_values();
        let (stmts, result) = self.inner(|this| this.three_parts(s, y, &around));
        Ok(Some((stmts, result?)))
    }

    /// The element-wise statement with this function.
    fn of_points(&mut self, s: &Stmt, y: ArrayId, f: Fun) -> ArrayOp {
        match &s.op {
            ArrayOp::Map { xs, indexed, .. } => ArrayOp::Map { xs: xs.clone(), f, indexed: *indexed },
            _ => ArrayOp::Generate { shape: self.w.extents_of(y), f },
        }
    }

    fn with_function(&mut self, s: &Stmt, y: ArrayId, f: Fun) -> (Vec<Stmt>, ArrayId) {
        self.w.note_of("while", "elements that all steps read are read before it");
        let ty = self.w.ty(y).clone();
        self.inner(|this| {
            let op = this.of_points(s, y, f);
            this.w.add(ty, op)
        })
    }

    fn three_parts(&mut self, s: &Stmt, y: ArrayId, around: &Around<'_>) -> Result<ArrayId, Error> {
        self.w.note_of("while", "as a loop of arrays, in each step of which all points take a step");
        let (rank, f) = (self.w.rank(y), around.f);
        let first: Vec<Val> = around.init.iter().chain(&around.kept).copied().collect();
        let elt = |vals: &[Val]| EltType::tuple(vals.iter().map(|v| EltType::Scalar(f.ty(*v))));
        // Before the loop.
        let nodes = f.body.nodes[..around.at].to_vec();
        let body = Region { params: f.body.params.clone(), nodes, results: first.clone() };
        let op = self.of_points(s, y, Fun { types: f.types.clone(), body });
        let all = self.w.stmt(rank, elt(&first), op);
        let part = |this: &mut Self, vals: &[Val], from: usize| {
            let c = this.w.code(first.iter().map(|v| f.ty(*v)));
            let own = c.params()[from..from + vals.len()].to_vec();
            let op = ArrayOp::Map { xs: vec![all], f: c.done(own), indexed: false };
            this.w.stmt(rank, elt(vals), op)
        };
        let state = part(self, around.init, 0);
        let kept = part(self, &around.kept, around.init.len());
        // The loop.
        let test = self.block(&[state], |this, state| {
            let go_on = ArrayOp::Map { xs: vec![state[0], kept], f: around.goes_on(), indexed: false };
            let mut any = this.w.stmt(rank, ScalarType::Bool.into(), go_on);
            for axis in (0..rank).rev() {
                let mut c = this.w.code([ScalarType::Bool, ScalarType::Bool]);
                let both = c.params();
                let or = c.two(PrimOp::OrP, both[0], both[1]);
                let mut none = this.w.code([]);
                let no = none.literal(false.lit());
                let op = ArrayOp::Fold { xs: any, f: c.done([or]), init: Some(none.done([no])) };
                any = this.w.stmt(axis, ScalarType::Bool.into(), op);
            }
            Ok(vec![any])
        })?;
        let step = self.block(&[state], |this, state| {
            let op = ArrayOp::Map { xs: vec![state[0], kept], f: around.steps(), indexed: false };
            Ok(vec![this.w.stmt(rank, elt(around.init), op)])
        })?;
        let end = self.while_(vec![state], test, step)[0];
        // After it.
        let ty = self.w.ty(y).clone();
        Ok(self.w.add(ty, ArrayOp::Map { xs: vec![end, kept], f: around.after(), indexed: false }))
    }
}

impl Around<'_> {
    /// The nodes after the loop.
    fn rest(&self) -> Region {
        let nodes = self.f.body.nodes[self.at + 1..].to_vec();
        Region { params: Vec::new(), nodes, results: self.f.body.results.clone() }
    }

    fn kept_values(&self) -> Vec<Val> {
        let literals = self.literals.iter().flat_map(|n| &n.results);
        let own: HashSet<Val> = self.results.iter().chain(literals).copied().collect();
        let mut seen = HashSet::new();
        let used = [used_from_around(self.test), used_from_around(self.step), used_from_around(&self.rest())];
        used.into_iter().flatten().filter(|v| !own.contains(v) && seen.insert(*v)).collect()
    }

    /// A function in the making of the state, under these names, and of what is kept.
    fn code(&self, state: &[Val]) -> Code {
        let loc = self.f.body.nodes[self.at].loc.clone();
        let mut code = Code::of_function(self.f, &loc);
        code.set_params(state.iter().chain(&self.kept).copied().collect());
        self.literals.iter().for_each(|n| code.push((*n).clone()));
        code
    }

    /// Whether a point takes one more step.
    fn goes_on(&self) -> Fun {
        let mut code = self.code(&self.test.params);
        self.test.nodes.iter().for_each(|n| code.push(n.clone()));
        code.done(self.test.results.iter().copied())
    }

    /// The next state of a point, which is the same where it has left the loop.
    fn steps(&self) -> Fun {
        let mut code = self.code(&self.step.params);
        let test = code.copy(self.test);
        let names: HashMap<Val, Val> = test.params.iter().copied().zip(self.step.params.iter().copied()).collect();
        let test = test.map(&mut |a| *a, &mut |v| names.get(&v).copied().unwrap_or(v));
        test.nodes.iter().for_each(|n| code.push(n.clone()));
        let types: Vec<ScalarType> = self.step.params.iter().map(|v| self.f.ty(*v)).collect();
        let next = code.branch(
            test.results[0],
            &types,
            |c| {
                self.step.nodes.iter().for_each(|n: &Node| c.push(n.clone()));
                self.step.results.clone()
            },
            |_| self.step.params.clone(),
        );
        code.done(next)
    }

    /// What comes after the loop, of its last state.
    fn after(&self) -> Fun {
        let mut code = self.code(self.results);
        let rest = self.rest();
        rest.nodes.iter().for_each(|n| code.push(n.clone()));
        code.done(rest.results.iter().copied())
    }
}
