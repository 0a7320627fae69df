//! Folds and scans over `f16` accumulate in `f32`: a running sum in eleven bits stops growing at 2048.
//!
//! The operator is the same function with `f32` in the place of every `f16`; the elements are widened before, and the
//! results rounded once after.

use crate::data::{EltType, Prim, ScalarType};
use crate::ir::{Fun, Loc, Node, Region, ScalarOp, Val, Vals};
use half::f16;

const NARROW: ScalarType = ScalarType::F16;

fn wide(ty: ScalarType) -> ScalarType {
    if ty == NARROW { ScalarType::F32 } else { ty }
}

/// The element type with `f32` for `f16`, if there is one in it.
pub(super) fn wide_elt(elt: &EltType) -> Option<EltType> {
    fn go(elt: &EltType) -> EltType {
        match elt {
            EltType::Scalar(ty) => EltType::Scalar(wide(*ty)),
            EltType::Tuple(parts) => EltType::tuple(parts.iter().map(go)),
        }
    }
    elt.leaves().contains(&NARROW).then(|| go(elt))
}

/// The function from one element type to another of the same structure.
pub(super) fn conversion(from: &EltType, to: &EltType, loc: &Loc) -> Fun {
    let types = from.leaves();
    let params: Vec<Val> = (0..types.len() as u32).map(Val).collect();
    let mut f =
        Fun { types: types.to_vec(), body: Region { params: params.clone(), nodes: Vec::new(), results: params } };
    cast_results(&mut f, to, loc);
    f
}

/// Converts what a function yields to an element type of the same structure.
pub(super) fn cast_results(f: &mut Fun, to: &EltType, loc: &Loc) {
    for (k, &ty) in to.leaves().iter().enumerate() {
        let x = f.body.results[k];
        if f.ty(x) != ty {
            f.body.results[k] = f.new_val(ty);
            f.body.nodes.push(node([f.body.results[k]], ScalarOp::Cast(x), loc));
        }
    }
}

fn node(results: impl IntoIterator<Item = Val>, op: ScalarOp, loc: &Loc) -> Node {
    Node { results: results.into_iter().collect(), op, loc: loc.clone() }
}

/// The same function with `f32` for `f16`. What it reads from arrays, and what it looks at bit by bit, stays `f16`.
pub(super) fn widened(f: &Fun) -> Fun {
    let (mut types, mut body) = (f.types.iter().map(|&ty| wide(ty)).collect(), f.body.clone());
    region(&mut body, f, &mut types);
    Fun { types, body }
}

fn region(r: &mut Region, from: &Fun, types: &mut Vec<ScalarType>) {
    let narrow = |v: Val| from.ty(v) == NARROW;
    let new = |types: &mut Vec<ScalarType>| {
        types.push(NARROW);
        Val(types.len() as u32 - 1)
    };
    for mut n in std::mem::take(&mut r.nodes) {
        // A host function of `f16` is none of `f32`: the fallback runs.
        n.op.regions_mut().into_iter().for_each(|inner| crate::grow_stack(|| region(inner, from, types)));
        if let ScalarOp::Const(l) = &mut n.op
            && l.ty == NARROW
        {
            *l = f16::from_bits64(l.bits).to_f32().lit();
        }
        if let ScalarOp::Bitcast(x) = &mut n.op
            && narrow(*x)
        {
            let bits = new(types);
            r.nodes.push(node([bits], ScalarOp::Cast(*x), &n.loc));
            *x = bits;
        }
        if !matches!(n.op, ScalarOp::Bitcast(_) | ScalarOp::Index(_)) {
            r.nodes.push(n);
            continue;
        }
        let read: Vals = n.results.iter().map(|&v| if narrow(v) { new(types) } else { v }).collect();
        let casts = n.results.iter().zip(&read).filter(|(v, read)| v != read);
        let casts: Vec<Node> = casts.map(|(&v, &read)| node([v], ScalarOp::Cast(read), &n.loc)).collect();
        r.nodes.push(Node { results: read, ..n });
        r.nodes.extend(casts);
    }
}
