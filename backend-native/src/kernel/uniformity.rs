//! How each value of a body varies from point to point along an axis: over the lanes of a vector.
//!
//! Values that are the same in all lanes stay scalar, and so do the indices of reads that go along the lanes step by
//! step: their reads become plain vector loads. A loop's state has a level of its own: while lanes run they are all in
//! the same iteration, so that a counter is one scalar even where lanes leave the loop at different times.

use super::{Body, Ix, Node, Op, Region};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// How a value varies over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uniformity {
    /// The same in every lane.
    Uniform,
    /// An `i64` that grows by a constant, not zero, from lane to lane, in arithmetic modulo 2^64.
    Affine(i64),
    /// Any values.
    Varying,
}

/// Greatest step of a linear value.
const AFFINE_STEP_LIMIT: u64 = 1 << 31;

impl Uniformity {
    /// That of a value which grows by so much.
    pub(crate) fn affine(step: i64) -> Uniformity {
        match step {
            0 => Uniformity::Uniform,
            s if s.unsigned_abs() < AFFINE_STEP_LIMIT => Uniformity::Affine(s),
            _ => Uniformity::Varying,
        }
    }

    /// What it grows by from lane to lane, if that is the same for all.
    pub(crate) fn step(self) -> Option<i64> {
        match self {
            Uniformity::Uniform => Some(0),
            Uniformity::Affine(s) => Some(s),
            Uniformity::Varying => None,
        }
    }

    /// The level of a value that is one or the other.
    fn join(self, other: Uniformity) -> Uniformity {
        if self == other { self } else { Uniformity::Varying }
    }
}

/// The level of every value, if the parameters have these.
pub(crate) fn uniformities(body: &Body, params: &[Uniformity]) -> Vec<Uniformity> {
    let literals = body.consts.iter().filter(|(_, l)| l.ty == ScalarType::I64);
    let literals = literals.map(|(v, l)| (*v, i64::from_bits64(l.bits))).collect();
    let mut a = Analysis { body, of: vec![Uniformity::Uniform; body.types.len()], literals };
    for (p, &l) in body.region.params.iter().zip(params) {
        a.of[p.index()] = l;
    }
    a.region(&body.region);
    a.of
}

struct Analysis<'a> {
    body: &'a Body,
    of: Vec<Uniformity>,
    literals: HashMap<Val, i64>,
}

impl Analysis<'_> {
    fn region(&mut self, r: &Region) {
        for n in &r.nodes {
            acc_core::grow_stack(|| self.node(n));
        }
    }

    fn set(&mut self, vals: &[Val], level: Uniformity) {
        for v in vals {
            self.of[v.index()] = level;
        }
    }

    /// One if all operands are, else any.
    fn plain(&self, op: &Op) -> Uniformity {
        let mut level = Uniformity::Uniform;
        op.operands(&mut |v| {
            if self.of[v.index()] != Uniformity::Uniform {
                level = Uniformity::Varying;
            }
        });
        for i in op.index() {
            if let Ix::Affine { axis, .. } = i
                && self.of[self.body.region.params[*axis as usize].index()] != Uniformity::Uniform
            {
                level = Uniformity::Varying;
            }
        }
        level
    }

    fn prim(&self, p: PrimOp, v: &[Val]) -> Option<Uniformity> {
        if self.body.ty(*v.first()?) != ScalarType::I64 {
            return None;
        }
        let step = |v: &Val| self.of[v.index()].step();
        match (p, v) {
            (PrimOp::AddP, [x, y]) => Some(Uniformity::affine(step(x)?.checked_add(step(y)?)?)),
            (PrimOp::SubP, [x, y]) => Some(Uniformity::affine(step(x)?.checked_sub(step(y)?)?)),
            (PrimOp::MulP, [x, y]) => {
                let (s, c) = match (self.literals.get(x), self.literals.get(y)) {
                    (_, Some(c)) => (step(x)?, c),
                    (Some(c), None) => (step(y)?, c),
                    (None, None) => return None,
                };
                Some(Uniformity::affine(s.checked_mul(*c)?))
            }
            (PrimOp::NegP, [x]) => Some(Uniformity::affine(-step(x)?)),
            _ => None,
        }
    }

    fn node(&mut self, n: &Node) {
        let level = match &n.op {
            Op::Prim(p, v) => match self.plain(&n.op) {
                Uniformity::Uniform => Uniformity::Uniform,
                plain => self.prim(*p, v).unwrap_or(plain),
            },
            Op::Cast(_)
            | Op::Fma(..)
            | Op::Scale(..)
            | Op::Table { .. }
            | Op::Bitcast(_)
            | Op::Select { .. }
            | Op::Call { .. }
            | Op::Scalar { .. }
            | Op::Extent { .. }
            | Op::Load(_)
            | Op::Inside { .. }
            | Op::Check { .. } => self.plain(&n.op),
            Op::If { cond, then, else_ } => {
                self.region(then);
                self.region(else_);
                let one = self.of[cond.index()] == Uniformity::Uniform;
                for (r, (a, b)) in n.results.iter().zip(then.results.iter().zip(&else_.results)) {
                    let joined = self.of[a.index()].join(self.of[b.index()]);
                    self.of[r.index()] = if one { joined } else { Uniformity::Varying };
                }
                return;
            }
            Op::While { init, test, step } => {
                let mut state: Vec<Uniformity> = init.iter().map(|v| self.of[v.index()]).collect();
                // Levels only rise, at most twice each.
                loop {
                    for (k, &l) in state.iter().enumerate() {
                        self.set(&[test.params[k], step.params[k]], l);
                    }
                    self.region(test);
                    self.region(step);
                    let next: Vec<Uniformity> =
                        state.iter().zip(&step.results).map(|(l, v)| l.join(self.of[v.index()])).collect();
                    if next == state {
                        break;
                    }
                    state = next;
                }
                let one = test.results.iter().all(|v| self.of[v.index()] == Uniformity::Uniform);
                for (r, &l) in n.results.iter().zip(&state) {
                    self.of[r.index()] = if one { l } else { Uniformity::Varying };
                }
                return;
            }
        };
        self.set(&n.results, level);
    }
}
