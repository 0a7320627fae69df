//! Addresses of elements, and the instructions that load from them.

use crate::kernel::Edge;
use crate::llvm::emit::KernelArg;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put, stored};
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;

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

impl Function {
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

    /// Bails out if an array has no element, or is not evaluated.
    pub(crate) fn bail_out_if_empty(&mut self, array: ArrayId, rank: usize) {
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

    /// Loads one element.
    pub(crate) fn load_element(&mut self, ty: ScalarType, column: &Operand, at: &Operand) -> Operand {
        let (mem, size) = (stored(ty), ty.size());
        let p = put!(self, "getelementptr {mem}, ptr {column}, i64 {at}");
        let x = put!(self, "load {mem}, ptr {p}, align {size}{INPUT_SCOPE}");
        if ty == ScalarType::Bool { put!(self, "icmp ne i8 {x}, 0") } else { x }
    }
}

impl VectorCode {
    pub(crate) fn and_masks(&mut self, a: &Parts, b: &Parts) -> Parts {
        let ty = self.mask_type();
        a.iter().zip(b).map(|(a, b)| put!(self.f, "and {ty} {a}, {b}")).collect()
    }

    /// Whether an index is in `0..extent`.
    pub(crate) fn in_bounds(&mut self, v: &Value, extent: &Operand) -> Value {
        match v {
            Value::Uniform(i) => Value::Uniform(put!(self.f, "icmp ult i64 {i}, {extent}")),
            Value::Affine(first, 1) => Value::Varying(self.lanes_within(first, extent)),
            Value::Affine(..) | Value::Varying(_) => {
                let (ty, n) = (self.shape().of("i64"), self.splat(extent, "i64"));
                let lanes = self.broadcast(v, "i64");
                Value::Varying(lanes.iter().map(|i| put!(self.f, "icmp ult {ty} {i}, {n}")).collect())
            }
        }
    }

    /// The index that one beyond a boundary stands for.
    pub(crate) fn boundary_index(&mut self, edge: Edge, v: &Value, extent: &Operand) -> Value {
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
        let [zero, one] = ["0", "1"].map(|c| self.f.constant(shape, "i64", c));
        let below = put!(self.f, "icmp slt {ty} {i}, {zero}");
        let above = put!(self.f, "icmp sge {ty} {i}, {n}");
        let (low, high) = match edge {
            Edge::Clamp | Edge::Any => (zero, put!(self.f, "sub {ty} {n}, {one}")),
            Edge::Mirror => {
                let low = put!(self.f, "sub {ty} {zero}, {i}");
                let last = put!(self.f, "sub {ty} {n}, {one}");
                let twice = put!(self.f, "add {ty} {last}, {last}");
                (low, put!(self.f, "sub {ty} {twice}, {i}"))
            }
            Edge::Wrap => (put!(self.f, "add {ty} {i}, {n}"), put!(self.f, "sub {ty} {i}, {n}")),
        };
        let upper = put!(self.f, "select {flags} {above}, {ty} {high}, {ty} {i}");
        put!(self.f, "select {flags} {below}, {ty} {low}, {ty} {upper}")
    }

    /// The row-major address of an index.
    pub(crate) fn address(&mut self, array: ArrayId, index: &Index) -> Address {
        let rank = index.len();
        let mut first = Operand::int(0);
        let (mut run, mut strided) = (0, None);
        let mut lanes: Option<Parts> = None;
        let ty = self.shape().of("i64");
        for (dim, v) in index.iter().enumerate() {
            let stride = self.f.stride(array, dim, rank);
            let last = dim + 1 == rank;
            match v {
                Value::Uniform(i) | Value::Affine(i, _) => {
                    let term = if last { i.clone() } else { put!(self.f, "mul i64 {i}, {stride}") };
                    first = if first == Operand::int(0) { term } else { put!(self.f, "add i64 {first}, {term}") };
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
                offsets.iter().map(|o| put!(self.f, "mul {ty} {o}, {by}")).collect()
            };
            lanes = Some(match lanes {
                None => scaled,
                Some(sum) => sum.iter().zip(&scaled).map(|(a, b)| put!(self.f, "add {ty} {a}, {b}")).collect(),
            });
        }
        match (lanes, run, strided) {
            (None, _, Some(step)) => Address::Strided(first, step),
            (None, 0, None) => Address::Uniform(first),
            (None, run, None) => Address::Contiguous(first, run),
            (Some(lanes), ..) => {
                let start = self.splat(&first, "i64");
                Address::Gathered(lanes.iter().map(|l| put!(self.f, "add {ty} {start}, {l}")).collect())
            }
        }
    }

    /// The mask of a read: active lanes in bounds; none if that is all lanes.
    pub(crate) fn read_mask(&mut self, part: usize, good: Option<&Parts>) -> Option<Operand> {
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
        let start = put!(self.f, "getelementptr {mem}, ptr {column}, i64 {first}");
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            let p = self.vector_address(&start, mem, part, step);
            let mut mask = self.read_mask(part, good);
            if let (Some(m), true) = (&mask, step < 0) {
                mask = Some(self.reversed(m, "i1"));
            }
            let x = match mask {
                None => put!(self.f, "load {vector}, ptr {p}, align {size}{scope}"),
                Some(m) => put!(
                    self.f,
                    "call {vector} @llvm.masked.load.{suffix}.p0(ptr {p}, i32 {size}, <{lanes} x i1> {m}, {vector} zeroinitializer){scope}"
                ),
            };
            let x = if step < 0 { self.reversed(&x, mem) } else { x };
            parts.push(self.register_form(ty, x));
        }
        parts
    }

    /// The address of a part's vector among consecutive elements, ascending or descending, whose first lane is at
    /// `start`.
    pub(crate) fn vector_address(&mut self, start: &Operand, mem: &str, part: usize, step: i64) -> Operand {
        let lanes = self.width.lanes;
        let offset = if step > 0 { (part * lanes) as i64 } else { -((part * lanes + lanes - 1) as i64) };
        if offset == 0 { start.clone() } else { put!(self.f, "getelementptr {mem}, ptr {start}, i64 {offset}") }
    }

    /// The lanes of a vector in reverse order.
    pub(crate) fn reversed(&mut self, x: &Operand, element: &str) -> Operand {
        let (ty, n) = (self.shape().of(element), self.width.lanes);
        let order: Vec<String> = (0..n).rev().map(|k| format!("i32 {k}")).collect();
        put!(self.f, "shufflevector {ty} {x}, {ty} poison, <{n} x i32> <{}>", order.join(", "))
    }

    /// Converts from the type in memory to the type in registers.
    pub(crate) fn register_form(&mut self, ty: ScalarType, x: Operand) -> Operand {
        if ty != ScalarType::Bool {
            return x;
        }
        let bytes = self.shape().of("i8");
        put!(self.f, "icmp ne {bytes} {x}, zeroinitializer")
    }

    /// Positions that all can be read: inactive lanes read the first element that is materialised.
    pub(crate) fn readable_positions(&mut self, array: ArrayId, rank: usize, positions: Parts) -> Parts {
        // Reads of single lanes, each under its own condition, would cost more than this check.
        self.bail_out_on_fault();
        let Mask::Lanes(mask) = self.mask.clone() else { return positions };
        self.f.bail_out_if_empty(array, rank);
        let first = self.f.arg(KernelArg::ReadableStart(array));
        let (flags, ty, first) = (self.mask_type(), self.shape().of("i64"), self.splat(&first, "i64"));
        let all = positions.iter().zip(&mask);
        all.map(|(at, m)| put!(self.f, "select {flags} {m}, {ty} {at}, {ty} {first}")).collect()
    }

    /// Gathers elements from positions that all can be read; `scope` names the alias scope.
    pub(crate) fn gather(&mut self, ty: ScalarType, column: &Operand, positions: &Parts, scope: &str) -> Value {
        if self.f.gathers_words(ty) {
            return self.gather_words(ty, column, positions, scope);
        }
        let (mem, size, lanes) = (stored(ty), ty.size(), self.width.lanes);
        let (vector, suffix, indices) = (self.shape().of(mem), self.shape().suffix(mem), self.shape().of("i64"));
        let mut parts = Parts::new();
        let mask = self.f.constant(self.shape(), "i1", "true");
        for at in positions {
            let p = put!(self.f, "getelementptr {mem}, ptr {column}, {indices} {at}");
            let x = put!(
                self.f,
                "call {vector} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr> {p}, i32 {size}, <{lanes} x i1> {mask}, {vector} zeroinitializer){scope}"
            );
            parts.push(self.register_form(ty, x));
        }
        Value::Varying(parts)
    }
}
