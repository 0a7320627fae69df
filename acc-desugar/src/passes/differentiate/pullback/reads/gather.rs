//! The adjoint of what points read, found from the index of an element.
//!
//! Along each axis of the array the index is a sum of the point's coordinates. One of them, the *pivot* of the axis, occurs
//! in no other axis, with a step that is a small literal: the element's index and the other coordinates give its value. The
//! adjoint of an element is the sum, over the coordinates that are no pivots, of the adjoint that the point has which reads
//! the element, if there is one.
//!
//! Reads at `s * y + w`, of windows that are `s` apart, are found by *phases* (polyphase decomposition, as in subpixel convolution):
//! the elements `s * v + r` for each remainder `r` are an array of their own, in which element `v` is read by the points `y = v - q`
//! at `w = r + s * q`. So all points that are looked at read the element, and adjacent elements of a phase adjacent points.
//!
//! Reads at `s * y + b` for several `b` from 0 to `s - 1`, as those of a pool, never meet: an element belongs to the one for
//! which `b` is the remainder of its index by `s`. They have one adjoint, which is looked at once for each element.

use super::super::super::indices::{Indices, Sum, Uniform};
use super::super::Reverse;
use crate::analysis::access::Term;
use crate::analysis::comparison::{Comparison, comparison, decided};
use crate::analysis::cost::prim_cost;
use crate::passes::simplify::dead_scalars::live;
use acc_core::ad::Code;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, ScalarOp, Val};
use acc_core::verify::MAX_RANK;
use std::collections::{HashMap, HashSet};

/// The largest step of a pivot: of so many elements one is read, and all are looked at.
const MAX_PIVOT_STEP: u64 = 4;

/// A coordinate of the point that an axis of the array determines.
#[derive(Clone, Copy)]
struct Pivot {
    /// The axis of the array.
    axis: usize,
    coordinate: usize,
    step: i64,
    /// The coordinate within the window, if the elements are found by phases.
    window: Option<usize>,
}

impl Pivot {
    /// Where an index along the axis is in the phases: the phase, and the position in it.
    fn in_phases(&self, c: &mut Code, sum: &Sum, index: Val) -> Vec<Val> {
        if self.window.is_none() {
            return vec![index];
        }
        let (base, step) = (sum.base.write(c), c.int(self.step));
        let from = c.two(PrimOp::SubP, index, base);
        [PrimOp::RemP, PrimOp::QuotP].map(|op| c.two(op, from, step)).into()
    }
}

/// A read: its indices, and the adjoint of each point for it.
pub(super) struct Read<'a> {
    pub(super) sums: &'a [Sum],
    pub(super) values: ArrayId,
}

impl Reverse<'_, '_> {
    /// The adjoint of an array that points read at such indices, [apart](are_apart) from each other, if the indices can be
    /// solved; it may have fewer points than the array.
    pub(super) fn gathered(&mut self, array: ArrayId, reads: &[Read<'_>]) -> Option<ArrayId> {
        let [Read { sums, values }, ..] = *reads else { return None };
        let has_room = |pivots: &Vec<Pivot>| self.w.rank(values) + kept_axes(pivots) - pivots.len() <= MAX_RANK;
        let by_phases = (reads.len() == 1).then(|| pivots(sums, true)).flatten().filter(has_room);
        let pivots = by_phases.or_else(|| pivots(sums, false))?;
        let coordinates: Vec<usize> = pivots.iter().map(|p| p.coordinate).collect();
        let plain =
            |p: &Pivot| sums[p.axis].terms.len() == 1 && p.step == 1 && sums[p.axis].base == Uniform::Literal(0);
        let found = if reads.len() == 1 && pivots.iter().all(plain) {
            self.fold_axes(values, &coordinates)
        } else {
            let aligned = self.aligned(array, reads, &pivots);
            self.fold_axes(aligned, &(0..kept_axes(&pivots)).collect::<Vec<_>>())
        };
        if pivots.len() == sums.len() && pivots.iter().all(|p| p.window.is_none()) {
            return Some(found);
        }
        // In an exact run an element is evaluated only if something reads it.
        if !self.w.exact && pivots.iter().all(|p| p.window.is_none()) {
            let kept = |axis: usize| pivots.iter().any(|p| p.axis == axis);
            let place: Vec<Option<&Uniform>> =
                sums.iter().enumerate().map(|(axis, sum)| (!kept(axis)).then_some(&sum.base)).collect();
            return Some(self.at_place(array, &place, found));
        }
        // Phases are interleaved; axes without pivots are read at one place. Windows that begin at the first element or before it
        // may reach each.
        let reaches_all = |p: &Pivot| p.window.is_none() || sums[p.axis].base.literal().is_some_and(|base| base <= 0);
        let is_certain = pivots.len() == sums.len() && pivots.iter().all(reaches_all);
        let elt = self.w.elt(found).clone();
        let leaves = elt.leaves();
        Some(self.over(array, elt, |c, index| {
            let at: Vec<Val> = pivots.iter().flat_map(|p| p.in_phases(c, &sums[p.axis], index[p.axis])).collect();
            if is_certain {
                return c.read(found, &leaves, &at);
            }
            let mut there = c.within(&found, &at);
            for (axis, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.is_uniform()) {
                let place = sum.base.write(c);
                let same = c.two(PrimOp::EqP, index[axis], place);
                there = c.two(PrimOp::AndP, there, same);
            }
            c.read_where(there, found, &leaves, &at)
        }))
    }

    /// An array that is 0 but at one place along some of its axes. The value at that place is an operand: its evaluation waits
    /// for no element that reads it, and the sums for all places that a function reads may be one kernel.
    fn at_place(&mut self, array: ArrayId, place: &[Option<&Uniform>], values: ArrayId) -> ArrayId {
        let everywhere = self.replicated(array, |axis| place[axis].is_some(), values);
        let (mut c, lanes) = self.lanes(&[everywhere]);
        let mut there = c.truth(true);
        for (index, at) in lanes.index.iter().zip(place) {
            if let Some(at) = at {
                let at = at.write(&mut c);
                let same = c.two(PrimOp::EqP, *index, at);
                there = c.two(PrimOp::AndP, there, same);
            }
        }
        let zeros = c.zeros(&self.w.elt(values).leaves());
        let chosen = lanes.elements[0].iter().zip(zeros).map(|(v, zero)| c.choose(there, *v, zero)).collect();
        let elt = self.w.elt(values).clone();
        self.at_points(&lanes, c, chosen, elt)
    }

    /// An array along new axes, those of `like` of which `new` holds; it has no more points than that one.
    pub(super) fn replicated(&mut self, like: ArrayId, new: impl Fn(usize) -> bool, values: ArrayId) -> ArrayId {
        let (rank, elt) = (self.w.rank(like), self.w.elt(values).clone());
        let mut shape = self.w.code([]);
        let extents: Vec<Val> = (0..rank).filter(|k| new(*k)).map(|k| shape.extent(like, k)).collect();
        let axes: Vec<Axis> = (0..rank).map(|k| if new(k) { Axis::Fixed } else { Axis::All }).collect();
        let whole = axes.iter().all(|axis| *axis == Axis::Fixed);
        let op = ArrayOp::Replicate { xs: values, axes, extents: shape.done(extents) };
        let everywhere = self.w.stmt(rank, elt.clone(), op);
        if whole {
            self.has_shape_of(everywhere, like);
            return everywhere;
        }
        let zeros = self.w.zeros(like);
        self.has_shape_of(zeros, like);
        let (c, lanes) = self.lanes(&[everywhere, zeros]);
        let same = lanes.elements[0].clone();
        self.at_points(&lanes, c, same, elt)
    }

    /// For each index along the axes with pivots, and each value of the coordinates that are none, the adjoint that the point
    /// has which reads there; 0 if there is none.
    fn aligned(&mut self, array: ArrayId, reads: &[Read<'_>], pivots: &[Pivot]) -> ArrayId {
        let Read { sums, values } = reads[0];
        let (rank, elt) = (self.w.rank(values), self.w.elt(values).clone());
        let leaves = elt.leaves();
        let rest: Vec<usize> = (0..rank).filter(|k| pivots.iter().all(|p| p.coordinate != *k)).collect();
        let mut shape = self.w.code([]);
        let mut extents = Vec::new();
        for p in pivots {
            let n = shape.extent(array, p.axis);
            if p.window.is_none() {
                extents.push(n);
                continue;
            }
            let (base, step, zero) = (sums[p.axis].base.write(&mut shape), shape.int(p.step), shape.int(0));
            let elements = shape.two(PrimOp::SubP, n, base);
            let each = divided_up(&mut shape, elements, p.step);
            extents.extend([step, shape.two(PrimOp::MaxP, each, zero)]);
        }
        let kept = extents.len();
        for k in &rest {
            let n = shape.extent(values, *k);
            let strided = pivots.iter().find(|p| p.window == Some(*k));
            extents.push(strided.map_or(n, |p| divided_up(&mut shape, n, p.step)));
        }
        let mut c = Code::of_index(extents.len(), &self.w.loc);
        let params = c.params();
        let (along, others) = params.split_at(kept);
        // Each pivot is replaced before another sum could use it: it occurs in no other.
        let mut point = vec![Val(0); rank];
        for (k, v) in rest.iter().zip(others) {
            point[*k] = *v;
        }
        let mut there = c.truth(true);
        let mut remainders = Vec::new();
        let mut along = along;
        for p in pivots {
            let sum = &sums[p.axis];
            let [index, left @ ..] = along else { break };
            along = left;
            if let (Some(window), [position, left @ ..]) = (p.window, along) {
                along = left;
                let (step, back) = (c.int(p.step), point[window]);
                let element = c.two(PrimOp::MulP, back, step);
                point[window] = c.two(PrimOp::AddP, *index, element);
                point[p.coordinate] = c.two(PrimOp::SubP, *position, back);
                for coordinate in [window, p.coordinate] {
                    let inside = c.within_axis(&values, coordinate, point[coordinate]);
                    there = c.two(PrimOp::AndP, there, inside);
                }
                continue;
            }
            let exact = if reads.iter().all(|r| r.sums[p.axis].base == sum.base) {
                let (coordinate, exact) = solved(&mut c, sum, *p, *index, &point);
                point[p.coordinate] = coordinate;
                exact
            } else {
                let by = c.int(p.step);
                point[p.coordinate] = c.two(PrimOp::QuotP, *index, by);
                remainders.push((*p, c.two(PrimOp::RemP, *index, by)));
                None
            };
            let inside = c.within_axis(&values, p.coordinate, point[p.coordinate]);
            for ok in exact.into_iter().chain([inside]) {
                there = c.two(PrimOp::AndP, there, ok);
            }
        }
        let places: i64 = remainders.iter().map(|(p, _)| p.step).product();
        let results = if let [read] = reads {
            let by_phases = pivots.iter().any(|p| p.window.is_some());
            self.value_where(&mut c, there, (read, array, by_phases), &point)
        } else if reads.len() as i64 == places && reads.iter().all(|r| r.values == values) {
            c.read_where(there, values, &leaves, &point)
        } else {
            let mut all: Option<Vec<Val>> = None;
            for read in reads {
                let mut own = there;
                for (p, left) in &remainders {
                    let base = read.sums[p.axis].base.write(&mut c);
                    let same = c.two(PrimOp::EqP, *left, base);
                    own = c.two(PrimOp::AndP, own, same);
                }
                let found = c.read_where(own, read.values, &leaves, &point);
                all = Some(match all {
                    None => found,
                    Some(all) => all.into_iter().zip(found).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect(),
                });
            }
            all.unwrap_or_default()
        };
        let rank = extents.len();
        let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(results) };
        self.w.stmt(rank, elt, op)
    }

    /// The adjoints of points that read elements of the array, zeros where the condition fails. Each point is looked at once: what
    /// is cheap is computed there and not stored.
    ///
    /// Phases have elements beyond the edges of the array, which nobody takes; they are computed, too, if that reads nothing that is
    /// beyond an edge there.
    fn value_where(
        &self,
        c: &mut Code,
        there: Val,
        (read, array, by_phases): (&Read<'_>, ArrayId, bool),
        point: &[Val],
    ) -> Vec<Val> {
        let values = read.values;
        let leaves = self.w.elt(values).leaves();
        let written = self.w.stmts.iter().rev().find(|s| s.results.contains(&values)).map(|s| &s.op);
        let Some(ArrayOp::Map { xs, f, indexed }) = written.filter(|op| op.funs().iter().all(|(_, f)| is_cheap(f)))
        else {
            return c.read_where(there, values, &leaves, point);
        };
        let f = &live(f);
        let value = |c: &mut Code| {
            let mut args = if *indexed { point.to_vec() } else { Vec::new() };
            for x in xs {
                args.extend(c.read(*x, &self.w.elt(*x).leaves(), point));
            }
            if *indexed && !self.w.exact && (!by_phases || reads_at_coordinates(f)) {
                c.inline(&self.in_bounds(f, read, array), &args)
            } else {
                c.inline(f, &args)
            }
        };
        c.branch(there, &leaves, value, |c| c.zeros(&leaves))
    }

    /// A function of the points that read elements of the array: comparisons of their index with its bounds hold.
    fn in_bounds(&self, f: &Fun, read: &Read<'_>, array: ArrayId) -> Fun {
        let mut indices = Indices::new(&f.body.params[..self.w.rank(read.values)]);
        indices.note(&f.body);
        let mut known = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            let (Some((how, i, end)), [result]) = (comparison(f, &n.op), &n.results[..]) else { return };
            let Some(both) = indices.sums(&[i, end]) else { return };
            let [i, end] = &both[..] else { return };
            let is_end = |axis: usize| match (&how, &end.base) {
                (Comparison::AtLeast, least) => least.literal().is_some_and(|least| least <= 0),
                (Comparison::Below, Uniform::Extent(a, k)) => *k == axis && self.shape(*a) == self.shape(array),
                (Comparison::Below, _) => false,
            };
            if end.is_uniform() && read.sums.iter().enumerate().any(|(axis, sum)| sum == i && is_end(axis)) {
                known.insert(*result, true);
            }
        });
        decided(f, &known)
    }
}

/// Whether all that a function of points reads is at coordinates of the point.
fn reads_at_coordinates(f: &Fun) -> bool {
    let mut all = true;
    f.body.visit(0, &mut |n, _| {
        if let ScalarOp::Index(read) = &n.op {
            all &= read.index.iter().all(|i| f.body.params.contains(i));
        }
    });
    all
}

/// Whether a function does nothing at points that takes longer than to store what it yields and to read it again. What is the same
/// at all points leaves their loops.
fn is_cheap(f: &Fun) -> bool {
    let (mut cheap, mut varying) = (true, HashSet::<Val>::from_iter(f.body.params.iter().copied()));
    f.body.visit(0, &mut |n, _| {
        let here = match &n.op {
            ScalarOp::Prim(p, args) => {
                let varies = args.iter().any(|v| varying.contains(v));
                cheap &= !varies || prim_cost(*p) == 1;
                varies
            }
            ScalarOp::While { .. } | ScalarOp::Own(_) => {
                cheap = false;
                true
            }
            ScalarOp::Index(_) | ScalarOp::If { .. } => true,
            op => op.operands().iter().any(|v| varying.contains(v)),
        };
        if here {
            varying.extend(&n.results);
        }
    });
    cheap
}

/// Whether two reads of an array never meet, and have the same pivots: their indices differ in literals alone that are
/// different remainders by the step of the only coordinate.
pub(super) fn are_apart(a: &[Sum], b: &[Sum]) -> bool {
    let mut apart = false;
    let comparable = a.iter().zip(b).all(|(a, b)| {
        let steps = match &a.terms[..] {
            [t] => t.step.literal().filter(|s| (2..=MAX_PIVOT_STEP as i64).contains(s)),
            _ => None,
        };
        let below = |n: &Uniform| n.literal().zip(steps).is_some_and(|(n, step)| (0..step).contains(&n));
        let same = a.base == b.base;
        apart |= !same;
        a.terms == b.terms && (same || (below(&a.base) && below(&b.base)))
    });
    comparable && apart
}

/// A pivot for each axis whose index is not the same at all points, by phases where these may be.
fn pivots(sums: &[Sum], phases: bool) -> Option<Vec<Pivot>> {
    let varying = sums.iter().enumerate().filter(|(_, sum)| !sum.is_uniform());
    let pivot = |axis: usize| phases.then(|| by_phases(sums, axis)).flatten().or_else(|| of_least_step(sums, axis));
    varying.map(|(axis, _)| pivot(axis)).collect()
}

/// Whether the coordinates that are not summed over can be found from such indices.
pub(super) fn has_pivots(sums: &[Sum]) -> bool {
    pivots(sums, false).is_some()
}

/// The axes of an aligned array along which its elements are not summed: two where elements are found by phases.
fn kept_axes(pivots: &[Pivot]) -> usize {
    pivots.iter().map(|p| 1 + usize::from(p.window.is_some())).sum()
}

/// The coordinates that could be pivots of an axis, outermost first.
fn candidates(sums: &[Sum], axis: usize) -> Vec<Pivot> {
    let alone = |coordinate: u32| {
        let others = sums.iter().enumerate().filter(|(other, _)| *other != axis);
        others.flat_map(|(_, sum)| &sum.terms).all(|t| t.axis != coordinate)
    };
    let candidate = |t: &Term<Uniform, u32>| match t.step {
        Uniform::Literal(step) if alone(t.axis) && step.unsigned_abs() <= MAX_PIVOT_STEP => {
            Some(Pivot { axis, coordinate: t.axis as usize, step, window: None })
        }
        _ => None,
    };
    let mut all: Vec<Pivot> = sums[axis].terms.iter().filter_map(candidate).collect();
    all.sort_by_key(|p| p.coordinate);
    all
}

/// Of equal steps the outermost coordinate, so that the inner ones are summed over.
fn of_least_step(sums: &[Sum], axis: usize) -> Option<Pivot> {
    candidates(sums, axis).into_iter().min_by_key(|p| p.step.unsigned_abs())
}

/// The position of a window that is some elements from the next one, where the coordinate within the window is further in.
fn by_phases(sums: &[Sum], axis: usize) -> Option<Pivot> {
    match candidates(sums, axis)[..] {
        [position, Pivot { step: 1, coordinate, .. }] if position.step > 1 && sums[axis].terms.len() == 2 => {
            Some(Pivot { window: Some(coordinate), ..position })
        }
        _ => None,
    }
}

/// A number divided by a step, rounded up.
fn divided_up(c: &mut Code, n: Val, step: i64) -> Val {
    let (by, more) = (c.int(step), c.int(step - 1));
    let n = c.two(PrimOp::AddP, n, more);
    c.two(PrimOp::QuotP, n, by)
}

/// The coordinate for which a sum has this value, and whether there is one, where that is a question.
fn solved(c: &mut Code, sum: &Sum, pivot: Pivot, value: Val, point: &[Val]) -> (Val, Option<Val>) {
    let base = sum.base.write(c);
    let mut rest = c.two(PrimOp::SubP, value, base);
    for t in sum.terms.iter().filter(|t| t.axis as usize != pivot.coordinate) {
        let step = t.step.write(c);
        let own = c.two(PrimOp::MulP, point[t.axis as usize], step);
        rest = c.two(PrimOp::SubP, rest, own);
    }
    match pivot.step {
        1 => (rest, None),
        -1 => (c.op(PrimOp::NegP, &[rest]), None),
        step => {
            let (by, zero) = (c.int(step), c.int(0));
            let (quotient, left) = (c.two(PrimOp::QuotP, rest, by), c.two(PrimOp::RemP, rest, by));
            (quotient, Some(c.two(PrimOp::EqP, left, zero)))
        }
    }
}
