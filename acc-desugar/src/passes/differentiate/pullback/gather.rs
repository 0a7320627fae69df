//! The adjoint of what points read, found from the index of an element.
//!
//! Along each axis of the array the index is a sum of the point's coordinates. One of them, the *pivot* of the axis, occurs
//! in no other axis, with a step that is a small literal: the element's index and the other coordinates give its value. The
//! adjoint of an element is the sum, over the coordinates that are no pivots, of the adjoint that the point has which reads
//! the element, if there is one.
//!
//! Reads at `s * y + b` for several `b` from 0 to `s - 1`, as those of a pool, never meet: an element belongs to the one for
//! which `b` is the remainder of its index by `s`. They have one adjoint, which is looked at once for each element.

use super::super::indices::{Sum, Uniform};
use super::Reverse;
use acc_core::ad::Code;
use acc_core::ir::{ArrayId, ArrayOp, PrimOp, Val};

/// The largest step of a pivot: of so many elements one is read, and all are looked at.
const MAX_STEP: u64 = 4;

/// A coordinate of the point that an axis of the array determines.
#[derive(Clone, Copy)]
struct Pivot {
    /// The axis of the array.
    axis: usize,
    coordinate: usize,
    step: i64,
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
        let pivots = pivots(sums)?;
        let coordinates: Vec<usize> = pivots.iter().map(|p| p.coordinate).collect();
        let plain =
            |p: &Pivot| sums[p.axis].terms.len() == 1 && p.step == 1 && sums[p.axis].base == Uniform::Literal(0);
        let found = if reads.len() == 1 && pivots.iter().all(plain) {
            self.fold_axes(values, &coordinates)
        } else {
            let aligned = self.aligned(array, reads, &pivots);
            self.fold_axes(aligned, &(0..pivots.len()).collect::<Vec<_>>())
        };
        if pivots.len() == sums.len() {
            return Some(found);
        }
        // The other axes are read at one place.
        let elt = self.w.elt(found).clone();
        let leaves = elt.leaves();
        Some(self.over(array, elt, |c, index| {
            let at: Vec<Val> = pivots.iter().map(|p| index[p.axis]).collect();
            let mut there = c.within(&found, &at);
            for (axis, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.is_uniform()) {
                let place = sum.base.write(c);
                let same = c.two(PrimOp::EqP, index[axis], place);
                there = c.two(PrimOp::AndP, there, same);
            }
            c.read_where(there, found, &leaves, &at)
        }))
    }

    /// For each index along the axes with pivots, and each value of the coordinates that are none, the adjoint that the point
    /// has which reads there; 0 if there is none.
    fn aligned(&mut self, array: ArrayId, reads: &[Read<'_>], pivots: &[Pivot]) -> ArrayId {
        let Read { sums, values } = reads[0];
        let (rank, elt) = (self.w.rank(values), self.w.elt(values).clone());
        let leaves = elt.leaves();
        let rest: Vec<usize> = (0..rank).filter(|k| pivots.iter().all(|p| p.coordinate != *k)).collect();
        let mut shape = self.w.code([]);
        let mut extents: Vec<Val> = pivots.iter().map(|p| shape.extent(array, p.axis)).collect();
        extents.extend(rest.iter().map(|k| shape.extent(values, *k)));
        let mut c = Code::of_index(rank, &self.w.loc);
        let params = c.params();
        let (along, others) = params.split_at(pivots.len());
        // Each pivot is replaced before another sum could use it: it occurs in no other.
        let mut point = params.clone();
        for (k, v) in rest.iter().zip(others) {
            point[*k] = *v;
        }
        let mut there = c.truth(true);
        let mut remainders = Vec::new();
        for (p, index) in pivots.iter().zip(along) {
            let sum = &sums[p.axis];
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
        let results = if reads.len() as i64 == places && reads.iter().all(|r| r.values == values) {
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
        let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(results) };
        self.w.stmt(rank, elt, op)
    }
}

/// Whether two reads of an array never meet, and have the same pivots: their indices differ in literals alone that are
/// different remainders by the step of the only coordinate.
pub(super) fn are_apart(a: &[Sum], b: &[Sum]) -> bool {
    let mut apart = false;
    let comparable = a.iter().zip(b).all(|(a, b)| {
        let steps = match &a.terms[..] {
            [t] => t.step.literal().filter(|s| (2..=MAX_STEP as i64).contains(s)),
            _ => None,
        };
        let below = |n: &Uniform| n.literal().zip(steps).is_some_and(|(n, step)| (0..step).contains(&n));
        let same = a.base == b.base;
        apart |= !same;
        a.terms == b.terms && (same || (below(&a.base) && below(&b.base)))
    });
    comparable && apart
}

/// A pivot for each axis whose index is not the same at all points.
fn pivots(sums: &[Sum]) -> Option<Vec<Pivot>> {
    let mut all = Vec::new();
    for (axis, sum) in sums.iter().enumerate().filter(|(_, sum)| !sum.is_uniform()) {
        let alone = |coordinate: u32| {
            let others = sums.iter().enumerate().filter(|(other, _)| *other != axis);
            others.flat_map(|(_, sum)| &sum.terms).all(|t| t.axis != coordinate)
        };
        let candidates = sum.terms.iter().filter_map(|t| match t.step {
            Uniform::Literal(step) if alone(t.axis) && step.unsigned_abs() <= MAX_STEP => {
                Some(Pivot { axis, coordinate: t.axis as usize, step })
            }
            _ => None,
        });
        // Of equal steps the outermost coordinate, so that the inner ones are summed over.
        all.push(candidates.min_by_key(|p| p.step.unsigned_abs())?);
    }
    Some(all)
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
