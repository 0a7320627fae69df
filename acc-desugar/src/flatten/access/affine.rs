//! The indices of lanes: reads at affine ones are views.

use crate::analysis::access::{self, Axis, Index, Numbers};
use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::scalar::Scalar;
use crate::graph::builder::Builder;
use crate::graph::{SizeOp, Value};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// An axis of the lanes' space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneAxis {
    pub(crate) axis: usize,
    /// The extent of the axis.
    pub(crate) len: Value,
    /// The rank of the space.
    pub(crate) rank: usize,
}

impl Axis for LaneAxis {
    fn number(self) -> usize {
        self.axis
    }
}

/// An integer that is affine in the lanes' index; its numbers are sizes.
pub(crate) type Affine = access::Affine<Value, LaneAxis>;

/// The index along an axis of the lanes, times a step.
pub(crate) type Term = access::Term<Value, LaneAxis>;

/// The number of an [`Affine`] of a [`Flattener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AffineId(usize);

impl Numbers for Builder {
    type Number = Value;
    type Axis = LaneAxis;

    fn literal(&mut self, n: i64) -> Value {
        self.size(n)
    }

    fn constant(&self, n: &Value) -> Option<i64> {
        self.const_size(*n)
    }

    fn apply(&mut self, op: PrimOp, a: &Value, b: &Value) -> Option<Value> {
        let op = match op {
            PrimOp::AddP => SizeOp::Add,
            PrimOp::SubP => SizeOp::Sub,
            PrimOp::MulP => SizeOp::Mul,
            _ => return None,
        };
        Some(self.size_op(op, *a, *b))
    }
}

impl Flattener<'_> {
    /// What a primitive operation on `i64` yields of an index.
    pub(crate) fn index_prim(&mut self, p: PrimOp, operands: &[Scalar]) -> Option<Index<Value, LaneAxis>> {
        let known = |s: &Scalar| match s {
            Scalar::Size(_) => false,
            Scalar::Affine(_) => true,
            Scalar::Tensor(v) => self.indices.known.contains_key(v),
        };
        if !operands.iter().any(known) {
            return None;
        }
        let mut all: SmallVec<[Index<Value, LaneAxis>; 2]> = SmallVec::new();
        for s in operands {
            let s = match *s {
                Scalar::Tensor(v) => on_host_if_known(&mut self.b, v),
                s => s,
            };
            all.push(self.indices.of(s)?);
        }
        Index::prim(&mut self.b, p, &all)
    }
}

impl Indices {
    /// The index along each axis of a space.
    pub(crate) fn index_of(&mut self, b: &mut Builder, space: &[Value]) -> Vec<Scalar> {
        let (zero, one) = (b.size(0), b.size(1));
        let rank = space.len();
        let axes = space.iter().enumerate().map(|(axis, len)| LaneAxis { axis, len: *len, rank });
        axes.map(|axis| self.affine(Affine::along(axis, zero, one))).collect()
    }

    pub(crate) fn affine(&mut self, a: Affine) -> Scalar {
        if a.terms.is_empty() {
            return Scalar::Size(a.base);
        }
        self.affines.push(a);
        Scalar::Affine(AffineId(self.affines.len() - 1))
    }

    /// The parts of a scalar that is a size or affine.
    pub(crate) fn affine_of(&self, s: Scalar) -> Option<Affine> {
        match s {
            Scalar::Size(base) => Some(Affine::uniform(base)),
            Scalar::Affine(id) => self.affines.get(id.0).cloned(),
            Scalar::Tensor(_) => None,
        }
    }

    /// A scalar as an index, if it is one.
    fn of(&self, s: Scalar) -> Option<Index<Value, LaneAxis>> {
        match s {
            Scalar::Tensor(v) => self.known.get(&v).cloned(),
            s => self.affine_of(s).map(Index::Affine),
        }
    }

    /// An affine integer as a tensor of the space's rank, with extents of 1 where it does not vary.
    pub(crate) fn materialised(&self, b: &mut Builder, id: AffineId) -> Value {
        let Some(a) = self.affines.get(id.0).cloned() else { return b.constant(acc_core::data::Prim::lit(0i64)) };
        let mut start = a.base;
        let mut sum: Option<Value> = None;
        for t in &a.terms {
            let LaneAxis { axis, len, rank } = t.axis;
            let iota = b.iota_from(len, start, t.step);
            let others = (0..rank as u32).filter(|k| *k as usize != axis).collect();
            let iota = b.insert_axes(iota, others);
            sum = Some(match sum {
                Some(sum) => b.prim(PrimOp::AddP, &[sum, iota]),
                None => iota,
            });
            start = b.size(0);
        }
        match sum {
            Some(sum) => sum,
            None => b.tensor_of_size(a.base),
        }
    }

    /// A scalar as a value of the graph: a size, or a tensor.
    pub(crate) fn value(&self, b: &mut Builder, s: Scalar) -> Value {
        match s {
            Scalar::Size(v) | Scalar::Tensor(v) => v,
            Scalar::Affine(id) => self.materialised(b, id),
        }
    }
}

/// A uniform tensor of `i64` or `bool` that the host has, as a size.
pub(crate) fn on_host_if_known(b: &mut Builder, v: Value) -> Scalar {
    let kind = matches!(b.scalar(v), ScalarType::I64 | ScalarType::Bool) && b.rank(v) == 0;
    match if kind { b.known_size(v) } else { None } {
        Some(size) => Scalar::Size(size),
        None => Scalar::Tensor(v),
    }
}

impl Affine {
    /// Whether a position runs along a whole axis of this extent.
    pub(crate) fn is_own_axis(&self, b: &Builder, extent: Value) -> bool {
        let whole = |a: LaneAxis| b.const_size(self.base) == Some(0) && b.origin(a.len) == b.origin(extent);
        self.shifted_axis(b).is_some_and(whole)
    }

    /// Whether every position is certainly in bounds: it runs along an axis, and the extent is that axis's and more.
    pub(crate) fn is_inside(&self, b: &Builder, extent: Value) -> bool {
        let (Some(axis), Some(base)) = (self.shifted_axis(b), b.const_size(self.base)) else { return false };
        let more = b.beyond(extent, axis.len);
        base >= 0 && more.is_some_and(|more| base <= more)
    }

    /// Whether some lane's position is out of bounds: a size.
    pub(crate) fn outside(&self, b: &mut Builder, extent: Value) -> Value {
        if self.is_inside(b, extent) {
            return b.size(0);
        }
        let steps = self.terms.iter().map(|t| t.step).collect();
        let lens = self.terms.iter().map(|t| t.axis.len).collect();
        b.outside(self.base, steps, lens, extent)
    }
}
