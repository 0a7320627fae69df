//! Normalisation: numbers less their mean, over the root of their variance and a small number, as layers of networks have
//! it; then a product and a sum.

use super::views::{moved_with, operands, varying};
use crate::analysis::contraction::{Axes, Origin, Source, View};
use crate::graph::builder::{Builder, ExtentFrom};
use crate::graph::{Numbers, Op, ReduceOp, SizeOp, Value};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;

/// A quotient or product that ends one of
///
/// - `(x - mean(x)) / sqrt(variance(x) + epsilon)`,
/// - `(x - mean(x)) * (1 / sqrt(variance(x) + epsilon))`,
///
/// with another number in place of the 1 as well, where the variance is the mean of squares of `x - mean(x)`, or the mean
/// of squares of `x` less the square of the mean. Also a product of a normalisation with a scale, or its sum with a shift.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Prim(p @ (PrimOp::DivP | PrimOp::MulP | PrimOp::AddP), args) = op else { return None };
    let [left, right] = args[..] else { return None };
    if !matches!(b.scalar(left), ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    let found = match p {
        PrimOp::DivP => normal(b, left, right, true),
        PrimOp::MulP => normal(b, left, right, false).or_else(|| normal(b, right, left, false)),
        _ => None,
    };
    found.or_else(|| affine(b, *p, left, right)).or_else(|| affine(b, *p, right, left))
}

/// The quotient or product of `less`, `x - mean(x)` perhaps, and `by`.
fn normal(b: &mut Builder, less: Value, by: Value, over: bool) -> Option<Value> {
    let mut checked = Vec::new();
    let [x, mean] = operands(b, b.unchecked(less, &mut checked), PrimOp::SubP)?;
    let rank = b.rank(x);
    let mut found = Found { b, rank, x: varying(b, x), axes: None, checked };
    found.x = found.whole(x);
    if found.x.axes.iter().flatten().count() < rank {
        return None;
    }
    let (root, scale) = if over { (found.whole(by), None) } else { found.inverse(by)? };
    let epsilon = found.epsilon_of_normal(&root, mean)?;
    let Found { axes, mut checked, .. } = found;
    // What waited for checks still does.
    let from = b.place(x);
    checked.retain(|c| b.place(*c) > from);
    let x = b.after_checks(x, checked);
    let normal = b.normalize(x, axes?.into_iter().map(|a| a as u32).collect(), epsilon, [None, None]);
    let Some((number, path)) = scale else { return Some(normal) };
    // What was done to the quotient is done to the number.
    let scale = path.iter().rev().fold(number, |x, v| moved_with(b, *v, &[x])[0]);
    affine(b, PrimOp::MulP, normal, scale).or_else(|| Some(b.prim(PrimOp::MulP, &[normal, scale])))
}

/// The normalisation with a scale, or a shift, that is the same along the axes of its sums, or along all others.
fn affine(b: &mut Builder, p: PrimOp, normal: Value, mut by: Value) -> Option<Value> {
    if !matches!(p, PrimOp::MulP | PrimOp::AddP) {
        return None;
    }
    let mut checked = Vec::new();
    let v = b.unchecked(normal, &mut checked);
    let (order, of) = match b.def(v) {
        Some(Op::Transpose(of, order)) => (order.clone(), b.unchecked(*of, &mut checked)),
        _ => ((0..b.rank(v) as u32).collect(), v),
    };
    let Some(Op::Normalize { x, axes, epsilon, scale, shift }) = b.def(of) else { return None };
    let (x, epsilon, scale, shift) = (*x, *epsilon, *scale, *shift);
    let axes: Numbers = (0..order.len() as u32).filter(|k| axes.contains(&order[*k as usize])).collect();
    let over = axes.iter().fold(0, |set, a| set | 1 << a);
    // A scale or shift that repeats, before it is repeated.
    while let Some(Op::Broadcast(inner, _)) = b.def(by) {
        by = *inner;
    }
    let varies = b.axes(by);
    let aside = b.rank(by) == b.rank(v) && (varies & over == 0 || varies & !over == 0);
    let taken = shift.is_some() || p == PrimOp::MulP && scale.is_some();
    if taken || !aside {
        return None;
    }
    let x = b.after_checks(x, checked);
    let x = b.transpose(x, &order);
    let scale = scale.map(|s| b.transpose(s, &order));
    let affine = if p == PrimOp::MulP { [Some(by), None] } else { [scale, Some(by)] };
    Some(b.normalize(x, axes, epsilon, affine))
}

/// A normalisation as far as it is matched.
struct Found<'b> {
    b: &'b Builder,
    /// The rank of the result, over whose space all views are; axes from this one on are summed.
    rank: usize,
    /// What is normalised.
    x: View<Value>,
    /// The axes that are summed.
    axes: Option<Vec<usize>>,
    /// The checks between its parts.
    checked: Vec<Value>,
}

/// What is summed.
enum Summed {
    Plain(View<Value>),
    Square(View<Value>),
}

impl Found<'_> {
    /// The small number under the root that this mean and the root of this variance make a normalisation with.
    fn epsilon_of_normal(&mut self, root: &View<Value>, mean: Value) -> Option<Lit> {
        let [sum] = operands(self.b, root.value, PrimOp::SqrtP)?;
        let sum = self.within(sum, &root.axes);
        let [left, right] = operands(self.b, sum.value, PrimOp::AddP)?;
        let (variance, epsilon) = match (self.b.constant_of(left), self.b.constant_of(right)) {
            (None, Some(epsilon)) => (left, epsilon),
            (Some(epsilon), None) => (right, epsilon),
            _ => return None,
        };
        number(epsilon).filter(|e| *e > 0.0 && e.is_finite())?;
        let mean = self.whole(mean);
        let Summed::Plain(summed) = self.mean(&mean)? else { return None };
        let variance = self.within(variance, &sum.axes);
        (self.is_row_of(&summed) && self.is_variance(&variance, &mean)).then_some(epsilon)
    }

    /// The root that a number over it is of, and the number unless it is 1, with the values that it is to be moved as, the
    /// last one first, to have the shape of `by`.
    #[allow(clippy::type_complexity, reason = "what becomes of the number needs the builder, and comes after")]
    fn inverse(&mut self, by: Value) -> Option<(View<Value>, Option<(Value, Vec<Value>)>)> {
        let (at, path) = self.followed(varying(self.b, by));
        let (root, number) = match operands(self.b, at.value, PrimOp::DivP) {
            Some([number, root]) => (self.within(root, &at.axes), number),
            None => {
                let [a, b] = operands(self.b, at.value, PrimOp::MulP)?;
                let mut under_one = |v: Value| {
                    let v = self.within(v, &at.axes);
                    let [one, root] = operands(self.b, v.value, PrimOp::DivP)?;
                    self.is_one(one).then(|| self.within(root, &v.axes))
                };
                match (under_one(a), under_one(b)) {
                    (_, Some(root)) => (root, a),
                    (Some(root), None) => (root, b),
                    (None, None) => return None,
                }
            }
        };
        if self.is_one(number) {
            return Some((root, None));
        }
        // Some rows of one that all rows share are not there.
        let whole = path.iter().all(|v| !matches!(self.b.def(*v), Some(Op::Slice { .. })));
        let same_axes = whole || self.b.axes(number) == self.b.axes(at.value);
        (same_axes && self.b.rank(number) == self.b.rank(at.value)).then_some((root, Some((number, path))))
    }

    fn is_one(&self, v: Value) -> bool {
        self.b.constant_of(v).is_some_and(|l| l == Lit::one(l.ty))
    }

    /// A value over the space of the result, followed to where its elements come from.
    fn whole(&mut self, v: Value) -> View<Value> {
        self.followed(varying(self.b, v)).0
    }

    /// The same of an operand of a value with these axes; one of rank 0 is the same for all elements.
    fn within(&mut self, v: Value, axes: &Axes) -> View<Value> {
        self.followed(varying(self.b, v).within(axes)).0
    }

    /// Where the elements of a value come from, and the values in between, the first one first.
    fn followed(&mut self, mut at: View<Value>) -> (View<Value>, Vec<Value>) {
        let mut path = Vec::new();
        while let Some(x) = self.elsewhere(&at) {
            if let Some(Op::Checked { .. }) = self.b.def(at.value) {
                self.checked.push(at.value);
            }
            path.push(at.value);
            at = x.within(&at.axes);
        }
        (at, path)
    }

    fn elsewhere(&self, at: &View<Value>) -> Option<View<Value>> {
        // The first rows of some are these, as long as rows are not summed themselves.
        if let Some(Op::Slice { x, axis, start, len, step: 1 }) = self.b.def(at.value) {
            let stays = at.axes.get(*axis as usize).copied().flatten().is_some_and(|k| k < self.rank);
            let first = self.b.const_size(*start) == Some(0) && self.b.const_size(*len) != Some(1);
            return (stays && first).then(|| varying(self.b, *x));
        }
        match Source::origin(self.b, at.value) {
            Some(Origin::Moved(x)) => Some(x),
            Some(Origin::Read(_) | Origin::Product(_)) | None => None,
        }
    }

    /// What a mean is the mean of: a sum over the number of its terms, or times its inverse.
    fn mean(&mut self, of: &View<Value>) -> Option<Summed> {
        let (sum, count) = match operands(self.b, of.value, PrimOp::DivP) {
            Some([sum, count]) => (sum, count),
            None => {
                let [a, b] = operands(self.b, of.value, PrimOp::MulP)?;
                let mut inverse = |v: Value| {
                    let v = self.within(v, &of.axes).value;
                    let [one, count] = operands(self.b, v, PrimOp::DivP)?;
                    self.is_one(one).then_some(count)
                };
                match inverse(b) {
                    Some(count) => (a, count),
                    None => (b, inverse(a)?),
                }
            }
        };
        let mut at = self.within(sum, &of.axes);
        let mut terms = Count::one();
        let mut next = self.rank;
        let summed = loop {
            let mut axes = at.axes.clone();
            axes.push(Some(next));
            next += 1;
            match *self.b.def(at.value)? {
                Op::Reduce(ReduceOp::Sum, x) => {
                    terms.times_extent(self.b, x, self.b.rank(x) - 1);
                    at = self.within(x, &axes);
                    if !matches!(
                        self.b.def(at.value),
                        Some(Op::Reduce(ReduceOp::Sum, _) | Op::Contract { mask: None, axes: 1, .. })
                    ) {
                        break Summed::Plain(at);
                    }
                }
                Op::Contract { left: x, right: y, mask: None, axes: 1 } => {
                    terms.times_extent(self.b, at.value, self.b.rank(x) - 1);
                    let [x, y] = [x, y].map(|v| self.within(v, &axes));
                    (x.value == y.value && x.axes == y.axes).then_some(())?;
                    break Summed::Square(x);
                }
                _ => return None,
            }
        };
        let summed = match summed {
            Summed::Plain(at) => match operands(self.b, at.value, PrimOp::MulP) {
                Some([x, y]) if x == y => Summed::Square(self.within(x, &at.axes)),
                _ => Summed::Plain(at),
            },
            square => square,
        };
        (self.count(count)? == terms.sorted()).then_some(summed)
    }

    /// A float as a number of elements: a product of floats, integers or sizes.
    fn count(&mut self, of: Value) -> Option<Count> {
        let mut count = Count::one();
        let mut stack = vec![of];
        while let Some(v) = stack.pop() {
            let v = self.whole(v).value;
            match self.b.def(v)? {
                Op::Prim(PrimOp::MulP, args) => stack.extend(args),
                Op::Cast(x, to) if holds_counts(*to) => stack.push(*x),
                Op::FromSize(s) => count.times(self.b, *s),
                Op::Const(l) => count.number *= number(*l)?,
                _ => return None,
            }
        }
        Some(count.sorted())
    }

    /// Whether a sum is of what is normalised, along the same axes as all other sums.
    fn is_row_of(&mut self, summed: &View<Value>) -> bool {
        if summed.value != self.x.value || summed.axes.len() != self.x.axes.len() {
            return false;
        }
        let mut axes = Vec::new();
        for (own, of) in summed.axes.iter().zip(&self.x.axes) {
            match (own, of) {
                (Some(own), Some(of)) if *own >= self.rank => axes.push(*of),
                (Some(own), Some(of)) if own == of => {}
                _ => return false,
            }
        }
        axes.sort_unstable();
        !axes.is_empty() && *self.axes.get_or_insert_with(|| axes.clone()) == axes
    }

    fn is_variance(&mut self, of: &View<Value>, mean: &View<Value>) -> bool {
        // What rounding may take below zero.
        if let Some([a, b]) = operands(self.b, of.value, PrimOp::MaxP) {
            let zero = |v: Value| self.b.constant_of(v).and_then(number) == Some(0.0);
            let (inner, clamped) = if zero(b) { (a, true) } else { (b, zero(a)) };
            let inner = self.within(inner, &of.axes);
            return clamped && self.is_variance(&inner, mean);
        }
        let is_mean = |v: &View<Value>| v.value == mean.value && v.axes == mean.axes;
        if let Some([squares, square]) = operands(self.b, of.value, PrimOp::SubP) {
            let squares = self.within(squares, &of.axes);
            let square = self.within(square, &of.axes);
            let Some(Summed::Square(x)) = self.mean(&squares) else { return false };
            let Some(factors) = operands::<2>(self.b, square.value, PrimOp::MulP) else { return false };
            let both = factors.iter().all(|m| is_mean(&self.within(*m, &square.axes)));
            return both && self.is_row_of(&x);
        }
        let Some(Summed::Square(less)) = self.mean(of) else { return false };
        let Some([x, m]) = operands(self.b, less.value, PrimOp::SubP) else { return false };
        let (x, m) = (self.within(x, &less.axes), self.within(m, &less.axes));
        is_mean(&m) && self.is_row_of(&x)
    }
}

/// A number of elements, as a product of a number and of extents.
#[derive(PartialEq)]
struct Count {
    number: f64,
    extents: Vec<Extent>,
}

/// An extent that is no number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Size(Value),
    /// That of a tensor along an axis.
    Of(Value, usize),
}

impl Count {
    fn one() -> Count {
        Count { number: 1.0, extents: Vec::new() }
    }

    fn sorted(mut self) -> Count {
        self.extents.sort_unstable();
        self
    }

    fn times(&mut self, b: &Builder, size: Value) {
        let mut sizes = vec![size];
        while let Some(size) = sizes.pop() {
            let size = b.origin(size);
            match b.def(size) {
                Some(Op::SizeOp(SizeOp::Count | SizeOp::Mul, x, y)) => sizes.extend([*x, *y]),
                Some(Op::Size(n)) => self.number *= *n as f64,
                Some(Op::Extent(x, axis)) => self.times_extent(b, *x, *axis as usize),
                _ => self.extents.push(Extent::Size(size)),
            }
        }
    }

    /// Times the extent of a tensor along an axis, as far back as it is known by its operands.
    fn times_extent(&mut self, b: &Builder, mut v: Value, mut axis: usize) {
        loop {
            let size = match b.extent_from(v, axis) {
                Some(ExtentFrom::Operand(x, k)) => {
                    (v, axis) = (x, k);
                    continue;
                }
                Some(ExtentFrom::Size(size)) => size,
                Some(ExtentFrom::One) => return,
                None => return self.extents.push(Extent::Of(v, axis)),
            };
            // The size may be read from this very tensor.
            match b.def(b.origin(size)) {
                Some(Op::Extent(x, k)) if (*x, *k as usize) == (v, axis) => self.extents.push(Extent::Of(v, axis)),
                _ => self.times(b, size),
            }
            return;
        }
    }
}

/// Whether a type holds the numbers of elements that there may be, if only about.
fn holds_counts(ty: ScalarType) -> bool {
    ty.is_num() && ty.size() >= 4
}

/// The number that a literal of the types is in which elements are counted.
fn number(l: Lit) -> Option<f64> {
    let float = l.get::<f64>().or(l.get::<f32>().map(f64::from));
    float.or(l.get::<i32>().map(f64::from)).or(l.get::<i64>().map(|n| n as f64))
}
