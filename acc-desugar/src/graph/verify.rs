//! The verifier of graphs.
//!
//! * **G1** Every value is defined once, before its uses, in the same body or one around it.
//! * **G2** Operands and results have the types that the operation asks for.
//! * **G3** Conditions are sizes or rank-0 tensors of `bool`; the bodies of a conditional have no parameters and yield
//!   its results' types; those of a loop take its state, its test yields a condition, its step the state's types; that of
//!   a loop of lanes takes a size, a mask, its state and what it captured, of rank 1; that of
//!   a fold or scan takes a size and two operands of the columns' types, and yields these types.
//! * **G4** Axes are below the rank.
//!
//! G5 is a rule of the shapes that follow from a graph: `shape/verify.rs`.

use super::builder::is_size_type;
use super::op::is_position;
use super::{Body, Graph, Node, Op, ReduceOp, ScatterMode, Type, Value};
use acc_core::data::ScalarType::{Bool, F32, F64, I64};
use acc_core::ir::{Loc, bitcast_exists, cast_exists};

/// A rule of graphs is broken: a defect of flattening.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[error("graph node `{op}` at {loc}: {message} (rule {rule})")]
pub struct GraphError {
    /// The number of the rule.
    pub rule: &'static str,
    /// The operation.
    pub op: &'static str,
    /// Where the user wrote the expression it comes from.
    pub loc: Loc,
    /// What is wrong.
    pub message: String,
}

type Result<T = ()> = std::result::Result<T, Box<GraphError>>;

/// Checks every rule.
pub fn verify(graph: &Graph) -> Result {
    let mut v = Verifier { graph, visible: vec![false; graph.types.len()], defined: vec![false; graph.types.len()] };
    v.body(&graph.body, None)
}

struct Verifier<'a> {
    graph: &'a Graph,
    visible: Vec<bool>,
    defined: Vec<bool>,
}

struct At<'a>(Option<&'a Node>);

impl At<'_> {
    fn check(&self, ok: bool, rule: &'static str, message: impl FnOnce() -> String) -> Result {
        if ok {
            return Ok(());
        }
        let (op, loc) = self.0.map_or(("graph", Loc::unknown()), |n| (n.op.name(), n.loc.clone()));
        Err(Box::new(GraphError { rule, op, loc, message: message() }))
    }
}

impl Verifier<'_> {
    fn body(&mut self, b: &Body, at: Option<&Node>) -> Result {
        for &p in &b.params {
            self.define(p, &At(at))?;
        }
        for n in &b.nodes {
            let at = At(Some(n));
            for o in n.op.operands() {
                at.check(self.visible.get(o.index()) == Some(&true), "G1", || format!("{o} is not defined here"))?;
            }
            acc_core::grow_stack(|| self.node(n, &at))?;
            for &r in &n.results {
                self.define(r, &at)?;
            }
        }
        for r in &b.results {
            At(at).check(self.visible.get(r.index()) == Some(&true), "G1", || format!("{r} is not defined here"))?;
        }
        for &v in b.params.iter().chain(b.nodes.iter().flat_map(|n| &n.results)) {
            self.visible[v.index()] = false;
        }
        Ok(())
    }

    fn define(&mut self, v: Value, at: &At<'_>) -> Result {
        at.check(v.index() < self.defined.len() && !self.defined[v.index()], "G1", || format!("{v} is defined twice"))?;
        self.defined[v.index()] = true;
        self.visible[v.index()] = true;
        Ok(())
    }

    fn node(&mut self, n: &Node, at: &At<'_>) -> Result {
        let g = self.graph;
        let types_of = |vs: &[Value]| vs.iter().map(|v| g.ty(*v)).collect::<Vec<Type>>();
        let sizes = |vs: &[Value]| vs.iter().all(|v| g.ty(*v) == Type::Size);
        let condition = |v: Value| matches!(g.ty(v), Type::Size | Type::Tensor { scalar: Bool, rank: 0 });
        let tensor = |v: Value| match g.ty(v) {
            Type::Tensor { scalar, rank } => Some((scalar, rank)),
            Type::Size | Type::Token => None,
        };
        let results = types_of(&n.results);
        let show = |v: &[Value]| v.iter().map(|v| g.ty(*v).to_string()).collect::<Vec<_>>().join(", ");
        let bad = || format!("operands ({}), results ({})", show(&n.op.operands()), show(&n.results));
        let result = |scalar, rank| results == [Type::Tensor { scalar, rank }];
        let is = |v: Value, scalar, rank| g.ty(v) == Type::Tensor { scalar, rank };
        let positions = |v: Value| matches!(g.ty(v), Type::Tensor { scalar, rank: 1 } if is_position(scalar));
        let same = |x: Value| results == [g.ty(x)] && tensor(x).is_some();
        let rank_below = |x: Value, axis: u32| tensor(x).is_some_and(|(_, r)| (axis as usize) < r);
        let reduces = |k: ReduceOp, s| matches!(k, ReduceOp::All | ReduceOp::Any) == (s == Bool);
        let broadcasts = |vs: &[Value]| {
            let ranks: Vec<usize> = vs.iter().filter_map(|v| tensor(*v)).map(|(_, r)| r).collect();
            let top = ranks.iter().copied().max().unwrap_or(0);
            (ranks.len() == vs.len() && ranks.iter().all(|r| *r == 0 || *r == top)).then_some(top)
        };
        let ok = match &n.op {
            Op::Size(_) => results == [Type::Size],
            Op::SizeOp(_, a, b) => sizes(&[*a, *b]) && results == [Type::Size],
            Op::ReadBack(x) => (is(*x, I64, 0) || is(*x, Bool, 0)) && results == [Type::Size],
            Op::Argument(x) => {
                tensor(*x).is_some_and(|(s, rank)| is_size_type(s) && rank == 0)
                    && g.body.params.contains(x)
                    && results == [Type::Size]
            }
            Op::Outside { base, steps, lens, extent } => {
                sizes(&[*base, *extent])
                    && sizes(steps)
                    && sizes(lens)
                    && steps.len() == lens.len()
                    && results == [Type::Size]
            }
            Op::Extent(x, axis) => rank_below(*x, *axis) && results == [Type::Size],
            Op::FromSize(s) => sizes(&[*s]) && result(I64, 0),
            Op::Const(l) => result(l.ty, 0),
            Op::Iota { len, start, step, ty } => sizes(&[*len, *start, *step]) && ty.is_num() && result(*ty, 1),
            Op::Prim(p, v) => match (broadcasts(v), v.first().and_then(|x| tensor(*x))) {
                (Some(rank), Some((t, _))) => {
                    v.len() == p.arity()
                        && p.domain().contains(t)
                        && v.iter().all(|x| tensor(*x).is_some_and(|(s, _)| s == t))
                        && result(p.result_type(t), rank)
                }
                _ => false,
            },
            Op::Cast(x, to) => tensor(*x).is_some_and(|(from, r)| cast_exists(from, *to) && result(*to, r)),
            Op::Clip { x, low, high } => {
                let of = |s| s == low.ty && s == high.ty && low.sort_key() <= high.sort_key();
                same(*x) && tensor(*x).is_some_and(|(s, _)| of(s))
            }
            Op::Bitcast(x, to) => tensor(*x).is_some_and(|(from, r)| bitcast_exists(from, *to) && result(*to, r)),
            Op::Where(c, t, e) => match (broadcasts(&[*c, *t, *e]), tensor(*t), tensor(*e)) {
                (Some(rank), Some((a, _)), Some((b, _))) => {
                    a == b && tensor(*c).is_some_and(|c| c.0 == Bool) && result(a, rank)
                }
                _ => false,
            },
            Op::Clamp(at, extent) => sizes(&[*extent]) && same(*at) && tensor(*at).is_some_and(|(s, _)| s == I64),
            Op::InBounds { at, extent, by_use } => {
                // Narrow ones are for what reads and sums at positions alone.
                let fits = |s| if *by_use { is_position(s) } else { s == I64 };
                sizes(&[*extent]) && same(*at) && tensor(*at).is_some_and(|(s, _)| fits(s))
            }
            Op::Divisor(y) => same(*y) && tensor(*y).is_some_and(|(s, _)| s.is_int()),
            Op::Reshape(x, shape) => sizes(shape) && tensor(*x).is_some_and(|(s, _)| result(s, shape.len())),
            Op::Broadcast(x, shape) => {
                sizes(shape) && tensor(*x).is_some_and(|(s, r)| r == shape.len() && result(s, r))
            }
            Op::Transpose(x, axes) => {
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                same(*x) && tensor(*x).is_some_and(|(_, r)| sorted.iter().copied().eq(0..r as u32))
            }
            Op::InsertAxes(x, axes) => {
                tensor(*x).is_some_and(|(s, r)| {
                    result(s, r + axes.len()) && axes.iter().all(|a| (*a as usize) < r + axes.len())
                }) && axes.is_sorted()
            }
            Op::Slice { x, axis, start, len, step } => {
                same(*x) && rank_below(*x, *axis) && sizes(&[*start, *len]) && *step > 0
            }
            Op::Select { x, axis, at } => {
                rank_below(*x, *axis) && sizes(&[*at]) && tensor(*x).is_some_and(|(s, r)| result(s, r - 1))
            }
            Op::Flip(x, axis) => same(*x) && rank_below(*x, *axis),
            Op::Unfold { x, axis, start, lens, steps, padded: _ } => {
                sizes(&[*start])
                    && sizes(lens)
                    && sizes(steps)
                    && steps.len() == lens.len()
                    && rank_below(*x, *axis)
                    && tensor(*x).is_some_and(|(s, r)| result(s, r - 1 + lens.len()))
            }
            Op::Gather(x, at) => match (tensor(*x), tensor(*at)) {
                (Some((s, 1)), Some((p, r))) if is_position(p) => result(s, r),
                _ => false,
            },
            Op::Pad { x, widths, .. } => same(*x) && tensor(*x).is_some_and(|(_, r)| r == widths.len()),
            Op::Fold { columns, combine } | Op::Scan { columns, combine } => {
                let types = types_of(columns);
                let is_fold = matches!(n.op, Op::Fold { .. });
                let wanted: Vec<Type> = types
                    .iter()
                    .map(|t| match *t {
                        Type::Tensor { scalar, rank } if is_fold => {
                            Type::Tensor { scalar, rank: rank.saturating_sub(1) }
                        }
                        t => t,
                    })
                    .collect();
                let operands: Vec<Type> =
                    std::iter::once(Type::Size).chain(types.iter().copied()).chain(types.iter().copied()).collect();
                let got = types_of(&combine.params);
                at.check(got == operands, "G3", || format!("an operator on {types:?} takes {got:?}"))?;
                self.body(combine, at.0)?;
                let got = types_of(&combine.results);
                at.check(got == types, "G3", || format!("an operator on {types:?} yields {got:?}"))?;
                results == wanted && columns.iter().all(|c| tensor(*c).is_some_and(|(_, r)| r > 0))
            }
            Op::Take { x, axis, at } => same(*x) && rank_below(*x, *axis) && positions(*at),
            Op::Scatter { base, at, values, mode } => {
                let fits = match mode {
                    ScatterMode::Last => true,
                    ScatterMode::Combine(k) => tensor(*base).is_some_and(|(s, _)| reduces(*k, s)),
                    ScatterMode::Bits(_) => tensor(*base).is_some_and(|(s, _)| s.is_int() || s == Bool),
                };
                let sums = *mode == ScatterMode::Combine(ReduceOp::Sum);
                let found = if sums { positions(*at) } else { is(*at, I64, 1) };
                same(*base) && g.ty(*base) == g.ty(*values) && found && fits
            }
            Op::Concat(xs, axis) => {
                xs.first().is_some_and(|x| same(*x) && rank_below(*x, *axis))
                    && xs.iter().all(|x| g.ty(*x) == g.ty(xs[0]))
            }
            Op::Sort { x, count, .. } => {
                let positions = tensor(*x).filter(|(_, rank)| *rank >= 1 && count.is_none_or(|n| sizes(&[n])));
                positions.is_some_and(|(_, rank)| results == [g.ty(*x), Type::Tensor { scalar: I64, rank }])
            }
            Op::Nonzero(x) => is(*x, Bool, 1) && result(I64, 1),
            Op::Reduce(_, x) => tensor(*x).is_some_and(|(s, r)| r > 0 && result(s, r - 1)),
            Op::SegmentReduce { x, at, offsets, .. } => {
                same(*x) && tensor(*x).is_some_and(|(_, r)| r > 0) && at.is_none_or(positions) && is(*offsets, I64, 1)
            }
            Op::Contract { left, right, mask, axes } => {
                let summed = *axes as usize;
                g.ty(*left) == g.ty(*right)
                    && summed > 0
                    && tensor(*left).is_some_and(|(s, r)| {
                        let masked = mask.is_none_or(|m| is(m, Bool, r));
                        s.is_num() && r >= summed && masked && result(s, r - summed)
                    })
            }
            Op::Convolve { x, filters, starts, places, strides, dilations } => {
                let spatial = places.len();
                g.ty(*x) == g.ty(*filters)
                    && (1..=3).contains(&spatial)
                    && sizes(places)
                    && sizes(starts)
                    && [starts.len(), strides.len()] == [spatial; 2]
                    && dilations.len() == spatial
                    && strides.iter().chain(dilations).all(|n| *n > 0)
                    && tensor(*x).is_some_and(|(s, r)| matches!(s, F32 | F64) && r == 3 + spatial && result(s, r))
            }
            Op::Pool { with, x, axis, start, places, window, stride, dilation, .. } => {
                same(*x)
                    && rank_below(*x, *axis)
                    && sizes(&[*start, *places, *window])
                    && *stride > 0
                    && *dilation > 0
                    && tensor(*x).is_some_and(|(s, _)| reduces(*with, s))
            }
            Op::ArgExtreme(k, x) => {
                matches!(k, ReduceOp::Min | ReduceOp::Max)
                    && tensor(*x).is_some_and(|(s, r)| s.is_num() && r > 0 && result(I64, r - 1))
            }
            Op::Softmax { x, axis, .. } => {
                same(*x) && rank_below(*x, *axis) && tensor(*x).is_some_and(|(s, _)| s.is_float())
            }
            Op::Normalize { x, axes, epsilon, scale, shift } => {
                let ascending = axes.iter().zip(axes.iter().skip(1)).all(|(a, b)| a < b);
                same(*x)
                    && !axes.is_empty()
                    && ascending
                    && axes.iter().all(|a| rank_below(*x, *a))
                    && tensor(*x).is_some_and(|(s, _)| matches!(s, F32 | F64) && s == epsilon.ty)
                    && scale.iter().chain(shift).all(|v| g.ty(*v) == g.ty(*x))
            }
            Op::AnyLane(x) => tensor(*x).is_some_and(|(s, _)| s == Bool) && result(Bool, 0),
            Op::SegmentScan { x, starts, .. } => {
                same(*x) && tensor(*x).is_some_and(|(_, r)| r > 0 && is(*starts, Bool, r))
            }
            Op::Cumulative(_, x) | Op::Exclusive(_, x) => same(*x) && tensor(*x).is_some_and(|(_, r)| r > 0),
            Op::If { cond, then, else_ } => {
                at.check(condition(*cond), "G3", bad)?;
                for b in [then, else_] {
                    self.body(b, at.0)?;
                    let got = types_of(&b.results);
                    at.check(b.params.is_empty() && got == results, "G3", || {
                        format!("a branch yields {got:?}, wanted {results:?}")
                    })?;
                }
                true
            }
            Op::While { init, test, step } => {
                let state = types_of(init);
                at.check(state == results, "G3", || format!("state {state:?}, results {results:?}"))?;
                for b in [test, step] {
                    let got = types_of(&b.params);
                    at.check(got == state, "G3", || format!("a loop of {state:?} takes {got:?}"))?;
                    self.body(b, at.0)?;
                }
                let got = types_of(&step.results);
                at.check(got == state, "G3", || format!("a loop of {state:?} steps to {got:?}"))?;
                matches!(test.results[..], [t] if condition(t))
            }
            Op::LaneLoop { on, space, init, captured, kept, test, step } => {
                let rank = space.len();
                let lanes = |vs: &[Value], rank: usize| -> Option<Vec<Type>> {
                    vs.iter().map(|v| tensor(*v).map(|(scalar, _)| Type::Tensor { scalar, rank })).collect()
                };
                let fits = |v: &Value| tensor(*v).is_some_and(|(_, r)| r == 0 || r == rank);
                let (Some(state), Some(others)) = (lanes(init, 1), lanes(captured, 1)) else {
                    return at.check(false, "G2", bad);
                };
                let mut params = vec![Type::Size, Type::Tensor { scalar: Bool, rank: 1 }];
                params.extend(state.iter().chain(&others));
                for (b, wanted) in [(test, &vec![Type::Tensor { scalar: Bool, rank: 1 }]), (step, &state)] {
                    let got = types_of(&b.params);
                    at.check(got == params, "G3", || format!("a loop of lanes of {params:?} takes {got:?}"))?;
                    self.body(b, at.0)?;
                    let got = types_of(&b.results);
                    at.check(got == *wanted, "G3", || format!("a loop of lanes wants {wanted:?}, not {got:?}"))?;
                }
                (is(*on, Bool, 0) || is(*on, Bool, rank))
                    && sizes(space)
                    && init.iter().chain(captured).all(fits)
                    && kept.len() == init.len()
                    && lanes(init, rank).is_some_and(|wanted| results == wanted)
            }
            Op::Fault { bad, space, .. } => {
                let bad = g.ty(*bad);
                sizes(space)
                    && results == [Type::Token]
                    && match bad {
                        Type::Size => true,
                        Type::Tensor { scalar, rank } => scalar == Bool && (rank == 0 || rank == space.len()),
                        Type::Token => false,
                    }
            }
            Op::Checked { values, tokens, .. } => {
                results == types_of(values) && tokens.iter().all(|t| g.ty(*t) == Type::Token)
            }
            Op::Trace { types, shown, values, .. } => {
                let wanted: Vec<Type> = types.iter().flat_map(super::body::flat_types).collect();
                results == types_of(values) && types_of(shown) == wanted
            }
            Op::Confine { mask, tokens, space } => {
                is(*mask, Bool, space.len()) && same(*mask) && tokens.iter().all(|t| g.ty(*t) == Type::Token)
            }
        };
        at.check(ok, "G2", || format!("operands ({}), results ({})", show(&n.op.operands()), show(&n.results)))
    }
}
