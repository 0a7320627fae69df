//! Traversal of operations and regions.

use super::{Body, Consts, Edge, Ix, Node, Op, Region};
use acc_core::data::Lit;
use acc_core::ir::Val;
use smallvec::SmallVec;

impl Op {
    /// Calls `f` on the values used directly, those of affine bases included.
    pub(crate) fn operands(&self, f: &mut dyn FnMut(Val)) {
        let mut ix = |index: &[Ix]| {
            for i in index {
                match i {
                    Ix::Affine { base: Some(v), .. } | Ix::At(v) => f(*v),
                    Ix::Affine { base: None, .. } => {}
                }
            }
        };
        match self {
            Op::Prim(_, v) | Op::Call { args: v, .. } => v.iter().for_each(|&v| f(v)),
            Op::Cast(v) | Op::Bitcast(v) | Op::Table { index: v, .. } => f(*v),
            Op::Fma(a, b, c) => [a, b, c].into_iter().for_each(|v| f(*v)),
            Op::Scale(a, b) => [a, b].into_iter().for_each(|v| f(*v)),
            Op::Select { cond, then, else_ } => {
                f(*cond);
                f(*then);
                f(*else_);
            }
            Op::If { cond, .. } => f(*cond),
            Op::While { init, .. } => init.iter().for_each(|&v| f(v)),
            Op::Load(l) => ix(&l.index),
            Op::Inside { index, .. } | Op::Check { index, .. } => ix(index),
            Op::Scalar { .. } | Op::Extent { .. } => {}
        }
    }

    /// The regions inside.
    pub(crate) fn regions(&self) -> SmallVec<[&Region; 2]> {
        match self {
            Op::If { then, else_, .. } => smallvec::smallvec![then, else_],
            Op::While { test, step, .. } => smallvec::smallvec![test, step],
            Op::Prim(..)
            | Op::Call { .. }
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Fma(..)
            | Op::Scale(..)
            | Op::Table { .. }
            | Op::Select { .. }
            | Op::Scalar { .. }
            | Op::Extent { .. }
            | Op::Load(_)
            | Op::Inside { .. }
            | Op::Check { .. } => SmallVec::new(),
        }
    }

    /// The regions inside, to be changed.
    pub(crate) fn regions_mut(&mut self) -> SmallVec<[&mut Region; 2]> {
        match self {
            Op::If { then, else_, .. } => smallvec::smallvec![then, else_],
            Op::While { test, step, .. } => smallvec::smallvec![test, step],
            Op::Prim(..)
            | Op::Call { .. }
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Fma(..)
            | Op::Scale(..)
            | Op::Table { .. }
            | Op::Select { .. }
            | Op::Scalar { .. }
            | Op::Extent { .. }
            | Op::Load(_)
            | Op::Inside { .. }
            | Op::Check { .. } => SmallVec::new(),
        }
    }

    /// The indices of a load or check.
    pub(crate) fn index(&self) -> &[Ix] {
        match self {
            Op::Load(l) => &l.index,
            Op::Inside { index, .. } | Op::Check { index, .. } => index,
            _ => &[],
        }
    }

    /// Whether evaluating it can fault, demand an array, or fail to end. The constants are those of its body.
    pub(crate) fn is_partial(&self, consts: &Consts) -> bool {
        match self {
            Op::Prim(p, args) => p.is_partial() && args.get(1).is_none_or(|&d| divisor(consts, d).is_none()),
            Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } | Op::Scalar { .. } => false,
            Op::Fma(..) | Op::Scale(..) | Op::Table { .. } => false,
            // An extent demands its array, and so does a test against the bounds.
            Op::Extent { .. } | Op::Inside { .. } | Op::Load(_) | Op::Check { .. } | Op::While { .. } => true,
            // Inactive lanes must not call the user's function.
            Op::Call { .. } => true,
            Op::If { then, else_, .. } => then.is_partial(consts) || else_.is_partial(consts),
        }
    }
}

/// A constant that integers can be divided by without a fault: any but 0, since `MIN / -1` wraps.
pub(crate) fn divisor(consts: &Consts, v: Val) -> Option<Lit> {
    let (_, lit) = consts.iter().find(|(c, _)| *c == v)?;
    (*lit != Lit::zero(lit.ty)).then_some(*lit)
}

impl Region {
    /// Whether any node is partial. The constants are those of its body.
    pub(crate) fn is_partial(&self, consts: &Consts) -> bool {
        acc_core::grow_stack(|| self.nodes.iter().any(|n| n.op.is_partial(consts)))
    }

    /// Calls `f` on every node, those of inner regions included, with the depth of its region.
    pub(crate) fn visit<'a>(&'a self, depth: usize, f: &mut dyn FnMut(&'a Node, usize)) {
        for n in &self.nodes {
            f(n, depth);
            for r in n.op.regions() {
                acc_core::grow_stack(|| r.visit(depth + 1, f));
            }
        }
    }
}

impl Region {
    /// Removes checks: a read out of bounds reads some element.
    pub(super) fn unchecked(&mut self) {
        self.nodes.retain(|n| !matches!(n.op, Op::Check { .. }));
        for n in &mut self.nodes {
            if let Op::Load(l) = &mut n.op {
                l.edge = l.edge.or(Some(Edge::Any));
            }
            for inner in n.op.regions_mut() {
                acc_core::grow_stack(|| inner.unchecked());
            }
        }
    }
}

impl Body {
    /// For each value whether it has a use.
    pub(crate) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.types.len()];
        let results = |r: &Region, used: &mut Vec<bool>| r.results.iter().for_each(|v| used[v.index()] = true);
        results(&self.region, &mut used);
        self.region.visit(0, &mut |n, _| {
            n.op.operands(&mut |v| used[v.index()] = true);
            n.op.regions().into_iter().for_each(|r| results(r, &mut used));
        });
        used
    }
}
