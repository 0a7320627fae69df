//! Where the elements of a step go: stores, folds, scans.
//!
//! Folds and scans group elements as the tile executor does: see `tile::reduce`, `run::rows::chunks` and
//! `run::rows::scan`.

use crate::kernel::grouping::{PAIRWISE_BLOCK, SCAN_BLOCK};
use crate::kernel::{AxisKind, Kernel, Node, Output, Sink, region_cost};
use crate::llvm::emit::loops::loop_state::{Columns, LoopState};
use crate::llvm::emit::sinks::pairwise_fold::kept_elements;
use crate::llvm::emit::sinks::scan::Carry;
use crate::llvm::emit::sinks::scan_runs::{KEPT_ELEMENTS, RunBuffers};
use crate::llvm::emit::sinks::scatter::{Combining, Progress};
use crate::llvm::emit::text::value::{Parts, Shape, Value};
use crate::llvm::emit::text::{Operand, element, literal, put, stored};
use crate::llvm::emit::{Emitter, KernelArg, MAX_SMALL_BODY_NODES, Variant};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Dir, PrimOp, Val};
use backend_native_lanes::reduce;

/// Writes what a variant does with the elements, row by row and step by step.
pub(crate) struct SinkEmitter<'a> {
    pub variant: Variant,
    pub kernel: &'a Kernel,
    /// Whether scans run from the right.
    pub right: bool,
    pub outs: Vec<SinkOutput<'a>>,
    /// The leaves of a scan's epilogue: number over all outputs, position in the body's results, type.
    pub after: Vec<(u32, usize, ScalarType)>,
    /// The number of the first step's column of the current block, of folds and of scans.
    pub fold_block: Operand,
    pub scan_block: Operand,
    /// The number of the first step's column.
    pub start: Operand,
    /// The position of the row's first column, relative to the results' memory.
    pub row: Operand,
    pub cost: usize,
    /// How a scatter records its progress.
    progress: Option<Progress>,
}

/// An output and its state.
pub(crate) struct SinkOutput<'a> {
    pub output: &'a Output,
    pub leaves: Vec<Leaf>,
    /// The other factor of each leaf's products, if the fold is fused.
    pub factors: Vec<Val>,
    /// The built-in operator of each leaf, if it has one.
    pub builtin: Option<&'a [PrimOp]>,
    /// The leaf with the flags of a segmented scan.
    pub mark: Option<usize>,
    /// Buffers in which a fold with a user's operator keeps the elements of a block, leaf by leaf.
    pub kept: Vec<Operand>,
    /// The buffers of a scan, leaf by leaf, in a kernel of which some scan divides its elements into runs.
    pub runs: Vec<RunBuffers>,
}

/// A leaf of an output: its number over all outputs, and the value of the element body that it takes.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub number: u32,
    pub value: Val,
    pub ty: ScalarType,
}

/// Elements that are kept until all of a block are there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// Of folds with a user's operator.
    Fold,
    /// Of scans in runs.
    Scan,
}

impl Block {
    pub(crate) fn len(self) -> usize {
        match self {
            Block::Fold => PAIRWISE_BLOCK,
            Block::Scan => SCAN_BLOCK,
        }
    }
}

impl Leaf {
    pub(crate) fn identity(self, op: PrimOp) -> Lit {
        Lit { ty: self.ty, bits: reduce::identity(op, self.ty) }
    }
}

impl SinkOutput<'_> {
    pub(crate) fn is_fused(&self) -> bool {
        !self.factors.is_empty()
    }

    /// The vectors of the elements: for each leaf its value or, if the fold is fused, both factors.
    pub(crate) fn elements(&self, e: &mut Emitter<'_>) -> Vec<Parts> {
        let factors = self.factors.iter().copied().map(Some).chain(std::iter::repeat(None));
        let values = self.leaves.iter().zip(factors).flat_map(|(leaf, factor)| [Some(leaf.value), factor]);
        values.flatten().map(|v| e.vectors(v)).collect()
    }

    pub(crate) fn is_scan(&self) -> bool {
        matches!(self.output.sink, Sink::Scan { .. })
    }

    /// Whether steps carry a result without a neutral element.
    fn carries(&self) -> bool {
        self.builtin.is_none() && matches!(self.output.sink, Sink::Fold { .. } | Sink::Scan { .. })
    }

    pub(crate) fn types(&self) -> Vec<ScalarType> {
        self.leaves.iter().map(|l| l.ty).collect()
    }

    /// Takes the carry from the loop state.
    pub(crate) fn carried(&self, state: &mut impl Iterator<Item = (Operand, String)>) -> Option<Carry> {
        let (there, _) = state.next()?;
        Some(Carry { there, leaves: state.take(self.leaves.len()).map(|(o, _)| o).collect() })
    }

    pub(crate) fn carry(&self, e: &Emitter<'_>, next: Carry, state: &mut LoopState) {
        state.0.push((next.there, "i1".to_string()));
        let leaves = next.leaves.into_iter().zip(&self.leaves);
        state.0.extend(leaves.map(|(o, leaf)| (o, e.code.vector(leaf.ty))));
    }
}

impl<'a> SinkEmitter<'a> {
    pub(crate) fn new(e: &mut Emitter<'a>, kernel: &'a Kernel, variant: Variant, row: Operand) -> SinkEmitter<'a> {
        let mut number = 0;
        let mut outs = Vec::new();
        let scans_runs = kernel.outputs.iter().any(|o| o.sink.scans_runs());
        for output in &kernel.outputs {
            let before = output.sink.lead() as u32;
            let values = &kernel.element.region.results[output.values.clone()];
            let per_leaf = output.sink.values_per_leaf();
            let factors = values.iter().copied().skip(1).step_by(2).filter(|_| output.sink.is_fused()).collect();
            let leaves = values.iter().step_by(per_leaf).zip(0..).map(|(&value, k)| {
                let own = if k < before { 0 } else { number + k - before };
                Leaf { number: own, value, ty: kernel.element.ty(value) }
            });
            let leaves: Vec<Leaf> = leaves.collect();
            number += leaves.len() as u32 - before;
            let segmented = output.sink.segmented();
            let builtin = output.sink.builtin().or_else(|| segmented.map(|r| &r.ops[..]));
            let mut out = SinkOutput {
                output,
                leaves,
                factors,
                builtin,
                mark: segmented.map(|r| r.mark),
                kept: Vec::new(),
                runs: Vec::new(),
            };
            let leaves = out.leaves.iter();
            if variant.is_along() && out.carries() && !out.is_scan() {
                let kept = leaves.map(|l| e.code.f.memory(kept_elements(e.code.width.parts) * l.ty.size()));
                out.kept = kept.collect();
            } else if variant.is_along() && out.is_scan() && scans_runs {
                let buffers = leaves.map(|l| {
                    let kept = e.code.f.memory(KEPT_ELEMENTS * l.ty.size());
                    let own = if output.sink.scans_runs() { SCAN_BLOCK } else { 0 };
                    RunBuffers { kept, transposed: e.code.f.memory(own * l.ty.size()) }
                });
                out.runs = buffers.collect();
            }
            outs.push(out);
        }
        let mut after = Vec::new();
        for (epilogue, o) in kernel.epilogue.iter().flat_map(|e| e.outputs.iter().map(move |o| (e, o))) {
            for k in o.values.clone() {
                after.push((number, k, epilogue.body.ty(epilogue.body.region.results[k])));
                number += 1;
            }
        }
        let combines = kernel.outputs.iter().filter_map(|o| o.sink.combine());
        let cost = combines.map(|c| region_cost(&c.region)).sum::<usize>() + region_cost(&kernel.element.region);
        let right = kernel.axes.last() == Some(&AxisKind::Scan(Dir::Right));
        let progress =
            variant.is_scatter().then(|| Progress { row: row.clone(), exits: [e.code.f.bail_out, e.code.f.stop] });
        let [fold_block, scan_block, start] = [0; 3].map(Operand::int);
        SinkEmitter { variant, kernel, right, outs, after, fold_block, scan_block, start, row, cost, progress }
    }

    /// The begin of a row: a scatter has combined all elements before it.
    pub(crate) fn begin_row(&self, e: &mut Emitter<'a>) {
        if let Some(progress) = &self.progress {
            e.record_progress(progress, &Operand::text("%c0"));
        }
    }

    /// Writes code of a scatter that may leave the function before it has combined the element of a column.
    pub(crate) fn resumable<T>(
        &mut self,
        e: &mut Emitter<'a>,
        column: &Operand,
        write: impl FnOnce(&mut Self, &mut Emitter<'a>) -> T,
    ) -> T {
        match self.progress.clone() {
            Some(progress) => e.resumable(&progress, column, |e| write(self, e)),
            None => write(self, e),
        }
    }

    /// Whether the vectors of full steps are computed one after the other: where their partial results together would
    /// take most registers.
    pub(crate) fn steps_by_vector(&self, e: &Emitter<'_>) -> bool {
        let are_folds = self.outs.iter().all(|o| o.builtin.is_some() && matches!(o.output.sink, Sink::Fold { .. }));
        let partial = self.outs.iter().map(|o| o.leaves.len()).sum::<usize>() * e.code.width.parts;
        self.variant.is_along()
            && are_folds
            && partial > e.code.f.target.registers() / 2
            && e.facts.body.region.nodes.len() > MAX_SMALL_BODY_NODES
    }

    /// The blocks whose elements are kept, to be combined at their ends, the longer ones first.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let folds = self.outs.iter().any(|o| !o.kept.is_empty()).then_some(Block::Fold);
        let scans = self.keeps_scans().then_some(Block::Scan);
        folds.into_iter().chain(scans).collect()
    }

    /// Whether scans keep elements or results until the block ends.
    pub(crate) fn keeps_scans(&self) -> bool {
        self.outs.iter().any(|o| !o.runs.is_empty())
    }

    /// Combines the elements of a block.
    pub(crate) fn end_fold_block(&self, e: &mut Emitter<'a>, state: LoopState, columns: &Columns) -> LoopState {
        let parts = e.code.width.parts;
        let count = put!(e.code.f, "sub i64 {}, {}", columns.to, columns.from);
        let count = put!(e.code.f, "add i64 {count}, {}", parts - 1);
        let count = put!(e.code.f, "udiv i64 {count}, {parts}");
        let (mut before, mut after) = (state.0.into_iter(), LoopState::default());
        for o in &self.outs {
            match &o.output.sink {
                Sink::Fold { combine, .. } if !o.kept.is_empty() => {
                    let Some(carry) = o.carried(&mut before) else { continue };
                    let next = e.reduce_by(combine, &o.types(), &o.kept, &carry, &count);
                    o.carry(e, next, &mut after);
                }
                _ => after.0.extend(before.by_ref().take(self.carried_by(e, o))),
            }
        }
        after
    }

    /// The number of loop-carried values of an output.
    pub(crate) fn carried_by(&self, e: &Emitter<'a>, o: &SinkOutput<'a>) -> usize {
        let each = usize::from(self.follows(o)) + if self.sums_up(o) { e.code.width.parts } else { 0 };
        if o.carries() { 1 + o.leaves.len() } else { o.builtin.map_or(0, |ops| ops.len() * each) }
    }

    /// The initial loop state of a row.
    pub(crate) fn begin(&mut self, e: &mut Emitter<'a>) -> LoopState {
        let mut state = LoopState::default();
        if matches!(self.variant, Variant::CompactCount | Variant::Compact) {
            return LoopState(vec![(Operand::int(0), "i64".to_string())]);
        }
        let is_stateless = matches!(
            self.variant,
            Variant::Store { .. } | Variant::UnalignedStreaming | Variant::ScatterTargets | Variant::RowLanes
        ) || matches!(self.variant, Variant::Scheduled | Variant::MultiRow);
        if is_stateless || self.variant.is_scatter() {
            return state;
        }
        for o in &self.outs {
            if o.carries() {
                state.0.push((Operand::text("false"), "i1".to_string()));
                for leaf in &o.leaves {
                    state.0.push((Operand::text("zeroinitializer"), e.code.vector(leaf.ty)));
                }
            }
            for (leaf, &op) in o.leaves.iter().zip(o.builtin.unwrap_or_default()) {
                let identity = literal(leaf.identity(op));
                if self.follows(o) {
                    state.0.push((Operand::text(identity.clone()), element(leaf.ty).to_string()));
                }
                if self.sums_up(o) {
                    let constant = e.code.f.constant(e.code.shape(), element(leaf.ty), &identity);
                    state.0.extend(vec![(constant, e.code.vector(leaf.ty)); e.code.width.parts]);
                }
            }
        }
        state
    }

    /// Writes the sinks of a step whose first lane is at column `first`; all nodes outside of an inner loop are
    /// computed.
    pub(crate) fn step(
        &mut self,
        e: &mut Emitter<'a>,
        along: &[&'a Node],
        first: &Operand,
        state: LoopState,
    ) -> LoopState {
        match self.variant {
            Variant::Store { .. } | Variant::UnalignedStreaming | Variant::ScatterTargets => {
                for (o, k) in self.leaves() {
                    let leaf = self.outs[o].leaves[k];
                    let parts = e.vectors(leaf.value);
                    self.store(e, leaf, &parts, first);
                }
                state
            }
            Variant::Scatter | Variant::AosScatter => {
                self.scatter(e, first);
                state
            }
            Variant::Chunk { .. } | Variant::ChunkTotals | Variant::BatchedRows => self.chunk(e, first, state),
            Variant::CompactCount | Variant::Compact => self.kept(e, state),
            Variant::RowLanes => {
                self.rows(e, along, first);
                state
            }
            // Their loops are written elsewhere.
            Variant::Scheduled | Variant::MultiRow => state,
        }
    }

    /// Finishes a row.
    pub(crate) fn end(&mut self, e: &mut Emitter<'a>, state: LoopState) {
        let mut rest = state.0.into_iter().map(|(o, _)| o);
        if self.variant == Variant::CompactCount
            && let Some(count) = rest.next()
        {
            let to = e.code.f.arg(KernelArg::Total(0));
            e.code.f.w.line(format_args!("store i64 {count}, ptr {to}, align 8, !noalias !2"));
        }
        for o in &self.outs {
            let mut totals: Vec<Operand> = Vec::new();
            if o.carries() && self.variant.is_along() {
                rest.next();
                for (leaf, total) in o.leaves.iter().zip(rest.by_ref().take(o.leaves.len())) {
                    let t = e.code.vector(leaf.ty);
                    totals.push(put!(e.code.f, "extractelement {t} {total}, i64 0"));
                }
            }
            for (leaf, &op) in o.leaves.iter().zip(o.builtin.unwrap_or_default()) {
                if !self.variant.is_along() {
                    continue;
                }
                let carry = if self.follows(o) { rest.next() } else { None };
                if self.sums_up(o) {
                    let parts: Parts = rest.by_ref().take(e.code.width.parts).collect();
                    totals.push(e.code.reduce_lanes(op, leaf.ty, parts));
                } else {
                    totals.extend(carry);
                }
            }
            if self.variant == Variant::BatchedRows {
                self.fold(e, o, totals);
                if o.is_scan() && o.output.stored && o.output.sink.has_init() {
                    self.store_init(e, o);
                }
            } else {
                o.leaves.iter().zip(&totals).for_each(|(leaf, total)| self.total(e, *leaf, total));
            }
        }
    }

    /// Stores the result of a row's fold, combined with the initial value.
    fn fold(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>, mut totals: Vec<Operand>) {
        let Sink::Fold { combine, init, .. } = &o.output.sink else { return };
        if *init {
            let before: Vec<Operand> = o.leaves.iter().map(|l| self.before(e, *l)).collect();
            totals = match o.builtin {
                Some(ops) => {
                    let leaves = ops.iter().zip(&o.leaves).zip(before.into_iter().zip(totals));
                    leaves.map(|((&op, leaf), (a, b))| e.code.operation(op, leaf.ty, Shape::Scalar, &[a, b])).collect()
                }
                None => {
                    let args: Vec<Value> = before.into_iter().chain(totals).map(Value::Uniform).collect();
                    e.inline_one(combine, &args)
                }
            };
        }
        let extent = e.code.f.arg(KernelArg::Extent(self.kernel.axes.len() as u32 - 1));
        let row = put!(e.code.f, "udiv i64 {}, {extent}", self.row);
        for (leaf, total) in o.leaves.iter().zip(&totals) {
            let (out, mem) = (e.code.f.arg(KernelArg::Output(leaf.number)), stored(leaf.ty));
            let to = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {row}");
            let total =
                if leaf.ty == ScalarType::Bool { put!(e.code.f, "zext i1 {total} to i8") } else { total.clone() };
            e.code.f.w.line(format_args!("store {mem} {total}, ptr {to}, align {}, !noalias !2", leaf.ty.size()));
        }
    }

    /// Stores the total of a chunk.
    fn total(&self, e: &mut Emitter<'a>, leaf: Leaf, total: &Operand) {
        let to = e.code.f.arg(KernelArg::Total(leaf.number));
        let bits = e.code.f.bits_of_scalar(leaf.ty, total);
        e.code.f.w.line(format_args!("store i64 {bits}, ptr {to}, align 8, !noalias !2"));
    }

    /// All leaves, as numbers of output and leaf.
    pub(crate) fn leaves(&self) -> Vec<(usize, usize)> {
        self.outs.iter().enumerate().flat_map(|(o, out)| (0..out.leaves.len()).map(move |k| (o, k))).collect()
    }

    /// The values of the element body that are stored or combined.
    pub(crate) fn leaves_taken(&self) -> Vec<Val> {
        self.outs.iter().flat_map(|o| o.leaves.iter().map(|l| l.value).chain(o.factors.iter().copied())).collect()
    }

    /// Stores consecutive elements of a row.
    pub(crate) fn store(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, first: &Operand) {
        self.store_in(e, leaf, parts, &self.row, first);
    }

    /// The same for the row whose first column is at a position.
    pub(crate) fn store_in(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, row: &Operand, first: &Operand) {
        let (out, mem) = (e.code.f.arg(KernelArg::Output(leaf.number)), stored(leaf.ty));
        let start = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {row}");
        e.store(leaf.ty, parts, &start, first);
    }

    fn scatter(&self, e: &mut Emitter<'a>, first: &Operand) {
        for o in &self.outs {
            let Sink::Scatter { combine, builtin, rank, .. } = &o.output.sink else { continue };
            let Some(progress) = &self.progress else { continue };
            let record = self.kernel.record().filter(|_| self.variant == Variant::AosScatter);
            let how = match (record, builtin) {
                (Some(record), _) => Combining::Record(record),
                (None, Some(updates)) => Combining::Known(updates),
                (None, None) => Combining::Body { combine, first, progress },
            };
            let (index, leaves) = o.leaves[1..].split_at(*rank);
            e.scatter(o.leaves[0], index, leaves, &how);
        }
    }

    /// Counts or stores the elements that are kept.
    fn kept(&self, e: &mut Emitter<'a>, state: LoopState) -> LoopState {
        let (at, _) = state.split();
        let Some(o) = self.outs.first() else { return state };
        let kept = e.kept(o.leaves[0]);
        let outer = std::mem::replace(&mut e.code.mask, kept);
        let next = if self.variant == Variant::CompactCount {
            e.code.count_lanes(at)
        } else {
            let mut results: Vec<(Leaf, Parts)> = Vec::new();
            if o.output.stored {
                results.extend(o.leaves[1..].iter().map(|&leaf| (leaf, e.vectors(leaf.value))));
            }
            if let Some(epilogue) = &self.kernel.epilogue {
                // The position is not used.
                let leaves = o.leaves[1..].iter().map(|leaf| e.scope.value(leaf.value));
                let args: Vec<Value> = [Value::Uniform(Operand::int(0))].into_iter().chain(leaves).collect();
                let values = e.inline(&epilogue.body, &args);
                for &(number, k, ty) in &self.after {
                    let leaf = Leaf { number, value: epilogue.body.region.results[k], ty };
                    results.push((leaf, values[k].clone()));
                }
            }
            e.code.compact(&results, at)
        };
        e.code.mask = outer;
        LoopState(vec![(next, "i64".to_string())])
    }

    /// The axis of the lanes.
    pub(crate) fn lane_axis(&self) -> usize {
        self.variant.axes(self.kernel.axes.len()).0
    }

    pub(crate) fn scans(&self) -> bool {
        matches!(self.kernel.axes.last(), Some(AxisKind::Scan(_)))
    }

    /// The prefix of a chunk, of a leaf.
    pub(crate) fn before(&self, e: &mut Emitter<'a>, leaf: Leaf) -> Operand {
        let bits = e.code.f.arg(KernelArg::CarryIn(leaf.number));
        e.code.f.scalar_of_bits(leaf.ty, &bits)
    }
}
