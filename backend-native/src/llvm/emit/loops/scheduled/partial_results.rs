//! Partial results of folds: where they begin, and where they go.

use super::{At, Nest};
use crate::kernel::{AxisKind, Sink};
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::ir::PrimOp;

/// Where the lanes of a point lie in a result.
pub(super) enum Place {
    /// One after the other, from this position on.
    Contiguous(Operand),
    /// From a position on, so far apart.
    Strided(Operand, Operand),
    /// Two rows, from these positions on; and which lanes of each there are.
    Rows([Operand; 2], [Operand; 2]),
}

impl<'a> Nest<'a> {
    /// For each set of partial results the offsets of its indices, axis by axis.
    pub(super) fn copies(&self, at: &At) -> Vec<Vec<usize>> {
        let mut copies = vec![vec![0; self.kernel.axes.len()]];
        for depth in self.registers..self.kernel.loops.len() {
            let l = self.kernel.loops[depth];
            if depth == self.lane || !l.is_unrolled() || self.kernel.axes[l.axis] != AxisKind::Parallel {
                continue;
            }
            let iterations = self.iterations(depth, at);
            let inside = |offsets: Vec<usize>| {
                (0..iterations).map(move |iteration| {
                    let mut offsets = offsets.clone();
                    offsets[l.axis] += iteration * l.step;
                    offsets
                })
            };
            copies = copies.into_iter().flat_map(inside).collect();
        }
        copies
    }

    /// Binds the unrolled axes to the indices of a set of partial results.
    fn bind(&self, e: &mut Emitter<'a>, at: &At, offsets: &[usize]) {
        for l in self.kernel.loops[self.registers..].iter().filter(|l| l.step == 1) {
            if self.kernel.axes[l.axis] == AxisKind::Parallel {
                let index = put!(e.code.f, "add i64 {}, {}", at.ranges[l.axis][0], offsets[l.axis]);
                e.scope.axes[l.axis] = Axis::Uniform(index);
            }
        }
    }

    /// The folded leaves, as numbers of output and leaf.
    fn folded(&self) -> Vec<(usize, usize)> {
        let is_fold = |o: usize| matches!(self.sinks.outs[o].output.sink, Sink::Fold { .. });
        self.sinks.leaves().into_iter().filter(|&(o, _)| is_fold(o)).collect()
    }

    /// Whether partial results were stored before, by an iteration of the loops around, if there are such loops.
    fn goes_on(&self, e: &mut Emitter<'a>, at: &At) -> Option<Operand> {
        let (rank, outer) = (self.kernel.axes.len(), &self.kernel.loops[..self.registers]);
        let first = rank - self.kernel.folded();
        let blocks = self.blocks.as_ref().is_some_and(|blocks| blocks.in_a_loop);
        let mut goes_on: Option<Operand> = None;
        for axis in (first..rank).filter(|k| outer.iter().any(|l| l.axis == *k) || (blocks && *k == first)) {
            let begins = if axis == first { e.code.f.arg(KernelArg::RangeStart) } else { Operand::int(0) };
            let later = put!(e.code.f, "icmp ne i64 {}, {begins}", at.ranges[axis][0]);
            goes_on = Some(match goes_on {
                None => later,
                Some(before) => put!(e.code.f, "or i1 {before}, {later}"),
            });
        }
        goes_on
    }

    /// Whether the sums of blocks of an output are added where partial results are stored.
    fn adds_blocks(&self, o: usize) -> bool {
        self.blocks.is_some() && self.sinks.outs[o].is_fused()
    }

    /// The values in memory of the outputs that are `asked` for, where the folds go on; else, and for other outputs, these.
    fn or_from_memory(
        &mut self,
        e: &mut Emitter<'a>,
        at: &At,
        copies: &[Vec<usize>],
        values: Vec<Operand>,
        asked: &dyn Fn(&Self, usize) -> bool,
    ) -> Vec<Operand> {
        if !self.folded().iter().any(|&(o, _)| asked(self, o)) {
            return values;
        }
        let Some(goes_on) = self.goes_on(e, at) else { return values };
        let types: Vec<String> = self.state(values.clone()).0.into_iter().map(|(_, ty)| ty).collect();
        let first = self.kernel.axes.len() - self.kernel.folded();
        e.if_then(&goes_on, &types, values, |e, values| {
            let mut so_far = Vec::new();
            for offsets in copies {
                self.bind(e, at, offsets);
                let place = self.place(e, first);
                for (o, k) in self.folded() {
                    if asked(self, o) {
                        so_far.extend(self.partial(e, self.sinks.outs[o].leaves[k], &place));
                    } else {
                        so_far.extend(values[so_far.len()..][..e.code.width.parts].iter().cloned());
                    }
                }
            }
            so_far
        })
    }

    /// The first partial results: initial values, or those in memory.
    pub(super) fn begin(&mut self, e: &mut Emitter<'a>, at: &At, copies: &[Vec<usize>]) -> Vec<Operand> {
        let mut begun = Vec::new();
        for &(o, k) in &self.folded() {
            begun.extend(self.sinks.start(e, &self.sinks.outs[o], k).unwrap_or_default());
        }
        let begun: Vec<Operand> = copies.iter().flat_map(|_| begun.iter().cloned()).collect();
        self.or_from_memory(e, at, copies, begun, &|nest, o| !nest.adds_blocks(o))
    }

    /// Stores partial results; adds those of a block to the sum of the blocks before.
    pub(super) fn end(&mut self, e: &mut Emitter<'a>, at: &At, copies: &[Vec<usize>], accs: Vec<Operand>) {
        let mut before = Vec::new();
        for &(o, k) in &self.folded() {
            let out = &self.sinks.outs[o];
            let initial = self.sinks.initial(e, out, k);
            let splat = e.code.splat(&initial, element(out.leaves[k].ty));
            before.extend(vec![splat; e.code.width.parts]);
        }
        let before: Vec<Operand> = copies.iter().flat_map(|_| before.iter().cloned()).collect();
        let before = self.or_from_memory(e, at, copies, before, &Self::adds_blocks);
        let mut accs = accs.into_iter().zip(before);
        for offsets in copies {
            self.bind(e, at, offsets);
            let place = self.place(e, self.kernel.axes.len() - self.kernel.folded());
            for (o, k) in self.folded() {
                let (leaf, shape, adds) = (self.sinks.outs[o].leaves[k], e.code.shape(), self.adds_blocks(o));
                let parts = accs.by_ref().take(e.code.width.parts).map(|(acc, before)| {
                    if adds { e.code.operation(PrimOp::AddP, leaf.ty, shape, &[before, acc]) } else { acc }
                });
                let parts: Parts = parts.collect();
                self.store(e, leaf, &parts, &place);
            }
        }
    }

    /// Where the lanes of a point lie in a result over the first axes.
    pub(super) fn place(&self, e: &mut Emitter<'a>, axes: usize) -> Place {
        match e.scope.pair.clone() {
            Some(pair) => Place::Rows(self.places_of_pair(e, &pair, axes), pair.masks),
            None => match self.position(e, axes) {
                (start, None) => Place::Contiguous(start),
                (start, Some(stride)) => Place::Strided(start, stride),
            },
        }
    }

    /// The position of a point's first lane in a result over the first axes, relative to its memory; and the stride
    /// between lanes, unless they are contiguous.
    pub(super) fn position(&self, e: &mut Emitter<'a>, axes: usize) -> (Operand, Option<Operand>) {
        let parallel = self.kernel.axes.iter().filter(|k| **k == AxisKind::Parallel).count();
        let over = self.kernel.loops[self.lane].axis;
        let mut position = Operand::int(0);
        let mut stride: Option<Operand> = None;
        for axis in 0..axes {
            let (Axis::Uniform(at) | Axis::Lanes(at)) = e.scope.axes[axis].clone();
            let extent = e.code.f.arg(KernelArg::Extent(axis as u32));
            let whole = put!(e.code.f, "mul i64 {position}, {extent}");
            position = put!(e.code.f, "add i64 {whole}, {at}");
            if axis > over {
                let before = stride.unwrap_or_else(|| Operand::int(1));
                stride = Some(put!(e.code.f, "mul i64 {before}, {extent}"));
            }
            if axis + 1 == parallel {
                let base = e.code.f.arg(KernelArg::OutputStart);
                position = put!(e.code.f, "sub i64 {position}, {base}");
            }
        }
        (position, stride)
    }

    /// Stores vectors of a leaf of a result.
    pub(super) fn store(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, place: &Place) {
        match place {
            Place::Contiguous(start) => self.sinks.store_in(e, leaf, parts, start, &Operand::int(0)),
            Place::Strided(start, stride) => {
                let out = e.code.f.arg(KernelArg::Output(leaf.number));
                e.code.store_strided(leaf.ty, parts, &out, start, stride);
            }
            Place::Rows(starts, masks) => e.store_rows(leaf, parts, starts, masks),
        }
    }

    /// Loads the partial result of a leaf.
    fn partial(&self, e: &mut Emitter<'a>, leaf: Leaf, place: &Place) -> Parts {
        let out = e.code.f.arg(KernelArg::Output(leaf.number));
        let (start, stride) = match place {
            Place::Contiguous(start) => return e.code.load_contiguous(leaf.ty, &out, start, 1, None, ""),
            Place::Rows(starts, masks) => return e.code.load_rows(leaf.ty, &out, starts, masks),
            Place::Strided(start, stride) => (start, stride),
        };
        let mut positions = e.code.strided_positions(start, stride);
        if let Mask::Lanes(mask) = e.code.mask.clone() {
            let (flags, ty, first) = (e.code.mask_type(), e.code.shape().of("i64"), e.code.splat(start, "i64"));
            let all = positions.iter().zip(&mask);
            positions = all.map(|(p, m)| put!(e.code.f, "select {flags} {m}, {ty} {p}, {ty} {first}")).collect();
        }
        match e.code.gather(leaf.ty, &out, &positions, "") {
            Value::Varying(parts) => parts,
            Value::Uniform(o) | Value::Affine(o, _) => smallvec::smallvec![o],
        }
    }
}
