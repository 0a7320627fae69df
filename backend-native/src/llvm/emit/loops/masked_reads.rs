//! Conditionals in register tiles that hold nothing but reads, which their condition proves in bounds.
//!
//! Before all loops the bounds of the condition are compared with the extents of the arrays. Inside there are loads under the
//! mask of the condition, and no branches. What all lanes read at one address is loaded without a mask, where terms are left out for
//! which the part of the condition does not hold that is the same in all lanes ([`skipped_terms`](super::skipped_terms)).

use crate::kernel::{Ix, KernelOp, Node, Op, Ranges, Region};
use crate::llvm::emit::loops::nest::Bound;
use crate::llvm::emit::text::value::Mask;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::ir::Val;
use acc_desugar::analysis::access::Access;

/// A conditional of nothing but reads that its condition proves in bounds.
#[derive(Clone)]
pub(crate) struct MaskedReads {
    /// Their indices.
    bounds: Vec<Bound>,
    /// The conditions that have to hold for all lanes, if the address of a read is the same in all lanes.
    uniform: Vec<Val>,
}

impl<'a> Emitter<'a> {
    /// Notes a conditional of nothing but reads, contiguous or the same in all lanes, and checks of indices that its condition
    /// bounds, or along axes that it does not depend on, where the extents are at least those bounds: compared once, before all
    /// loops, which bails out if they are not. What is left of it are loads under a mask. `ranges` are those of the axes.
    pub(super) fn prove_by_condition(
        &mut self,
        n: &'a Node,
        ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>,
    ) {
        let Op::If { cond, then, else_ } = &n.op else { return };
        if self.facts.uniformities[cond.index()] == Uniformity::Uniform || !else_.nodes.is_empty() {
            return;
        }
        let body = self.facts.body;
        let uniform = self.facts.conjuncts(&body.region, *cond).0;
        let [of_lanes, of_all] = [Ranges::of(body, [*cond]), Ranges::of(body, uniform.iter().copied())];
        let (mut bounds, mut compared, mut free, mut needs_uniform) = (Vec::new(), Vec::new(), Vec::new(), false);
        for n in &then.nodes {
            let (array, index, bounded) = match &n.op {
                Op::Index(l) if l.edge.is_none() => match self.lane_access(l) {
                    Access::Strided(1) => (l.array, &l.index, &of_lanes),
                    Access::Uniform => {
                        needs_uniform = true;
                        (l.array, &l.index, &of_all)
                    }
                    _ => return,
                },
                Op::Own(KernelOp::Check { array, index }) => (*array, index, &of_lanes),
                _ => return,
            };
            for (dim, ix) in index.iter().enumerate().filter(|(dim, ix)| !self.is_proven(array, *dim, ix)) {
                match *ix {
                    Ix::At(v) => match bounded.ends(v).find(|end| self.is_written(Some(*end))) {
                        Some(end) => compared.push((array, dim, end)),
                        None => return,
                    },
                    Ix::Affine { axis, scale, .. } if scale == 0 || !self.facts.accesses.depends(*cond, axis) => {
                        free.push((array, dim, *ix));
                    }
                    Ix::Affine { .. } => return,
                }
                bounds.push(Bound::new(array, dim, *ix));
            }
        }
        let Some(ends) = free.iter().map(|(_, _, ix)| self.ends_of(ix, ranges)).collect::<Option<Vec<_>>>() else {
            return;
        };
        compared.sort_unstable();
        compared.dedup();
        for (array, dim, end) in compared {
            let (end, extent) = (self.scope.scalar(end), self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32)));
            let beyond = put!(self.code.f, "icmp sgt i64 {end}, {extent}");
            self.code.f.bail_out_if(&beyond);
        }
        for ((array, dim, _), ends) in free.into_iter().zip(ends) {
            self.bail_out_beyond(array, dim, ends);
        }
        let uniform = if needs_uniform { uniform } else { Vec::new() };
        self.scope.masked_reads.insert(n, MaskedReads { bounds, uniform });
    }

    /// The reads of a conditional that its condition proves in bounds, if what has to hold for all lanes does.
    pub(super) fn proven_reads(&self, n: &Node) -> Option<MaskedReads> {
        let reads = self.scope.masked_reads.get(&std::ptr::from_ref(n))?;
        reads.uniform.iter().all(|v| self.scope.holding.contains(v)).then(|| reads.clone())
    }

    /// Writes a conditional of proven reads: they run under the mask of its condition, which may be that of no lane.
    pub(super) fn masked_reads(&mut self, n: &Node, cond: Val, [then, else_]: [&Region; 2], reads: MaskedReads) {
        let (conds, outer) = (self.vectors(cond), self.code.mask.clone());
        let mask = (0..self.code.width.parts).map(|p| self.code.and_mask(p, &conds[p])).collect();
        self.code.mask = Mask::Lanes(mask);
        let unproven = self.scope.proven.assume(reads.bounds);
        self.region(then);
        self.scope.proven.forget(&unproven);
        self.code.mask = outer;
        for (&r, (&x, &y)) in n.results.iter().zip(then.results.iter().zip(&else_.results)) {
            let value = if self.is_added_under(r, cond) { self.scope.value(x) } else { self.select(cond, x, y) };
            self.scope.set(r, value);
        }
    }
}
