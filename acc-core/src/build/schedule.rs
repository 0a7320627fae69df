//! Where shared expressions are evaluated: the placement rule for scalar nodes and array statements alike.
//!
//! A DAG of expressions with branches and loops becomes nested regions. In a region stand
//!
//! * what its results need for sure (*strictly*), which is also what both branches of a conditional there need;
//! * what two of its branches or loop bodies share, and what a loop body uses without depending on the loop, provided
//!   that evaluating it for nothing is harmless (*speculable*).
//!
//! Everything else stands further in, in each region that needs it: an expression that may fault or fail to end is
//! copied into the branches rather than evaluated where no branch may want it.

use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap, HashSet};

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

/// For each node, which others that must not be speculated it needs for sure, itself included.
///
/// The sets are cut to [`Needs::MOST`] nodes, the last ones, so that they stay linear in all: a node left out may be
/// copied into branches though it need not be.
pub(super) struct Needs(Vec<NodeIds>);

impl Needs {
    const MOST: usize = 32;

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
            sets.push(all.iter().copied().skip(all.len().saturating_sub(Self::MOST)).collect());
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

/// The nodes to evaluate in a region that yields `results`, in order. `available` tells what is evaluated in the
/// regions around it already; `in_scope` are the loop parameters there.
pub(super) fn place<D: Dag>(
    dag: &D,
    results: &[NodeId],
    available: &dyn Fn(NodeId) -> bool,
    in_scope: &[NodeId],
    needs: &Needs,
) -> BTreeSet<NodeId> {
    let mut placed = BTreeSet::new();
    strict_closure(dag, results, available, needs, &mut placed);
    // What inner regions reach, and from how many of them.
    let mut count: HashMap<NodeId, u32> = HashMap::new();
    let mut in_loop: HashSet<NodeId> = HashSet::new();
    for &n in &placed {
        for inner in dag.inner(n) {
            for m in reach(dag, inner.result, available, &placed) {
                *count.entry(m).or_default() += 1;
                if inner.param.is_some() {
                    in_loop.insert(m);
                }
            }
        }
    }
    let mut candidates: Vec<NodeId> =
        count.iter().filter(|(n, c)| **c > 1 || in_loop.contains(n)).map(|(n, _)| *n).collect();
    // Operands first, so that whether they were placed is known.
    candidates.sort_unstable();
    for n in candidates {
        let ready = |m: &NodeId| available(*m) || placed.contains(m);
        let speculable = dag.harmless(n)
            && dag.strict(n).iter().all(ready)
            && dag.inner(n).iter().all(|i| i.param.is_none() && ready(&i.result))
            && dag.variant(n).iter().all(|p| in_scope.contains(p));
        if speculable {
            placed.insert(n);
        }
    }
    placed
}

/// Adds what `roots` need for sure.
fn strict_closure<D: Dag>(
    dag: &D,
    roots: &[NodeId],
    available: &dyn Fn(NodeId) -> bool,
    needs: &Needs,
    placed: &mut BTreeSet<NodeId>,
) {
    let mut stack: Vec<NodeId> = roots.to_vec();
    while let Some(n) = stack.pop() {
        if available(n) || !placed.insert(n) {
            continue;
        }
        stack.extend(dag.strict(n));
        let inner = dag.inner(n);
        stack.extend(needs.of_both_branches(&inner));
        for inner in inner.into_iter().filter(|i| i.always) {
            stack.extend(invariant_needs(dag, &inner));
        }
    }
}

/// What a loop's test needs for sure and does not depend on the loop.
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

/// Everything that `root` may need and that is not evaluated yet.
fn reach<D: Dag>(
    dag: &D,
    root: NodeId,
    available: &dyn Fn(NodeId) -> bool,
    placed: &BTreeSet<NodeId>,
) -> HashSet<NodeId> {
    let (mut seen, mut stack) = (HashSet::new(), vec![root]);
    while let Some(n) = stack.pop() {
        if available(n) || placed.contains(&n) || !seen.insert(n) {
            continue;
        }
        stack.extend(dag.strict(n));
        stack.extend(dag.inner(n).into_iter().map(|i| i.result));
    }
    seen
}
