//! Conditionals in register tiles that hold nothing but reads, which their condition proves in bounds.
//!
//! Before all loops the bounds of the condition are compared with the extents of the arrays. Inside there are loads under the
//! mask of the condition, and no branches.

use crate::kernel::{Ix, KernelOp, Node, Op, Region, definition};
use crate::llvm::emit::loops::nest::Bound;
use crate::llvm::emit::text::put;
use crate::llvm::emit::text::value::Mask;
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use acc_desugar::analysis::access::Access;

/// What bounds say of values where a condition holds: those that are not below 0, and those that are below another one.
#[derive(Default)]
struct Ranges {
    not_negative: Vec<Val>,
    below: Vec<(Val, Val)>,
}

impl<'a> Emitter<'a> {
    /// Notes a conditional of nothing but contiguous reads and checks of indices that its condition bounds, where the extents
    /// are at least those bounds: compared once, before all loops, which bails out if they are not. What is left of it are
    /// loads under a mask.
    pub(super) fn prove_by_condition(&mut self, n: &'a Node) {
        let (Op::If { cond, then, else_ }, Some(&result)) = (&n.op, n.results.first()) else { return };
        if self.facts.uniformities[cond.index()] == Uniformity::Uniform || !else_.nodes.is_empty() {
            return;
        }
        let mut ranges = Ranges::default();
        self.ranges(*cond, &mut ranges);
        let mut proven = Vec::new();
        let mut compared = Vec::new();
        for n in &then.nodes {
            let (array, index) = match &n.op {
                Op::Index(l) if l.edge.is_none() && self.lane_access(l) == Access::Strided(1) => (l.array, &l.index),
                Op::Own(KernelOp::Check { array, index }) => (*array, index),
                _ => return,
            };
            for (dim, ix) in index.iter().enumerate().filter(|(dim, ix)| !self.is_proven(array, *dim, ix)) {
                let Ix::At(v) = *ix else { return };
                let below = ranges.below.iter().find(|(of, end)| *of == v && self.is_written(Some(*end)));
                let Some((_, end)) = below.filter(|_| ranges.not_negative.contains(&v)) else { return };
                compared.push((array, dim, *end));
                proven.push(Bound::new(array, dim, *ix));
            }
        }
        compared.sort_unstable();
        compared.dedup();
        for (array, dim, end) in compared {
            let (end, extent) = (self.scope.scalar(end), self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32)));
            let beyond = put!(self.code.f, "icmp sgt i64 {end}, {extent}");
            self.code.f.bail_out_if(&beyond);
        }
        self.scope.masked_reads.insert(result, proven);
    }

    /// Collects what a condition says of values.
    fn ranges(&self, cond: Val, to: &mut Ranges) {
        let body = self.facts.body;
        let Some(Op::Prim(p, args)) = definition(&body.region, cond).map(|n| &n.op) else { return };
        let [a, b] = args[..] else { return };
        match p {
            PrimOp::AndP if self.ty(cond) == ScalarType::Bool => [a, b].into_iter().for_each(|v| self.ranges(v, to)),
            _ if self.ty(a) != ScalarType::I64 => {}
            PrimOp::GeP if body.is_zero(b) => to.not_negative.push(a),
            PrimOp::LeP if body.is_zero(a) => to.not_negative.push(b),
            PrimOp::LtP => to.below.push((a, b)),
            PrimOp::GtP => to.below.push((b, a)),
            _ => {}
        }
    }

    /// Writes a conditional of proven reads: they run under the mask of its condition, which may be that of no lane.
    pub(super) fn masked_reads(&mut self, n: &Node, cond: Val, [then, else_]: [&Region; 2], proven: Vec<Bound>) {
        let (conds, outer) = (self.vectors(cond), self.code.mask.clone());
        let mask = (0..self.code.width.parts).map(|p| self.code.and_mask(p, &conds[p])).collect();
        self.code.mask = Mask::Lanes(mask);
        let unproven = self.scope.proven.assume(proven);
        self.region(then);
        self.scope.proven.forget(&unproven);
        self.code.mask = outer;
        for (&r, (&x, &y)) in n.results.iter().zip(then.results.iter().zip(&else_.results)) {
            let value = self.select(cond, x, y);
            self.scope.set(r, value);
        }
    }
}
