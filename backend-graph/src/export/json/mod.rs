//! Graphs as JSON, and back.
//!
//! A document is flat, however deep its graph is: bodies are a list in which each comes after those inside of it, the
//! graph's own last, and a node names its bodies by their positions. The module `ops` lists the fields of every operation, once
//! for writing, reading and the schema.

mod field;
mod ops;
mod read;
mod schema;

use acc_core::ir::Loc;
use acc_desugar::graph::{Body, Extent, Graph, GraphError, Shapes, Type, Value};
use field::Fields;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

pub use schema::schema;

/// What `format` says.
const FORMAT: &str = "acc-graph";
/// What `version` says. A document of another version has other fields or other meanings.
const VERSION: u64 = 7;

/// Why a text is no graph.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum JsonError {
    /// It is not JSON.
    #[error("this is not JSON: {0}")]
    Syntax(String),
    /// It is JSON of another form.
    #[error("{place}: {message}")]
    Form {
        /// Where, as in `body 1, node 3 (gather), operands`.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// The graph breaks a rule of graphs.
    #[error(transparent)]
    Rule(#[from] Box<GraphError>),
}

/// The graph that [`export`](crate::export()) wrote as JSON; verified.
pub fn from_json(text: &str) -> Result<Graph, JsonError> {
    let graph = read::document(text)?;
    acc_desugar::graph::verify(&graph)?;
    Ok(graph)
}

pub(super) fn export(graph: &Graph) -> String {
    let mut w = Writer { graph, shapes: Shapes::of(graph), bodies: Vec::new() };
    w.body(&graph.body);
    let sources: Vec<Json> =
        graph.sources.iter().map(|s| json!({ "name": s.name, "location": location(&s.loc) })).collect();
    let mut out = String::new();
    // Writing to a string cannot fail, so the results of `write!` say nothing.
    let _ = write!(out, "{{\n \"format\": \"{FORMAT}\",\n \"version\": {VERSION},\n \"sources\": ");
    lines(&mut out, sources.iter().map(Json::to_string), 2);
    out.push_str(",\n \"bodies\": ");
    lines(&mut out, w.bodies.into_iter(), 2);
    out.push_str("\n}\n");
    out
}

/// A list with an item on each line.
fn lines(out: &mut String, items: impl ExactSizeIterator<Item = String>, depth: usize) {
    let (pad, more) = (" ".repeat(depth), items.len() > 0);
    out.push('[');
    for (k, item) in items.enumerate() {
        let _ = write!(out, "{}\n{pad}{item}", if k > 0 { "," } else { "" });
    }
    if more {
        let _ = write!(out, "\n{}", " ".repeat(depth - 1));
    }
    out.push(']');
}

struct Writer<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    /// The bodies so far, as text.
    bodies: Vec<String>,
}

impl Writer<'_> {
    /// Writes a body after those inside of it; its position.
    fn body(&mut self, b: &Body) -> usize {
        let mut nodes = Vec::new();
        for n in &b.nodes {
            let mut fields = Fields::default();
            let op = ops::write(&n.op, &mut fields);
            let mut node = Map::new();
            node.insert("op".to_string(), op.into());
            let bodies = fields.bodies.iter().map(|(name, inner)| {
                let at = acc_core::grow_stack(|| self.body(inner));
                ((*name).to_string(), Json::from(at))
            });
            let bodies: Map<String, Json> = bodies.collect();
            for (key, fields) in [("operands", fields.operands), ("attributes", fields.attributes), ("bodies", bodies)]
            {
                if !fields.is_empty() {
                    node.insert(key.to_string(), fields.into());
                }
            }
            node.insert("results".to_string(), self.typed(&n.results));
            node.insert("source".to_string(), n.source.into());
            node.insert("location".to_string(), location(&n.loc));
            nodes.push(Json::Object(node).to_string());
        }
        let results: Vec<String> = b.results.iter().map(Value::to_string).collect();
        let mut out = format!("{{ \"params\": {},\n    \"nodes\": ", self.typed(&b.params));
        lines(&mut out, nodes.into_iter(), 5);
        let _ = write!(out, ",\n    \"results\": {} }}", json!(results));
        self.bodies.push(out);
        self.bodies.len() - 1
    }

    fn typed(&self, values: &[Value]) -> Json {
        let value = |v: &Value| {
            let mut out = Map::new();
            out.insert("value".to_string(), v.to_string().into());
            out.insert("type".to_string(), self.graph.ty(*v).to_string().into());
            if let Type::Tensor { .. } = self.graph.ty(*v) {
                let extents = self.shapes.get(*v).iter().map(|e| match e {
                    Extent::Const(n) => json!(n),
                    Extent::Size(size) => json!(size.to_string()),
                    Extent::Unknown => Json::Null,
                });
                out.insert("shape".to_string(), extents.collect());
            }
            Json::Object(out)
        };
        values.iter().map(value).collect()
    }
}

fn location(loc: &Loc) -> Json {
    match loc.file() {
        Some(file) => json!({ "file": file, "line": loc.line(), "column": loc.col() }),
        None => Json::Null,
    }
}
