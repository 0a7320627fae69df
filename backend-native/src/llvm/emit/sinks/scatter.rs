//! Scatters: elements are combined into targets of their own choosing, in row-major order.
//!
//! Positions and values of a step are vectors; then lanes are combined one by one, since two may have one target, but for
//! those of [rows](super::row_scatter). Where
//! new values replace old ones, vector scatters do: they write lanes in order. Cheap elements are scalar from the
//! start.

use crate::kernel::{Body, Kernel, Op, Record, Sink, Uniformity, Update};
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::row_scatter::scatters_rows;
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, element, put, stored};
use crate::llvm::emit::{Emitter, KernelArg, MAX_SMALL_BODY_NODES, Width};
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use std::fmt::Write;

/// Iterations unrolled in the loop over lanes. (Fully unrolled, LLVM would extract lanes from registers, which takes
/// ten times as long as loading them from the stack.)
const LANES_PER_ITERATION: usize = 4;

/// Elements per step of a scalar scatter: more would leave too few registers.
const SCALAR_ELEMENTS_PER_STEP: usize = 8;

/// The vector width of a scatter. Cheap elements are computed one by one, since extracting them from vectors costs
/// more; but saturating conversions of floats to integers are cheap on vectors alone.
pub(crate) fn width(kernel: &Kernel, size: usize, axes: &[Uniformity], vectors: Width) -> Width {
    let is_straight = kernel.element.region.nodes.iter().all(|n| n.op.regions().is_empty());
    let is_known = kernel.outputs.iter().all(|o| matches!(o.sink, Sink::Scatter { builtin: Some(_), .. }));
    let truncates = kernel.element.region.nodes.iter().any(|n| {
        let is_float = |v: &Val| kernel.element.ty(*v).is_float();
        matches!(&n.op, Op::Cast(v) if is_float(v) && !n.results.iter().any(is_float))
    });
    if is_straight && is_known && !truncates && size <= MAX_SMALL_BODY_NODES && !scatters_rows(kernel, axes) {
        Width { lanes: 1, parts: SCALAR_ELEMENTS_PER_STEP }
    } else {
        vectors
    }
}

/// The kernel that stores the keep flag, target and leaves of each element.
pub(crate) fn located(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.epilogue = None;
    for o in &mut kernel.outputs {
        o.sink = Sink::Store;
    }
    kernel
}

/// How elements are combined with the current values.
pub(crate) enum Combining<'a, 's> {
    /// Leaf by leaf.
    Known(&'a [Update]),
    /// By a body over the leaves of the new and of the old element. `first` is the column of the step's first lane.
    Body { combine: &'a Body, first: &'s Operand, progress: &'s Progress },
    /// All leaves at once.
    Record(Record),
}

/// How a scatter records its progress, so that tiles resume where its code bails out.
#[derive(Clone)]
pub(crate) struct Progress {
    /// The position of the row's first column, relative to the results' memory.
    pub row: Operand,
    /// Where the function bails out, and where it stops.
    pub exits: [Label; 2],
}

/// The source of a leaf's lanes.
enum Source {
    /// Equal for all lanes.
    One(Operand),
    /// A stack buffer.
    Buffer(Operand),
}

impl<'a> Emitter<'a> {
    /// Combines the elements of a step. `keep` is 0 for elements that are dropped, `index` is the target.
    pub(crate) fn scatter(&mut self, keep: Leaf, index: &[Leaf], leaves: &[Leaf], how: &Combining<'a, '_>) {
        let kept = self.kept(keep);
        let outer = std::mem::replace(&mut self.code.mask, kept);
        if let Combining::Known(updates) = how
            && self.has_row_targets(index, leaves)
        {
            let first = self.first_target(index);
            self.code.bail_out_on_fault();
            self.combine_row(leaves, updates, &first);
            self.code.mask = outer;
            return;
        }
        let positions = self.targets(index);
        // Before anything is stored: tiles resume with this step.
        self.code.bail_out_on_fault();
        let all_new = matches!(how, Combining::Known(updates) if updates.iter().all(|u| *u == Update::New));
        if let Combining::Record(record) = how {
            self.scatter_records(*record, leaves, &positions);
        } else if all_new && !self.code.is_alone() {
            for leaf in leaves {
                let values = self.vectors(leaf.value);
                let out = self.code.f.arg(KernelArg::Output(leaf.number));
                self.code.scatter_vectors(leaf.ty, &values, &out, &positions);
            }
        } else {
            self.one_by_one(leaves, &positions, how);
        }
        self.code.mask = outer;
    }

    /// Records that all elements before a column of the row are combined.
    pub(crate) fn record_progress(&mut self, progress: &Progress, column: &Operand) {
        let place = self.code.f.arg(KernelArg::Progress);
        let position = put!(self.code.f, "add i64 {}, {column}", progress.row);
        self.code.f.w.line(format_args!("store i64 {position}, ptr {place}, align 8"));
    }

    /// Writes code that leaves the function, if it does, with all elements before a column combined.
    pub(crate) fn resumable<T>(
        &mut self,
        progress: &Progress,
        column: &Operand,
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let own = [self.code.f.w.label(), self.code.f.w.label()];
        let outer = [self.code.f.bail_out, self.code.f.stop];
        [self.code.f.bail_out, self.code.f.stop] = own;
        let written = write(self);
        [self.code.f.bail_out, self.code.f.stop] = outer;
        let go_on = self.code.f.w.label();
        self.code.f.w.jump(go_on);
        for (from, to) in own.into_iter().zip(progress.exits) {
            self.code.f.w.start(from);
            self.record_progress(progress, column);
            self.code.f.w.jump(to);
        }
        self.code.f.w.start(go_on);
        written
    }

    /// The lanes whose element is kept.
    pub(crate) fn kept(&mut self, keep: Leaf) -> Mask {
        match self.scope.value(keep.value) {
            Value::Uniform(Operand::Text(t)) if t.parse::<i64>().is_ok_and(|k| k != 0) => self.code.mask.clone(),
            value => {
                let bytes = self.code.shape().of("i8");
                let flags = self.code.broadcast(&value, "i8");
                let parts = (0..self.code.width.parts).map(|p| {
                    let flag = put!(self.code.f, "icmp ne {bytes} {}, zeroinitializer", flags[p]);
                    self.code.and_mask(p, &flag)
                });
                Mask::Lanes(parts.collect())
            }
        }
    }

    /// The row-major positions of targets; lanes out of bounds record a fault.
    fn targets(&mut self, index: &[Leaf]) -> Parts {
        let ty = self.code.shape().of("i64");
        let mut positions: Option<Parts> = None;
        for (d, leaf) in index.iter().enumerate() {
            let extent = self.code.f.arg(KernelArg::TargetExtent(d as u32));
            let n = self.code.splat(&extent, "i64");
            let lanes = self.vectors(leaf.value);
            for (part, i) in lanes.iter().enumerate() {
                let outside = put!(self.code.f, "icmp uge {ty} {i}, {n}");
                self.code.record_fault(part, &outside);
            }
            positions = Some(match positions {
                None => lanes,
                Some(before) => {
                    let pairs = before.iter().zip(&lanes);
                    pairs
                        .map(|(p, i)| {
                            let scaled = put!(self.code.f, "mul {ty} {p}, {n}");
                            put!(self.code.f, "add {ty} {scaled}, {i}")
                        })
                        .collect()
                }
            });
        }
        positions.unwrap_or_else(|| smallvec::smallvec![Operand::text("zeroinitializer"); self.code.width.parts])
    }

    /// Combines the active lanes of a step one by one.
    fn one_by_one(&mut self, leaves: &[Leaf], positions: &Parts, how: &Combining<'a, '_>) {
        if self.code.is_alone() {
            let values: Vec<Parts> = leaves.iter().map(|l| self.vectors(l.value)).collect();
            for (part, position) in positions.iter().enumerate() {
                let position = put!(self.code.f, "extractelement <1 x i64> {position}, i64 0");
                let of = leaves.iter().zip(&values).map(|(leaf, parts)| {
                    let (ty, x) = (self.code.vector(leaf.ty), &parts[part]);
                    put!(self.code.f, "extractelement {ty} {x}, i64 0")
                });
                let new = of.collect();
                self.combine_lane(leaves, new, &position, &Operand::int(part as i64), how);
            }
            return;
        }
        let at = self.code.spill("i64", positions);
        let values: Vec<Source> = leaves.iter().map(|l| self.source(*l)).collect();
        let at_once = if matches!(how, Combining::Body { .. }) { 1 } else { LANES_PER_ITERATION };
        self.each_lane(at_once, &mut |e, k| {
            let position = e.code.f.one_of("i64", &at, k);
            let new = leaves.iter().zip(&values).map(|(leaf, values)| e.code.f.taken(*leaf, values, k)).collect();
            e.combine_lane(leaves, new, &position, k, how);
        });
    }

    /// The values of a leaf, for lanes one by one.
    fn source(&mut self, leaf: Leaf) -> Source {
        if let Value::Uniform(x) = self.scope.value(leaf.value) {
            return Source::One(x);
        }
        let lanes = self.vectors(leaf.value);
        let lanes = self.code.memory_form(leaf.ty, &lanes);
        Source::Buffer(self.code.spill(stored(leaf.ty), &lanes))
    }

    /// Combines the element of lane `k` with the current value of its target.
    fn combine_lane(
        &mut self,
        leaves: &[Leaf],
        new: Vec<Operand>,
        position: &Operand,
        k: &Operand,
        how: &Combining<'a, '_>,
    ) {
        let mut old = Vec::new();
        let mut places = Vec::new();
        for leaf in leaves {
            let (mem, size) = (stored(leaf.ty), leaf.ty.size());
            let out = self.code.f.arg(KernelArg::Output(leaf.number));
            let p = put!(self.code.f, "getelementptr {mem}, ptr {out}, i64 {position}");
            let y = put!(self.code.f, "load {mem}, ptr {p}, align {size}, !noalias !2");
            old.push(self.code.f.one_in_register(leaf.ty, y));
            places.push(p);
        }
        let combined: Vec<Operand> = match how {
            Combining::Known(updates) => {
                let all = leaves.iter().zip(*updates).zip(new.iter().zip(&old));
                all.map(|((leaf, u), (x, y))| match u {
                    Update::New => x.clone(),
                    Update::Old => y.clone(),
                    // As in the tile executor: the operation is commutative if the old value stands first.
                    Update::Prim(p) | Update::PrimOldFirst(p) => {
                        self.code.operation(*p, leaf.ty, Shape::Scalar, &[x.clone(), y.clone()])
                    }
                })
                .collect()
            }
            Combining::Body { combine, first, progress } => {
                let args: Vec<Value> = new.into_iter().chain(old).map(Value::Uniform).collect();
                let outer = std::mem::replace(&mut self.code.mask, Mask::All);
                // The lanes before this one are combined already.
                let results = if combine.is_partial() {
                    let column = put!(self.code.f, "add i64 {first}, {k}");
                    self.resumable(progress, &column, |e| e.inline_one(combine, &args))
                } else {
                    self.inline_one(combine, &args)
                };
                self.code.mask = outer;
                results
            }
            // Handled elsewhere.
            Combining::Record(_) => Vec::new(),
        };
        for ((leaf, x), p) in leaves.iter().zip(combined).zip(places) {
            let (mem, size) = (stored(leaf.ty), leaf.ty.size());
            let x = if leaf.ty == ScalarType::Bool { put!(self.code.f, "zext i1 {x} to i8") } else { x };
            self.code.f.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
        }
    }
}

impl VectorCode {
    /// A stack buffer for so many values per lane of a step.
    pub(crate) fn buffer(&mut self, element: &str, values: usize) -> Operand {
        let k = self.f.buffers;
        self.f.buffers += 1;
        let n = self.width.step() * values;
        // Writing to a string does not fail.
        let _ = writeln!(self.f.prologue.text, "  %buffer{k} = alloca [{n} x {element}], align 64");
        Operand::text(format!("%buffer{k}"))
    }

    /// Stores the vectors of a step to the stack.
    pub(crate) fn spill(&mut self, element: &str, parts: &Parts) -> Operand {
        let buffer = self.buffer(element, 1);
        let (vector, lanes) = (self.shape().of(element), self.width.lanes);
        for (part, x) in parts.iter().enumerate() {
            let p = put!(self.f, "getelementptr {element}, ptr {buffer}, i64 {}", part * lanes);
            self.f.w.line(format_args!("store {vector} {x}, ptr {p}, align 8"));
        }
        buffer
    }

    /// Whether each lane of a step is a vector of its own, and active.
    pub(crate) fn is_alone(&self) -> bool {
        self.width.lanes == 1 && matches!(self.mask, Mask::All)
    }
}

impl Function {
    /// Loads value `k` of a buffer.
    pub(crate) fn one_of(&mut self, element: &str, buffer: &Operand, k: &Operand) -> Operand {
        let p = put!(self, "getelementptr {element}, ptr {buffer}, i64 {k}");
        put!(self, "load {element}, ptr {p}")
    }

    /// The value of lane `k`.
    fn taken(&mut self, leaf: Leaf, values: &Source, k: &Operand) -> Operand {
        match values {
            Source::One(x) => x.clone(),
            Source::Buffer(buffer) => {
                let x = self.one_of(stored(leaf.ty), buffer, k);
                self.one_in_register(leaf.ty, x)
            }
        }
    }

    fn one_in_register(&mut self, ty: ScalarType, x: Operand) -> Operand {
        debug_assert_eq!(element(ty) == stored(ty), ty != ScalarType::Bool);
        if ty == ScalarType::Bool { put!(self, "icmp ne i8 {x}, 0") } else { x }
    }
}
