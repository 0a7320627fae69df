//! The loops around a body: rows, then steps of vectors along the lane axis.
//!
//! ```text
//! what depends on no axis
//! for each row
//!     what depends on outer axes alone; checks of indices for the whole row
//!     for each step of full vectors away from edges: the body
//!     for each other step: the body under a mask
//! ```
//!
//! What a step does with the elements is up to the [`Form`]; where lanes are rows that are folded or scanned, a step has
//! a loop along that axis inside.

use super::ending::Ending;
use super::steps::{Columns, State};
use super::text::{Operand, literal, put};
use super::turned::{PANEL, Visit, axis_turned};
use super::value::{Mask, Parts, V};
use super::{Emitter, Form, Level, SMALL, Word};
use crate::kernel::{Body, Edge, Ix, Kernel, Node, Op, Region, levels};
use acc_core::ir::{ArrayId, Val};
use std::collections::{HashMap, HashSet};

/// Vectors of a long body that are computed side by side.
const GROUP: usize = 2;

/// Vectors that few columns fit, of rows that lie across memory.
const FEW: usize = 2;

/// An axis where code is written.
#[derive(Clone, Debug)]
pub(super) enum Axis {
    /// The same index for all lanes.
    One(Operand),
    /// The index of the first lane of a step.
    Lanes(Operand),
}

/// That an index along a dimension of an array is in bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Bound {
    array: ArrayId,
    dim: usize,
    index: IndexKey,
}

/// An index by what it is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum IndexKey {
    Affine(u32, i64, i64, Option<Val>),
    At(Val),
}

impl Bound {
    fn of(array: ArrayId, dim: usize, ix: &Ix) -> Bound {
        let index = match *ix {
            Ix::Affine { axis, scale, offset, base } => IndexKey::Affine(axis, scale, offset, base),
            Ix::At(v) => IndexKey::At(v),
        };
        Bound { array, dim, index }
    }
}

/// What is known of indices before a step.
#[derive(Default)]
pub(super) struct Proven {
    /// In bounds for the whole row.
    rows: HashSet<Bound>,
    /// In bounds in steps away from edges.
    inner: HashSet<Bound>,
    /// Indices along outer axes, brought back from beyond an edge, in bounds.
    brought_back: HashMap<(Bound, Edge), Operand>,
}

impl<'a> Emitter<'a> {
    /// Whether an index is known to be in bounds for every lane that is on.
    pub(super) fn is_proven(&self, array: ArrayId, dim: usize, ix: &Ix) -> bool {
        let bound = Bound::of(array, dim, ix);
        self.proven.rows.contains(&bound) || (self.inner && self.proven.inner.contains(&bound))
    }

    /// The index that one beyond an edge stands for, where it is the same for the whole row.
    pub(super) fn brought_back(&self, array: ArrayId, dim: usize, ix: &Ix, edge: Edge) -> Option<Operand> {
        self.proven.brought_back.get(&(Bound::of(array, dim, ix), edge)).cloned()
    }

    /// Writes the function's loops.
    pub(super) fn nest(&mut self, kernel: &'a Kernel, form: Form, large: bool) {
        let (lane, along) = form.axes(kernel.axes.len());
        let params: Vec<Level> = (0..kernel.axes.len())
            .map(|k| if k == lane { Level::Linear(self.lane_step) } else { Level::One })
            .collect();
        self.levels = levels(self.body, &params);
        self.around = self.arounds();
        self.clamped = self.clamps();
        self.constants_of(self.body);
        let body = self.body;
        let stages = depths(&body.region, &|axis| match axis.cmp(&lane) {
            std::cmp::Ordering::Less => ROW,
            std::cmp::Ordering::Equal => STEP,
            std::cmp::Ordering::Greater => ALONG,
        });
        let of_stage = |s: usize| {
            let nodes = body.region.nodes.iter().zip(&stages).filter(move |(_, t)| **t == s);
            nodes.map(|(n, _)| n).collect::<Vec<&'a Node>>()
        };
        of_stage(LAUNCH).into_iter().for_each(|n| self.node(n));
        self.settle();

        let (next_row, done) = (self.w.label(), self.w.label());
        let turns = matches!(form, Form::Store { turned: true, .. } | Form::OwnLines);
        let turned = axis_turned(kernel).filter(|_| turns);
        let rows = match turned {
            Some(axis) if axis + 1 < lane => Rows::InBlocks(self.visit(kernel, axis)),
            Some(_) | None => self.rows_in_order(),
        };
        let row = self.w.block;
        let r = rows.row().clone();
        self.outer_axes(lane, kernel.axes.len(), &r);
        let (base, extent) = (self.word(Word::Base), self.word(Word::Extent(lane as u32)));
        let position = put!(self, "mul i64 {r}, {extent}");
        let position = put!(self, "sub i64 {position}, {base}");
        let mut finish = Ending::new(self, kernel, form, position);
        finish.progress(self, &Operand::text("%c0"));
        of_stage(ROW).into_iter().for_each(|n| self.node(n));
        self.settle();
        let (mut first, mut end) = (Operand::text("%c0"), Operand::text("%c1"));
        // What is read of columns, of which all or some are computed.
        let read = [first.clone(), self.columns_read(kernel, form, lane)];
        for n in of_stage(STEP).into_iter().chain(of_stage(ALONG)) {
            self.bounds(n, &|e, axis| match axis {
                _ if axis == lane => Some(read.clone()),
                _ if Some(axis) == along => Some([Operand::int(0), e.word(Word::Extent(axis as u32))]),
                _ => None,
            });
        }
        if let Some(axis) = turned {
            let begins = match &rows {
                Rows::InOrder { .. } => put!(self, "icmp eq i64 {r}, %r0"),
                Rows::InBlocks(visit) => visit.begins.clone(),
            };
            self.turn(of_stage(STEP).into_iter(), lane, axis, &read, &begins);
        }
        if let Some(size) = self.lines_of(kernel, form) {
            [first, end] = self.whole_lines(&finish.row.clone(), &extent, size);
        }
        let edges = self.inner_range(&body.region, lane, [&first, &end], &|axis| axis < lane);
        let edges = edges.or_else(|| self.line.is_some().then(|| (first.clone(), end.clone())));
        let (step, inside) = (of_stage(STEP), of_stage(ALONG));
        let [from, to] = self.counted([first, end]);
        let edges = edges.map(|(lo, hi)| self.counted([lo, hi]).into());
        let whole = form.is_along();
        // What lies across memory is walked once for all that is left of a row.
        let across = form == Form::Rows && kernel.lies_across();
        let rest = if whole || large || across { self.width.parts } else { 1 };
        let few = if across { FEW.min(rest) } else { rest };
        let columns = Columns { from, to, edges, once: large, whole, apart: finish.walks_apart(self), rest, few };
        let state = finish.begin(self);
        let mut write = |e: &mut Self, finish: &mut Ending<'a>, first: &Operand, state: State| {
            let first = &e.column(first);
            let exits = [e.decline, e.stop];
            if form.is_scatter() {
                (e.decline, e.stop) = (e.w.label(), e.w.label());
            }
            if form.is_along() {
                e.by_groups(&step, lane, first, &finish.leaves_taken());
            } else {
                e.at_column(lane, first.clone());
                step.iter().for_each(|n| e.node(n));
            }
            // Before anything is written: what is declined is run again, and may read what lies there now.
            e.settle();
            let state = finish.step(e, &inside, first, state);
            finish.note(e, first, exits);
            state
        };
        let state = if finish.by_blocks() {
            self.blocks(&columns, &mut finish, state, next_row, &mut write)
        } else {
            self.steps(&columns, state, next_row, &mut |e, first, state| write(e, &mut finish, first, state))
        };
        self.w.start(next_row);
        finish.end(self, state);
        match &rows {
            Rows::InOrder { before, mark, row: r } => {
                let next = put!(self, "add i64 {r}, 1");
                let more = put!(self, "icmp slt i64 {next}, %r1");
                let last = self.w.block;
                self.w.branch(&more, row, done);
                self.w.insert(*mark, &format!("  {r} = phi i64 [ %r0, {before} ], [ {next}, {last} ]\n"));
            }
            Rows::InBlocks(visit) => self.visit_next(visit, row, done, finish.cost * PANEL),
        }
        self.w.start(done);
        self.w.line(format_args!("ret i64 0"));
    }

    /// Binds the axis of lanes at a step whose first lane is at a column.
    fn at_column(&mut self, lane: usize, first: Operand) {
        self.axes[lane] = Axis::Lanes(first.clone());
        self.set(self.body.region.params[lane], V::Linear(first, self.lane_step));
    }

    /// Writes what a step computes, of a long body some vectors at a time: more of them would take registers of each other
    /// and gain nothing. What is asked for of it is put together.
    fn by_groups(&mut self, nodes: &[&'a Node], lane: usize, first: &Operand, asked: &[Val]) {
        let (parts, lanes) = (self.width.parts, self.width.lanes);
        let group = if nodes.len() > SMALL { GROUP } else { parts };
        if parts <= group {
            self.at_column(lane, first.clone());
            return nodes.iter().for_each(|n| self.node(n));
        }
        let mask = self.mask.clone();
        // What is computed elsewhere stays as it is: it is there for steps of other widths, too.
        let asked: Vec<Val> = asked.iter().copied().filter(|v| nodes.iter().any(|n| n.results.contains(v))).collect();
        let mut made = vec![Parts::new(); asked.len()];
        self.width.parts = group;
        for part in (0..parts).step_by(group) {
            let column = match part {
                0 => first.clone(),
                _ => put!(self, "add i64 {first}, {}", self.lane_step * (part * lanes) as i64),
            };
            self.at_column(lane, column);
            if let Mask::Lanes(m) = &mask {
                self.mask = Mask::Lanes(m[part..part + group].into());
            }
            nodes.iter().for_each(|n| self.node(n));
            for (all, &v) in made.iter_mut().zip(&asked) {
                all.extend(self.lanes(v));
            }
        }
        self.width.parts = parts;
        self.mask = mask;
        self.at_column(lane, first.clone());
        asked.iter().zip(made).for_each(|(&v, all)| self.set(v, V::Lanes(all)));
    }

    /// Starts a loop over the rows of the function.
    fn rows_in_order(&mut self) -> Rows {
        let (head, before) = (self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        Rows::InOrder { before, mark: self.w.mark(), row: self.w.promise() }
    }

    /// Columns as steps count them: from the right, if that is where they begin, column `c` is number `-1 - c`.
    fn counted(&mut self, [from, to]: [Operand; 2]) -> [Operand; 2] {
        if self.lane_step > 0 {
            return [from, to];
        }
        [to, from].map(|end| put!(self, "sub i64 0, {end}"))
    }

    /// The column of a number that steps count.
    fn column(&mut self, number: &Operand) -> Operand {
        if self.lane_step > 0 { number.clone() } else { put!(self, "xor i64 {number}, -1") }
    }

    /// Writes the constants of a body.
    pub(super) fn constants_of(&mut self, body: &Body) {
        for (v, l) in &body.consts {
            self.values[v.index()] = Some(V::One(Operand::text(literal(*l))));
        }
    }

    /// The indices along the axes around that of lanes at a row.
    pub(super) fn outer_index(&mut self, lane: usize, row: &Operand) -> Vec<Operand> {
        let mut rest = row.clone();
        let mut at = Vec::new();
        for axis in (0..lane).rev() {
            if axis == 0 {
                at.push(rest.clone());
                break;
            }
            let extent = self.word(Word::Extent(axis as u32));
            at.push(put!(self, "urem i64 {rest}, {extent}"));
            rest = put!(self, "udiv i64 {rest}, {extent}");
        }
        at.reverse();
        at
    }

    /// Binds the outer axes at a row.
    fn outer_axes(&mut self, lane: usize, rank: usize, row: &Operand) {
        let at = self.outer_index(lane, row);
        for (k, i) in at.iter().enumerate() {
            self.set(self.body.region.params[k], V::One(i.clone()));
        }
        self.axes = at.into_iter().map(Axis::One).collect();
        // Bound anew in every step.
        self.axes.push(Axis::Lanes(Operand::text("%c0")));
        self.axes.resize(rank, Axis::One(Operand::int(0)));
    }

    /// Whether everything that an index is made of is written already.
    pub(super) fn is_written(&self, base: Option<Val>) -> bool {
        base.is_none_or(|v| self.values[v.index()].is_some() && self.levels[v.index()] == Level::One)
    }

    /// Checks what a node of every point reads, as far as that can be done for all that follows. Axes that are not bound
    /// yet have `ranges`: the first index and the one after the last.
    pub(super) fn bounds(&mut self, n: &Node, ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>) {
        let (array, index) = match &n.op {
            Op::Load(l) if l.edge.is_none() => (l.array, &l.index),
            Op::Check { array, index } => (*array, index),
            _ => return,
        };
        for (dim, ix) in index.iter().enumerate() {
            if self.is_proven(array, dim, ix) {
                continue;
            }
            let ends = match *ix {
                Ix::At(v) if self.is_written(Some(v)) => vec![self.one(v)],
                Ix::Affine { axis, scale, offset, base } if self.is_written(base) => {
                    let base = base.map(|v| self.one(v));
                    match ranges(self, axis as usize) {
                        // In bounds at both ends, and so in between: the constants are small (`kernel::build`).
                        Some([first, end]) => {
                            let ends = [first, put!(self, "sub i64 {end}, 1")];
                            ends.iter().map(|at| self.affine(at, scale, offset, base.clone())).collect()
                        }
                        None => {
                            let (V::One(i) | V::Linear(i, _)) = self.index(ix) else { continue };
                            vec![i]
                        }
                    }
                }
                Ix::At(v) => match self.ends_of_sum(v, ranges) {
                    Some(ends) => ends.into(),
                    None => continue,
                },
                Ix::Affine { .. } => continue,
            };
            let extent = self.word(Word::ArrayExtent(array, dim as u32));
            for i in ends {
                let outside = put!(self, "icmp uge i64 {i}, {extent}");
                self.decline_if(&outside);
            }
            self.proven.rows.insert(Bound::of(array, dim, ix));
        }
    }

    /// The columns of a row between which no index reaches beyond an edge; none if nothing asks for edges. Indices
    /// along axes that are bound are brought back from edges for the whole row.
    pub(super) fn inner_range(
        &mut self,
        region: &Region,
        lane: usize,
        [from, to]: [&Operand; 2],
        is_bound: &dyn Fn(usize) -> bool,
    ) -> Option<(Operand, Operand)> {
        self.proven.inner.clear();
        self.proven.brought_back.clear();
        let mut wanted: Vec<(ArrayId, &[Ix], Option<Edge>)> = Vec::new();
        region.visit(0, &mut |n, _| match &n.op {
            Op::Load(l) if l.edge.is_some() => wanted.push((l.array, &l.index, l.edge)),
            Op::Inside { array, index } => wanted.push((*array, index, None)),
            _ => {}
        });
        let mut range: Option<(Operand, Operand)> = None;
        for (array, index, edge) in wanted {
            for (dim, ix) in index.iter().enumerate() {
                let Ix::Affine { axis, scale: 1, offset, base: None } = *ix else { continue };
                let bound = Bound::of(array, dim, ix);
                let extent = self.word(Word::ArrayExtent(array, dim as u32));
                match edge {
                    _ if axis as usize == lane => {
                        if !self.proven.inner.insert(bound) {
                            continue;
                        }
                        let (lo, hi) = range.take().unwrap_or_else(|| (from.clone(), to.clone()));
                        let first = -offset;
                        let end = put!(self, "sub i64 {extent}, {offset}");
                        range = Some((
                            put!(self, "call i64 @llvm.smax.i64(i64 {lo}, i64 {first})"),
                            put!(self, "call i64 @llvm.smin.i64(i64 {hi}, i64 {end})"),
                        ));
                    }
                    // Where there is no element, tiles say what to read.
                    Some(edge) if is_bound(axis as usize) && !self.proven.brought_back.contains_key(&(bound, edge)) => {
                        let V::One(i) = self.index(ix) else { continue };
                        let i = self.beyond_one(edge, "i64", "i1", &i, &extent);
                        let outside = put!(self, "icmp uge i64 {i}, {extent}");
                        self.decline_if(&outside);
                        self.proven.brought_back.insert((bound, edge), i);
                    }
                    Some(_) | None => {}
                }
            }
        }
        range
    }
}

/// The loop over the rows of a function: its phis, which stand at a mark, are written when it ends.
enum Rows {
    /// One after the other.
    InOrder { before: super::Label, mark: usize, row: Operand },
    /// See [`Visit`].
    InBlocks(Visit),
}

impl Rows {
    fn row(&self) -> &Operand {
        match self {
            Rows::InOrder { row, .. } => row,
            Rows::InBlocks(visit) => &visit.row,
        }
    }
}

/// The stages of rows: what is computed once, once a row, once a step, and in the loop inside a step.
const LAUNCH: usize = 0;
const ROW: usize = 1;
const STEP: usize = 2;
const ALONG: usize = 3;

/// The depth of each node of the outermost region: that of what it depends on, 0 if that is no axis.
pub(super) fn depths(region: &Region, of_axis: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let mut of: HashMap<Val, usize> = region.params.iter().enumerate().map(|(k, &p)| (p, of_axis(k))).collect();
    let mut depths = Vec::with_capacity(region.nodes.len());
    for n in &region.nodes {
        let mut depth = 0;
        uses(n, &of, of_axis, &mut depth);
        of.extend(n.results.iter().map(|&r| (r, depth)));
        depths.push(depth);
    }
    depths
}

/// Raises a depth to that of all that a node uses, inside its regions too. Values of the regions themselves have no
/// depth of their own.
fn uses(n: &Node, of: &HashMap<Val, usize>, axis: &dyn Fn(usize) -> usize, depth: &mut usize) {
    n.op.operands(&mut |v| *depth = (*depth).max(of.get(&v).copied().unwrap_or(0)));
    for i in n.op.index() {
        if let Ix::Affine { axis: a, .. } = i {
            *depth = (*depth).max(axis(*a as usize));
        }
    }
    for r in n.op.regions() {
        for n in &r.nodes {
            acc_core::grow_stack(|| uses(n, of, axis, depth));
        }
        for v in &r.results {
            *depth = (*depth).max(of.get(v).copied().unwrap_or(0));
        }
    }
}
