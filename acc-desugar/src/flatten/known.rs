//! Operators that tensor libraries know, recognised by what a function computes, not by how it was written.

use crate::graph::Known;
use acc_core::data::ScalarType;
use acc_core::ir::{Fun, PrimOp, ScalarOp, Val};

/// What an operator does to one component of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Component {
    /// A known operation on the two components.
    Op(Known),
    /// The left operand's component.
    First,
    /// The right operand's component.
    Second,
}

/// What an operator on elements of `n` leaves does, if it is known in every component.
pub(super) fn components(f: &Fun) -> Option<Vec<Component>> {
    let n = f.body.results.len();
    if f.body.nodes.iter().any(|node| node.op.is_partial()) {
        return None;
    }
    (0..n).map(|k| component(f, f.body.params[k], f.body.params[n + k], f.body.results[k])).collect()
}

fn component(f: &Fun, a: Val, b: Val, result: Val) -> Option<Component> {
    if result == a {
        return Some(Component::First);
    }
    if result == b {
        return Some(Component::Second);
    }
    let node = f.body.nodes.iter().find(|n| n.results.contains(&result))?;
    let ScalarOp::Prim(p, args) = &node.op else { return None };
    // All of these commute, so either order is the operator.
    if args[..] != [a, b] && args[..] != [b, a] {
        return None;
    }
    operation(*p, f.ty(a)).map(Component::Op)
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

/// Whether the operator is associative for sure: in every component an operation known to be.
pub(super) fn is_associative(f: &Fun) -> bool {
    let n = f.body.results.len();
    (0..n).all(|k| {
        let (a, b, result) = (f.body.params[k], f.body.params[n + k], f.body.results[k]);
        let bitwise = f.body.nodes.iter().any(|node| {
            node.results.contains(&result)
                && matches!(&node.op, ScalarOp::Prim(PrimOp::AndP | PrimOp::OrP | PrimOp::XorP, args)
                    if args[..] == [a, b] || args[..] == [b, a])
        });
        bitwise || component(f, a, b, result).is_some()
    })
}
