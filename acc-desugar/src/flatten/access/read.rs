//! Reads of arrays by lanes: views where the index is affine in the lanes', gathers elsewhere.
//!
//! Each component of an index belongs to an axis of the array. If no two vary along the same axis of the lanes, the array is
//! read axis by axis; if all are affine, at once, as a strided view; else at linear positions.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::{Affine, LaneAxis, on_host_if_known};
use crate::flatten::access::axis_access::{AxisAccess, Outside};
use crate::flatten::scalar::Scalar;
use crate::flatten::scalar::spread;
use crate::graph::builder::{Builder, Windows};
use crate::graph::{FaultKind, SizeOp, Value, Values};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{ArrayId, PrimOp};
use smallvec::SmallVec;

/// A read by lanes.
pub(crate) struct Lookup<'a> {
    pub(crate) array: ArrayId,
    pub(crate) space: &'a [Value],
    pub(crate) mask: Option<Value>,
}

impl Flattener<'_> {
    /// Reads columns of an array at an index; the results are of rank 0, or of the lanes' with extents of 1 where they
    /// do not vary.
    pub(crate) fn read(&mut self, at: &Lookup<'_>, shape: &[Value], columns: &[Value], index: &[Scalar]) -> Vec<Value> {
        let index: Vec<Scalar> = index
            .iter()
            .map(|s| match *s {
                Scalar::Tensor(v) if self.b.rank(v) == 0 => on_host_if_known(&mut self.b, v),
                // What came out of a branch or loop may be the same for all lanes, or not.
                Scalar::Tensor(v) if !self.b.is_settled(v) => Scalar::Tensor(spread(&mut self.b, v, at.space)),
                s => s,
            })
            .collect();
        if self.faults().exact() && !self.indices.is_whole(&self.b, shape, &index) {
            let views = self.read_exactly(at, shape, columns, &index);
            return views.unwrap_or_else(|| self.read_linear(at, shape, columns, &index));
        }
        if let Some(sorted) = self.indices.read_sorted(&mut self.b, at, shape, columns, &index) {
            return sorted;
        }
        if at.mask.is_some()
            && let Some(accesses) = self.guarded_axes(at, shape, &index)
        {
            return columns.iter().map(|c| self.read_column(*c, &accesses, at.space)).collect();
        }
        if let Some(axes) = self.indices.separable(&self.b, at, &index) {
            return self.read_axes(at, shape, columns, &index, &axes);
        }
        let affine: Option<Vec<Affine>> = index.iter().map(|s| self.indices.affine_of(*s)).collect();
        match affine {
            Some(parts) if at.mask.is_none() => self.read_strided(at, shape, columns, &parts),
            _ => self.read_linear(at, shape, columns, &index),
        }
    }

    /// Reads axis by axis.
    fn read_axes(
        &mut self,
        at: &Lookup<'_>,
        shape: &[Value],
        columns: &[Value],
        index: &[Scalar],
        axes: &[Vec<usize>],
    ) -> Vec<Value> {
        let mut bad: Option<Scalar> = None;
        let mut details = Vec::new();
        let mut accesses = Vec::new();
        for ((s, n), axis) in index.iter().zip(shape).zip(axes) {
            let (access, out) = self.indices.axis_access(&mut self.b, at, *s, *n, axis);
            match out {
                Some(Outside::Lanes(out)) => bad = Some(self.indices.either(&mut self.b, bad, out)),
                Some(Outside::Active(out)) => {
                    self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, out, &[], Vec::new());
                }
                None => {}
            }
            details.push(self.indices.value(&mut self.b, *s));
            accesses.push(access);
        }
        self.check_index(at, bad, details, shape);
        columns.iter().map(|c| self.read_column(*c, &accesses, at.space)).collect()
    }

    pub(super) fn read_column(&mut self, column: Value, accesses: &[AxisAccess], space: &[Value]) -> Value {
        let (one, mut c) = (self.b.size(1), column);
        // Single positions first, which leave less to move; the last axis before the others, whose numbers then stay.
        for (axis, access) in accesses.iter().enumerate().rev() {
            match access {
                AxisAccess::Position(i) => c = self.b.select(c, axis as u32, *i),
                AxisAccess::Uniform(i) => {
                    let i = self.b.reshape(*i, &[one]);
                    let taken = self.b.take(c, axis as u32, i);
                    let zero = self.b.size(0);
                    c = self.b.select(taken, axis as u32, zero);
                }
                AxisAccess::Whole(_) | AxisAccess::Strided { .. } | AxisAccess::Windows { .. } => {}
                AxisAccess::Clamped(_) | AxisAccess::Wrapped(_) | AxisAccess::Positions(..) => {}
            }
        }
        let (mut lanes, mut here): (Vec<usize>, u32) = (Vec::new(), 0);
        for access in accesses {
            match access {
                AxisAccess::Position(_) | AxisAccess::Uniform(_) => continue,
                AxisAccess::Whole(axis) => lanes.push(*axis),
                AxisAccess::Strided { axis, start, len, step } => {
                    c = strided_axis(&mut self.b, c, here, *start, *len, *step);
                    lanes.push(*axis);
                }
                AxisAccess::Windows { axes, start, lens, steps, padded } => {
                    let (lens, steps) = (lens.clone(), steps.clone());
                    let windows = Windows { start: *start, lens, steps, padded: *padded };
                    c = self.b.unfold(c, here, windows);
                    lanes.extend(axes);
                    here += axes.len() as u32;
                    continue;
                }
                AxisAccess::Clamped(clamped) => {
                    c = clamped.read(&mut self.b, c, here);
                    lanes.push(clamped.axis);
                }
                AxisAccess::Wrapped(wrapped) => {
                    c = wrapped.read(&mut self.b, c, here);
                    lanes.push(wrapped.axis);
                }
                AxisAccess::Positions(axes, at) => {
                    c = self.b.take(c, here, *at);
                    lanes.extend(axes);
                }
            }
            here += 1;
        }
        if lanes.len() > here as usize {
            let extents: Vec<Value> = lanes.iter().map(|k| space[*k]).collect();
            c = self.b.reshape(c, &extents);
        }
        laid_out(&mut self.b, c, &lanes, space.len())
    }

    /// Reads at an index whose components are all affine: one strided view of the elements in row-major order.
    fn read_strided(&mut self, at: &Lookup<'_>, shape: &[Value], columns: &[Value], index: &[Affine]) -> Vec<Value> {
        let mut bad: Option<Scalar> = None;
        let mut details = Vec::new();
        for (a, n) in index.iter().zip(shape) {
            let out = a.outside(&mut self.b, *n);
            bad = Some(self.indices.either(&mut self.b, bad, Scalar::Size(out)));
            details.push(a.base);
        }
        self.check_index(at, bad, details, shape);
        let (mut start, mut stride) = (self.b.size(0), self.b.size(1));
        let mut steps: Vec<Option<(Value, Value)>> = vec![None; at.space.len()];
        for (a, n) in index.iter().zip(shape).rev() {
            let base = self.b.size_op(SizeOp::Mul, a.base, stride);
            start = self.b.size_op(SizeOp::Add, start, base);
            for t in &a.terms {
                let step = self.b.size_op(SizeOp::Mul, t.step, stride);
                let LaneAxis { axis, len, .. } = t.axis;
                steps[axis] = Some(match steps[axis] {
                    Some((len, sum)) => (len, self.b.size_op(SizeOp::Add, sum, step)),
                    None => (len, step),
                });
            }
            stride = self.b.size_op(SizeOp::Mul, stride, *n);
        }
        let lanes: Vec<usize> = (0..steps.len()).filter(|k| steps[*k].is_some()).collect();
        let (lens, steps): (Values, Values) = steps.into_iter().flatten().unzip();
        let size = self.b.product(shape);
        columns
            .iter()
            .map(|c| {
                let flat = self.b.reshape(*c, &[size]);
                let windows = Windows { start, lens: lens.clone(), steps: steps.clone(), padded: false };
                let view = self.b.unfold(flat, 0, windows);
                laid_out(&mut self.b, view, &lanes, at.space.len())
            })
            .collect()
    }

    /// Reads at linear positions.
    fn read_linear(&mut self, at: &Lookup<'_>, shape: &[Value], columns: &[Value], index: &[Scalar]) -> Vec<Value> {
        let guarded = at.mask.is_some() || self.faults().exact();
        let mut bad: Option<Scalar> = None;
        let mut linear: Option<Value> = None;
        let mut details = Vec::new();
        for (s, n) in index.iter().zip(shape) {
            let n_t = self.b.tensor_of_size(*n);
            let safe = match (*s, self.indices.affine_of(*s)) {
                (Scalar::Size(i), _) => {
                    details.push(i);
                    let (out, safe) = clamp_size(&mut self.b, i, *n);
                    bad = Some(self.indices.either(&mut self.b, bad, Scalar::Size(out)));
                    self.b.tensor_of_size(safe)
                }
                (s, Some(a)) if a.is_own_axis(&self.b, *n) => {
                    let v = self.indices.value(&mut self.b, s);
                    details.push(v);
                    v
                }
                (s, Some(a)) if !guarded => {
                    let v = self.indices.value(&mut self.b, s);
                    details.push(v);
                    let out = a.outside(&mut self.b, *n);
                    bad = Some(self.indices.either(&mut self.b, bad, Scalar::Size(out)));
                    v
                }
                (s, _) => {
                    let i = self.indices.value(&mut self.b, s);
                    details.push(i);
                    if guarded {
                        let (out, safe) = clamp_at(&mut self.b, i, *n);
                        bad = Some(self.indices.either(&mut self.b, bad, Scalar::Tensor(out)));
                        safe
                    } else {
                        // Of one dimension the gather finds it; of more, another lane's position may hide it.
                        self.within(i, *n, shape.len() == 1)
                    }
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
        self.check_index(at, bad, details, shape);
        let linear = match linear {
            Some(k) => k,
            None => self.b.constant(0i64.lit()),
        };
        let size = self.b.product(shape);
        // A clamped index of one dimension does not say that the others have elements.
        let linear = match (shape.len() > 1, guarded) {
            (true, true) => self.b.clamp(linear, size),
            (true, false) => self.b.in_bounds(linear, size, true),
            (false, _) => linear,
        };
        columns
            .iter()
            .map(|c| {
                let flat = self.b.reshape(*c, &[size]);
                self.b.gather(flat, linear)
            })
            .collect()
    }

    /// Notes that a lane's index is out of bounds.
    pub(super) fn check_index(
        &mut self,
        at: &Lookup<'_>,
        bad: Option<Scalar>,
        mut details: Vec<Value>,
        shape: &[Value],
    ) {
        if let Some(Scalar::Size(bad) | Scalar::Tensor(bad)) = bad {
            if self.b.const_size(bad) == Some(0) {
                return;
            }
            let bad = self.masked(at.mask, bad);
            details.extend(shape);
            self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, bad, at.space, details);
        }
    }

    /// Positions that must be in bounds. Without checks for faults only an operation that uses them directly finds that they
    /// are not.
    pub(crate) fn within(&mut self, at: Value, extent: Value, by_use: bool) -> Value {
        if by_use || self.faults().checked() { self.b.in_bounds(at, extent, by_use) } else { at }
    }
}

impl Indices {
    /// Rows that are read at the positions that sort them.
    pub(crate) fn read_sorted(
        &self,
        b: &mut Builder,
        at: &Lookup<'_>,
        shape: &[Value],
        columns: &[Value],
        index: &[Scalar],
    ) -> Option<Vec<Value>> {
        let (Scalar::Tensor(order), outer) = index.split_last()? else { return None };
        let own = |(axis, (s, n)): (usize, (&Scalar, &Value))| {
            self.affine_of(*s).is_some_and(|a| a.is_own_axis(b, *n) && a.terms[0].axis.axis == axis)
        };
        let rows = at.mask.is_none() && !outer.is_empty() && at.space.len() == index.len();
        if !rows || !outer.iter().zip(shape).enumerate().all(own) {
            return None;
        }
        columns.iter().map(|c| b.sorted(*c, *order)).collect()
    }

    /// Whether either condition holds.
    pub(crate) fn either(&self, g: &mut Builder, a: Option<Scalar>, b: Scalar) -> Scalar {
        match (a, b) {
            (None, b) => b,
            (Some(Scalar::Size(a)), Scalar::Size(b)) => Scalar::Size(g.or_size(a, b)),
            (Some(a), b) => {
                let [a, b] = [a, b].map(|s| self.tensor(g, s, ScalarType::Bool));
                Scalar::Tensor(g.prim(PrimOp::OrP, &[a, b]))
            }
        }
    }
}

/// A tensor that varies along these axes at most: all of it in rank 1, or of rank 0 if there are none.
pub(super) fn along_axes(b: &mut Builder, v: Value, axes: &[usize], space: &[Value]) -> Value {
    let zero = b.size(0);
    let mut v = v;
    for k in (0..b.rank(v)).rev() {
        if !axes.contains(&k) {
            v = b.select(v, k as u32, zero);
        }
    }
    if axes.len() < 2 {
        return v;
    }
    let extents: Vec<Value> = axes.iter().map(|k| space[*k]).collect();
    let (v, count) = (spread(b, v, &extents), b.product(&extents));
    b.reshape(v, &[count])
}

/// `len` positions from `start` along an axis, `step` apart.
fn strided_axis(b: &mut Builder, c: Value, axis: u32, start: Value, len: Value, step: i64) -> Value {
    match u32::try_from(step) {
        Ok(step) => b.slice(c, axis, start, len, step),
        Err(_) => {
            // From the last one on, and then reversed.
            let (one, steps) = (b.size(1), b.size(step));
            let before = b.size_op(SizeOp::Sub, len, one);
            let back = b.size_op(SizeOp::Mul, before, steps);
            let first = b.size_op(SizeOp::Add, start, back);
            match u32::try_from(step.unsigned_abs()) {
                Ok(step) => {
                    let c = b.slice(c, axis, first, len, step);
                    b.flip(c, axis)
                }
                Err(_) => {
                    let at = b.iota_from(len, start, steps);
                    b.take(c, axis, at)
                }
            }
        }
    }
}

/// A tensor whose axis `i` runs along axis `lanes[i]`, with axes of extent 1 for the others.
fn laid_out(b: &mut Builder, c: Value, lanes: &[usize], rank: usize) -> Value {
    // What is the same for all lanes stays of rank 0.
    if lanes.is_empty() {
        return c;
    }
    let mut order: Vec<u32> = (0..lanes.len() as u32).collect();
    order.sort_by_key(|i| lanes[*i as usize]);
    let c = b.transpose(c, &order);
    let missing: SmallVec<[u32; 4]> = (0..rank as u32).filter(|a| !lanes.contains(&(*a as usize))).collect();
    b.insert_axes(c, missing)
}

/// Whether a position is out of an extent's bounds, and the nearest one in bounds, if there is one.
pub(crate) fn clamp_at(b: &mut Builder, i: Value, n: Value) -> (Value, Value) {
    let safe = b.clamp(i, n);
    (b.prim(PrimOp::NeP, &[i, safe]), safe)
}

/// The same of sizes.
pub(crate) fn clamp_size(b: &mut Builder, i: Value, n: Value) -> (Value, Value) {
    let (zero, one) = (b.size(0), b.size(1));
    let last = b.size_op(SizeOp::Sub, n, one);
    let low = b.size_op(SizeOp::Lt, i, zero);
    let high = b.size_op(SizeOp::Lt, last, i);
    let out = b.or_size(low, high);
    let i = b.size_op(SizeOp::Min, i, last);
    (out, b.size_op(SizeOp::Max, i, zero))
}
