//! Adjoints of reads at clamped positions, as those of neighbours at the edges of an array.
//!
//! `x[min(i + 1, n - 1)]` is a read at `i + 1` of an array that goes on beyond the edges of `x` with the elements there. The adjoint of
//! that array is gathered. Then, along one axis after the other, what it has beyond an edge is added to the element at the edge.

use super::super::super::indices::{Form, Uniform};
use super::super::super::sweep::Site;
use super::super::Reverse;
use super::super::lanes::Lanes;
use super::gather::Read;
use crate::analysis::access::{Affine, Bound, Index};
use crate::analysis::extents::Extent;
use acc_core::ad::Code;
use acc_core::data::EltType;
use acc_core::ir::{ArrayId, ArrayOp, PrimOp, Val};
use smallvec::{SmallVec, smallvec};

/// The largest distance of a neighbour: an extended array has so many elements more.
const MAX_DISTANCE: u64 = 64;

/// Reads of one array that is extended in the same way.
pub(super) struct Extended<'s> {
    pub(super) sites: Vec<&'s Site>,
    /// By axis; none where the array is as it is.
    axes: Vec<Option<Edges>>,
}

/// An axis that goes on beyond both edges.
struct Edges {
    /// Of the point.
    coordinate: u32,
    /// The bounds of its positions, in the order in which they are applied.
    bounds: SmallVec<[Bound<Uniform>; 2]>,
    /// The least and the greatest distance from the coordinate to the position of a neighbour.
    distance: (i64, i64),
}

impl Extended<'_> {
    /// Whether a read is of the same array, but for distances.
    fn takes(&self, axes: &[Option<Edges>]) -> bool {
        self.axes.iter().zip(axes).all(|pair| match pair {
            (None, None) => true,
            (Some(a), Some(b)) => a.coordinate == b.coordinate && a.bounds == b.bounds,
            _ => false,
        })
    }
}

impl Reverse<'_, '_> {
    /// Sites apart, of which those at clamped positions are in groups. In an exact run nothing is summed that no element needs: there
    /// are no groups.
    pub(super) fn extended<'s>(&mut self, lanes: &Lanes, sites: &'s [Site]) -> (Vec<&'s Site>, Vec<Extended<'s>>) {
        let points = self.w.extents.common(&lanes.xs);
        let (mut plain, mut groups) = (Vec::new(), Vec::<Extended<'_>>::new());
        for site in sites {
            let Some(axes) = self.w.assumes.then(|| self.edges(site, &points)).flatten() else {
                plain.push(site);
                continue;
            };
            let same = |g: &&mut Extended<'_>| g.sites[0].array == site.array && g.takes(&axes);
            let Some(group) = groups.iter_mut().find(same) else {
                groups.push(Extended { sites: vec![site], axes });
                continue;
            };
            group.sites.push(site);
            for (own, new) in group.axes.iter_mut().flatten().zip(axes.iter().flatten()) {
                own.distance = (own.distance.0.min(new.distance.0), own.distance.1.max(new.distance.1));
            }
        }
        (plain, groups)
    }

    /// How an array is extended for a read, if some of its positions are clamped and the points' coordinates can be found from them.
    fn edges(&mut self, site: &Site, points: &[Extent]) -> Option<Vec<Option<Edges>>> {
        let forms = site.whole_forms()?;
        if !forms.iter().any(is_clamped) || !self.is_solvable(&forms, points) {
            return None;
        }
        let axis = |(axis, form): (usize, &Form)| {
            let Index::Clamped(c) = form else { return Some(None) };
            let (base, [t]) = (c.of.base.literal()?, &c.of.terms[..]) else { return None };
            let is_one_side = |b: &Bound<Uniform>| matches!(b, Bound::AtLeast(_));
            let two_sides = match &c.bounds[..] {
                [_] => true,
                [a, b] => is_one_side(a) != is_one_side(b),
                _ => false,
            };
            if t.step.literal() != Some(1) || base.unsigned_abs() > MAX_DISTANCE || !two_sides {
                return None;
            }
            // Neighbours on either side are reads of one array: those on the other one are in bounds, or the read faults.
            let last = Uniform::Of(PrimOp::SubP, vec![Uniform::Extent(site.array, axis), Uniform::Literal(1)]);
            let is_own = |b: &Bound<Uniform>| match b {
                Bound::AtLeast(n) => n.literal() == Some(0),
                Bound::AtMost(n) => self.distance(n, &last) == Some(0),
            };
            let bounds = if c.bounds.iter().all(is_own) {
                smallvec![Bound::AtLeast(Uniform::Literal(0)), Bound::AtMost(last)]
            } else {
                c.bounds.clone()
            };
            Some(Some(Edges { coordinate: t.axis, bounds, distance: (base, base) }))
        };
        forms.iter().enumerate().map(axis).collect()
    }

    /// The literal that one number is more than another one, if it is one.
    fn distance(&mut self, a: &Uniform, b: &Uniform) -> Option<i64> {
        let numbers = [a, b].map(|n| n.among(&mut self.w.extents)).to_vec();
        let difference = self.w.extents.prim(PrimOp::SubP, numbers);
        let sum = self.w.extents.sum(difference);
        sum.is_uniform().then_some(sum.base)
    }

    /// The contributions of reads at clamped positions, for which points have these adjoints.
    pub(super) fn extended_contributions(&mut self, group: &Extended<'_>, values: &[ArrayId]) {
        self.w.note_of("read", "gathered: what is beyond an edge is added to the element at the edge");
        let (array, points) = (group.sites[0].array, values[0]);
        let mut c = self.w.code([]);
        let mut extents = Vec::new();
        for (axis, edges) in group.axes.iter().enumerate() {
            extents.push(match edges {
                None => c.extent(array, axis),
                Some(e) => {
                    let (n, more) = (c.extent(points, e.coordinate as usize), c.int(e.distance.1 - e.distance.0));
                    c.two(PrimOp::AddP, n, more)
                }
            });
        }
        // The array that goes on beyond the edges: nothing reads it.
        let elt = self.w.elt(array).clone();
        let extended = self.w.zeros_of(c.done(extents), elt);
        self.activity.insert_like(extended, array);
        for (site, values) in group.sites.iter().zip(values) {
            let forms = site.forms.iter().flatten().zip(&group.axes).map(position).collect();
            if let Some(adjoint) = self.gathered(extended, &[Read { forms, values: *values }]) {
                self.contribute_points(extended, adjoint);
            }
        }
        let Some(mut by) = self.take(extended) else { return };
        for (axis, edges) in group.axes.iter().enumerate() {
            if let Some(edges) = edges {
                by = self.within_edges((array, points), axis, edges, by);
            }
        }
        self.contribute(array, by);
    }

    /// The adjoint of an array by that of one that goes on beyond its edges along an axis.
    fn within_edges(
        &mut self,
        (array, points): (ArrayId, ArrayId),
        axis: usize,
        edges: &Edges,
        by: ArrayId,
    ) -> ArrayId {
        let (rank, elt) = (self.w.rank(by), self.w.elt(by).clone());
        let leaves = elt.leaves();
        let exceeded: Vec<usize> = (0..edges.bounds.len()).filter(|k| self.is_exceeded(edges, *k, points)).collect();
        // An array of the extents of the result along this axis, and of `by` along others.
        let mut shape = self.w.code([]);
        let extents: Vec<Val> = (0..rank).map(|k| shape.extent(if k == axis { array } else { by }, k)).collect();
        let mut xs = vec![self.w.zeros_of(shape.done(extents), elt.clone())];
        if !exceeded.is_empty() {
            let sums = self.sums_beyond(axis, edges, &exceeded, by);
            xs.push(self.replicated(xs[0], |k| k == axis, sums));
        }
        let (mut c, lanes) = self.lanes(&xs);
        let mut at = lanes.index.clone();
        let from = c.int(edges.distance.0);
        at[axis] = c.two(PrimOp::SubP, at[axis], from);
        let mut inside = c.within_axis(&by, axis, at[axis]);
        for bound in &edges.bounds {
            let n = bound_of(bound).write(&mut c);
            let op = if matches!(bound, Bound::AtLeast(_)) { PrimOp::GeP } else { PrimOp::LeP };
            let holds = c.two(op, lanes.index[axis], n);
            inside = c.two(PrimOp::AndP, inside, holds);
        }
        let mut sum = c.read_where(inside, by, &leaves, &at);
        let zeros = c.zeros(&leaves);
        let more = lanes.elements[1..].iter().flat_map(|e| e.chunks(leaves.len()));
        for (k, more) in exceeded.into_iter().zip(more) {
            // The other bound may move the place.
            let place = bound_of(&edges.bounds[k]).write(&mut c);
            let place = edges.bounds[k + 1..].iter().fold(place, |place, next| {
                let n = bound_of(next).write(&mut c);
                c.two(if matches!(next, Bound::AtLeast(_)) { PrimOp::MaxP } else { PrimOp::MinP }, place, n)
            });
            let here = c.two(PrimOp::EqP, lanes.index[axis], place);
            for ((sum, more), zero) in sum.iter_mut().zip(more).zip(&zeros) {
                let more = c.choose(here, *more, *zero);
                *sum = c.two(PrimOp::AddP, *sum, more);
            }
        }
        self.at_points(&lanes, c, sum, elt)
    }

    /// Whether an array has elements beyond a bound, unless for certain it has none.
    fn is_exceeded(&mut self, edges: &Edges, bound: usize, points: ArrayId) -> bool {
        let n = Uniform::Extent(points, edges.coordinate as usize);
        let inside = match &edges.bounds[bound] {
            Bound::AtLeast(least) => least.literal().map(|least| edges.distance.0 - least),
            Bound::AtMost(most) => self.distance(most, &n).map(|most| most + 1 - edges.distance.1),
        };
        inside.is_none_or(|inside| inside < 0)
    }

    /// The sums of what an array has along an axis beyond each of some bounds.
    fn sums_beyond(&mut self, axis: usize, edges: &Edges, bounds: &[usize], by: ArrayId) -> ArrayId {
        let (rank, elt) = (self.w.rank(by), self.w.elt(by).clone());
        let leaves = elt.leaves();
        let mut shape = self.w.code([]);
        let counts: Vec<Val> = bounds.iter().map(|k| edges.beyond(&mut shape, *k, (by, axis)).1).collect();
        let most = counts.into_iter().reduce(|a, b| shape.two(PrimOp::MaxP, a, b)).unwrap_or_else(|| shape.int(0));
        let extents: Vec<Val> = (0..rank).map(|k| if k == axis { most } else { shape.extent(by, k) }).collect();
        let mut c = Code::of_index(rank, &self.w.loc);
        let index = c.params();
        let mut outside = Vec::new();
        for k in bounds {
            let (first, count) = edges.beyond(&mut c, *k, (by, axis));
            let mut at = index.clone();
            at[axis] = c.two(PrimOp::AddP, first, index[axis]);
            outside.extend(if bounds.len() == 1 {
                c.read(by, &leaves, &at)
            } else {
                let is_own = c.two(PrimOp::LtP, index[axis], count);
                c.read_where(is_own, by, &leaves, &at)
            });
        }
        let elt = EltType::tuple(bounds.iter().map(|_| elt.clone()));
        let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(outside) };
        let outside = self.w.stmt(rank, elt, op);
        self.fold_axes(outside, &(0..rank).filter(|k| *k != axis).collect::<Vec<_>>())
    }
}

impl Edges {
    /// What of an axis of an extended array is beyond a bound: the first position, and how many there are.
    fn beyond(&self, c: &mut Code, bound: usize, (extended, axis): (ArrayId, usize)) -> (Val, Val) {
        let (zero, all) = (c.int(0), c.extent(extended, axis));
        // The position of an element, if the extended array has it, and the nearest one otherwise.
        let position = |c: &mut Code, element: &Uniform, after: i64| {
            let (element, first) = (element.write(c), c.int(self.distance.0 - after));
            let last = c.two(PrimOp::AddP, all, first);
            let element = c.two(PrimOp::MinP, element, last);
            let element = c.two(PrimOp::MaxP, element, first);
            c.two(PrimOp::SubP, element, first)
        };
        let below = self.bounds.iter().find_map(|b| match b {
            Bound::AtLeast(n) => Some(position(c, n, 0)),
            Bound::AtMost(_) => None,
        });
        match &self.bounds[bound] {
            Bound::AtLeast(_) => (zero, below.unwrap_or(zero)),
            Bound::AtMost(n) => {
                let after = position(c, n, 1);
                // Where the bounds contradict each other, a position may be beyond both: it counts below the least one.
                let first = below.map_or(after, |below| c.two(PrimOp::MaxP, after, below));
                (first, c.two(PrimOp::SubP, all, first))
            }
        }
    }
}

pub(super) fn is_clamped(form: &Form) -> bool {
    matches!(form, Index::Clamped(_))
}

fn bound_of(bound: &Bound<Uniform>) -> &Uniform {
    match bound {
        Bound::AtLeast(n) | Bound::AtMost(n) => n,
    }
}

/// The position in the extended array.
fn position((form, edges): (&Form, &Option<Edges>)) -> Form {
    let (Some(edges), Index::Clamped(c)) = (edges, form) else { return form.clone() };
    let base = c.of.base.literal().map_or_else(|| c.of.base.clone(), |n| Uniform::Literal(n - edges.distance.0));
    Index::Affine(Affine { base, terms: c.of.terms.clone() })
}
