//! Uniformity analysis: how each value of a body varies over the lanes of a vector.
//!
//! Uniform values stay scalar, and so do affine indices, whose reads become plain vector loads. Loop state has a
//! uniformity of its own: lanes that run are all in the same iteration, so that a counter is one scalar even where
//! lanes leave the loop at different iterations.

use super::{Body, Ix, Node, Op, OpExt as _, Region};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

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

/// Affine steps are below this limit, so that sums of them do not overflow.
const AFFINE_STEP_LIMIT: u64 = 1 << 31;

impl Uniformity {
    /// The uniformity of a value with this step.
    pub(crate) fn affine(step: i64) -> Uniformity {
        match step {
            0 => Uniformity::Uniform,
            s if s.unsigned_abs() < AFFINE_STEP_LIMIT => Uniformity::Affine(s),
            _ => Uniformity::Varying,
        }
    }

    /// The step from lane to lane, if it is constant.
    pub(crate) fn step(self) -> Option<i64> {
        match self {
            Uniformity::Uniform => Some(0),
            Uniformity::Affine(s) => Some(s),
            Uniformity::Varying => None,
        }
    }

    /// The uniformity of a value that is either of two.
    fn join(self, other: Uniformity) -> Uniformity {
        if self == other { self } else { Uniformity::Varying }
    }
}

/// The uniformity of every value, given that of the parameters.
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

    /// Uniform if all operands are, else varying.
    fn plain(&self, op: &Op) -> Uniformity {
        let mut level = Uniformity::Uniform;
        op.visit_operands(&mut |v| {
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
                let one = self.of[cond.index()] == Uniformity::Uniform;
                for (r, (a, b)) in n.results.iter().zip(then.results.iter().zip(&else_.results)) {
                    let joined = self.of[a.index()].join(self.of[b.index()]);
                    self.of[r.index()] = if one { joined } else { Uniformity::Varying };
                }
                return;
            }
            Op::While { init, test, step } => {
                let mut state: Vec<Uniformity> = init.iter().map(|v| self.of[v.index()]).collect();
                // Uniformities only rise, at most twice each.
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
