//! Reads beyond the edges of an array along the axis of lanes.
//!
//! What lies within an edge is a run of neighbours, and so is what stands for what lies beyond one: a run further on
//! where indices wrap around, one backwards where they are mirrored, one element where they are clamped. Each is read
//! under a mask; nothing is gathered.

use super::access::{INPUT, Place};
use super::nest::Axis;
use super::text::{Operand, element, put};
use super::value::{Mask, Parts, V};
use super::{Emitter, Word};
use crate::kernel::{Edge, Ix, Load, Node};

/// What stands for the elements beyond an edge.
enum Beyond {
    /// The element at this position.
    One(Operand),
    /// Neighbours, that of the first lane at this position, ascending or descending.
    Run(Operand, i64),
}

impl Emitter<'_> {
    /// Writes a read whose innermost index follows the lanes and may lie beyond edges; whether it is such a one.
    pub(super) fn read_beyond(&mut self, n: &Node, l: &Load) -> bool {
        let (Some(edge @ (Edge::Clamp | Edge::Mirror | Edge::Wrap)), Some((last, outer))) =
            (l.edge, l.index.split_last())
        else {
            return false;
        };
        // Narrow vectors are read under masks by AVX-512 alone.
        let masks = self.target.has_mask_registers() || n.results.iter().all(|&r| self.ty(r).size() >= 4);
        let follows = matches!(*last, Ix::Affine { axis, scale: 1, .. }
            if self.lane_step == 1 && matches!(self.axes[axis as usize], Axis::Lanes(_)));
        let lanes = matches!(self.mask, Mask::Lanes(_));
        if !masks || !follows || !lanes || self.is_proven(l.array, outer.len(), last) {
            return false;
        }
        let rows: Vec<V> = outer.iter().map(|i| self.index(i)).collect();
        if !rows.iter().all(|v| matches!(v, V::One(_))) {
            return false;
        }
        let V::Linear(first, _) = self.index(last) else { return false };
        let Some(row) = self.row_of(l, outer, edge) else { return false };
        let extent = self.word(Word::ArrayExtent(l.array, outer.len() as u32));
        let empty = put!(self, "icmp eq i64 {extent}, 0");
        self.decline_if(&empty);

        // Lanes are numbers: below the first are those beyond the lower edge, from the second on those beyond the upper one.
        let lower = put!(self, "sub i64 0, {first}");
        let upper = put!(self, "sub i64 {extent}, {first}");
        let [below, before] = [&lower, &upper].map(|end| self.lanes_below(end));
        let flags = self.mask_type();
        let yes = self.constant(self.shape(), "i1", "true");
        let not = |e: &mut Self, m: &Parts| -> Parts { m.iter().map(|m| put!(e, "xor {flags} {m}, {yes}")).collect() };
        let (above, at_least) = (not(self, &before), not(self, &below));
        let within = self.both(&at_least, &before);
        // What an edge brings back is brought back once.
        let reach = match edge {
            Edge::Clamp | Edge::Any => None,
            Edge::Wrap => Some([put!(self, "sub i64 {lower}, {extent}"), put!(self, "add i64 {upper}, {extent}")]),
            Edge::Mirror => {
                let last = put!(self, "sub i64 {extent}, 1");
                Some([put!(self, "sub i64 {lower}, {last}"), put!(self, "add i64 {upper}, {last}")])
            }
        };
        let (mut low, mut high) = (below.clone(), above.clone());
        if let Some([from, to]) = reach {
            let [under, inside] = [&from, &to].map(|end| self.lanes_below(end));
            let over = not(self, &inside);
            for part in 0..self.width.parts {
                self.fault(part, &under[part]);
                self.fault(part, &over[part]);
            }
            let from = not(self, &under);
            (low, high) = (self.both(&below, &from), self.both(&above, &inside));
        }

        let start = put!(self, "add i64 {row}, {first}");
        let (one, other) = match edge {
            Edge::Clamp | Edge::Any => {
                let end = put!(self, "add i64 {row}, {extent}");
                (Beyond::One(row), Beyond::One(put!(self, "sub i64 {end}, 1")))
            }
            Edge::Wrap => {
                let ends = [put!(self, "add i64 {start}, {extent}"), put!(self, "sub i64 {start}, {extent}")];
                let [one, other] = ends.map(|at| Beyond::Run(at, 1));
                (one, other)
            }
            Edge::Mirror => {
                let one = put!(self, "sub i64 {row}, {first}");
                let twice = put!(self, "shl i64 {extent}, 1");
                let other = put!(self, "add i64 {one}, {twice}");
                (Beyond::Run(one, -1), Beyond::Run(put!(self, "sub i64 {other}, 2"), -1))
            }
        };
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let ty = self.ty(result);
            let column = self.word(Word::Column(l.array, leaf));
            let mut values = self.neighbours(ty, &column, &start, 1, Some(&within), INPUT);
            for (at, flags, good) in [(&one, &below, &low), (&other, &above, &high)] {
                let beyond = match at {
                    Beyond::Run(at, step) => self.neighbours(ty, &column, at, *step, Some(good), INPUT),
                    Beyond::One(at) => {
                        let x = self.element_at(ty, &column, at);
                        self.spread(&V::One(x), element(ty))
                    }
                };
                let (mask, vector) = (self.mask_type(), self.vector(ty));
                for ((v, x), m) in values.iter_mut().zip(&beyond).zip(flags) {
                    *v = put!(self, "select {mask} {m}, {vector} {x}, {vector} {v}");
                }
            }
            self.set(result, V::Lanes(values));
        }
        true
    }

    /// The position of the first element of the row that is read; none if lanes read different ones.
    fn row_of(&mut self, l: &Load, outer: &[Ix], edge: Edge) -> Option<Operand> {
        if outer.is_empty() {
            return Some(Operand::int(0));
        }
        let (mut index, _) = self.checked(l.array, outer, Some(edge));
        index.push(V::One(Operand::int(0)));
        match self.place(l.array, &index) {
            Place::One(at) => Some(at),
            Place::Run(..) | Place::Apart(..) | Place::Any(_) => None,
        }
    }

    /// The lanes whose number is less than one that is the same for all.
    pub(super) fn lanes_below(&mut self, end: &Operand) -> Parts {
        let (lanes, step) = (self.width.lanes, self.width.step());
        let end = put!(self, "call i64 @llvm.smin.i64(i64 {end}, i64 {step})");
        let end = put!(self, "call i64 @llvm.smax.i64(i64 {end}, i64 0)");
        let end = put!(self, "trunc i64 {end} to i32");
        let end = self.splat(&end, "i32");
        let parts = (0..self.width.parts).map(|p| {
            let numbers: Vec<String> = (0..lanes).map(|k| format!("i32 {}", p * lanes + k)).collect();
            put!(self, "icmp slt <{lanes} x i32> <{}>, {end}", numbers.join(", "))
        });
        parts.collect()
    }
}
