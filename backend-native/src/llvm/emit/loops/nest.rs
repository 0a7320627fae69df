//! The loops around a body: rows, then steps of vectors along the lane axis.
//!
//! ```text
//!     loop-invariant nodes
//!     for each row
//!         nodes that depend on outer axes alone; checks of indices for the whole row
//!         for each step of full vectors away from boundaries: the body
//!         for each other step: the body under a mask
//! ```
//!
//! What a step does with the elements is up to the [`Variant`]; where lanes are rows that are folded or scanned, a step
//! contains a loop along that axis.

use crate::kernel::access::Sum;
use crate::kernel::{Body, Edge, Ix, Kernel, KernelOp, Node, Op, OpExt as _, Region};
use crate::llvm::emit::access::transposed_load::{BlockedRows, MAX_PANEL_COLUMNS, transposed_axis};
use crate::llvm::emit::access::unaligned_streaming;
use crate::llvm::emit::loops::loop_state::{Columns, LoopState};
use crate::llvm::emit::scope::Scope;
use crate::llvm::emit::sinks::sink::SinkEmitter;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, literal, put};
use crate::llvm::emit::{Emitter, KernelArg, MAX_SMALL_BODY_NODES, Uniformity, Variant};
use acc_core::ir::{ArrayId, Val};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

/// Vectors of a long body that are computed side by side: more would compete for registers.
const VECTORS_PER_GROUP: usize = 2;

/// Vectors of a narrow step at the end of rows that lie across memory.
const MAX_NARROW_REST_VECTORS: usize = 2;

/// How an axis is bound at this point of the code.
#[derive(Clone, Debug)]
pub(crate) enum Axis {
    /// The same index for all lanes.
    Uniform(Operand),
    /// The index of the step's first lane.
    Lanes(Operand),
}

/// An index along a dimension of an array, to be looked up among the proven ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Bound {
    array: ArrayId,
    dim: usize,
    index: Ix,
}

impl Bound {
    pub(crate) fn new(array: ArrayId, dim: usize, index: Ix) -> Bound {
        Bound { array, dim, index }
    }
}

/// What is known of indices before a step.
#[derive(Default)]
pub(crate) struct Proven {
    /// In bounds for the whole row.
    rows: HashSet<Bound>,
    /// In bounds in steps away from boundaries.
    inner: HashSet<Bound>,
    /// Indices along outer axes, corrected at a boundary.
    brought_back: HashMap<(Bound, Edge), Operand>,
}

impl Proven {
    /// Takes indices for proven; returns those that were not.
    pub(crate) fn assume(&mut self, bounds: Vec<Bound>) -> Vec<Bound> {
        bounds.into_iter().filter(|b| self.rows.insert(*b)).collect()
    }

    /// Takes these for proven no longer.
    pub(crate) fn forget(&mut self, bounds: &[Bound]) {
        bounds.iter().for_each(|b| _ = self.rows.remove(b));
    }
}

impl<'a> Emitter<'a> {
    /// Whether an index is known to be in bounds for every active lane.
    pub(crate) fn is_proven(&self, array: ArrayId, dim: usize, ix: &Ix) -> bool {
        let bound = Bound { array, dim, index: *ix };
        self.scope.proven.rows.contains(&bound) || (self.code.inner && self.scope.proven.inner.contains(&bound))
    }

    /// The same of all dimensions.
    pub(crate) fn are_proven(&self, array: ArrayId, index: &[Ix]) -> bool {
        index.iter().enumerate().all(|(dim, ix)| self.is_proven(array, dim, ix))
    }

    /// Writes the function's loops.
    pub(crate) fn nest(&mut self, kernel: &'a Kernel, variant: Variant, large: bool) {
        let (lane, along) = variant.axes(kernel.axes.len());
        let params: Vec<Uniformity> = (0..kernel.axes.len())
            .map(|k| if k == lane { Uniformity::Affine(self.code.lane_step) } else { Uniformity::Uniform })
            .collect();
        self.facts.vary(&params);
        self.facts.lane = (self.code.lane_step == 1).then_some(lane);
        self.facts.deferred = self.facts.deferred_remainders();
        self.scope.bind_constants(self.facts.body);
        let body = self.facts.body;
        let stages = depths(&body.region, &|axis| match axis.cmp(&lane) {
            std::cmp::Ordering::Less => STAGE_ROW,
            std::cmp::Ordering::Equal => STAGE_STEP,
            std::cmp::Ordering::Greater => STAGE_INNER,
        });
        let of_stage = |s: usize| {
            let nodes = body.region.nodes.iter().zip(&stages).filter(move |(_, t)| **t == s);
            nodes.map(|(n, _)| n).collect::<Vec<&'a Node>>()
        };
        of_stage(STAGE_LAUNCH).into_iter().for_each(|n| self.node(n));
        self.code.bail_out_on_fault();

        let (next_row, done) = (self.code.f.w.label(), self.code.f.w.label());
        let transposes = matches!(variant, Variant::Store { transposed: true, .. } | Variant::UnalignedStreaming);
        let transposed = transposed_axis(kernel).filter(|_| transposes);
        let rows = match transposed {
            Some(axis) if axis + 1 < lane => Rows::InBlocks(self.code.f.begin_blocked_rows(kernel, axis)),
            Some(_) | None => self.code.f.rows_in_order(lane),
        };
        let row = self.code.f.w.block;
        let r = rows.row().clone();
        let at = match &rows {
            Rows::InOrder(rows) => rows.at.clone(),
            Rows::InBlocks(visit) => self.code.f.outer_index(lane, &visit.row),
        };
        self.outer_axes(kernel.axes.len(), at);
        let (base, extent) = (self.code.f.arg(KernelArg::OutputStart), self.code.f.arg(KernelArg::Extent(lane as u32)));
        let position = put!(self.code.f, "mul i64 {r}, {extent}");
        let position = put!(self.code.f, "sub i64 {position}, {base}");
        let mut sinks = SinkEmitter::new(self, kernel, variant, position);
        sinks.begin_row(self);
        of_stage(STAGE_ROW).into_iter().for_each(|n| self.node(n));
        self.code.bail_out_on_fault();
        let (mut first, mut end) = (Operand::text("%c0"), Operand::text("%c1"));
        // Loads may cover more columns than are computed.
        let read = [first.clone(), self.code.f.columns_loaded(kernel, variant, lane)];
        for n in of_stage(STAGE_STEP).into_iter().chain(of_stage(STAGE_INNER)) {
            self.prove_in_bounds(n, &|e, axis| match axis {
                _ if axis == lane => Some(read.clone()),
                _ if Some(axis) == along => Some([Operand::int(0), e.code.f.arg(KernelArg::Extent(axis as u32))]),
                _ => None,
            });
        }
        self.scope.guarded.clear();
        for n in of_stage(STAGE_STEP) {
            self.guard(n, lane, [&first, &end]);
        }
        if let Some(axis) = transposed {
            let begins = match &rows {
                Rows::InOrder(_) => put!(self.code.f, "icmp eq i64 {r}, %r0"),
                Rows::InBlocks(visit) => visit.begins.clone(),
            };
            self.transpose_loads(of_stage(STAGE_STEP).into_iter(), lane, axis, &read, &begins);
        }
        if let Some(size) = unaligned_streaming::unaligned_element_size(kernel, variant) {
            [first, end] = self.whole_line_columns(&sinks.row.clone(), &extent, size);
        }
        let edges = self.boundary_free_columns(&body.region, lane, [&first, &end], &|axis| axis < lane);
        let edges = edges.or_else(|| self.hints.line.is_some().then(|| (first.clone(), end.clone())));
        let (step, inside) = (of_stage(STAGE_STEP), of_stage(STAGE_INNER));
        let [from, to] = self.code.step_numbers([first, end]);
        sinks.start = from.clone();
        let edges = edges.map(|(lo, hi)| self.code.step_numbers([lo, hi]).into());
        let whole = variant.is_along();
        // Rows that lie across memory are walked once for all remaining columns.
        let across = variant == Variant::RowLanes && kernel.is_column_major();
        let rest = if whole || large || across { self.code.width.parts } else { 1 };
        let few = if across { MAX_NARROW_REST_VECTORS.min(rest) } else { rest };
        let columns =
            Columns { from, to, edges, once: large, whole, by_vector: sinks.steps_by_vector(self), rest, few };
        let state = sinks.begin(self);
        let mut write = |e: &mut Self, sinks: &mut SinkEmitter<'a>, first: &Operand, state: LoopState| {
            let first = &e.code.column(first);
            sinks.resumable(e, first, |sinks, e| {
                if variant.is_along() {
                    e.write_in_groups(&step, lane, first, &sinks.leaves_taken());
                } else {
                    e.at_column(lane, first.clone());
                    step.iter().for_each(|n| e.node(n));
                }
                // Before anything is stored: after a bail-out the step runs again, and may read these elements.
                e.code.bail_out_on_fault();
                sinks.step(e, &inside, first, state)
            })
        };
        let state = self.blocks(&sinks.blocks(), &columns, &mut sinks, state, next_row, &mut write);
        self.code.f.w.start(next_row);
        sinks.end(self, state);
        match &rows {
            Rows::InOrder(rows) => self.code.f.next_row(rows, row, done),
            Rows::InBlocks(visit) => self.code.next_blocked_row(visit, row, done, sinks.cost * MAX_PANEL_COLUMNS),
        }
        self.code.f.w.start(done);
        self.code.f.w.line(format_args!("ret i64 0"));
    }

    /// Binds the lane axis in a step whose first lane is at a column.
    pub(crate) fn at_column(&mut self, lane: usize, first: Operand) {
        self.scope.axes[lane] = Axis::Lanes(first.clone());
        self.scope.set(self.facts.body.region.params[lane], Value::Affine(first, self.code.lane_step));
    }

    /// Writes the nodes of a step, of a long body a few vectors at a time, and puts the vectors of the `asked` values
    /// together.
    fn write_in_groups(&mut self, nodes: &[&'a Node], lane: usize, first: &Operand, asked: &[Val]) {
        let (parts, lanes) = (self.code.width.parts, self.code.width.lanes);
        let group = if nodes.len() > MAX_SMALL_BODY_NODES { VECTORS_PER_GROUP } else { parts };
        if parts <= group {
            self.at_column(lane, first.clone());
            return nodes.iter().for_each(|n| self.node(n));
        }
        let mask = self.code.mask.clone();
        // Values of other stages keep their vectors, which steps of other widths need.
        let asked: Vec<Val> = asked.iter().copied().filter(|v| nodes.iter().any(|n| n.results.contains(v))).collect();
        let mut made = vec![Parts::new(); asked.len()];
        self.code.width.parts = group;
        for part in (0..parts).step_by(group) {
            let column = match part {
                0 => first.clone(),
                _ => put!(self.code.f, "add i64 {first}, {}", self.code.lane_step * (part * lanes) as i64),
            };
            self.at_column(lane, column);
            if let Mask::Lanes(m) = &mask {
                self.code.mask = Mask::Lanes(m[part..part + group].into());
            }
            nodes.iter().for_each(|n| self.node(n));
            for (all, &v) in made.iter_mut().zip(&asked) {
                all.extend(self.vectors(v));
            }
        }
        self.code.width.parts = parts;
        self.code.mask = mask;
        self.at_column(lane, first.clone());
        asked.iter().zip(made).for_each(|(&v, all)| self.scope.set(v, Value::Varying(all)));
    }

    /// Binds the outer axes for a row with these indices.
    fn outer_axes(&mut self, rank: usize, at: Vec<Operand>) {
        for (k, i) in at.iter().enumerate() {
            self.scope.set(self.facts.body.region.params[k], Value::Uniform(i.clone()));
        }
        self.scope.axes = at.into_iter().map(Axis::Uniform).collect();
        // Bound anew in every step.
        self.scope.axes.push(Axis::Lanes(Operand::text("%c0")));
        self.scope.axes.resize(rank, Axis::Uniform(Operand::int(0)));
    }

    /// Whether the base of an index is computed already, and uniform.
    pub(crate) fn is_written(&self, base: Option<Val>) -> bool {
        base.is_none_or(|v| {
            self.scope.values[v.index()].is_some() && self.facts.uniformities[v.index()] == Uniformity::Uniform
        })
    }

    /// Whether all values of a sum are.
    pub(crate) fn is_known(&self, sum: &Sum) -> bool {
        sum.terms.iter().all(|(v, _)| self.is_written(Some(*v)))
    }

    /// Checks the indices of a node once for all following points, as far as possible. Axes that are not bound yet have
    /// `ranges`: the first index and the one after the last.
    pub(crate) fn prove_in_bounds(&mut self, n: &Node, ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>) {
        let (array, index) = match &n.op {
            Op::Index(l) if l.edge.is_none() => (l.array, &l.index),
            Op::Own(KernelOp::Check { array, index }) => (*array, index),
            _ => return,
        };
        for (dim, ix) in index.iter().enumerate() {
            if self.is_proven(array, dim, ix) {
                continue;
            }
            let Some(ends) = self.ends_of(ix, ranges) else { continue };
            self.bail_out_beyond(array, dim, ends);
            self.scope.proven.rows.insert(Bound { array, dim, index: *ix });
        }
    }

    /// Bails out if one of these indices is out of bounds.
    pub(crate) fn bail_out_beyond(&mut self, array: ArrayId, dim: usize, indices: SmallVec<[Operand; 2]>) {
        let extent = self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32));
        for i in indices {
            let outside = put!(self.code.f, "icmp uge i64 {i}, {extent}");
            self.code.f.bail_out_if(&outside);
        }
    }

    /// Values of an index that lie in a range if all do; none if it is not affine, or not known yet. Axes that are not bound
    /// yet have `ranges`: the first index and the one after the last.
    pub(crate) fn ends_of(
        &mut self,
        ix: &Ix,
        ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>,
    ) -> Option<SmallVec<[Operand; 2]>> {
        Some(match *ix {
            Ix::At(v) if self.is_written(Some(v)) => smallvec![self.scope.scalar(v)],
            Ix::Affine { axis, scale, offset, base } if self.is_written(base) => {
                let base = base.map(|v| self.scope.scalar(v));
                match ranges(self, axis as usize) {
                    // Both ends in bounds, so all in between: the constants are small (`kernel::build`).
                    Some([first, end]) => {
                        let ends = [first, put!(self.code.f, "sub i64 {end}, 1")];
                        ends.iter().map(|at| self.code.f.affine(at, scale, offset, base.clone())).collect()
                    }
                    None => {
                        let (Value::Uniform(i) | Value::Affine(i, _)) = self.index(ix) else { return None };
                        smallvec![i]
                    }
                }
            }
            Ix::At(v) => SmallVec::from(self.bounds_of_affine(v, ranges)?),
            Ix::Affine { .. } => return None,
        })
    }

    /// The columns of a row in which no index crosses a boundary; none if there are no boundaries. Indices along bound
    /// axes are corrected for the whole row.
    pub(crate) fn boundary_free_columns(
        &mut self,
        region: &Region,
        lane: usize,
        [from, to]: [&Operand; 2],
        is_bound: &dyn Fn(usize) -> bool,
    ) -> Option<(Operand, Operand)> {
        self.scope.proven.inner.clear();
        self.scope.proven.brought_back.clear();
        let mut wanted: Vec<(ArrayId, &[Ix], Option<Edge>)> = Vec::new();
        region.visit(0, &mut |n, _| match &n.op {
            Op::Index(l) if l.edge.is_some() => wanted.push((l.array, &l.index, l.edge)),
            Op::Own(KernelOp::Inside { array, index }) => wanted.push((*array, index, None)),
            _ => {}
        });
        let mut range: Option<(Operand, Operand)> = None;
        for (array, index, edge) in wanted {
            for (dim, ix) in index.iter().enumerate() {
                let Ix::Affine { axis, scale: 1, offset, base: None } = *ix else { continue };
                let bound = Bound { array, dim, index: *ix };
                let extent = self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32));
                match edge {
                    _ if axis as usize == lane => {
                        if !self.scope.proven.inner.insert(bound) {
                            continue;
                        }
                        let (lo, hi) = range.take().unwrap_or_else(|| (from.clone(), to.clone()));
                        let first = -offset;
                        let end = put!(self.code.f, "sub i64 {extent}, {offset}");
                        range = Some((
                            put!(self.code.f, "call i64 @llvm.smax.i64(i64 {lo}, i64 {first})"),
                            put!(self.code.f, "call i64 @llvm.smin.i64(i64 {hi}, i64 {end})"),
                        ));
                    }
                    // Without elements there is nothing to read: tiles decide.
                    Some(edge)
                        if is_bound(axis as usize) && !self.scope.proven.brought_back.contains_key(&(bound, edge)) =>
                    {
                        let Value::Uniform(i) = self.index(ix) else { continue };
                        let i = self.code.boundary_operand(edge, "i64", "i1", &i, &extent);
                        let outside = put!(self.code.f, "icmp uge i64 {i}, {extent}");
                        self.code.f.bail_out_if(&outside);
                        self.scope.proven.brought_back.insert((bound, edge), i);
                    }
                    Some(_) | None => {}
                }
            }
        }
        range
    }
}

impl Scope {
    /// The corrected index, where it is the same for the whole row.
    pub(crate) fn boundary_in_row(&self, array: ArrayId, dim: usize, ix: &Ix, edge: Edge) -> Option<Operand> {
        self.proven.brought_back.get(&(Bound { array, dim, index: *ix }, edge)).cloned()
    }

    /// Binds the constants of a body.
    pub(crate) fn bind_constants(&mut self, body: &Body) {
        for (v, l) in &body.consts {
            self.values[v.index()] = Some(Value::Uniform(Operand::text(literal(*l))));
        }
    }
}

impl Function {
    /// Starts a loop over the rows of the function, which have `lane` axes outside.
    fn rows_in_order(&mut self, lane: usize) -> Rows {
        let first = self.outer_index(lane, &Operand::text("%r0"));
        let (head, before) = (self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let at = first.iter().map(|_| self.w.reserve_register()).collect();
        Rows::InOrder(InOrder { before, mark: self.w.position(), row: self.w.reserve_register(), first, at })
    }

    /// Goes on with the next row: its indices are counted up, since divisions would take as long as short rows.
    fn next_row(&mut self, rows: &InOrder, head: Label, done: Label) {
        let next = put!(self, "add i64 {}, 1", rows.row);
        let mut phis = format!("  {} = phi i64 [ %r0, {} ], [ {next}, {} ]\n", rows.row, rows.before, self.w.block);
        let last = self.w.block;
        let mut carry = Operand::int(1);
        for (axis, (at, first)) in rows.at.iter().zip(&rows.first).enumerate().rev() {
            let mut index = put!(self, "add i64 {at}, {carry}");
            if axis > 0 {
                let extent = self.arg(KernelArg::Extent(axis as u32));
                let ends = put!(self, "icmp eq i64 {index}, {extent}");
                carry = put!(self, "zext i1 {ends} to i64");
                index = put!(self, "select i1 {ends}, i64 0, i64 {index}");
            }
            phis += &format!("  {at} = phi i64 [ {first}, {} ], [ {index}, {last} ]\n", rows.before);
        }
        let more = put!(self, "icmp slt i64 {next}, %r1");
        self.w.branch(&more, head, done);
        self.w.insert(rows.mark, &phis);
    }

    /// The indices along the axes outside of the lane axis, for a row.
    pub(crate) fn outer_index(&mut self, lane: usize, row: &Operand) -> Vec<Operand> {
        let mut rest = row.clone();
        let mut at = Vec::new();
        for axis in (0..lane).rev() {
            if axis == 0 {
                at.push(rest.clone());
                break;
            }
            let extent = self.arg(KernelArg::Extent(axis as u32));
            at.push(put!(self, "urem i64 {rest}, {extent}"));
            rest = put!(self, "udiv i64 {rest}, {extent}");
        }
        at.reverse();
        at
    }
}

impl VectorCode {
    /// Columns in the order of steps: for scans from the right, column `c` is number `-1 - c`.
    fn step_numbers(&mut self, [from, to]: [Operand; 2]) -> [Operand; 2] {
        if self.lane_step > 0 {
            return [from, to];
        }
        [to, from].map(|end| put!(self.f, "sub i64 0, {end}"))
    }

    /// The column of such a number, or the number of a column.
    pub(crate) fn column(&mut self, number: &Operand) -> Operand {
        if self.lane_step > 0 { number.clone() } else { put!(self.f, "xor i64 {number}, -1") }
    }
}

/// The loop over the rows of a function; its phis are inserted when it ends.
enum Rows {
    /// One after the other.
    InOrder(InOrder),
    /// See [`BlockedRows`].
    InBlocks(BlockedRows),
}

/// Rows one after the other: the block before the first, where phis are inserted, and the number and indices of the current
/// row, with those of the first.
struct InOrder {
    before: Label,
    mark: usize,
    row: Operand,
    first: Vec<Operand>,
    at: Vec<Operand>,
}

impl Rows {
    fn row(&self) -> &Operand {
        match self {
            Rows::InOrder(rows) => &rows.row,
            Rows::InBlocks(visit) => &visit.row,
        }
    }
}

/// When a node is computed: once, per row, per step, or in the loop inside a step.
const STAGE_LAUNCH: usize = 0;
const STAGE_ROW: usize = 1;
const STAGE_STEP: usize = 2;
const STAGE_INNER: usize = 3;

/// The depth of each node of the outermost region: the greatest of the axes that it depends on, 0 for loop-invariant
/// ones.
pub(crate) fn depths(region: &Region, of_axis: &dyn Fn(usize) -> usize) -> Vec<usize> {
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

/// Raises a depth to that of all values that a node uses, in its regions, too. Values of the regions themselves have no
/// depth.
fn uses(n: &Node, of: &HashMap<Val, usize>, axis: &dyn Fn(usize) -> usize, depth: &mut usize) {
    n.op.visit_operands(&mut |v| *depth = (*depth).max(of.get(&v).copied().unwrap_or(0)));
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
