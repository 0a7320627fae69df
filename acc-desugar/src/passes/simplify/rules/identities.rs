//! Algebraic identities that are exact. All operands stay demanded: `x * 0` is not simplified, for `x` may fault.

use super::super::rewrite::Definitions;
use super::Replace;
use crate::analysis::operators::opposite;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{PrimOp, ScalarOp, Val};
use acc_core::prelude::f16;

pub(super) fn rule(op: &ScalarOp, ty: ScalarType, defs: &Definitions) -> Option<Replace> {
    match op {
        ScalarOp::Prim(p, args) => match args[..] {
            [x] => unary(*p, x, defs),
            [x, y] => binary(*p, x, y, defs),
            _ => None,
        },
        ScalarOp::Cast(x) if defs.ty(*x) == ty => Some(Replace::Val(*x)),
        ScalarOp::Bitcast(x) => match defs.op(*x) {
            _ if defs.ty(*x) == ty => Some(Replace::Val(*x)),
            Some(ScalarOp::Bitcast(y)) if defs.ty(*y) == ty => Some(Replace::Val(*y)),
            Some(ScalarOp::Bitcast(y)) => Some(Replace::Op(ScalarOp::Bitcast(*y))),
            _ => None,
        },
        ScalarOp::Cast(_)
        | ScalarOp::Const(_)
        | ScalarOp::Select { .. }
        | ScalarOp::If { .. }
        | ScalarOp::While { .. }
        | ScalarOp::Own(_)
        | ScalarOp::Index(_)
        | ScalarOp::Extent { .. } => None,
    }
}

fn unary(p: PrimOp, x: Val, defs: &Definitions) -> Option<Replace> {
    use PrimOp as P;
    // - - x, ! ! x
    if matches!(p, P::NegP | P::NotP)
        && let Some([y]) = defs.prim(x, p)
    {
        return Some(Replace::Val(*y));
    }
    // Rounding what is whole, the absolute value of one.
    let settled: &[P] = match p {
        P::FloorP | P::CeilP | P::RoundP | P::TruncP => &[P::FloorP, P::CeilP, P::RoundP, P::TruncP],
        P::AbsP => &[P::AbsP],
        _ => &[],
    };
    if settled.iter().any(|q| defs.prim(x, *q).is_some()) {
        return Some(Replace::Val(x));
    }
    // ! (a < b) of what is totally ordered
    if p == P::NotP
        && let Some(ScalarOp::Prim(q, args)) = defs.op(x)
        && let Some(&a) = args.first()
        && let Some(opposite) = opposite(*q, defs.ty(a))
    {
        return Some(Replace::Op(ScalarOp::Prim(opposite, args.clone())));
    }
    None
}

fn binary(p: PrimOp, x: Val, y: Val, defs: &Definitions) -> Option<Replace> {
    use PrimOp as P;
    if x == y && matches!(p, P::AndP | P::OrP | P::MinP | P::MaxP) {
        return Some(Replace::Val(x));
    }
    let (a, b) = (defs.lit(x), defs.lit(y));
    if b.is_some_and(|b| is_right_unit(p, b)) {
        return Some(Replace::Val(x));
    }
    if p.is_commutative() && a.is_some_and(|a| is_right_unit(p, a)) {
        return Some(Replace::Val(y));
    }
    // b == true, b != false, b == false, b != true
    if defs.ty(x) == ScalarType::Bool && matches!(p, P::EqP | P::NeP) {
        let (other, l) = a.map(|a| (y, a)).or(b.map(|b| (x, b)))?;
        return Some(match (p == P::EqP) == (l.bits != 0) {
            true => Replace::Val(other),
            false => Replace::Op(ScalarOp::Prim(P::NotP, [other].into_iter().collect())),
        });
    }
    None
}

/// Whether `p(x, l)` is `x` for every `x`.
fn is_right_unit(p: PrimOp, l: Lit) -> bool {
    use PrimOp as P;
    use ScalarType::Bool;
    let (zero, one) = (l == Lit::zero(l.ty), l == Lit::one(l.ty));
    let float = l.ty.is_float();
    let minus_zero = l == f16::NEG_ZERO.lit() || l == (-0f32).lit() || l == (-0f64).lit();
    let ones = l.ty != Bool && !float && l.bits == all_ones(l.ty);
    match p {
        // -0.0 + 0.0 is 0.0, but x + -0.0 is x.
        P::AddP => {
            if float {
                minus_zero
            } else {
                zero
            }
        }
        P::SubP => zero,
        P::MulP | P::DivP | P::QuotP | P::DivFloorP => one,
        P::ShlP | P::ShrP => zero,
        P::OrP | P::XorP => zero,
        P::AndP => {
            if l.ty == Bool {
                one
            } else {
                ones
            }
        }
        _ => false,
    }
}

fn all_ones(ty: ScalarType) -> u64 {
    if ty.is_signed() { u64::MAX } else { u64::MAX >> (64 - ty.bits()) }
}
