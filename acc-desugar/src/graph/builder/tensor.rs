//! Nodes of tensors: element-wise operations, views, movement of data, reductions.

use super::{AxisSet, Builder};
use crate::graph::op::is_position;
use crate::graph::{Numbers, Op, PadMode, ReduceOp, ScatterMode, Type, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// The right operand that leaves every left one unchanged, down to the sign of zeros; of a commutative operation the left
/// one, too.
pub(crate) fn neutral(p: PrimOp, ty: ScalarType) -> Option<Lit> {
    Some(match (p, ty) {
        (PrimOp::AddP, ScalarType::F16) => Lit { ty, bits: 1 << 15 },
        (PrimOp::AddP, ScalarType::F32) => (-0f32).lit(),
        (PrimOp::AddP, ScalarType::F64) => (-0f64).lit(),
        (PrimOp::AddP | PrimOp::SubP | PrimOp::OrP | PrimOp::XorP, _) => Lit::zero(ty),
        (PrimOp::MulP, _) => Lit::one(ty),
        (PrimOp::MinP, _) => ReduceOp::Min.neutral(ty),
        (PrimOp::MaxP, _) => ReduceOp::Max.neutral(ty),
        (PrimOp::AndP, ScalarType::Bool) => true.lit(),
        (PrimOp::AndP, _) if ty.is_signed() => Lit { ty, bits: u64::MAX },
        (PrimOp::AndP, _) => Lit { ty, bits: u64::MAX >> (64 - ty.bits()) },
        _ => return None,
    })
}

/// The positions that an axis is read at: see [`Op::Unfold`].
pub(crate) struct Windows {
    pub(crate) start: Value,
    pub(crate) lens: Values,
    pub(crate) steps: Values,
    pub(crate) padded: bool,
}

/// The windows that are reduced: see [`Op::Pool`].
pub(crate) struct Pooled {
    pub(crate) start: Value,
    pub(crate) places: Value,
    pub(crate) window: Value,
    pub(crate) stride: u32,
    pub(crate) dilation: u32,
    pub(crate) padded: bool,
}

impl Builder {
    pub(crate) fn constant(&mut self, l: Lit) -> Value {
        self.tensor(Op::Const(l), l.ty, 0)
    }

    pub(crate) fn bool(&mut self, x: bool) -> Value {
        self.constant(x.lit())
    }

    pub(crate) fn iota(&mut self, len: Value) -> Value {
        let (start, step) = (self.size(0), self.size(1));
        self.iota_from(len, start, step)
    }

    pub(crate) fn iota_from(&mut self, len: Value, start: Value, step: Value) -> Value {
        self.tensor(Op::Iota { len, start, step, ty: ScalarType::I64 }, ScalarType::I64, 1)
    }

    /// A 0-d tensor repeated to a shape.
    pub(crate) fn full(&mut self, x: Value, shape: &[Value]) -> Value {
        let one = self.lift(x, shape.len());
        self.broadcast(one, shape)
    }

    pub(crate) fn prim(&mut self, p: PrimOp, args: &[Value]) -> Value {
        let rank = args.iter().map(|a| self.rank(*a)).max().unwrap_or(0);
        let scalar = p.result_type(self.scalar(args[0]));
        // Masks are often trivially true.
        if p == PrimOp::AndP && scalar == ScalarType::Bool {
            for (a, b) in [(args[0], args[1]), (args[1], args[0])] {
                if self.const_bool(a) == Some(true) && self.rank(b) == rank {
                    return b;
                }
            }
        }
        if let Some(v) = self.test_of_choice(p, args) {
            return v;
        }
        if let Some(v) = self.without_neutral(p, args).filter(|v| self.rank(*v) == rank) {
            return v;
        }
        self.tensor(Op::Prim(p, args.into()), scalar, rank)
    }

    /// A comparison of a choice between two literals with a third is the choice's condition, or its negation, or neither.
    fn test_of_choice(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let [x, y] = *args else { return None };
        let (c, t, e) = match self.def(x)? {
            Op::Where(c, t, e) => (*c, self.constant_of(*t)?, self.constant_of(*e)?),
            Op::Cast(c, ty) if self.scalar(*c) == ScalarType::Bool => (*c, Lit::one(*ty), Lit::zero(*ty)),
            _ => return None,
        };
        let with = self.constant_of(y)?;
        let (then, otherwise) = match p {
            PrimOp::EqP if !with.ty.is_float() => (t == with, e == with),
            PrimOp::NeP if !with.ty.is_float() => (t != with, e != with),
            _ => return None,
        };
        match (then, otherwise) {
            (true, false) => Some(c),
            (false, true) => Some(self.not(c)),
            (true, true) | (false, false) => None,
        }
    }

    /// The other operand where one is [`neutral`].
    fn without_neutral(&mut self, p: PrimOp, args: &[Value]) -> Option<Value> {
        let [x, y] = *args else { return None };
        let ty = self.scalar(x);
        let is = |l: Option<Lit>, p| l.is_some() && l == neutral(p, ty);
        if is(self.constant_of(y), p) {
            return Some(x);
        }
        let left = self.constant_of(x);
        match p {
            PrimOp::SubP if is(left, PrimOp::AddP) && (ty.is_float() || ty.is_signed()) => {
                Some(self.prim(PrimOp::NegP, &[y]))
            }
            PrimOp::SubP => None,
            // Those that have a neutral operand are commutative.
            _ => is(left, p).then_some(y),
        }
    }

    pub(crate) fn const_bool(&self, v: Value) -> Option<bool> {
        self.constant_of(v).and_then(|l| l.get::<bool>())
    }

    /// The literal that a tensor is.
    pub(crate) fn constant_of(&self, v: Value) -> Option<Lit> {
        match self.def(v) {
            Some(Op::Const(l)) => Some(*l),
            _ => None,
        }
    }

    pub(crate) fn and(&mut self, a: Value, b: Value) -> Value {
        self.prim(PrimOp::AndP, &[a, b])
    }

    pub(crate) fn not(&mut self, a: Value) -> Value {
        // Of many elements a second comparison costs more than a negation, if somebody else needs the first one, too.
        if self.rank(a) == 0
            && let Some(Op::Prim(p, args)) = self.def(a)
            && let Some(&x) = args.first()
            && let Some(p) = crate::analysis::operators::opposite(*p, self.scalar(x))
        {
            let args = args.clone();
            return self.prim(p, &args);
        }
        self.prim(PrimOp::NotP, &[a])
    }

    pub(crate) fn cast(&mut self, x: Value, to: ScalarType) -> Value {
        if self.scalar(x) == to {
            return x;
        }
        if let Some(&Op::Iota { len, start, step, ty: ScalarType::I64 }) = self.def(x)
            && matches!(to, ScalarType::F32 | ScalarType::F64 | ScalarType::I32)
        {
            return self.tensor(Op::Iota { len, start, step, ty: to }, to, 1);
        }
        let rank = self.rank(x);
        self.tensor(Op::Cast(x, to), to, rank)
    }

    pub(crate) fn bitcast(&mut self, x: Value, to: ScalarType) -> Value {
        let rank = self.rank(x);
        self.tensor(Op::Bitcast(x, to), to, rank)
    }

    pub(crate) fn where_(&mut self, c: Value, t: Value, e: Value) -> Value {
        if t == e {
            return t;
        }
        // What the same condition chose before.
        let t = match self.def(t) {
            Some(Op::Where(again, x, _)) if *again == c => *x,
            _ => t,
        };
        let rank = [c, t, e].iter().map(|v| self.rank(*v)).max().unwrap_or(0);
        let scalar = self.scalar(t);
        if let (Some(one), Some(zero)) = (self.constant_of(t), self.constant_of(e))
            && scalar.is_num()
            && self.rank(c) == rank
            && one == Lit::one(scalar)
            && zero == Lit::zero(scalar)
        {
            return self.cast(c, scalar);
        }
        self.tensor(Op::Where(c, t, e), scalar, rank)
    }

    pub(crate) fn clamp(&mut self, at: Value, extent: Value) -> Value {
        self.like(Op::Clamp(at, extent), at)
    }

    pub(crate) fn in_bounds(&mut self, at: Value, extent: Value, by_use: bool) -> Value {
        self.like(Op::InBounds { at, extent, by_use }, at)
    }

    pub(crate) fn divisor(&mut self, y: Value) -> Value {
        self.like(Op::Divisor(y), y)
    }

    pub(crate) fn reshape(&mut self, x: Value, shape: &[Value]) -> Value {
        let scalar = self.scalar(x);
        self.tensor(Op::Reshape(x, shape.into()), scalar, shape.len())
    }

    pub(crate) fn broadcast(&mut self, x: Value, shape: &[Value]) -> Value {
        if shape.is_empty() {
            return x;
        }
        let scalar = self.scalar(x);
        self.tensor(Op::Broadcast(x, shape.into()), scalar, shape.len())
    }

    /// `x` with the extents of a space along some axes, and 1 along the others.
    pub(crate) fn broadcast_along(&mut self, x: Value, space: &[Value], axes: AxisSet) -> Value {
        let one = self.size(1);
        let shape: Values = (0..space.len()).map(|k| if axes >> k & 1 == 1 { space[k] } else { one }).collect();
        let x = self.broadcast(x, &shape);
        self.set_along(x, axes);
        x
    }

    pub(crate) fn transpose(&mut self, x: Value, axes: &[u32]) -> Value {
        if axes.iter().enumerate().all(|(i, a)| i == *a as usize) {
            return x;
        }
        // One after another is one.
        if let Some(Op::Transpose(y, first)) = self.def(x) {
            let (y, both) = (*y, axes.iter().map(|a| first[*a as usize]).collect::<SmallVec<[u32; 4]>>());
            return self.transpose(y, &both);
        }
        self.like(Op::Transpose(x, axes.into()), x)
    }

    pub(crate) fn insert_axes(&mut self, x: Value, at: SmallVec<[u32; 4]>) -> Value {
        if at.is_empty() {
            return x;
        }
        let (scalar, rank) = (self.scalar(x), self.rank(x) + at.len());
        self.tensor(Op::InsertAxes(x, at), scalar, rank)
    }

    /// `x` with as many leading axes of extent 1 as make its rank `rank`; only for rank 0 operands.
    pub(crate) fn lift(&mut self, x: Value, rank: usize) -> Value {
        if self.rank(x) == rank { x } else { self.insert_axes(x, (0..rank as u32).collect()) }
    }

    pub(crate) fn slice(&mut self, x: Value, axis: u32, start: Value, len: Value, step: u32) -> Value {
        self.like(Op::Slice { x, axis, start, len, step }, x)
    }

    pub(crate) fn select(&mut self, x: Value, axis: u32, at: Value) -> Value {
        let (scalar, rank) = (self.scalar(x), self.rank(x) - 1);
        self.tensor(Op::Select { x, axis, at }, scalar, rank)
    }

    pub(crate) fn flip(&mut self, x: Value, axis: u32) -> Value {
        self.like(Op::Flip(x, axis), x)
    }

    /// An axis of a tensor read at `start + Σ steps·index`.
    pub(crate) fn unfold(&mut self, x: Value, axis: u32, windows: Windows) -> Value {
        let (scalar, rank) = (self.scalar(x), self.rank(x) - 1 + windows.lens.len());
        let Windows { start, lens, steps, padded } = windows;
        self.tensor(Op::Unfold { x, axis, start, lens, steps, padded }, scalar, rank)
    }

    pub(crate) fn gather(&mut self, source: Value, at: Value) -> Value {
        if self.rank(source) == 1
            && let Some(sorted) = self.sorted(source, at)
        {
            return sorted;
        }
        let at = self.as_they_came(at);
        let (scalar, rank) = (self.scalar(source), self.rank(at));
        self.tensor(Op::Gather(source, at), scalar, rank)
    }

    pub(crate) fn take(&mut self, x: Value, axis: u32, at: Value) -> Value {
        if self.rank(x) == 1
            && let Some(sorted) = self.sorted(x, at)
        {
            return sorted;
        }
        let at = self.as_they_came(at);
        self.like(Op::Take { x, axis, at }, x)
    }

    pub(crate) fn pad(&mut self, x: Value, widths: SmallVec<[u32; 4]>, mode: PadMode) -> Value {
        if widths.iter().all(|w| *w == 0) {
            return x;
        }
        self.like(Op::Pad { x, widths, mode }, x)
    }

    pub(crate) fn scatter(&mut self, base: Value, at: Value, values: Value, mode: ScatterMode) -> Value {
        let at = if mode == ScatterMode::Combine(ReduceOp::Sum) { self.as_they_came(at) } else { at };
        self.like(Op::Scatter { base, at, values, mode }, base)
    }

    /// Positions that were made of narrower integers, before that, if they are in bounds or found not to be by their use:
    /// making them wide takes longer than using them. An unsigned number that the narrow type takes for a negative one is
    /// found out of bounds.
    fn as_they_came(&mut self, at: Value) -> Value {
        match self.def(at) {
            Some(Op::InBounds { at: wide, extent, by_use: true }) => {
                let extent = *extent;
                let Some(Op::Cast(narrow, ScalarType::I64)) = self.def(*wide) else { return at };
                let narrow = *narrow;
                if is_position(self.scalar(narrow)) { self.in_bounds(narrow, extent, true) } else { at }
            }
            Some(Op::Reshape(x, shape)) => {
                let (x, shape) = (*x, shape.clone());
                let narrow = self.as_they_came(x);
                if narrow == x { at } else { self.reshape(narrow, &shape) }
            }
            _ => at,
        }
    }

    pub(crate) fn concat(&mut self, xs: &[Value], axis: u32) -> Value {
        self.like(Op::Concat(xs.into(), axis), xs[0])
    }

    /// The positions that sort a tensor along its innermost axis.
    pub(crate) fn sort_permutation(&mut self, x: Value) -> Value {
        self.sort(x, None, false)[1]
    }

    /// A number of the first or last elements, or all, of a tensor sorted along its innermost axis, and their positions.
    pub(crate) fn sort(&mut self, x: Value, count: Option<Value>, last: bool) -> Values {
        let (scalar, rank) = (self.scalar(x), self.rank(x));
        let types = [scalar, ScalarType::I64].map(|scalar| Type::Tensor { scalar, rank });
        self.push(Op::Sort { x, count, last }, &types)
    }

    /// The elements of a tensor at these positions of its rows, if they sort it.
    pub(crate) fn sorted(&mut self, source: Value, at: Value) -> Option<Value> {
        let mut checked = Vec::new();
        let mut at = self.unchecked(at, &mut checked);
        // What sorts is in bounds.
        while let Some(Op::InBounds { at: inner, .. }) = self.def(at) {
            at = self.unchecked(*inner, &mut checked);
        }
        let (Op::Sort { x, count: None, .. }, &[sorted, positions]) =
            self.defining(at).map(|(op, results)| (op, &results[..]))?
        else {
            return None;
        };
        let x = *x;
        // The operand of the sort may have been checked since.
        if source != x && self.unchecked(source, &mut checked) != x || positions != at {
            return None;
        }
        let after_sort = |c: &Value| self.place(*c) > self.place(sorted);
        if !checked.iter().all(after_sort) {
            return None;
        }
        Some(self.after_checks(sorted, checked))
    }

    pub(crate) fn nonzero(&mut self, x: Value) -> Value {
        self.tensor(Op::Nonzero(x), ScalarType::I64, 1)
    }

    pub(crate) fn reduce(&mut self, k: ReduceOp, x: Value) -> Value {
        let (scalar, rank) = (self.scalar(x), self.rank(x) - 1);
        self.tensor(Op::Reduce(k, x), scalar, rank)
    }

    /// Sums of products along so many of the innermost axes, of a product that is 0 where the mask is false.
    pub(crate) fn contract(&mut self, left: Value, right: Value, mask: Option<Value>, axes: u32) -> Value {
        let (scalar, rank) = (self.scalar(left), self.rank(left) - axes as usize);
        self.tensor(Op::Contract { left, right, mask, axes }, scalar, rank)
    }

    /// The convolution of images with filters, with windows at so many `places` from `starts` on, and strides and dilations.
    pub(crate) fn convolve(
        &mut self,
        [x, filters]: [Value; 2],
        [starts, places]: [Values; 2],
        [strides, dilations]: [Numbers; 2],
    ) -> Value {
        self.like(Op::Convolve { x, filters, starts, places, strides, dilations }, x)
    }

    /// The reductions of windows of an axis.
    pub(crate) fn pool(&mut self, with: ReduceOp, x: Value, axis: u32, windows: Pooled) -> Value {
        let Pooled { start, places, window, stride, dilation, padded } = windows;
        self.like(Op::Pool { with, x, axis, start, places, window, stride, dilation, padded }, x)
    }

    pub(crate) fn clip(&mut self, x: Value, low: Lit, high: Lit) -> Value {
        self.like(Op::Clip { x, low, high }, x)
    }

    pub(crate) fn softmax(&mut self, x: Value, axis: u32, log: bool) -> Value {
        self.like(Op::Softmax { x, axis, log }, x)
    }

    pub(crate) fn normalize(&mut self, x: Value, axes: Numbers, epsilon: Lit, affine: [Option<Value>; 2]) -> Value {
        let [scale, shift] = affine;
        self.like(Op::Normalize { x, axes, epsilon, scale, shift }, x)
    }

    /// Reductions of segments along the innermost axis, of elements at these positions if there are some.
    pub(crate) fn segment_reduce(
        &mut self,
        with: ReduceOp,
        x: Value,
        at: Option<Value>,
        offsets: Value,
        full: bool,
    ) -> Value {
        self.like(Op::SegmentReduce { with, x, at, offsets, full }, x)
    }

    /// The first position of an extreme along the innermost axis.
    pub(crate) fn arg_extreme(&mut self, k: ReduceOp, x: Value) -> Value {
        let rank = self.rank(x) - 1;
        self.tensor(Op::ArgExtreme(k, x), ScalarType::I64, rank)
    }

    pub(crate) fn cumulative(&mut self, k: ReduceOp, x: Value) -> Value {
        self.like(Op::Cumulative(k, x), x)
    }

    /// An exclusive scan with the whole at the end.
    pub(crate) fn exclusive(&mut self, k: ReduceOp, x: Value) -> Value {
        self.like(Op::Exclusive(k, x), x)
    }

    /// A scan that restarts at marks.
    pub(crate) fn segment_scan(&mut self, with: ReduceOp, x: Value, starts: Value) -> Value {
        self.like(Op::SegmentScan { with, x, starts }, x)
    }

    /// Whether any lane of a mask is on, as a rank-0 tensor.
    pub(crate) fn any(&mut self, mask: Value) -> Value {
        if self.rank(mask) == 0 {
            return mask;
        }
        // Conditions along other axes are not brought together to be looked at.
        if let Some(&Op::Prim(PrimOp::AndP, ref args)) = self.def(mask)
            && let [x, y] = args[..]
            && self.axes(x) & self.axes(y) == 0
        {
            let both = [x, y].map(|x| acc_core::grow_stack(|| self.any(x)));
            return self.prim(PrimOp::AndP, &both);
        }
        self.tensor(Op::AnyLane(mask), ScalarType::Bool, 0)
    }
}
