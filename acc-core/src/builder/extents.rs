//! Literal extents become arguments, so that a program is the same for all of them.

use crate::data::{ArrayData, EltType, Lit, ScalarType};
use crate::ir::{ArrayId, Fun, Node, Read, ScalarOp, Val};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// The largest literal that stays where it is added to an extent, or multiplies or divides one: that is a margin, a stride or a
/// window, which analyses of indices need to know, and there are few of them.
const MAX_MARGIN: u64 = 16;

/// The closed function `f` with a read of a new rank-0 array in place of each use of an `i64` literal, but for
/// [small ones](MAX_MARGIN) in arithmetic.
///
/// One array per use, not per literal: which literals are equal must not show in the structure either. A function with
/// branches or loops stays as it is: there a literal may be one that nobody demands.
pub(super) fn lift_literals(f: &Fun, param: &mut dyn FnMut(i64) -> ArrayId) -> Fun {
    let is_literal = |n: &Node| matches!(&n.op, ScalarOp::Const(l) if l.ty == ScalarType::I64);
    if !f.body.nodes.iter().any(is_literal) || f.body.nodes.iter().any(|n| !n.op.regions().is_empty()) {
        return f.clone();
    }
    let mut out = f.clone();
    let old = std::mem::take(&mut out.body.nodes);
    let mut literals: HashMap<Val, (Lit, Node)> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for n in old {
        match (&n.op, n.results.first()) {
            (ScalarOp::Const(l), Some(&v)) if l.ty == ScalarType::I64 => {
                literals.insert(v, (*l, n));
            }
            _ => {
                let op = n.op.map(&mut |a| *a, &mut |v| match literals.get(&v) {
                    Some((l, literal)) if (l.bits as i64).unsigned_abs() <= MAX_MARGIN => {
                        let result = out.new_val(ScalarType::I64);
                        nodes.push(Node { results: smallvec![result], ..literal.clone() });
                        result
                    }
                    _ => read(v, &literals, &mut out, &mut nodes, param),
                });
                nodes.push(Node { op, ..n });
            }
        }
    }
    let results = std::mem::take(&mut out.body.results);
    out.body.results = results.into_iter().map(|v| read(v, &literals, &mut out, &mut nodes, param)).collect();
    out.body.nodes = nodes;
    renumber(&out)
}

/// The same function, of straight-line code, with values numbered in order of definition: the literals leave no gaps.
fn renumber(f: &Fun) -> Fun {
    let defined = f.body.params.iter().chain(f.body.nodes.iter().flat_map(|n| &n.results));
    let number: HashMap<Val, Val> = defined.enumerate().map(|(i, v)| (*v, Val(i as u32))).collect();
    let mut types = vec![ScalarType::I64; number.len()];
    for (old, new) in &number {
        types[new.index()] = f.ty(*old);
    }
    Fun { types, body: f.body.map(&mut |a| *a, &mut |v| number.get(&v).copied().unwrap_or(v)) }
}

/// What stands for a use of `v`.
fn read(
    v: Val,
    literals: &HashMap<Val, (Lit, Node)>,
    f: &mut Fun,
    nodes: &mut Vec<Node>,
    param: &mut dyn FnMut(i64) -> ArrayId,
) -> Val {
    let Some((lit, node)) = literals.get(&v) else { return v };
    let result = f.new_val(ScalarType::I64);
    let op = ScalarOp::Index(Read::new(param(lit.bits as i64), [0].as_slice(), SmallVec::new()));
    nodes.push(Node { results: smallvec![result], op, loc: node.loc.clone() });
    result
}

/// A rank-0 array of an extent.
pub(super) fn extent_argument(n: i64) -> ArrayData {
    use crate::data::Prim;
    match ArrayData::from_leaves([], EltType::Scalar(ScalarType::I64), [[n.lit()]]) {
        Ok(data) => data,
        // One element for the one position of rank 0.
        Err(e) => unreachable!("{e}"),
    }
}
