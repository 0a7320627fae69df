//! Counted loops that reduce: the counter becomes an axis, and each step a lane along it.
//!
//! What is combined is computed for many values of the counter at once, and reduced along that axis, which is the first:
//! of few lanes it makes long rows, and of many lanes it leaves rows as they are. [`MAX_ELEMENTS_PER_BLOCK`] bounds how many values of
//! the counter that are; if that is one, the loop runs as it was written. Where nothing as large as lanes times counter is
//! made, as in products of matrices, there is one block.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::{Affine, LaneAxis};
use crate::flatten::access::on_demand::some_lane;
use crate::flatten::control::loops::free_values;
use crate::flatten::scalar::spread;
use crate::flatten::scalar::uniformity::{self, Uniformity};
use crate::flatten::scalar::val;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::builder::neutral;
use crate::graph::rules::contract;
use crate::graph::{Body, Op, ReduceOp, SizeOp, Type, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{CountedLoop, Node, Part, PrimOp, Region, Val};
use smallvec::SmallVec;

/// How many elements the tensors of a block have at most, unless the lanes are more: few enough for a large cache, and so
/// many that waking threads for each operation, which takes as long as some 100,000 elements, does not count.
const MAX_ELEMENTS_PER_BLOCK: i64 = 1 << 21;

/// A counted loop on its way into the graph.
struct Counted<'a> {
    counted: CountedLoop,
    step: &'a Region,
    init: &'a [Val],
    /// The uniformities of the function's values where the counter varies.
    uniformities: Vec<Uniformity>,
    /// The values that the step takes from around the loop.
    captured: Vec<Val>,
    /// The extents of the lanes' space, without the counter's axis.
    outer: Values,
    mask: Option<Value>,
}

/// What some steps combine a state with.
struct Reduced {
    /// By which operation: the loop's, or the difference for its sums.
    with: PrimOp,
    value: Value,
    /// Whether nothing was made of the extents of the lanes and the counter together.
    light: bool,
}

impl Flattener<'_> {
    /// A counted loop that reduces, with the counter as an axis; none for other loops, and where that would be slower.
    pub(crate) fn counted_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        init: &[Val],
        test: &Region,
        step: &Region,
        mask: Option<Value>,
    ) -> Option<SmallVec<[Scalar; 2]>> {
        // A report needs the order of the steps.
        if self.faults().exact() {
            return None;
        }
        let counted = CountedLoop::of(lanes.fun, test, step)?;
        let level = |v: Val| lanes.uniformities[v.index()];
        let mut reduced = counted.parts.iter().zip(&n.results).filter(|(p, _)| matches!(p, Part::Reduces(_)));
        let uniform = reduced.clone().all(|(_, r)| level(*r) < Uniformity::Varying);
        // What is for the host to add up stays with the host; and lanes that are off must not make it wait.
        let hosts = reduced.any(|(_, r)| level(*r) == Uniformity::Host);
        let counts_on_host = [init[counted.counter], counted.bound].iter().all(|v| level(*v) == Uniformity::Host);
        if hosts || (mask.is_some() && (uniform || !counts_on_host)) {
            return None;
        }
        let mut uniformities = lanes.uniformities.clone();
        for (p, part) in step.params.iter().zip(&counted.parts) {
            if *part != Part::Same {
                uniformities[p.index()] = Uniformity::Varying;
            }
        }
        uniformity::region(lanes.fun, step, &mut uniformities);
        let outer = if uniform { Values::new() } else { lanes.space.clone() };
        let captured = free_values([step, step]);
        let it = Counted { counted, step, init, uniformities, captured, outer, mask };
        Some(self.with_counter_as_axis(lanes, n, test, &it))
    }

    fn with_counter_as_axis(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        test: &Region,
        it: &Counted<'_>,
    ) -> SmallVec<[Scalar; 2]> {
        let (start, steps) = self.counter_range(lanes, test, it);
        let state: Vec<Value> = it
            .reductions()
            .map(|(k, _)| {
                let v = self.indices.val_tensor(&mut self.b, lanes, it.init[k]);
                self.b.lift(v, it.outer.len())
            })
            .collect();
        let (body, light) = self.block_body(lanes, it, &state, start, steps);
        let mut totals = if light {
            let reduced = self.block(lanes, it, start, steps);
            let begun: Values =
                it.reductions().map(|(k, _)| self.indices.val_tensor(&mut self.b, lanes, it.init[k])).collect();
            begun_with(&mut self.b, &begun, &state, reduced)
        } else {
            let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
            let end = end(&mut self.b, lanes, start, steps);
            self.open();
            let k = self.b.param(Type::Size);
            self.b.params(&types);
            let more = self.b.size_op(SizeOp::Lt, k, end);
            let test = self.close(vec![more], &lanes.space.clone());
            let init: Vec<Value> = std::iter::once(start).chain(state).collect();
            self.b.while_(&init, test, body)[1..].into()
        }
        .into_iter();
        let mut results = SmallVec::new();
        for (k, (part, r)) in it.counted.parts.iter().zip(&n.results).enumerate() {
            results.push(match part {
                Part::Same => val(&mut self.b, lanes, it.init[k]),
                Part::Counter => {
                    let last = self.b.size_op(SizeOp::Add, start, steps);
                    counter(&mut self.b, last, lanes.fun.ty(*r))
                }
                // There are as many as there are such parts.
                Part::Reduces(_) => Scalar::Tensor(totals.next().unwrap_or(start)),
            });
        }
        results
    }

    /// The first value of the counter, and how many there are.
    fn counter_range(&mut self, lanes: &mut Lanes<'_>, test: &Region, it: &Counted<'_>) -> (Value, Value) {
        for (k, p) in test.params.iter().enumerate().filter(|(k, _)| it.counted.parts[*k] == Part::Same) {
            lanes.vals[p.index()] = Some(val(&mut self.b, lanes, it.init[k]));
        }
        for n in test.nodes.iter().filter(|n| !n.results.contains(&test.results[0])) {
            self.b.at(&n.loc);
            let results = acc_core::grow_stack(|| self.node(lanes, n, it.mask));
            for (v, s) in n.results.iter().zip(results) {
                lanes.vals[v.index()] = Some(s);
            }
        }
        let [start, mut stop] = [it.init[it.counted.counter], it.counted.bound].map(|v| self.whole(lanes, v));
        if it.counted.inclusive {
            // The greatest integer is never passed.
            let (most, one) = (self.b.size(i64::MAX - 1), self.b.size(1));
            stop = self.b.size_op(SizeOp::Min, stop, most);
            stop = self.b.size_op(SizeOp::Add, stop, one);
        }
        let steps = self.b.size_op(SizeOp::Sub, stop, start);
        let zero = self.b.size(0);
        let known = self.scope.extents.contains(&steps) || self.b.const_size(steps).is_some_and(|n| n >= 0);
        (start, if known { steps } else { self.b.size_op(SizeOp::Max, steps, zero) })
    }

    /// A uniform integer of any type as a size.
    fn whole(&mut self, lanes: &Lanes<'_>, v: Val) -> Value {
        let ty = lanes.fun.ty(v);
        match val(&mut self.b, lanes, v) {
            Scalar::Tensor(t) if ty != ScalarType::I64 => match self.b.constant_of(t) {
                Some(l) => self.b.size(l.bits as i64),
                None => {
                    let wide = self.b.cast(t, ScalarType::I64);
                    self.size(Scalar::Tensor(wide))
                }
            },
            s => self.size(s),
        }
    }

    /// The body of the loop over blocks: from the counter and the state to the next ones; and whether one block would do.
    fn block_body(
        &mut self,
        lanes: &mut Lanes<'_>,
        it: &Counted<'_>,
        state: &[Value],
        start: Value,
        steps: Value,
    ) -> (Body, bool) {
        let end = end(&mut self.b, lanes, start, steps);
        let (block, one) = (self.b.size(MAX_ELEMENTS_PER_BLOCK), self.b.size(1));
        let count = self.b.product(&it.outer.clone());
        let most = self.b.size_op(SizeOp::Quot, block, count);
        let most = self.b.size_op(SizeOp::Max, most, one);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        self.open();
        let k = self.b.param(Type::Size);
        let state = self.b.params(&types);
        let left = self.b.size_op(SizeOp::Sub, end, k);
        let len = self.b.size_op(SizeOp::Min, left, most);
        let reduced = self.block(lanes, it, k, len);
        let light = reduced.iter().all(|r| r.light);
        let next = self.b.size_op(SizeOp::Add, k, len);
        let results = std::iter::once(next).chain(combined(&mut self.b, &state, reduced)).collect();
        (self.close(results, &lanes.space.clone()), light)
    }

    /// What `len` steps from a value of the counter on combine each reduced part of the state with.
    fn block(&mut self, lanes: &mut Lanes<'_>, it: &Counted<'_>, first: Value, len: Value) -> Vec<Reduced> {
        let outside = (lanes.vals.clone(), lanes.uniformities.clone(), lanes.space.clone());
        for v in &it.captured {
            let s = val(&mut self.b, lanes, *v);
            lanes.vals[v.index()] = Some(self.indices.with_first_axis(&mut self.b, s));
        }
        let (one, rank) = (self.b.size(1), it.outer.len() + 1);
        for (k, (p, part)) in it.step.params.iter().zip(&it.counted.parts).enumerate() {
            let ty = lanes.fun.ty(*p);
            let s = match part {
                Part::Counter => {
                    let axis = LaneAxis { axis: 0, len, rank };
                    match self.indices.affine(Affine::along(axis, first, one)) {
                        s if ty == ScalarType::I64 => s,
                        s => {
                            let wide = self.indices.value(&mut self.b, s);
                            Scalar::Tensor(self.b.cast(wide, ty))
                        }
                    }
                }
                Part::Same => {
                    let s = val(&mut self.b, lanes, it.init[k]);
                    self.indices.with_first_axis(&mut self.b, s)
                }
                // From the neutral element a step yields what it combines any state with.
                Part::Reduces(op) => Scalar::Tensor(self.b.constant(neutral(*op, ty).unwrap_or(Lit::zero(ty)))),
            };
            lanes.vals[p.index()] = Some(s);
        }
        let mask = it.mask.map(|m| match self.indices.with_first_axis(&mut self.b, Scalar::Tensor(m)) {
            Scalar::Tensor(m) => m,
            Scalar::Size(_) | Scalar::Affine(_) => m,
        });
        lanes.uniformities.clone_from(&it.uniformities);
        lanes.space = std::iter::once(len).chain(it.outer.iter().copied()).collect();
        let results = self.region(lanes, it.step, mask);
        let reduced = it
            .reductions()
            .map(|(k, op)| {
                let v = self.indices.tensor(&mut self.b, results[k], lanes.fun.ty(it.init[k]));
                self.along_first_axis(op, v, first, &lanes.space.clone())
            })
            .collect();
        (lanes.vals, lanes.uniformities, lanes.space) = outside;
        reduced
    }

    /// A reduction along the first axis of a space. Values before `inner` are there anyway.
    fn along_first_axis(&mut self, op: PrimOp, v: Value, inner: Value, space: &[Value]) -> Reduced {
        let rank = space.len();
        let mut v = self.b.lift(v, rank);
        let mut with = op;
        if op == PrimOp::AddP
            && let Some(&Op::Prim(PrimOp::NegP, ref x)) = self.b.def(v)
        {
            (v, with) = (x[0], PrimOp::SubP);
        }
        if !self.b.is_settled(v) {
            v = spread(&mut self.b, v, space);
        } else if self.b.axes(v) & 1 == 0 {
            v = self.b.broadcast_along(v, space, self.b.axes(v) | 1);
        }
        let order: Vec<u32> = (1..rank as u32).chain([0]).collect();
        let rows = self.b.transpose(v, &order);
        if let Some(known) = ReduceOp::of(op, self.b.scalar(v)) {
            // A sum of products will be a contraction, which computes no products of the extents of `rows`.
            let light = contract::is_light(&self.b, known, rows, &|v| is_view(&self.b, v, inner));
            return Reduced { with, value: contract::reduce(&mut self.b, known, rows), light };
        }
        let ty = self.b.ty(rows);
        self.open();
        self.b.param(Type::Size);
        let pair = self.b.params(&[ty, ty]);
        let both = self.b.prim(op, &pair);
        let combine = self.close(vec![both], &[]);
        Reduced { with, value: self.b.fold(&[rows], combine)[0], light: false }
    }
}

impl Counted<'_> {
    /// The parts of the state that are reduced, and by what.
    fn reductions(&self) -> impl Iterator<Item = (usize, PrimOp)> {
        self.counted.parts.iter().enumerate().filter_map(|(k, p)| match p {
            Part::Reduces(op) => Some((k, *op)),
            Part::Counter | Part::Same => None,
        })
    }
}

impl Indices {
    /// A scalar of the lanes in the space that has one axis more, before the others.
    pub(crate) fn with_first_axis(&mut self, b: &mut Builder, s: Scalar) -> Scalar {
        match s {
            Scalar::Size(_) => s,
            Scalar::Tensor(v) if b.rank(v) == 0 => s,
            Scalar::Tensor(v) => Scalar::Tensor(b.insert_axes(v, SmallVec::from_iter([0]))),
            Scalar::Affine(_) => {
                let Some(mut a) = self.affine_of(s) else { return s };
                a.terms.iter_mut().for_each(|t| {
                    t.axis.axis += 1;
                    t.axis.rank += 1;
                });
                self.affine(a)
            }
        }
    }
}

/// An integer of the counter's type.
fn counter(b: &mut Builder, n: Value, ty: ScalarType) -> Scalar {
    if ty == ScalarType::I64 {
        return Scalar::Size(n);
    }
    let wide = b.tensor_of_size(n);
    Scalar::Tensor(b.cast(wide, ty))
}

/// Where the counter ends: at once if there is no lane.
pub(crate) fn end(b: &mut Builder, lanes: &Lanes<'_>, start: Value, steps: Value) -> Value {
    let some = some_lane(b, &lanes.space.clone());
    let steps = b.size_op(SizeOp::Mul, steps, some);
    b.size_op(SizeOp::Add, start, steps)
}

/// Totals with the initial values, which are rank-0 tensors where they are the same for all lanes.
fn begun_with(b: &mut Builder, begun: &[Value], state: &[Value], reduced: Vec<Reduced>) -> Values {
    let mut totals = Values::new();
    for ((first, s), r) in begun.iter().zip(state).zip(reduced) {
        let known = ReduceOp::of(r.with, b.scalar(r.value));
        let none = known.is_some_and(|k| b.constant_of(*first) == Some(k.neutral(b.scalar(*first))));
        totals.push(if none { r.value } else { b.prim(r.with, &[*s, r.value]) });
    }
    totals
}

fn combined(b: &mut Builder, state: &[Value], reduced: Vec<Reduced>) -> Values {
    state.iter().zip(reduced).map(|(s, r)| b.prim(r.with, &[*s, r.value])).collect()
}

/// Whether a tensor is a view of one that was there before `inner`.
fn is_view(b: &Builder, v: Value, inner: Value) -> bool {
    let mut v = v;
    while v >= inner {
        v = match b.def(v) {
            Some(
                Op::Slice { x, .. }
                | Op::Select { x, .. }
                | Op::Transpose(x, _)
                | Op::InsertAxes(x, _)
                | Op::Unfold { x, .. }
                | Op::Reshape(x, _),
            ) => *x,
            _ => return false,
        };
    }
    true
}
