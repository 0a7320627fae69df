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
//! A remainder by the number of points, as that of a neighbour in an array that wraps around, is solved by the remainder of the way back.
//!
//! Reads at `s * y + b` for several `b` from 0 to `s - 1`, as those of a pool, never meet: an element belongs to the one for
//! which `b` is the remainder of its index by `s`. They have one adjoint, which is looked at once for each element.

use super::super::super::indices::{Form, Indices, Sum, Uniform};
use super::super::Reverse;
use crate::analysis::access::{Index, Term};
use crate::analysis::comparison::{Comparison, comparison, decided};
use crate::analysis::cost::prim_cost;
use crate::analysis::extents::Extent;
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
    fn in_phases(&self, c: &mut Code, form: &Form, index: Val) -> Vec<Val> {
        if self.window.is_none() {
            return vec![index];
        }
        let (base, step) = (form.affine().base.write(c), c.int(self.step));
        let from = c.two(PrimOp::SubP, index, base);
        [PrimOp::RemP, PrimOp::QuotP].map(|op| c.two(op, from, step)).into()
    }
}

/// A read: its indices, none of them clamped, and the adjoint of each point for it.
pub(super) struct Read {
    pub(super) forms: Vec<Form>,
    pub(super) values: ArrayId,
}

impl Reverse<'_, '_> {
    /// The adjoint of an array that points read at such indices, [apart](are_apart) from each other, if the indices can be
    /// solved; it may have fewer points than the array.
    pub(super) fn gathered(&mut self, array: ArrayId, reads: &[Read]) -> Option<ArrayId> {
        let [Read { forms, values }, ..] = reads else { return None };
        let values = *values;
        let has_room = |pivots: &Vec<Pivot>| self.w.rank(values) + kept_axes(pivots) - pivots.len() <= MAX_RANK;
        let by_phases = (reads.len() == 1).then(|| pivots(forms, true)).flatten().filter(has_room);
        let pivots = by_phases.or_else(|| pivots(forms, false))?;
        let coordinates: Vec<usize> = pivots.iter().map(|p| p.coordinate).collect();
        let starts_at_0 = |p: &Pivot| forms[p.axis].affine().base == Uniform::Literal(0);
        let plain = |p: &Pivot| is_sum(&forms[p.axis], 1) && p.step == 1 && starts_at_0(p);
        let found = if reads.len() == 1 && pivots.iter().all(plain) {
            self.fold_axes(values, &coordinates)
        } else {
            let aligned = self.aligned(array, reads, &pivots);
            self.fold_axes(aligned, &(0..kept_axes(&pivots)).collect::<Vec<_>>())
        };
        if pivots.len() == forms.len() && pivots.iter().all(|p| p.window.is_none()) {
            return Some(found);
        }
        // In an exact run an element is evaluated only if something reads it.
        if self.w.assumes && pivots.iter().all(|p| p.window.is_none()) {
            let kept = |axis: usize| pivots.iter().any(|p| p.axis == axis);
            let place = forms.iter().enumerate().map(|(axis, form)| (!kept(axis)).then_some(&form.affine().base));
            return Some(self.at_place(array, &place.collect::<Vec<_>>(), found));
        }
        // Phases are interleaved; axes without pivots are read at one place. Windows that begin at the first element or before it
        // may reach each.
        let starts_in = |p: &Pivot| forms[p.axis].affine().base.literal().is_some_and(|base| base <= 0);
        let reaches_all = |p: &Pivot| p.window.is_none() || starts_in(p);
        let is_certain = pivots.len() == forms.len() && pivots.iter().all(reaches_all);
        let elt = self.w.elt(found).clone();
        let leaves = elt.leaves();
        Some(self.over(array, elt, |c, index| {
            let at: Vec<Val> = pivots.iter().flat_map(|p| p.in_phases(c, &forms[p.axis], index[p.axis])).collect();
            if is_certain {
                return c.read(found, &leaves, &at);
            }
            let mut there = c.within(&found, &at);
            for (axis, form) in forms.iter().enumerate().filter(|(_, form)| form.affine().is_uniform()) {
                let place = form.affine().base.write(c);
                let same = c.two(PrimOp::EqP, index[axis], place);
                there = c.two(PrimOp::AndP, there, same);
            }
            c.read_where(there, found, &leaves, &at)
        }))
    }

    /// Whether the coordinates that are not summed over can be found from such an index: one of them for each axis along which it varies.
    /// Of a remainder there must be as many as of points. Along other axes it is a place that is known as a sum.
    pub(super) fn is_solvable(&mut self, forms: &[Form], points: &[Extent]) -> bool {
        if forms.iter().any(|form| form.affine().is_uniform() && !is_sum(form, 0)) {
            return false;
        }
        pivots(forms, false).is_some_and(|pivots| {
            pivots.iter().all(|p| match &forms[p.axis] {
                Index::Affine(_) | Index::Clamped(_) => true,
                Index::Wrapped(w) => p.step.abs() == 1 && w.by.among(&mut self.w.extents) == points[p.coordinate],
            })
        })
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
            return everywhere;
        }
        let zeros = self.w.zeros(like);
        let (c, lanes) = self.lanes(&[everywhere, zeros]);
        let same = lanes.elements[0].clone();
        self.at_points(&lanes, c, same, elt)
    }

    /// For each index along the axes with pivots, and each value of the coordinates that are none, the adjoint that the point
    /// has which reads there; 0 if there is none.
    fn aligned(&mut self, array: ArrayId, reads: &[Read], pivots: &[Pivot]) -> ArrayId {
        let Read { forms, values } = &reads[0];
        let values = *values;
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
            let base = forms[p.axis].affine().base.write(&mut shape);
            let (step, zero) = (shape.int(p.step), shape.int(0));
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
            let (coordinate, solved) = if reads.iter().any(|r| r.forms[p.axis] != forms[p.axis]) {
                let by = c.int(p.step);
                remainders.push((*p, c.two(PrimOp::RemP, *index, by)));
                (c.two(PrimOp::QuotP, *index, by), None)
            } else {
                solved(&mut c, forms[p.axis].affine(), *p, *index, &point)
            };
            let (coordinate, inside) = match &forms[p.axis] {
                Index::Wrapped(w) => {
                    let is_whole = w.by.among(&mut self.w.extents) == self.w.extents.of(array)[p.axis];
                    remainder(&mut c, coordinate, &w.by, (!is_whole).then_some(*index))
                }
                _ => (coordinate, Some(c.within_axis(&values, p.coordinate, coordinate))),
            };
            point[p.coordinate] = coordinate;
            for ok in solved.into_iter().chain(inside) {
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
                    let base = read.forms[p.axis].affine().base.write(&mut c);
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
        (read, array, by_phases): (&Read, ArrayId, bool),
        point: &[Val],
    ) -> Vec<Val> {
        let values = read.values;
        let leaves = self.w.elt(values).leaves();
        let written = self.w.definition(values).map(|s| &s.op);
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
            if *indexed && self.w.assumes && (!by_phases || reads_at_coordinates(f)) {
                c.inline(&self.in_bounds(f, read, array), &args)
            } else {
                c.inline(f, &args)
            }
        };
        c.branch(there, &leaves, value, |c| c.zeros(&leaves))
    }

    /// A function of the points that read elements of the array: comparisons of their index with its bounds hold.
    fn in_bounds(&self, f: &Fun, read: &Read, array: ArrayId) -> Fun {
        let mut indices = Indices::new(&f.body.params[..self.w.rank(read.values)]);
        indices.note(&f.body);
        let mut known = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            let (Some((how, i, end)), [result]) = (comparison(f, &n.op), &n.results[..]) else { return };
            let Some(both) = indices.sums(&[i, end]) else { return };
            let [i, end] = &both[..] else { return };
            let is_end = |axis: usize| match (&how, &end.base) {
                (Comparison::AtLeast, least) => least.literal().is_some_and(|least| least <= 0),
                (Comparison::Below, Uniform::Extent(a, k)) => *k == axis && self.w.same_extents(*a, array),
                (Comparison::Below, _) => false,
            };
            let is_index = |form: &Form| matches!(form, Index::Affine(sum) if sum == i);
            if end.is_uniform() && read.forms.iter().enumerate().any(|(axis, form)| is_index(form) && is_end(axis)) {
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
pub(super) fn are_apart(a: &[Option<Form>], b: &[Option<Form>]) -> bool {
    let comparable = |(a, b): (&Option<Form>, &Option<Form>)| {
        let (Some(Index::Affine(a)), Some(Index::Affine(b))) = (a, b) else { return a == b };
        let steps = match &a.terms[..] {
            [t] => t.step.literal().filter(|s| (2..=MAX_PIVOT_STEP as i64).contains(s)),
            _ => None,
        };
        let below = |n: &Uniform| n.literal().zip(steps).is_some_and(|(n, step)| (0..step).contains(&n));
        a.terms == b.terms && (a.base == b.base || (below(&a.base) && below(&b.base)))
    };
    a != b && a.iter().zip(b).all(comparable)
}

/// A pivot for each axis whose index is not the same at all points, by phases where these may be.
fn pivots(forms: &[Form], phases: bool) -> Option<Vec<Pivot>> {
    let varying = forms.iter().enumerate().filter(|(_, form)| !form.affine().is_uniform());
    let pivot = |axis: usize| phases.then(|| by_phases(forms, axis)).flatten().or_else(|| of_least_step(forms, axis));
    varying.map(|(axis, _)| pivot(axis)).collect()
}

/// The axes of an aligned array along which its elements are not summed: two where elements are found by phases.
fn kept_axes(pivots: &[Pivot]) -> usize {
    pivots.iter().map(|p| 1 + usize::from(p.window.is_some())).sum()
}

/// The coordinates that could be pivots of an axis, outermost first.
fn candidates(forms: &[Form], axis: usize) -> Vec<Pivot> {
    let alone = |coordinate: u32| {
        let others = forms.iter().enumerate().filter(|(other, _)| *other != axis);
        others.flat_map(|(_, form)| &form.affine().terms).all(|t| t.axis != coordinate)
    };
    let candidate = |t: &Term<Uniform, u32>| match t.step {
        Uniform::Literal(step) if alone(t.axis) && step.unsigned_abs() <= MAX_PIVOT_STEP => {
            Some(Pivot { axis, coordinate: t.axis as usize, step, window: None })
        }
        _ => None,
    };
    let mut all: Vec<Pivot> = forms[axis].affine().terms.iter().filter_map(candidate).collect();
    all.sort_by_key(|p| p.coordinate);
    all
}

/// Of equal steps the outermost coordinate, so that the inner ones are summed over.
fn of_least_step(forms: &[Form], axis: usize) -> Option<Pivot> {
    candidates(forms, axis).into_iter().min_by_key(|p| p.step.unsigned_abs())
}

/// The position of a window that is some elements from the next one, where the coordinate within the window is further in.
fn by_phases(forms: &[Form], axis: usize) -> Option<Pivot> {
    match candidates(forms, axis)[..] {
        [position, Pivot { step: 1, coordinate, .. }] if position.step > 1 && is_sum(&forms[axis], 2) => {
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

/// Whether an index is a sum of so many coordinates.
fn is_sum(form: &Form, terms: usize) -> bool {
    matches!(form, Index::Affine(sum) if sum.terms.len() == terms)
}

/// The coordinate that is the remainder of an integer by the number of coordinates. The axis of an index of which that is not known may have
/// more elements than there are remainders, or some where there are none.
fn remainder(c: &mut Code, n: Val, by: &Uniform, index: Option<Val>) -> (Val, Option<Val>) {
    let mut count = by.write(c);
    let inside = index.map(|index| c.two(PrimOp::LtP, index, count));
    if inside.is_some() {
        let one = c.int(1);
        count = c.two(PrimOp::MaxP, count, one);
    }
    (c.two(PrimOp::ModFloorP, n, count), inside)
}
