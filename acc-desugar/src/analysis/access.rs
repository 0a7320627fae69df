//! Index access analysis: how the integers that index arrays follow the axes of an index space.
//!
//! Programs compute the index of a read from a position: `i + 1`, `2 * i + j`, `min(max(i - 1, 0), n - 1)`, `(i + k) % n`. An
//! [`Index`] is such an integer as a function of the position, and [`Index::prim`] the algebra that finds it, operation by
//! operation. An integer that the algebra does not understand has no `Index`: reads at it are gathers.
//!
//! Flattening (`flatten/access`), machine code and tiles (`kernel/access.rs` of the native executor) find indices by this
//! algebra and nothing else. They differ in the [`Numbers`] that are equal at all positions: sizes of a graph, or literals and values of
//! a kernel.
//!
//! Quotients, and remainders by other numbers than the extent of an axis, are no indices here. Flattening splits the axis
//! that is divided in two, after which both are affine (`flatten/access/split_axis.rs`). The native executor knows quotients by
//! literals besides: reads at them read each element so many times.

use acc_core::ir::PrimOp;
use smallvec::{SmallVec, smallvec};
use std::fmt;

/// Arithmetic on what is equal at all positions, modulo 2^64.
pub trait Numbers {
    /// A number.
    type Number: Clone + PartialEq;
    /// An axis of the index space.
    type Axis: Axis;

    /// A literal.
    fn literal(&mut self, n: i64) -> Self::Number;
    /// The literal that a number is.
    fn constant(&self, n: &Self::Number) -> Option<i64>;
    /// A sum (`AddP`), difference (`SubP`) or product (`MulP`); none where it cannot be told as a number.
    fn apply(&mut self, op: PrimOp, a: &Self::Number, b: &Self::Number) -> Option<Self::Number>;
}

/// An axis of an index space.
pub trait Axis: Copy + PartialEq {
    /// Its number; axis 0 is the outermost.
    fn number(self) -> usize;
}

impl Axis for u32 {
    fn number(self) -> usize {
        self as usize
    }
}

/// Numbers that are all known: literals.
pub struct Literals;

impl Numbers for Literals {
    type Number = i64;
    type Axis = u32;

    fn literal(&mut self, n: i64) -> i64 {
        n
    }

    fn constant(&self, n: &i64) -> Option<i64> {
        Some(*n)
    }

    fn apply(&mut self, op: PrimOp, a: &i64, b: &i64) -> Option<i64> {
        match op {
            PrimOp::AddP => Some(a.wrapping_add(*b)),
            PrimOp::SubP => Some(a.wrapping_sub(*b)),
            PrimOp::MulP => Some(a.wrapping_mul(*b)),
            _ => None,
        }
    }
}

/// `base + Σ step·i`, over some axes of an index space. The arithmetic wraps, as that of `i64` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affine<N, A> {
    /// The value where all indices are 0.
    pub base: N,
    /// At most one for each axis; the axes increase.
    pub terms: SmallVec<[Term<N, A>; 2]>,
}

/// The index along an axis, times a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term<N, A> {
    /// The axis.
    pub axis: A,
    /// Not the literal 0.
    pub step: N,
}

/// An integer as a function of the position in an index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Index<N, A> {
    /// A sum of steps along axes; without terms, the same number at all positions.
    Affine(Affine<N, A>),
    /// An affine integer between bounds.
    Clamped(Clamped<N, A>),
    /// The remainder of an affine integer.
    Wrapped(Wrapped<N, A>),
}

/// An affine integer between bounds, such as the position of a neighbour at a border.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clamped<N, A> {
    /// The integer without bounds.
    pub of: Affine<N, A>,
    /// The bounds, in the order in which they are applied: where they contradict each other, the last one holds.
    pub bounds: SmallVec<[Bound<N>; 2]>,
}

/// A bound of an integer, itself included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound<N> {
    /// No less than this.
    AtLeast(N),
    /// No more than this.
    AtMost(N),
}

/// The remainder of an affine integer, such as the position of a neighbour in an array that wraps around.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrapped<N, A> {
    /// The dividend.
    pub of: Affine<N, A>,
    /// The divisor.
    pub by: N,
    /// `RemP` or `ModFloorP`.
    pub op: PrimOp,
}

impl<N, A: Axis> Affine<N, A> {
    /// The same number at all positions.
    pub fn uniform(base: N) -> Affine<N, A> {
        Affine { base, terms: SmallVec::new() }
    }

    /// The index along an axis itself: `zero + one·i`.
    pub fn along(axis: A, zero: N, one: N) -> Affine<N, A> {
        Affine { base: zero, terms: smallvec![Term { axis, step: one }] }
    }

    /// Whether it is the same number at all positions.
    pub fn is_uniform(&self) -> bool {
        self.terms.is_empty()
    }
}

impl<N: Clone + PartialEq, A: Axis> Affine<N, A> {
    /// The only term, if its step is the literal 1: the index along one axis, plus a number.
    pub fn shifted_axis<M: Numbers<Number = N, Axis = A>>(&self, numbers: &M) -> Option<A> {
        match &self.terms[..] {
            [t] if numbers.constant(&t.step) == Some(1) => Some(t.axis),
            _ => None,
        }
    }

    /// A sum or difference.
    fn combined<M: Numbers<Number = N, Axis = A>>(&self, m: &mut M, op: PrimOp, other: &Self) -> Option<Self> {
        let base = m.apply(op, &self.base, &other.base)?;
        let mut axes: SmallVec<[A; 4]> = self.terms.iter().chain(&other.terms).map(|t| t.axis).collect();
        axes.sort_unstable_by_key(|a| a.number());
        axes.dedup_by_key(|a| a.number());
        let zero = m.literal(0);
        let mut terms = SmallVec::new();
        for axis in axes {
            let step = |x: &Self| x.terms.iter().find(|t| t.axis.number() == axis.number()).map(|t| t.step.clone());
            let [left, right] = [self, other].map(|x| step(x).unwrap_or_else(|| zero.clone()));
            push_term(m, &mut terms, axis, |m| m.apply(op, &left, &right))?;
        }
        Some(Affine { base, terms })
    }

    /// A product with a number.
    fn scaled<M: Numbers<Number = N, Axis = A>>(&self, m: &mut M, by: &N) -> Option<Self> {
        let base = m.apply(PrimOp::MulP, &self.base, by)?;
        let mut terms = SmallVec::new();
        for t in &self.terms {
            push_term(m, &mut terms, t.axis, |m| m.apply(PrimOp::MulP, &t.step, by))?;
        }
        Some(Affine { base, terms })
    }
}

/// Adds a term, unless its step is the literal 0.
fn push_term<M: Numbers>(
    m: &mut M,
    terms: &mut SmallVec<[Term<M::Number, M::Axis>; 2]>,
    axis: M::Axis,
    step: impl FnOnce(&mut M) -> Option<M::Number>,
) -> Option<()> {
    let step = step(m)?;
    if m.constant(&step) != Some(0) {
        terms.push(Term { axis, step });
    }
    Some(())
}

impl<N, A> Index<N, A> {
    /// The affine integer that it is, or that is between bounds, or divided.
    pub fn affine(&self) -> &Affine<N, A> {
        match self {
            Index::Affine(of) | Index::Clamped(Clamped { of, .. }) | Index::Wrapped(Wrapped { of, .. }) => of,
        }
    }
}

impl<N: Clone + PartialEq, A: Axis> Index<N, A> {
    /// What a primitive operation on `i64` yields of these operands, if it is an index.
    pub fn prim<M: Numbers<Number = N, Axis = A>>(m: &mut M, op: PrimOp, operands: &[Index<N, A>]) -> Option<Self> {
        use Index::{Affine as Sum, Clamped as Between};
        match (op, operands) {
            (PrimOp::AddP | PrimOp::SubP, [Sum(a), Sum(b)]) => a.combined(m, op, b).map(Sum),
            (PrimOp::MulP, [Sum(a), Sum(b)]) if b.is_uniform() => a.scaled(m, &b.base).map(Sum),
            (PrimOp::MulP, [Sum(a), Sum(b)]) if a.is_uniform() => b.scaled(m, &a.base).map(Sum),
            (PrimOp::NegP, [Sum(a)]) => {
                let minus_one = m.literal(-1);
                a.scaled(m, &minus_one).map(Sum)
            }
            (PrimOp::MinP | PrimOp::MaxP, [x, Sum(n)] | [Sum(n), x]) if n.is_uniform() => {
                let bound = if op == PrimOp::MinP { Bound::AtMost } else { Bound::AtLeast };
                let mut clamped = match x {
                    Sum(a) => Clamped { of: a.clone(), bounds: SmallVec::new() },
                    Between(c) => c.clone(),
                    Index::Wrapped(_) => return None,
                };
                clamped.bounds.push(bound(n.base.clone()));
                Some(Between(clamped))
            }
            (PrimOp::RemP | PrimOp::ModFloorP, [Sum(of), Sum(n)]) if n.is_uniform() => {
                Some(Index::Wrapped(Wrapped { of: of.clone(), by: n.base.clone(), op }))
            }
            _ => None,
        }
    }
}

/// How an integer changes from one index along an axis of the space to the next, at the same index along all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// By this much, modulo 2^64; by 0 where it does not depend on the axis.
    Step(i64),
    /// By 1, between bounds that do not depend on the axis.
    Clamped,
    /// By 1, until it wraps around at a divisor that does not depend on the axis.
    Wrapped,
    /// By 1 after so many indices: a quotient.
    Repeated(i64),
    /// In a way that is not known.
    Varying,
}

/// How a read moves through its array from one index along an axis of the space to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It reads the same element.
    Uniform,
    /// Every `step`-th element of the innermost dimension: the next one (1), the one before (-1), or further on.
    Strided(i64),
    /// Every `step`-th element of another dimension alone.
    Across {
        /// The dimension.
        dim: usize,
        /// In elements of that dimension.
        step: i64,
    },
    /// The next element of the innermost dimension, between bounds.
    Clamped,
    /// The next element of the innermost dimension, until it wraps around.
    Wrapped,
    /// Each element of the innermost dimension so many times, then the next one.
    Repeated(i64),
    /// Any element.
    Gathered,
}

impl Access {
    /// The access of a read whose index changes so in each dimension.
    pub fn of(dims: &[Along]) -> Access {
        let mut moving = dims.iter().enumerate().filter(|(_, along)| **along != Along::Step(0));
        match (moving.next(), moving.next()) {
            (None, _) => Access::Uniform,
            (Some((dim, along)), None) => match (along, dim + 1 == dims.len()) {
                (Along::Step(step), true) => Access::Strided(*step),
                (Along::Step(step), false) => Access::Across { dim, step: *step },
                (Along::Clamped, true) => Access::Clamped,
                (Along::Wrapped, true) => Access::Wrapped,
                (Along::Repeated(times), true) => Access::Repeated(*times),
                (Along::Clamped | Along::Wrapped | Along::Repeated(_), false) | (Along::Varying, _) => Access::Gathered,
            },
            (Some(_), Some(_)) => Access::Gathered,
        }
    }
}

impl Access {
    /// What it is, in one word.
    pub fn name(self) -> &'static str {
        match self {
            Access::Uniform => "uniform",
            Access::Strided(1) => "contiguous",
            Access::Strided(-1) => "reversed",
            Access::Strided(_) => "strided",
            Access::Across { .. } => "across",
            Access::Clamped => "clamped",
            Access::Wrapped => "wrapped",
            Access::Repeated(_) => "repeated",
            Access::Gathered => "gathered",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Access::Strided(step) if step.unsigned_abs() != 1 => write!(f, " by {step}"),
            Access::Repeated(times) => write!(f, " {times} times"),
            Access::Across { dim, step: 1 } => write!(f, " dimension {dim}"),
            Access::Across { dim, step } => write!(f, " dimension {dim} by {step}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(op: PrimOp, x: &[i64]) -> Option<i64> {
        Some(match op {
            PrimOp::AddP => x[0].wrapping_add(x[1]),
            PrimOp::SubP => x[0].wrapping_sub(x[1]),
            PrimOp::MulP => x[0].wrapping_mul(x[1]),
            PrimOp::NegP => x[0].wrapping_neg(),
            PrimOp::MinP => x[0].min(x[1]),
            PrimOp::MaxP => x[0].max(x[1]),
            PrimOp::RemP => x[0].wrapping_rem(x[1]),
            PrimOp::ModFloorP => x[0].wrapping_sub(x[0].div_euclid(x[1]).wrapping_mul(x[1])),
            _ => return None,
        })
    }

    fn at(affine: &Affine<i64, u32>, position: &[i64]) -> i64 {
        let term = |t: &Term<i64, u32>| t.step.wrapping_mul(position[t.axis as usize]);
        affine.terms.iter().fold(affine.base, |sum, t| sum.wrapping_add(term(t)))
    }

    fn value(index: &Index<i64, u32>, position: &[i64]) -> Option<i64> {
        Some(match index {
            Index::Affine(a) => at(a, position),
            Index::Clamped(c) => c.bounds.iter().fold(at(&c.of, position), |x, bound| match bound {
                Bound::AtLeast(n) => x.max(*n),
                Bound::AtMost(n) => x.min(*n),
            }),
            Index::Wrapped(w) => evaluate(w.op, &[at(&w.of, position), w.by])?,
        })
    }

    #[test]
    fn an_index_is_the_integer_that_the_operations_compute() {
        use PrimOp::{AddP, MaxP, MinP, ModFloorP, MulP, NegP, RemP, SubP};
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut found = [0; 3];
        for _ in 0..2_000 {
            let positions: Vec<[i64; 2]> = (0..4).map(|_| [random(100) as i64, random(100) as i64]).collect();
            // The integers known so far: each as an index, and at each position.
            let mut known: Vec<(Index<i64, u32>, Vec<i64>)> = Vec::new();
            for axis in 0..2u32 {
                let values = positions.iter().map(|p| p[axis as usize]).collect();
                known.push((Index::Affine(Affine::along(axis, 0, 1)), values));
            }
            for n in [random(9) as i64 + 1, i64::MAX - random(50) as i64] {
                known.push((Index::Affine(Affine::uniform(n)), vec![n; positions.len()]));
            }
            for _ in 0..8 {
                let op = [AddP, SubP, MulP, NegP, MinP, MaxP, RemP, ModFloorP][random(8) as usize];
                let operands = [0; 2].map(|_| known[random(known.len() as u64) as usize].clone());
                let operands = &operands[..op.arity()];
                let divides = matches!(op, RemP | ModFloorP);
                if divides && operands[1].1.iter().any(|n| *n <= 0) {
                    continue;
                }
                let indices: Vec<Index<i64, u32>> = operands.iter().map(|(index, _)| index.clone()).collect();
                let Some(index) = Index::prim(&mut Literals, op, &indices) else { continue };
                found[match index {
                    Index::Affine(_) => 0,
                    Index::Clamped(_) => 1,
                    Index::Wrapped(_) => 2,
                }] += 1;
                let mut values = Vec::new();
                for (k, position) in positions.iter().enumerate() {
                    let x: Vec<i64> = operands.iter().map(|(_, values)| values[k]).collect();
                    let want = evaluate(op, &x).unwrap();
                    assert_eq!(value(&index, position), Some(want), "{index:?} of {op:?} {indices:?} at {position:?}");
                    values.push(want);
                }
                known.push((index, values));
            }
        }
        assert!(found.iter().all(|n| *n > 500), "{found:?}");
    }

    #[test]
    fn what_moves_alone_decides_how_a_read_moves() {
        use Along::{Clamped, Repeated, Step, Varying, Wrapped};
        for (dims, access) in [
            (&[][..], "uniform"),
            (&[Step(0), Step(0)], "uniform"),
            (&[Step(0), Step(1)], "contiguous"),
            (&[Step(-1)], "reversed"),
            (&[Step(0), Step(3)], "strided by 3"),
            (&[Step(1), Step(0)], "across dimension 0"),
            (&[Step(1), Step(1)], "gathered"),
            (&[Step(0), Clamped], "clamped"),
            (&[Wrapped], "wrapped"),
            (&[Wrapped, Step(0)], "gathered"),
            (&[Step(0), Repeated(2)], "repeated 2 times"),
            (&[Repeated(2), Step(0)], "gathered"),
            (&[Varying, Step(1)], "gathered"),
        ] {
            assert_eq!(Access::of(dims).to_string(), access, "{dims:?}");
        }
    }
}
