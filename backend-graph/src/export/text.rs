//! Graphs as text.

use super::{attributes, roles};
use acc_desugar::graph::{Body, Graph, Shapes, Value};
use std::fmt::Write;

pub(super) fn export(graph: &Graph) -> String {
    let shapes = Shapes::of(graph);
    let mut out = String::new();
    let _ = writeln!(out, "graph({}) {{", typed(&shapes, &graph.body.params));
    body(graph, &shapes, &graph.body, 1, &mut out);
    out.push_str("}\n");
    out
}

fn typed(shapes: &Shapes, values: &[Value]) -> String {
    values.iter().map(|v| format!("{v}: {}", shapes.show(*v))).collect::<Vec<_>>().join(", ")
}

// Writing to a string cannot fail, so the results of `writeln!` say nothing.
fn body(graph: &Graph, shapes: &Shapes, b: &Body, depth: usize, out: &mut String) {
    let pad = super::indented(depth);
    for n in &b.nodes {
        let operands: Vec<String> = n.op.operands().iter().map(Value::to_string).collect();
        let attributes: Vec<String> = attributes(n).iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let source = graph.sources.get(n.source as usize).map_or("", |s| s.name);
        let _ =
            write!(out, "{pad}{} = {}({}){attributes}", typed(shapes, &n.results), n.op.name(), operands.join(", "));
        let _ = writeln!(out, "  // {source} at {}", n.loc);
        for (role, inner) in roles(&n.op).iter().zip(n.op.bodies()) {
            let _ = writeln!(out, "{pad}  {role}({}) {{", typed(shapes, &inner.params));
            acc_core::grow_stack(|| body(graph, shapes, inner, depth + 2, out));
            let _ = writeln!(out, "{pad}  }}");
        }
    }
    let results: Vec<String> = b.results.iter().map(Value::to_string).collect();
    let _ = writeln!(out, "{pad}yield {}", results.join(", "));
}
