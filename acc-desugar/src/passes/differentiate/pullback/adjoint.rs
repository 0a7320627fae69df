//! The forms of adjoints: dense, and one-hot, which is 0 but at one place of each row.
//!
//! An array to which nothing contributes has none. An adjoint that is the same along an axis needs no form of its own: it is a
//! read that leaves that coordinate out. A one-hot adjoint has its values at *points*, and each point has a place in the
//! array. All coordinates of a point occur in its place, each once, so that the index of an element tells which point it
//! might belong to. Where two contributions are of different places, their sum is dense.

use super::Reverse;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, PrimOp, Val};

#[derive(Clone)]
pub(super) enum Adjoint {
    /// The sum of arrays that may have fewer points: elsewhere these are 0.
    Dense(Vec<ArrayId>),
    OneHot(OneHot),
}

/// An adjoint that is 0 but at the places of points.
#[derive(Clone, PartialEq)]
pub(super) struct OneHot {
    /// By point.
    pub(super) values: ArrayId,
    pub(super) place: Place,
    /// Whether the points go as far as the array does along the axes that have their coordinates.
    pub(super) whole: bool,
}

/// The index of an element, of a point: along each axis.
pub(super) type Place = Vec<Along>;

#[derive(Clone, PartialEq)]
pub(super) enum Along {
    /// This coordinate of the point.
    Point(usize),
    Position(Position),
}

/// A position that an array has at these coordinates of the point.
#[derive(Clone, PartialEq)]
pub(super) struct Position {
    pub(super) array: ArrayId,
    pub(super) at: Vec<usize>,
    /// Whether there is an element for certain; if not, the point has no place.
    pub(super) certain: bool,
}

impl OneHot {
    /// An adjoint that all elements have.
    pub(super) fn everywhere(values: ArrayId, rank: usize) -> OneHot {
        OneHot { values, place: (0..rank).map(Along::Point).collect(), whole: true }
    }

    /// The place of a point in an array, and whether there is one, if that is a question.
    pub(super) fn place_of(&self, c: &mut Code, array: ArrayId, point: &[Val]) -> (Vec<Val>, Option<Val>) {
        let mut there = None;
        let mut index = Vec::new();
        for (axis, along) in self.place.iter().enumerate() {
            index.push(match along {
                Along::Point(k) => point[*k],
                Along::Position(p) => {
                    let position = p.of(c, point);
                    if !p.certain {
                        let inside = c.within_axis(&array, axis, position);
                        there = Some(there.map_or(inside, |there| c.two(PrimOp::AndP, there, inside)));
                    }
                    position
                }
            });
        }
        (index, there)
    }

    /// The axes with positions, in words.
    pub(super) fn axes(&self) -> String {
        let positions = self.place.iter().enumerate().filter(|(_, along)| matches!(along, Along::Position(_)));
        let axes: Vec<String> = positions.map(|(axis, _)| axis.to_string()).collect();
        format!("one-hot along {} {}", if axes.len() == 1 { "axis" } else { "axes" }, axes.join(" and "))
    }
}

impl Position {
    fn of(&self, c: &mut Code, point: &[Val]) -> Val {
        let at: Vec<Val> = self.at.iter().map(|k| point[*k]).collect();
        c.read(self.array, &[ScalarType::I64], &at)[0]
    }
}

impl Reverse<'_, '_> {
    /// Adds to the adjoint of an array, if it has one.
    pub(super) fn contribute(&mut self, a: ArrayId, adjoint: ArrayId) {
        self.w.extents.set(adjoint, a);
        self.contribute_points(a, adjoint);
    }

    /// The same of an adjoint that has no points if nothing contributed to it and the array's extents are costly.
    pub(super) fn contribute_any(&mut self, a: ArrayId, adjoint: ArrayId) {
        if self.w.has_costly_extents(a) {
            self.contribute_points(a, adjoint);
        } else {
            self.contribute(a, adjoint);
        }
    }

    /// The same of what may have fewer points than the array.
    pub(super) fn contribute_points(&mut self, a: ArrayId, adjoint: ArrayId) {
        self.add(a, Adjoint::Dense(vec![adjoint]));
    }

    /// The same in any form.
    pub(super) fn add(&mut self, a: ArrayId, adjoint: Adjoint) {
        if !self.is_active(a) {
            return;
        }
        let sum = match (self.adjoints.remove(&a), adjoint) {
            (None, adjoint) => adjoint,
            (Some(Adjoint::Dense(old)), Adjoint::Dense(new)) => Adjoint::Dense(match (&old[..], &new[..]) {
                (&[one], &[other]) if self.w.same_extents(one, other) => vec![self.w.sum(one, other)],
                _ => [old, new].concat(),
            }),
            (Some(Adjoint::OneHot(old)), Adjoint::OneHot(new)) if old.whole && new.whole && old.place == new.place => {
                Adjoint::OneHot(OneHot { values: self.w.sum(old.values, new.values), ..old })
            }
            (Some(old), new) => {
                let (old, new) = (self.dense(a, old), self.dense(a, new));
                Adjoint::Dense(vec![self.w.sum(old, new)])
            }
        };
        self.adjoints.insert(a, sum);
    }

    /// Whether the adjoint of an array so far is one that the steps of a loop add to.
    pub(super) fn is_carried(&self, a: ArrayId) -> bool {
        matches!(self.adjoints.get(&a), Some(Adjoint::Dense(parts)) if matches!(parts[..], [one] if self.carried.contains(&one)))
    }

    /// The adjoint of an array so far, as a dense one, which nobody else takes; none if nothing contributed.
    pub(super) fn take(&mut self, a: ArrayId) -> Option<ArrayId> {
        let adjoint = self.adjoints.remove(&a)?;
        Some(self.dense(a, adjoint))
    }

    /// The same, zeros if nothing contributed.
    pub(super) fn adjoint_so_far(&mut self, a: ArrayId) -> ArrayId {
        self.take(a).unwrap_or_else(|| self.w.zeros(a))
    }

    /// The same, with fewer points where only one contributed that has these.
    pub(super) fn points_so_far(&mut self, a: ArrayId) -> ArrayId {
        match self.adjoints.remove(&a) {
            Some(adjoint) if self.w.has_costly_extents(a) => self.points(a, adjoint),
            Some(adjoint) => self.dense(a, adjoint),
            None => self.w.no_adjoint(a),
        }
    }

    /// The adjoint of an array as a dense one, with fewer points if all that contributed has these.
    pub(super) fn points(&mut self, a: ArrayId, adjoint: Adjoint) -> ArrayId {
        match adjoint {
            Adjoint::Dense(parts) if parts.len() == 1 => parts[0],
            adjoint => self.dense(a, adjoint),
        }
    }

    /// The adjoint of an array as a dense one of its extents.
    pub(super) fn dense(&mut self, a: ArrayId, adjoint: Adjoint) -> ArrayId {
        match adjoint {
            Adjoint::OneHot(adjoint) => self.expanded(a, adjoint),
            Adjoint::Dense(parts) => {
                let padded: Vec<ArrayId> = parts.into_iter().map(|part| self.padded(part, a)).collect();
                let sum = padded.into_iter().reduce(|sum, part| self.w.sum(sum, part));
                sum.unwrap_or_else(|| self.w.zeros(a))
            }
        }
    }

    /// Of each element the value of the point whose place it is.
    fn expanded(&mut self, a: ArrayId, OneHot { values, place, whole }: OneHot) -> ArrayId {
        let elt = self.w.tangent_elt(a);
        let leaves = elt.leaves();
        let rank = self.w.rank(values);
        self.over(a, elt, |c, index| {
            let axis_of = |k: usize| place.iter().position(|along| *along == Along::Point(k));
            let point: Vec<Val> = (0..rank).filter_map(axis_of).map(|axis| index[axis]).collect();
            let value = |c: &mut Code| {
                let mut own = c.read(values, &leaves, &point);
                for (along, i) in place.iter().zip(index) {
                    if let Along::Position(p) = along {
                        let position = p.of(c, &point);
                        let is_it = c.two(PrimOp::EqP, position, *i);
                        let zeros = c.zeros(&leaves);
                        own = own.into_iter().zip(zeros).map(|(v, zero)| c.choose(is_it, v, zero)).collect();
                    }
                }
                own
            };
            if whole {
                return value(c);
            }
            let inside = c.within(&values, &point);
            c.branch(inside, &leaves, value, |c| c.zeros(&leaves))
        })
    }
}
