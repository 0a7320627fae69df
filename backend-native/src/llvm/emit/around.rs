//! Reads at remainders: `xs[(i + k) % n]`, where `i` follows the lanes.
//!
//! Such an index is a run of neighbours that starts again where it reaches `n`. Where nothing else takes it, no lane is
//! divided: one division tells where the first lane is, and then the lanes are neighbours, or two runs of them, each read
//! under a mask. Where there are more, since `n` is less than a step, elements are read one by one.

use super::access::{INPUT, Place};
use super::steps::State;
use super::text::{Label, Operand, put, stored};
use super::value::{Mask, Parts, Shape, V};
use super::{Emitter, Level, Word};
use crate::kernel::{Ix, Load, Node, Op};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// A remainder whose dividend grows by one from lane to lane, by what is the same for all.
#[derive(Clone, Copy)]
pub(super) struct Around {
    op: PrimOp,
    index: Val,
    by: Val,
}

impl Emitter<'_> {
    /// The remainders of the body that are innermost indices of reads and nothing else.
    pub(super) fn arounds(&self) -> HashMap<Val, Around> {
        // How often each value is taken, and how often as such an index.
        let mut uses = vec![[0; 2]; self.body.types.len()];
        let mut found = HashMap::new();
        self.body.region.results.iter().for_each(|v| uses[v.index()][0] += 1);
        self.body.region.visit(0, &mut |n, _| {
            n.op.operands(&mut |v| uses[v.index()][0] += 1);
            n.op.regions().iter().flat_map(|r| &r.results).for_each(|v| uses[v.index()][0] += 1);
            match &n.op {
                Op::Load(Load { index, edge: None, .. }) => {
                    if let Some(Ix::At(v)) = index.last() {
                        uses[v.index()][1] += 1;
                    }
                }
                Op::Prim(op @ (PrimOp::RemP | PrimOp::ModFloorP), args) => {
                    let (index, by) = (args[0], args[1]);
                    let levels = [index, by].map(|v| self.levels[v.index()]);
                    if self.ty(index) == ScalarType::I64 && levels == [Level::Linear(1), Level::One] {
                        found.insert(n.results[0], Around { op: *op, index, by });
                    }
                }
                _ => {}
            }
        });
        found.retain(|v, _| uses[v.index()][0] == uses[v.index()][1]);
        found
    }

    /// Writes what is left of such a remainder where it is defined: a divisor of zero is a fault.
    pub(super) fn divides(&mut self, v: Val) -> bool {
        let Some(&Around { by, .. }) = self.around.get(&v) else { return false };
        let by = self.one(by);
        let zero = put!(self, "icmp eq i64 {by}, 0");
        self.decline_if(&zero);
        true
    }

    /// Writes a read at such a remainder; whether it is one.
    pub(super) fn read_around(&mut self, n: &Node, l: &Load) -> bool {
        let Some((Ix::At(v), outer)) = l.index.split_last() else { return false };
        let Some(&Around { op, index, by }) = self.around.get(v) else { return false };
        let rows: Vec<V> = outer.iter().map(|i| self.index(i)).collect();
        let (V::Linear(first, _), true) = (self.value(index), rows.iter().all(|v| matches!(v, V::One(_)))) else {
            // Lanes read different rows.
            let lanes = self.divide(op, ScalarType::I64, &[index, by]);
            self.set(*v, lanes);
            return false;
        };
        let mut at = if outer.is_empty() { Default::default() } else { self.checked(l.array, outer, None).0 };
        at.push(V::One(Operand::int(0)));
        let Place::One(row) = self.place(l.array, &at) else { return false };
        // What faulted so far is told before ways part.
        self.settle();

        let by = self.one(by);
        let extent = self.word(Word::ArrayExtent(l.array, outer.len() as u32));
        // Other remainders are negative, and out of bounds. An index beyond the greatest number is the least one.
        let step = self.width.step() as i64;
        let negative = put!(self, "icmp slt i64 {by}, 0");
        let high = put!(self, "icmp sgt i64 {first}, {}", i64::MAX - step);
        let mut unusual = put!(self, "or i1 {negative}, {high}");
        if op == PrimOp::RemP {
            let below = put!(self, "icmp slt i64 {first}, 0");
            unusual = put!(self, "or i1 {unusual}, {below}");
        }
        self.decline_if(&unusual);
        let start = self.quotient(op, ScalarType::I64, Shape::One, false, &first, &by);
        let least = put!(self, "call i64 @llvm.smin.i64(i64 {by}, i64 {extent})");
        let last = put!(self, "sub i64 {least}, {step}");
        let fits = put!(self, "icmp sle i64 {start}, {last}");
        let [one, other, two, each, join] = [(); 5].map(|()| self.w.label());
        self.w.branch(&fits, one, other);

        self.w.start(one);
        let place = put!(self, "add i64 {row}, {start}");
        let mut ways = vec![self.way(n, l, join, |e, ty, column| e.neighbours(ty, column, &place, 1, None, INPUT))];

        self.w.start(other);
        let beyond = put!(self, "icmp sgt i64 {by}, {extent}");
        self.decline_if(&beyond);
        // Narrow vectors are read under masks by AVX-512 alone.
        let masks = self.target.has_mask_registers() || n.results.iter().all(|&r| self.ty(r).size() >= 4);
        if masks {
            let twice = put!(self, "shl i64 {by}, 1");
            let end = put!(self, "add i64 {start}, {step}");
            let once = put!(self, "icmp sle i64 {end}, {twice}");
            self.w.branch(&once, two, each);
            self.w.start(two);
            let left = put!(self, "sub i64 {by}, {start}");
            let before = self.lanes_below(&left);
            let flags = self.mask_type();
            let yes = self.constant(self.shape(), "i1", "true");
            let after: Parts = before.iter().map(|m| put!(self, "xor {flags} {m}, {yes}")).collect();
            let place = put!(self, "add i64 {row}, {start}");
            let again = put!(self, "sub i64 {place}, {by}");
            ways.push(self.way(n, l, join, |e, ty, column| {
                let x = e.neighbours(ty, column, &place, 1, Some(&before), INPUT);
                let y = e.neighbours(ty, column, &again, 1, Some(&after), INPUT);
                let (mask, vector) = (e.mask_type(), e.vector(ty));
                let all = x.iter().zip(&y).zip(&before);
                all.map(|((x, y), m)| put!(e, "select {mask} {m}, {vector} {x}, {vector} {y}")).collect()
            }));
        } else {
            self.w.jump(each);
        }

        self.w.start(each);
        ways.push(self.way(n, l, join, |e, ty, column| e.singly(ty, column, &row, &start, &by)));

        self.ways_join(n, join, &ways);
        true
    }

    /// What is read of each leaf in one of the ways, and the block where that ends.
    pub(super) fn way(
        &mut self,
        n: &Node,
        l: &Load,
        join: Label,
        mut read: impl FnMut(&mut Self, ScalarType, &Operand) -> Parts,
    ) -> (Vec<Parts>, Label) {
        let mut all = Vec::new();
        for (&leaf, &r) in l.leaves.iter().zip(&n.results) {
            let (ty, column) = (self.ty(r), self.word(Word::Column(l.array, leaf)));
            all.push(read(self, ty, &column));
        }
        let end = self.w.block;
        self.w.jump(join);
        (all, end)
    }

    /// Goes on where several ways of a read meet.
    pub(super) fn ways_join(&mut self, n: &Node, join: Label, ways: &[(Vec<Parts>, Label)]) {
        self.w.start(join);
        for (k, &r) in n.results.iter().enumerate() {
            let vector = self.vector(self.ty(r));
            let parts = (0..self.width.parts).map(|part| {
                let ends: Vec<String> = ways.iter().map(|(v, from)| format!("[ {}, {from} ]", v[k][part])).collect();
                put!(self, "phi {vector} {}", ends.join(", "))
            });
            let parts: Parts = parts.collect();
            self.set(r, V::Lanes(parts));
        }
    }

    /// The lanes of elements from a place of a row on, which starts again where it reaches the divisor.
    fn singly(&mut self, ty: ScalarType, column: &Operand, row: &Operand, start: &Operand, by: &Operand) -> Parts {
        let (mem, size, step) = (stored(ty), ty.size(), self.width.step());
        let buffer = self.memory(step * size);
        let (zero, end) = (Operand::int(0), Operand::int(step as i64));
        let carried = State::default().with(start.clone(), "i64");
        self.along([&zero, &end], 1, carried, None, |e, lane, carried| {
            let at = carried.0[0].0.clone();
            let place = put!(e, "add i64 {row}, {at}");
            let p = put!(e, "getelementptr {mem}, ptr {column}, i64 {place}");
            let x = put!(e, "load {mem}, ptr {p}, align {size}{INPUT}");
            let p = put!(e, "getelementptr {mem}, ptr {buffer}, i64 {lane}");
            e.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}"));
            let next = put!(e, "add i64 {at}, 1");
            let over = put!(e, "icmp sge i64 {next}, {by}");
            vec![put!(e, "select i1 {over}, i64 0, i64 {next}")]
        });
        let mask = std::mem::replace(&mut self.mask, Mask::All);
        let parts = self.neighbours(ty, &buffer, &zero, 1, None, "");
        self.mask = mask;
        parts
    }
}
