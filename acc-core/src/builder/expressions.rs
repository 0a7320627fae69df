//! Scalar expressions by kind, as the typed API makes them.

use super::frame::{ExpNode, ExpOp, ExpRef, push, with};
use super::{AccOp, AccRef};
use crate::data::{EltType, Lit, ScalarType};
use crate::error::BuildError;
use crate::ir::{Loc, PrimOp};
use std::sync::Arc;

/// A literal.
pub fn constant(lit: Lit, loc: &Loc) -> ExpRef {
    push(ExpOp::Const(lit), EltType::Scalar(lit.ty), loc)
}

/// The value of an expression that is a literal.
pub fn literal(x: ExpRef) -> Option<Lit> {
    with(|b| match b.usable(x)?.op {
        ExpOp::Const(l) => Some(l),
        _ => None,
    })
}

/// A tuple; `ty` is its type.
pub fn tuple(parts: &[ExpRef], ty: EltType, loc: &Loc) -> ExpRef {
    push(ExpOp::Tuple(parts.iter().copied().collect()), ty, loc)
}

/// A component of a tuple; `ty` is its type.
pub fn proj(of: ExpRef, index: u32, ty: EltType, loc: &Loc) -> ExpRef {
    with(|b| {
        // A component of a tuple just made is that part itself.
        if let Some(ExpNode { op: ExpOp::Tuple(parts), .. }) = b.usable(of)
            && let Some(part) = parts.get(index as usize)
            && b.usable(*part).is_some()
        {
            return *part;
        }
        b.push(ExpOp::Proj(of, index), ty, loc)
    })
}

/// A primitive operation; `ty` is its result's type.
pub fn prim(op: PrimOp, args: &[ExpRef], ty: ScalarType, loc: &Loc) -> ExpRef {
    push(ExpOp::Prim(op, args.iter().copied().collect()), EltType::Scalar(ty), loc)
}

/// A numeric conversion.
pub fn cast(x: ExpRef, from: ScalarType, to: ScalarType, loc: &Loc) -> ExpRef {
    if from == to { x } else { push(ExpOp::Cast(x), EltType::Scalar(to), loc) }
}

/// A conditional of type `ty`.
pub fn cond(c: ExpRef, t: ExpRef, e: ExpRef, ty: EltType, loc: &Loc) -> ExpRef {
    push(ExpOp::Cond(c, t, e), ty, loc)
}

/// The zero of any type: what stands where no value is defined.
pub fn zero(ty: &EltType, loc: &Loc) -> ExpRef {
    match ty {
        EltType::Scalar(s) => constant(Lit::zero(*s), loc),
        EltType::Tuple(parts) => {
            let parts: Vec<ExpRef> = parts.iter().map(|p| zero(p, loc)).collect();
            tuple(&parts, ty.clone(), loc)
        }
    }
}

/// The leaves of `x`, of type `from`, as a value of type `to`; an error if these differ in their leaves.
pub fn coerce(x: ExpRef, from: &EltType, to: &EltType, loc: &Loc) -> ExpRef {
    fn leaves(x: ExpRef, ty: &EltType, loc: &Loc, out: &mut Vec<ExpRef>) {
        match ty {
            EltType::Scalar(_) => out.push(x),
            EltType::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    leaves(proj(x, i as u32, part.clone(), loc), part, loc, out);
                }
            }
        }
    }
    fn pack(ty: &EltType, leaves: &mut std::vec::IntoIter<ExpRef>, loc: &Loc) -> Option<ExpRef> {
        match ty {
            EltType::Scalar(_) => leaves.next(),
            EltType::Tuple(parts) => {
                let parts = parts.iter().map(|p| pack(p, leaves, loc)).collect::<Option<Vec<_>>>()?;
                Some(tuple(&parts, ty.clone(), loc))
            }
        }
    }
    let mut parts = Vec::new();
    leaves(x, from, loc, &mut parts);
    match pack(to, &mut parts.into_iter(), loc).filter(|_| from.leaves() == to.leaves()) {
        Some(packed) => packed,
        None => {
            let from = from.to_string();
            push(
                ExpOp::Poison(Arc::new(BuildError::Coerce { from, to: to.to_string(), used: loc.clone() })),
                to.clone(),
                loc,
            )
        }
    }
}

/// An element of an array, of type `ty`.
pub fn element(array: &AccRef, index: ExpRef, ty: EltType, loc: &Loc) -> ExpRef {
    if let AccOp::Element(r) = array.op {
        return r;
    }
    push(ExpOp::Index(array.clone(), index), ty, loc)
}

/// The extents of an array of this rank, as an index.
pub fn extent(array: &AccRef, rank: usize, loc: &Loc) -> ExpRef {
    let int = EltType::Scalar(ScalarType::I64);
    let parts: Vec<ExpRef> =
        (0..rank as u32).map(|axis| push(ExpOp::Extent(array.clone(), axis), int.clone(), loc)).collect();
    match parts[..] {
        [one] => one,
        _ => tuple(&parts, EltType::index(rank), loc),
    }
}
