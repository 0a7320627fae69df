//! Reads of arrays, checks of indices, and stores of results.

use crate::buffer::CACHE_LINE_BYTES;
use crate::kernel::{Edge, Ix, Load, Node};
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::{Operand, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Val};
use smallvec::SmallVec;
use std::sync::Arc;

/// One index per dimension.
pub(crate) type Index = SmallVec<[Value; 4]>;

/// How the address of a read follows the lanes, in elements.
pub(crate) enum Address {
    /// One element for all lanes.
    Uniform(Operand),
    /// Consecutive elements from this position on, ascending (1) or descending (-1).
    Contiguous(Operand, i64),
    /// Every n-th element from this position on, with all lanes active.
    Strided(Operand, usize),
    /// Any positions.
    Gathered(Parts),
}

/// Strides up to this load all elements in between and shuffle; larger ones gather.
pub(crate) const MAX_SHUFFLED_STRIDE: i64 = 4;

/// The alias scope of arrays that are read, which never overlap results.
pub(crate) const INPUT_SCOPE: &str = ", !alias.scope !2";

impl Emitter<'_> {
    /// The value of an index along one dimension.
    pub(crate) fn index(&mut self, ix: &Ix) -> Value {
        match *ix {
            Ix::At(v) => self.value(v),
            Ix::Affine { axis, scale, offset, base } => {
                let (at, lane) = match self.axes[axis as usize].clone() {
                    Axis::Uniform(at) => (at, false),
                    Axis::Lanes(first) => (first, true),
                };
                let first = self.affine(&at, scale, offset, base.map(|v| self.scalar(v)));
                if lane && scale != 0 { Value::Affine(first, scale * self.lane_step) } else { Value::Uniform(first) }
            }
        }
    }

    /// `scale * at + base + offset`.
    pub(crate) fn affine(&mut self, at: &Operand, scale: i64, offset: i64, base: Option<Operand>) -> Operand {
        let mut sum = match scale {
            0 => Operand::int(0),
            1 => at.clone(),
            _ => put!(self, "mul i64 {at}, {scale}"),
        };
        if let Some(base) = base {
            sum = put!(self, "add i64 {sum}, {base}");
        }
        // The constant last, so that it becomes part of an address.
        if offset != 0 {
            sum = put!(self, "add i64 {sum}, {offset}");
        }
        sum
    }

    /// The indices of a read, corrected at boundaries and checked: lanes out of bounds record a fault, and the flags
    /// are those of lanes in bounds (none if all active lanes are).
    pub(crate) fn checked_index(&mut self, array: ArrayId, index: &[Ix], edge: Option<Edge>) -> (Index, Option<Parts>) {
        let mut values = Index::new();
        let mut good: Option<Parts> = None;
        if edge == Some(Edge::Any) {
            self.bail_out_if_empty(array, index.len());
        }
        if index.is_empty() {
            // No extent tells that the array is not evaluated.
            self.demand(array);
        }
        for (dim, ix) in index.iter().enumerate() {
            let mut v = self.index(ix);
            if self.is_proven(array, dim, ix) {
                values.push(v);
                continue;
            }
            if let Some(i) = edge.and_then(|e| self.boundary_in_row(array, dim, ix, e)) {
                values.push(Value::Uniform(i));
                continue;
            }
            let extent = self.arg(KernelArg::ArrayExtent(array, dim as u32));
            if let Some(edge) = edge {
                v = self.boundary_index(edge, &v, &extent);
            }
            if edge != Some(Edge::Any) {
                let within = match &v {
                    // Every lane out of bounds is a fault, so the first and the last one decide for all.
                    Value::Affine(first, step) if matches!(self.mask, Mask::All) => {
                        let last = put!(self, "add i64 {first}, {}", step * (self.width.step() as i64 - 1));
                        let [a, b] = [first, &last].map(|i| put!(self, "icmp ult i64 {i}, {extent}"));
                        Value::Uniform(put!(self, "and i1 {a}, {b}"))
                    }
                    Value::Uniform(_) | Value::Affine(..) | Value::Varying(_) => self.in_bounds(&v, &extent),
                };
                match within {
                    Value::Varying(flags) => {
                        good = Some(match good {
                            None => flags,
                            Some(before) => self.and_masks(&before, &flags),
                        });
                    }
                    Value::Uniform(flag) | Value::Affine(flag, _) => {
                        let outside = put!(self, "xor i1 {flag}, true");
                        self.bail_out_if(&outside);
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
                self.record_fault(part, &bad);
            }
        }
        (values, good)
    }

    pub(crate) fn and_masks(&mut self, a: &Parts, b: &Parts) -> Parts {
        let ty = self.mask_type();
        a.iter().zip(b).map(|(a, b)| put!(self, "and {ty} {a}, {b}")).collect()
    }

    /// Bails out if an array has no element, or is not evaluated.
    fn bail_out_if_empty(&mut self, array: ArrayId, rank: usize) {
        for dim in 0..rank {
            let extent = self.arg(KernelArg::ArrayExtent(array, dim as u32));
            let empty = put!(self, "icmp eq i64 {extent}, 0");
            self.bail_out_if(&empty);
        }
    }

    /// Bails out if an array is not evaluated: whatever asks about it demands it.
    pub(crate) fn demand(&mut self, array: ArrayId) {
        let evaluated = self.arg(KernelArg::Evaluated(array));
        let not = put!(self, "icmp eq i64 {evaluated}, 0");
        self.bail_out_if(&not);
    }

    /// Whether an index is in `0..extent`.
    fn in_bounds(&mut self, v: &Value, extent: &Operand) -> Value {
        match v {
            Value::Uniform(i) => Value::Uniform(put!(self, "icmp ult i64 {i}, {extent}")),
            Value::Affine(..) | Value::Varying(_) => {
                let (ty, n) = (self.shape().of("i64"), self.splat(extent, "i64"));
                let lanes = self.broadcast(v, "i64");
                Value::Varying(lanes.iter().map(|i| put!(self, "icmp ult {ty} {i}, {n}")).collect())
            }
        }
    }

    /// The index that one beyond a boundary stands for.
    fn boundary_index(&mut self, edge: Edge, v: &Value, extent: &Operand) -> Value {
        match v {
            Value::Uniform(i) => Value::Uniform(self.boundary_operand(edge, "i64", "i1", i, extent)),
            Value::Affine(..) | Value::Varying(_) => {
                let (ty, flags) = (self.shape().of("i64"), self.mask_type());
                let n = self.splat(extent, "i64");
                let lanes = self.broadcast(v, "i64");
                Value::Varying(lanes.iter().map(|i| self.boundary_operand(edge, &ty, &flags, i, &n)).collect())
            }
        }
    }

    pub(crate) fn boundary_operand(&mut self, edge: Edge, ty: &str, flags: &str, i: &Operand, n: &Operand) -> Operand {
        let shape = if ty == "i64" { Shape::Scalar } else { self.shape() };
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

    /// The row-major address of an index.
    pub(crate) fn address(&mut self, array: ArrayId, index: &Index) -> Address {
        let rank = index.len();
        let mut first = Operand::int(0);
        let (mut run, mut strided) = (0, None);
        let mut lanes: Option<Parts> = None;
        let ty = self.shape().of("i64");
        for (dim, v) in index.iter().enumerate() {
            let stride = self.stride(array, dim, rank);
            let last = dim + 1 == rank;
            match v {
                Value::Uniform(i) | Value::Affine(i, _) => {
                    let term = if last { i.clone() } else { put!(self, "mul i64 {i}, {stride}") };
                    first = if first == Operand::int(0) { term } else { put!(self, "add i64 {first}, {term}") };
                }
                Value::Varying(_) => {}
            }
            let offsets: Parts = match v {
                Value::Uniform(_) => continue,
                Value::Affine(_, step @ (1 | -1)) if last && lanes.is_none() => {
                    run = *step;
                    continue;
                }
                Value::Affine(_, step @ 2..=MAX_SHUFFLED_STRIDE)
                    if last && lanes.is_none() && matches!(self.mask, Mask::All) =>
                {
                    strided = usize::try_from(*step).ok();
                    continue;
                }
                Value::Affine(_, step) => (0..self.width.parts).map(|p| self.offsets(*step, p)).collect(),
                Value::Varying(parts) => parts.clone(),
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
        match (lanes, run, strided) {
            (None, _, Some(step)) => Address::Strided(first, step),
            (None, 0, None) => Address::Uniform(first),
            (None, run, None) => Address::Contiguous(first, run),
            (Some(lanes), ..) => {
                let start = self.splat(&first, "i64");
                Address::Gathered(lanes.iter().map(|l| put!(self, "add {ty} {start}, {l}")).collect())
            }
        }
    }

    /// Reads leaves of an array.
    pub(crate) fn load(&mut self, n: &Node, l: &Load) {
        let transposed: Vec<(Val, Value)> =
            n.results.iter().filter_map(|&r| Some((r, self.load_transposed(r)?))).collect();
        if !transposed.is_empty() {
            transposed.into_iter().for_each(|(r, v)| self.set(r, v));
            return;
        }
        if self.load_boundary(n, l) || self.load_wrapped(n, l) || self.load_clamped(n, l) {
            return;
        }
        if self.load_interleaved(n, l) || self.load_strided_masked(n, l) {
            return;
        }
        let (index, good) = self.checked_index(l.array, &l.index, l.edge);
        let place = self.address(l.array, &index);
        let place = match place {
            Address::Gathered(positions) => Address::Gathered(self.readable_positions(l.array, index.len(), positions)),
            Address::Uniform(_) | Address::Contiguous(..) | Address::Strided(..) => place,
        };
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let ty = self.ty(result);
            let column = self.arg(KernelArg::Column(l.array, leaf));
            let value = match &place {
                Address::Uniform(at) => Value::Uniform(self.load_element(ty, &column, at)),
                Address::Contiguous(first, step) => {
                    self.prefetch_next_chunk(ty, &column, first);
                    Value::Varying(self.load_contiguous(ty, &column, first, *step, good.as_ref(), INPUT_SCOPE))
                }
                Address::Strided(first, step) => Value::Varying(self.strided_load(ty, &column, first, *step)),
                Address::Gathered(positions) => self.gather(ty, &column, positions, INPUT_SCOPE),
            };
            self.set(result, value);
        }
    }

    /// Loads one element.
    pub(crate) fn load_element(&mut self, ty: ScalarType, column: &Operand, at: &Operand) -> Operand {
        let (mem, size) = (stored(ty), ty.size());
        let p = put!(self, "getelementptr {mem}, ptr {column}, i64 {at}");
        let x = put!(self, "load {mem}, ptr {p}, align {size}{INPUT_SCOPE}");
        if ty == ScalarType::Bool { put!(self, "icmp ne i8 {x}, 0") } else { x }
    }

    /// The mask of a read: active lanes in bounds; none if that is all lanes.
    fn read_mask(&mut self, part: usize, good: Option<&Parts>) -> Option<Operand> {
        match good {
            None => self.part_mask(part),
            Some(good) => Some(self.and_mask(part, &good[part])),
        }
    }

    /// Loads consecutive elements, the first lane's at `first`; `scope` names the alias scope.
    pub(crate) fn load_contiguous(
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
            let p = self.vector_address(&start, mem, part, step);
            let mut mask = self.read_mask(part, good);
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
            parts.push(self.from_memory(ty, x));
        }
        parts
    }

    /// Prefetches the same part of the thread's next chunk: this chunk is in L1, and while it is stored the memory bus
    /// would be idle.
    fn prefetch_next_chunk(&mut self, ty: ScalarType, column: &Operand, first: &Operand) {
        if !self.ahead {
            return;
        }
        let (mem, ahead) = (stored(ty), self.arg(KernelArg::PrefetchDistance));
        let next = put!(self, "add i64 {first}, {ahead}");
        let start = put!(self, "getelementptr {mem}, ptr {column}, i64 {next}");
        for at in (0..self.width.step() * ty.size()).step_by(CACHE_LINE_BYTES) {
            let p = put!(self, "getelementptr i8, ptr {start}, i64 {}", at as i64 * self.lane_step);
            self.w.line(format_args!("call void @llvm.prefetch.p0(ptr {p}, i32 0, i32 3, i32 1)"));
        }
    }

    /// The address of a part's vector among consecutive elements, ascending or descending, whose first lane is at
    /// `start`.
    fn vector_address(&mut self, start: &Operand, mem: &str, part: usize, step: i64) -> Operand {
        let lanes = self.width.lanes;
        let offset = if step > 0 { (part * lanes) as i64 } else { -((part * lanes + lanes - 1) as i64) };
        if offset == 0 { start.clone() } else { put!(self, "getelementptr {mem}, ptr {start}, i64 {offset}") }
    }

    /// The lanes of a vector in reverse order.
    fn reversed(&mut self, x: &Operand, element: &str) -> Operand {
        let (ty, n) = (self.shape().of(element), self.width.lanes);
        let order: Vec<String> = (0..n).rev().map(|k| format!("i32 {k}")).collect();
        put!(self, "shufflevector {ty} {x}, {ty} poison, <{n} x i32> <{}>", order.join(", "))
    }

    /// Converts from the type in memory to the type in registers.
    pub(crate) fn from_memory(&mut self, ty: ScalarType, x: Operand) -> Operand {
        if ty != ScalarType::Bool {
            return x;
        }
        let bytes = self.shape().of("i8");
        put!(self, "icmp ne {bytes} {x}, zeroinitializer")
    }

    /// Positions that all can be read: inactive lanes read the first element that is materialised.
    pub(crate) fn readable_positions(&mut self, array: ArrayId, rank: usize, positions: Parts) -> Parts {
        // Reads of single lanes, each under its own condition, would cost more than this check.
        self.bail_out_on_fault();
        let Mask::Lanes(mask) = self.mask.clone() else { return positions };
        self.bail_out_if_empty(array, rank);
        let first = self.arg(KernelArg::ReadableStart(array));
        let (flags, ty, first) = (self.mask_type(), self.shape().of("i64"), self.splat(&first, "i64"));
        let all = positions.iter().zip(&mask);
        all.map(|(at, m)| put!(self, "select {flags} {m}, {ty} {at}, {ty} {first}")).collect()
    }

    /// Gathers elements from positions that all can be read; `scope` names the alias scope.
    pub(crate) fn gather(&mut self, ty: ScalarType, column: &Operand, positions: &Parts, scope: &str) -> Value {
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
            parts.push(self.from_memory(ty, x));
        }
        Value::Varying(parts)
    }

    /// Looks up a word of a table, which becomes a constant of the module.
    pub(crate) fn table(&mut self, words: &Arc<[u64]>, index: Val) -> Value {
        let (number, len) = (self.table_of(words), words.len());
        let last = len.saturating_sub(1);
        let of = |e: &mut Self, shape: Shape, i: &Operand| {
            let (t, suffix) = (shape.of("i64"), shape.suffix("i64"));
            let [zero, last] = [0, last].map(|c| e.constant(shape, "i64", &c.to_string()));
            let i = put!(e, "call {t} @llvm.smax.{suffix}({t} {i}, {t} {zero})");
            put!(e, "call {t} @llvm.smin.{suffix}({t} {i}, {t} {last})")
        };
        let value = self.value(index);
        if let Value::Uniform(i) = &value {
            let i = of(self, Shape::Scalar, i);
            let p = put!(self, "getelementptr i64, ptr @t{number}, i64 {i}");
            return Value::Uniform(put!(self, "load i64, ptr {p}, align 8"));
        }
        let positions = self.broadcast(&value, "i64");
        let shape = self.shape();
        let positions: Parts = positions.iter().map(|i| of(self, shape, i)).collect();
        self.gather(ScalarType::U64, &Operand::text(format!("@t{number}")), &positions, INPUT_SCOPE)
    }

    /// Whether an index is in bounds.
    pub(crate) fn inside(&mut self, n: &Node, array: ArrayId, index: &[Ix]) {
        self.demand(array);
        let mut flags = Value::Uniform(Operand::text("true"));
        for (dim, ix) in index.iter().enumerate() {
            if self.is_proven(array, dim, ix) {
                continue;
            }
            let v = self.index(ix);
            let extent = self.arg(KernelArg::ArrayExtent(array, dim as u32));
            let within = self.in_bounds(&v, &extent);
            flags = match (flags, within) {
                (Value::Uniform(a), Value::Uniform(b)) => Value::Uniform(put!(self, "and i1 {a}, {b}")),
                (a, b) => {
                    let (a, b) = (self.broadcast(&a, "i1"), self.broadcast(&b, "i1"));
                    Value::Varying(self.and_masks(&a, &b))
                }
            };
        }
        if self.uniformities[n.results[0].index()] == crate::llvm::emit::Uniformity::Varying {
            flags = Value::Varying(self.broadcast(&flags, "i1"));
        }
        self.set(n.results[0], flags);
    }

    /// A fault where an index is out of bounds.
    pub(crate) fn check(&mut self, array: ArrayId, index: &[Ix]) {
        self.demand(array);
        let _ = self.checked_index(array, index, None);
    }

    /// Stores one element per active lane to consecutive positions, in the order of the lane axis.
    pub(crate) fn store(&mut self, ty: ScalarType, parts: &Parts, out: &Operand, first: &Operand) {
        let lanes = self.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let (vector, suffix) = (self.shape().of(mem), self.shape().suffix(mem));
        let start = put!(self, "getelementptr {mem}, ptr {out}, i64 {first}");
        for (part, x) in parts.iter().enumerate() {
            let p = self.vector_address(&start, mem, part, self.lane_step);
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
