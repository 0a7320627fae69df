//! How one-hot adjoints go back through statements.
//!
//! A function is gone through at the places alone. Operations that move elements move places. What has no rule here gets a
//! dense adjoint.

use super::Reverse;
use super::adjoint::{Adjoint, Along, OneHot, Place, Position};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, Loc, PrimOp, Stmt, Val};

const INT: ScalarType = ScalarType::I64;

impl Reverse<'_, '_> {
    /// Goes back through a statement, of this adjoint of its result; yields the adjoint if there is no rule for it.
    pub(super) fn one_hot(&mut self, s: &Stmt, by: OneHot) -> Result<Option<OneHot>, Error> {
        let Some(&y) = s.results.first() else { return Ok(Some(by)) };
        match &s.op {
            ArrayOp::Generate { f, .. } => {
                let active = vec![false; self.w.rank(y)];
                self.at_places(y, &[], (f, true), &active, &by)?;
            }
            ArrayOp::Map { xs, f, indexed } => {
                let active = self.activity.active_params(&self.w.types, s, "f", f);
                self.at_places(y, xs, (f, *indexed), &active, &by)?;
            }
            ArrayOp::Replicate { xs, axes, .. } => {
                let kept: Vec<usize> = (0..axes.len()).filter(|k| axes[*k] == Axis::All).collect();
                self.moved(*xs, y, by, &kept);
            }
            ArrayOp::Backpermute { xs, index, .. } => match coordinates(index) {
                Some(kept) => self.moved(*xs, y, by, &kept),
                None => return Ok(Some(by)),
            },
            ArrayOp::Reshape { xs, .. } if self.w.rank(by.values) == 0 => {
                let by = self.reshaped(*xs, y, by);
                self.add(*xs, Adjoint::OneHot(by));
            }
            ArrayOp::Compute { xs, .. } | ArrayOp::Check { xs, .. } => self.add(*xs, Adjoint::OneHot(by)),
            _ => return Ok(Some(by)),
        }
        Ok(None)
    }

    /// A function of an index, if `indexed`, and elements of these arrays, evaluated and gone through at the places.
    fn at_places(
        &mut self,
        y: ArrayId,
        xs: &[ArrayId],
        (f, indexed): (&Fun, bool),
        active: &[bool],
        by: &OneHot,
    ) -> Result<(), Error> {
        self.w.note(format!("{}: at the places alone, where the function is computed again", by.axes()));
        let (mut code, lanes) = self.lanes(&[by.values]);
        let (index, there) = by.place_of(&mut code, y, &lanes.index);
        let mut args = if indexed { index.clone() } else { Vec::new() };
        for x in xs {
            let leaves = self.w.elt(*x).leaves();
            args.extend(match there {
                Some(there) => code.read_where(there, *x, &leaves, &index),
                None => code.read(*x, &leaves, &index),
            });
        }
        let own = &lanes.elements[0];
        let (swept, mut first) = match there {
            None => (self.swept(code, f, &args, &lanes.index, active, own)?, 0),
            Some(there) => {
                let f = where_there(f, &self.w.loc);
                args.insert(0, there);
                let active = [&[false], active].concat();
                (self.swept(code, &f, &args, &lanes.index, &active, own)?, 1)
            }
        };
        first += if indexed { index.len() } else { 0 };
        let same = xs.iter().all(|x| self.w.same_extents(*x, y));
        for x in xs {
            let elt = self.w.elt(*x).clone();
            if self.is_active(*x) {
                let values = self.adjoint_of(&lanes, &swept, first, &elt);
                let whole = by.whole && (xs.len() == 1 || same);
                self.add(*x, Adjoint::OneHot(OneHot { values, place: by.place.clone(), whole }));
            }
            first += elt.leaf_count();
        }
        self.sites(&lanes, &swept)
    }

    /// The adjoint of rows that are summed, of that of the sums.
    pub(super) fn along_rows(&mut self, xs: ArrayId, by: OneHot) -> OneHot {
        let (rank, elt) = (self.w.rank(by.values), self.w.elt(by.values).clone());
        let mut shape = self.w.code([]);
        let mut extents: Vec<Val> = (0..rank).map(|k| shape.extent(by.values, k)).collect();
        extents.push(shape.extent(xs, self.w.rank(xs) - 1));
        let mut c = Code::of_index(rank + 1, &self.w.loc);
        let index = c.params();
        let value = c.read(by.values, &elt.leaves(), &index[..rank]);
        let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(value) };
        let values = self.w.stmt(rank + 1, elt, op);
        let place = by.place.into_iter().chain([Along::Point(rank)]).collect();
        OneHot { values, place, whole: by.whole }
    }

    /// The adjoint of rows of which one element each has that of the result: the one in the position that `winner` has.
    pub(super) fn at_winner(&mut self, y: ArrayId, winner: ArrayId, certain: bool, by: OneHot) -> OneHot {
        let rank = self.w.rank(by.values);
        let by_point = by.place.iter().enumerate().all(|(axis, along)| *along == Along::Point(axis));
        let array = if by_point {
            winner
        } else {
            self.over(by.values, INT.into(), |c, point| {
                let (index, there) = by.place_of(c, y, point);
                match there {
                    None => c.read(winner, &[INT], &index),
                    Some(there) => c.branch(there, &[INT], |c| c.read(winner, &[INT], &index), |c| vec![c.int(-1)]),
                }
            })
        };
        let certain = certain && by.place.iter().all(is_certain);
        let last = Along::Position(Position { array, at: (0..rank).collect(), certain });
        OneHot { place: by.place.into_iter().chain([last]).collect(), ..by }
    }

    /// Adds to the adjoint of an array whose axes are these of another one, `y`, which has the adjoint `by`.
    fn moved(&mut self, x: ArrayId, y: ArrayId, by: OneHot, axes: &[usize]) {
        if !self.is_active(x) {
            return;
        }
        let place: Place = axes.iter().map(|axis| by.place[*axis].clone()).collect();
        let dropped = (0..by.place.len()).filter(|axis| !axes.contains(axis));
        let mut values = by.values;
        if !dropped.map(|axis| &by.place[axis]).all(is_certain) {
            let elt = self.w.elt(values).clone();
            let (mut c, lanes) = self.lanes(&[values]);
            let mut own = lanes.elements[0].clone();
            if let (_, Some(there)) = by.place_of(&mut c, y, &lanes.index) {
                let zeros = c.zeros(&elt.leaves());
                own = own.into_iter().zip(zeros).map(|(v, zero)| c.choose(there, v, zero)).collect();
            }
            values = self.at_points(&lanes, c, own, elt);
        }
        // What no part of the place depends on is summed over.
        let rank = self.w.rank(values);
        let times = |k: usize| place.iter().filter(|along| **along == Along::Point(k)).count();
        let of_position = |k: usize| place.iter().any(|along| matches!(along, Along::Position(p) if p.at.contains(&k)));
        let mut kept: Vec<usize> = (0..rank).filter(|k| times(*k) > 0 || of_position(*k)).collect();
        let one_hot = kept.iter().all(|k| times(*k) == 1);
        let points: Option<Vec<usize>> = place.iter().map(Along::point).collect();
        if let Some(points) = points.filter(|_| one_hot) {
            kept = points;
        }
        if kept.len() < rank || kept.iter().enumerate().any(|(k, of)| k != *of) {
            values = self.fold_axes(values, &kept);
        }
        let place: Place = place.into_iter().map(|along| along.renumbered(&kept)).collect();
        let by = OneHot { values, place, whole: by.whole };
        if one_hot && by.place.iter().all(|along| along.point().is_some()) {
            self.w.note("dense, summed over the other axes");
            let adjoint = if by.whole { values } else { self.padded(values, x) };
            self.contribute(x, adjoint);
        } else if one_hot {
            self.w.note(by.axes());
            self.add(x, Adjoint::OneHot(by));
        } else {
            self.w.note(format!("{}: scattered by the winner", by.axes()));
            let mut c = Code::of_index(self.w.rank(values), &self.w.loc);
            let point = c.params();
            let (index, there) = by.place_of(&mut c, x, &point);
            let taken = match there {
                Some(there) => c.cast(there, ScalarType::U8),
                None => c.literal(Lit::one(ScalarType::U8)),
            };
            let target = c.done(std::iter::once(taken).chain(index));
            self.add_at(x, values, target);
        }
    }

    /// The adjoint of an array of other extents with the same elements, where one element has one.
    fn reshaped(&mut self, x: ArrayId, y: ArrayId, by: OneHot) -> OneHot {
        let certain = by.place.iter().all(is_certain);
        let rank = self.w.rank(x);
        let mut place = Place::new();
        for axis in 0..rank {
            let array = self.over(by.values, INT.into(), |c, _| {
                let (index, there) = by.place_of(c, y, &[]);
                let position = |c: &mut Code| {
                    let mut left = super::permute::linear(c, y, &index);
                    for inner in (axis + 1..rank).rev() {
                        let n = c.extent(x, inner);
                        left = c.two(PrimOp::QuotP, left, n);
                    }
                    if axis > 0 {
                        let n = c.extent(x, axis);
                        left = c.two(PrimOp::RemP, left, n);
                    }
                    vec![left]
                };
                match there {
                    None => position(c),
                    Some(there) => c.branch(there, &[INT], position, |c| vec![c.int(-1)]),
                }
            });
            place.push(Along::Position(Position { array, at: Vec::new(), certain }));
        }
        OneHot { place, ..by }
    }
}

impl Along {
    fn point(&self) -> Option<usize> {
        match self {
            Along::Point(k) => Some(*k),
            Along::Position(_) => None,
        }
    }

    /// The same of points with these coordinates alone.
    fn renumbered(self, kept: &[usize]) -> Along {
        let new = |k: usize| kept.iter().position(|of| *of == k).unwrap_or(k);
        match self {
            Along::Point(k) => Along::Point(new(k)),
            Along::Position(p) => {
                let at = p.at.iter().map(|k| new(*k)).collect();
                Along::Position(Position { at, ..p })
            }
        }
    }
}

/// Whether a point has a position for certain.
fn is_certain(along: &Along) -> bool {
    match along {
        Along::Point(_) => true,
        Along::Position(p) => p.certain,
    }
}

/// The coordinates that an index consists of, if it is nothing but coordinates.
fn coordinates(index: &Fun) -> Option<Vec<usize>> {
    index.body.results.iter().map(|v| index.body.params.iter().position(|p| p == v)).collect()
}

/// A function where a condition holds, its first parameter; zeros elsewhere.
fn where_there(f: &Fun, loc: &Loc) -> Fun {
    let mut c = Code::new(std::iter::once(ScalarType::Bool).chain(f.param_types()), loc);
    let (params, types) = (c.params(), f.result_types().collect::<Vec<_>>());
    let results = c.branch(params[0], &types, |c| c.inline(f, &params[1..]), |c| c.zeros(&types));
    c.done(results)
}
