//! Which values share memory, and where a result may take an operand's place.

use super::Place;
use acc_core::ir::PrimOp;
use acc_desugar::graph::{Body, Graph, Node, Op, Type, Value};
use std::collections::{HashMap, HashSet};

/// What a result's memory is.
pub(super) enum Memory {
    /// Its own.
    Own,
    /// That of an operand, or perhaps.
    Shared(Value),
    /// Somebody else's: not to be written to.
    Foreign,
}

/// For each node of a body the operand whose place its result may take: an element-wise operation whose operand is in
/// memory of its own that nothing looks at later. `last` is the last node that uses each value, and `kept` are those that
/// live on, perhaps under another name.
pub(super) fn overwrites(
    graph: &Graph,
    body: &Body,
    strict: &[bool],
    last: &HashMap<Value, usize>,
    kept: &HashSet<Value>,
) -> Vec<Option<Place>> {
    // The value whose memory each value shares.
    let mut roots: HashMap<Value, Value> = HashMap::new();
    // What element-wise operations yield has memory for each element; what repeats one has not.
    let mut dense: HashSet<Value> = HashSet::new();
    // Of each memory of its own the last node that uses it; none if somebody keeps it.
    let mut ends: HashMap<Value, Option<usize>> = HashMap::new();
    for (k, n) in body.nodes.iter().enumerate() {
        for (i, r) in n.results.iter().enumerate() {
            let root = match memory(graph, n, i) {
                Memory::Own => Some(*r),
                Memory::Shared(of) => roots.get(&of).copied(),
                Memory::Foreign => None,
            };
            let Some(root) = root else { continue };
            roots.insert(*r, root);
            if root == *r && is_elementwise(&n.op) {
                dense.insert(root);
            }
            let end = if kept.contains(r) || !strict[k] { None } else { Some(last.get(r).copied().unwrap_or(k)) };
            let known = ends.entry(root).or_insert(end);
            *known = known.zip(end).map(|(a, b)| a.max(b));
        }
    }
    let place = |k: usize, n: &Node| -> Option<Place> {
        if !strict[k] || !is_elementwise(&n.op) {
            return None;
        }
        let result = graph.ty(*n.results.first()?);
        let free = |v: &Value| {
            roots.get(v) == Some(v) && ends.get(v) == Some(&Some(k)) && graph.ty(*v) == result && rank(result) > 0
        };
        let operands = n.op.operands();
        // Another operand may be a part of it, read after that was written to.
        let alone = |v: &Value| operands.iter().all(|o| o == v || roots.get(o) != Some(v));
        let of = operands.iter().copied().find(|v| free(v) && alone(v))?;
        let fits = dense.contains(&of) && operands.iter().all(|v| *v == of || rank(graph.ty(*v)) == 0);
        Some(Place { of, fits })
    };
    body.nodes.iter().enumerate().map(|(k, n)| place(k, n)).collect()
}

fn rank(ty: Type) -> usize {
    match ty {
        Type::Tensor { rank, .. } => rank,
        Type::Size | Type::Token => 0,
    }
}

/// Whether each element of the result depends on the operands' elements at its place alone.
fn is_elementwise(op: &Op) -> bool {
    matches!(op, Op::Prim(..) | Op::Clip { .. } | Op::Where(..))
}

pub(super) fn memory(graph: &Graph, n: &Node, result: usize) -> Memory {
    match &n.op {
        // The absolute value of unsigned numbers is the operand itself.
        Op::Prim(PrimOp::AbsP, v) => Memory::Shared(v[0]),
        Op::Prim(..) | Op::Clip { .. } | Op::Where(..) | Op::Clamp(..) | Op::Iota { .. } | Op::Flip(..) => Memory::Own,
        Op::Gather(..)
        | Op::Take { .. }
        | Op::Pad { .. }
        | Op::Concat(..)
        | Op::Sort { .. }
        | Op::Nonzero(_)
        | Op::Softmax { .. }
        | Op::Normalize { .. }
        | Op::Cumulative(..)
        | Op::Exclusive(..)
        | Op::SegmentScan { .. }
        | Op::AnyLane(_) => Memory::Own,
        Op::Scatter { .. } => Memory::Own,
        Op::Cast(x, to) => match graph.ty(*x) {
            // Of one width and kind a conversion may be the operand itself.
            Type::Tensor { scalar, .. } if scalar.size() != to.size() || scalar.is_float() != to.is_float() => {
                Memory::Own
            }
            Type::Tensor { .. } | Type::Size | Type::Token => Memory::Shared(*x),
        },
        Op::Bitcast(x, _)
        | Op::InBounds { at: x, .. }
        | Op::Divisor(x)
        | Op::Reshape(x, _)
        | Op::Broadcast(x, _)
        | Op::Transpose(x, _)
        | Op::InsertAxes(x, _)
        | Op::Slice { x, .. }
        | Op::Select { x, .. }
        | Op::Unfold { x, .. }
        | Op::Confine { mask: x, .. } => Memory::Shared(*x),
        Op::Checked { values, .. } | Op::Trace { values, .. } => {
            values.get(result).map_or(Memory::Foreign, |v| Memory::Shared(*v))
        }
        // A window of one element is a view.
        Op::Pool { x, .. } => Memory::Shared(*x),
        // Of no element it is the neutral one, repeated.
        Op::Reduce(..) | Op::SegmentReduce { .. } | Op::Contract { .. } | Op::Convolve { .. } | Op::ArgExtreme(..) => {
            Memory::Own
        }
        Op::Size(_)
        | Op::SizeOp(..)
        | Op::ReadBack(_)
        | Op::Argument(_)
        | Op::Outside { .. }
        | Op::Extent(..)
        | Op::FromSize(_)
        | Op::Const(_)
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::If { .. }
        | Op::While { .. }
        | Op::LaneLoop { .. }
        | Op::Fault { .. } => Memory::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use acc_core::prelude::*;

    fn plan<A: Arrays>(program: impl IntoAcc<A>) -> Plan {
        let program = program.into_acc().program().unwrap().program;
        Plan::new(crate::graph_of(&program).unwrap())
    }

    fn floats() -> Acc<Vector<f32>> {
        use_(&Vector::from([1.0f32, 2.0, 3.0]))
    }

    #[test]
    fn a_chain_writes_where_it_reads_but_not_into_arguments() {
        let chain = plan(floats().map(|x| (x * 2.0 + 1.0).sin()));
        // The product is new; the sum and the sine take its place.
        assert_eq!(chain.in_place(), 2);
        assert_eq!(plan(floats().map(|x| x * 2.0)).in_place(), 0);
    }

    #[test]
    fn what_is_used_again_or_returned_is_not_written_to() {
        let both = plan(floats().map(|x| {
            let y = x * 2.0;
            (y, y + 1.0)
        }));
        assert_eq!(both.in_place(), 0);
        let shared = plan(floats().map(|x| {
            let y = x * 2.0;
            (y + 1.0) * y
        }));
        // The sum is new; the product takes a place.
        assert_eq!(shared.in_place(), 1);
    }

    #[test]
    fn what_a_loop_may_yield_as_it_is_is_not_written_to() {
        // A loop of no step yields what it was given.
        let same = |x: Exp<f64>| while_(x, |_| constant(false), |y| y + 1.0);
        let program = use_(&Vector::from([1.5f64])).map(|x| {
            let up = x.ceil();
            (same(up), 3.0 / up)
        });
        assert_eq!(plan(program).in_place(), 0);
    }

    #[test]
    fn what_the_operation_reads_elsewhere_is_not_written_to() {
        let sums = floats().map(|x| x * 2.0).compute();
        let last = sums.index(2usize);
        assert_eq!(plan(sums.map(|x| last - x)).in_place(), 0);
        assert_eq!(plan(sums.zip_with(sums.reverse(), |x, y| x - y)).in_place(), 1);
    }

    #[test]
    fn what_a_view_shows_is_not_written_to() {
        let m = use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]));
        let doubled = m.map(|x| x * 2.0).compute();
        let next = doubled.map(|x| x + 1.0);
        assert_eq!(plan((doubled.transpose(), next.clone())).in_place(), 0);
        assert_eq!(plan(next).in_place(), 1);
    }
}
