//! Vectors of two rows: where the rows along the lane axis fill half a vector or less, the other half is the next row along another
//! axis, so that an operation computes twice as many results.
//!
//! Only folds of products do this whose elements are arithmetic on what is read at affine indices ([`Kernel::pairs_rows`]). Each half
//! is loaded and stored by itself; where there is no second row, the first is computed twice.

use super::{At, Nest};
use crate::kernel::access::{Accesses, Index};
use crate::kernel::{AxisKind, Ix, Kernel, KernelOp, Load, Node, Op};
use crate::llvm::emit::access::address::INPUT_SCOPE;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::sinks::sink::Leaf;
use crate::llvm::emit::text::value::{Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put, stored};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_desugar::analysis::access::Along;
use smallvec::{SmallVec, smallvec};

/// The rows of vectors.
#[derive(Clone)]
pub(crate) struct RowPair {
    /// The axis along which they lie.
    axis: usize,
    lane_axis: usize,
    /// The number of lanes of a row.
    lanes: Operand,
    /// The indices of both; the same if there is no second row.
    rows: [Operand; 2],
    /// The lanes of each that are computed, as flags.
    pub(super) masks: [Operand; 2],
}

impl Kernel {
    /// Whether vectors may hold two rows along an axis: each element is computed of floats that are read at affine indices, and these
    /// are contiguous along the lanes, or the same.
    pub(crate) fn pairs_rows(&self, lanes: usize, axis: usize) -> bool {
        let (body, accesses) = (&self.element, Accesses::of(&self.element));
        let parallel = self.axes.len() - self.folded();
        let reads = |index: &[Ix]| {
            index.iter().enumerate().all(|(dim, ix)| {
                let is_affine = match *ix {
                    Ix::Affine { .. } => true,
                    Ix::At(v) => matches!(accesses.index(v), Index::Affine(_)),
                };
                let contiguous = dim + 1 == index.len();
                is_affine
                    && matches!(accesses.along(ix, axis), Along::Step(_))
                    && matches!(accesses.along(ix, lanes), Along::Step(step) if step == 0 || (step == 1 && contiguous))
            })
        };
        let is_integer = |v| body.ty(v) == ScalarType::I64;
        let is_float = |v| matches!(body.ty(v), ScalarType::F32 | ScalarType::F64);
        let plain = |n: &Node| {
            let mut floats = true;
            n.op.visit_operands(&mut |v| floats &= is_float(v));
            match &n.op {
                Op::Index(l) => l.edge.is_none() && reads(&l.index) && n.results.iter().all(|&v| is_float(v)),
                Op::Own(KernelOp::Check { index, .. }) => reads(index),
                Op::Extent { .. } => true,
                Op::Prim(p, args) if args.iter().all(|&v| is_integer(v)) => {
                    !p.is_partial() && n.results.iter().all(|&v| is_integer(v))
                }
                Op::Prim(..) | Op::Own(KernelOp::Fma(..)) => floats && n.results.iter().all(|&v| is_float(v)),
                _ => false,
            }
        };
        self.outputs.iter().all(|o| o.sink.is_fused())
            && lanes + 1 == parallel
            && axis < lanes
            && self.axes[axis] == AxisKind::Parallel
            && body.region.nodes.iter().all(plain)
    }
}

impl<'a> Nest<'a> {
    /// Begins vectors of the rows from one on, up to `end`.
    pub(super) fn pair_rows(&self, e: &mut Emitter<'a>, axis: usize, [first, end]: [&Operand; 2], at: &At) {
        let lane_axis = self.kernel.loops[self.lane].axis;
        let [from, to] = &at.ranges[lane_axis];
        let lanes = put!(e.code.f, "sub i64 {to}, {from}");
        let next = put!(e.code.f, "add i64 {first}, 1");
        let second = put!(e.code.f, "icmp slt i64 {next}, {end}");
        let next = put!(e.code.f, "select i1 {second}, i64 {next}, i64 {first}");
        let half = e.code.width.lanes / 2;
        let mask = e.code.elements_below(&lanes, 0, half);
        let flags = Shape::Vector(half).of("i1");
        let second = put!(e.code.f, "select i1 {second}, {flags} {mask}, {flags} zeroinitializer");
        let (rows, masks) = ([first.clone(), next], [mask, second]);
        e.scope.pair = Some(RowPair { axis, lane_axis, lanes, rows, masks });
    }

    /// The positions of both rows' first lanes in a result over the first axes.
    pub(super) fn places_of_pair(&self, e: &mut Emitter<'a>, pair: &RowPair, axes: usize) -> [Operand; 2] {
        [0, 1].map(|row| {
            let outer = std::mem::replace(&mut e.scope.axes[pair.axis], Axis::Uniform(pair.rows[row].clone()));
            let place = self.position(e, axes).0;
            e.scope.axes[pair.axis] = outer;
            place
        })
    }
}

impl Emitter<'_> {
    /// Stores vectors of two rows of a result, which begin at these positions.
    pub(super) fn store_rows(&mut self, leaf: Leaf, parts: &Parts, starts: &[Operand; 2], masks: &[Operand; 2]) {
        let (lanes, half, mem, size) =
            (self.code.width.lanes, self.code.width.lanes / 2, stored(leaf.ty), leaf.ty.size());
        let (whole, part) = (Shape::Vector(lanes).of(mem), Shape::Vector(half));
        let out = self.code.f.arg(KernelArg::Output(leaf.number));
        for (row, start) in starts.iter().enumerate() {
            let order: Vec<String> = (row * half..(row + 1) * half).map(|k| format!("i32 {k}")).collect();
            let x = put!(
                self.code.f,
                "shufflevector {whole} {}, {whole} poison, <{half} x i32> <{}>",
                parts[0],
                order.join(", ")
            );
            let p = put!(self.code.f, "getelementptr {mem}, ptr {out}, i64 {start}");
            self.code.f.w.line(format_args!(
                "call void @llvm.masked.store.{}.p0({} {x}, ptr {p}, i32 {size}, <{half} x i1> {}), !noalias !2",
                part.suffix(mem),
                part.of(mem),
                masks[row]
            ));
        }
    }

    /// Reads leaves of an array in vectors of two rows; false if all lanes read the same element.
    pub(crate) fn load_of_pair(&mut self, n: &Node, l: &Load) -> bool {
        let Some(pair) = self.scope.pair.clone() else { return false };
        if n.results.iter().all(|v| self.facts.uniformities[v.index()] == Uniformity::Uniform) {
            return false;
        }
        let moves = |axis: usize| l.index.iter().any(|ix| self.facts.accesses.along(ix, axis) != Along::Step(0));
        let (in_lanes, in_rows) = (moves(pair.lane_axis), moves(pair.axis));
        let rows = if in_rows { &pair.rows[..] } else { &pair.rows[..1] };
        let places: Vec<Operand> = rows.iter().map(|row| self.place_in_row(l, &pair, row, in_lanes)).collect();
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let (ty, column) = (self.ty(result), self.code.f.arg(KernelArg::Column(l.array, leaf)));
            let halves: Vec<Operand> = places
                .iter()
                .map(|place| {
                    if in_lanes {
                        return self.code.half_vector(ty, &column, place, &pair.masks[0], INPUT_SCOPE);
                    }
                    let x = self.code.f.load_element(ty, &column, place);
                    let half = Shape::Vector(self.code.width.lanes / 2).of(element(ty));
                    put!(self.code.f, "insertelement {half} poison, {} {x}, i64 0", element(ty))
                })
                .collect();
            let ends = [&halves[0], halves.last().unwrap_or(&halves[0])];
            let x = self.code.both_halves(ty, ends, in_lanes);
            self.scope.set(result, Value::Varying(smallvec![x]));
        }
        true
    }

    /// The position of the element that the first lane of a row reads. Bails out if that of any lane is out of bounds.
    fn place_in_row(&mut self, l: &Load, pair: &RowPair, row: &Operand, in_lanes: bool) -> Operand {
        let first = std::mem::replace(&mut self.scope.axes[pair.axis], Axis::Uniform(row.clone()));
        let mut place = Operand::int(0);
        for (dim, ix) in l.index.iter().enumerate() {
            let i = self.first_lane_of(ix);
            let last = dim + 1 == l.index.len();
            if !self.is_proven(l.array, dim, ix) {
                let mut ends: SmallVec<[Operand; 2]> = smallvec![i.clone()];
                if in_lanes && last {
                    let after = put!(self.code.f, "add i64 {i}, {}", pair.lanes);
                    ends.push(put!(self.code.f, "sub i64 {after}, 1"));
                }
                self.bail_out_beyond(l.array, dim, ends);
            }
            let stride = self.code.f.stride(l.array, dim, l.index.len());
            let steps = if last { i } else { put!(self.code.f, "mul i64 {i}, {stride}") };
            place = put!(self.code.f, "add i64 {place}, {steps}");
        }
        self.scope.axes[pair.axis] = first;
        place
    }

    /// An affine index in the first lane, with the axes as they are bound.
    fn first_lane_of(&mut self, ix: &Ix) -> Operand {
        match *ix {
            Ix::Affine { .. } => match self.index(ix) {
                Value::Uniform(i) | Value::Affine(i, _) => i,
                Value::Varying(_) => Operand::int(0),
            },
            Ix::At(v) => {
                let index = self.facts.accesses.index(v);
                self.first_of(index.affine())
            }
        }
    }
}

impl VectorCode {
    /// Loads vectors of two rows, which begin at these positions.
    pub(super) fn load_rows(
        &mut self,
        ty: ScalarType,
        column: &Operand,
        starts: &[Operand; 2],
        masks: &[Operand; 2],
    ) -> Parts {
        let [x, y] = [0, 1].map(|row| self.half_vector(ty, column, &starts[row], &masks[row], ""));
        smallvec![self.both_halves(ty, [&x, &y], true)]
    }

    /// The lanes of a row in memory, as half a vector.
    fn half_vector(&mut self, ty: ScalarType, column: &Operand, at: &Operand, mask: &Operand, scope: &str) -> Operand {
        let p = put!(self.f, "getelementptr {}, ptr {column}, i64 {at}", stored(ty));
        self.short_vector(ty, &p, self.width.lanes / 2, Some(mask), scope)
    }

    /// A vector of two halves: of all their lanes, or of the first lane of each.
    fn both_halves(&mut self, ty: ScalarType, [x, y]: [&Operand; 2], all: bool) -> Operand {
        let lanes = self.width.lanes;
        let half = Shape::Vector(lanes / 2).of(element(ty));
        let order = (0..lanes).map(|k| if all { k } else { k / (lanes / 2) * (lanes / 2) });
        let order: Vec<String> = order.map(|k| format!("i32 {k}")).collect();
        put!(self.f, "shufflevector {half} {x}, {half} {y}, <{lanes} x i32> <{}>", order.join(", "))
    }
}
