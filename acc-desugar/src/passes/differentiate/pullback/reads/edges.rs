//! Adjoints of reads at clamped positions, as those of neighbours at the edges of an array.
//!
//! `x[min(i + 1, n - 1)]` is a read at `i + 1` of an array that goes on beyond the edges of `x` with the elements there. The adjoint of
//! that array is gathered. Then, along one axis after the other, what it has beyond an edge is added to the element at the edge.

use super::super::super::indices::{Form, Sum, Uniform};
use super::super::super::sweep::Site;
use super::super::Reverse;
use super::gather::{Read, has_pivots};
use crate::analysis::access::{Affine, Bound, Index};
use acc_core::ad::Code;
use acc_core::ir::{ArrayId, ArrayOp, PrimOp, Val};
use smallvec::SmallVec;

/// The largest distance of a neighbour: an extended array has so many elements more.
const MAX_DISTANCE: u64 = 64;

/// Reads of one array that is extended in the same way.
pub(super) struct Extended<'s> {
    pub(super) sites: Vec<&'s Site>,
    /// By axis; none where the array is as it is.
    axes: Vec<Option<Edges>>,
}

/// An axis that goes on beyond both edges.
#[derive(Clone)]
struct Edges {
    /// Of the point.
    coordinate: u32,
    /// The bounds of its positions, in the order in which they are applied.
    bounds: SmallVec<[Bound<Uniform>; 2]>,
    /// The least and the greatest distance from the coordinate to the position of a neighbour.
    distance: (i64, i64),
}

/// Sites apart, of which those at clamped positions are in groups. In an exact run nothing is summed that no element needs: there are no
/// groups.
pub(super) fn extended(sites: &[Site], exact: bool) -> (Vec<&Site>, Vec<Extended<'_>>) {
    let (mut plain, mut groups) = (Vec::new(), Vec::<Extended<'_>>::new());
    for site in sites {
        let Some(axes) = site.forms.as_deref().filter(|_| !exact).and_then(edges) else {
            plain.push(site);
            continue;
        };
        let same = |g: &&mut Extended<'_>| g.sites[0].array == site.array && g.takes(&axes);
        match groups.iter_mut().find(same) {
            Some(group) => group.add(site, &axes),
            None => groups.push(Extended { sites: vec![site], axes }),
        }
    }
    (plain, groups)
}

/// How an array is extended for reads at such positions, if some are clamped and the points' coordinates can be found from them.
fn edges(forms: &[Form]) -> Option<Vec<Option<Edges>>> {
    let sums: Vec<Sum> = forms.iter().map(|form| form.affine().clone()).collect();
    if !forms.iter().any(|form| matches!(form, Index::Clamped(_))) || !has_pivots(&sums) {
        return None;
    }
    let axis = |form: &Form| match form {
        Index::Affine(_) => Some(None),
        Index::Wrapped(_) => None,
        Index::Clamped(c) => {
            let (base, [t]) = (c.of.base.literal()?, &c.of.terms[..]) else { return None };
            let is_one_side = |b: &Bound<Uniform>| matches!(b, Bound::AtLeast(_));
            let two_sides = match &c.bounds[..] {
                [_] => true,
                [a, b] => is_one_side(a) != is_one_side(b),
                _ => false,
            };
            let near = t.step.literal() == Some(1) && base.unsigned_abs() <= MAX_DISTANCE && two_sides;
            near.then(|| Some(Edges { coordinate: t.axis, bounds: c.bounds.clone(), distance: (base, base) }))
        }
    };
    forms.iter().map(axis).collect()
}

impl<'s> Extended<'s> {
    /// Whether a read is of the same array, but for distances.
    fn takes(&self, axes: &[Option<Edges>]) -> bool {
        self.axes.iter().zip(axes).all(|pair| match pair {
            (None, None) => true,
            (Some(a), Some(b)) => a.coordinate == b.coordinate && a.bounds == b.bounds,
            _ => false,
        })
    }

    fn add(&mut self, site: &'s Site, axes: &[Option<Edges>]) {
        self.sites.push(site);
        for (own, new) in self.axes.iter_mut().zip(axes) {
            if let (Some(own), Some(new)) = (own, new) {
                own.distance = (own.distance.0.min(new.distance.0), own.distance.1.max(new.distance.1));
            }
        }
    }
}

impl Reverse<'_, '_> {
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
        let (rank, elt) = (extents.len(), self.w.elt(array).clone());
        let mut zero = Code::of_index(rank, &self.w.loc);
        let zeros = zero.zeros(&elt.leaves());
        let extended = self.w.stmt(rank, elt, ArrayOp::Generate { shape: c.done(extents), f: zero.done(zeros) });
        self.activity.insert_like(extended, array);
        for (site, values) in group.sites.iter().zip(values) {
            let sums: Vec<Sum> = site.forms.iter().flatten().zip(&group.axes).map(position).collect();
            if let Some(adjoint) = self.gathered(extended, &[Read { sums: &sums, values: *values }]) {
                self.contribute_points(extended, adjoint);
            }
        }
        let Some(mut by) = self.take(extended) else { return };
        for (axis, edges) in group.axes.iter().enumerate() {
            if let Some(edges) = edges {
                by = self.within_edges(array, axis, edges, by);
            }
        }
        self.contribute(array, by);
    }

    /// The adjoint of an array by that of one that goes on beyond its edges along an axis.
    fn within_edges(&mut self, array: ArrayId, axis: usize, edges: &Edges, by: ArrayId) -> ArrayId {
        let (rank, elt) = (self.w.rank(by), self.w.elt(by).clone());
        let leaves = elt.leaves();
        let others: Vec<usize> = (0..rank).filter(|k| *k != axis).collect();
        // The sum of what is beyond each edge.
        let mut beyond = Vec::new();
        for bound in &edges.bounds {
            let mut shape = self.w.code([]);
            let (_, count) = edges.beyond(&mut shape, bound, (by, axis));
            let extents: Vec<Val> = (0..rank).map(|k| if k == axis { count } else { shape.extent(by, k) }).collect();
            let mut c = Code::of_index(rank, &self.w.loc);
            let mut at = c.params();
            let (first, _) = edges.beyond(&mut c, bound, (by, axis));
            at[axis] = c.two(PrimOp::AddP, first, at[axis]);
            let own = c.read(by, &leaves, &at);
            let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(own) };
            let outside = self.w.stmt(rank, elt.clone(), op);
            beyond.push(self.fold_axes(outside, &others));
        }
        // An array of the extents of the result along this axis, and of `by` along others.
        let mut shape = self.w.code([]);
        let extents: Vec<Val> = (0..rank).map(|k| shape.extent(if k == axis { array } else { by }, k)).collect();
        let mut zero = Code::of_index(rank, &self.w.loc);
        let zeros = zero.zeros(&leaves);
        let within =
            self.w.stmt(rank, elt.clone(), ArrayOp::Generate { shape: shape.done(extents), f: zero.done(zeros) });
        let xs: Vec<ArrayId> = beyond.iter().map(|sum| self.replicated(within, |k| k == axis, *sum)).collect();
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
        for (k, more) in lanes.elements.iter().enumerate() {
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
}

impl Edges {
    /// What of an axis of an extended array is beyond a bound: the first position, and how many there are.
    fn beyond(&self, c: &mut Code, bound: &Bound<Uniform>, (extended, axis): (ArrayId, usize)) -> (Val, Val) {
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
        match bound {
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

fn bound_of(bound: &Bound<Uniform>) -> &Uniform {
    match bound {
        Bound::AtLeast(n) | Bound::AtMost(n) => n,
    }
}

/// The position in the extended array.
fn position((form, edges): (&Form, &Option<Edges>)) -> Sum {
    let Affine { base, terms } = form.affine().clone();
    let base = match (edges, base.literal()) {
        (Some(e), Some(n)) => Uniform::Literal(n - e.distance.0),
        _ => base,
    };
    Affine { base, terms }
}
