//! The loads of a kernel's elements and its conditionals, and along which axes each of them changes.

use crate::kernel::{Ix, Kernel, Node, Op, OpExt as _, Region};
use acc_core::ir::Val;
use std::collections::HashSet;

/// What a kernel's elements consist of, by the axes that it depends on.
pub(crate) struct Dependences {
    pub loads: Vec<LoadAxes>,
    /// For each axis of the kernel, whether there are conditionals that depend on it.
    pub branches: Vec<bool>,
}

/// A load.
pub(crate) struct LoadAxes {
    /// For each axis of the kernel, whether the address, or a condition around the load, changes along it.
    pub along: Vec<bool>,
    /// Bytes of an element.
    pub bytes: usize,
}

impl Kernel {
    /// What its elements depend on.
    pub(crate) fn dependences(&self) -> Dependences {
        let body = &self.element;
        let along: Vec<Vec<bool>> = (0..self.axes.len()).map(|axis| depends_on(&body.region, axis)).collect();
        let (mut loads, mut branches) = (Vec::new(), vec![false; self.axes.len()]);
        for (at, n) in body.region.nodes.iter().enumerate() {
            if !n.op.regions().is_empty() {
                branches.iter_mut().zip(&along).for_each(|(branches, depends)| *branches |= depends[at]);
            }
            visit_loads(n, &mut |load| {
                let bytes = load.results.first().map_or(0, |r| body.ty(*r).size());
                loads.push(LoadAxes { along: along.iter().map(|depends| depends[at]).collect(), bytes });
            });
        }
        Dependences { loads, branches }
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
