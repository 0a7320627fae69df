//! Reads at clamped positions: `xs[max(i - 1, 0)]`, or `xs[min(i + 1, n - 1)]`, where `i` follows the lanes.
//!
//! As long as no lane of a step is clamped, such a read is contiguous, which two scalar comparisons tell. The few other
//! steps, at the ends of rows, gather.

use crate::kernel::{Ix, Load, Node, Op};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE};
use crate::llvm::emit::facts::Facts;
use crate::llvm::emit::text::value::{Mask, Value};
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// An integer with lane step 1 that is clamped by uniform bounds.
#[derive(Clone)]
pub(crate) struct Clamped {
    index: Val,
    /// A minimum or maximum with each of these.
    bounds: Vec<(PrimOp, Val)>,
}

impl Facts<'_> {
    /// The clamped integers of the body.
    pub(crate) fn clamped_indices(&self) -> HashMap<Val, Clamped> {
        let mut found: HashMap<Val, Clamped> = HashMap::new();
        self.body.region.visit(0, &mut |n, _| {
            let Op::Prim(op @ (PrimOp::MinP | PrimOp::MaxP), args) = &n.op else { return };
            let &[a, b] = &args[..] else { return };
            if self.body.ty(a) != ScalarType::I64 {
                return;
            }
            let clamped = |index: Val, bound: Val| {
                let before = match self.uniformities[index.index()] {
                    Uniformity::Affine(1) => Clamped { index, bounds: Vec::new() },
                    Uniformity::Uniform | Uniformity::Affine(_) | Uniformity::Varying => found.get(&index)?.clone(),
                };
                let Clamped { index, mut bounds } = before;
                bounds.push((*op, bound));
                (self.uniformities[bound.index()] == Uniformity::Uniform).then_some(Clamped { index, bounds })
            };
            if let (Some(c), Some(&r)) = (clamped(a, b).or_else(|| clamped(b, a)), n.results.first()) {
                found.insert(r, c);
            }
        });
        found
    }
}

impl Emitter<'_> {
    /// Writes a read at a clamped position; false if it is none.
    pub(crate) fn load_clamped(&mut self, n: &Node, l: &Load) -> bool {
        let (None, Some((Ix::At(v), outer))) = (l.edge, l.index.split_last()) else { return false };
        let Some(Clamped { index, bounds }) = self.facts.clamped.get(v).cloned() else { return false };
        // Narrow vectors have masked loads on AVX-512 alone.
        let masks = self.code.f.target.has_mask_registers() || n.results.iter().all(|&r| self.ty(r).size() >= 4);
        if !masks && !matches!(self.code.mask, Mask::All) || self.scope.halved.has(*v) || self.scope.halved.has(index) {
            return false;
        }
        let rows: Vec<Value> = outer.iter().map(|i| self.index(i)).collect();
        let (Value::Affine(first, 1), Value::Varying(_)) = (self.scope.value(index), self.scope.value(*v)) else {
            return false;
        };
        if !rows.iter().all(|v| matches!(v, Value::Uniform(_))) {
            return false;
        }
        let mut at = if outer.is_empty() { Default::default() } else { self.checked_index(l.array, outer, None).0 };
        at.push(Value::Uniform(Operand::int(0)));
        let Address::Uniform(row) = self.code.address(l.array, &at) else { return false };
        // Pending faults must be checked before control flow splits.
        self.code.bail_out_on_fault();

        // All positions are within the row, those of inactive lanes included.
        let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, outer.len() as u32));
        let last = put!(self.code.f, "add i64 {first}, {}", self.code.width.step() - 1);
        let from = put!(self.code.f, "icmp sge i64 {first}, 0");
        let to = put!(self.code.f, "icmp ult i64 {last}, {extent}");
        let mut free = put!(self.code.f, "and i1 {from}, {to}");
        for (op, bound) in bounds {
            let bound = self.scope.scalar(bound);
            let within = match op {
                PrimOp::MaxP => put!(self.code.f, "icmp sge i64 {first}, {bound}"),
                _ => put!(self.code.f, "icmp sle i64 {last}, {bound}"),
            };
            free = put!(self.code.f, "and i1 {free}, {within}");
        }
        let [run, any, join] = [(); 3].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&free, run, any);

        self.code.f.w.start(run);
        let start = put!(self.code.f, "add i64 {row}, {first}");
        let neighbours = self
            .load_path(n, l, join, |e, ty, column| e.code.load_contiguous(ty, column, &start, 1, None, INPUT_SCOPE));

        self.code.f.w.start(any);
        let (index, _) = self.checked_index(l.array, &l.index, None);
        let positions = match self.code.address(l.array, &index) {
            Address::Gathered(positions) => self.code.readable_positions(l.array, index.len(), positions),
            // One of the indices varies.
            Address::Uniform(_) | Address::Contiguous(..) | Address::Strided(..) => return false,
        };
        let gathered = self.load_path(n, l, join, |e, ty, column| {
            let values = e.code.gather(ty, column, &positions, INPUT_SCOPE);
            e.code.broadcast(&values, element(ty))
        });
        self.join_paths(n, join, &[neighbours, gathered]);
        true
    }
}
