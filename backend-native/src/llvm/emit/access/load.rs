//! Reads of arrays, checks of indices, and stores of results.

use crate::buffer::CACHE_LINE_BYTES;
use crate::kernel::access::{Affine, Sum};
use crate::kernel::{Edge, Ix, Load, Node};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE, Index, MAX_SHUFFLED_STRIDE};
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::{Operand, put, stored};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Val};
use acc_desugar::analysis::access::{Access, Along};
use smallvec::SmallVec;
use std::sync::Arc;

impl Emitter<'_> {
    /// The value of an index along one dimension.
    pub(crate) fn index(&mut self, ix: &Ix) -> Value {
        match *ix {
            Ix::At(v) => self.scope.value(v),
            Ix::Affine { axis, scale, offset, base } => {
                let (at, lane) = match self.scope.axes[axis as usize].clone() {
                    Axis::Uniform(at) => (at, false),
                    Axis::Lanes(first) => (first, true),
                };
                let first = self.code.f.affine(&at, scale, offset, base.map(|v| self.scope.scalar(v)));
                if lane && scale != 0 {
                    Value::Affine(first, scale * self.code.lane_step)
                } else {
                    Value::Uniform(first)
                }
            }
        }
    }

    /// A number.
    pub(crate) fn number(&mut self, n: &Sum) -> Operand {
        self.affine(n, Vec::new())
    }

    /// An affine integer in the first lane.
    pub(crate) fn first_of(&mut self, a: &Affine) -> Operand {
        let axis = |axis: u32| match &self.scope.axes[axis as usize] {
            Axis::Uniform(at) | Axis::Lanes(at) => at.clone(),
        };
        let terms = a.terms.iter().map(|t| (axis(t.axis), t.step.offset)).collect();
        self.affine(&a.base, terms)
    }

    /// Whether the values of a number have all their bits.
    pub(crate) fn is_whole(&self, n: &Sum) -> bool {
        !n.terms.iter().any(|(v, _)| self.scope.halved.has(*v))
    }

    /// Terms, each a factor of a scalar, and a number.
    fn affine(&mut self, n: &Sum, mut terms: Vec<(Operand, i64)>) -> Operand {
        terms.extend(n.terms.iter().map(|&(v, factor)| (self.scope.scalar(v), factor)));
        let Some((first, factor)) = terms.pop() else { return Operand::int(n.offset) };
        let mut sum = self.code.f.affine(&first, factor, 0, None);
        for (x, factor) in terms {
            sum = self.code.f.affine(&x, factor, 0, Some(sum));
        }
        // The constant last, so that it becomes part of an address.
        self.code.f.affine(&sum, 1, n.offset, None)
    }

    /// The indices of a read, corrected at boundaries and checked: lanes out of bounds record a fault, and the flags
    /// are those of lanes in bounds (none if all active lanes are).
    pub(crate) fn checked_index(&mut self, array: ArrayId, index: &[Ix], edge: Option<Edge>) -> (Index, Option<Parts>) {
        let mut values = Index::new();
        let mut good: Option<Parts> = None;
        if index.is_empty() {
            // No extent tells that the array is not evaluated.
            self.code.f.demand(array);
        }
        for (dim, ix) in index.iter().enumerate() {
            let mut v = self.index(ix);
            if self.is_proven(array, dim, ix) {
                values.push(v);
                continue;
            }
            if let Some(i) = edge.and_then(|e| self.scope.boundary_in_row(array, dim, ix, e)) {
                values.push(Value::Uniform(i));
                continue;
            }
            let extent = self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32));
            if let Some(edge) = edge {
                v = self.code.boundary_index(edge, &v, &extent);
            }
            let within = match &v {
                // Every lane out of bounds is a fault, so the first and the last one decide for all.
                Value::Affine(first, step) if matches!(self.code.mask, Mask::All) => {
                    let last = put!(self.code.f, "add i64 {first}, {}", step * (self.code.width.step() as i64 - 1));
                    let [a, b] = [first, &last].map(|i| put!(self.code.f, "icmp ult i64 {i}, {extent}"));
                    Value::Uniform(put!(self.code.f, "and i1 {a}, {b}"))
                }
                // What was corrected is another number.
                _ if edge.is_some() => self.code.in_bounds(&v, &extent),
                Value::Uniform(_) | Value::Affine(..) | Value::Varying(_) => self.in_bounds(ix, &v, &extent),
            };
            match within {
                Value::Varying(flags) => {
                    good = Some(match good {
                        None => flags,
                        Some(before) => self.code.and_masks(&before, &flags),
                    });
                }
                Value::Uniform(flag) | Value::Affine(flag, _) => {
                    let outside = put!(self.code.f, "xor i1 {flag}, true");
                    self.code.f.bail_out_if(&outside);
                }
            }
            values.push(v);
        }
        if let Some(good) = &good {
            let ty = self.code.mask_type();
            let yes = self.code.f.constant(self.code.shape(), "i1", "true");
            for (part, flags) in good.iter().enumerate() {
                let bad = put!(self.code.f, "xor {ty} {flags}, {yes}");
                self.code.record_fault(part, &bad);
            }
        }
        (values, good)
    }

    /// Whether an index with this value is in `0..extent`.
    fn in_bounds(&mut self, ix: &Ix, value: &Value, extent: &Operand) -> Value {
        let quotient = match *ix {
            Ix::At(v) if matches!(value, Value::Varying(_)) => self.quotient_along_lanes(v),
            Ix::At(_) | Ix::Affine { .. } => None,
        };
        match quotient {
            Some(quotient) => Value::Varying(self.quotients_below(&quotient, extent)),
            None => self.code.in_bounds(value, extent),
        }
    }

    /// Reads leaves of an array.
    pub(crate) fn load(&mut self, n: &Node, l: &Load) {
        if self.load_of_pair(n, l) {
            return;
        }
        let transposed: Vec<(Val, Value)> =
            n.results.iter().filter_map(|&r| Some((r, self.load_transposed(r)?))).collect();
        if !transposed.is_empty() {
            transposed.into_iter().for_each(|(r, v)| self.scope.set(r, v));
            return;
        }
        let is_done = match (l.edge, self.lane_access(l)) {
            (Some(edge @ (Edge::Clamp | Edge::Mirror | Edge::Wrap)), Access::Strided(1)) => {
                self.load_boundary(n, l, edge)
            }
            (None, Access::Wrapped) => self.load_wrapped(n, l),
            (None, Access::Clamped) => self.load_clamped(n, l),
            (None, Access::Repeated(times)) => self.load_repeated(n, l, times),
            (None, Access::Across { step: 1, .. }) => self.load_interleaved(n, l),
            (None, Access::Strided(2..=MAX_SHUFFLED_STRIDE)) => self.load_strided_masked(n, l),
            _ => false,
        };
        if !is_done {
            self.load_at(n, l);
        }
    }

    /// How a read moves through its array from lane to lane.
    pub(crate) fn lane_access(&self, l: &Load) -> Access {
        Access::of(&l.index.iter().map(|ix| self.along_lanes(ix)).collect::<SmallVec<[Along; 4]>>())
    }

    /// How an index changes from lane to lane.
    pub(crate) fn along_lanes(&self, ix: &Ix) -> Along {
        let v = match *ix {
            Ix::Affine { axis, scale, .. } => {
                let is_lane = matches!(self.scope.axes[axis as usize], Axis::Lanes(_));
                return Along::Step(if is_lane { scale * self.code.lane_step } else { 0 });
            }
            Ix::At(v) if self.scope.halved.has(v) => return Along::Varying,
            Ix::At(v) => v,
        };
        match self.facts.uniformities[v.index()] {
            Uniformity::Uniform => Along::Step(0),
            Uniformity::Affine(step) => Along::Step(step),
            Uniformity::Varying => match self.facts.lane.map(|lane| self.facts.accesses.along(ix, lane)) {
                Some(along @ (Along::Clamped | Along::Wrapped | Along::Repeated(_))) => along,
                // Too large a step for an affine value.
                Some(Along::Step(_) | Along::Varying) | None => Along::Varying,
            },
        }
    }

    /// Reads leaves of an array at the address of each lane.
    pub(crate) fn load_at(&mut self, n: &Node, l: &Load) {
        self.compute_deferred(l);
        let (index, good) = self.checked_index(l.array, &l.index, l.edge);
        let place = self.code.address(l.array, &index);
        let place = match place {
            Address::Gathered(positions) => {
                Address::Gathered(self.code.readable_positions(l.array, index.len(), positions))
            }
            Address::Uniform(_) | Address::Contiguous(..) | Address::Strided(..) => place,
        };
        if let Address::Contiguous(first, step) = &place
            && matches!(self.code.mask, Mask::Lanes(_))
            && !self.has_masked_loads(n)
        {
            return self.load_whole_or_masked(n, l, (first, *step), good.as_ref());
        }
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let ty = self.ty(result);
            let column = self.code.f.arg(KernelArg::Column(l.array, leaf));
            let value = match &place {
                Address::Uniform(at) => Value::Uniform(self.code.f.load_element(ty, &column, at)),
                Address::Contiguous(first, step) => {
                    self.prefetch_next_chunk(ty, &column, first);
                    self.prefetch_next_iteration(ty, &column, first, l);
                    Value::Varying(self.code.load_contiguous(ty, &column, first, *step, good.as_ref(), INPUT_SCOPE))
                }
                Address::Strided(first, step) => Value::Varying(self.code.strided_load(ty, &column, first, *step)),
                Address::Gathered(positions) => self.code.gather(ty, &column, positions, INPUT_SCOPE),
            };
            self.scope.set(result, value);
        }
    }

    /// Whether the target has masked loads of the results: of narrow vectors AVX-512 alone does, and others read each lane under a
    /// condition of its own.
    pub(crate) fn has_masked_loads(&self, n: &Node) -> bool {
        self.code.f.target.has_mask_registers() || n.results.iter().all(|&r| self.ty(r).size() >= 4)
    }

    /// Whether all lanes of a step can be read, the active ones and the others, if the first of them in memory is at `start`.
    pub(crate) fn is_readable(&mut self, array: ArrayId, start: &Operand) -> Operand {
        let end = put!(self.code.f, "add i64 {start}, {}", self.code.width.step());
        let [from, to] =
            [KernelArg::ReadableStart(array), KernelArg::ReadableEnd(array)].map(|word| self.code.f.arg(word));
        let from = put!(self.code.f, "icmp sge i64 {start}, {from}");
        let to = put!(self.code.f, "icmp sle i64 {end}, {to}");
        put!(self.code.f, "and i1 {from}, {to}")
    }

    /// Reads contiguous elements of which not all are needed: whole vectors where all can be read, else each lane under a
    /// condition of its own.
    fn load_whole_or_masked(&mut self, n: &Node, l: &Load, (first, step): (&Operand, i64), good: Option<&Parts>) {
        // Pending faults must be checked before control flow splits.
        self.code.bail_out_on_fault();
        let start = match step {
            1.. => first.clone(),
            _ => put!(self.code.f, "sub i64 {first}, {}", self.code.width.step() - 1),
        };
        let readable = self.is_readable(l.array, &start);
        let [whole, each, join] = [(); 3].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&readable, whole, each);
        self.code.f.w.start(whole);
        let mask = std::mem::replace(&mut self.code.mask, Mask::All);
        let all = self
            .load_path(n, l, join, |e, ty, column| e.code.load_contiguous(ty, column, first, step, None, INPUT_SCOPE));
        self.code.mask = mask;
        self.code.f.w.start(each);
        let some = self
            .load_path(n, l, join, |e, ty, column| e.code.load_contiguous(ty, column, first, step, good, INPUT_SCOPE));
        self.join_paths(n, join, &[all, some]);
    }

    /// Prefetches the same part of the thread's next chunk: this chunk is in L1, and while it is stored the memory bus
    /// would be idle.
    fn prefetch_next_chunk(&mut self, ty: ScalarType, column: &Operand, first: &Operand) {
        if !self.hints.ahead {
            return;
        }
        let ahead = self.code.f.arg(KernelArg::PrefetchDistance);
        let next = put!(self.code.f, "add i64 {first}, {ahead}");
        self.prefetch_lanes(ty, column, &next);
    }

    /// Prefetches what is read here at the next index along an axis ([`Loop::prefetches`](crate::kernel::Loop)).
    fn prefetch_next_iteration(&mut self, ty: ScalarType, column: &Operand, first: &Operand, l: &Load) {
        let Some(axis) = self.hints.prefetching else { return };
        let rank = l.index.len();
        let mut next = first.clone();
        for (dim, ix) in l.index.iter().enumerate() {
            if let Ix::Affine { axis: over, scale, .. } = *ix
                && over as usize == axis
                && scale != 0
            {
                let stride = self.code.f.stride(l.array, dim, rank);
                next = self.code.f.affine(&stride, scale, 0, Some(next));
            }
        }
        if next != *first {
            self.prefetch_lanes(ty, column, &next);
        }
    }

    /// Prefetches the cache lines of as many elements as there are lanes.
    fn prefetch_lanes(&mut self, ty: ScalarType, column: &Operand, first: &Operand) {
        let mem = stored(ty);
        let start = put!(self.code.f, "getelementptr {mem}, ptr {column}, i64 {first}");
        for at in (0..self.code.width.step() * ty.size()).step_by(CACHE_LINE_BYTES) {
            let p = put!(self.code.f, "getelementptr i8, ptr {start}, i64 {}", at as i64 * self.code.lane_step);
            self.code.f.w.line(format_args!("call void @llvm.prefetch.p0(ptr {p}, i32 0, i32 3, i32 1)"));
        }
    }

    /// Looks up a word of a table, which becomes a constant of the module.
    pub(crate) fn table(&mut self, words: &Arc<[u64]>, index: Val) -> Value {
        let (number, len) = (self.code.f.table_of(words), words.len());
        let last = len.saturating_sub(1);
        let of = |e: &mut Self, shape: Shape, i: &Operand| {
            let (t, suffix) = (shape.of("i64"), shape.suffix("i64"));
            let [zero, last] = [0, last].map(|c| e.code.f.constant(shape, "i64", &c.to_string()));
            let i = put!(e.code.f, "call {t} @llvm.smax.{suffix}({t} {i}, {t} {zero})");
            put!(e.code.f, "call {t} @llvm.smin.{suffix}({t} {i}, {t} {last})")
        };
        let value = self.scope.value(index);
        if let Value::Uniform(i) = &value {
            let i = of(self, Shape::Scalar, i);
            let p = put!(self.code.f, "getelementptr i64, ptr @t{number}, i64 {i}");
            return Value::Uniform(put!(self.code.f, "load i64, ptr {p}, align 8"));
        }
        let positions = self.code.broadcast(&value, "i64");
        let shape = self.code.shape();
        let positions: Parts = positions.iter().map(|i| of(self, shape, i)).collect();
        self.code.gather(ScalarType::U64, &Operand::text(format!("@t{number}")), &positions, INPUT_SCOPE)
    }

    /// Whether an index is in bounds.
    pub(crate) fn inside(&mut self, n: &Node, array: ArrayId, index: &[Ix]) {
        self.code.f.demand(array);
        let mut flags = Value::Uniform(Operand::text("true"));
        for (dim, ix) in index.iter().enumerate() {
            if self.is_proven(array, dim, ix) {
                continue;
            }
            let v = self.index(ix);
            let extent = self.code.f.arg(KernelArg::ArrayExtent(array, dim as u32));
            let within = self.in_bounds(ix, &v, &extent);
            flags = match (flags, within) {
                (Value::Uniform(a), Value::Uniform(b)) => Value::Uniform(put!(self.code.f, "and i1 {a}, {b}")),
                (a, b) => {
                    let (a, b) = (self.code.broadcast(&a, "i1"), self.code.broadcast(&b, "i1"));
                    Value::Varying(self.code.and_masks(&a, &b))
                }
            };
        }
        if self.facts.uniformities[n.results[0].index()] == Uniformity::Varying {
            flags = Value::Varying(self.code.broadcast(&flags, "i1"));
        }
        self.scope.set(n.results[0], flags);
    }

    /// A fault where an index is out of bounds.
    pub(crate) fn check(&mut self, array: ArrayId, index: &[Ix]) {
        self.code.f.demand(array);
        let _ = self.checked_index(array, index, None);
    }

    /// Stores one element per active lane to consecutive positions, in the order of the lane axis.
    pub(crate) fn store(&mut self, ty: ScalarType, parts: &Parts, out: &Operand, first: &Operand) {
        let lanes = self.code.width.lanes;
        let (mem, size) = (stored(ty), ty.size());
        let (vector, suffix) = (self.code.shape().of(mem), self.code.shape().suffix(mem));
        let start = put!(self.code.f, "getelementptr {mem}, ptr {out}, i64 {first}");
        for (part, x) in parts.iter().enumerate() {
            let p = self.code.vector_address(&start, mem, part, self.code.lane_step);
            let mut x = if ty == ScalarType::Bool {
                let flags = self.code.mask_type();
                put!(self.code.f, "zext {flags} {x} to {vector}")
            } else {
                x.clone()
            };
            let mut mask = self.code.mask.clone();
            if self.code.lane_step < 0 {
                x = self.code.reversed(&x, mem);
                if let Mask::Lanes(m) = &mut mask {
                    m[part] = self.code.reversed(&m[part], "i1");
                }
            }
            match &mask {
                Mask::All if self.hints.stream => {
                    let bytes = (size * lanes).min(64);
                    self.code
                        .f
                        .w
                        .line(format_args!("store {vector} {x}, ptr {p}, align {bytes}, !noalias !2, !nontemporal !4"));
                }
                Mask::All => self.code.f.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2")),
                Mask::Lanes(m) => {
                    let m = &m[part];
                    self.code.f.w.line(format_args!(
                        "call void @llvm.masked.store.{suffix}.p0({vector} {x}, ptr {p}, i32 {size}, <{lanes} x i1> {m}), !noalias !2"
                    ));
                }
            }
        }
    }
}
