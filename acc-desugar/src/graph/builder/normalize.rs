//! Normalisation: numbers less their mean, over the root of their variance and a small number, as layers of networks have
//! it; then a product and a sum.

use super::Builder;
use crate::analysis::contraction::{Axes, Origin, Source, View};
use crate::graph::{Op, ReduceOp, SizeOp, Value};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// What is known so far of what may be one.
struct Found {
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

impl Builder {
    /// What a quotient or product is if it ends one of
    ///
    /// - `(x - mean(x)) / sqrt(variance(x) + epsilon)`,
    /// - `(x - mean(x)) * (1 / sqrt(variance(x) + epsilon))`,
    ///
    /// with another number in place of the 1 as well, where the variance is the mean of squares of `x - mean(x)`, or the mean
    /// of squares of `x` less the square of the mean.
    pub(super) fn normalized(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let [left, right] = *args else { return None };
        if !matches!(self.scalar(left), ScalarType::F32 | ScalarType::F64) {
            return None;
        }
        match p {
            PrimOp::DivP => self.normal(left, right, true),
            PrimOp::MulP => self.normal(left, right, false).or_else(|| self.normal(right, left, false)),
            _ => None,
        }
    }

    /// A difference over, or times, what it may be normalised by.
    fn normal(&mut self, less: Value, by: Value, over: bool) -> Option<Value> {
        let mut checked = Vec::new();
        let [x, mean] = self.operands(self.unchecked(less, &mut checked), PrimOp::SubP)?;
        let rank = self.rank(x);
        let mut found = Found { rank, x: self.varying(x), axes: None, checked };
        found.x = self.whole(x, &mut found);
        if found.x.axes.iter().flatten().count() < rank {
            return None;
        }
        let (root, scale) = if over { (self.whole(by, &mut found), None) } else { self.inverse(by, &mut found)? };
        let [sum] = self.operands(root.value, PrimOp::SqrtP)?;
        let sum = self.within(sum, &root.axes, &mut found);
        let [a, b] = self.operands(sum.value, PrimOp::AddP)?;
        let (variance, epsilon) = match (self.constant_of(a), self.constant_of(b)) {
            (None, Some(epsilon)) => (a, epsilon),
            (Some(epsilon), None) => (b, epsilon),
            _ => return None,
        };
        number(epsilon).filter(|e| *e > 0.0 && e.is_finite())?;
        let mean = self.whole(mean, &mut found);
        let Summed::Plain(summed) = self.mean(&mean, &mut found)? else { return None };
        self.is_row_of(&summed, &mut found).then_some(())?;
        let variance = self.within(variance, &sum.axes, &mut found);
        self.is_variance(&variance, &mean, &mut found).then_some(())?;
        // What waited for checks still does.
        let from = self.place(x);
        found.checked.retain(|c| self.place(*c) > from);
        let x = self.after_checks(x, found.checked);
        let axes = found.axes?.into_iter().map(|a| a as u32).collect();
        let op = Op::Normalize { x, axes, epsilon, scale: None, shift: None };
        let normal = self.like(op, x);
        Some(match scale {
            Some(scale) => self.prim(PrimOp::MulP, &[normal, scale]),
            None => normal,
        })
    }

    /// The root that a number over it is of, and the number unless it is 1, of the shape of `by`.
    fn inverse(&mut self, by: Value, found: &mut Found) -> Option<(View<Value>, Option<Value>)> {
        let (at, path) = self.followed(self.varying(by), found);
        let (root, number) = match self.operands(at.value, PrimOp::DivP) {
            Some([number, root]) => (self.within(root, &at.axes, found), number),
            None => {
                let [a, b] = self.operands(at.value, PrimOp::MulP)?;
                let mut under_one = |v: Value| {
                    let v = self.within(v, &at.axes, found);
                    let [one, root] = self.operands(v.value, PrimOp::DivP)?;
                    self.is_one(one).then(|| self.within(root, &v.axes, found))
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
        // What was done to the quotient is done to the number; some rows of one that all rows share are not there.
        let whole = path.iter().all(|v| !matches!(self.def(*v), Some(Op::Slice { .. })));
        let alike = self.rank(number) == self.rank(at.value) && (whole || self.axes(number) == self.axes(at.value));
        alike.then(|| (root, Some(path.iter().rev().fold(number, |x, v| self.moved_with(*v, &[x])[0]))))
    }

    fn is_one(&self, v: Value) -> bool {
        self.constant_of(v).is_some_and(|l| l == Lit::one(l.ty))
    }

    /// A value over the space of the result, as what its elements are those of.
    fn whole(&self, v: Value, found: &mut Found) -> View<Value> {
        self.followed(self.varying(v), found).0
    }

    /// An operand of what has these axes, likewise; one of rank 0 is the same for all elements.
    fn within(&self, v: Value, axes: &Axes, found: &mut Found) -> View<Value> {
        self.followed(self.varying(v).within(axes), found).0
    }

    /// What the elements of a value are those of, and the values in between, the first one first.
    fn followed(&self, mut at: View<Value>, found: &mut Found) -> (View<Value>, Vec<Value>) {
        let mut path = Vec::new();
        while let Some(x) = self.elsewhere(&at, found.rank) {
            if let Some(Op::Checked { .. }) = self.def(at.value) {
                found.checked.push(at.value);
            }
            path.push(at.value);
            at = x.within(&at.axes);
        }
        (at, path)
    }

    fn elsewhere(&self, at: &View<Value>, rank: usize) -> Option<View<Value>> {
        // The first rows of some are these, as long as rows are not summed themselves.
        if let Some(Op::Slice { x, axis, start, len, step: 1 }) = self.def(at.value) {
            let kept = at.axes.get(*axis as usize).copied().flatten().is_some_and(|k| k < rank);
            let first = self.const_size(*start) == Some(0) && self.const_size(*len) != Some(1);
            return (kept && first).then(|| self.varying(*x));
        }
        match Source::origin(self, at.value) {
            Some(Origin::Moved(x)) => Some(x),
            Some(Origin::Read(_) | Origin::Product(_)) | None => None,
        }
    }

    /// What a mean is the mean of: a sum over the number of its terms, or times its inverse.
    fn mean(&self, of: &View<Value>, found: &mut Found) -> Option<Summed> {
        let (sum, count) = match self.operands(of.value, PrimOp::DivP) {
            Some([sum, count]) => (sum, count),
            None => {
                let [a, b] = self.operands(of.value, PrimOp::MulP)?;
                let inverse = |v: Value, found: &mut Found| {
                    let [one, count] = self.operands(self.within(v, &of.axes, found).value, PrimOp::DivP)?;
                    self.is_one(one).then_some(count)
                };
                match inverse(b, found) {
                    Some(count) => (a, count),
                    None => (b, inverse(a, found)?),
                }
            }
        };
        let mut at = self.within(sum, &of.axes, found);
        let mut extents = Vec::new();
        let mut next = found.rank;
        let summed = loop {
            extents.push(*self.summed.get(&at.value)?);
            let mut axes = at.axes.clone();
            axes.push(Some(next));
            next += 1;
            match *self.def(at.value)? {
                Op::Reduce(ReduceOp::Sum, x) => {
                    at = self.within(x, &axes, found);
                    if !self.summed.contains_key(&at.value) {
                        break Summed::Plain(at);
                    }
                }
                Op::Contract(x, y) => {
                    let [x, y] = [x, y].map(|v| self.within(v, &axes, found));
                    (x.value == y.value && x.axes == y.axes).then_some(())?;
                    break Summed::Square(x);
                }
                _ => return None,
            }
        };
        let summed = match summed {
            Summed::Plain(at) => match self.operands(at.value, PrimOp::MulP) {
                Some([x, y]) if x == y => Summed::Square(self.within(x, &at.axes, found)),
                _ => Summed::Plain(at),
            },
            square => square,
        };
        self.is_count(count, &extents, found).then_some(summed)
    }

    /// Whether a float is the product of these extents.
    fn is_count(&self, count: Value, extents: &[Value], found: &mut Found) -> bool {
        let mut factors = Vec::new();
        let mut stack = vec![count];
        let mut number = 1.0;
        // A product of floats, integers or sizes.
        while let Some(v) = stack.pop() {
            let v = self.whole(v, found).value;
            match self.def(v) {
                Some(Op::Prim(PrimOp::MulP, args)) => stack.extend(args),
                Some(Op::Cast(x, to)) if holds_counts(*to) => stack.push(*x),
                Some(Op::FromSize(s)) => self.size_factors(*s, &mut factors, &mut number),
                Some(Op::Const(l)) => match self::number(*l) {
                    Some(n) => number *= n,
                    None => return false,
                },
                _ => return false,
            }
        }
        let (mut wanted, mut product) = (Vec::new(), 1.0);
        extents.iter().for_each(|e| self.size_factors(*e, &mut wanted, &mut product));
        factors.sort_unstable();
        wanted.sort_unstable();
        factors == wanted && number == product
    }

    fn size_factors(&self, size: Value, factors: &mut Vec<Value>, number: &mut f64) {
        let size = self.origin(size);
        match self.def(size) {
            Some(Op::SizeOp(SizeOp::Count | SizeOp::Mul, a, b)) => {
                self.size_factors(*a, factors, number);
                self.size_factors(*b, factors, number);
            }
            Some(Op::Size(n)) => *number *= *n as f64,
            _ => factors.push(size),
        }
    }

    /// Whether what is summed is what is normalised, along axes that are the same in all sums.
    fn is_row_of(&self, summed: &View<Value>, found: &mut Found) -> bool {
        if summed.value != found.x.value || summed.axes.len() != found.x.axes.len() {
            return false;
        }
        let mut axes = Vec::new();
        for (own, of) in summed.axes.iter().zip(&found.x.axes) {
            match (own, of) {
                (Some(own), Some(of)) if *own >= found.rank => axes.push(*of),
                (Some(own), Some(of)) if own == of => {}
                _ => return false,
            }
        }
        axes.sort_unstable();
        !axes.is_empty() && *found.axes.get_or_insert_with(|| axes.clone()) == axes
    }

    fn is_variance(&self, of: &View<Value>, mean: &View<Value>, found: &mut Found) -> bool {
        // What rounding may take below zero.
        if let Some([a, b]) = self.operands(of.value, PrimOp::MaxP) {
            let zero = |v: Value| self.constant_of(v).and_then(number) == Some(0.0);
            let inner = if zero(b) { a } else { b };
            let inner = self.within(inner, &of.axes, found);
            return (zero(a) || zero(b)) && self.is_variance(&inner, mean, found);
        }
        let is_mean = |v: &View<Value>| v.value == mean.value && v.axes == mean.axes;
        if let Some([squares, square]) = self.operands(of.value, PrimOp::SubP) {
            let squares = self.within(squares, &of.axes, found);
            let square = self.within(square, &of.axes, found);
            let Some(Summed::Square(x)) = self.mean(&squares, found) else { return false };
            let Some(factors) = self.operands::<2>(square.value, PrimOp::MulP) else { return false };
            let both = factors.iter().all(|m| is_mean(&self.within(*m, &square.axes, found)));
            return both && self.is_row_of(&x, found);
        }
        let Some(Summed::Square(less)) = self.mean(of, found) else { return false };
        let Some([x, m]) = self.operands(less.value, PrimOp::SubP) else { return false };
        let (x, m) = (self.within(x, &less.axes, found), self.within(m, &less.axes, found));
        is_mean(&m) && self.is_row_of(&x, found)
    }

    /// The normalisation with a scale, or a shift, that is the same along the axes of its sums, or along all others.
    pub(super) fn rescaled(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let ([a, b], PrimOp::MulP | PrimOp::AddP) = (args, p) else { return None };
        self.affine(p, *a, *b).or_else(|| self.affine(p, *b, *a))
    }

    fn affine(&mut self, p: PrimOp, normal: Value, by: Value) -> Option<Value> {
        let mut checked = Vec::new();
        let v = self.unchecked(normal, &mut checked);
        let (order, of) = match self.def(v) {
            Some(Op::Transpose(of, order)) => (order.clone(), self.unchecked(*of, &mut checked)),
            _ => ((0..self.rank(v) as u32).collect(), v),
        };
        let Some(Op::Normalize { x, axes, epsilon, scale, shift }) = self.def(of) else { return None };
        let (x, epsilon, scale, shift) = (*x, *epsilon, *scale, *shift);
        let axes: SmallVec<[u32; 4]> = (0..order.len() as u32).filter(|k| axes.contains(&order[*k as usize])).collect();
        let over = axes.iter().fold(0, |set, a| set | 1 << a);
        // One that repeats, as what it repeats.
        let mut by = by;
        while let Some(Op::Broadcast(inner, _)) = self.def(by) {
            by = *inner;
        }
        let varies = self.axes(by);
        let aside = self.rank(by) == self.rank(v) && (varies & over == 0 || varies & !over == 0);
        let known = if p == PrimOp::MulP { scale.is_some() || shift.is_some() } else { shift.is_some() };
        if known || !aside {
            return None;
        }
        let x = self.after_checks(x, checked);
        let x = self.transpose(x, &order);
        let scale = scale.map(|s| self.transpose(s, &order));
        let op = match p {
            PrimOp::MulP => Op::Normalize { x, axes, epsilon, scale: Some(by), shift: None },
            _ => Op::Normalize { x, axes, epsilon, scale, shift: Some(by) },
        };
        Some(self.like(op, x))
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
