//! Reads of arrays by lanes: views where the index is the lanes' own, else gathers with clamped indices.

use super::scalar::{Lanes, Scalar};
use super::{Flat, Flattener};
use crate::graph::{FaultKind, SizeOp, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, PrimOp};
use smallvec::SmallVec;

/// A read by lanes.
pub(super) struct Lookup<'a> {
    pub(super) array: ArrayId,
    pub(super) space: &'a [Value],
    pub(super) iotas: &'a [Value],
    pub(super) mask: Option<Value>,
}

impl Flattener<'_> {
    /// The axis that an index component runs along, if it is one of the lanes' own and in bounds of `extent`.
    fn axis(&self, at: &Lookup<'_>, component: Value, extent: Value) -> Option<usize> {
        let k = at.iotas.iter().position(|i| *i == component)?;
        (self.b.origin(at.space[k]) == self.b.origin(extent)).then_some(k)
    }

    /// An array that lanes may read. One that nothing else needs is evaluated only if a lane demands it.
    pub(super) fn readable(&mut self, a: ArrayId, lanes: &Lanes<'_>, mask: Option<Value>) -> Flat {
        let flat = self.array(a);
        if self.eager.contains(&a) || (mask.is_none() && lanes.space.is_empty()) {
            return flat;
        }
        let cond = match mask {
            Some(m) => self.b.any(m),
            None => {
                let n = self.b.product(&lanes.space.clone());
                let zero = self.b.size(0);
                self.b.size_op(SizeOp::Lt, zero, n)
            }
        };
        if self.b.const_size(cond).is_some_and(|c| c != 0) {
            return flat;
        }
        let ty = self.program.ty(a).clone();
        self.b.open();
        let then = self.b.close(flat.shape.iter().chain(&flat.columns).copied().collect());
        self.b.open();
        let zero = self.b.size(0);
        let shape: Values = flat.shape.iter().map(|_| zero).collect();
        let mut values = shape.to_vec();
        for s in ty.elt.leaves() {
            let x = self.b.constant(Lit::zero(s));
            values.push(self.b.full(x, &shape));
        }
        let else_ = self.b.close(values);
        let values = self.b.if_(cond, then, else_);
        self.flat_of(&ty, &values)
    }

    /// Reads columns of an array at an index: a view where the index is the lanes' own, else a gather.
    pub(super) fn read(&mut self, at: &Lookup<'_>, shape: &[Value], columns: &[Value], index: &[Scalar]) -> Vec<Value> {
        if let Some(axes) = self.axes_of(at, shape, index) {
            return columns.iter().map(|c| self.view(*c, &axes, at.space.len())).collect();
        }
        let mut bad: Option<Scalar> = None;
        let mut linear: Option<Value> = None;
        let mut details = Vec::new();
        for (i, n) in index.iter().zip(shape) {
            let n_t = self.b.tensor_of_size(*n);
            let safe = match *i {
                Scalar::Size(i) => {
                    details.push(i);
                    let (out, safe) = self.clamp_size(i, *n);
                    bad = Some(self.either(bad, Scalar::Size(out)));
                    self.b.tensor_of_size(safe)
                }
                Scalar::Tensor(i) if self.axis(at, i, *n).is_some() => {
                    details.push(i);
                    i
                }
                Scalar::Tensor(i) => {
                    details.push(i);
                    let (out, safe) = self.clamp(i, n_t);
                    bad = Some(self.either(bad, Scalar::Tensor(out)));
                    safe
                }
            };
            linear = Some(match linear {
                Some(k) => {
                    let k = self.b.prim(PrimOp::MulP, &[k, n_t]);
                    self.b.prim(PrimOp::AddP, &[k, safe])
                }
                None => safe,
            });
        }
        if let Some(Scalar::Size(bad) | Scalar::Tensor(bad)) = bad {
            let bad = self.masked(at.mask, bad);
            details.extend(shape);
            self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, bad, at.space, details);
        }
        let linear = match linear {
            Some(k) => k,
            None => self.b.constant(0i64.lit()),
        };
        // A clamped index of one dimension does not say that the others have elements.
        let size = self.b.product(shape);
        let size_t = self.b.tensor_of_size(size);
        let linear = if shape.len() > 1 {
            let (_, k) = self.clamp(linear, size_t);
            k
        } else {
            linear
        };
        columns
            .iter()
            .map(|c| {
                let flat = self.b.reshape(*c, &[size]);
                let flat = self.b.pad_if_empty(flat);
                self.b.gather(flat, linear)
            })
            .collect()
    }

    /// Whether an index component is out of an extent's bounds, and the nearest one in bounds (0 if there is none).
    pub(super) fn clamp(&mut self, i: Value, n: Value) -> (Value, Value) {
        let (zero, one) = (self.b.constant(0i64.lit()), self.b.constant(1i64.lit()));
        let low = self.b.prim(PrimOp::LtP, &[i, zero]);
        let high = self.b.prim(PrimOp::GeP, &[i, n]);
        let out = self.b.prim(PrimOp::OrP, &[low, high]);
        let last = self.b.prim(PrimOp::SubP, &[n, one]);
        let i = self.b.prim(PrimOp::MinP, &[i, last]);
        (out, self.b.prim(PrimOp::MaxP, &[i, zero]))
    }

    /// The same on the host.
    pub(super) fn clamp_size(&mut self, i: Value, n: Value) -> (Value, Value) {
        let (zero, one) = (self.b.size(0), self.b.size(1));
        let last = self.b.size_op(SizeOp::Sub, n, one);
        let low = self.b.size_op(SizeOp::Lt, i, zero);
        let high = self.b.size_op(SizeOp::Lt, last, i);
        let out = self.b.or_size(low, high);
        let i = self.b.size_op(SizeOp::Min, i, last);
        (out, self.b.size_op(SizeOp::Max, i, zero))
    }

    /// Whether either condition holds.
    pub(super) fn either(&mut self, a: Option<Scalar>, b: Scalar) -> Scalar {
        match (a, b) {
            (None, b) => b,
            (Some(Scalar::Size(a)), Scalar::Size(b)) => Scalar::Size(self.b.or_size(a, b)),
            (Some(a), b) => {
                let [a, b] = [a, b].map(|s| self.tensor(s, ScalarType::Bool));
                Scalar::Tensor(self.b.prim(PrimOp::OrP, &[a, b]))
            }
        }
    }

    /// The axis of the space that each component of an index runs along, if all do, in bounds and each along another.
    pub(super) fn axes_of(&mut self, at: &Lookup<'_>, shape: &[Value], index: &[Scalar]) -> Option<Vec<usize>> {
        let mut axes = Vec::new();
        for (i, n) in index.iter().zip(shape) {
            let Scalar::Tensor(v) = i else { return None };
            let axis = self.axis(at, *v, *n)?;
            if axes.contains(&axis) {
                return None;
            }
            axes.push(axis);
        }
        Some(axes)
    }

    /// A column whose axis `i` runs along axis `axes[i]` of the lanes.
    pub(super) fn view(&mut self, column: Value, axes: &[usize], rank: usize) -> Value {
        let mut order: Vec<u32> = (0..axes.len() as u32).collect();
        order.sort_by_key(|i| axes[*i as usize]);
        let v = self.b.transpose(column, &order);
        let missing: SmallVec<[u32; 4]> = (0..rank as u32).filter(|a| !axes.contains(&(*a as usize))).collect();
        // An array of rank 0 is the same for all lanes, and stays so.
        if axes.is_empty() { v } else { self.b.insert_axes(v, missing) }
    }
}
