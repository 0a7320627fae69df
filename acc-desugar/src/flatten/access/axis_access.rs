//! How one axis of an array is read, by what is known of that component of the index.

use super::affine::{Affine, LaneAxis, Term};
use super::clamped::Clamped;
use super::read::{Lookup, along_axes, clamp_at, clamp_size};
use super::wrapped::Wrapped;
use crate::flatten::access::Indices;
use crate::flatten::scalar::Scalar;
use crate::graph::builder::Builder;
use crate::graph::{Value, Values};

/// How one axis of an array is read.
pub(crate) enum AxisAccess {
    /// At one position, a size.
    Position(Value),
    /// At one position, a rank-0 tensor.
    Uniform(Value),
    /// From end to end, along an axis of the lanes.
    Whole(usize),
    /// `len` positions from `start`, `step` apart, along an axis of the lanes.
    Strided { axis: usize, start: Value, len: Value, step: i64 },
    /// At positions that are affine in the index along axes of the lanes, with zeros around the array if it is `padded`.
    Windows { axes: Vec<usize>, start: Value, lens: Values, steps: Values, padded: bool },
    /// Between bounds, along an axis of the lanes.
    Clamped(Clamped),
    /// From some position to the end and then from the beginning, along an axis of the lanes.
    Wrapped(Wrapped),
    /// At positions (of rank 1) along axes of the lanes, in row-major order.
    Positions(Vec<usize>, Value),
}

/// Whether positions along an axis are out of bounds.
pub(crate) enum Outside {
    /// Those of each lane, whether it is on or not.
    Lanes(Scalar),
    /// That of some lane that is on: a size.
    Active(Value),
}

impl AxisAccess {
    /// At the positions of an affine component, with zeros around the array if it is `padded`.
    pub(super) fn windows(a: &Affine, padded: bool) -> AxisAccess {
        let (axes, (lens, steps)) = a.terms.iter().map(|t| (t.axis.axis, (t.axis.len, t.step))).unzip();
        AxisAccess::Windows { axes, start: a.base, lens, steps, padded }
    }
}

impl Indices {
    /// Whether the index runs along whole axes, each another.
    pub(crate) fn is_whole(&self, b: &Builder, shape: &[Value], index: &[Scalar]) -> bool {
        let mut axes = 0u32;
        index.iter().zip(shape).all(|(s, n)| {
            let Some(a) = self.affine_of(*s) else { return false };
            let own = a.is_own_axis(b, *n);
            let bit = a.terms.first().map_or(0, |t| 1 << t.axis.axis);
            own && axes & bit == 0 && {
                axes |= bit;
                true
            }
        })
    }

    /// The axes of the lanes that each component varies along, if these are others each time; one at most of the only
    /// component if that is not affine, and of one that is and is read under a mask.
    pub(crate) fn separable(&self, b: &Builder, at: &Lookup<'_>, index: &[Scalar]) -> Option<Vec<Vec<usize>>> {
        let (mut axes, mut seen) = (Vec::new(), 0u32);
        for s in index {
            let set = match *s {
                Scalar::Size(_) => 0,
                Scalar::Affine(_) => self.affine_of(*s)?.terms.iter().fold(0, |set, t| set | (1 << t.axis.axis)),
                Scalar::Tensor(v) if b.rank(v) == 0 => 0,
                Scalar::Tensor(v) => b.axes(v),
            };
            let several = match s {
                Scalar::Size(_) => false,
                Scalar::Affine(_) => at.mask.is_none(),
                Scalar::Tensor(_) => index.len() > 1,
            };
            if set.count_ones() > 1 && !several || seen & set != 0 || set >> at.space.len() != 0 {
                return None;
            }
            seen |= set;
            axes.push((0..at.space.len()).filter(|k| set >> k & 1 != 0).collect());
        }
        Some(axes)
    }

    /// How to read along an axis of extent `n`, and what to check.
    pub(super) fn axis_access(
        &self,
        b: &mut Builder,
        at: &Lookup<'_>,
        s: Scalar,
        n: Value,
        axes: &[usize],
    ) -> (AxisAccess, Option<Outside>) {
        let masked = at.mask.is_some();
        match (s, axes.first().copied()) {
            (Scalar::Size(i), _) => {
                let (out, safe) = clamp_size(b, i, n);
                (AxisAccess::Position(safe), Some(Outside::Lanes(Scalar::Size(out))))
            }
            (Scalar::Affine(id), Some(axis)) => {
                let Some(a) = self.affine_of(s) else { return (AxisAccess::Whole(axis), None) };
                if a.is_own_axis(b, n) {
                    return (AxisAccess::Whole(axis), None);
                }
                if a.terms.len() > 1 {
                    let out = a.outside(b, n);
                    return (AxisAccess::windows(&a, false), Some(Outside::Lanes(Scalar::Size(out))));
                }
                let Term { axis: LaneAxis { len, .. }, step } = a.terms[0];
                let constant = b.const_size(step).filter(|k| *k != i64::MIN);
                match constant {
                    Some(step) if !masked || a.is_inside(b, n) => {
                        let out = a.outside(b, n);
                        (
                            AxisAccess::Strided { axis, start: a.base, len, step },
                            Some(Outside::Lanes(Scalar::Size(out))),
                        )
                    }
                    Some(_) if a.has_near_neighbours(b) => {
                        let some = a.outside(b, n);
                        let out = outside_of_active(b, at.mask, some, n, |b| self.materialised(b, id));
                        (AxisAccess::windows(&a, true), Some(Outside::Active(out)))
                    }
                    _ => {
                        let positions = b.iota_from(len, a.base, step);
                        if masked {
                            let lanes = self.materialised(b, id);
                            let (out, _) = clamp_at(b, lanes, n);
                            let safe = b.clamp(positions, n);
                            (AxisAccess::Positions(vec![axis], safe), Some(Outside::Lanes(Scalar::Tensor(out))))
                        } else {
                            let out = a.outside(b, n);
                            (AxisAccess::Positions(vec![axis], positions), Some(Outside::Lanes(Scalar::Size(out))))
                        }
                    }
                }
            }
            // An affine integer without an axis is a size.
            (Scalar::Affine(id), None) => {
                let v = self.materialised(b, id);
                (AxisAccess::Uniform(v), None)
            }
            (Scalar::Tensor(v), Some(axis))
                if let Some(c) = self.clamped(b, v, at.space.get(axis))
                    && (!masked || c.is_inside(b, n)) =>
            {
                let out = c.outside(b, n);
                (AxisAccess::Clamped(c), Some(Outside::Lanes(Scalar::Size(out))))
            }
            (Scalar::Tensor(v), Some(axis)) if let Some(r) = self.wrapped(b, v, at.space.get(axis), n) => {
                (AxisAccess::Wrapped(r), None)
            }
            (Scalar::Tensor(v), _) => {
                let (safe, out) = if masked {
                    let (out, safe) = clamp_at(b, v, n);
                    (safe, Some(Outside::Lanes(Scalar::Tensor(out))))
                } else {
                    (b.in_bounds(v, n, true), None)
                };
                let line = along_axes(b, safe, axes, at.space);
                match axes {
                    [] => (AxisAccess::Uniform(line), out),
                    axes => (AxisAccess::Positions(axes.to_vec(), line), out),
                }
            }
        }
    }
}

/// Whether the position of a lane that is on is out of bounds: a size. Lanes look only if it says that some lane's is, on or not.
fn outside_of_active(
    b: &mut Builder,
    mask: Option<Value>,
    some: Value,
    extent: Value,
    positions: impl FnOnce(&mut Builder) -> Value,
) -> Value {
    let Some(mask) = mask.filter(|_| b.const_size(some) != Some(0)) else { return some };
    b.size_if(some, |b| {
        let at = positions(b);
        let (out, _) = clamp_at(b, at, extent);
        let out = b.and(mask, out);
        let any = b.any(out);
        b.read_back(any)
    })
}
