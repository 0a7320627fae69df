//! Access analysis of kernel bodies: how every value follows the axes, and which integers are indices.
//!
//! A value [`follows`](Accesses::follows) each parameter of its body by a constant step, or in a way that is not known; what follows
//! none is equal for all points. Given how the parameters vary over the lanes of a vector, that says how each value does
//! ([`Uniformity`]): uniform values stay scalar, and so do affine integers, whose reads become plain vector loads. Loop state
//! follows its parameters like any value, since lanes that run are all in the same iteration: a counter is one scalar even where
//! lanes leave the loop at different iterations.
//!
//! Integers are sums over axes and other values by the algebra of [`acc_desugar::analysis::access`].

use super::{Body, Ix, Node, Op, OpExt as _, Region};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{PrimOp, Val};
use acc_desugar::analysis::access::{self, Access, Along, Bound, Numbers};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// A literal plus multiples of values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) offset: i64,
    /// Values and their factors, which are not 0.
    pub(crate) terms: SmallVec<[(Val, i64); 1]>,
}

/// An integer as a function of the point.
pub(crate) type Index = access::Index<Sum, u32>;

/// An integer that is affine in the point.
pub(crate) type Affine = access::Affine<Sum, u32>;

/// The quotient of an affine integer that is not negative by a positive literal, rounded down.
#[derive(Clone, Debug)]
pub(crate) struct Quotient {
    pub(crate) of: Affine,
    pub(crate) by: i64,
}

/// Whether sums of a few such factors do not overflow. Larger literals are values of their own in the affine indices of loads.
pub(crate) fn is_small(factor: i64) -> bool {
    factor.unsigned_abs() < 1 << 31
}

/// Values of a sum; a longer one is a value of its own.
const MAX_TERMS: usize = 4;

/// Sums as numbers.
pub(crate) struct Sums;

impl Sum {
    pub(crate) fn value(v: Val) -> Sum {
        Sum { offset: 0, terms: smallvec![(v, 1)] }
    }

    fn scaled(&self, by: i64) -> Option<Sum> {
        let terms = self.terms.iter().map(|(v, f)| Some((*v, factor(f.checked_mul(by)?)?)));
        Some(Sum { offset: self.offset.checked_mul(by)?, terms: terms.collect::<Option<_>>()? })
    }

    fn plus(&self, other: &Sum) -> Option<Sum> {
        let mut sum = Sum { offset: self.offset.checked_add(other.offset)?, terms: self.terms.clone() };
        for &(v, by) in &other.terms {
            match sum.terms.iter_mut().find(|(of, _)| *of == v) {
                Some((_, f)) => *f = factor(*f + by)?,
                None => sum.terms.push((v, by)),
            }
        }
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }
}

/// A factor of a value: none where the value would vanish, since what is computed of it has still to follow it.
fn factor(f: i64) -> Option<i64> {
    (f != 0 && is_small(f)).then_some(f)
}

impl Numbers for Sums {
    type Number = Sum;
    type Axis = u32;

    fn literal(&mut self, n: i64) -> Sum {
        Sum { offset: n, terms: SmallVec::new() }
    }

    fn constant(&self, n: &Sum) -> Option<i64> {
        n.terms.is_empty().then_some(n.offset)
    }

    fn apply(&mut self, op: PrimOp, a: &Sum, b: &Sum) -> Option<Sum> {
        match op {
            PrimOp::AddP => a.plus(b),
            PrimOp::SubP => a.plus(&b.scaled(-1)?),
            PrimOp::MulP => match (self.constant(a), self.constant(b)) {
                (_, Some(by)) => a.scaled(by),
                (Some(by), None) => b.scaled(by),
                (None, None) => None,
            },
            _ => None,
        }
    }
}

/// How a value varies over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uniformity {
    /// Equal in all lanes.
    Uniform,
    /// An `i64` with a constant, nonzero step from lane to lane, modulo 2^64.
    Affine(i64),
    /// Any values.
    Varying,
}

impl Uniformity {
    /// The uniformity of a value with this step.
    pub(crate) fn affine(step: i64) -> Uniformity {
        match step {
            0 => Uniformity::Uniform,
            s if is_small(s) => Uniformity::Affine(s),
            _ => Uniformity::Varying,
        }
    }
}

/// The parameters that a value depends on, and by how much it changes from one value of each to the next, if that is known. One
/// that it depends on by a step of 0 counts, too: what is computed of lanes stays in lanes.
type Follows = SmallVec<[(u32, Option<i64>); 2]>;

/// How the values of a body follow its parameters.
pub(crate) struct Accesses {
    follows: Vec<Follows>,
    /// The integers that are more than a value of their own.
    indices: HashMap<Val, Index>,
    /// Those that are quotients.
    quotients: HashMap<Val, Quotient>,
}

impl Accesses {
    /// The analysis of a body; its parameters are the axes, and what an executor gives it besides.
    pub(crate) fn of(body: &Body) -> Accesses {
        let follows = vec![Follows::new(); body.types.len()];
        let mut of = Accesses { follows, indices: HashMap::new(), quotients: HashMap::new() };
        for (v, l) in body.consts.iter().filter(|(_, l)| l.ty == ScalarType::I64) {
            let literal = Sums.literal(i64::from_bits64(l.bits));
            of.indices.insert(*v, Index::Affine(Affine::uniform(literal)));
        }
        for (k, &p) in (0..).zip(&body.region.params) {
            of.follows[p.index()] = smallvec![(k, Some(1))];
            if body.ty(p) == ScalarType::I64 {
                of.indices.insert(p, Index::Affine(Affine::along(k, Sum::default(), Sums.literal(1))));
            }
        }
        let mut analysis = Analysis { body, of };
        analysis.region(&body.region);
        analysis.of
    }

    /// An integer as a function of the point: at least as itself.
    pub(crate) fn index(&self, v: Val) -> Index {
        self.indices.get(&v).cloned().unwrap_or_else(|| itself(v))
    }

    /// The quotient that changes by 1 after each so many indices along an axis that an integer is.
    pub(crate) fn quotient(&self, v: Val, axis: usize) -> Option<&Quotient> {
        self.quotients.get(&v).filter(|q| self.step(&q.of, axis) == Some(1))
    }

    /// Whether a value is another one at other points along an axis, as far as is known.
    pub(crate) fn depends(&self, v: Val, axis: u32) -> bool {
        self.follows[v.index()].iter().any(|(k, _)| *k == axis)
    }

    /// How an index changes along an axis.
    pub(crate) fn along(&self, ix: &Ix, axis: usize) -> Along {
        let v = match *ix {
            Ix::Affine { axis: of, scale, .. } => return Along::Step(if of as usize == axis { scale } else { 0 }),
            Ix::At(v) => v,
        };
        if let Some(step) = step_of(&self.follows[v.index()], axis as u32) {
            return Along::Step(step);
        }
        let steady = |n: &Sum| self.step(&Affine::uniform(n.clone()), axis) == Some(0);
        let is_steady = |bound: &Bound<Sum>| match bound {
            Bound::AtLeast(n) | Bound::AtMost(n) => steady(n),
        };
        match self.indices.get(&v) {
            Some(Index::Clamped(c)) if self.step(&c.of, axis) == Some(1) && c.bounds.iter().all(is_steady) => {
                Along::Clamped
            }
            Some(Index::Wrapped(w)) if self.step(&w.of, axis) == Some(1) && steady(&w.by) => Along::Wrapped,
            _ => self.quotient(v, axis).map_or(Along::Varying, |q| Along::Repeated(q.by)),
        }
    }

    /// How a read at an index moves through its array along an axis.
    pub(crate) fn access(&self, index: &[Ix], axis: usize) -> Access {
        Access::of(&index.iter().map(|ix| self.along(ix, axis)).collect::<SmallVec<[Along; 4]>>())
    }

    /// The uniformity of every value, given that of the parameters.
    pub(crate) fn uniformities(&self, params: &[Uniformity]) -> Vec<Uniformity> {
        let step = |&(k, step): &(u32, Option<i64>)| match params.get(k as usize)? {
            Uniformity::Uniform => Some(0),
            Uniformity::Affine(by) => step?.checked_mul(*by),
            Uniformity::Varying => None,
        };
        let sum = |f: &Follows| f.iter().try_fold(0i64, |sum, of| sum.checked_add(step(of)?));
        self.follows.iter().map(|f| sum(f).map_or(Uniformity::Varying, Uniformity::affine)).collect()
    }

    /// The step of an affine integer along a parameter, if it is constant.
    fn step(&self, a: &Affine, axis: usize) -> Option<i64> {
        let own = a.terms.iter().find(|t| t.axis as usize == axis).map_or(0, |t| t.step.offset);
        a.base.terms.iter().try_fold(own, |sum, (v, by)| {
            sum.checked_add(step_of(&self.follows[v.index()], axis as u32)?.checked_mul(*by)?)
        })
    }
}

/// An integer as the only term of a sum.
fn itself(v: Val) -> Index {
    Index::Affine(Affine::uniform(Sum::value(v)))
}

/// The step along a parameter; 0 where a value does not follow it, none where it is not known.
fn step_of(follows: &Follows, param: u32) -> Option<i64> {
    follows.iter().find(|(k, _)| *k == param).map_or(Some(0), |(_, step)| *step)
}

/// What either of two values follows; `step` says by how much.
fn either(a: &Follows, b: &Follows, step: impl Fn(u32) -> Option<i64>) -> Follows {
    let mut all: SmallVec<[u32; 4]> = a.iter().chain(b).map(|(k, _)| *k).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|k| (k, step(k))).collect()
}

/// What a value follows that is one of two.
fn joined(a: &Follows, b: &Follows) -> Follows {
    either(a, b, |k| step_of(a, k).filter(|step| Some(*step) == step_of(b, k)))
}

/// What a value follows that is computed where control flow follows `condition`.
fn under(condition: &Follows, f: &Follows) -> Follows {
    either(condition, f, |k| if step_of(condition, k) == Some(0) { step_of(f, k) } else { None })
}

struct Analysis<'a> {
    body: &'a Body,
    of: Accesses,
}

impl Analysis<'_> {
    fn region(&mut self, r: &Region) {
        for n in &r.nodes {
            acc_core::grow_stack(|| self.node(n));
        }
    }

    fn follows(&self, v: Val) -> &Follows {
        &self.of.follows[v.index()]
    }

    /// What the results of an operation follow that is no arithmetic of indices.
    fn plain(&self, op: &Op) -> Follows {
        let computed = |all: &Follows, of: &Follows| {
            either(all, of, |k| (step_of(all, k) == Some(0) && step_of(of, k) == Some(0)).then_some(0))
        };
        let mut all = Follows::new();
        op.visit_operands(&mut |v| all = computed(&all, self.follows(v)));
        for ix in op.index() {
            if let Ix::Affine { axis, .. } = ix {
                all = computed(&all, &smallvec![(*axis, None)]);
            }
        }
        all
    }

    /// The index that a primitive operation yields.
    fn prim(&self, p: PrimOp, args: &[Val]) -> Option<Index> {
        if self.body.ty(*args.first()?) != ScalarType::I64 {
            return None;
        }
        // Bounds of bounds are bounds; in a sum what is clamped or wrapped is a value like any other.
        let operand = |v: &Val| match self.of.index(*v) {
            Index::Clamped(_) | Index::Wrapped(_) if !matches!(p, PrimOp::MinP | PrimOp::MaxP) => itself(*v),
            index => index,
        };
        let operands: SmallVec<[Index; 2]> = args.iter().map(operand).collect();
        let index = Index::prim(&mut Sums, p, &operands)?;
        // A step that is no literal is none that lanes follow.
        index.affine().terms.iter().all(|t| t.step.terms.is_empty()).then_some(index)
    }

    /// The quotient that a primitive operation yields.
    fn quotient(&self, p: PrimOp, args: &[Val]) -> Option<Quotient> {
        let ([x, by], PrimOp::QuotP | PrimOp::DivFloorP) = (args, p) else { return None };
        if self.body.ty(*x) != ScalarType::I64 {
            return None;
        }
        let (Index::Affine(of), Index::Affine(by)) = (self.of.index(*x), self.of.index(*by)) else { return None };
        let by = Sums.constant(&by.base).filter(|n| by.is_uniform() && *n > 0)?;
        let is_natural = |n: &Sum| n.terms.is_empty() && n.offset >= 0 && is_small(n.offset);
        (is_natural(&of.base) && of.terms.iter().all(|t| is_natural(&t.step))).then_some(Quotient { of, by })
    }

    fn node(&mut self, n: &Node) {
        let follows = match &n.op {
            Op::Prim(p, args) => {
                let plain = self.plain(&n.op);
                if let Some(&v) = n.results.first() {
                    match self.quotient(*p, args) {
                        Some(quotient) => _ = self.of.quotients.insert(v, quotient),
                        // Of an earlier visit of a loop, as below.
                        None => _ = self.of.quotients.remove(&v),
                    }
                }
                // What is equal for all points is a number.
                let index = if plain.is_empty() { None } else { self.prim(*p, args) };
                match (index, n.results.first()) {
                    (Some(index), Some(&v)) => {
                        let follows = match &index {
                            Index::Affine(a) => plain.iter().map(|(k, _)| (*k, self.of.step(a, *k as usize))).collect(),
                            Index::Clamped(_) | Index::Wrapped(_) => plain,
                        };
                        self.of.indices.insert(v, index);
                        follows
                    }
                    // Of an earlier visit of a loop, where its state was known better.
                    _ => {
                        n.results.iter().for_each(|v| _ = self.of.indices.remove(v));
                        plain
                    }
                }
            }
            Op::Const(_)
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Select { .. }
            | Op::Extent { .. }
            | Op::Index(_)
            | Op::Own(_) => self.plain(&n.op),
            Op::If { cond, then, else_ } => {
                self.region(then);
                self.region(else_);
                for (r, (a, b)) in n.results.iter().zip(then.results.iter().zip(&else_.results)) {
                    let of = under(self.follows(*cond), &joined(self.follows(*a), self.follows(*b)));
                    self.of.follows[r.index()] = of;
                }
                return;
            }
            Op::While { init, test, step } => {
                let mut state: Vec<Follows> = init.iter().map(|v| self.follows(*v).clone()).collect();
                // What the state follows becomes more, or less known.
                loop {
                    for (k, of) in state.iter().enumerate() {
                        for p in [test.params[k], step.params[k]] {
                            self.of.follows[p.index()].clone_from(of);
                        }
                    }
                    self.region(test);
                    self.region(step);
                    let next: Vec<Follows> =
                        state.iter().zip(&step.results).map(|(of, v)| joined(of, self.follows(*v))).collect();
                    if next == state {
                        break;
                    }
                    state = next;
                }
                let test = test.results.iter().fold(Follows::new(), |all, v| under(self.follows(*v), &all));
                for (r, of) in n.results.iter().zip(&state) {
                    self.of.follows[r.index()] = under(&test, of);
                }
                return;
            }
        };
        for v in &n.results {
            self.of.follows[v.index()].clone_from(&follows);
        }
    }
}
