//! The loads of a kernel's elements, and along which axes each of them moves.

use crate::kernel::{Ix, Kernel, Node, Op, OpExt as _, Region};
use acc_core::ir::Val;
use std::collections::HashSet;

/// A load.
pub(crate) struct LoadAxes {
    /// For each axis of the kernel, whether the address, or a condition around the load, changes along it.
    pub along: Vec<bool>,
    /// Bytes of an element.
    pub bytes: usize,
}

impl Kernel {
    /// The loads of its elements.
    pub(crate) fn loads(&self) -> Vec<LoadAxes> {
        let body = &self.element;
        let along: Vec<Vec<bool>> = (0..self.axes.len()).map(|axis| depends_on(&body.region, axis)).collect();
        let mut loads = Vec::new();
        for (at, n) in body.region.nodes.iter().enumerate() {
            visit_loads(n, &mut |load| {
                let bytes = load.results.first().map_or(0, |r| body.ty(*r).size());
                loads.push(LoadAxes { along: along.iter().map(|depends| depends[at]).collect(), bytes });
            });
        }
        loads
    }

    /// Whether there are conditionals that depend on an axis.
    pub(crate) fn branches_along(&self, axis: usize) -> bool {
        let region = &self.element.region;
        let depends = depends_on(region, axis);
        region.nodes.iter().zip(depends).any(|(n, depends)| depends && !n.op.regions().is_empty())
    }
}

/// Visits the loads of a node, those in its regions included.
fn visit_loads(n: &Node, f: &mut dyn FnMut(&Node)) {
    if matches!(n.op, Op::Index(_)) {
        f(n);
    }
    n.op.regions().into_iter().flat_map(|r| &r.nodes).for_each(|n| acc_core::grow_stack(|| visit_loads(n, f)));
}

/// Which nodes of the outermost region depend on an axis.
fn depends_on(region: &Region, axis: usize) -> Vec<bool> {
    fn node(n: &Node, axis: usize, of: &mut HashSet<Val>) -> bool {
        let mut depends =
            n.op.index()
                .iter()
                .any(|i| matches!(i, Ix::Affine { axis: a, scale, .. } if *a as usize == axis && *scale != 0));
        n.op.visit_operands(&mut |v| depends |= of.contains(&v));
        for r in n.op.regions() {
            for n in &r.nodes {
                depends |= acc_core::grow_stack(|| node(n, axis, of));
            }
            depends |= r.results.iter().any(|v| of.contains(v));
        }
        if depends {
            of.extend(n.results.iter().copied());
        }
        depends
    }
    let mut of: HashSet<Val> = HashSet::from([region.params[axis]]);
    region.nodes.iter().map(|n| node(n, axis, &mut of)).collect()
}
