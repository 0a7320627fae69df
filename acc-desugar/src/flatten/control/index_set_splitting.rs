//! Conditionals on where a lane is: each branch runs on its own part of the index space.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::LaneAxis;
use crate::flatten::control::loops::free_values;
use crate::flatten::scalar::spread;
use crate::flatten::scalar::val;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::{Op, SizeOp, Value};
use acc_core::ir::{Node, PrimOp, Region, Val};
use smallvec::{SmallVec, smallvec};

/// Nodes of all copies of a branch that is written once for each border.
const MAX_COPIED_NODES: usize = 24;
/// Borders that divide a space: both ends of three axes.
const MAX_BORDERS: usize = 6;

/// That a condition holds for the positions of an axis below `at` alone, or if `!below` for the others alone.
#[derive(Clone, Copy)]
pub(crate) struct Border {
    axis: usize,
    len: Value,
    at: Value,
    below: bool,
}

/// That a condition holds inside of all borders, or if `!inside` everywhere else.
#[derive(Clone)]
pub(crate) struct Borders {
    all: SmallVec<[Border; 1]>,
    inside: bool,
}

impl Borders {
    /// One border: both of its sides are one part.
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
        (self.inside && other.inside && self.all.len() <= MAX_BORDERS).then_some(self)
    }
}

impl Flattener<'_> {
    /// Notes that a comparison of the index along an axis with a size divides the space.
    pub(crate) fn note_border(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let [a, b] = *operands else { return };
        // Whether it holds below a size or from there on, and whether the size itself counts as below.
        if let (PrimOp::EqP | PrimOp::NeP, Scalar::Affine(_), Scalar::Size(n))
        | (PrimOp::EqP | PrimOp::NeP, Scalar::Size(n), Scalar::Affine(_)) = (p, a, b)
        {
            let index = if matches!(a, Scalar::Affine(_)) { a } else { b };
            let ends = [(false, false), (true, true)].map(|(below, with)| self.border(index, n, below, with));
            if let [Some(first), Some(last)] = ends {
                let borders = Borders { all: smallvec![last, first], inside: true };
                self.indices.borders.insert(result, if p == PrimOp::NeP { borders.negated() } else { borders });
            }
            return;
        }
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
        if let Some(border) = self.border(index, at, below, with) {
            self.indices.borders.insert(result, Borders::of(border));
        }
    }

    /// What is below a position of the axis that an index runs along, or the rest; `with` the position if that is below.
    fn border(&mut self, index: Scalar, at: Value, below: bool, with: bool) -> Option<Border> {
        let affine = self.indices.affine_of(index)?;
        let LaneAxis { axis, len, .. } = affine.shifted_axis(&self.b)?;
        let base = affine.base;
        // A part of an axis begins further on. What may wrap around has no borders.
        let begins = self.b.const_size(base).is_some_and(|b| (0..=i64::from(i32::MAX)).contains(&b))
            || self.scope.is_extent(&self.b, base);
        if !begins {
            return None;
        }
        let mut at = at;
        if with {
            let (one, end) = (self.b.size(1), self.b.size_op(SizeOp::Add, base, len));
            // The greatest size has none after it.
            if !is_last_of(&self.b, at, end) {
                at = self.b.size_op(SizeOp::Min, at, end);
            }
            at = self.b.size_op(SizeOp::Add, at, one);
        }
        if self.b.const_size(base) != Some(0) {
            let after = self.b.size_op(SizeOp::Max, at, base);
            at = self.b.size_op(SizeOp::Sub, after, base);
        }
        Some(Border { axis, len, at, below })
    }

    /// Each branch on the lanes that take it, side by side, if the condition divides the space. Of several borders what is
    /// outside of each is a part of its own; all of these run the same branch, which is a small one then.
    pub(crate) fn pieces(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        cond: Value,
        [then, else_]: [&Region; 2],
        mask: Option<Value>,
    ) -> Option<SmallVec<[Scalar; 2]>> {
        // Without anything to guard a choice is cheaper.
        if self.faults().exact() || !(then.is_partial() || else_.is_partial()) {
            return None;
        }
        let Borders { all, inside } = self.indices.borders.get(&cond)?.clone();
        let branches = if inside { [then, else_] } else { [else_, then] };
        let (outer, outside) = (self.copies, outside_of(&mut self.b, &all));
        let copies = outer * outside.max(1);
        if outside > 1 && copies * size(branches[1]) > MAX_COPIED_NODES
            || all.iter().any(|b| lanes.space.get(b.axis) != Some(&b.len))
        {
            return None;
        }
        // What is inside of these copies is written as often.
        self.copies = copies;
        let results = self.inside_and_outside(lanes, n, &all, branches, mask);
        self.copies = outer;
        Some(results)
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
        let at = within_axis(&mut self.b, border.at, len);
        let rest = self.b.size_op(SizeOp::Sub, len, at);
        self.scope.extents.extend([at, rest]);
        let captured: Vec<Val> = free_values(branches);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); n.results.len()];
        let parts = [(border.below, zero, at), (!border.below, at, rest)];
        let is_empty = |this: &Self, len: Value| this.b.const_size(len) == Some(0);
        let none = parts.iter().all(|(_, _, len)| is_empty(self, *len));
        for (inside, start, len) in parts {
            if is_empty(self, len) && !none {
                continue;
            }
            let space = lanes.space.clone();
            let outside = lanes.vals.clone();
            for v in &captured {
                let s = val(&mut self.b, lanes, *v);
                lanes.vals[v.index()] = Some(match self.indices.holds_below(s, border) {
                    Some(below) => Scalar::Size(self.b.size(i64::from(below == (inside == border.below)))),
                    None => self.indices.piece(&mut self.b, s, &space, border.axis, start, len),
                });
            }
            lanes.space[border.axis] = len;
            let mask = mask.map(|m| value_piece(&mut self.b, m, &space, border.axis, start, len));
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
                let t = self.indices.tensor(&mut self.b, s, lanes.fun.ty(*v));
                let inner = lanes.space.clone();
                column.push(spread(&mut self.b, t, &inner));
            }
            lanes.vals = outside;
            lanes.space = space;
        }
        let joined = columns.iter().map(|parts| {
            let column = match parts[..] {
                [part] => part,
                _ => self.b.concat(parts, border.axis as u32),
            };
            self.b.set_full(column);
            Scalar::Tensor(column)
        });
        joined.collect()
    }
}

/// How many nodes a region has, those of inner regions included.
fn size(r: &Region) -> usize {
    let mut nodes = 0;
    r.visit(0, &mut |_, _| nodes += 1);
    nodes
}

impl Indices {
    /// Notes where a condition holds that is made of others.
    pub(crate) fn note_borders(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
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
    pub(crate) fn note_choice(&mut self, b: &mut Builder, c: Value, [t, e]: [Value; 2], result: Value) {
        let is = |v: Value, truth: bool| matches!(b.def(v), Some(Op::Const(l)) if l.get() == Some(truth));
        let (p, other) = match () {
            () if is(e, false) => (PrimOp::AndP, t),
            () if is(t, true) => (PrimOp::OrP, e),
            () => return,
        };
        self.note_bounds(b, p, &[c, other].map(Scalar::Tensor), result);
        self.note_borders(p, &[c, other].map(Scalar::Tensor), result);
    }

    /// Whether a condition with this border alone holds below it.
    pub(crate) fn holds_below(&self, s: Scalar, border: &Border) -> Option<bool> {
        let Scalar::Tensor(v) = s else { return None };
        match self.borders.get(&v)?.all[..] {
            [b] => (b.axis == border.axis && b.at == border.at).then_some(b.below),
            _ => None,
        }
    }

    /// A scalar on a part of an axis.
    pub(crate) fn piece(
        &mut self,
        b: &mut Builder,
        s: Scalar,
        space: &[Value],
        axis: usize,
        start: Value,
        len: Value,
    ) -> Scalar {
        match s {
            Scalar::Size(_) => s,
            Scalar::Tensor(v) => Scalar::Tensor(value_piece(b, v, space, axis, start, len)),
            Scalar::Affine(_) => {
                let Some(mut a) = self.affine_of(s) else { return s };
                for t in a.terms.iter_mut().filter(|t| t.axis.axis == axis) {
                    let way = b.size_op(SizeOp::Mul, t.step, start);
                    a.base = b.size_op(SizeOp::Add, a.base, way);
                    t.axis.len = len;
                }
                self.affine(a)
            }
        }
    }
}

/// Whether a position is known to be no more than an extent, some before it.
fn is_last_of(b: &Builder, at: Value, extent: Value) -> bool {
    match b.def(b.origin(at)) {
        Some(Op::SizeOp(SizeOp::Sub, n, k)) => {
            b.origin(*n) == b.origin(extent) && b.const_size(*k).is_some_and(|k| k >= 0)
        }
        Some(Op::Size(at)) => b.const_size(extent).is_some_and(|n| *at <= n),
        _ => false,
    }
}

/// A position of an axis, or where it ends.
fn within_axis(b: &mut Builder, at: Value, len: Value) -> Value {
    let zero = b.size(0);
    if at == zero || b.origin(at) == b.origin(len) {
        return if at == zero { at } else { len };
    }
    let at = b.size_op(SizeOp::Max, at, zero);
    b.size_op(SizeOp::Min, at, len)
}

/// How many parts are outside of borders, but for those that are known to be empty.
fn outside_of(g: &mut Builder, borders: &[Border]) -> usize {
    let mut parts = 0;
    for b in borders {
        let at = within_axis(g, b.at, b.len);
        let empty = if b.below { at == b.len } else { g.const_size(at) == Some(0) };
        parts += usize::from(!empty);
    }
    parts
}

fn value_piece(b: &mut Builder, v: Value, space: &[Value], axis: usize, start: Value, len: Value) -> Value {
    if b.rank(v) == 0 || b.axes(v) >> axis & 1 == 0 {
        return v;
    }
    let whole = spread(b, v, space);
    b.slice(whole, axis as u32, start, len, 1)
}
