//! What operators of folds and scans do leaf by leaf, by what they compute, not by how they were written.

use acc_core::data::ScalarType;
use acc_core::ir::{Fun, PrimOp, ScalarOp, Val};

/// What an operator does to one leaf of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component<O = PrimOp> {
    /// An associative and commutative operation on the leaf of both operands.
    Op(O),
    /// The left operand's leaf.
    First,
    /// The right operand's leaf.
    Second,
}

/// What an operator does to each leaf, if it is known in all of them: it is associative then.
pub fn components(f: &Fun) -> Option<Vec<Component>> {
    let (left, right) = f.body.params.split_at_checked(f.body.results.len())?;
    let leaves = f.body.results.iter().zip(left.iter().zip(right));
    leaves.map(|(result, (a, b))| component(f, *result, *a, *b)).collect()
}

/// The operation of each leaf, if an operator is one in all of them: it is associative and commutative then.
pub fn reductions(f: &Fun) -> Option<Vec<PrimOp>> {
    let operation = |c| match c {
        Component::Op(p) => Some(p),
        Component::First | Component::Second => None,
    };
    components(f)?.into_iter().map(operation).collect()
}

fn component(f: &Fun, result: Val, a: Val, b: Val) -> Option<Component> {
    if result == a {
        return Some(Component::First);
    }
    if result == b {
        return Some(Component::Second);
    }
    let node = f.body.nodes.iter().find(|n| n.results.contains(&result))?;
    let ScalarOp::Prim(p, args) = &node.op else { return None };
    is_of(*p, args, a, b).then_some(Component::Op(*p))
}

/// Whether a primitive is associative and commutative, and of these two values.
pub(crate) fn is_of(p: PrimOp, args: &[Val], a: Val, b: Val) -> bool {
    p.is_reduction() && (args == [a, b] || args == [b, a])
}

/// The comparison that holds exactly where `p` does not. With NaN around, only equality has one.
pub(crate) fn opposite(p: PrimOp, ty: ScalarType) -> Option<PrimOp> {
    use PrimOp as P;
    let total = !ty.is_float();
    match p {
        P::EqP => Some(P::NeP),
        P::NeP => Some(P::EqP),
        P::LtP if total => Some(P::GeP),
        P::GeP if total => Some(P::LtP),
        P::GtP if total => Some(P::LeP),
        P::LeP if total => Some(P::GtP),
        _ => None,
    }
}
