//! Choices between two values that exist already.

use super::super::rewrite::Definitions;
use super::Replace;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{PrimOp, ScalarOp, Val};

pub(super) fn rule(op: &ScalarOp, ty: ScalarType, defs: &Definitions) -> Option<Replace> {
    let ScalarOp::Select { cond, then, else_ } = op else { return None };
    if then == else_ {
        return Some(Replace::Val(*then));
    }
    if let Some(c) = defs.lit(*cond) {
        return Some(Replace::Val(if c.bits != 0 { *then } else { *else_ }));
    }
    if let Some([not]) = defs.prim(*cond, PrimOp::NotP) {
        return Some(Replace::Op(ScalarOp::Select { cond: *not, then: *else_, else_: *then }));
    }
    if ty != ScalarType::Bool {
        return None;
    }
    let literal = |v: Val| defs.lit(v).map(|l: Lit| l.bits != 0);
    let prim = |p, args: &[Val]| Some(Replace::Op(ScalarOp::Prim(p, args.iter().copied().collect())));
    match (literal(*then), literal(*else_)) {
        (Some(true), Some(false)) => Some(Replace::Val(*cond)),
        (Some(false), Some(true)) => prim(PrimOp::NotP, &[*cond]),
        // Both sides exist, so nothing is evaluated that was not.
        (Some(true), None) => prim(PrimOp::OrP, &[*cond, *else_]),
        (None, Some(false)) => prim(PrimOp::AndP, &[*cond, *then]),
        _ => None,
    }
}
