//! Conditionals in register tiles: arithmetic and reads at affine indices move out of them, so that all rows of a tile share what
//! is left, the reads of other elements. Where the condition does not hold the result is selected.
//!
//! This is for machine code alone: a read that would be out of bounds there makes it bail out, and the kernel runs as it was.

use crate::kernel::math::Values;
use crate::kernel::{Body, Ix, Kernel, KernelOp, Node, Op, OpExt as _, Region};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Loc, Val, Vals};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

impl Kernel {
    /// The kernel whose conditionals hold nothing but reads; none if it has no others.
    pub(crate) fn speculated(&self) -> Option<Kernel> {
        let region = &self.element.region;
        if !region.nodes.iter().any(|n| matches!(n.op, Op::If { .. })) {
            return None;
        }
        let mut values = Values::of(&self.element);
        let (mut changes, mut nodes) = (false, Vec::new());
        for n in &region.nodes {
            match &n.op {
                Op::If { cond, then, else_ } if else_.nodes.is_empty() => match parts(then, &self.element) {
                    Some(parts) => {
                        changes = true;
                        parts.write(*cond, (&then.results, else_), n, &mut values, &mut nodes);
                    }
                    None => nodes.push(n.clone()),
                },
                _ => nodes.push(n.clone()),
            }
        }
        let region = Region { params: region.params.clone(), nodes, results: region.results.clone() };
        changes.then(|| Kernel { element: values.into_body(region, self.element.relaxed), ..self.clone() })
    }
}

/// The nodes of a conditional region.
struct Parts {
    /// What depends on no read that stays.
    before: Vec<Node>,
    /// Reads at indices that are not affine in one axis, and checks of such.
    guarded: Vec<Node>,
    /// What is computed of those.
    after: Vec<Node>,
}

/// The parts of a region; none if it has regions, may fault otherwise, or reads at what it has read.
fn parts(r: &Region, body: &Body) -> Option<Parts> {
    let mut parts = Parts { before: Vec::new(), guarded: Vec::new(), after: Vec::new() };
    let mut read: HashSet<Val> = HashSet::new();
    for n in &r.nodes {
        let mut depends = false;
        n.op.visit_operands(&mut |v| depends |= read.contains(&v));
        let is_access = matches!(&n.op, Op::Index(_) | Op::Own(KernelOp::Check { .. }));
        if is_access && n.op.index().iter().any(|i| matches!(i, Ix::At(_))) {
            if depends {
                return None;
            }
            read.extend(&n.results);
            match &n.op {
                Op::Own(KernelOp::Check { array, index }) => {
                    let check = |index| Node { op: Op::Own(KernelOp::Check { array: *array, index }), ..n.clone() };
                    let [affine, others] = apart(index);
                    parts.before.push(check(affine));
                    parts.guarded.push(check(others));
                }
                // A read.
                _ => parts.guarded.push(n.clone()),
            }
            continue;
        }
        let plain = n.op.regions().is_empty() && (is_access || !n.op.is_partial(&body.consts));
        if !plain || (depends && is_access) {
            return None;
        }
        if depends {
            read.extend(&n.results);
            parts.after.push(n.clone());
        } else {
            parts.before.push(n.clone());
        }
    }
    let changes = !parts.before.is_empty() || !parts.after.is_empty() || parts.guarded.len() > 1;
    changes.then_some(parts)
}

/// The affine indices of a check and the others, each with the first element along the other dimensions.
fn apart(index: &[Ix]) -> [SmallVec<[Ix; 4]>; 2] {
    const FIRST: Ix = Ix::Affine { axis: 0, scale: 0, offset: 0, base: None };
    let is_affine = |ix: &Ix| matches!(ix, Ix::Affine { .. });
    [true, false].map(|kept| index.iter().map(|ix| if is_affine(ix) == kept { *ix } else { FIRST }).collect())
}

impl Parts {
    /// Writes the parts in the place of a conditional node with these results.
    fn write(
        self,
        cond: Val,
        (results, else_): (&[Val], &Region),
        of: &Node,
        values: &mut Values,
        nodes: &mut Vec<Node>,
    ) {
        nodes.extend(self.before);
        let mut renamed: HashMap<Val, Val> = HashMap::new();
        // A conditional for each read, so that it depends on the axes of this read alone.
        let (checks, reads): (Vec<Node>, Vec<Node>) = self.guarded.into_iter().partition(|n| n.results.is_empty());
        let checks = (!checks.is_empty()).then_some(checks);
        for guarded in checks.into_iter().chain(reads.into_iter().map(|read| vec![read])) {
            let inner: Vec<Val> = guarded.iter().flat_map(|n| n.results.iter().copied()).collect();
            let types: Vec<ScalarType> = inner.iter().map(|v| values.types[v.index()]).collect();
            let outer: Vals = types.iter().map(|&ty| values.fresh(ty, false)).collect();
            renamed.extend(inner.iter().copied().zip(outer.iter().copied()));
            let zeros = types.iter().map(|&ty| values.constant(Lit::zero(ty))).collect();
            let then = Region { params: Vec::new(), nodes: guarded, results: inner };
            let else_ = Region { params: Vec::new(), nodes: Vec::new(), results: zeros };
            nodes.push(Node { results: outer, op: Op::If { cond, then, else_ }, loc: of.loc.clone() });
        }
        let now = |v: Val| renamed.get(&v).copied().unwrap_or(v);
        nodes.extend(self.after.into_iter().map(|mut n| {
            n.op.visit_operands_mut(&mut |v| *v = now(*v));
            n
        }));
        let select = |(&r, (&then, &else_)): (&Val, (&Val, &Val))| {
            let op = Op::Select { cond, then: now(then), else_ };
            Node { results: smallvec![r], op, loc: Loc::clone(&of.loc) }
        };
        nodes.extend(of.results.iter().zip(results.iter().zip(&else_.results)).map(select));
    }
}
