//! Operators that tensor libraries know, recognised by what a function computes, not by how it was written.

use crate::analysis::operators::{self, Component};
use crate::graph::Known;
use acc_core::data::ScalarType;
use acc_core::ir::{Fun, PrimOp, ScalarOp, Val};

/// What an operator does to each leaf, if tensor libraries know that.
pub(super) fn components(f: &Fun) -> Option<Vec<Component<Known>>> {
    let known = |(c, ty)| {
        Some(match c {
            Component::Op(p) => Component::Op(operation(p, ty)?),
            Component::First => Component::First,
            Component::Second => Component::Second,
        })
    };
    operators::components(f)?.into_iter().zip(f.result_types()).map(known).collect()
}

/// The operation of each leaf, if tensor libraries know that and an operator is one in all of them.
pub(super) fn reductions(f: &Fun) -> Option<Vec<Known>> {
    operations(&operators::reductions(f)?, f)
}

/// The known operations that an operator's are.
pub(super) fn operations(ops: &[PrimOp], f: &Fun) -> Option<Vec<Known>> {
    ops.iter().zip(f.result_types()).map(|(p, ty)| operation(*p, ty)).collect()
}

/// The known operation that a primitive is on scalars of a type.
pub(super) fn operation(p: PrimOp, ty: ScalarType) -> Option<Known> {
    let boolean = ty == ScalarType::Bool;
    Some(match p {
        PrimOp::AddP => Known::Sum,
        PrimOp::MulP => Known::Product,
        PrimOp::MinP if !boolean => Known::Min,
        PrimOp::MaxP if !boolean => Known::Max,
        PrimOp::AndP | PrimOp::MinP if boolean => Known::All,
        PrimOp::OrP | PrimOp::MaxP if boolean => Known::Any,
        _ => return None,
    })
}

/// The operator that keeps the whole element with the least or greatest first component, of equal ones the left one, and
/// the first NaN: which extreme that is.
pub(super) fn extreme(f: &Fun) -> Option<Known> {
    let n = f.body.results.len();
    let def = |v: Val| f.body.nodes.iter().find(|node| node.results.contains(&v)).map(|node| &node.op);
    let prim = |v: Val| match def(v) {
        Some(ScalarOp::Prim(p, args)) => Some((*p, args.clone())),
        _ => None,
    };
    let mut later: Option<Val> = None;
    for k in 0..n {
        let (a, b) = (f.body.params[k], f.body.params[n + k]);
        let Some(ScalarOp::Select { cond, then, else_ }) = def(f.body.results[k]) else { return None };
        if (*then, *else_) != (b, a) || later.is_some_and(|l| l != *cond) {
            return None;
        }
        later = Some(*cond);
    }
    let (a, b) = (f.body.params[0], f.body.params[n]);
    if !f.ty(a).is_num() {
        return None;
    }
    // Whether `b` is better than `a`.
    let better = |v: Val| {
        let (p, args) = prim(v)?;
        match (p, args[..] == [a, b], args[..] == [b, a]) {
            (PrimOp::LtP, true, _) | (PrimOp::GtP, _, true) => Some(Known::Max),
            (PrimOp::GtP, true, _) | (PrimOp::LtP, _, true) => Some(Known::Min),
            _ => None,
        }
    };
    let later = later?;
    if !f.ty(a).is_float() {
        return better(later);
    }
    // Of floats: a is a number, and b is better or none.
    let (PrimOp::AndP, both) = prim(later)? else { return None };
    let compares = |v: Val, with: PrimOp, x: Val| prim(v).is_some_and(|(p, args)| p == with && args[..] == [x, x]);
    let number = both.iter().position(|v| compares(*v, PrimOp::EqP, a))?;
    let (PrimOp::OrP, either) = prim(both[1 - number])? else { return None };
    let none = either.iter().position(|v| compares(*v, PrimOp::NeP, b))?;
    better(either[1 - none])
}
