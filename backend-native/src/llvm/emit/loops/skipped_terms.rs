//! Terms of sums that are 0 where a condition does not hold that is the same in all lanes, as those of a convolution at the
//! margin: the loops inside of the one that decides the condition are left out.

use crate::kernel::{Kernel, KernelOp, Node, Op, OpExt as _, Sink, is_partial};
use crate::llvm::emit::{Emitter, Uniformity};
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

impl Emitter<'_> {
    /// The conditions without which all terms are 0, by the number of loops inside of which they are known; `depth` says that
    /// of each node.
    pub(super) fn conditions_of_terms(&self, kernel: &Kernel, depth: &[usize]) -> HashMap<usize, Vec<Val>> {
        let mut found: HashMap<usize, Vec<Val>> = HashMap::new();
        let region = &self.facts.body.region;
        let uniform = self.condition_of_terms(kernel).map(|cond| self.facts.conjuncts(region, cond).0);
        for v in uniform.into_iter().flatten() {
            if let Some(k) = region.nodes.iter().position(|n| n.results.contains(&v)) {
                found.entry(depth[k]).or_default().push(v);
            }
        }
        found
    }

    /// The factors of fused sums that are added under a mask, each with the condition that the mask is: those of which a condition
    /// that differs from lane to lane decides whether they are added, if the target adds under masks and nothing else uses them.
    pub(super) fn terms_under_masks(&self, kernel: &Kernel) -> HashMap<Val, Val> {
        let (body, mut found) = (self.facts.body, HashMap::new());
        if !self.code.f.target.has_mask_registers() {
            return found;
        }
        let uses = body.uses();
        for o in kernel.outputs.iter().filter(|o| o.sink.is_fused()) {
            for factors in kernel.values(o).as_chunks().0 {
                let Some(cond) = body.condition_of_term(*factors) else { continue };
                let varies = self.facts.uniformities[cond.index()] == Uniformity::Varying;
                if varies && factors.iter().all(|v| uses[v.index()] == 1) {
                    found.extend(factors.map(|v| (v, cond)));
                }
            }
        }
        found
    }

    /// The condition without which all terms of a kernel's sums are 0, and nothing faults.
    fn condition_of_terms(&self, kernel: &Kernel) -> Option<Val> {
        let body = self.facts.body;
        let nodes = &body.region.nodes;
        let mut conds = Vec::new();
        for o in &kernel.outputs {
            let Sink::Fold { builtin: Some(ops), init: true, .. } = &o.sink else { return None };
            if !ops.iter().all(|op| *op == PrimOp::AddP) {
                return None;
            }
            if o.sink.is_fused() {
                for factors in kernel.values(o).as_chunks().0 {
                    conds.push(body.condition_of_term(*factors)?);
                }
                continue;
            }
            for &v in kernel.values(o) {
                let (cond, other) = body.choice(v)?;
                conds.push(body.is_zero(other).then_some(cond)?);
            }
        }
        let cond = *conds.first()?;
        let harmless = |n: &Node| match &n.op {
            Op::If { cond: c, else_, .. } if *c == cond => !is_partial(else_, &body.consts),
            // Before all loops.
            Op::Extent { .. } => true,
            // In bounds for all indices of the loops.
            Op::Index(l) if l.edge.is_none() => self.are_proven(l.array, &l.index),
            Op::Own(KernelOp::Check { array, index }) => self.are_proven(*array, index),
            op => !op.is_partial(&body.consts),
        };
        (conds.iter().all(|c| *c == cond) && nodes.iter().all(harmless)).then_some(cond)
    }
}
