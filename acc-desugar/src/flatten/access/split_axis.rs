//! Quotients and remainders of an index: the axis is split in two, one of quotients and one of remainders, of which both are
//! affine.
//!
//! `i / c` and `i % c` are how programs interleave arrays, repeat elements and whole arrays, address blocks, and take
//! positions apart that are linear. A function that divides an index of its space is computed over the space whose axis is
//! divided, and the result is put together again, which costs nothing beside storing it. Where the extent may
//! be no multiple of `c` the last quotient has lanes beyond the end, and of `(i + k) / c` the first one has lanes before the
//! first index. They are cut off. A fault of theirs only makes the run suspect, and repeats it.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::{Affine, LaneAxis, Term, on_host_if_known};
use crate::flatten::scalar::spread;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, Op, SizeOp, Value, Values};
use acc_core::ir::{Fun, PrimOp, Region, ScalarOp, Val};
use smallvec::SmallVec;
use std::collections::HashMap;

const MAX_SPLITS_PER_AXIS: usize = 4;

/// A space whose axes are split.
#[derive(Clone)]
pub(crate) struct SplitSpace {
    /// The space itself.
    whole: Values,
    /// Of each axis the extents of those that it is split into, the outermost first,
    axes: Vec<Values>,
    /// how many positions each of their positions stands for,
    steps: Vec<Values>,
    /// whether these may have more positions than the axis,
    padded: Vec<bool>,
    /// and how many of them are before its first one.
    before: Vec<i64>,
    /// Whether axes may get more positions: those whose index is only divided.
    may_pad: Vec<bool>,
    /// What is defined in more bodies than this is not known where the space is.
    depth: usize,
    /// What is to be split next.
    requested: Option<Request>,
}

/// That an axis be split.
#[derive(Clone, Copy)]
struct Request {
    axis: usize,
    by: Value,
    /// So many positions before the first one.
    before: i64,
}

/// The spaces that are split.
#[derive(Default)]
pub(crate) struct Splits {
    /// How the space of the lanes around is split, if it may be.
    space: Option<SplitSpace>,
    /// What was computed over split spaces, by what it was put together to.
    columns: HashMap<Value, SplitColumn>,
}

impl Splits {
    /// Whether there may be lanes beyond the end.
    pub(crate) fn is_padded(&self) -> bool {
        self.space.as_ref().is_some_and(SplitSpace::is_padded)
    }
}

/// A column, as it was computed over a split space.
#[derive(Clone)]
pub(crate) struct SplitColumn {
    value: Value,
    space: SplitSpace,
}

impl SplitSpace {
    fn new(whole: &[Value], one: Value, may_pad: Vec<bool>, depth: usize) -> SplitSpace {
        let axes = whole.iter().map(|n| Values::from_iter([*n])).collect();
        let steps = vec![Values::from_iter([one]); whole.len()];
        SplitSpace {
            whole: whole.into(),
            axes,
            steps,
            padded: vec![false; whole.len()],
            before: vec![0; whole.len()],
            may_pad,
            depth,
            requested: None,
        }
    }

    fn space(&self) -> Values {
        self.axes.iter().flatten().copied().collect()
    }

    /// Whether there may be lanes beyond the end. What these read out of bounds is looked for even where faults do not
    /// count, since it leaves the others without elements.
    pub(crate) fn is_padded(&self) -> bool {
        self.padded.contains(&true)
    }

    fn is_whole(&self) -> bool {
        self.axes.iter().all(|parts| parts.len() == 1)
    }

    /// The same without the last axis, if that is not divided.
    fn without_last(&self) -> Option<SplitSpace> {
        let mut outer = self.clone();
        outer.whole.pop()?;
        outer.padded.pop()?;
        outer.before.pop()?;
        outer.may_pad.pop()?;
        outer.steps.pop()?;
        (outer.axes.pop()?.len() == 1).then_some(outer)
    }
}

impl Flattener<'_> {
    /// Applies a function to lanes that nothing masks and makes columns of what it yields, `finish` over the space that it is
    /// given: one whose axes are split as the function divides their indices.
    pub(crate) fn over_split_space(
        &mut self,
        f: &Fun,
        indexed: bool,
        args: &[Value],
        space: &[Value],
        finish: &mut dyn FnMut(&mut Self, Vec<Scalar>, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let divides = indexed && !self.faults().exact() && divides(&f.body);
        if !divides {
            let results = self.apply(f, indexed, args, space, None);
            return finish(self, results, space);
        }
        let may_pad = (0..space.len()).map(|k| args.is_empty() && is_only_divided(f, f.body.params[k])).collect();
        let one = self.b.size(1);
        let outer = self.splits.space.replace(SplitSpace::new(space, one, may_pad, self.b.depth()));
        let mark = self.checks.mark();
        let mut results = self.apply(f, true, args, space, None);
        for _ in 0..MAX_SPLITS_PER_AXIS * space.len() {
            if !self.split_requested_axis() {
                break;
            }
            // What was noted on the way was of the space before.
            self.checks.reset(mark);
            let Some(divided) = self.splits.space.clone() else { break };
            let index = self.indices.split_index(&mut self.b, &divided);
            let inner = divided.space();
            let args: Vec<Value> = args.iter().map(|a| to_split_space(&mut self.b, *a, &divided)).collect();
            results = self.apply_at(f, index, &args, &inner, None);
        }
        let inner = self.splits.space.as_ref().map_or_else(|| space.into(), SplitSpace::space);
        let columns = finish(self, results, &inner);
        let Some(divided) = std::mem::replace(&mut self.splits.space, outer) else { return columns };
        if divided.is_whole() {
            return columns;
        }
        columns.into_iter().map(|c| self.undo_split(c, &divided)).collect()
    }

    /// Splits the axis that the last application of a function asked for.
    fn split_requested_axis(&mut self) -> bool {
        let Some(mut d) = self.splits.space.take() else { return false };
        let requested = d.requested.take().and_then(|request| {
            let mut first = 0;
            let (k, parts) = d.axes.iter().enumerate().find(|(_, parts)| {
                first += parts.len();
                request.axis < first
            })?;
            Some((k, request.axis + parts.len() - first, request))
        });
        let done = requested.is_some_and(|(k, part, Request { by, before, .. })| {
            let (n, step) = (d.axes[k][part], d.steps[k][part]);
            let (count, rest) = match ratio(&mut self.b, n, by).filter(|_| before == 0) {
                Some(count) => (count, by),
                // Only the outermost one may begin and end between two multiples.
                None if d.may_pad[k] && part == 0 && (before == 0 || d.axes[k].len() == 1) => {
                    let n = match before {
                        0 => n,
                        _ => {
                            let before = self.b.size(before);
                            self.b.size_op(SizeOp::Add, n, before)
                        }
                    };
                    // One more than the quotient of the last position, since a sum with the divisor might wrap around.
                    let one = self.b.size(1);
                    let last = self.b.size_op(SizeOp::Sub, n, one);
                    let quotient = self.b.size_op(SizeOp::Quot, last, by);
                    (d.padded[k], d.before[k]) = (true, d.before[k] + before);
                    // No more lanes than there are positions, however much they are divided by.
                    (self.b.size_op(SizeOp::Add, quotient, one), self.b.size_op(SizeOp::Min, by, n))
                }
                None => return false,
            };
            d.axes[k][part] = rest;
            d.axes[k].insert(part, count);
            let above = self.b.size_op(SizeOp::Mul, by, step);
            d.steps[k].insert(part, above);
            self.scope.extents.extend([count, rest]);
            true
        });
        self.splits.space = Some(d);
        done
    }

    /// A column of a split space over the space itself.
    fn undo_split(&mut self, value: Value, d: &SplitSpace) -> Value {
        let lens: Vec<Value> = d
            .axes
            .iter()
            .zip(&d.whole)
            .zip(&d.padded)
            .map(|((parts, n), padded)| match padded {
                true => parts.iter().skip(1).fold(parts[0], |p, n| self.b.size_op(SizeOp::Mul, p, *n)),
                false => *n,
            })
            .collect();
        let mut column = self.b.reshape(value, &lens);
        for (axis, n) in d.whole.iter().enumerate().filter(|(axis, _)| d.padded[*axis]) {
            let first = self.b.size(d.before[axis]);
            column = self.b.slice(column, axis as u32, first, *n, 1);
        }
        self.b.set_full(column);
        self.splits.columns.insert(column, SplitColumn { value, space: d.clone() });
        column
    }

    /// A reduction of rows, of those that were computed over a split space if the rows were put together from these.
    pub(crate) fn reduce_split(&mut self, rows: Value, reduce: &mut dyn FnMut(&mut Self, Value) -> Value) -> Value {
        let mut checked = Vec::new();
        let whole = self.b.unchecked(rows, &mut checked);
        let found = self.splits.columns.get(&whole).cloned();
        let Some((value, outer)) = found.and_then(|p| Some((p.value, p.space.without_last()?))) else {
            return reduce(self, rows);
        };
        let value = self.b.after_checks(value, checked);
        let reduced = reduce(self, value);
        self.undo_split(reduced, &outer)
    }

    /// A quotient or remainder of an affine index that is affine itself, or would be if an axis was split: then that is
    /// asked for.
    pub(crate) fn affine_division(
        &mut self,
        lanes: &Lanes<'_>,
        p: PrimOp,
        operands: &[Scalar],
        mask: Option<Value>,
    ) -> Option<Scalar> {
        let quotient = match p {
            PrimOp::QuotP | PrimOp::DivFloorP => true,
            PrimOp::RemP | PrimOp::ModFloorP => false,
            _ => return None,
        };
        let ([Scalar::Affine(_), y], false) = (operands, self.faults().exact()) else { return None };
        let by = match *y {
            Scalar::Size(by) => by,
            Scalar::Tensor(v) => match on_host_if_known(&mut self.b, v) {
                Scalar::Size(by) => by,
                Scalar::Tensor(_) | Scalar::Affine(_) => return None,
            },
            Scalar::Affine(_) => return None,
        };
        let a = self.indices.affine_of(operands[0])?;
        if !self.scope.is_natural(&self.b, by) || self.b.const_size(by) == Some(0) {
            return None;
        }
        let (high, rest) = self.base_division(a.base, by)?;
        let mut split = [SmallVec::new(), SmallVec::<[Term; 2]>::new()];
        for t in &a.terms {
            if !self.scope.is_natural(&self.b, t.step) {
                return None;
            }
            match ratio(&mut self.b, t.step, by) {
                Some(step) => split[0].push(Term { step, ..*t }),
                None => split[1].push(*t),
            }
        }
        let [above, below] = split;
        if !self.is_below(rest, &below, by) {
            self.request_split(lanes, &below, (by, rest), mask);
            return None;
        }
        if self.b.const_size(by).is_none() {
            let zero = self.b.not_size(by);
            let bad = self.masked(mask, zero);
            // SplitSpace by it a space has no lane.
            let space = self.splits.space.as_ref().map_or_else(|| lanes.space.clone(), |d| d.whole.clone());
            self.check(FaultKind::DivisionByZero, bad, &space, vec![]);
        }
        let (base, terms) = if quotient { (high, above) } else { (self.b.size(rest), below) };
        Some(self.indices.affine(Affine { base, terms }))
    }

    /// The quotient and the remainder of the position of the first lane, if they are known well enough.
    fn base_division(&mut self, base: Value, by: Value) -> Option<(Value, i64)> {
        match (self.b.const_size(base), self.b.const_size(by)) {
            (Some(0), _) => Some((base, 0)),
            (Some(base), Some(by)) if base > 0 => Some((self.b.size(base / by), base % by)),
            _ if self.scope.is_natural(&self.b, base) => Some((ratio(&mut self.b, base, by)?, 0)),
            _ => None,
        }
    }

    /// Whether a number plus multiples of indices is certainly less than `by`.
    fn is_below(&mut self, rest: i64, terms: &[Term], by: Value) -> bool {
        let constant = |s: &Self, t: &Term| {
            let (step, len) = (s.b.const_size(t.step)?, s.b.const_size(at_most(&s.b, t.axis.len))?);
            step.checked_mul((len - 1).max(0))
        };
        let most = terms.iter().try_fold(rest, |sum, t| sum.checked_add(constant(self, t)?));
        if let (Some(most), Some(by)) = (most, self.b.const_size(by)) {
            return most < by;
        }
        // Digits: each stands for as much as those below it have positions.
        let mut terms: SmallVec<[Term; 4]> = terms.iter().copied().collect();
        let mut positions = self.b.size(1);
        while let Some(k) = terms.iter().position(|t| self.b.origin(t.step) == self.b.origin(positions)) {
            let t = terms.remove(k);
            positions = self.b.size_op(SizeOp::Mul, at_most(&self.b, t.axis.len), positions);
        }
        rest == 0 && terms.is_empty() && ratio(&mut self.b, by, positions).is_some()
    }

    /// Asks for the division of the axis that a remainder runs along and leaves, for an index that is this `rest` at the
    /// first lane.
    fn request_split(&mut self, lanes: &Lanes<'_>, below: &[Term], (by, rest): (Value, i64), mask: Option<Value>) {
        let Some(d) = self.splits.space.clone() else { return };
        if rest != 0 && !matches!(below, [t] if self.b.const_size(t.step) == Some(1)) {
            return;
        }
        // Where nobody may divide by it, it may be 0, and there would be no lane.
        if self.b.const_size(by).is_none() && (mask.is_some() || self.b.depth() != d.depth) {
            return;
        }
        let here = d.requested.is_none() && d.space() == lanes.space && self.b.is_within(by, d.depth);
        if !here {
            return;
        }
        for t in below {
            if let Some(part) = ratio(&mut self.b, by, t.step)
                && self.b.is_within(part, d.depth)
                && self.b.origin(part) != self.b.origin(at_most(&self.b, t.axis.len))
                && self.b.const_size(part) != Some(1)
            {
                if let Some(d) = &mut self.splits.space {
                    d.requested = Some(Request { axis: t.axis.axis, by: part, before: rest });
                }
                return;
            }
        }
    }
}

/// Whether anything is divided.
fn divides(r: &Region) -> bool {
    r.nodes.iter().any(|n| match &n.op {
        ScalarOp::Prim(p, _) => is_division(*p),
        op => op.regions().into_iter().any(|r| acc_core::grow_stack(|| divides(r))),
    })
}

fn is_division(p: PrimOp) -> bool {
    matches!(p, PrimOp::QuotP | PrimOp::RemP | PrimOp::DivFloorP | PrimOp::ModFloorP)
}

/// Whether an index, or its sum with a literal, is only ever divided, and the function certainly terminates for lanes beyond the
/// end.
fn is_only_divided(f: &Fun, index: Val) -> bool {
    let mut alone = !f.body.results.contains(&index);
    f.body.visit(0, &mut |n, _| {
        alone &= match &n.op {
            ScalarOp::Prim(p, args) if is_division(*p) => args[1] != index,
            ScalarOp::Prim(PrimOp::AddP, args) if args.contains(&index) => {
                let other = if args[0] == index { args[1] } else { args[0] };
                f.body.literal(other).is_some() && n.results.iter().all(|sum| is_only_divided(f, *sum))
            }
            ScalarOp::While { .. } | ScalarOp::Own(_) => false,
            op => {
                let yields = op.regions().into_iter().any(|r| r.results.contains(&index));
                !yields && !op.operands().contains(&index)
            }
        };
    });
    alone
}

impl Indices {
    /// The index along each axis of a space in terms of the axes that these are split into.
    pub(crate) fn split_index(&mut self, b: &mut Builder, d: &SplitSpace) -> Vec<Scalar> {
        let rank = d.space().len();
        let mut axes = 0..rank;
        let mut index = Vec::new();
        for ((parts, steps), before) in d.axes.iter().zip(&d.steps).zip(&d.before) {
            let parts = parts.iter().zip(steps).zip(axes.by_ref());
            let terms = parts.map(|((len, step), axis)| Term { axis: LaneAxis { axis, len: *len, rank }, step: *step });
            let base = b.size(-before);
            index.push(self.affine(Affine { base, terms: terms.collect() }));
        }
        index
    }
}

/// A column of a space over the split one, which has as many lanes.
fn to_split_space(b: &mut Builder, column: Value, d: &SplitSpace) -> Value {
    let whole = spread(b, column, &d.whole);
    let parted = b.reshape(whole, &d.space());
    b.set_full(parted);
    parted
}

/// What an extent is no more than.
fn at_most(b: &Builder, extent: Value) -> Value {
    match b.def(b.origin(extent)) {
        Some(Op::SizeOp(SizeOp::Min, by, _)) => *by,
        _ => extent,
    }
}

/// How many times a size is another one, if it certainly is a multiple.
fn ratio(g: &mut Builder, a: Value, b: Value) -> Option<Value> {
    if g.origin(a) == g.origin(b) || g.const_size(b) == Some(1) {
        return Some(if g.const_size(b) == Some(1) { a } else { g.size(1) });
    }
    if let (Some(x), Some(y)) = (g.const_size(a), g.const_size(b)) {
        return (y > 0 && x % y == 0).then(|| g.size(x / y));
    }
    let Some(&Op::SizeOp(SizeOp::Mul | SizeOp::Count, x, y)) = g.def(g.origin(a)) else { return None };
    if let Some(x) = ratio(g, x, b) {
        return Some(g.size_op(SizeOp::Mul, x, y));
    }
    let y = ratio(g, y, b)?;
    Some(g.size_op(SizeOp::Mul, x, y))
}
