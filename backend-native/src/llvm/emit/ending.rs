//! What becomes of the elements of a step: stored, folded, scanned.
//!
//! Folds and scans group as those of the tile executor do: see `tile::reduce`, `run::rows::chunks` and `run::rows::scan`.

use super::scan::Carry;
use super::scatter::Combining;
use super::steps::State;
use super::text::{Label, Operand, element, literal, put, stored};
use super::tree::kept_elements;
use super::value::{Parts, Shape, V};
use super::{Emitter, Form, SMALL, Word};
use crate::kernel::{AxisKind, Finish, Kernel, Node, Output, region_cost};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Dir, PrimOp, Val};
use backend_native_lanes::reduce;

/// What a form does with the elements, row by row and step by step.
pub(super) struct Ending<'a> {
    pub form: Form,
    pub kernel: &'a Kernel,
    /// Whether scans run from the right.
    pub right: bool,
    pub outs: Vec<Out<'a>>,
    /// The results of the epilogue of scans: numbers over all outputs, positions in the body's results, types.
    pub after: Vec<(u32, usize, ScalarType)>,
    /// The first column of the block that is folded.
    pub block: Operand,
    /// The position of the row's first column, counted from the first element of the results' memory.
    pub row: Operand,
    pub cost: usize,
}

/// An output while code is written.
pub(super) struct Out<'a> {
    pub output: &'a Output,
    pub leaves: Vec<Leaf>,
    /// What it does to each leaf, if that is known.
    pub known: Option<&'a [PrimOp]>,
    /// Of a scan the leaf whose marks make it start afresh.
    pub mark: Option<usize>,
    /// Where the elements of a block are kept until they are combined, leaf by leaf: of folds with an operator of the user's.
    pub kept: Vec<Operand>,
}

/// A leaf of an output: its number over all outputs, and the value of the element body that it takes.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    pub number: u32,
    pub value: Val,
    pub ty: ScalarType,
}

impl Leaf {
    pub(super) fn identity(self, op: PrimOp) -> Lit {
        Lit { ty: self.ty, bits: reduce::identity(op, self.ty) }
    }
}

impl Out<'_> {
    pub(super) fn is_scan(&self) -> bool {
        matches!(self.output.finish, Finish::Scan { .. })
    }

    /// Whether steps hand on what an operator without a neutral element has combined.
    fn carries(&self) -> bool {
        self.known.is_none() && matches!(self.output.finish, Finish::Fold { .. } | Finish::Scan { .. })
    }

    pub(super) fn types(&self) -> Vec<ScalarType> {
        self.leaves.iter().map(|l| l.ty).collect()
    }

    /// Takes what is handed on from the state of a step.
    pub(super) fn carried(&self, state: &mut impl Iterator<Item = (Operand, String)>) -> Option<Carry> {
        let (there, _) = state.next()?;
        Some(Carry { there, leaves: state.take(self.leaves.len()).map(|(o, _)| o).collect() })
    }

    pub(super) fn carry(&self, e: &Emitter<'_>, next: Carry, state: &mut State) {
        state.0.push((next.there, "i1".to_string()));
        let leaves = next.leaves.into_iter().zip(&self.leaves);
        state.0.extend(leaves.map(|(o, leaf)| (o, e.vector(leaf.ty))));
    }
}

impl<'a> Ending<'a> {
    pub(super) fn new(e: &mut Emitter<'a>, kernel: &'a Kernel, form: Form, row: Operand) -> Ending<'a> {
        let mut number = 0;
        let mut outs = Vec::new();
        if form.is_scatter() {
            e.word(Word::Progress);
        }
        for output in &kernel.outputs {
            let before = output.finish.lead() as u32;
            let leaves = kernel.element.region.results[output.values.clone()].iter().zip(0..).map(|(&value, k)| {
                let own = if k < before { 0 } else { number + k - before };
                Leaf { number: own, value, ty: kernel.element.ty(value) }
            });
            let leaves: Vec<Leaf> = leaves.collect();
            number += leaves.len() as u32 - before;
            let restart = output.finish.restart();
            let known = output.finish.known().or_else(|| restart.map(|r| &r.ops[..]));
            let mut out = Out { output, leaves, known, mark: restart.map(|r| r.mark), kept: Vec::new() };
            if form.is_along() && out.carries() && !out.is_scan() {
                out.kept = out.leaves.iter().map(|l| e.memory(kept_elements(e.width.parts) * l.ty.size())).collect();
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
        let combines = kernel.outputs.iter().filter_map(|o| o.finish.combine());
        let cost = combines.map(|c| region_cost(&c.region)).sum::<usize>() + region_cost(&kernel.element.region);
        let right = kernel.axes.last() == Some(&AxisKind::Scan(Dir::Right));
        Ending { form, kernel, right, outs, after, block: Operand::int(0), row, cost }
    }

    /// Notes how far elements are combined: up to a column of the row.
    pub(super) fn progress(&self, e: &mut Emitter<'a>, column: &Operand) {
        if self.form.is_scatter() {
            let (place, row) = (e.word(Word::Progress), &self.row);
            let position = put!(e, "add i64 {row}, {column}");
            e.w.line(format_args!("store i64 {position}, ptr {place}, align 8"));
        }
    }

    /// Notes it where the step at a column, which is written, leaves the function: it went elsewhere than to these `exits`.
    pub(super) fn note(&self, e: &mut Emitter<'a>, column: &Operand, exits: [Label; 2]) {
        let own = [e.decline, e.stop];
        if own == exits {
            return;
        }
        let go_on = e.w.label();
        e.w.jump(go_on);
        for (from, to) in own.into_iter().zip(exits) {
            e.w.start(from);
            self.progress(e, column);
            e.w.jump(to);
        }
        e.w.start(go_on);
        [e.decline, e.stop] = exits;
    }

    /// Whether the vectors of a step are walked one after the other: where each has partial results of its own, which all
    /// together would take most registers.
    pub(super) fn walks_apart(&self, e: &Emitter<'_>) -> bool {
        let are_folds = self.outs.iter().all(|o| o.known.is_some() && matches!(o.output.finish, Finish::Fold { .. }));
        let partial = self.outs.iter().map(|o| o.leaves.len()).sum::<usize>() * e.width.parts;
        self.form.is_along() && are_folds && partial > e.target.registers() / 2 && e.body.region.nodes.len() > SMALL
    }

    /// Whether elements are kept, to be combined block by block.
    pub(super) fn by_blocks(&self) -> bool {
        self.outs.iter().any(|o| !o.kept.is_empty())
    }

    /// Combines so many elements that are kept.
    pub(super) fn end_block(&self, e: &mut Emitter<'a>, state: State, count: &Operand) -> State {
        let (mut before, mut after) = (state.0.into_iter(), State::default());
        for o in &self.outs {
            match &o.output.finish {
                Finish::Fold { combine, .. } if !o.kept.is_empty() => {
                    let Some(carry) = o.carried(&mut before) else { continue };
                    let next = e.reduce_by(combine, &o.types(), &o.kept, &carry, count);
                    o.carry(e, next, &mut after);
                }
                _ => after.0.extend(before.by_ref().take(self.carried_by(e, o))),
            }
        }
        after
    }

    /// How many values steps hand on for an output.
    pub(super) fn carried_by(&self, e: &Emitter<'a>, o: &Out<'a>) -> usize {
        let each = usize::from(self.follows(o)) + if self.sums_up(o) { e.width.parts } else { 0 };
        if o.carries() { 1 + o.leaves.len() } else { o.known.map_or(0, |ops| ops.len() * each) }
    }

    /// What the steps of a row begin with.
    pub(super) fn begin(&mut self, e: &mut Emitter<'a>) -> State {
        let mut state = State::default();
        if matches!(self.form, Form::Count | Form::Compact) {
            return State(vec![(Operand::int(0), "i64".to_string())]);
        }
        let is_stateless = matches!(self.form, Form::Store { .. } | Form::OwnLines | Form::Located | Form::Rows)
            || matches!(self.form, Form::Scheduled | Form::Patches);
        if is_stateless || self.form.is_scatter() {
            return state;
        }
        for o in &self.outs {
            if o.carries() {
                state.0.push((Operand::text("false"), "i1".to_string()));
                for leaf in &o.leaves {
                    state.0.push((Operand::text("zeroinitializer"), e.vector(leaf.ty)));
                }
            }
            for (leaf, &op) in o.leaves.iter().zip(o.known.unwrap_or_default()) {
                let identity = literal(leaf.identity(op));
                if self.follows(o) {
                    state.0.push((Operand::text(identity.clone()), element(leaf.ty).to_string()));
                }
                if self.sums_up(o) {
                    let constant = e.constant(e.shape(), element(leaf.ty), &identity);
                    state.0.extend(vec![(constant, e.vector(leaf.ty)); e.width.parts]);
                }
            }
        }
        state
    }

    /// A step whose first lane is at column `first`; the nodes of the element body that are outside of an inner loop are
    /// written.
    pub(super) fn step(&mut self, e: &mut Emitter<'a>, along: &[&'a Node], first: &Operand, state: State) -> State {
        match self.form {
            Form::Store { .. } | Form::OwnLines | Form::Located => {
                for (o, k) in self.leaves() {
                    let leaf = self.outs[o].leaves[k];
                    let parts = e.lanes(leaf.value);
                    self.store(e, leaf, &parts, first);
                }
                state
            }
            Form::Scatter | Form::Records => {
                self.scatter(e);
                state
            }
            Form::Chunk { .. } | Form::Totals | Form::Whole => self.chunk(e, first, state),
            Form::Count | Form::Compact => self.kept(e, state),
            Form::Rows => {
                self.rows(e, along, first);
                state
            }
            // Their loops are written elsewhere.
            Form::Scheduled | Form::Patches => state,
        }
    }

    /// What is left to do when the steps of a row are done.
    pub(super) fn end(&mut self, e: &mut Emitter<'a>, state: State) {
        let mut rest = state.0.into_iter().map(|(o, _)| o);
        if self.form == Form::Count
            && let Some(count) = rest.next()
        {
            let to = e.word(Word::Total(0));
            e.w.line(format_args!("store i64 {count}, ptr {to}, align 8, !noalias !2"));
        }
        for o in &self.outs {
            let mut totals: Vec<Operand> = Vec::new();
            if o.carries() && self.form.is_along() {
                rest.next();
                for (leaf, total) in o.leaves.iter().zip(rest.by_ref().take(o.leaves.len())) {
                    let t = e.vector(leaf.ty);
                    totals.push(put!(e, "extractelement {t} {total}, i64 0"));
                }
            }
            for (leaf, &op) in o.leaves.iter().zip(o.known.unwrap_or_default()) {
                if !self.form.is_along() {
                    continue;
                }
                let carry = if self.follows(o) { rest.next() } else { None };
                if self.sums_up(o) {
                    let parts: Parts = rest.by_ref().take(e.width.parts).collect();
                    totals.push(e.collapse(op, leaf.ty, parts));
                } else {
                    totals.extend(carry);
                }
            }
            if self.form == Form::Whole {
                self.fold(e, o, totals);
                if o.is_scan() && o.output.stored && o.output.finish.has_init() {
                    self.store_init(e, o);
                }
            } else {
                o.leaves.iter().zip(&totals).for_each(|(leaf, total)| self.total(e, *leaf, total));
            }
        }
    }

    /// Stores the result of a row's fold: its total after the initial value.
    fn fold(&self, e: &mut Emitter<'a>, o: &Out<'a>, mut totals: Vec<Operand>) {
        let Finish::Fold { combine, init, .. } = &o.output.finish else { return };
        if *init {
            let before: Vec<Operand> = o.leaves.iter().map(|l| self.before(e, *l)).collect();
            totals = match o.known {
                Some(ops) => {
                    let leaves = ops.iter().zip(&o.leaves).zip(before.into_iter().zip(totals));
                    leaves.map(|((&op, leaf), (a, b))| e.operation(op, leaf.ty, Shape::One, &[a, b])).collect()
                }
                None => {
                    let args: Vec<V> = before.into_iter().chain(totals).map(V::One).collect();
                    e.inline_one(combine, &args)
                }
            };
        }
        let extent = e.word(Word::Extent(self.kernel.axes.len() as u32 - 1));
        let row = put!(e, "udiv i64 {}, {extent}", self.row);
        for (leaf, total) in o.leaves.iter().zip(&totals) {
            let (out, mem) = (e.word(Word::Out(leaf.number)), stored(leaf.ty));
            let to = put!(e, "getelementptr {mem}, ptr {out}, i64 {row}");
            let total = if leaf.ty == ScalarType::Bool { put!(e, "zext i1 {total} to i8") } else { total.clone() };
            e.w.line(format_args!("store {mem} {total}, ptr {to}, align {}, !noalias !2", leaf.ty.size()));
        }
    }

    /// Notes the total of a chunk.
    fn total(&self, e: &mut Emitter<'a>, leaf: Leaf, total: &Operand) {
        let to = e.word(Word::Total(leaf.number));
        let bits = e.bits_of(leaf.ty, total);
        e.w.line(format_args!("store i64 {bits}, ptr {to}, align 8, !noalias !2"));
    }

    /// All leaves, as numbers of output and leaf.
    pub(super) fn leaves(&self) -> Vec<(usize, usize)> {
        self.outs.iter().enumerate().flat_map(|(o, out)| (0..out.leaves.len()).map(move |k| (o, k))).collect()
    }

    /// The values of the element body that the leaves take.
    pub(super) fn leaves_taken(&self) -> Vec<Val> {
        self.outs.iter().flat_map(|o| o.leaves.iter().map(|l| l.value)).collect()
    }

    /// Stores neighbours of a row.
    pub(super) fn store(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, first: &Operand) {
        self.store_in(e, leaf, parts, &self.row, first);
    }

    /// The same of the row whose first column is at a position.
    pub(super) fn store_in(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, row: &Operand, first: &Operand) {
        let (out, mem) = (e.word(Word::Out(leaf.number)), stored(leaf.ty));
        let start = put!(e, "getelementptr {mem}, ptr {out}, i64 {row}");
        e.store(leaf.ty, parts, &start, first);
    }

    fn scatter(&self, e: &mut Emitter<'a>) {
        for o in &self.outs {
            let Finish::Scatter { combine, known, rank, .. } = &o.output.finish else { continue };
            let record = self.kernel.record().filter(|_| self.form == Form::Records);
            let how = match (record, known) {
                (Some(record), _) => Combining::Record(record),
                (None, Some(updates)) => Combining::Known(updates),
                (None, None) => Combining::Body(combine),
            };
            let (index, leaves) = o.leaves[1..].split_at(*rank);
            e.scatter(o.leaves[0], index, leaves, &how);
        }
    }

    /// Counts or stores the elements that are kept.
    fn kept(&self, e: &mut Emitter<'a>, state: State) -> State {
        let (at, _) = state.split();
        let Some(o) = self.outs.first() else { return state };
        let kept = e.kept(o.leaves[0]);
        let outer = std::mem::replace(&mut e.mask, kept);
        let next = if self.form == Form::Count {
            e.count_lanes(at)
        } else {
            let mut results: Vec<(Leaf, Parts)> = Vec::new();
            if o.output.stored {
                results.extend(o.leaves[1..].iter().map(|&leaf| (leaf, e.lanes(leaf.value))));
            }
            if let Some(epilogue) = &self.kernel.epilogue {
                // The place is not asked for.
                let leaves = o.leaves[1..].iter().map(|leaf| e.value(leaf.value));
                let args: Vec<V> = [V::One(Operand::int(0))].into_iter().chain(leaves).collect();
                let values = e.inline(&epilogue.body, &args);
                for &(number, k, ty) in &self.after {
                    let leaf = Leaf { number, value: epilogue.body.region.results[k], ty };
                    results.push((leaf, values[k].clone()));
                }
            }
            e.compact(&results, at)
        };
        e.mask = outer;
        State(vec![(next, "i64".to_string())])
    }

    pub(super) fn scans(&self) -> bool {
        matches!(self.kernel.axes.last(), Some(AxisKind::Scan(_)))
    }

    /// What comes before a chunk, of a leaf.
    pub(super) fn before(&self, e: &mut Emitter<'a>, leaf: Leaf) -> Operand {
        let bits = e.word(Word::Before(leaf.number));
        e.scalar_of(leaf.ty, &bits)
    }
}
