//! Integers that are affine in the lanes' index: reads at them are views.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::scalar::Scalar;
use crate::graph::builder::Builder;
use crate::graph::{SizeOp, Value};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// `base + Σ step·i`, over some axes of an index space. The arithmetic wraps, as that of `i64` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Affine {
    /// A size.
    pub(crate) base: Value,
    /// At most one for each axis; the axes increase.
    pub(crate) terms: SmallVec<[Term; 2]>,
    /// The rank of the index space.
    pub(crate) rank: usize,
}

/// The index along an axis, times a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    pub(crate) axis: usize,
    /// The extent of the axis.
    pub(crate) len: Value,
    /// A size; not the constant 0.
    pub(crate) step: Value,
}

/// The number of an [`Affine`] of a [`Flattener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AffineId(usize);

impl Flattener<'_> {
    /// A primitive operation on `i64` that keeps its operands, sizes or affine, affine.
    pub(crate) fn affine_prim(&mut self, p: PrimOp, operands: &[Scalar]) -> Option<Scalar> {
        if !operands.iter().any(|s| matches!(s, Scalar::Affine(_))) {
            return None;
        }
        let mut parts: SmallVec<[Affine; 2]> = SmallVec::new();
        for s in operands {
            parts.push(match *s {
                // A rank-0 tensor that the host has.
                Scalar::Tensor(v) if self.b.rank(v) == 0 => {
                    Affine { base: self.b.known_size(v)?, terms: SmallVec::new(), rank: 0 }
                }
                s => self.indices.affine_of(s)?,
            });
        }
        let result = match (p, &parts[..]) {
            (PrimOp::AddP, [a, b]) => combine(&mut self.b, SizeOp::Add, a, b),
            (PrimOp::SubP, [a, b]) => combine(&mut self.b, SizeOp::Sub, a, b),
            (PrimOp::MulP, [a, b]) if b.terms.is_empty() => self.scaled(a, b.base),
            (PrimOp::MulP, [a, b]) if a.terms.is_empty() => self.scaled(b, a.base),
            (PrimOp::NegP, [a]) => {
                let minus_one = self.b.size(-1);
                self.scaled(a, minus_one)
            }
            _ => return None,
        };
        Some(self.indices.affine(result))
    }

    fn scaled(&mut self, a: &Affine, by: Value) -> Affine {
        let base = self.b.size_op(SizeOp::Mul, a.base, by);
        let mut terms = SmallVec::new();
        for t in &a.terms {
            let step = self.b.size_op(SizeOp::Mul, t.step, by);
            if self.b.const_size(step) != Some(0) {
                terms.push(Term { step, ..*t });
            }
        }
        Affine { base, terms, rank: a.rank }
    }
}

impl Indices {
    /// The index along each axis of a space.
    pub(crate) fn index_of(&mut self, b: &mut Builder, space: &[Value]) -> Vec<Scalar> {
        let (zero, one) = (b.size(0), b.size(1));
        let rank = space.len();
        space
            .iter()
            .enumerate()
            .map(|(axis, len)| {
                let terms = SmallVec::from_iter([Term { axis, len: *len, step: one }]);
                self.affine(Affine { base: zero, terms, rank })
            })
            .collect()
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
            Scalar::Size(base) => Some(Affine { base, terms: SmallVec::new(), rank: 0 }),
            Scalar::Affine(id) => self.affines.get(id.0).cloned(),
            Scalar::Tensor(_) => None,
        }
    }

    /// An affine integer as a tensor of the space's rank, with extents of 1 where it does not vary.
    pub(crate) fn materialised(&self, b: &mut Builder, id: AffineId) -> Value {
        let Some(a) = self.affines.get(id.0).cloned() else { return b.constant(acc_core::data::Prim::lit(0i64)) };
        let mut start = a.base;
        let mut sum: Option<Value> = None;
        for t in &a.terms {
            let iota = b.iota_from(t.len, start, t.step);
            let others = (0..a.rank as u32).filter(|k| *k as usize != t.axis).collect();
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

fn combine(g: &mut Builder, op: SizeOp, a: &Affine, b: &Affine) -> Affine {
    let base = g.size_op(op, a.base, b.base);
    let mut axes: SmallVec<[usize; 4]> = a.terms.iter().chain(&b.terms).map(|t| t.axis).collect();
    axes.sort_unstable();
    axes.dedup();
    let zero = g.size(0);
    let mut terms = SmallVec::new();
    for axis in axes {
        let of = |x: &Affine| x.terms.iter().find(|t| t.axis == axis).copied();
        let (left, right) = (of(a), of(b));
        let Some(some) = left.or(right) else { continue };
        let [left, right] = [left, right].map(|t| t.map_or(zero, |t| t.step));
        let step = g.size_op(op, left, right);
        if g.const_size(step) != Some(0) {
            terms.push(Term { step, ..some });
        }
    }
    Affine { base, terms, rank: a.rank.max(b.rank) }
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
        match self.terms[..] {
            [t] => {
                b.const_size(self.base) == Some(0)
                    && b.const_size(t.step) == Some(1)
                    && b.origin(t.len) == b.origin(extent)
            }
            _ => false,
        }
    }

    /// Whether every position is certainly in bounds: it runs along an axis, and the extent is that axis's and more.
    pub(crate) fn is_inside(&self, b: &Builder, extent: Value) -> bool {
        let [t] = self.terms[..] else { return false };
        let (Some(1), Some(base)) = (b.const_size(t.step), b.const_size(self.base)) else { return false };
        let more = b.beyond(extent, t.len);
        base >= 0 && more.is_some_and(|more| base <= more)
    }

    /// Whether some lane's position is out of bounds: a size.
    pub(crate) fn outside(&self, b: &mut Builder, extent: Value) -> Value {
        if self.is_inside(b, extent) {
            return b.size(0);
        }
        let steps = self.terms.iter().map(|t| t.step).collect();
        let lens = self.terms.iter().map(|t| t.len).collect();
        b.outside(self.base, steps, lens, extent)
    }
}
