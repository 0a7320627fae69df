//! Folds along a row with an operator of the user's.
//!
//! The elements of a block of [`TREE`](crate::kernel::grouping::TREE) are combined pairwise with their neighbours until one is left, which
//! comes after what is carried from the blocks before. Those of a step are combined at once until they fill a vector, which
//! is kept in memory of the function; the rest follows when all of the block are there, in a loop: so most vectors are
//! full, and the code is short. The tile executor has the same tree.

use super::Emitter;
use super::ending::Ending;
use super::scan::Carry;
use super::steps::{Columns, State};
use super::text::{Label, Operand, put};
use super::value::{Mask, Parts, V};
use crate::kernel::grouping::TREE;
use crate::kernel::{Body, Finish, Kernel};
use acc_core::data::ScalarType;
use std::fmt::Write;

/// Elements of a leaf that are kept: one for each lane of all vectors of a step.
pub(super) fn kept_elements(parts: usize) -> usize {
    TREE / parts
}

/// The bytes of memory that the folds of a kernel keep elements in.
pub(super) fn kept(kernel: &Kernel, parts: usize) -> usize {
    let folds = kernel.outputs.iter().filter(|o| matches!(o.finish, Finish::Fold { known: None, .. }));
    let leaves = folds.flat_map(|o| kernel.values(o)).map(|&v| kernel.element.ty(v).size());
    leaves.sum::<usize>() * kept_elements(parts)
}

impl<'a> Emitter<'a> {
    /// Memory of the function, of so many bytes.
    pub(super) fn memory(&mut self, bytes: usize) -> Operand {
        let k = self.buffers;
        self.buffers += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.entry, "  %buffer{k} = alloca [{bytes} x i8], align 64");
        Operand::text(format!("%buffer{k}"))
    }

    /// Stores vectors in memory of the function, from an element on: there is room for all lanes.
    pub(super) fn keep_lanes(&mut self, ty: ScalarType, parts: &Parts, memory: &Operand, first: &Operand) {
        let mask = std::mem::replace(&mut self.mask, Mask::All);
        let stream = std::mem::take(&mut self.stream);
        self.store(ty, parts, memory, first);
        self.stream = stream;
        self.mask = mask;
    }

    /// The steps of a row, block by block: after those of a block its elements are combined. Yields what they carry, at the
    /// block of code where the row is done, which is to be started next.
    pub(super) fn blocks(
        &mut self,
        columns: &Columns,
        ending: &mut Ending<'a>,
        state: State,
        done: Label,
        write: &mut dyn FnMut(&mut Self, &mut Ending<'a>, &Operand, State) -> State,
    ) -> State {
        let (head, body, before) = (self.w.label(), self.w.label(), self.w.block);
        let entry = state.with(columns.from.clone(), "i64");
        self.w.jump(head);
        self.w.start(head);
        let here = entry.promised(self);
        let mark = self.w.mark();
        let (first, carried) = here.split();
        let more = put!(self, "icmp slt i64 {first}, {}", columns.to);
        self.w.branch(&more, body, done);
        self.w.start(body);
        let end = put!(self, "add i64 {first}, {TREE}");
        let end = put!(self, "call i64 @llvm.smin.i64(i64 {end}, i64 {})", columns.to);
        let edges = columns.edges.clone().map(|(lo, hi)| (lo, self.least(&hi, &end)));
        let own = Columns { from: first.clone(), to: end.clone(), edges, ..*columns };
        ending.block = first.clone();
        let combine = self.w.label();
        let state = self.steps(&own, carried.clone(), combine, &mut |e, column, state| write(e, ending, column, state));
        self.w.start(combine);
        let parts = self.width.parts;
        let count = put!(self, "sub i64 {end}, {first}");
        let count = put!(self, "add i64 {count}, {}", parts - 1);
        let count = put!(self, "udiv i64 {count}, {parts}");
        let after = ending.end_block(self, state, &count).with(end, "i64");
        let last = self.w.block;
        self.w.jump(head);
        here.arrive(self, mark, &[(entry, before), (after, last)]);
        carried
    }

    fn least(&mut self, a: &Operand, b: &Operand) -> Operand {
        put!(self, "call i64 @llvm.smin.i64(i64 {a}, i64 {b})")
    }

    /// Combines the first `count` elements kept in `memory`, one of each leaf, and puts `carry` before them; what is carried
    /// on, in the first lane.
    pub(super) fn reduce_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        memory: &[Operand],
        carry: &Carry,
        count: &Operand,
    ) -> Carry {
        self.on_parts(1, |e| {
            let (head, level, root, before) = (e.w.label(), e.w.label(), e.w.label(), e.w.block);
            e.w.jump(head);
            e.w.start(head);
            let (left, mark) = (e.w.promise(), e.w.mark());
            let more = put!(e, "icmp sgt i64 {left}, 1");
            e.w.branch(&more, level, root);
            e.w.start(level);
            let pairs = put!(e, "lshr i64 {left}, 1");
            let next = put!(e, "sub i64 {left}, {pairs}");
            let lanes = e.width.lanes;
            e.along([&Operand::int(0), &next], lanes, State::default(), None, |e, first, _| {
                e.pairs(body, types, memory, first, &pairs);
                Vec::new()
            });
            let last = e.w.block;
            e.w.jump(head);
            e.w.insert(mark, &format!("  {left} = phi i64 [ {count}, {before} ], [ {next}, {last} ]\n"));
            e.w.start(root);
            let zero = Operand::int(0);
            let kept = types.iter().zip(memory);
            let total: Vec<Operand> = kept.map(|(&ty, m)| e.neighbours(ty, m, &zero, 1, None, "")[0].clone()).collect();
            let leaves = e.after(body, types, carry, &total, &e.lanes_until(1));
            Carry { leaves, there: Operand::text("true") }
        })
    }

    /// Combines a vector of neighbours in memory, from pair `first` on, of those below `pairs`.
    fn pairs(&mut self, body: &'a Body, types: &[ScalarType], memory: &[Operand], first: &Operand, pairs: &Operand) {
        let low = put!(self, "shl i64 {first}, 1");
        let high = put!(self, "add i64 {low}, {}", self.width.lanes);
        let read = |e: &mut Self, (&ty, m): (&ScalarType, &Operand)| {
            [&low, &high].map(|at| e.neighbours(ty, m, at, 1, None, "")[0].clone()).into_iter().collect()
        };
        let values: Vec<Parts> = types.iter().zip(memory).map(|leaf| read(self, leaf)).collect();
        let halved = self.halved(body, types, &values, Some((first, pairs)));
        for ((x, &ty), m) in halved.iter().zip(types).zip(memory) {
            self.keep_lanes(ty, x, m, first);
        }
    }

    /// Combines the elements of a step until there is one vector of each leaf. If not all lanes are on, `last` is the number of
    /// the last one that is.
    pub(super) fn gathered(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        elements: Vec<Parts>,
        last: Option<&Operand>,
    ) -> Vec<Parts> {
        let mut values = elements;
        let mut count = last.map(|last| put!(self, "add i64 {last}, 1"));
        while values.iter().any(|v| v.len() > 1) {
            let pairs = count.map(|count| {
                let pairs = put!(self, "lshr i64 {count}, 1");
                (put!(self, "sub i64 {count}, {pairs}"), pairs)
            });
            let zero = Operand::int(0);
            values = self.halved(body, types, &values, pairs.as_ref().map(|(_, pairs)| (&zero, pairs)));
            count = pairs.map(|(left, _)| left);
        }
        values
    }

    /// Combines neighbours of vectors, which are those of pair `first` on. Of pairs not all may be there, but those below
    /// a number: then an element may have no neighbour, and stays.
    fn halved(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        values: &[Parts],
        there: Option<(&Operand, &Operand)>,
    ) -> Vec<Parts> {
        let parts = values.first().map_or(0, Parts::len) / 2;
        let half = |e: &mut Self, odd: usize| -> Vec<Parts> {
            let leaf = |(v, &ty): (&Parts, &ScalarType)| {
                v.chunks_exact(2).map(|pair| e.picked(ty, &pair[0], &pair[1], &|k| 2 * k + odd)).collect()
            };
            values.iter().zip(types).map(leaf).collect()
        };
        let (evens, odds) = (half(self, 0), half(self, 1));
        let args: Vec<V> = evens.iter().chain(&odds).cloned().map(V::Lanes).collect();
        self.on_parts(parts, |e| {
            if let Some((first, pairs)) = there {
                e.mask = e.first_lanes(first, pairs);
            }
            let paired: Vec<Option<Operand>> = (0..parts).map(|part| e.mask_of(part)).collect();
            e.inline_where(body, types, &args, &paired, &evens)
        })
    }
}
