//! The schema of documents.

use super::field::Place;
use super::{FORMAT, VERSION, ops};
use acc_core::data::ScalarType;
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of graphs as JSON; the file `graph.schema.json` beside this one.
pub fn schema() -> String {
    let scalars: Vec<&str> = ScalarType::ALL.iter().map(|t| t.name()).collect();
    let natural = json!({ "type": "integer", "minimum": 0 });
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tensor graph of an array program",
        "description": "What `acc export --format json` writes. See docs/GRAPHS.md.",
        "type": "object",
        "properties": {
            "format": { "const": FORMAT },
            "version": { "const": VERSION },
            "sources": {
                "description": "The statements of the program that nodes come from.",
                "type": "array",
                "items": record(&[("name", json!({ "type": "string" })), ("location", reference("location"))], &[]),
            },
            "bodies": {
                "description": "Each after those inside of it; the last one is the graph's.",
                "type": "array",
                "items": reference("body"),
                "minItems": 1,
            },
        },
        "required": ["format", "version", "sources", "bodies"],
        "additionalProperties": false,
        "$defs": {
            "name": { "description": "The name of a value.", "type": "string", "pattern": "^t(0|[1-9][0-9]*)$" },
            "location": {
                "description": "Where the user wrote it; null for what a pass made.",
                "oneOf": [
                    { "type": "null" },
                    record(&[("file", json!({ "type": "string" })), ("line", natural.clone()), ("column", natural.clone())], &[]),
                ],
            },
            "definition": record(
                &[
                    ("value", reference("name")),
                    ("type", json!({
                        "description": "An integer on the host, that a check was made, or scalar type and rank of a tensor.",
                        "type": "string",
                        "pattern": format!(r"^(size|token|({})\[[0-9]+\])$", scalars.join("|")),
                    })),
                ],
                &[("shape", json!({
                    "description": "Of a tensor, as far as it is known: numbers, names of sizes, or null. It follows from the graph.",
                    "type": "array",
                    "items": { "oneOf": [{ "type": "integer" }, reference("name"), { "type": "null" }] },
                }))],
            ),
            "body": record(
                &[
                    ("params", json!({ "type": "array", "items": reference("definition") })),
                    ("nodes", json!({ "type": "array", "items": reference("node") })),
                    ("results", json!({ "type": "array", "items": reference("name") })),
                ],
                &[],
            ),
            "node": { "oneOf": ops::fields().into_iter().map(|(name, fields)| node(name, fields)).collect::<Vec<_>>() },
        },
    });
    format!("{document:#}\n")
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// An object with these fields and, maybe, those.
fn record(required: &[(&str, Json)], optional: &[(&str, Json)]) -> Json {
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Json> =
        required.iter().chain(optional).map(|(name, schema)| ((*name).to_string(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// A node with this operation.
fn node(name: &str, fields: Vec<ops::FieldSchema>) -> Json {
    let mut required = vec![("op", json!({ "const": name }))];
    for place in Place::ALL {
        let of_place: Vec<(&str, Json)> =
            fields.iter().filter(|f| f.place == place).map(|f| (f.name, f.schema.clone())).collect();
        if !of_place.is_empty() {
            required.push((place.name(), record(&of_place, &[])));
        }
    }
    required.push(("results", json!({ "type": "array", "items": reference("definition") })));
    required.push(("source", json!({ "description": "A position in `sources`.", "type": "integer", "minimum": 0 })));
    required.push(("location", reference("location")));
    record(&required, &[])
}
