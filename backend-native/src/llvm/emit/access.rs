//! Reads of arrays, checks of indices, and writes of results.

use super::nest::Axis;
use super::text::{Operand, put, stored};
use super::value::{Mask, Parts, Shape, V};
use super::{Emitter, Word};
use crate::buffer::LINE;
use crate::kernel::{Edge, Ix, Load, Node};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Val};
use smallvec::SmallVec;
use std::sync::Arc;

/// An index per dimension.
pub(super) type Index = SmallVec<[V; 4]>;

/// Where the lanes of a read lie in memory, counted in elements.
pub(super) enum Place {
    /// One element for all.
    One(Operand),
    /// Neighbours from this position on, ascending or descending.
    Run(Operand, i64),
    /// From this position on, so many elements apart: all lanes are on.
    Apart(Operand, usize),
    /// Any positions.
    Any(Parts),
}

/// Elements from one lane to the next up to which vectors of all between are read.
pub(super) const APART: i64 = 4;

/// That memory is that of an array that is read, which results do not overlap.
pub(super) const INPUT: &str = ", !alias.scope !2";

impl Emitter<'_> {
    /// The value of an index along one dimension.
    pub(super) fn index(&mut self, ix: &Ix) -> V {
        match *ix {
            Ix::At(v) => self.value(v),
            Ix::Affine { axis, scale, offset, base } => {
                let (at, lane) = match self.axes[axis as usize].clone() {
                    Axis::One(at) => (at, false),
                    Axis::Lanes(first) => (first, true),
                };
                let first = self.affine(&at, scale, offset, base.map(|v| self.one(v)));
                if lane && scale != 0 { V::Linear(first, scale * self.lane_step) } else { V::One(first) }
            }
        }
    }

    /// `scale * at + base + offset`.
    pub(super) fn affine(&mut self, at: &Operand, scale: i64, offset: i64, base: Option<Operand>) -> Operand {
        let mut sum = match scale {
            0 => Operand::int(0),
            1 => at.clone(),
            _ => put!(self, "mul i64 {at}, {scale}"),
        };
        if let Some(base) = base {
            sum = put!(self, "add i64 {sum}, {base}");
        }
        // The constant last, where it becomes part of an address.
        if offset != 0 {
            sum = put!(self, "add i64 {sum}, {offset}");
        }
        sum
    }

    /// The indices of a read, those beyond edges brought back, checked: lanes out of bounds meet a fault, and the flags
    /// are of lanes in bounds (none if all lanes that are on are).
    pub(super) fn checked(&mut self, array: ArrayId, index: &[Ix], edge: Option<Edge>) -> (Index, Option<Parts>) {
        let mut values = Index::new();
        let mut good: Option<Parts> = None;
        if edge == Some(Edge::Any) {
            self.decline_if_empty(array, index.len());
        }
        if index.is_empty() {
            // No extent tells that it is not evaluated.
            self.demand(array);
        }
        for (dim, ix) in index.iter().enumerate() {
            let mut v = self.index(ix);
            if self.is_proven(array, dim, ix) {
                values.push(v);
                continue;
            }
            if let Some(i) = edge.and_then(|e| self.brought_back(array, dim, ix, e)) {
                values.push(V::One(i));
                continue;
            }
            let extent = self.word(Word::ArrayExtent(array, dim as u32));
            if let Some(edge) = edge {
                v = self.beyond(edge, &v, &extent);
            }
            if edge != Some(Edge::Any) {
                let within = match &v {
                    // Every lane out of bounds faults. In bounds at both ends, and so in between.
                    V::Linear(first, step) if matches!(self.mask, Mask::All) => {
                        let last = put!(self, "add i64 {first}, {}", step * (self.width.step() as i64 - 1));
                        let [a, b] = [first, &last].map(|i| put!(self, "icmp ult i64 {i}, {extent}"));
                        V::One(put!(self, "and i1 {a}, {b}"))
                    }
                    V::One(_) | V::Linear(..) | V::Lanes(_) => self.within(&v, &extent),
                };
                match within {
                    V::Lanes(flags) => {
                        good = Some(match good {
                            None => flags,
                            Some(before) => self.both(&before, &flags),
                        });
                    }
                    V::One(flag) | V::Linear(flag, _) => {
                        let outside = put!(self, "xor i1 {flag}, true");
                        self.decline_if(&outside);
                    }
                }
            }
            values.push(v);
        }
        if let Some(good) = &good {
            let ty = self.mask_type();
            let yes = self.constant(self.shape(), "i1", "true");
            for (part, flags) in good.iter().enumerate() {
                let bad = put!(self, "xor {ty} {flags}, {yes}");
                self.fault(part, &bad);
            }
        }
        (values, good)
    }

    pub(super) fn both(&mut self, a: &Parts, b: &Parts) -> Parts {
        let ty = self.mask_type();
        a.iter().zip(b).map(|(a, b)| put!(self, "and {ty} {a}, {b}")).collect()
    }

    /// Declines if an array has no element, or is not evaluated.
    fn decline_if_empty(&mut self, array: ArrayId, rank: usize) {
        for dim in 0..rank {
            let extent = self.word(Word::ArrayExtent(array, dim as u32));
            let empty = put!(self, "icmp eq i64 {extent}, 0");
            self.decline_if(&empty);
        }
    }

    /// Declines if an array is not evaluated: what is asked about it demands it.
    pub(super) fn demand(&mut self, array: ArrayId) {
        let evaluated = self.word(Word::Evaluated(array));
        let not = put!(self, "icmp eq i64 {evaluated}, 0");
        self.decline_if(&not);
    }

    /// Whether an index is from 0 to below an extent.
    fn within(&mut self, v: &V, extent: &Operand) -> V {
        match v {
            V::One(i) => V::One(put!(self, "icmp ult i64 {i}, {extent}")),
            V::Linear(..) | V::Lanes(_) => {
                let (ty, n) = (self.shape().of("i64"), self.splat(extent, "i64"));
                let lanes = self.spread(v, "i64");
                V::Lanes(lanes.iter().map(|i| put!(self, "icmp ult {ty} {i}, {n}")).collect())
            }
        }
    }

    /// The index that one beyond an edge stands for.
    fn beyond(&mut self, edge: Edge, v: &V, extent: &Operand) -> V {
        match v {
            V::One(i) => V::One(self.beyond_one(edge, "i64", "i1", i, extent)),
            V::Linear(..) | V::Lanes(_) => {
                let (ty, flags) = (self.shape().of("i64"), self.mask_type());
                let n = self.splat(extent, "i64");
                let lanes = self.spread(v, "i64");
                V::Lanes(lanes.iter().map(|i| self.beyond_one(edge, &ty, &flags, i, &n)).collect())
            }
        }
    }

    pub(super) fn beyond_one(&mut self, edge: Edge, ty: &str, flags: &str, i: &Operand, n: &Operand) -> Operand {
        let shape = if ty == "i64" { Shape::One } else { self.shape() };
        let [zero, one] = ["0", "1"].map(|c| self.constant(shape, "i64", c));
        let below = put!(self, "icmp slt {ty} {i}, {zero}");
        let above = put!(self, "icmp sge {ty} {i}, {n}");
        let (low, high) = match edge {
            Edge::Clamp | Edge::Any => (zero, put!(self, "sub {ty} {n}, {one}")),
            Edge::Mirror => {
                let low = put!(self, "sub {ty} {zero}, {i}");
                let last = put!(self, "sub {ty} {n}, {one}");
                let twice = put!(self, "add {ty} {last}, {last}");
                (low, put!(self, "sub {ty} {twice}, {i}"))
            }
            Edge::Wrap => (put!(self, "add {ty} {i}, {n}"), put!(self, "sub {ty} {i}, {n}")),
        };
        let upper = put!(self, "select {flags} {above}, {ty} {high}, {ty} {i}");
        put!(self, "select {flags} {below}, {ty} {low}, {ty} {upper}")
    }

    /// The position of an index in row-major order.
    pub(super) fn place(&mut self, array: ArrayId, index: &Index) -> Place {
        let rank = index.len();
        let mut first = Operand::int(0);
        let (mut run, mut apart) = (0, None);
        let mut lanes: Option<Parts> = None;
        let ty = self.shape().of("i64");
        for (dim, v) in index.iter().enumerate() {
            let stride = self.stride(array, dim, rank);
            let last = dim + 1 == rank;
            match v {
                V::One(i) | V::Linear(i, _) => {
                    let term = if last { i.clone() } else { put!(self, "mul i64 {i}, {stride}") };
                    first = if first == Operand::int(0) { term } else { put!(self, "add i64 {first}, {term}") };
                }
                V::Lanes(_) => {}
            }
            let offsets: Parts = match v {
                V::One(_) => continue,
                V::Linear(_, step @ (1 | -1)) if last && lanes.is_none() => {
                    run = *step;
                    continue;
                }
                V::Linear(_, step @ 2..=APART) if last && lanes.is_none() && matches!(self.mask, Mask::All) => {
                    apart = usize::try_from(*step).ok();
                    continue;
                }
                V::Linear(_, step) => (0..self.width.parts).map(|p| self.offsets(*step, p)).collect(),
                V::Lanes(parts) => parts.clone(),
            };
            let scaled: Parts = if last {
                offsets
            } else {
                let by = self.splat(&stride, "i64");
                offsets.iter().map(|o| put!(self, "mul {ty} {o}, {by}")).collect()
            };
            lanes = Some(match lanes {
                None => scaled,
                Some(sum) => sum.iter().zip(&scaled).map(|(a, b)| put!(self, "add {ty} {a}, {b}")).collect(),
            });
        }
        match (lanes, run, apart) {
            (None, _, Some(step)) => Place::Apart(first, step),
            (None, 0, None) => Place::One(first),
            (None, run, None) => Place::Run(first, run),
            (Some(lanes), ..) => {
                let start = self.splat(&first, "i64");
                Place::Any(lanes.iter().map(|l| put!(self, "add {ty} {start}, {l}")).collect())
            }
        }
    }

    /// A read of leaves of an array.
    pub(super) fn load(&mut self, n: &Node, l: &Load) {
        let turned: Vec<(Val, V)> = n.results.iter().filter_map(|&r| Some((r, self.turned(r)?))).collect();
        if !turned.is_empty() {
            turned.into_iter().for_each(|(r, v)| self.set(r, v));
            return;
        }
        if self.read_beyond(n, l) || self.read_around(n, l) || self.read_clamped(n, l) {
            return;
        }
        if self.read_channels(n, l) || self.read_apart(n, l) {
            return;
        }
        let (index, good) = self.checked(l.array, &l.index, l.edge);
        let place = self.place(l.array, &index);
        let place = match place {
            Place::Any(positions) => Place::Any(self.safe(l.array, index.len(), positions)),
            Place::One(_) | Place::Run(..) | Place::Apart(..) => place,
        };
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let ty = self.ty(result);
            let column = self.word(Word::Column(l.array, leaf));
            let value = match &place {
                Place::One(at) => V::One(self.element_at(ty, &column, at)),
                Place::Run(first, step) => {
                    self.fetch_ahead(ty, &column, first);
                    V::Lanes(self.neighbours(ty, &column, first, *step, good.as_ref(), INPUT))
                }
                Place::Apart(first, step) => V::Lanes(self.apart(ty, &column, first, *step)),
                Place::Any(positions) => self.gather(ty, &column, positions, INPUT),
            };
            self.set(result, value);
        }
    }

    /// The element at a position.
    pub(super) fn element_at(&mut self, ty: ScalarType, column: &Operand, at: &Operand) -> Operand {
        let (mem, size) = (stored(ty), ty.size());
        let p = put!(self, "getelementptr {mem}, ptr {column}, i64 {at}");
        let x = put!(self, "load {mem}, ptr {p}, align {size}{INPUT}");
        if ty == ScalarType::Bool { put!(self, "icmp ne i8 {x}, 0") } else { x }
    }

    /// The mask of a read: lanes that are on and in bounds; none if that is all lanes.
    fn readable(&mut self, part: usize, good: Option<&Parts>) -> Option<Operand> {
        match good {
            None => self.mask_of(part),
            Some(good) => Some(self.masked(part, &good[part])),
        }
    }

    /// Neighbours in memory, from the first lane's position on; `scope` says whose memory it is.
    pub(super) fn neighbours(
        &mut self,
        ty: ScalarType,
        column: &Operand,
        first: &Operand,
        step: i64,
        good: Option<&Parts>,
        scope: &str,
    ) -> Parts {
        let lanes = self.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let (vector, suffix) = (self.shape().of(mem), self.shape().suffix(mem));
        let start = put!(self, "getelementptr {mem}, ptr {column}, i64 {first}");
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            let p = self.neighbour(&start, mem, part, step);
            let mut mask = self.readable(part, good);
            if let (Some(m), true) = (&mask, step < 0) {
                mask = Some(self.reversed(m, "i1"));
            }
            let x = match mask {
                None => put!(self, "load {vector}, ptr {p}, align {size}{scope}"),
                Some(m) => put!(
                    self,
                    "call {vector} @llvm.masked.load.{suffix}.p0(ptr {p}, i32 {size}, <{lanes} x i1> {m}, {vector} zeroinitializer){scope}"
                ),
            };
            let x = if step < 0 { self.reversed(&x, mem) } else { x };
            parts.push(self.read(ty, x));
        }
        parts
    }

    /// Asks for the neighbours that are read in the thread's next chunk: this one's are in a near cache, and while it is
    /// stored nothing else would be read from memory.
    fn fetch_ahead(&mut self, ty: ScalarType, column: &Operand, first: &Operand) {
        if !self.ahead {
            return;
        }
        let (mem, ahead) = (stored(ty), self.word(Word::Ahead));
        let next = put!(self, "add i64 {first}, {ahead}");
        let start = put!(self, "getelementptr {mem}, ptr {column}, i64 {next}");
        for at in (0..self.width.step() * ty.size()).step_by(LINE) {
            let p = put!(self, "getelementptr i8, ptr {start}, i64 {}", at as i64 * self.lane_step);
            self.w.line(format_args!("call void @llvm.prefetch.p0(ptr {p}, i32 0, i32 3, i32 1)"));
        }
    }

    /// Where a vector begins in memory whose elements are the lanes of a part, neighbours in ascending or descending order,
    /// that of the first lane of all at `start`.
    fn neighbour(&mut self, start: &Operand, mem: &str, part: usize, step: i64) -> Operand {
        let lanes = self.width.lanes;
        let offset = if step > 0 { (part * lanes) as i64 } else { -((part * lanes + lanes - 1) as i64) };
        if offset == 0 { start.clone() } else { put!(self, "getelementptr {mem}, ptr {start}, i64 {offset}") }
    }

    /// The lanes of a vector in the opposite order.
    fn reversed(&mut self, x: &Operand, element: &str) -> Operand {
        let (ty, n) = (self.shape().of(element), self.width.lanes);
        let order: Vec<String> = (0..n).rev().map(|k| format!("i32 {k}")).collect();
        put!(self, "shufflevector {ty} {x}, {ty} poison, <{n} x i32> <{}>", order.join(", "))
    }

    /// What is in memory as what is in registers.
    pub(super) fn read(&mut self, ty: ScalarType, x: Operand) -> Operand {
        if ty != ScalarType::Bool {
            return x;
        }
        let bytes = self.shape().of("i8");
        put!(self, "icmp ne {bytes} {x}, zeroinitializer")
    }

    /// Positions of which each can be read: lanes that are off read the first element that is there.
    pub(super) fn safe(&mut self, array: ArrayId, rank: usize, positions: Parts) -> Parts {
        // Reads of single lanes, each under a condition of its own, would cost more than the check of all.
        self.settle();
        let Mask::Lanes(mask) = self.mask.clone() else { return positions };
        self.decline_if_empty(array, rank);
        let first = self.word(Word::First(array));
        let (flags, ty, first) = (self.mask_type(), self.shape().of("i64"), self.splat(&first, "i64"));
        let all = positions.iter().zip(&mask);
        all.map(|(at, m)| put!(self, "select {flags} {m}, {ty} {at}, {ty} {first}")).collect()
    }

    /// Reads at positions of which each has an element; `scope` says of whose memory.
    pub(super) fn gather(&mut self, ty: ScalarType, column: &Operand, positions: &Parts, scope: &str) -> V {
        if self.gathers_words(ty) {
            return self.gather_words(ty, column, positions, scope);
        }
        let (mem, size, lanes) = (stored(ty), ty.size(), self.width.lanes);
        let (vector, suffix, indices) = (self.shape().of(mem), self.shape().suffix(mem), self.shape().of("i64"));
        let mut parts = Parts::new();
        let mask = self.constant(self.shape(), "i1", "true");
        for at in positions {
            let p = put!(self, "getelementptr {mem}, ptr {column}, {indices} {at}");
            let x = put!(
                self,
                "call {vector} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr> {p}, i32 {size}, <{lanes} x i1> {mask}, {vector} zeroinitializer){scope}"
            );
            parts.push(self.read(ty, x));
        }
        V::Lanes(parts)
    }

    /// A word of a table, which becomes a constant of the module.
    pub(super) fn table(&mut self, words: &Arc<[u64]>, index: Val) -> V {
        let (number, len) = (self.table_of(words), words.len());
        let last = len.saturating_sub(1);
        let of = |e: &mut Self, shape: Shape, i: &Operand| {
            let (t, suffix) = (shape.of("i64"), shape.suffix("i64"));
            let [zero, last] = [0, last].map(|c| e.constant(shape, "i64", &c.to_string()));
            let i = put!(e, "call {t} @llvm.smax.{suffix}({t} {i}, {t} {zero})");
            put!(e, "call {t} @llvm.smin.{suffix}({t} {i}, {t} {last})")
        };
        let value = self.value(index);
        if let V::One(i) = &value {
            let i = of(self, Shape::One, i);
            let p = put!(self, "getelementptr i64, ptr @t{number}, i64 {i}");
            return V::One(put!(self, "load i64, ptr {p}, align 8"));
        }
        let positions = self.spread(&value, "i64");
        let shape = self.shape();
        let positions: Parts = positions.iter().map(|i| of(self, shape, i)).collect();
        self.gather(ScalarType::U64, &Operand::text(format!("@t{number}")), &positions, INPUT)
    }

    /// Whether an index is in bounds.
    pub(super) fn inside(&mut self, n: &Node, array: ArrayId, index: &[Ix]) {
        self.demand(array);
        let mut flags = V::One(Operand::text("true"));
        for (dim, ix) in index.iter().enumerate() {
            if self.is_proven(array, dim, ix) {
                continue;
            }
            let v = self.index(ix);
            let extent = self.word(Word::ArrayExtent(array, dim as u32));
            let within = self.within(&v, &extent);
            flags = match (flags, within) {
                (V::One(a), V::One(b)) => V::One(put!(self, "and i1 {a}, {b}")),
                (a, b) => {
                    let (a, b) = (self.spread(&a, "i1"), self.spread(&b, "i1"));
                    V::Lanes(self.both(&a, &b))
                }
            };
        }
        if self.levels[n.results[0].index()] == super::Level::Lanes {
            flags = V::Lanes(self.spread(&flags, "i1"));
        }
        self.set(n.results[0], flags);
    }

    /// A fault where an index is out of bounds.
    pub(super) fn check(&mut self, array: ArrayId, index: &[Ix]) {
        self.demand(array);
        let _ = self.checked(array, index, None);
    }

    /// Writes a result, one element per lane that is on, to neighbouring positions, in the order of the axis of lanes.
    pub(super) fn store(&mut self, ty: ScalarType, parts: &Parts, out: &Operand, first: &Operand) {
        let lanes = self.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let (vector, suffix) = (self.shape().of(mem), self.shape().suffix(mem));
        let start = put!(self, "getelementptr {mem}, ptr {out}, i64 {first}");
        for (part, x) in parts.iter().enumerate() {
            let p = self.neighbour(&start, mem, part, self.lane_step);
            let mut x = if ty == ScalarType::Bool {
                let flags = self.mask_type();
                put!(self, "zext {flags} {x} to {vector}")
            } else {
                x.clone()
            };
            let mut mask = self.mask.clone();
            if self.lane_step < 0 {
                x = self.reversed(&x, mem);
                if let Mask::Lanes(m) = &mut mask {
                    m[part] = self.reversed(&m[part], "i1");
                }
            }
            match &mask {
                Mask::All if self.stream => {
                    let bytes = (size * lanes).min(64);
                    self.w
                        .line(format_args!("store {vector} {x}, ptr {p}, align {bytes}, !noalias !2, !nontemporal !4"));
                }
                Mask::All => self.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2")),
                Mask::Lanes(m) => {
                    let m = &m[part];
                    self.w.line(format_args!(
                        "call void @llvm.masked.store.{suffix}.p0({vector} {x}, ptr {p}, i32 {size}, <{lanes} x i1> {m}), !noalias !2"
                    ));
                }
            }
        }
    }
}
