//! The loops of a kernel's schedule.
//!
//! One loop, wherever it stands, runs over the lanes of vectors. Nodes are hoisted as far out as their axes allow.
//! Inside the lane loop, as long as the loops run along the folded axis or are unrolled, partial results stay in
//! registers: a set of them for each unrolled iteration. If the folded axis has loops further out, partial results are
//! kept in the memory of the result between their iterations.
//!
//! A loop with unrolled tiles runs over the full tiles, and then over smaller ones.

mod partial_results;
pub(crate) mod row_pairs;
mod term_blocks;

use crate::kernel::{AxisKind, Kernel, Loop, Node, Output, Sink};
use crate::llvm::Target;
use crate::llvm::emit::loops::loop_state::{Columns, LoopState};
use crate::llvm::emit::loops::nest::{Axis, depths};
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::loops::tile_shape::{accumulators, rests};
use crate::llvm::emit::sinks::sink::SinkEmitter;
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity, Unsupported, Variant, Width};
use acc_core::ir::Val;
use std::collections::HashMap;
use term_blocks::TermBlocks;

/// Folded elements between two polls of the limits: few iterations are counted at once.
const POLLED_ITERATIONS: usize = 1024;
/// The lanes of the shortest vectors.
const MIN_LANES: usize = 4;
/// Vectors of partial results in registers: half of sixteen registers.
const MAX_ACCUMULATOR_VECTORS: usize = 8;

/// The vector width of a kernel's schedule; the error says why it is not compiled.
pub(crate) fn width(kernel: &Kernel, width: Width, target: &Target) -> Result<Width, Unsupported> {
    if kernel.outputs.iter().any(|o| !matches!(o.sink, Sink::Store | Sink::Fold { .. })) {
        return Err(Unsupported::Variant("a schedule of scans or scatters"));
    }
    let Some(lane) = kernel.lane_loop() else {
        return Err(Unsupported::Variant("a schedule without a loop for lanes"));
    };
    if let (true, Some(iterations)) = (kernel.loops[lane].is_unrolled(), kernel.iterations(lane)) {
        let lanes = width.lanes.min(iterations.next_power_of_two().max(MIN_LANES));
        return Ok(Width { lanes, parts: (iterations / lanes).clamp(1, MAX_ACCUMULATOR_VECTORS) });
    }
    let leaves: usize = kernel.outputs.iter().map(Output::leaves).sum();
    let copies: usize = (0..kernel.loops.len()).map(|k| copies(kernel, k)).product();
    if copies == 1 {
        return Ok(width);
    }
    let rows = (copies * leaves).max(1);
    let parts = (MAX_ACCUMULATOR_VECTORS / rows).max((accumulators(target) / rows).min(2)).clamp(1, width.parts);
    let Some(needed) = kernel.loops[lane].at_most else { return Ok(Width { parts, ..width }) };
    let rows = if kernel.loops.iter().any(|l| l.in_pairs) { 2 } else { 1 };
    let lanes = width.lanes.min(needed.next_power_of_two().max(MIN_LANES) * rows);
    Ok(Width { lanes, parts: parts.min(needed.div_ceil(lanes)) })
}

/// The iterations of a loop that have partial results of their own.
fn copies(kernel: &Kernel, at: usize) -> usize {
    let l = kernel.loops[at];
    let own = l.is_unrolled() && kernel.axes[l.axis] == AxisKind::Parallel;
    if own { kernel.iterations(at).unwrap_or(1) } else { 1 }
}

/// A position in the nest.
#[derive(Clone)]
struct At {
    /// For each axis the range that loops further in run over.
    ranges: Vec<[Operand; 2]>,
    /// For each axis the size of this tile, if it is one of those behind the full ones.
    rest: Vec<Option<usize>>,
    /// The number of the current set of partial results.
    copy: usize,
    /// Whether they are in registers.
    in_registers: bool,
}

/// The nest of a schedule.
struct Nest<'a> {
    kernel: &'a Kernel,
    sinks: SinkEmitter<'a>,
    /// The nodes that are computed inside of so many loops.
    nodes: Vec<Vec<&'a Node>>,
    /// The loop over lanes.
    lane: usize,
    /// The first loop inside which partial results are in registers.
    registers: usize,
    /// The types of one set of partial results.
    types: Vec<String>,
    /// Whether the body is written once, for any mask.
    once: bool,
    /// Conditions without which all terms are 0, by the number of loops inside of which they are known.
    conditions: HashMap<usize, Vec<Val>>,
    /// The blocks of terms, if those are added here.
    blocks: Option<TermBlocks>,
}

impl<'a> Emitter<'a> {
    /// Writes the loops of a kernel's schedule.
    pub(crate) fn scheduled(&mut self, kernel: &'a Kernel, once: bool) {
        let rank = kernel.axes.len();
        let Some(lane) = kernel.lane_loop() else { return };
        let over = kernel.loops[lane].axis;
        let is_paired = |axis: usize| kernel.loops.iter().any(|l| l.axis == axis && l.in_pairs);
        let along = |axis: usize| match axis {
            _ if is_paired(axis) => Uniformity::Varying,
            _ => Uniformity::affine(i64::from(axis == over)),
        };
        let params: Vec<_> = (0..rank).map(along).collect();
        self.facts.vary(&params);
        self.scope.bind_constants(self.facts.body);
        let region = &self.facts.body.region;
        let known = |axis: usize| kernel.loops.iter().rposition(|l| l.axis == axis).map_or(0, |k| k + 1);
        let mut nodes: Vec<Vec<&Node>> = vec![Vec::new(); kernel.loops.len() + 1];
        let depth = depths(region, &known);
        for (n, depth) in region.nodes.iter().zip(&depth) {
            nodes[*depth].push(n);
        }
        self.scope.axes = vec![Axis::Uniform(Operand::int(0)); rank];
        self.hints.prefetching = kernel.loops.iter().find(|l| l.prefetches).map(|l| l.axis);
        nodes[0].iter().for_each(|n| self.node(n));
        self.code.bail_out_on_fault();
        let mut ranges = Vec::new();
        for axis in 0..rank {
            ranges.push(match axis {
                _ if axis == rank - kernel.folded() => {
                    [self.code.f.arg(KernelArg::RangeStart), self.code.f.arg(KernelArg::RangeEnd)]
                }
                0 => ["%r0", "%r1"].map(Operand::text),
                1 if kernel.axes[1] == AxisKind::Parallel => ["%c0", "%c1"].map(Operand::text),
                _ => [Operand::int(0), self.code.f.arg(KernelArg::Extent(axis as u32))],
            });
        }
        let range = |_: &mut Self, axis: usize| Some(ranges[axis].clone());
        for n in nodes[1..].iter().flatten() {
            self.prove_in_bounds(n, &range);
        }
        region.nodes.iter().for_each(|n| self.prove_by_condition(n, &range));
        let sinks = SinkEmitter::new(self, kernel, Variant::Scheduled, Operand::int(0));
        let folds = sinks.outs.iter().filter(|o| matches!(o.output.sink, Sink::Fold { .. }));
        let leaves = folds.flat_map(|o| &o.leaves).map(|l| self.code.vector(l.ty));
        let types: Vec<String> = leaves.flat_map(|t| vec![t; self.code.width.parts]).collect();
        let registers = kernel.register_loop(lane);
        self.scope.terms_under = self.terms_under_masks(kernel);
        let conditions = self.conditions_of_terms(kernel, &depth);
        let blocks = self.term_blocks(kernel);
        let mut nest = Nest { kernel, sinks, nodes, lane, registers, types, once, conditions, blocks };
        let at = At { ranges, rest: vec![None; rank], copy: 0, in_registers: false };
        nest.inside(self, 0, &at, Vec::new());
        self.code.f.w.line(format_args!("ret i64 0"));
    }
}

impl<'a> Nest<'a> {
    /// Writes what lies inside the first `depth` loops; partial results are passed through.
    fn inside(&mut self, e: &mut Emitter<'a>, depth: usize, at: &At, accs: Vec<Operand>) -> Vec<Operand> {
        if depth == self.registers && !at.in_registers && !self.types.is_empty() {
            self.in_registers(e, at);
            return Vec::new();
        }
        match self.kernel.loops.get(depth) {
            None => self.point(e, at, accs),
            Some(l) if depth == self.lane => {
                if e.scope.pair.is_some() {
                    // No more than a vector has room for: one step.
                    self.step_of_lanes(e, at, &at.ranges[l.axis][0]);
                } else {
                    self.lanes(e, at);
                }
                accs
            }
            Some(l) if l.is_unrolled() => self.unrolled(e, depth, at, accs),
            Some(_) => self.iterate(e, depth, at, accs),
        }
    }

    /// Folds in registers, block of terms by block.
    fn in_registers(&mut self, e: &mut Emitter<'a>, at: &At) {
        let (depth, axis) = (self.registers, self.kernel.axes.len() - self.kernel.folded());
        let blocks = self.blocks.clone().filter(|blocks| blocks.in_a_loop);
        let mut fold = |e: &mut Emitter<'a>, at: &At| {
            let copies = self.copies(at);
            let accs = self.begin(e, at, &copies);
            let accs = self.inside(e, depth, &At { in_registers: true, copy: 0, ..at.clone() }, accs);
            self.end(e, at, &copies, accs);
        };
        let Some(blocks) = blocks else { return fold(e, at) };
        e.each_term_block(&blocks, &at.ranges[axis].clone(), &mut |e, range| {
            let mut here = at.clone();
            here.ranges[axis] = range;
            fold(e, &here);
        });
    }

    /// Partial results as loop state.
    fn state(&self, accs: Vec<Operand>) -> LoopState {
        LoopState(accs.into_iter().zip(self.types.iter().cycle().cloned()).collect())
    }

    /// The iterations of an unrolled loop.
    fn iterations(&self, depth: usize, at: &At) -> usize {
        let l = self.kernel.loops[depth];
        at.rest[l.axis].map_or_else(|| self.kernel.iterations(depth).unwrap_or(1), |size| size.div_ceil(l.step))
    }

    /// Enters an iteration that begins at an index.
    fn enter(&mut self, e: &mut Emitter<'a>, depth: usize, at: &mut At, first: Operand, end: Operand) {
        let l = self.kernel.loops[depth];
        if l.step == 1 {
            e.scope.axes[l.axis] = Axis::Uniform(first.clone());
            e.scope.set(e.facts.body.region.params[l.axis], Value::Uniform(first.clone()));
            if l.in_pairs {
                self.pair_rows(e, l.axis, [&first, &end], at);
            }
            self.nodes[depth + 1].iter().for_each(|n| e.node(n));
        }
        at.ranges[l.axis] = [first, end];
    }

    /// A loop over lanes.
    fn lanes(&mut self, e: &mut Emitter<'a>, at: &At) {
        let (kernel, depth) = (self.kernel, self.lane);
        let axis = kernel.loops[depth].axis;
        let [from, to] = at.ranges[axis].clone();
        let is_bound = |axis| kernel.loops[..depth].iter().any(|l| l.axis == axis && l.step == 1);
        let edges = e.boundary_free_columns(&e.facts.body.region, axis, [&from, &to], &is_bound);
        let done = e.code.f.w.label();
        let columns = Columns {
            from,
            to,
            edges,
            once: self.once,
            whole: false,
            by_vector: false,
            rest: e.code.width.parts,
            few: e.code.width.parts,
        };
        e.steps(&columns, LoopState::default(), done, &mut |e, first, state| {
            self.step_of_lanes(e, at, first);
            state
        });
        e.code.f.w.start(done);
    }

    /// A step of the loop over lanes, from one on.
    fn step_of_lanes(&mut self, e: &mut Emitter<'a>, at: &At, first: &Operand) {
        let (kernel, depth) = (self.kernel, self.lane);
        let axis = kernel.loops[depth].axis;
        e.scope.axes[axis] = Axis::Lanes(first.clone());
        e.scope.set(e.facts.body.region.params[axis], Value::Affine(first.clone(), 1));
        self.nodes[depth + 1].iter().for_each(|n| e.node(n));
        e.code.bail_out_on_fault();
        // Other loops inside poll the limits themselves.
        if kernel.loops[depth + 1..].iter().all(Loop::is_unrolled) {
            let points: usize = (depth + 1..kernel.loops.len()).filter_map(|k| kernel.iterations(k)).product();
            e.code.count_fuel(self.sinks.cost * points);
        }
        self.inside(e, depth + 1, at, Vec::new());
    }

    /// A loop, iteration after iteration.
    fn iterate(&mut self, e: &mut Emitter<'a>, depth: usize, at: &At, accs: Vec<Operand>) -> Vec<Operand> {
        let l = self.kernel.loops[depth];
        let [from, to] = at.ranges[l.axis].clone();
        let next = self.kernel.loops[depth + 1..].iter().position(|n| n.axis == l.axis).map(|k| depth + 1 + k);
        let written_out = next.is_some_and(|n| self.kernel.loops[n].is_unrolled() && n != self.lane);
        if !written_out {
            let step = if l.in_pairs { 2 } else { l.step };
            let accs = self.in_steps(e, depth, at, [&from, &to], step, accs);
            e.scope.pair = e.scope.pair.take().filter(|_| !l.in_pairs);
            return accs;
        }
        let all = put!(e.code.f, "sub i64 {to}, {from}");
        let left = put!(e.code.f, "urem i64 {all}, {}", l.step);
        let middle = put!(e.code.f, "sub i64 {to}, {left}");
        let types = self.state(accs.clone()).0.into_iter().map(|(_, ty)| ty).collect::<Vec<_>>();
        let some = put!(e.code.f, "icmp slt i64 {from}, {middle}");
        let accs =
            e.if_then(&some, &types, accs, |e, accs| self.in_steps(e, depth, at, [&from, &middle], l.step, accs));
        // Only the innermost loop over an axis is divided anew: others end where the axis does.
        let is_last = self.kernel.loops[depth + 1..].iter().filter(|n| n.axis == l.axis).count() == 1;
        let (mut accs, mut begin) = (accs, middle);
        for size in rests(l.step).filter(|&size| is_last || size == 1) {
            let some = put!(e.code.f, "sub i64 {to}, {begin}");
            let left = put!(e.code.f, "urem i64 {some}, {size}");
            let end = put!(e.code.f, "sub i64 {to}, {left}");
            let some = put!(e.code.f, "icmp slt i64 {begin}, {end}");
            let mut smaller = at.clone();
            smaller.rest[l.axis] = Some(size);
            accs =
                e.if_then(&some, &types, accs, |e, accs| self.in_steps(e, depth, &smaller, [&begin, &end], size, accs));
            begin = end;
        }
        accs
    }

    /// The same with a step of several points, the last one perhaps shorter.
    fn in_steps(
        &mut self,
        e: &mut Emitter<'a>,
        depth: usize,
        at: &At,
        [from, to]: [&Operand; 2],
        step: usize,
        accs: Vec<Operand>,
    ) -> Vec<Operand> {
        // Inside the lane loop nothing else polls the limits.
        let cost = (depth > self.lane).then_some(self.sinks.cost * self.copies(at).len());
        let l = self.kernel.loops[depth];
        let state = self.state(accs);
        let is_innermost = self.kernel.loops[depth + 1..].iter().all(|l| l.is_unrolled());
        if let (Some(cost), true, 1) = (cost, is_innermost, step) {
            return e.counted_loop([from, to], POLLED_ITERATIONS, state, None, |e, first, carried| {
                let end = put!(e.code.f, "add i64 {first}, {POLLED_ITERATIONS}");
                let end = put!(e.code.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {to})");
                let count = put!(e.code.f, "sub i64 {end}, {first}");
                e.code.count_fuel_of(&count, cost);
                e.counted_loop([first, &end], 1, carried, None, |e, first, carried| {
                    let next = put!(e.code.f, "add i64 {first}, 1");
                    self.iteration(e, depth, at, [first, &next], carried)
                })
            });
        }
        // Whole blocks of terms, the last of which may have more.
        let is_folded = l.axis == self.kernel.axes.len() - self.kernel.folded() && depth < self.registers;
        let blocks = self.blocks.as_ref().filter(|_| is_folded);
        let limit = blocks.map_or_else(|| to.clone(), |blocks| e.last_block_limit(blocks, [from, to]));
        let stretches = blocks.is_some();
        e.counted_loop([from, &limit], step, state, cost, |e, first, carried| {
            let mut end = put!(e.code.f, "add i64 {first}, {step}");
            if stretches {
                end = e.block_end([&end, &limit, to]);
            } else if step > 1 {
                end = put!(e.code.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {to})");
            }
            self.iteration(e, depth, at, [first, &end], carried)
        })
    }

    /// One iteration of a loop, over these indices.
    fn iteration(
        &mut self,
        e: &mut Emitter<'a>,
        depth: usize,
        at: &At,
        [first, end]: [&Operand; 2],
        LoopState(carried): LoopState,
    ) -> Vec<Operand> {
        let mut here = at.clone();
        self.enter(e, depth, &mut here, first.clone(), end.clone());
        self.terms(e, depth + 1, &here, carried.into_iter().map(|(o, _)| o).collect())
    }

    /// Writes what lies inside the first `depth` loops, left out where that is known to add nothing but zeros.
    fn terms(&mut self, e: &mut Emitter<'a>, depth: usize, at: &At, accs: Vec<Operand>) -> Vec<Operand> {
        let conditions = self.conditions.get(&depth).filter(|_| at.in_registers && depth < self.kernel.loops.len());
        let conditions = conditions.cloned().unwrap_or_default();
        let scalars = conditions.iter().map(|v| e.scope.scalar(*v));
        let all = scalars.reduce(|a, b| put!(e.code.f, "and i1 {a}, {b}"));
        let Some(all) = all else { return self.inside(e, depth, at, accs) };
        let types: Vec<String> = self.state(accs.clone()).0.into_iter().map(|(_, ty)| ty).collect();
        let added = types.clone();
        let adds_nothing = self.kernel.outputs.iter().all(|o| o.sink.is_fused());
        e.if_else(
            &all,
            &types,
            accs,
            |e, accs| {
                let before = e.scope.holding.len();
                e.scope.holding.extend(&conditions);
                let accs = self.inside(e, depth, at, accs);
                e.scope.holding.truncate(before);
                accs
            },
            |e, accs| {
                if adds_nothing {
                    return accs;
                }
                // A sum that is -0 so far becomes 0.
                let plus_zero = |(x, ty): (Operand, &String)| {
                    let is_float = ["float", "double", "half"].iter().any(|f| ty.contains(f));
                    if is_float { put!(e.code.f, "fadd {ty} {x}, zeroinitializer") } else { x }
                };
                accs.into_iter().zip(&added).map(plus_zero).collect()
            },
        )
    }

    /// A loop, unrolled.
    fn unrolled(&mut self, e: &mut Emitter<'a>, depth: usize, at: &At, mut accs: Vec<Operand>) -> Vec<Operand> {
        let l = self.kernel.loops[depth];
        let iterations = self.iterations(depth, at);
        let [from, to] = at.ranges[l.axis].clone();
        for iteration in 0..iterations {
            let first = put!(e.code.f, "add i64 {from}, {}", iteration * l.step);
            // The last one of a smaller tile ends where that does.
            let ends = at.rest[l.axis].is_some() && iteration + 1 == iterations;
            let end = if ends { to.clone() } else { put!(e.code.f, "add i64 {first}, {}", l.step) };
            let mut here = at.clone();
            if self.kernel.axes[l.axis] == AxisKind::Parallel {
                here.copy = at.copy * iterations + iteration;
            }
            self.enter(e, depth, &mut here, first, end);
            accs = self.terms(e, depth + 1, &here, accs);
        }
        accs
    }

    /// Writes the body for a point.
    fn point(&mut self, e: &mut Emitter<'a>, at: &At, mut accs: Vec<Operand>) -> Vec<Operand> {
        e.code.bail_out_on_fault();
        let last = self.kernel.axes.len() - 1;
        let (Axis::Uniform(t) | Axis::Lanes(t)) = e.scope.axes[last].clone();
        let mut own = at.copy * self.types.len();
        for o in &self.sinks.outs {
            let elements = o.elements(e);
            if let Sink::Fold { .. } = o.output.sink {
                let parts = e.code.width.parts;
                let so_far: Vec<Parts> =
                    (0..o.leaves.len()).map(|k| accs[own + k * parts..][..parts].iter().cloned().collect()).collect();
                for x in self.sinks.combine(e, o, &t, &so_far, &elements).into_iter().flatten() {
                    accs[own] = x;
                    own += 1;
                }
            } else if o.output.stored {
                let place = self.place(e, last + 1);
                for (leaf, parts) in o.leaves.iter().zip(&elements) {
                    self.store(e, *leaf, parts, &place);
                }
            }
        }
        accs
    }
}
