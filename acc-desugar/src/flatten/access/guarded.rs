//! Reads behind conditions that keep their index in bounds: views of an array with zeros around it.
//!
//! In `if 0 <= i && i < n { x[i] * y } else { 0 }` lanes whose condition fails read nothing. An index `i` that is affine is
//! a view all the same once `x` has zeros where `i` leaves it, and no lane has to look whether its position is in bounds.
//! Where all of a condition is about such reads, it is written anew of what these read (`Guard::condition`), so that rules
//! over the graph see that the array is 0 where the condition fails.

use crate::flatten::Flattener;
use crate::flatten::access::affine::{Affine, Term};
use crate::flatten::access::axis_access::AxisAccess;
use crate::flatten::access::read::Lookup;
use crate::flatten::access::{Indices, affine::LaneAxis};
use crate::flatten::scalar::{Lanes, Scalar};
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, Op, SizeOp, Value, Values};
use acc_core::data::Prim;
use acc_core::ir::{ArrayId, PrimOp};

/// The largest distance between positions of neighbours in an array with zeros around it: so many zeros are at most stored
/// for each lane along an axis.
const MAX_PADDED_STEP: u64 = 8;

/// That an index is below a size, or that it is 0 or more.
#[derive(Clone)]
struct Bound {
    of: Affine,
    below: Option<Value>,
}

/// What a condition says of indices.
#[derive(Clone)]
pub(crate) struct Bounds {
    all: Vec<Bound>,
    /// Whether it says nothing else.
    nothing_else: bool,
}

impl Bounds {
    fn of(of: Affine, below: Option<Value>) -> Bounds {
        Bounds { all: vec![Bound { of, below }], nothing_else: true }
    }
}

/// A condition that holds for the lanes at hand, and what was read because it does.
pub(crate) struct Guard {
    bounds: Bounds,
    /// The positions read, and the extents that they are in.
    read: Vec<(Affine, Value)>,
}

impl Guard {
    pub(crate) fn new(bounds: Bounds) -> Guard {
        Guard { bounds, read: Vec::new() }
    }

    /// The same condition, as one on the extents of what was read, if it says nothing else.
    pub(crate) fn condition(&self, indices: &mut Indices, b: &mut Builder) -> Option<Value> {
        let is_end = |below: Option<Value>, extent: Value| below.is_none_or(|n| indices.same_extent(b, n, extent));
        let known = |bound: &Bound| self.read.iter().any(|(of, n)| *of == bound.of && is_end(bound.below, *n));
        if self.read.is_empty() || !self.bounds.nothing_else || !self.bounds.all.iter().all(known) {
            return None;
        }
        let zero = b.constant(0i64.lit());
        let mut all: Option<Value> = None;
        for (of, extent) in &self.read {
            let index = indices.affine(of.clone());
            let (index, extent) = (indices.value(b, index), b.tensor_of_size(*extent));
            for (p, bound) in [(PrimOp::GeP, zero), (PrimOp::LtP, extent)] {
                let holds = b.prim(p, &[index, bound]);
                all = Some(all.map_or(holds, |all| b.and(all, holds)));
            }
        }
        all
    }
}

impl Indices {
    /// Notes what a comparison of an index with a size says, or a condition made of others.
    pub(crate) fn note_bounds(&mut self, b: &Builder, p: PrimOp, operands: &[Scalar], result: Value) {
        let [x, y] = *operands else { return };
        let is_zero = |s: Value| b.const_size(s) == Some(0);
        let bounds = match (p, x, y) {
            (PrimOp::GeP, index @ Scalar::Affine(_), Scalar::Size(n))
            | (PrimOp::LeP, Scalar::Size(n), index @ Scalar::Affine(_))
                if is_zero(n) =>
            {
                self.affine_of(index).map(|of| Bounds::of(of, None))
            }
            (PrimOp::LtP, index @ Scalar::Affine(_), Scalar::Size(n))
            | (PrimOp::GtP, Scalar::Size(n), index @ Scalar::Affine(_)) => {
                self.affine_of(index).map(|of| Bounds::of(of, Some(n)))
            }
            (PrimOp::AndP, Scalar::Tensor(x), Scalar::Tensor(y)) => match (self.bounds.get(&x), self.bounds.get(&y)) {
                (Some(x), Some(y)) => {
                    Some(Bounds { all: [&x.all[..], &y.all].concat(), nothing_else: x.nothing_else && y.nothing_else })
                }
                (Some(one), None) | (None, Some(one)) => Some(Bounds { all: one.all.clone(), nothing_else: false }),
                (None, None) => None,
            },
            _ => None,
        };
        if let Some(bounds) = bounds {
            self.bounds.insert(result, bounds);
        }
    }

    /// The components of an index, if all are affine and no two are along one axis of the lanes.
    pub(super) fn along_other_axes(&self, at: &Lookup<'_>, index: &[Scalar]) -> Option<Vec<Affine>> {
        let mut seen = 0u32;
        let other = |s: &Scalar| {
            let a = self.affine_of(*s)?;
            let axes = a.terms.iter().fold(0u32, |set, t| set | 1 << t.axis.axis);
            let fits = seen & axes == 0 && axes >> at.space.len() == 0;
            seen |= axes;
            fits.then_some(a)
        };
        index.iter().map(other).collect()
    }

    /// An extent, as it is where lanes are.
    fn where_lanes_are(&self, b: &Builder, n: Value) -> Value {
        let n = b.origin(n);
        self.demanded.get(&n).map_or(n, |demanded| b.origin(*demanded))
    }

    fn same_extent(&self, b: &Builder, x: Value, y: Value) -> bool {
        self.where_lanes_are(b, x) == self.where_lanes_are(b, y)
    }
}

impl Affine {
    /// Whether the distances between positions are known and few, so that a view of them may have zeros around the array.
    pub(super) fn has_near_neighbours(&self, b: &Builder) -> bool {
        self.terms.iter().all(|t| b.const_size(t.step).is_some_and(|step| step.unsigned_abs() <= MAX_PADDED_STEP))
    }
}

impl Flattener<'_> {
    /// How lanes under a mask read an array at positions that are in bounds for certain: along whole axes of theirs, or where
    /// conditions say so.
    pub(crate) fn guarded_axes(
        &mut self,
        at: &Lookup<'_>,
        shape: &[Value],
        index: &[Scalar],
    ) -> Option<Vec<AxisAccess>> {
        if self.faults().exact() {
            return None;
        }
        let (mut found, mut accesses) = (Vec::new(), Vec::new());
        for (a, n) in self.indices.along_other_axes(at, index)?.into_iter().zip(shape) {
            if a.terms.is_empty() {
                return None;
            }
            if self.is_whole(&a, *n, at.array) {
                let (LaneAxis { axis, len, .. }, start) = (a.terms[0].axis, self.b.size(0));
                accesses.push(AxisAccess::Strided { axis, start, len, step: 1 });
                continue;
            }
            if !a.has_near_neighbours(&self.b) {
                return None;
            }
            if let Some(past) = self.past_open_end(&a, *n)? {
                self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, past, &[], Vec::new());
            }
            accesses.push(AxisAccess::windows(&a, true));
            found.push((a, *n));
        }
        for (a, n) in found {
            self.note_read(&a, n);
        }
        Some(accesses)
    }

    /// Notes for the conditions about a position that it was read.
    pub(super) fn note_read(&mut self, a: &Affine, n: Value) {
        for guard in &mut self.guards {
            if guard.bounds.all.iter().any(|bound| bound.of == *a) {
                guard.read.push((a.clone(), n));
            }
        }
    }

    /// Whether a position runs along an axis of the lanes that has this extent of an array where there are lanes.
    fn is_whole(&self, a: &Affine, n: Value, array: ArrayId) -> bool {
        let is_extent =
            |axis: LaneAxis| self.indices.same_extent(&self.b, axis.len, n) || self.are_checked(axis.len, n, array);
        self.b.const_size(a.base) == Some(0) && a.shifted_axis(&self.b).is_some_and(is_extent)
    }

    /// Whether checks that an array waits for say that two sizes are equal: who reads it has passed them.
    fn are_checked(&self, x: Value, y: Value, array: ArrayId) -> bool {
        let mut checked = Vec::new();
        for v in self.array(array).values() {
            self.b.unchecked(v, &mut checked);
        }
        let [x, y] = [x, y].map(|n| self.b.origin(n));
        let says = |token: &Value| equal_sizes(&self.b, *token).is_some_and(|both| both == [x, y] || both == [y, x]);
        checked.iter().any(|v| matches!(self.b.def(*v), Some(Op::Checked { tokens, .. }) if tokens.iter().any(says)))
    }

    /// Whether conditions keep a position at 0 or more, and below an extent.
    fn guarded_ends(&self, a: &Affine, n: Value) -> [bool; 2] {
        let mut bounds = self.guards.iter().flat_map(|g| &g.bounds.all).filter(|bound| bound.of == *a);
        let low = bounds.clone().any(|bound| bound.below.is_none());
        [low, bounds.any(|bound| bound.below.is_some_and(|below| self.indices.same_extent(&self.b, below, n)))]
    }

    /// Whether conditions keep a position between 0 and an extent.
    pub(super) fn is_guarded(&self, a: &Affine, n: Value) -> bool {
        self.guarded_ends(a, n) == [true; 2]
    }

    /// Whether some lane's position is past an end of an extent that conditions leave open, which a run finds out. Conditions that
    /// say nothing else leave such lanes on; there are some.
    fn past_open_end(&mut self, a: &Affine, n: Value) -> Option<Option<Value>> {
        let ends = self.guarded_ends(a, n);
        if ends == [true; 2] {
            return Some(None);
        }
        if self.guards.is_empty() || !self.guards.iter().all(|g| g.bounds.nothing_else) {
            return None;
        }
        if ends == [false; 2] {
            return Some(Some(a.outside(&mut self.b, n)));
        }
        let open_above = ends[0];
        // The axes along which positions go away from that end do not count.
        let zero = self.b.size(0);
        let towards = |t: &Term| Some(if (self.b.const_size(t.step)? > 0) == open_above { t.step } else { zero });
        let steps = a.terms.iter().map(towards).collect::<Option<_>>()?;
        let lens = a.terms.iter().map(|t| t.axis.len).collect();
        let (base, extent) =
            if open_above { (zero, self.b.size_op(SizeOp::Sub, n, a.base)) } else { (a.base, self.b.size(i64::MAX)) };
        Some(Some(self.b.outside(base, steps, lens, extent)))
    }

    /// What a column repeats along some axes, or the factors of a product of two tensors neither of which varies along all
    /// axes, so that it is larger than both: what is read of it is read of these.
    fn smaller(&mut self, column: Value) -> Option<Values> {
        let rank = self.b.rank(column);
        let part = |x: Value| self.b.rank(x) == rank && self.b.axes(x) != (1 << rank) - 1;
        let (mut at, mut checked) = (column, Vec::new());
        let parts: Values = loop {
            at = self.b.unchecked(at, &mut checked);
            match self.b.def(at)? {
                Op::Broadcast(x, _) if part(*x) => break [*x].into_iter().collect(),
                Op::Broadcast(x, _) => at = *x,
                Op::Prim(PrimOp::MulP, args) if args.iter().all(|x| part(*x)) && self.b.scalar(column).is_float() => {
                    break args.iter().copied().collect();
                }
                _ => return None,
            }
        };
        Some(parts.into_iter().map(|part| self.b.after_checks(part, checked.clone())).collect())
    }

    /// Reads the one column of an array that is larger than what it is made of, at an index that is affine.
    pub(crate) fn read_smaller(
        &mut self,
        at: &Lookup<'_>,
        lanes: &Lanes<'_>,
        leaves: &[u32],
        index: &[Scalar],
    ) -> Option<Value> {
        let ([leaf], false) = (leaves, self.faults().exact()) else { return None };
        if index.is_empty() || index.iter().any(|s| self.indices.affine_of(*s).is_none()) {
            return None;
        }
        let flat = self.array(at.array);
        let columns = self.smaller(flat.columns[*leaf as usize])?;
        // Components that nothing is read at are not looked at again.
        let read = columns.iter().fold(0, |axes, part| axes | self.b.axes(*part));
        let mut past = Vec::new();
        for (k, (s, n)) in index.iter().zip(&flat.shape).enumerate() {
            if read >> k & 1 == 1 {
                continue;
            }
            let a = self.indices.affine_of(*s)?;
            if self.is_whole(&a, *n, at.array) {
                continue;
            }
            let outside = a.outside(&mut self.b, *n);
            if self.b.const_size(outside) != Some(0) {
                past.extend(self.past_open_end(&a, *n)?);
            }
        }
        for past in past {
            self.check(FaultKind::IndexOutOfBounds { array: at.array.0 }, past, &[], Vec::new());
        }
        let flat = self.demanded(at.array, Flat { columns, ..flat }, lanes, at.mask);
        let mut read: Option<Value> = None;
        for part in &flat.columns {
            let part = self.read_part(at, &flat.shape, *part, index);
            read = Some(read.map_or(part, |read| self.b.prim(PrimOp::MulP, &[read, part])));
        }
        read
    }

    /// Reads a tensor at the components of an index along whose axes it varies.
    fn read_part(&mut self, at: &Lookup<'_>, shape: &[Value], part: Value, index: &[Scalar]) -> Value {
        let axes = self.b.axes(part);
        let (mut column, zero) = (part, self.b.size(0));
        let (mut extents, mut own) = (Values::new(), Vec::new());
        for (k, (n, s)) in shape.iter().zip(index).enumerate().rev() {
            if axes >> k & 1 == 0 {
                column = self.b.select(column, k as u32, zero);
            } else {
                extents.insert(0, *n);
                own.insert(0, *s);
            }
        }
        self.read(at, &extents, &[column], &own)[0]
    }
}

/// The sizes that are equal where a check of the program has passed.
fn equal_sizes(b: &Builder, token: Value) -> Option<[Value; 2]> {
    let Some(Op::Fault { kind: FaultKind::CheckFailed { .. }, bad, .. }) = b.def(token) else { return None };
    let Some(Op::SizeOp(SizeOp::Eq, holds, zero)) = b.def(*bad) else { return None };
    match b.def(*holds) {
        Some(Op::SizeOp(SizeOp::Eq, x, y)) if b.const_size(*zero) == Some(0) => Some([*x, *y].map(|n| b.origin(n))),
        _ => None,
    }
}
