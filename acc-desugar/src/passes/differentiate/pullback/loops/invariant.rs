//! Reads of active arrays in loops of scalars, at indices that no step changes, before the loops.
//!
//! The element is the same in all steps, so that its adjoint is a sum over the steps of each point, in the loop itself. No step
//! may take place that reads it: before the loop, an element that is out of bounds is 0, which nothing uses then.

use crate::passes::simplify::walk::is_speculable;
use acc_core::ad::{Code, defined};
use acc_core::data::ScalarType;
use acc_core::grow_stack;
use acc_core::ir::{Fun, Node, Read, Region, ScalarOp, Val};
use std::collections::{HashMap, HashSet};

/// The function with the reads that `is_active` before the loops that do not change their indices, if there are such reads.
pub(super) fn hoisted(f: &Fun, is_active: &dyn Fn(&Read) -> bool) -> Option<Fun> {
    let loc = &f.body.nodes.first()?.loc;
    let mut hoist = Hoist { code: Code::of_function(f, loc), is_active, names: HashMap::new() };
    hoist.nodes(&f.body.nodes);
    let results: Vec<Val> = f.body.results.iter().map(|v| hoist.name(*v)).collect();
    (!hoist.names.is_empty()).then(|| hoist.code.done(results))
}

struct Hoist<'a> {
    code: Code,
    is_active: &'a dyn Fn(&Read) -> bool,
    /// What stands for values of reads that have left a loop.
    names: HashMap<Val, Val>,
}

/// What leaves a loop.
struct Leaving<'r> {
    /// What the loop defines.
    inside: HashSet<Val>,
    /// Nodes of the loop by what they define.
    nodes: HashMap<Val, &'r Node>,
    /// What stands before the loop for values of the loop.
    before: HashMap<Val, Val>,
    /// Reads before the loop.
    reads: Vec<(Read, Vec<Val>)>,
}

impl Hoist<'_> {
    fn name(&self, v: Val) -> Val {
        self.names.get(&v).copied().unwrap_or(v)
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            let mut n = n.clone();
            for r in n.op.regions_mut() {
                *r = grow_stack(|| self.region(r));
            }
            if let ScalarOp::While { test, step, .. } = &n.op {
                self.leave(&[test, step]);
            }
            for r in n.op.regions_mut() {
                self.drop_reads(r);
            }
            let named = renamed(n, |v| self.name(v));
            named.into_iter().for_each(|n| self.code.push(n));
        }
    }

    /// Removes the reads that have left.
    fn drop_reads(&self, r: &mut Region) {
        r.nodes.retain(|n| !n.results.iter().any(|v| self.names.contains_key(v)));
        for n in &mut r.nodes {
            for inner in n.op.regions_mut() {
                grow_stack(|| self.drop_reads(inner));
            }
        }
    }

    fn region(&mut self, r: &Region) -> Region {
        self.code.open();
        self.nodes(&r.nodes);
        self.code.close(r.params.clone(), r.results.clone())
    }

    /// Writes the reads of a loop whose indices it does not change.
    fn leave(&mut self, regions: &[&Region]) {
        let mut nodes = HashMap::new();
        for r in regions {
            r.visit(0, &mut |n, _| nodes.extend(n.results.iter().map(|v| (*v, n))));
        }
        let inside = regions.iter().flat_map(|r| defined(r)).collect();
        let mut leaving = Leaving { inside, nodes, before: HashMap::new(), reads: Vec::new() };
        let mut reads: Vec<(&Read, &Node)> = Vec::new();
        for r in regions {
            r.visit(0, &mut |n, _| {
                if let ScalarOp::Index(read) = &n.op {
                    reads.push((read, n));
                }
            });
        }
        reads.retain(|(read, _)| (self.is_active)(read) && read.index.iter().all(|v| leaving.is_invariant(*v)));
        for (read, n) in reads {
            let index = read.index.iter().map(|v| self.before(&mut leaving, *v)).collect();
            let read = Read { index, ..read.clone() };
            let known = leaving.reads.iter().find(|(other, _)| *other == read).map(|(_, values)| values.clone());
            let values = known.unwrap_or_else(|| self.read(&read, n));
            self.names.extend(n.results.iter().copied().zip(values.iter().copied()));
            leaving.reads.push((read, values));
        }
    }

    /// A value of a loop that no step changes, before the loop.
    fn before(&mut self, leaving: &mut Leaving<'_>, v: Val) -> Val {
        if !leaving.inside.contains(&v) {
            return v;
        }
        if let Some(before) = leaving.before.get(&v) {
            return *before;
        }
        let Some(n) = leaving.nodes.get(&v).copied() else { return v };
        let operands: HashMap<Val, Val> =
            n.op.operands().into_iter().map(|o| (o, grow_stack(|| self.before(leaving, o)))).collect();
        for copied in renamed(self.code.copy_node(n), |v| operands.get(&v).copied().unwrap_or(v)) {
            leaving.before.extend(n.results.iter().copied().zip(copied.results.iter().copied()));
            self.code.push(copied);
        }
        leaving.before.get(&v).copied().unwrap_or(v)
    }

    fn read(&mut self, read: &Read, n: &Node) -> Vec<Val> {
        let types: Vec<ScalarType> = n.results.iter().map(|v| self.code.ty(*v)).collect();
        let inside = self.code.within(&read.array, &read.index);
        let op = ScalarOp::Index(read.clone());
        self.code.branch(inside, &types, |c| c.emit_all(op, &types), |c| c.zeros(&types))
    }
}

impl Leaving<'_> {
    fn is_invariant(&self, v: Val) -> bool {
        let is_constant = |n: &&Node| {
            (is_speculable(&n.op) || matches!(n.op, ScalarOp::Extent { .. }))
                && n.op.operands().into_iter().all(|v| grow_stack(|| self.is_invariant(v)))
        };
        !self.inside.contains(&v) || self.nodes.get(&v).is_some_and(is_constant)
    }
}

/// A node with other values.
fn renamed(n: Node, name: impl Fn(Val) -> Val) -> Vec<Node> {
    let alone = Region { params: Vec::new(), nodes: vec![n], results: Vec::new() };
    std::mem::take(&mut alone.map(&mut |a| *a, &mut |v| name(v)).nodes)
}
