//! Reads of an array by windows, with a value where they are outside of it.

use crate::analysis::access::{Affine, Term};
use crate::analysis::comparison::{Comparison, comparison};
use crate::analysis::extents::{Extent, Extents};
use acc_core::data::Lit;
use acc_core::ir::{ArrayId, Fun, PrimOp, Read, ScalarOp, Val};
use std::collections::HashMap;

/// The greatest distance of neighbours in a window that are not stored with all between them.
const MAX_WINDOW_STEP: i64 = 16;

/// How often an element is read at least by windows whose elements are written out.
const MIN_READS: i64 = 2;

/// A read of an array, or of a literal where an index is outside.
pub(super) struct Choice {
    /// The node that chooses.
    pub(super) node: usize,
    pub(super) array: ArrayId,
    pub(super) leaf: u32,
    pub(super) other: Lit,
    pub(super) index: Vec<Val>,
    pub(super) at: Vec<At>,
}

/// An index of a read, along an axis of the array.
pub(super) struct At {
    /// The index as a sum.
    pub(super) sum: Option<Affine<i64, Extent>>,
    /// Whether the condition says that it is inside.
    pub(super) is_asked: bool,
    /// Whether it is inside without a condition.
    pub(super) is_inside: bool,
}

impl At {
    /// Whether this differs from another index by a literal only, and is inside where it is read.
    fn is_beside(&self, other: &At) -> bool {
        let (Some(a), Some(b)) = (&self.sum, &other.sum) else { return false };
        (self.is_asked || self.is_inside) && a.terms == b.terms
    }

    /// The number that it is at the first point, but for what all reads have.
    pub(super) fn base(&self) -> i64 {
        self.sum.as_ref().map_or(0, |sum| sum.base)
    }
}

/// An index of all reads, along an axis of the array.
pub(super) enum Along {
    /// Any, without a condition.
    Whole,
    /// The coordinates of these axes, times steps, and a number; the reads with the least and the greatest one.
    Window { steps: Vec<(usize, i64)>, least: usize, greatest: usize, range: Range },
}

/// The positions of windows along an axis: of two equal ranges the ends are equal.
#[derive(Clone, PartialEq)]
pub(super) struct Range {
    /// The least and the greatest number, where coordinates are 0.
    bases: [i64; 2],
    /// What is added to them, the same at all points.
    uniform: Vec<Term<i64, Extent>>,
    /// The steps of coordinates, with the extents of their axes.
    steps: Vec<(i64, Affine<i64, Extent>)>,
}

/// What a padded array is: the array, its leaf, the value around it, and the positions along each axis of windows.
pub(super) type Contents = (ArrayId, u32, Lit, Vec<Option<Range>>);

/// Reads of an array with a value around it.
pub(super) struct Padded {
    pub(super) reads: Vec<Choice>,
    pub(super) along: Vec<Along>,
}

impl Padded {
    pub(super) fn contents(&self) -> Contents {
        let Choice { array, leaf, other, .. } = self.reads[0];
        let range = |along: &Along| match along {
            Along::Whole => None,
            Along::Window { range, .. } => Some(range.clone()),
        };
        (array, leaf, other, self.along.iter().map(range).collect())
    }

    /// The axes of windows, each with the steps of coordinates, and with the value of the least and of the greatest index.
    pub(super) fn windows(&self) -> impl Iterator<Item = (usize, &[(usize, i64)], [Val; 2])> + '_ {
        self.along.iter().enumerate().filter_map(|(axis, along)| match along {
            Along::Whole => None,
            Along::Window { steps, least, greatest, .. } => {
                Some((axis, &steps[..], [*least, *greatest].map(|k| self.reads[k].index[axis])))
            }
        })
    }
}

/// Values of a function of points, as sums.
pub(super) struct Sums<'a> {
    pub(super) extents: &'a Extents,
    pub(super) values: HashMap<Val, Extent>,
    /// The coordinates of the point, and the extents of the axes.
    pub(super) point: Vec<Extent>,
    pub(super) ends: &'a [Extent],
}

impl Sums<'_> {
    fn of(&self, v: Val) -> Option<Affine<i64, Extent>> {
        self.values.get(&v).map(|e| self.extents.sum(*e))
    }

    /// Whether an index is a sum of coordinates and literals, and nowhere negative.
    fn is_natural(&self, index: &Affine<i64, Extent>) -> bool {
        index.base >= 0 && index.terms.iter().all(|t| t.step > 0 && self.point.contains(&t.axis))
    }

    /// The axes whose coordinates the index of a window has, with their steps; none if anything else of it varies.
    fn steps(&self, index: &Affine<i64, Extent>) -> Option<Vec<(usize, i64)>> {
        let mut steps = Vec::new();
        for Term { axis: of, step } in &index.terms {
            match self.point.iter().position(|p| p == of) {
                Some(axis) if step.abs() <= MAX_WINDOW_STEP => steps.push((axis, *step)),
                None if !self.extents.varies(*of) => {}
                _ => return None,
            }
        }
        Some(steps)
    }
}

/// The choice between an element of an array and a literal that a node is, if the condition is that indices are inside.
pub(super) fn choice(f: &Fun, k: usize, sums: &Sums<'_>) -> Option<Choice> {
    let node = &f.body.nodes[k];
    let ScalarOp::If { cond, then, else_ } = &node.op else { return None };
    let ([read], [_]) = (&then.nodes[..], &node.results[..]) else { return None };
    let ScalarOp::Index(Read { array, leaves, index, .. }) = &read.op else { return None };
    if then.results[..] != read.results[..] {
        return None;
    }
    let other = else_.literal(else_.results[0]).or_else(|| f.body.literal(else_.results[0]))?;
    let mut conditions = conjuncts(f, *cond)?;
    let mut at = Vec::new();
    for (i, extent) in index.iter().zip(sums.extents.of(*array)) {
        let (sum, end) = (sums.of(*i), sums.extents.sum(*extent));
        let mut sides = [false; 2];
        conditions.retain(|(how, a, b)| {
            let (side, is_end) = match how {
                Comparison::AtLeast => (0, sums.of(*b).is_some_and(|b| b.is_uniform() && b.base == 0)),
                Comparison::Below => (1, sums.of(*b).is_some_and(|b| b == end)),
            };
            let this = is_end && sum.is_some() && sums.of(*a) == sum;
            sides[side] |= this;
            !this
        });
        let is_coordinate = |(axis, n): (&Extent, &Extent)| {
            sum.as_ref() == Some(&sums.extents.sum(*axis)) && end == sums.extents.sum(*n)
        };
        let is_inside = sums.point.iter().zip(sums.ends).any(is_coordinate);
        sides[0] |= sides[1] && sum.as_ref().is_some_and(|sum| sums.is_natural(sum));
        if !is_inside && sides[0] != sides[1] {
            return None;
        }
        at.push(At { sum, is_asked: sides[0] || sides[1], is_inside });
    }
    let (array, leaf) = (*array, *leaves.first()?);
    conditions.is_empty().then(|| Choice { node: k, array, leaf, other, index: index.to_vec(), at })
}

/// Those of the reads of an array that one array with padding has, if there are some.
pub(super) fn padded(mut reads: Vec<Choice>, sums: &Sums<'_>) -> Option<Padded> {
    let rank = reads.first()?.at.len();
    let is_window: Vec<bool> = (0..rank).map(|axis| reads.iter().any(|r| r.at[axis].is_asked)).collect();
    let windows: Vec<usize> = (0..rank).filter(|axis| is_window[*axis]).collect();
    // All are compared with one that is inside along all axes of windows.
    let first = reads.iter().position(|r| windows.iter().all(|k| r.at[*k].is_asked || r.at[*k].is_inside))?;
    reads.swap(0, first);
    let (first, rest) = reads.split_at_mut(1);
    let fits = |r: &Choice| windows.iter().all(|k| r.at[*k].is_beside(&first[0].at[*k]));
    let fitting: Vec<bool> = std::iter::once(true).chain(rest.iter().map(fits)).collect();
    let mut fitting = fitting.into_iter();
    reads.retain(|_| fitting.next() == Some(true));
    let along = |axis: usize| {
        if !is_window[axis] {
            return Some(Along::Whole);
        }
        let sum = reads[0].at[axis].sum.as_ref()?;
        let steps = sums.steps(sum)?;
        let base = |k: &usize| reads[*k].at[axis].base();
        let (least, greatest) = ((0..reads.len()).min_by_key(base)?, (0..reads.len()).max_by_key(base)?);
        let range = Range {
            bases: [base(&least), base(&greatest)],
            uniform: sum.terms.iter().filter(|t| !sums.point.contains(&t.axis)).copied().collect(),
            steps: steps.iter().map(|(axis, step)| (*step, sums.extents.sum(sums.ends[*axis]))).collect(),
        };
        Some(Along::Window { steps, least, greatest, range })
    };
    let along = (0..rank).map(along).collect::<Option<Vec<Along>>>()?;
    Some(Padded { reads, along })
}

impl Padded {
    /// Whether each element is read so often that storing it once more costs less than the conditions.
    pub(super) fn is_worth_it(&self, sums: &Sums<'_>, is_folded: bool) -> bool {
        let steps = || self.windows().map(|(_, steps, _)| steps);
        if !is_folded {
            let apart: i64 = steps().flatten().map(|(_, step)| step.abs()).product();
            return steps().count() > 1 && self.reads.len() as i64 >= MIN_READS * apart;
        }
        let overlapping = steps().filter(|steps| steps.len() > 1).count();
        let follows = |axis: &Extent| {
            self.reads[0]
                .at
                .iter()
                .any(|at| at.sum.as_ref().is_none_or(|sum| sum.terms.iter().any(|t| t.axis == *axis)))
        };
        let again = sums.point.iter().any(|axis| !follows(axis));
        overlapping > 1 || overlapping == 1 && again
    }
}

/// The comparisons that all hold where a condition does, if it is nothing else.
pub(super) fn conjuncts(f: &Fun, cond: Val) -> Option<Vec<(Comparison, Val, Val)>> {
    let (mut all, mut out) = (vec![cond], Vec::new());
    while let Some(v) = all.pop() {
        let op = &f.body.definition(v)?.op;
        match op {
            ScalarOp::Prim(PrimOp::AndP, args) => all.extend(args),
            op => out.push(comparison(f, op)?),
        }
    }
    Some(out)
}
