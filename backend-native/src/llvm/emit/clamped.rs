//! Reads at clamped positions: `xs[max(i - 1, 0)]`, or `xs[min(i + 1, n - 1)]`, where `i` follows the lanes.
//!
//! Where no lane of a step is brought back to a bound, such positions are a run of neighbours: two comparisons of scalars
//! tell. The few other steps, at the ends of rows, gather.

use super::access::{INPUT, Place};
use super::text::{Operand, element, put};
use super::value::{Mask, V};
use super::{Emitter, Level, Word};
use crate::kernel::{Ix, Load, Node, Op};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// An integer that grows by one from lane to lane, but for those beyond bounds that are the same for all.
#[derive(Clone)]
pub(super) struct Clamped {
    index: Val,
    /// Each a minimum with, or a maximum.
    bounds: Vec<(PrimOp, Val)>,
}

impl Emitter<'_> {
    /// The clamped integers of the body.
    pub(super) fn clamps(&self) -> HashMap<Val, Clamped> {
        let mut found: HashMap<Val, Clamped> = HashMap::new();
        self.body.region.visit(0, &mut |n, _| {
            let Op::Prim(op @ (PrimOp::MinP | PrimOp::MaxP), args) = &n.op else { return };
            let &[a, b] = &args[..] else { return };
            if self.body.ty(a) != ScalarType::I64 {
                return;
            }
            let clamped = |index: Val, bound: Val| {
                let before = match self.levels[index.index()] {
                    Level::Linear(1) => Clamped { index, bounds: Vec::new() },
                    Level::One | Level::Linear(_) | Level::Lanes => found.get(&index)?.clone(),
                };
                let Clamped { index, mut bounds } = before;
                bounds.push((*op, bound));
                (self.levels[bound.index()] == Level::One).then_some(Clamped { index, bounds })
            };
            if let (Some(c), Some(&r)) = (clamped(a, b).or_else(|| clamped(b, a)), n.results.first()) {
                found.insert(r, c);
            }
        });
        found
    }

    /// Writes a read at a clamped position; whether it is one.
    pub(super) fn read_clamped(&mut self, n: &Node, l: &Load) -> bool {
        let (None, Some((Ix::At(v), outer))) = (l.edge, l.index.split_last()) else { return false };
        let Some(Clamped { index, bounds }) = self.clamped.get(v).cloned() else { return false };
        // Narrow vectors are read under masks by AVX-512 alone.
        let masks = self.target.has_mask_registers() || n.results.iter().all(|&r| self.ty(r).size() >= 4);
        if !masks && !matches!(self.mask, Mask::All) || self.halved.has(*v) || self.halved.has(index) {
            return false;
        }
        let rows: Vec<V> = outer.iter().map(|i| self.index(i)).collect();
        let (V::Linear(first, 1), V::Lanes(_)) = (self.value(index), self.value(*v)) else { return false };
        if !rows.iter().all(|v| matches!(v, V::One(_))) {
            return false;
        }
        let mut at = if outer.is_empty() { Default::default() } else { self.checked(l.array, outer, None).0 };
        at.push(V::One(Operand::int(0)));
        let Place::One(row) = self.place(l.array, &at) else { return false };
        // What faulted so far is told before ways part.
        self.settle();

        // All positions are within the row, of lanes that are off, too.
        let extent = self.word(Word::ArrayExtent(l.array, outer.len() as u32));
        let last = put!(self, "add i64 {first}, {}", self.width.step() - 1);
        let from = put!(self, "icmp sge i64 {first}, 0");
        let to = put!(self, "icmp ult i64 {last}, {extent}");
        let mut free = put!(self, "and i1 {from}, {to}");
        for (op, bound) in bounds {
            let bound = self.one(bound);
            let within = match op {
                PrimOp::MaxP => put!(self, "icmp sge i64 {first}, {bound}"),
                _ => put!(self, "icmp sle i64 {last}, {bound}"),
            };
            free = put!(self, "and i1 {free}, {within}");
        }
        let [run, any, join] = [(); 3].map(|()| self.w.label());
        self.w.branch(&free, run, any);

        self.w.start(run);
        let start = put!(self, "add i64 {row}, {first}");
        let neighbours = self.way(n, l, join, |e, ty, column| e.neighbours(ty, column, &start, 1, None, INPUT));

        self.w.start(any);
        let (index, _) = self.checked(l.array, &l.index, None);
        let positions = match self.place(l.array, &index) {
            Place::Any(positions) => self.safe(l.array, index.len(), positions),
            // One of the indices is of lanes.
            Place::One(_) | Place::Run(..) | Place::Apart(..) => return false,
        };
        let gathered = self.way(n, l, join, |e, ty, column| {
            let values = e.gather(ty, column, &positions, INPUT);
            e.spread(&values, element(ty))
        });
        self.ways_join(n, join, &[neighbours, gathered]);
        true
    }
}
