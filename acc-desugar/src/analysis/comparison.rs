//! Comparisons of integers in functions, and functions in which some of them are decided.

use acc_core::data::{Prim, ScalarType};
use acc_core::grow_stack;
use acc_core::ir::{Fun, Node, PrimOp, Region, ScalarOp, Val};
use std::collections::HashMap;

/// How an integer compares with another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// It is no less.
    AtLeast,
    /// It is less.
    Below,
}

/// The comparison of two integers that an operation is: how, which one, and with what.
pub(crate) fn comparison(f: &Fun, op: &ScalarOp) -> Option<(Comparison, Val, Val)> {
    let ScalarOp::Prim(p, v) = op else { return None };
    let [a, b] = v[..] else { return None };
    if f.ty(a) != ScalarType::I64 {
        return None;
    }
    match p {
        PrimOp::GeP => Some((Comparison::AtLeast, a, b)),
        PrimOp::LeP => Some((Comparison::AtLeast, b, a)),
        PrimOp::LtP => Some((Comparison::Below, a, b)),
        PrimOp::GtP => Some((Comparison::Below, b, a)),
        _ => None,
    }
}

/// Adds a value to those that are true, and the values that are true where it is, by the operations that define them.
pub(crate) fn add_conjuncts<'f>(f: &Fun, definition: &dyn Fn(Val) -> Option<&'f ScalarOp>, v: Val, all: &mut Vec<Val>) {
    all.push(v);
    if let Some(ScalarOp::Prim(PrimOp::AndP, both)) = definition(v)
        && f.ty(v) == ScalarType::Bool
    {
        both.iter().for_each(|v| grow_stack(|| add_conjuncts(f, definition, *v, all)));
    }
}

/// The function with these comparisons as truth values.
pub(crate) fn decided(f: &Fun, known: &HashMap<Val, bool>) -> Fun {
    fn region(r: &Region, known: &HashMap<Val, bool>) -> Region {
        let node = |n: &Node| {
            let op = match n.results.first().and_then(|v| known.get(v)) {
                Some(truth) => ScalarOp::Const(truth.lit()),
                None => {
                    let mut op = n.op.clone();
                    for inner in op.regions_mut() {
                        *inner = grow_stack(|| region(inner, known));
                    }
                    op
                }
            };
            Node { results: n.results.clone(), op, loc: n.loc.clone() }
        };
        Region { params: r.params.clone(), nodes: r.nodes.iter().map(node).collect(), results: r.results.clone() }
    }
    if known.is_empty() {
        return f.clone();
    }
    Fun { types: f.types.clone(), body: region(&f.body, known) }
}
