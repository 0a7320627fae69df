//! Where shared expressions are evaluated: one placement rule, for scalar nodes and for array statements.
//!
//! A DAG of expressions with branches and loops becomes nested regions. In a region stand
//!
//! * what its results certainly need (*strictly*), which is also what both branches of a conditional there need;
//! * what two of its branches or loop bodies share, and what a loop body uses without depending on the loop, provided
//!   that evaluating it for nothing is harmless (*speculable*).
//!
//! Everything else stands further in, in each region that needs it: an expression that may fault or fail to end is
//! copied into the branches rather than evaluated where no branch may want it.

use smallvec::SmallVec;
use std::collections::{BTreeSet, HashSet};

/// A node number; operands have lower numbers than their users.
pub(super) type NodeId = usize;

/// A list of nodes.
pub(super) type NodeIds = SmallVec<[NodeId; 4]>;

/// A branch or loop body of a node.
pub(super) struct Inner {
    /// What it yields.
    pub(super) result: NodeId,
    /// The loop's parameter, if it is a loop's.
    pub(super) param: Option<NodeId>,
    /// Whether it runs whenever the node does (a loop's test).
    pub(super) always: bool,
}

/// Expressions to be placed.
pub(super) trait Dag {
    /// The nodes evaluated whenever `n` is.
    fn strict(&self, n: NodeId) -> NodeIds;
    /// The branches and loop bodies of `n`.
    fn inner(&self, n: NodeId) -> SmallVec<[Inner; 2]>;
    /// The loop parameters that `n` depends on and that are not its own loops'.
    fn variant(&self, n: NodeId) -> &[NodeId];
    /// Whether evaluating `n`, given its operands, can do no harm.
    fn harmless(&self, n: NodeId) -> bool;
}

/// For each node, which others that must not be speculated it certainly needs, itself included.
///
/// The sets are cut to [`Needs::MAX_NODES_PER_SET`] nodes, the last ones, so that they stay linear in all: a node left out may be
/// copied into branches though it need not be.
pub(super) struct Needs(Vec<NodeIds>);

impl Needs {
    const MAX_NODES_PER_SET: usize = 32;

    /// Of the nodes below `len`.
    pub(super) fn of<D: Dag>(dag: &D, len: usize) -> Needs {
        let mut sets: Vec<NodeIds> = Vec::with_capacity(len);
        for n in 0..len {
            let inner = dag.inner(n);
            let mut all: BTreeSet<NodeId> = BTreeSet::new();
            for m in dag.strict(n) {
                all.extend(&sets[m]);
            }
            if let [then, else_] = &inner[..]
                && then.param.is_none()
            {
                all.extend(sets[then.result].iter().filter(|m| sets[else_.result].contains(m)));
            }
            if !dag.harmless(n) || !inner.is_empty() {
                all.insert(n);
            }
            sets.push(all.iter().copied().skip(all.len().saturating_sub(Self::MAX_NODES_PER_SET)).collect());
        }
        Needs(sets)
    }

    /// Where everything may be speculated.
    pub(super) fn none() -> Needs {
        Needs(Vec::new())
    }

    /// What both branches of `n` need.
    fn of_both_branches(&self, inner: &[Inner]) -> NodeIds {
        let set = |i: &Inner| self.0.get(i.result).map_or(&[][..], |s| &s[..]);
        match inner {
            [then, else_] if then.param.is_none() => {
                set(then).iter().copied().filter(|m| set(else_).contains(m)).collect()
            }
            _ => NodeIds::new(),
        }
    }
}

/// Places the nodes of one DAG; its marks are reused from region to region.
pub(super) struct Placer {
    /// Marks given out so far.
    last: u64,
    /// By node: the mark of the region that it was placed in last.
    placed: Vec<u64>,
    /// By node: the mark of the walk that met it last.
    seen: Vec<u64>,
    /// By node: the mark of the region below which it was met last, and in how many inner regions.
    met: Vec<(u64, u32)>,
    /// By node: the mark of the region in which the loop parameter was in scope last.
    scope: Vec<u64>,
}

impl Placer {
    /// For a DAG of `len` nodes.
    pub(super) fn new(len: usize) -> Placer {
        Placer { last: 0, placed: vec![0; len], seen: vec![0; len], met: vec![(0, 0); len], scope: vec![0; len] }
    }

    fn mark(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The nodes to evaluate in a region that yields `results`, in order. `available` tells what is evaluated in the
    /// regions around it already; `in_scope` are the loop parameters there.
    pub(super) fn place<D: Dag>(
        &mut self,
        dag: &D,
        results: &[NodeId],
        available: &dyn Fn(NodeId) -> bool,
        in_scope: &[NodeId],
        needs: &Needs,
    ) -> Vec<NodeId> {
        let region = self.mark();
        let mut placed = self.strict_closure(dag, results, available, needs, region);
        // What inner regions reach: a candidate if two of them do, or a loop does.
        let mut candidates: Vec<NodeId> = Vec::new();
        for &n in &placed {
            for inner in dag.inner(n) {
                let enough = if inner.param.is_some() { 1 } else { 2 };
                self.reach(dag, inner.result, available, region, enough, &mut candidates);
            }
        }
        for &p in in_scope {
            self.scope[p] = region;
        }
        candidates.retain(|&n| dag.harmless(n) && dag.variant(n).iter().all(|p| self.scope[*p] == region));
        // Operands first, so that whether they were placed is known.
        candidates.sort_unstable();
        candidates.dedup();
        for n in candidates {
            let ready = |m: &NodeId| available(*m) || self.placed[*m] == region;
            let speculable =
                dag.strict(n).iter().all(ready) && dag.inner(n).iter().all(|i| i.param.is_none() && ready(&i.result));
            if speculable {
                self.placed[n] = region;
                placed.push(n);
            }
        }
        placed.sort_unstable();
        placed
    }

    /// What `roots` certainly need.
    fn strict_closure<D: Dag>(
        &mut self,
        dag: &D,
        roots: &[NodeId],
        available: &dyn Fn(NodeId) -> bool,
        needs: &Needs,
        region: u64,
    ) -> Vec<NodeId> {
        let (mut out, mut stack) = (Vec::new(), roots.to_vec());
        while let Some(n) = stack.pop() {
            if self.placed[n] == region || available(n) {
                continue;
            }
            self.placed[n] = region;
            out.push(n);
            stack.extend(dag.strict(n));
            let inner = dag.inner(n);
            stack.extend(needs.of_both_branches(&inner));
            for inner in inner.into_iter().filter(|i| i.always) {
                stack.extend(invariant_needs(dag, &inner));
            }
        }
        out
    }

    /// Counts everything that `root` may need and that is not evaluated yet; what was met `enough` times is appended
    /// to `candidates`.
    fn reach<D: Dag>(
        &mut self,
        dag: &D,
        root: NodeId,
        available: &dyn Fn(NodeId) -> bool,
        region: u64,
        enough: u32,
        candidates: &mut Vec<NodeId>,
    ) {
        let walk = self.mark();
        let mut stack = vec![root];
        while let Some(n) = stack.pop() {
            if self.seen[n] == walk || self.placed[n] == region || available(n) {
                continue;
            }
            self.seen[n] = walk;
            let before = if self.met[n].0 == region { self.met[n].1 } else { 0 };
            self.met[n] = (region, before + 1);
            if before + 1 >= enough {
                candidates.push(n);
            }
            stack.extend(dag.strict(n));
            stack.extend(dag.inner(n).into_iter().map(|i| i.result));
        }
    }
}

/// What a loop's test certainly needs and does not depend on the loop.
fn invariant_needs<D: Dag>(dag: &D, inner: &Inner) -> Vec<NodeId> {
    let depends = |n: NodeId| inner.param.is_some_and(|p| n == p || dag.variant(n).contains(&p));
    let (mut out, mut seen, mut stack) = (Vec::new(), HashSet::new(), vec![inner.result]);
    while let Some(n) = stack.pop() {
        if !seen.insert(n) {
            continue;
        }
        if depends(n) {
            stack.extend(dag.strict(n));
        } else {
            out.push(n);
        }
    }
    out
}
