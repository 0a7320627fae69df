//! Loops of scalars that read active arrays, out of the branches around them.
//!
//! A branch with such a loop becomes three nodes: a branch with what comes before the loop, the loop, which takes no step where
//! the branch is not taken, and a branch with what comes after it.

use acc_core::ad::{Code, used_from_around};
use acc_core::data::{Prim, ScalarType};
use acc_core::grow_stack;
use acc_core::ir::{Fun, Node, PrimOp, Region, ScalarOp, Val, Vals};
use std::collections::{HashMap, HashSet};

/// The function with every loop that `reads` outside of branches.
pub(super) fn unnested(f: &Fun, reads: &dyn Fn(&Region) -> bool) -> Fun {
    let within = |n: &Node| matches!(n.op, ScalarOp::If { .. }) && holds_loop(n, reads);
    if !f.body.nodes.iter().any(within) {
        return f.clone();
    }
    let mut code = Code::of_function(f, &f.body.nodes[0].loc);
    let mut u = Unnest { code: &mut code, reads };
    u.nodes(&f.body.nodes);
    code.done(f.body.results.iter().copied())
}

/// Whether a node is, or has in its branches, a loop that reads.
fn holds_loop(n: &Node, reads: &dyn Fn(&Region) -> bool) -> bool {
    let regions = n.op.regions();
    match &n.op {
        ScalarOp::While { .. } => regions.into_iter().any(reads),
        _ => regions.into_iter().any(|r| grow_stack(|| r.nodes.iter().any(|n| holds_loop(n, reads)))),
    }
}

struct Unnest<'c> {
    code: &'c mut Code,
    reads: &'c dyn Fn(&Region) -> bool,
}

impl Unnest<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            match &n.op {
                ScalarOp::If { cond, then, else_ } if holds_loop(n, self.reads) => {
                    grow_stack(|| self.branch(n, *cond, then, else_));
                }
                _ => self.code.push(n.clone()),
            }
        }
    }

    fn branch(&mut self, n: &Node, cond: Val, then: &Region, else_: &Region) {
        // What is inside comes out first.
        let then = self.inner(then);
        let else_ = self.inner(else_);
        let loop_in = |r: &Region| r.nodes.iter().position(|n| holds_loop(n, self.reads));
        let (taken, side, at) = match (loop_in(&then), loop_in(&else_)) {
            (Some(at), _) => (cond, true, at),
            (None, Some(at)) => (self.code.op(PrimOp::NotP, &[cond]), false, at),
            (None, None) => {
                let op = ScalarOp::If { cond, then, else_ };
                return self.code.push(Node { results: n.results.clone(), op, loc: n.loc.clone() });
            }
        };
        let (own, other) = if side { (&then, &else_) } else { (&else_, &then) };
        let ScalarOp::While { init, test, step } = &own.nodes[at].op else { return };
        let rest = Region { params: Vec::new(), nodes: own.nodes[at + 1..].to_vec(), results: own.results.clone() };
        let before: HashSet<Val> = own.nodes[..at].iter().flat_map(|n| n.results.iter().copied()).collect();
        let used = [used_from_around(test), used_from_around(step), used_from_around(&rest)];
        let mut kept: Vec<Val> = Vec::new();
        for v in used.into_iter().flatten() {
            if before.contains(&v) && !kept.contains(&v) {
                kept.push(v);
            }
        }
        // Before the loop.
        let yields: Vec<Val> = init.iter().chain(&kept).copied().collect();
        let types: Vec<ScalarType> = yields.iter().map(|v| self.code.ty(*v)).collect();
        let first = self.code.branch(
            taken,
            &types,
            |c| {
                own.nodes[..at].iter().for_each(|n| c.push(n.clone()));
                yields.clone()
            },
            |c| c.zeros(&types),
        );
        let (init, values) = first.split_at(init.len());
        let names: HashMap<Val, Val> = kept.iter().copied().zip(values.iter().copied()).collect();
        let name = |r: &Region| r.map(&mut |a| *a, &mut |v| names.get(&v).copied().unwrap_or(v));
        // The loop.
        let test = name(test);
        self.code.open();
        let go_on = self.code.branch(
            taken,
            &[ScalarType::Bool],
            |c| {
                test.nodes.iter().for_each(|n| c.push(n.clone()));
                test.results.clone()
            },
            |c| vec![c.literal(false.lit())],
        );
        let test = self.code.close(test.params.clone(), go_on);
        let op = ScalarOp::While { init: init.iter().copied().collect::<Vals>(), test, step: name(step) };
        let looped = &own.nodes[at];
        self.code.push(Node { results: looped.results.clone(), op, loc: looped.loc.clone() });
        // After it: there may be another one.
        let rest = name(&rest);
        let other = self.code.copy(other);
        let (then, else_) = if side { (rest, other) } else { (other, rest) };
        let next = Node { results: n.results.clone(), op: ScalarOp::If { cond, then, else_ }, loc: n.loc.clone() };
        self.nodes(&[next]);
    }

    fn inner(&mut self, r: &Region) -> Region {
        self.code.open();
        self.nodes(&r.nodes);
        self.code.close(r.params.clone(), r.results.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{holds_loop, unnested};
    use acc_core::ir::{ArrayOp, ScalarOp};

    #[test]
    fn loops_leave_branches_in_branches() {
        let p = acc_core::text::parse(
            "p.acc",
            "program(x: [1]f64, c: [1]f64) { y: [1]f64 = imap(x, f: |%i: i64, %x: f64| if gt(%x, 0.0f64) {
               yield if lt(%i, 2i64) {
                 %r = while (%x) test |%r: f64| { yield lt(%r, c[0i64]) } step |%r: f64| { yield mul(%r, %r) }
                 %s = while (%r) test |%s: f64| { yield lt(%s, %r) } step |%s: f64| { yield mul(%s, c[1i64]) }
                 yield add(%s, %x)
               } else { yield %x }
             } else { yield 0.0f64 }) yield y }",
        )
        .unwrap();
        let ArrayOp::Map { f, .. } = &p.body.stmts[0].op else { panic!("a map") };
        let out = unnested(f, &|_| true);
        let loops = out.body.nodes.iter().filter(|n| matches!(n.op, ScalarOp::While { .. })).count();
        let inside = out.body.nodes.iter().any(|n| matches!(n.op, ScalarOp::If { .. }) && holds_loop(n, &|_| true));
        assert_eq!((loops, inside), (2, false));
    }
}
