//! The loads of a kernel's elements and its conditionals, and along which axes each of them changes.

use crate::kernel::{Body, Ix, Kernel, KernelOp, Node, Op, OpExt as _, Ranges, Region};
use acc_core::ir::Val;
use std::collections::HashSet;

/// What a kernel's elements consist of, by the axes that it depends on.
pub(crate) struct Dependences {
    pub loads: Vec<LoadAxes>,
    /// For each axis of the kernel, whether there are conditionals that depend on it: in their condition, or in what they compute if that
    /// is more than [guarded reads](guards_reads) of what all lanes read.
    pub branches: Vec<bool>,
}

/// A load.
pub(crate) struct LoadAxes {
    /// For each axis of the kernel, whether the address changes along it.
    pub along: Vec<bool>,
    /// Bytes of an element.
    pub bytes: usize,
}

impl Kernel {
    /// What its elements depend on.
    pub(crate) fn dependences(&self) -> Dependences {
        let body = &self.element;
        let along: Vec<Vec<Depends>> = (0..self.axes.len()).map(|axis| depends_on(&body.region, axis)).collect();
        let lanes = self.axes.len().checked_sub(self.folded() + 1);
        let (mut loads, mut branches) = (Vec::new(), vec![false; self.axes.len()]);
        for (at, n) in body.region.nodes.iter().enumerate() {
            if !n.op.regions().is_empty() {
                let is_uniform = lanes.is_some_and(|lanes| !along[lanes][at].inside) && guards_reads(body, n);
                let branch = |d: &Depends| d.operands || (d.inside && !is_uniform);
                branches.iter_mut().zip(&along).for_each(|(branches, depends)| *branches |= branch(&depends[at]));
            }
            let address = |d: &Depends| if n.op.regions().is_empty() { d.operands } else { d.inside };
            visit_loads(n, &mut |load| {
                let bytes = load.results.first().map_or(0, |r| body.ty(*r).size());
                loads.push(LoadAxes { along: along.iter().map(|depends| address(&depends[at])).collect(), bytes });
            });
        }
        Dependences { loads, branches }
    }
}

/// Whether a conditional does nothing but read at indices that its condition keeps within bounds.
fn guards_reads(body: &Body, n: &Node) -> bool {
    let Op::If { cond, then, else_ } = &n.op else { return false };
    let ranges = Ranges::of(body, [*cond]);
    let is_guarded = |ix: &Ix| match ix {
        Ix::At(v) => ranges.ends(*v).next().is_some(),
        Ix::Affine { .. } => true,
    };
    let is_access = |n: &Node| matches!(n.op, Op::Index(_) | Op::Own(KernelOp::Check { .. }));
    else_.nodes.is_empty() && then.nodes.iter().all(|n| is_access(n) && n.op.index().iter().all(is_guarded))
}

/// Visits the loads of a node, those in its regions included.
fn visit_loads(n: &Node, f: &mut dyn FnMut(&Node)) {
    if matches!(n.op, Op::Index(_)) {
        f(n);
    }
    n.op.regions().into_iter().flat_map(|r| &r.nodes).for_each(|n| acc_core::grow_stack(|| visit_loads(n, f)));
}

/// What of a node depends on an axis.
#[derive(Clone, Copy)]
struct Depends {
    /// Its operands, of a conditional the condition.
    operands: bool,
    /// What is in its regions.
    inside: bool,
}

/// What of the nodes of the outermost region depends on an axis.
fn depends_on(region: &Region, axis: usize) -> Vec<Depends> {
    fn node(n: &Node, axis: usize, of: &mut HashSet<Val>) -> Depends {
        let mut operands =
            n.op.index()
                .iter()
                .any(|i| matches!(i, Ix::Affine { axis: a, scale, .. } if *a as usize == axis && *scale != 0));
        n.op.visit_operands(&mut |v| operands |= of.contains(&v));
        let mut inside = false;
        for r in n.op.regions() {
            for n in &r.nodes {
                let own = acc_core::grow_stack(|| node(n, axis, of));
                inside |= own.operands || own.inside;
            }
            inside |= r.results.iter().any(|v| of.contains(v));
        }
        if operands || inside {
            of.extend(n.results.iter().copied());
        }
        Depends { operands, inside }
    }
    let mut of: HashSet<Val> = HashSet::from([region.params[axis]]);
    region.nodes.iter().map(|n| node(n, axis, &mut of)).collect()
}
