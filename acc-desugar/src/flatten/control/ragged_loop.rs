//! Counted loops that reduce and have bounds of their own in each lane, as sums over the entries of a sparse row have: the
//! steps of all lanes are lanes of one space, in order, and their results are reduced by segments.
//!
//! Bounds vary along the first axes of a space; along the others the steps are computed side by side. More than [`MAX_ELEMENTS_AT_ONCE`]
//! elements would need too much memory: then lanes leave the loop one by one.

use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::control::branch::scalars_of;
use crate::flatten::control::loops::free_values;
use crate::flatten::scalar::spread;
use crate::flatten::scalar::uniformity::{self, Uniformity};
use crate::flatten::scalar::val;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::graph::builder::Builder;
use crate::graph::builder::neutral;
use crate::graph::{ReduceOp, ScatterMode, SizeOp, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{CountedLoop, Node, Part, PrimOp, Region, Val};
use smallvec::SmallVec;

/// How many elements are computed at once.
const MAX_ELEMENTS_AT_ONCE: i64 = 1 << 22;

/// The steps of all lanes.
struct Ragged {
    /// Along so many axes of the lanes' space bounds vary.
    outer: usize,
    /// How many lanes these have.
    count: Value,
    /// Of each the first value of the counter, and how many there are, of rank 1.
    start: Value,
    steps: Value,
    /// Where the steps of each begin, and the last ones end.
    offsets: Value,
    /// How many steps there are.
    total: Value,
}

impl Flattener<'_> {
    /// A loop whose lanes count to bounds of their own, if it reduces.
    pub(crate) fn ragged_loop(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        init: &[Val],
        [test, step]: [&Region; 2],
        mask: Option<Value>,
    ) -> Option<SmallVec<[Scalar; 2]>> {
        let counted = CountedLoop::of(lanes.fun, test, step)?;
        let known = counted.parts.iter().zip(init).all(|(part, v)| match part {
            Part::Reduces(op) => ReduceOp::of(*op, lanes.fun.ty(*v)).is_some(),
            Part::Counter | Part::Same => true,
        });
        if !known {
            return None;
        }
        let it = self.ragged(lanes, init, test, &counted, mask);
        let space = lanes.space.clone();
        let fits = fits(&mut self.b, &it, &space);
        self.open();
        let results = self.steps_as_lanes(lanes, init, step, &counted, &it);
        let results = results.into_iter().map(|v| spread(&mut self.b, v, &space)).collect();
        let then = self.close(results, &space);
        self.open();
        let results = self.lane_loop(lanes, n, init, test, step, mask);
        let results = results.into_iter().zip(init).map(|(s, v)| {
            let v = self.indices.tensor(&mut self.b, s, lanes.fun.ty(*v));
            spread(&mut self.b, v, &space)
        });
        let results = results.collect();
        let else_ = self.close(results, &space);
        let results = self.b.if_(fits, then, else_);
        results.iter().for_each(|v| self.b.set_full(*v));
        Some(scalars_of(&self.b, &results))
    }

    /// Where the steps of each lane are.
    fn ragged(
        &mut self,
        lanes: &mut Lanes<'_>,
        init: &[Val],
        test: &Region,
        counted: &CountedLoop,
        mask: Option<Value>,
    ) -> Ragged {
        for (k, p) in test.params.iter().enumerate().filter(|(k, _)| counted.parts[*k] == Part::Same) {
            lanes.vals[p.index()] = Some(val(&mut self.b, lanes, init[k]));
        }
        for n in test.nodes.iter().filter(|n| !n.results.contains(&test.results[0])) {
            self.b.at(&n.loc);
            let results = acc_core::grow_stack(|| self.node(lanes, n, mask));
            for (v, s) in n.results.iter().zip(results) {
                lanes.vals[v.index()] = Some(s);
            }
        }
        let space = lanes.space.clone();
        let [start, mut stop] = [init[counted.counter], counted.bound].map(|v| {
            let wide = self.indices.val_tensor(&mut self.b, lanes, v);
            let wide = self.b.cast(wide, ScalarType::I64);
            settled(&mut self.b, wide, &space)
        });
        if counted.inclusive {
            // The greatest integer is never passed.
            let (most, one) = (self.b.constant((i64::MAX - 1).lit()), self.b.constant(1i64.lit()));
            stop = self.b.prim(PrimOp::MinP, &[stop, most]);
            stop = self.b.prim(PrimOp::AddP, &[stop, one]);
        }
        let (none, zero) = (self.b.constant(0i64.lit()), self.b.size(0));
        let steps = self.b.prim(PrimOp::SubP, &[stop, start]);
        let mut steps = self.b.prim(PrimOp::MaxP, &[steps, none]);
        if let Some(m) = mask {
            let m = settled(&mut self.b, m, &space);
            steps = self.b.where_(m, steps, none);
        }
        let axes = [start, steps].into_iter().filter(|v| self.b.rank(*v) > 0).fold(0, |set, v| set | self.b.axes(v));
        let outer = (1..=space.len()).find(|k| axes >> k == 0).unwrap_or(space.len());
        let count = self.b.product(&space[..outer]);
        let [start, steps] = [start, steps].map(|v| along_outer(&mut self.b, v, &space, outer, count));
        let offsets = self.b.exclusive(ReduceOp::Sum, steps);
        let total = self.b.select(offsets, 0, count);
        let total = self.after_checks(total);
        let total = self.b.read_back(total);
        let total = self.b.size_op(SizeOp::Max, total, zero);
        self.scope.extents.extend([total, count]);
        Ragged { outer, count, start, steps, offsets, total }
    }

    /// The results of the loop, from what each step combines the state with.
    fn steps_as_lanes(
        &mut self,
        lanes: &mut Lanes<'_>,
        init: &[Val],
        step: &Region,
        counted: &CountedLoop,
        it: &Ragged,
    ) -> Vec<Value> {
        let lane = lane_of_steps(&mut self.b, it);
        let zero = self.b.size(0);
        let begin = self.b.slice(it.offsets, 0, zero, it.count, 1);
        let before = self.b.prim(PrimOp::SubP, &[it.start, begin]);
        let before = self.b.gather(before, lane);
        let position = self.b.iota(it.total);
        let counter = self.b.prim(PrimOp::AddP, &[before, position]);
        let outside = (lanes.vals.clone(), lanes.uniformities.clone(), lanes.space.clone());
        let space = lanes.space.clone();
        let inner: Values = std::iter::once(it.total).chain(space[it.outer..].iter().copied()).collect();
        for v in free_values([step, step]) {
            let s = val(&mut self.b, lanes, v);
            lanes.vals[v.index()] = Some(self.indices.of_step(&mut self.b, s, &space, it, lane));
        }
        for (k, (p, part)) in step.params.iter().zip(&counted.parts).enumerate() {
            let ty = lanes.fun.ty(*p);
            lanes.vals[p.index()] = Some(match part {
                Part::Counter => {
                    let counter = self.b.cast(counter, ty);
                    Scalar::Tensor(self.b.insert_axes(counter, (1..inner.len() as u32).collect()))
                }
                Part::Same => {
                    let s = val(&mut self.b, lanes, init[k]);
                    self.indices.of_step(&mut self.b, s, &space, it, lane)
                }
                // From the neutral element a step yields what it combines any state with.
                Part::Reduces(op) => Scalar::Tensor(self.b.constant(neutral(*op, ty).unwrap_or(Lit::zero(ty)))),
            });
            if *part != Part::Same {
                lanes.uniformities[p.index()] = Uniformity::Varying;
            }
        }
        uniformity::region(lanes.fun, step, &mut lanes.uniformities);
        lanes.space = inner.clone();
        let stepped = self.region(lanes, step, None);
        let stepped: Vec<Value> = stepped
            .into_iter()
            .zip(init)
            .map(|(s, v)| {
                let v = self.indices.tensor(&mut self.b, s, lanes.fun.ty(*v));
                spread(&mut self.b, v, &inner)
            })
            .collect();
        (lanes.vals, lanes.uniformities, lanes.space) = outside;
        let mut results = Vec::new();
        for (k, part) in counted.parts.iter().enumerate() {
            let ty = lanes.fun.ty(init[k]);
            let first = self.indices.val_tensor(&mut self.b, lanes, init[k]);
            results.push(match part {
                Part::Same => first,
                Part::Counter => {
                    let last = self.b.prim(PrimOp::AddP, &[it.start, it.steps]);
                    let last = self.b.cast(last, ty);
                    over_outer(&mut self.b, last, &space, it, &[])
                }
                Part::Reduces(op) => {
                    let known = ReduceOp::of(*op, ty).unwrap_or(ReduceOp::Sum);
                    let reduced = reduced_steps(&mut self.b, known, stepped[k], it);
                    let reduced = over_outer(&mut self.b, reduced, &space, it, &space[it.outer..]);
                    let first = self.b.lift(first, space.len());
                    self.b.prim(*op, &[first, reduced])
                }
            });
        }
        results
    }
}

impl Indices {
    /// What a scalar of a lane is in its steps.
    fn of_step(&mut self, b: &mut Builder, s: Scalar, space: &[Value], it: &Ragged, lane: Value) -> Scalar {
        let shift = it.outer - 1;
        if let Scalar::Affine(_) = s
            && let Some(mut a) = self.affine_of(s)
            && a.terms.iter().all(|t| t.axis.axis >= it.outer)
        {
            a.terms.iter_mut().for_each(|t| {
                t.axis.axis -= shift;
                t.axis.rank -= shift;
            });
            return self.affine(a);
        }
        let v = match s {
            Scalar::Size(_) => return s,
            s => self.value(b, s),
        };
        if b.rank(v) == 0 {
            return s;
        }
        let v = settled(b, v, space);
        let (axes, zero) = (b.axes(v), b.size(0));
        if axes & ((1 << it.outer) - 1) == 0 {
            let v = (0..shift as u32).fold(v, |v, _| b.select(v, 0, zero));
            return Scalar::Tensor(v);
        }
        let v = b.broadcast_along(v, space, axes | ((1 << it.outer) - 1));
        let inner = axes >> it.outer;
        if inner == 0 {
            let v = b.reshape(v, &[it.count]);
            let v = b.gather(v, lane);
            return Scalar::Tensor(b.insert_axes(v, (1..(space.len() - shift) as u32).collect()));
        }
        let one = b.size(1);
        let along = (it.outer..space.len()).map(|k| if axes >> k & 1 == 1 { space[k] } else { one });
        let rows: Values = std::iter::once(it.count).chain(along).collect();
        let v = b.reshape(v, &rows);
        let v = b.take(v, 0, lane);
        b.set_along(v, inner << 1 | 1);
        Scalar::Tensor(v)
    }
}

/// Whether there is memory for all steps side by side. No lane has so many that the sum could wrap around.
fn fits(b: &mut Builder, it: &Ragged, space: &[Value]) -> Value {
    let longest = b.reduce(ReduceOp::Max, it.steps);
    let longest = b.read_back(longest);
    let inner = b.product(&space[it.outer..]);
    let (most, elements) = (b.size(MAX_ELEMENTS_AT_ONCE), b.size_op(SizeOp::Count, it.total, inner));
    let short = b.size_op(SizeOp::Lt, longest, most);
    let few = b.size_op(SizeOp::Lt, elements, most);
    b.size_op(SizeOp::Min, short, few)
}

/// A tensor of lanes that says along which axes it varies.
fn settled(b: &mut Builder, v: Value, space: &[Value]) -> Value {
    if b.rank(v) == 0 || b.is_settled(v) { v } else { spread(b, v, space) }
}

/// A tensor that varies along the first axes at most as one of rank 1.
fn along_outer(b: &mut Builder, v: Value, space: &[Value], outer: usize, count: Value) -> Value {
    let zero = b.size(0);
    let mut v = b.lift(v, space.len());
    for axis in (outer..space.len()).rev() {
        v = b.select(v, axis as u32, zero);
    }
    let v = b.broadcast(v, &space[..outer]);
    b.reshape(v, &[count])
}

/// Of each step the number of its lane: how many lanes have ended at its position.
fn lane_of_steps(b: &mut Builder, it: &Ragged) -> Value {
    let (zero, one) = (b.size(0), b.size(1));
    let more = b.size_op(SizeOp::Add, it.total, one);
    let [none, once] = [0i64, 1].map(|n| b.constant(n.lit()));
    let (base, ones) = (b.full(none, &[more]), b.full(once, &[it.count]));
    let ends = b.slice(it.offsets, 0, one, it.count, 1);
    let ended = b.scatter(base, ends, ones, ScatterMode::Combine(ReduceOp::Sum));
    let lane = b.cumulative(ReduceOp::Sum, ended);
    b.slice(lane, 0, zero, it.total, 1)
}

/// The steps of each lane together.
fn reduced_steps(b: &mut Builder, known: ReduceOp, v: Value, it: &Ragged) -> Value {
    let rank = b.rank(v) as u32;
    let order: Vec<u32> = (1..rank).chain([0]).collect();
    let rows = b.transpose(v, &order);
    let reduced = b.segment_reduce(known, rows, None, it.offsets, false);
    let back: Vec<u32> = std::iter::once(rank - 1).chain(0..rank - 1).collect();
    b.transpose(reduced, &back)
}

/// A tensor of the lanes of the first axes, and some more, over the lanes' space.
fn over_outer(b: &mut Builder, v: Value, space: &[Value], it: &Ragged, inner: &[Value]) -> Value {
    let shape: Values = space[..it.outer].iter().chain(inner).copied().collect();
    let v = b.reshape(v, &shape);
    let missing: SmallVec<[u32; 4]> = (shape.len() as u32..space.len() as u32).collect();
    b.insert_axes(v, missing)
}
