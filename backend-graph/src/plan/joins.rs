//! Concatenations of concatenations: only the outermost result is made, and the parts are written to their places in it. So
//! an array that is computed in rectangular parts is copied once, however many axes are split.

use acc_desugar::graph::{Body, Op, Value};
use std::collections::{HashMap, HashSet};

/// The concatenations whose result one other concatenation alone takes, once. `takers` are the nodes that take each value,
/// in order, and `kept` the values that somebody else may look at. Their parts are used as late as they are: `last` says so
/// afterwards.
pub(super) fn inner_joins(
    body: &Body,
    strict: &[bool],
    takers: &HashMap<Value, Vec<usize>>,
    kept: &HashSet<Value>,
    last: &mut HashMap<Value, usize>,
) -> HashSet<Value> {
    let join = |k: usize| match body.nodes.get(k).map(|n| &n.op) {
        Some(Op::Concat(parts, _)) if strict.get(k) == Some(&true) => Some(parts),
        _ => None,
    };
    let mut inner = HashSet::new();
    // The outer ones come later.
    for (k, n) in body.nodes.iter().enumerate().rev() {
        let (Some(parts), [result]) = (join(k), &n.results[..]) else { continue };
        let Some([taker]) = takers.get(result).map(Vec::as_slice) else { continue };
        let once = join(*taker).is_some_and(|parts| parts.iter().filter(|p| *p == result).count() == 1);
        if !once || kept.contains(result) {
            continue;
        }
        let end = last.get(result).copied().unwrap_or(*taker);
        for part in parts {
            let known = last.entry(*part).or_insert(end);
            *known = end.max(*known);
        }
        inner.insert(*result);
    }
    inner
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use acc_core::data::ScalarType;
    use acc_core::ir::Loc;
    use acc_core::prelude::*;
    use acc_desugar::graph::{Body, Graph, Node, Op, Type, Value, Values};

    /// For each concatenation of a plan, in order, whether it is made as parts of another one.
    fn inner(graph: Graph) -> Vec<bool> {
        let plan = Plan::new(graph);
        assert_eq!(plan.verify(), Ok(()));
        plan.steps().iter().filter(|s| matches!(s.node.op, Op::Concat(..))).map(|s| s.is_inner).collect()
    }

    /// A graph of a row `t0`, of which `joins` are the concatenations `t1`, `t2`, and so on, and that yields `results`.
    fn joins(joins: &[[u32; 2]], results: &[u32]) -> Graph {
        let row = Type::Tensor { scalar: ScalarType::F32, rank: 1 };
        let node = |(k, parts): (usize, &[u32; 2])| Node {
            results: Values::from_slice(&[Value(k as u32 + 1)]),
            op: Op::Concat(Values::from_slice(&parts.map(Value)), 0),
            source: 0,
            loc: Loc::unknown(),
        };
        let nodes = joins.iter().enumerate().map(node).collect();
        let results = results.iter().copied().map(Value).collect();
        let body = Body { params: vec![Value(0)], nodes, results };
        Graph { types: vec![row; joins.len() + 1], body, sources: Vec::new() }
    }

    #[test]
    fn of_concatenations_the_outermost_one_is_made() {
        assert_eq!(inner(joins(&[[0, 0], [1, 0], [0, 2]], &[3])), [true, true, false]);
        assert_eq!(inner(joins(&[[0, 0], [0, 0], [1, 2]], &[3])), [true, true, false]);
    }

    #[test]
    fn what_somebody_else_takes_is_made() {
        assert_eq!(inner(joins(&[[0, 0], [1, 0]], &[1, 2])), [false, false]);
        assert_eq!(inner(joins(&[[0, 0], [1, 1]], &[2])), [false, false]);
        assert_eq!(inner(joins(&[[0, 0], [1, 0], [0, 1]], &[2, 3])), [false, false, false]);
    }

    #[test]
    fn an_array_in_rectangular_parts_is_made_once() {
        let x = use_(&Matrix::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]));
        let (n, m) = x.shape();
        let inside = |i: Exp<i64>, n: Exp<i64>| i.gt(0).and(i.lt(n - 1));
        let program = generate(x.shape(), |(i, j)| {
            let own = x.index((i, j));
            inside(i, n).and(inside(j, m)).then_else(x.index((i - 1, j)) + x.index((i, j + 1)), own)
        });
        let graph = crate::graph_of(&program.program().unwrap().program).unwrap();
        let all = inner(graph);
        assert_eq!((all.len() > 1, all.iter().filter(|inner| !**inner).count()), (true, 1));
    }
}
