//! What becomes of the elements of a step: stored, folded, scanned.
//!
//! Folds and scans group as those of the tile executor do: see `tile::reduce` and `run::rows`.

use super::nest::{Axis, State};
use super::scatter::Combining;
use super::text::{Operand, element, literal, put, stored};
use super::value::{Parts, V};
use super::{Emitter, Form, Word};
use crate::kernel::{AxisKind, Finish, Kernel, Node, Output, region_cost};
use crate::tile::reduce;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Dir, PrimOp, Val};

/// What a form does with the elements, row by row and step by step.
pub(super) struct Ending<'a> {
    form: Form,
    kernel: &'a Kernel,
    /// Whether scans run from the right.
    right: bool,
    outs: Vec<Out<'a>>,
    /// The position of the row's first column, counted from the first element of the results' memory.
    row: Operand,
    cost: usize,
}

/// An output while code is written.
struct Out<'a> {
    output: &'a Output,
    leaves: Vec<Leaf>,
    known: Option<&'a [PrimOp]>,
}

/// A leaf of an output: its number over all outputs, and the value of the element body that it takes.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    pub number: u32,
    pub value: Val,
    pub ty: ScalarType,
}

impl Leaf {
    fn identity(self, op: PrimOp) -> Lit {
        Lit { ty: self.ty, bits: reduce::identity(op, self.ty) }
    }
}

impl<'a> Ending<'a> {
    pub(super) fn new(e: &mut Emitter<'a>, kernel: &'a Kernel, form: Form, row: &Operand, lane: usize) -> Ending<'a> {
        let mut number = 0;
        let mut outs = Vec::new();
        if form == Form::Scatter {
            e.word(Word::Progress);
        }
        for output in &kernel.outputs {
            let before = match output.finish {
                // Whether there is an element, and its target.
                Finish::Scatter { rank, .. } => 1 + rank as u32,
                Finish::Store | Finish::Fold { .. } | Finish::Scan { .. } => 0,
            };
            let leaves = kernel.element.region.results[output.values.clone()].iter().zip(0..).map(|(&value, k)| {
                let own = if k < before { 0 } else { number + k - before };
                Leaf { number: own, value, ty: kernel.element.ty(value) }
            });
            let leaves: Vec<Leaf> = leaves.collect();
            number += leaves.len() as u32 - before;
            outs.push(Out { output, leaves, known: output.finish.known() });
        }
        let (base, extent) = (e.word(Word::Base), e.word(Word::Extent(lane as u32)));
        let position = put!(e, "mul i64 {row}, {extent}");
        let row = put!(e, "sub i64 {position}, {base}");
        let combines = kernel.outputs.iter().filter_map(|o| o.finish.combine());
        let cost = combines.map(|c| region_cost(&c.region)).sum::<usize>() + region_cost(&kernel.element.region);
        let right = kernel.axes.last() == Some(&AxisKind::Scan(Dir::Right));
        Ending { form, kernel, right, outs, row, cost }
    }

    /// Notes how far elements are combined: up to a column of the row.
    pub(super) fn progress(&self, e: &mut Emitter<'a>, column: &Operand) {
        if self.form == Form::Scatter {
            let (place, row) = (e.word(Word::Progress), &self.row);
            let position = put!(e, "add i64 {row}, {column}");
            e.w.line(format_args!("store i64 {position}, ptr {place}, align 8"));
        }
    }

    /// What the steps of a row begin with.
    pub(super) fn begin(&mut self, e: &mut Emitter<'a>) -> State {
        let mut state = State::default();
        if matches!(self.form, Form::Store { .. } | Form::Rows | Form::Scatter) {
            return state;
        }
        for o in &self.outs {
            for (leaf, &op) in o.leaves.iter().zip(o.known.unwrap_or_default()) {
                let identity = literal(leaf.identity(op));
                if let Finish::Scan { .. } = o.output.finish {
                    state.0.push((Operand::text(identity), element(leaf.ty).to_string()));
                } else {
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
            Form::Store { .. } => {
                for (o, k) in self.leaves() {
                    let leaf = self.outs[o].leaves[k];
                    let parts = e.lanes(leaf.value);
                    self.store(e, leaf, &parts, first);
                }
                state
            }
            Form::Scatter => {
                self.scatter(e);
                state
            }
            Form::Chunk | Form::Totals => self.chunk(e, first, state),
            Form::Rows => {
                self.rows(e, along, first);
                state
            }
        }
    }

    /// What is left to do when the steps of a row are done.
    pub(super) fn end(&mut self, e: &mut Emitter<'a>, state: State) {
        let mut rest = state.0.into_iter().map(|(o, _)| o);
        for o in &self.outs {
            for (leaf, &op) in o.leaves.iter().zip(o.known.unwrap_or_default()) {
                let total = match o.output.finish {
                    _ if matches!(self.form, Form::Store { .. } | Form::Rows | Form::Scatter) => continue,
                    Finish::Scan { .. } => rest.next().unwrap_or_else(|| Operand::int(0)),
                    Finish::Fold { .. } | Finish::Store | Finish::Scatter { .. } => {
                        let parts: Parts = rest.by_ref().take(e.width.parts).collect();
                        e.collapse(op, leaf.ty, parts)
                    }
                };
                let to = e.word(Word::Total(leaf.number));
                let bits = e.bits_of(leaf.ty, &total);
                e.w.line(format_args!("store i64 {bits}, ptr {to}, align 8, !noalias !2"));
            }
        }
    }

    /// All leaves, as numbers of output and leaf.
    fn leaves(&self) -> Vec<(usize, usize)> {
        self.outs.iter().enumerate().flat_map(|(o, out)| (0..out.leaves.len()).map(move |k| (o, k))).collect()
    }

    /// Stores neighbours of a row.
    fn store(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, first: &Operand) {
        let (out, mem, row) = (e.word(Word::Out(leaf.number)), stored(leaf.ty), &self.row);
        let start = put!(e, "getelementptr {mem}, ptr {out}, i64 {row}");
        e.store(leaf.ty, parts, &start, first);
    }

    fn scatter(&self, e: &mut Emitter<'a>) {
        for o in &self.outs {
            let Finish::Scatter { combine, known, rank, .. } = &o.output.finish else { continue };
            let how = match known {
                Some(updates) => Combining::Known(updates),
                None => Combining::Body(combine),
            };
            let (index, leaves) = o.leaves[1..].split_at(*rank);
            e.scatter(o.leaves[0], index, leaves, &how);
        }
    }

    fn chunk(&self, e: &mut Emitter<'a>, first: &Operand, state: State) -> State {
        let mut before = state.0.into_iter();
        let mut after = State::default();
        for o in &self.outs {
            for (k, &leaf) in o.leaves.iter().enumerate() {
                let parts = e.lanes(leaf.value);
                match (&o.output.finish, o.known.map(|ops| ops[k])) {
                    (Finish::Fold { .. }, Some(op)) => {
                        for (part, x) in parts.iter().enumerate() {
                            let Some((acc, ty)) = before.next() else { continue };
                            after.0.push((e.accumulate(op, leaf.ty, part, &acc, x), ty));
                        }
                    }
                    (Finish::Scan { .. }, Some(op)) => {
                        let Some((carry, ty)) = before.next() else { continue };
                        let (scanned, carry) = e.scan(op, leaf.ty, &parts, carry);
                        after.0.push((carry, ty));
                        if self.form == Form::Chunk {
                            let bits = e.word(Word::Before(leaf.number));
                            let chunk = e.scalar_of(leaf.ty, &bits);
                            let chunk = e.splat(&chunk, element(leaf.ty));
                            let all = scanned
                                .iter()
                                .map(|x| e.operation(op, leaf.ty, e.shape(), &[chunk.clone(), x.clone()]));
                            let all = all.collect();
                            self.store(e, leaf, &all, first);
                        }
                    }
                    (Finish::Store, _) if self.form == Form::Chunk => self.store(e, leaf, &parts, first),
                    // What is not combined by a known operation is not compiled in this form.
                    _ => {}
                }
            }
        }
        after
    }

    /// Rows from one end to the other, one per lane.
    fn rows(&self, e: &mut Emitter<'a>, along: &[&'a Node], first: &Operand) {
        let axis = self.kernel.axes.len() - 1;
        let row = e.word(Word::Extent(axis as u32));
        let at = &self.row;
        // The lane of the first row, and what each row takes in the memory of an output.
        let position = put!(e, "add i64 {at}, {first}");
        let widths: Vec<Operand> = self.outs.iter().map(|o| self.width(e, o, &row)).collect();
        let mut state = State(vec![(Operand::int(0), "i64".to_string())]);
        for (o, width) in self.outs.iter().zip(&widths) {
            for (k, &leaf) in o.leaves.iter().enumerate() {
                let Some(start) = self.start(e, o, k) else { continue };
                if o.output.finish.has_init() && matches!(o.output.finish, Finish::Scan { .. }) {
                    let place = if self.right { row.clone() } else { Operand::int(0) };
                    self.store_in_rows(e, leaf, &start, &position, width, &place);
                }
                let ty = e.vector(leaf.ty);
                state.0.extend(start.into_iter().map(|x| (x, ty.clone())));
            }
        }
        let (head, exit, before) = (e.w.label(), e.w.label(), e.w.block);
        e.w.jump(head);
        e.w.start(head);
        let here = state.promised(e);
        let mark = e.w.mark();
        let (t, accs) = here.split();
        let index = if self.right {
            let last = put!(e, "sub i64 {row}, 1");
            put!(e, "sub i64 {last}, {t}")
        } else {
            t.clone()
        };
        e.axes[axis] = Axis::One(index.clone());
        e.set(e.body.region.params[axis], V::One(index.clone()));
        for n in along {
            e.node(n);
        }
        e.settle();
        let mut before_accs = accs.0.iter().map(|(o, _)| o.clone());
        let mut after: Vec<Parts> = Vec::new();
        for (o, width) in self.outs.iter().zip(&widths) {
            let elements: Vec<Parts> = o.leaves.iter().map(|l| e.lanes(l.value)).collect();
            let combined = match o.output.finish {
                Finish::Store | Finish::Scatter { .. } => elements,
                Finish::Fold { .. } | Finish::Scan { .. } => {
                    let accs: Vec<Parts> =
                        elements.iter().map(|x| before_accs.by_ref().take(x.len()).collect()).collect();
                    let next = self.combine(e, o, &t, &accs, &elements);
                    after.extend(next.iter().cloned());
                    next
                }
            };
            let place = match o.output.finish {
                Finish::Store => index.clone(),
                Finish::Scan { .. } if self.right => index.clone(),
                Finish::Scan { .. } => {
                    let lead = put!(e, "sub i64 {width}, {row}");
                    put!(e, "add i64 {index}, {lead}")
                }
                Finish::Fold { .. } | Finish::Scatter { .. } => continue,
            };
            for (&leaf, parts) in o.leaves.iter().zip(&combined) {
                self.store_in_rows(e, leaf, parts, &position, width, &place);
            }
        }
        e.tick(self.cost);
        let next = put!(e, "add i64 {t}, 1");
        let more = put!(e, "icmp slt i64 {next}, {row}");
        let last = e.w.block;
        e.w.branch(&more, head, exit);
        let types = accs.0.iter().map(|(_, ty)| ty.clone());
        let mut arrived = State(vec![(next, "i64".to_string())]);
        arrived.0.extend(after.iter().flatten().cloned().zip(types));
        here.arrive(e, mark, &[(state, before), (arrived, last)]);
        e.w.start(exit);
        let mut after = after.into_iter();
        for o in &self.outs {
            if let Finish::Fold { .. } = o.output.finish {
                for (&leaf, parts) in o.leaves.iter().zip(after.by_ref()) {
                    self.store(e, leaf, &parts, first);
                }
            } else if let Finish::Scan { .. } = o.output.finish {
                after.by_ref().take(o.leaves.len()).for_each(drop);
            }
        }
    }

    /// The elements of an output per row.
    fn width(&self, e: &mut Emitter<'a>, o: &Out<'a>, row: &Operand) -> Operand {
        match o.output.finish {
            Finish::Scan { .. } if o.output.finish.has_init() => put!(e, "add i64 {row}, 1"),
            Finish::Scan { .. } | Finish::Store => row.clone(),
            Finish::Fold { .. } | Finish::Scatter { .. } => Operand::int(1),
        }
    }

    /// What a leaf's fold or scan of a row begins with. Without an initial value that is the neutral element of a known
    /// operation; of others the first element takes its place.
    fn start(&self, e: &mut Emitter<'a>, o: &Out<'a>, k: usize) -> Option<Parts> {
        let leaf = o.leaves[k];
        let value = match o.output.finish {
            Finish::Store | Finish::Scatter { .. } => return None,
            Finish::Fold { init: true, .. } | Finish::Scan { init: true, .. } => {
                let bits = e.word(Word::Before(leaf.number));
                e.scalar_of(leaf.ty, &bits)
            }
            Finish::Fold { .. } | Finish::Scan { .. } => {
                let op = o.known.map(|ops| ops[k]);
                Operand::text(op.map_or("zeroinitializer".to_string(), |op| literal(leaf.identity(op))))
            }
        };
        let splat = e.splat(&value, element(leaf.ty));
        Some(smallvec::smallvec![splat; e.width.parts])
    }

    /// Combines elements, lane by lane, with what came before them; `t` is their number in the order of the row.
    fn combine(&self, e: &mut Emitter<'a>, o: &Out<'a>, t: &Operand, accs: &[Parts], xs: &[Parts]) -> Vec<Parts> {
        if let Some(ops) = o.known {
            let leaves = accs.iter().zip(xs).zip(ops.iter().zip(&o.leaves));
            return leaves
                .map(|((accs, xs), (&op, leaf))| {
                    let pairs = accs.iter().zip(xs);
                    pairs.map(|(a, x)| e.operation(op, leaf.ty, e.shape(), &[a.clone(), x.clone()])).collect()
                })
                .collect();
        }
        let Some(body) = o.output.finish.combine() else { return xs.to_vec() };
        let (left, right) = if self.right { (xs, accs) } else { (accs, xs) };
        let args: Vec<V> = left.iter().chain(right).map(|p| V::Lanes(p.clone())).collect();
        if o.output.finish.has_init() {
            return e.inline(body, &args);
        }
        let is_first = put!(e, "icmp eq i64 {t}, 0");
        let (rest, join, from) = (e.w.label(), e.w.label(), e.w.block);
        e.w.branch(&is_first, join, rest);
        e.w.start(rest);
        let combined = e.inline(body, &args);
        let last = e.w.block;
        e.w.jump(join);
        e.w.start(join);
        let leaves = o.leaves.iter().zip(xs.iter().zip(&combined));
        leaves
            .map(|(leaf, (xs, ys))| {
                let ty = e.vector(leaf.ty);
                xs.iter().zip(ys).map(|(x, y)| put!(e, "phi {ty} [ {x}, {from} ], [ {y}, {last} ]")).collect()
            })
            .collect()
    }

    /// Stores an element of each row, `place` elements from the row's start.
    fn store_in_rows(
        &self,
        e: &mut Emitter<'a>,
        leaf: Leaf,
        parts: &Parts,
        position: &Operand,
        width: &Operand,
        place: &Operand,
    ) {
        let out = e.word(Word::Out(leaf.number));
        let start = put!(e, "mul i64 {position}, {width}");
        let start = put!(e, "add i64 {start}, {place}");
        e.store_strided(leaf.ty, parts, &out, &start, width);
    }
}
