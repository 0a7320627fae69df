//! Graphs as JSON.

use super::{attributes, roles};
use acc_core::ir::Loc;
use acc_desugar::graph::{Body, Extent, Graph, Shapes, Value};
use serde_json::{Map, Value as Json, json};

pub(super) fn export(graph: &Graph) -> String {
    let sources: Vec<Json> =
        graph.sources.iter().map(|s| json!({ "name": s.name, "location": location(&s.loc) })).collect();
    let document = json!({
        "format": "acc-graph",
        "version": 1,
        "sources": sources,
        "body": body(graph, &Shapes::of(graph), &graph.body),
    });
    format!("{document:#}\n")
}

fn location(loc: &Loc) -> Json {
    match loc.file() {
        Some(file) => json!({ "file": file, "line": loc.line(), "column": loc.col() }),
        None => Json::Null,
    }
}

fn typed(graph: &Graph, shapes: &Shapes, values: &[Value]) -> Vec<Json> {
    let value = |v: &Value| {
        let mut out = json!({ "value": v.to_string(), "type": graph.ty(*v).to_string() });
        if let Some(fields) = out.as_object_mut()
            && matches!(graph.ty(*v), acc_desugar::graph::Type::Tensor { .. })
        {
            let extents = shapes.get(*v).iter().map(|e| match e {
                Extent::Const(n) => json!(n),
                Extent::Size(size) => json!(size.to_string()),
                Extent::Unknown => Json::Null,
            });
            fields.insert("shape".to_string(), extents.collect());
        }
        out
    };
    values.iter().map(value).collect()
}

fn names(values: &[Value]) -> Vec<String> {
    values.iter().map(Value::to_string).collect()
}

fn body(graph: &Graph, shapes: &Shapes, b: &Body) -> Json {
    let nodes: Vec<Json> = b
        .nodes
        .iter()
        .map(|n| {
            let attributes: Map<String, Json> =
                attributes(n).into_iter().map(|(k, v)| (k.to_string(), Json::String(v))).collect();
            let bodies: Map<String, Json> = roles(&n.op)
                .iter()
                .zip(n.op.bodies())
                .map(|(role, inner)| ((*role).to_string(), acc_core::grow_stack(|| body(graph, shapes, inner))))
                .collect();
            json!({
                "op": n.op.name(),
                "attributes": attributes,
                "operands": names(&n.op.operands()),
                "results": typed(graph, shapes, &n.results),
                "source": n.source,
                "location": location(&n.loc),
                "bodies": bodies,
            })
        })
        .collect();
    json!({ "params": typed(graph, shapes, &b.params), "nodes": nodes, "results": names(&b.results) })
}
