//! The rules of shapes, which exports show.
//!
//! * **G5** An extent is a number, or a size that is defined where its tensor is. What comes out of a branch, and the state
//!   of a loop, has an extent only if both ways in agree: on the same one, or each on its own size of the same array.

use super::super::verify::GraphError;
use super::super::{Body, Graph, Node, Op, Value};
use super::{Extent, Shapes};

type Result = std::result::Result<(), Box<GraphError>>;

/// Checks the rules of shapes, of a verified graph.
pub fn verify_shapes(graph: &Graph, shapes: &Shapes) -> Result {
    let mut visible = vec![false; graph.types.len()];
    Verifier { shapes }.body(&graph.body, &mut visible)
}

struct Verifier<'a> {
    shapes: &'a Shapes,
}

fn wrong(node: &Node, message: String) -> Box<GraphError> {
    Box::new(GraphError { rule: "G5", op: node.op.name(), loc: node.loc.clone(), message })
}

/// One set of values that a join has: those on a way in, or those that are seen.
type Side<'a> = &'a [Value];

impl Verifier<'_> {
    fn body(&self, body: &Body, visible: &mut [bool]) -> Result {
        let define = |values: &[Value], visible: &mut [bool], to: bool| {
            values.iter().filter_map(|v| visible.get_mut(v.index()).map(|seen| *seen = to)).count()
        };
        define(&body.params, visible, true);
        for n in &body.nodes {
            for inner in n.op.bodies() {
                acc_core::grow_stack(|| self.body(inner, visible))?;
            }
            define(&n.results, visible, true);
            for r in &n.results {
                for e in self.shapes.get(*r) {
                    if let Extent::Size(s) = e
                        && visible.get(s.index()) != Some(&true)
                    {
                        return Err(wrong(n, format!("an extent of {r} is {s}, which is not defined there")));
                    }
                }
            }
            match &n.op {
                Op::If { then, else_, .. } => self.join(n, [&then.results, &else_.results], &n.results)?,
                Op::While { init, test, step } => {
                    for seen in [&n.results[..], &test.params, &step.params] {
                        self.join(n, [init, &step.results], seen)?;
                    }
                }
                // The shapes of other results follow from operands.
                _ => {}
            }
        }
        for n in &body.nodes {
            define(&n.results, visible, false);
        }
        define(&body.params, visible, false);
        Ok(())
    }

    /// That the extents seen are those of both ways.
    fn join(&self, node: &Node, ways: [Side<'_>; 2], seen: Side<'_>) -> Result {
        for (at, v) in seen.iter().enumerate() {
            for (axis, extent) in self.shapes.get(*v).iter().enumerate() {
                let own = seen.iter().position(|s| Extent::Size(*s) == *extent);
                for way in ways {
                    let of = |at: usize| way.get(at).copied();
                    let came = of(at).and_then(|v| self.shapes.get(v).get(axis).copied());
                    let wanted = match own {
                        Some(own) => of(own).map(|s| self.shapes.size(s)),
                        None => Some(*extent),
                    };
                    if *extent != Extent::Unknown && came != wanted {
                        return Err(wrong(node, format!("an extent of {v} is {extent}, and not so on every way")));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Body, Graph, Node, Op, SizeOp, Type, Value, Values};
    use super::*;
    use acc_core::data::ScalarType;
    use acc_core::ir::Loc;

    fn node(result: u32, op: Op) -> Node {
        Node { results: Values::from_slice(&[Value(result)]), op, source: 0, loc: Loc::unknown() }
    }

    /// A loop over a counter and a tensor, `step` of which yields these, with the extent of `t0`.
    fn counted(next: [u32; 2]) -> Graph {
        let row = Type::Tensor { scalar: ScalarType::F32, rank: 1 };
        let size = Type::Size;
        let test = Body { params: vec![Value(3), Value(4)], nodes: vec![], results: vec![Value(3)] };
        let sum = Op::SizeOp(SizeOp::Add, Value(5), Value(5));
        let step =
            Body { params: vec![Value(5), Value(6)], nodes: vec![node(7, sum)], results: next.map(Value).to_vec() };
        let mut looped = node(8, Op::While { init: Values::from_slice(&[Value(2), Value(1)]), test, step });
        looped.results.push(Value(9));
        let body = Body {
            params: vec![Value(0), Value(1)],
            nodes: vec![node(2, Op::Size(5)), looped],
            results: vec![Value(9)],
        };
        let types = vec![size, row, size, size, row, size, row, size, size, row];
        Graph { types, body, sources: Vec::new() }
    }

    #[test]
    fn a_counter_before_a_tensor_is_no_extent_of_it() {
        let graph = counted([7, 6]);
        super::super::super::verify(&graph).unwrap();
        let shapes = Shapes::of(&graph);
        for v in [4, 6, 9] {
            assert_eq!(shapes.get(Value(v)), [Extent::Size(Value(0))], "t{v}");
        }
        verify_shapes(&graph, &shapes).unwrap();
    }

    #[test]
    fn a_wrong_extent_is_found() {
        let graph = counted([7, 6]);
        let mut shapes = Shapes::of(&graph);
        shapes.extents[9] = vec![Extent::Size(Value(8))];
        let error = verify_shapes(&graph, &shapes).unwrap_err().to_string();
        assert!(error.contains("an extent of t9 is t8") && error.contains("G5"), "{error}");
        shapes.extents[9] = vec![Extent::Size(Value(7))];
        let error = verify_shapes(&graph, &shapes).unwrap_err().to_string();
        assert!(error.contains("not defined there"), "{error}");
    }
}
