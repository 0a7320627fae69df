//! Conditionals on where a lane is: each branch runs on its own part of the index space.

use super::Flattener;
use super::affine::{Affine, Term};
use super::loops::free_values;
use super::scalar::{Lanes, Scalar};
use crate::graph::{Op, SizeOp, Value};
use acc_core::ir::{Node, PrimOp, Region, Val};
use smallvec::{SmallVec, smallvec};

/// Nodes of a branch that is written once for each border.
const MOST_COPIED: usize = 4;
/// Borders that divide a space: both ends of three axes.
const MOST_BORDERS: usize = 6;

/// That a condition holds for the positions of an axis below `at` alone, or if `!below` for the others alone.
#[derive(Clone, Copy)]
pub(super) struct Border {
    axis: usize,
    len: Value,
    at: Value,
    below: bool,
}

/// That a condition holds inside of all borders, or if `!inside` everywhere else.
#[derive(Clone)]
pub(super) struct Borders {
    all: SmallVec<[Border; 1]>,
    inside: bool,
}

impl Borders {
    /// One border has two sides alike.
    fn of(border: Border) -> Borders {
        Borders { all: smallvec![border], inside: true }
    }

    fn negated(mut self) -> Borders {
        match &mut self.all[..] {
            [one] => one.below = !one.below,
            _ => self.inside = !self.inside,
        }
        self
    }

    /// Where both hold, if that is the inside of borders, too.
    fn and(mut self, other: &Borders) -> Option<Borders> {
        self.all.extend(other.all.iter().copied());
        (self.inside && other.inside && self.all.len() <= MOST_BORDERS).then_some(self)
    }
}

impl Flattener<'_> {
    /// Notes where a condition holds that is made of others.
    pub(super) fn note_borders(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let of = |s: &Scalar| match s {
            Scalar::Tensor(v) => self.borders.get(v).cloned(),
            Scalar::Size(_) | Scalar::Affine(_) => None,
        };
        let borders = match (p, operands) {
            (PrimOp::NotP, [a]) => of(a).map(Borders::negated),
            (PrimOp::AndP, [a, b]) => of(a).zip(of(b)).and_then(|(a, b)| a.and(&b)),
            (PrimOp::OrP, [a, b]) => {
                of(a).zip(of(b)).and_then(|(a, b)| a.negated().and(&b.negated())).map(Borders::negated)
            }
            _ => None,
        };
        if let Some(borders) = borders {
            self.borders.insert(result, borders);
        }
    }

    /// The same of `c and t`, `c or e`, which are choices in programs: one is not evaluated if the other decides.
    pub(super) fn note_choice(&mut self, c: Value, [t, e]: [Value; 2], result: Value) {
        let is = |v: Value, truth: bool| matches!(self.b.def(v), Some(Op::Const(l)) if l.get() == Some(truth));
        let (p, other) = match () {
            () if is(e, false) => (PrimOp::AndP, t),
            () if is(t, true) => (PrimOp::OrP, e),
            () => return,
        };
        self.note_borders(p, &[c, other].map(Scalar::Tensor), result);
    }

    /// Notes that a comparison of the index along an axis with a size divides the space.
    pub(super) fn note_border(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let [a, b] = *operands else { return };
        // Whether it holds below a size or from there on, and whether the size itself is with what is below.
        let (index, at, below, with) = match (p, a, b) {
            (PrimOp::LtP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, true, false),
            (PrimOp::LeP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, true, true),
            (PrimOp::GeP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, false, false),
            (PrimOp::GtP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, false, true),
            (PrimOp::GtP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, true, false),
            (PrimOp::GeP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, true, true),
            (PrimOp::LeP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, false, false),
            (PrimOp::LtP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, false, true),
            _ => return,
        };
        let Some(Affine { base, terms, .. }) = self.affine_of(index) else { return };
        if let [Term { axis, len, step }] = terms[..]
            && self.b.const_size(base) == Some(0)
            && self.b.const_size(step) == Some(1)
        {
            // The greatest size has none after it.
            let after = |f: &mut Self| {
                let (least, one) = (f.b.size_op(SizeOp::Min, at, len), f.b.size(1));
                f.b.size_op(SizeOp::Add, least, one)
            };
            let at = if with { after(self) } else { at };
            self.borders.insert(result, Borders::of(Border { axis, len, at, below }));
        }
    }

    /// Each branch on the lanes that take it, side by side, if the condition divides the space. Of several borders what is
    /// outside of each is a part of its own; all of these run the same branch, which is a small one then.
    pub(super) fn pieces(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        cond: Value,
        [then, else_]: [&Region; 2],
        mask: Option<Value>,
    ) -> Option<SmallVec<[Scalar; 2]>> {
        // Without anything to guard a choice is cheaper.
        if self.faults.exact() || !(then.is_partial() || else_.is_partial()) {
            return None;
        }
        let Borders { all, inside } = self.borders.get(&cond)?.clone();
        let branches = if inside { [then, else_] } else { [else_, then] };
        let is_small = branches[1].nodes.len() <= MOST_COPIED && !branches[1].is_partial();
        if all.len() > 1 && !is_small || all.iter().any(|b| lanes.space.get(b.axis) != Some(&b.len)) {
            return None;
        }
        Some(self.inside_and_outside(lanes, n, &all, branches, mask))
    }

    /// The first branch inside of all borders, the second one elsewhere.
    fn inside_and_outside(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        borders: &[Border],
        branches: [&Region; 2],
        mask: Option<Value>,
    ) -> SmallVec<[Scalar; 2]> {
        let Some((border, others)) = borders.split_first() else { return self.region(lanes, branches[0], mask).into() };
        let len = lanes.space[border.axis];
        let zero = self.b.size(0);
        let at = self.b.size_op(SizeOp::Max, border.at, zero);
        let at = self.b.size_op(SizeOp::Min, at, len);
        let rest = self.b.size_op(SizeOp::Sub, len, at);
        let captured: Vec<Val> = free_values(branches);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); n.results.len()];
        for (inside, start, len) in [(border.below, zero, at), (!border.below, at, rest)] {
            let space = lanes.space.clone();
            let outside = lanes.vals.clone();
            for v in &captured {
                let s = self.val(lanes, *v);
                lanes.vals[v.index()] = Some(self.piece(s, &space, border.axis, start, len));
            }
            lanes.space[border.axis] = len;
            let mask = mask.map(|m| self.value_piece(m, &space, border.axis, start, len));
            let results: SmallVec<[Scalar; 2]> = if inside {
                let others: SmallVec<[Border; 4]> = others
                    .iter()
                    .map(|b| match b.axis == border.axis {
                        true => Border { at: self.b.size_op(SizeOp::Sub, b.at, start), ..*b },
                        false => *b,
                    })
                    .collect();
                self.inside_and_outside(lanes, n, &others, branches, mask)
            } else {
                self.region(lanes, branches[1], mask).into()
            };
            for ((column, s), v) in columns.iter_mut().zip(results).zip(&n.results) {
                let t = self.tensor(s, lanes.fun.ty(*v));
                let inner = lanes.space.clone();
                column.push(self.spread(t, &inner));
            }
            lanes.vals = outside;
            lanes.space = space;
        }
        let joined = columns.iter().map(|parts| {
            let column = self.b.concat(parts, border.axis as u32);
            self.b.set_full(column);
            Scalar::Tensor(column)
        });
        joined.collect()
    }

    /// A scalar on a part of an axis.
    fn piece(&mut self, s: Scalar, space: &[Value], axis: usize, start: Value, len: Value) -> Scalar {
        match s {
            Scalar::Size(_) => s,
            Scalar::Tensor(v) => Scalar::Tensor(self.value_piece(v, space, axis, start, len)),
            Scalar::Affine(_) => {
                let Some(mut a) = self.affine_of(s) else { return s };
                for t in a.terms.iter_mut().filter(|t| t.axis == axis) {
                    let way = self.b.size_op(SizeOp::Mul, t.step, start);
                    a.base = self.b.size_op(SizeOp::Add, a.base, way);
                    t.len = len;
                }
                self.affine(a)
            }
        }
    }

    fn value_piece(&mut self, v: Value, space: &[Value], axis: usize, start: Value, len: Value) -> Value {
        if self.b.rank(v) == 0 || self.b.axes(v) >> axis & 1 == 0 {
            return v;
        }
        let whole = self.spread(v, space);
        self.b.slice(whole, axis as u32, start, len, 1)
    }
}
