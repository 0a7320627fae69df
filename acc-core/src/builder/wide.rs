//! Folds and scans over `f16` accumulate in `f32`: a running sum in eleven bits stops growing at 2048.
//!
//! The operator is the same function with `f32` in the place of every `f16`; the elements are widened before, and the
//! results rounded once after.

use crate::data::{EltType, Lit, Prim, ScalarType};
use crate::ir::{Foreign, Fun, Loc, Node, Region, ScalarOp, Val, Vals};
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
    let mut to = Fun {
        types: f.types.iter().map(|&ty| wide(ty)).collect(),
        body: Region { params: Vec::new(), nodes: Vec::new(), results: Vec::new() },
    };
    to.body = region(&f.body, f, &mut to);
    to
}

fn region(r: &Region, from: &Fun, to: &mut Fun) -> Region {
    let mut nodes = Vec::with_capacity(r.nodes.len());
    for n in &r.nodes {
        let narrow = |v: Val| from.ty(v) == NARROW;
        let op = match &n.op {
            ScalarOp::Const(l) if l.ty == NARROW => ScalarOp::Const(f16::from_bits64(l.bits).to_f32().lit()),
            ScalarOp::Bitcast(x) if narrow(*x) => {
                let bits = to.new_val(NARROW);
                nodes.push(node([bits], ScalarOp::Cast(*x), &n.loc));
                ScalarOp::Bitcast(bits)
            }
            ScalarOp::If { cond, then, else_ } => crate::grow_stack(|| ScalarOp::If {
                cond: *cond,
                then: region(then, from, to),
                else_: region(else_, from, to),
            }),
            ScalarOp::While { init, test, step } => crate::grow_stack(|| ScalarOp::While {
                init: init.clone(),
                test: region(test, from, to),
                step: region(step, from, to),
            }),
            // A host function of `f16` is none of `f32`: the fallback runs.
            ScalarOp::Own(Foreign { name, args, fallback }) => {
                let fallback = crate::grow_stack(|| region(fallback, from, to));
                ScalarOp::Own(Foreign { name: name.clone(), args: args.clone(), fallback })
            }
            ScalarOp::Const(Lit { .. })
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => n.op.clone(),
        };
        if !matches!(n.op, ScalarOp::Bitcast(_) | ScalarOp::Index(_)) {
            nodes.push(Node { results: n.results.clone(), op, loc: n.loc.clone() });
            continue;
        }
        let results: Vals = n.results.iter().map(|&v| if narrow(v) { to.new_val(NARROW) } else { v }).collect();
        nodes.push(node(results.iter().copied(), op, &n.loc));
        for (&v, &read) in n.results.iter().zip(&results) {
            if v != read {
                nodes.push(node([v], ScalarOp::Cast(read), &n.loc));
            }
        }
    }
    Region { params: r.params.clone(), nodes, results: r.results.clone() }
}
