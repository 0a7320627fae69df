//! Elements combined into targets of their own choosing, one after the other in row-major order.
//!
//! Positions and values of a step are computed in vectors; then they are combined one by one, for two lanes may have one
//! target. Where the new value replaces the old, a scatter of vectors does: it writes lanes in order. Cheap elements are
//! computed one by one from the start.

use super::ending::Leaf;
use super::text::{Operand, element, put, stored};
use super::value::{Mask, Parts, Shape, V};
use super::{Emitter, SMALL, Width, Word};
use crate::kernel::{Body, Finish, Kernel, Op, Record, Update};
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use std::fmt::Write;

/// Lanes that a turn of the loop over them combines, if that is simple. (Were all of them written out, LLVM would take
/// them from the vectors, and not from memory, which takes ten times as long.)
const AT_ONCE: usize = 4;

/// Elements that a step computes where each is a vector of its own: more would leave too few registers.
const ALONE: usize = 8;

/// The vectors of a scatter. Elements that take few operations are computed one by one, for to take them from vectors
/// costs more than that; but floats that become integers, which saturate, take many where they are no vectors.
pub(super) fn width(kernel: &Kernel, size: usize, vectors: Width) -> Width {
    let is_straight = kernel.element.region.nodes.iter().all(|n| n.op.regions().is_empty());
    let is_known = kernel.outputs.iter().all(|o| matches!(o.finish, Finish::Scatter { known: Some(_), .. }));
    let truncates = kernel.element.region.nodes.iter().any(|n| {
        let is_float = |v: &Val| kernel.element.ty(*v).is_float();
        matches!(&n.op, Op::Cast(v) if is_float(v) && !n.results.iter().any(is_float))
    });
    if is_straight && is_known && !truncates && size <= SMALL { Width { lanes: 1, parts: ALONE } } else { vectors }
}

/// The kernel that stores what a scatter combines.
pub(super) fn located(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.epilogue = None;
    for o in &mut kernel.outputs {
        o.finish = Finish::Store;
    }
    kernel
}

/// How a step's elements are combined with what is there.
pub(super) enum Combining<'a> {
    /// Leaf by leaf.
    Known(&'a [Update]),
    /// By a body, from the leaves of the new and of the old element.
    Body(&'a Body),
    /// All leaves at once.
    Record(Record),
}

/// Where the values of a leaf come from when lanes are taken one by one.
enum Source {
    /// The same in all lanes.
    One(Operand),
    /// Memory of the function.
    Buffer(Operand),
}

impl<'a> Emitter<'a> {
    /// Combines the elements of a step. `keep` is not 0 where there is one, `index` is its target.
    pub(super) fn scatter(&mut self, keep: Leaf, index: &[Leaf], leaves: &[Leaf], how: &Combining<'a>) {
        let kept = self.kept(keep);
        let outer = std::mem::replace(&mut self.mask, kept);
        let positions = self.targets(index);
        // Before anything is written: tiles start again with this step.
        self.settle();
        let all_new = matches!(how, Combining::Known(updates) if updates.iter().all(|u| *u == Update::New));
        if let Combining::Record(record) = how {
            self.by_records(*record, leaves, &positions);
        } else if all_new && !self.is_alone() {
            for leaf in leaves {
                let values = self.lanes(leaf.value);
                let out = self.word(Word::Out(leaf.number));
                self.store_at(leaf.ty, &values, &out, &positions);
            }
        } else {
            self.one_by_one(leaves, &positions, how);
        }
        self.mask = outer;
    }

    /// The lanes whose element is kept.
    pub(super) fn kept(&mut self, keep: Leaf) -> Mask {
        match self.value(keep.value) {
            V::One(Operand::Text(t)) if t.parse::<i64>().is_ok_and(|k| k != 0) => self.mask.clone(),
            value => {
                let bytes = self.shape().of("i8");
                let flags = self.spread(&value, "i8");
                let parts = (0..self.width.parts).map(|p| {
                    let flag = put!(self, "icmp ne {bytes} {}, zeroinitializer", flags[p]);
                    self.masked(p, &flag)
                });
                Mask::Lanes(parts.collect())
            }
        }
    }

    /// The row-major positions of targets; lanes out of bounds meet a fault.
    fn targets(&mut self, index: &[Leaf]) -> Parts {
        let ty = self.shape().of("i64");
        let mut positions: Option<Parts> = None;
        for (d, leaf) in index.iter().enumerate() {
            let extent = self.word(Word::TargetExtent(d as u32));
            let n = self.splat(&extent, "i64");
            let lanes = self.lanes(leaf.value);
            for (part, i) in lanes.iter().enumerate() {
                let outside = put!(self, "icmp uge {ty} {i}, {n}");
                self.fault(part, &outside);
            }
            positions = Some(match positions {
                None => lanes,
                Some(before) => {
                    let pairs = before.iter().zip(&lanes);
                    pairs
                        .map(|(p, i)| {
                            let scaled = put!(self, "mul {ty} {p}, {n}");
                            put!(self, "add {ty} {scaled}, {i}")
                        })
                        .collect()
                }
            });
        }
        positions.unwrap_or_else(|| smallvec::smallvec![Operand::text("zeroinitializer"); self.width.parts])
    }

    /// Memory of the function for so many values per lane of a step.
    pub(super) fn buffer(&mut self, element: &str, values: usize) -> Operand {
        let k = self.buffers;
        self.buffers += 1;
        let n = self.width.step() * values;
        // Writing to a string does not fail.
        let _ = writeln!(self.entry, "  %buffer{k} = alloca [{n} x {element}], align 64");
        Operand::text(format!("%buffer{k}"))
    }

    /// Writes the vectors of a step one after the other.
    pub(super) fn spill(&mut self, element: &str, parts: &Parts) -> Operand {
        let buffer = self.buffer(element, 1);
        let (vector, lanes) = (self.shape().of(element), self.width.lanes);
        for (part, x) in parts.iter().enumerate() {
            let p = put!(self, "getelementptr {element}, ptr {buffer}, i64 {}", part * lanes);
            self.w.line(format_args!("store {vector} {x}, ptr {p}, align 8"));
        }
        buffer
    }

    /// Whether the lanes of a step, all of them on, are vectors of their own.
    pub(super) fn is_alone(&self) -> bool {
        self.width.lanes == 1 && matches!(self.mask, Mask::All)
    }

    /// Takes the lanes of a step that are on in turn.
    fn one_by_one(&mut self, leaves: &[Leaf], positions: &Parts, how: &Combining<'a>) {
        if self.is_alone() {
            let values: Vec<Parts> = leaves.iter().map(|l| self.lanes(l.value)).collect();
            for (part, position) in positions.iter().enumerate() {
                let position = put!(self, "extractelement <1 x i64> {position}, i64 0");
                let of = leaves.iter().zip(&values).map(|(leaf, parts)| {
                    let (ty, x) = (self.vector(leaf.ty), &parts[part]);
                    put!(self, "extractelement {ty} {x}, i64 0")
                });
                let new = of.collect();
                self.combine_lane(leaves, new, &position, how);
            }
            return;
        }
        let at = self.spill("i64", positions);
        let values: Vec<Source> = leaves.iter().map(|l| self.source(*l)).collect();
        let at_once = if matches!(how, Combining::Body(_)) { 1 } else { AT_ONCE };
        self.each_lane(at_once, &mut |e, k| {
            let position = e.one_of("i64", &at, k);
            let new = leaves.iter().zip(&values).map(|(leaf, values)| e.taken(*leaf, values, k)).collect();
            e.combine_lane(leaves, new, &position, how);
        });
    }

    /// A loop over the lanes of a step that are on; if that is all of them, so many in a turn.
    pub(super) fn each_lane(&mut self, at_once: usize, write: &mut dyn FnMut(&mut Self, &Operand)) {
        let flags = match self.mask.clone() {
            Mask::All => None,
            Mask::Lanes(m) => {
                let (from, to) = (self.mask_type(), self.shape().of("i8"));
                let bytes = m.iter().map(|m| put!(self, "zext {from} {m} to {to}")).collect();
                Some(self.spill("i8", &bytes))
            }
        };
        let stride = if flags.is_none() { at_once } else { 1 };
        let (head, combine, next, done, before) =
            (self.w.label(), self.w.label(), self.w.label(), self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let k = self.w.promise();
        let mark = self.w.mark();
        match flags {
            None => self.w.jump(combine),
            Some(flags) => {
                let flag = self.one_of("i8", &flags, &k);
                let on = put!(self, "icmp ne i8 {flag}, 0");
                self.w.branch(&on, combine, next);
            }
        }
        self.w.start(combine);
        write(self, &k);
        for lane in 1..stride {
            let k = put!(self, "add i64 {k}, {lane}");
            write(self, &k);
        }
        self.w.jump(next);
        self.w.start(next);
        let following = put!(self, "add i64 {k}, {stride}");
        let more = put!(self, "icmp slt i64 {following}, {}", self.width.step());
        self.w.branch(&more, head, done);
        self.w.insert(mark, &format!("  {k} = phi i64 [ 0, {before} ], [ {following}, {next} ]\n"));
        self.w.start(done);
    }

    /// A value of a buffer.
    pub(super) fn one_of(&mut self, element: &str, buffer: &Operand, k: &Operand) -> Operand {
        let p = put!(self, "getelementptr {element}, ptr {buffer}, i64 {k}");
        put!(self, "load {element}, ptr {p}")
    }

    /// The values of a leaf, for lanes one by one.
    fn source(&mut self, leaf: Leaf) -> Source {
        if let V::One(x) = self.value(leaf.value) {
            return Source::One(x);
        }
        let lanes = self.lanes(leaf.value);
        let lanes = self.in_memory(leaf.ty, &lanes);
        Source::Buffer(self.spill(stored(leaf.ty), &lanes))
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

    /// Combines an element with what is at its target.
    fn combine_lane(&mut self, leaves: &[Leaf], new: Vec<Operand>, position: &Operand, how: &Combining<'a>) {
        let mut old = Vec::new();
        let mut places = Vec::new();
        for leaf in leaves {
            let (mem, size) = (stored(leaf.ty), leaf.ty.size());
            let out = self.word(Word::Out(leaf.number));
            let p = put!(self, "getelementptr {mem}, ptr {out}, i64 {position}");
            let y = put!(self, "load {mem}, ptr {p}, align {size}, !noalias !2");
            old.push(self.one_in_register(leaf.ty, y));
            places.push(p);
        }
        let combined: Vec<Operand> = match how {
            Combining::Known(updates) => {
                let all = leaves.iter().zip(*updates).zip(new.iter().zip(&old));
                all.map(|((leaf, u), (x, y))| match u {
                    Update::New => x.clone(),
                    Update::Old => y.clone(),
                    // As the tile executor: the operation commutes where the old value stands first.
                    Update::Prim(p) | Update::PrimOldFirst(p) => {
                        self.operation(*p, leaf.ty, Shape::One, &[x.clone(), y.clone()])
                    }
                })
                .collect()
            }
            Combining::Body(body) => {
                let args: Vec<V> = new.into_iter().chain(old).map(V::One).collect();
                let outer = std::mem::replace(&mut self.mask, Mask::All);
                let results = self.inline_one(body, &args);
                self.mask = outer;
                results
            }
            // Elsewhere.
            Combining::Record(_) => Vec::new(),
        };
        for ((leaf, x), p) in leaves.iter().zip(combined).zip(places) {
            let (mem, size) = (stored(leaf.ty), leaf.ty.size());
            let x = if leaf.ty == ScalarType::Bool { put!(self, "zext i1 {x} to i8") } else { x };
            self.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}, !noalias !2"));
        }
    }

    fn one_in_register(&mut self, ty: ScalarType, x: Operand) -> Operand {
        debug_assert_eq!(element(ty) == stored(ty), ty != ScalarType::Bool);
        if ty == ScalarType::Bool { put!(self, "icmp ne i8 {x}, 0") } else { x }
    }
}
