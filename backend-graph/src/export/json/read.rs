//! Reading documents.

use super::field::{Place, Reader, natural, value};
use super::ops::{self, Given};
use super::{FORMAT, JsonError, VERSION};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayOp, Loc};
use acc_desugar::graph::{Body, Graph, MAX_RANK, Node, Source, Type, Value};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

type Read<T> = Result<T, JsonError>;

/// How deep bodies may nest. Texts of programs nest half as deep, and what is one level there may be two of a graph.
const MAX_DEPTH: usize = 8000;

fn error<T>(place: &str, message: impl Into<String>) -> Read<T> {
    Err(JsonError::Form { place: place.to_string(), message: message.into() })
}

/// Puts a place to what is wrong there.
trait At<T> {
    fn at(self, place: &str) -> Read<T>;
}

impl<T> At<T> for Result<T, String> {
    fn at(self, place: &str) -> Read<T> {
        self.or_else(|message| error(place, message))
    }
}

/// The graph of a document, not verified.
pub(super) fn document(text: &str) -> Read<Graph> {
    let json: Json = serde_json::from_str(text).map_err(|e| JsonError::Syntax(e.to_string()))?;
    let mut fields = object(&json, "the document", &["format", "version", "sources", "bodies"])?;
    if fields.take("format")? != FORMAT {
        return error("the document", format!("`format` is not \"{FORMAT}\""));
    }
    let version = fields.take("version")?;
    if *version != VERSION {
        return error("the document", format!("it is of version {version}, and this reads version {VERSION}"));
    }
    let mut r = Bodies { files: HashMap::new(), types: Vec::new(), reader: Reader::default() };
    let mut sources = Vec::new();
    for (k, source) in list(fields.take("sources")?, "sources")?.iter().enumerate() {
        let place = format!("source {k}");
        let mut fields = object(source, &place, &["name", "location"])?;
        let name = fields.take("name")?;
        let known = name.as_str().and_then(ArrayOp::known_name);
        let known = known.ok_or_else(|| format!("{name} is no array operation")).at(&place)?;
        sources.push(Source { name: known, loc: r.location(fields.take("location")?, &place)? });
    }
    for (k, body) in list(fields.take("bodies")?, "bodies")?.iter().enumerate() {
        let body = r.body(body, k, sources.len())?;
        r.reader.bodies.push(Some(body));
    }
    let Some(Some(body)) = r.reader.bodies.pop() else {
        return error("bodies", "there is none; the last one is the graph's");
    };
    if let Some(k) = r.reader.bodies.iter().position(Option::is_some) {
        return error(&format!("body {k}"), "it belongs to no node");
    }
    let mut types = Vec::with_capacity(r.types.len());
    r.types.sort_unstable_by_key(|(v, _)| *v);
    for (k, (v, ty)) in r.types.into_iter().enumerate() {
        // Numbered without gaps, values are positions of side tables.
        if v.index() != k {
            return error(
                &v.to_string(),
                if v.index() < k { "it is defined twice" } else { "a number before is missing" },
            );
        }
        types.push(ty);
    }
    Ok(Graph { types, body, sources })
}

/// An object whose fields are taken one by one.
struct Object<'a> {
    fields: &'a Map<String, Json>,
    place: &'a str,
}

impl<'a> Object<'a> {
    fn take(&mut self, name: &str) -> Read<&'a Json> {
        self.fields.get(name).ok_or_else(|| format!("`{name}` is missing")).at(self.place)
    }
}

/// An object with no other fields than these.
fn object<'a>(json: &'a Json, place: &'a str, known: &[&str]) -> Read<Object<'a>> {
    let fields = json.as_object().ok_or("it is no object".to_string()).at(place)?;
    match fields.keys().find(|k| !known.contains(&k.as_str())) {
        Some(other) => error(place, format!("there is no field `{other}`")),
        None => Ok(Object { fields, place }),
    }
}

fn list<'a>(json: &'a Json, place: &str) -> Read<&'a [Json]> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| "it is no list".to_string()).at(place)
}

struct Bodies {
    /// The names of files, each once.
    files: HashMap<String, Arc<str>>,
    /// The values defined.
    types: Vec<(Value, Type)>,
    reader: Reader,
}

impl Bodies {
    fn body(&mut self, json: &Json, number: usize, sources: usize) -> Read<Body> {
        let place = format!("body {number}");
        let mut fields = object(json, &place, &["params", "nodes", "results"])?;
        self.reader.inside = 0;
        let params = self.definitions(fields.take("params")?, &place)?;
        let mut nodes = Vec::new();
        for (k, node) in list(fields.take("nodes")?, &place)?.iter().enumerate() {
            nodes.push(self.node(node, format!("{place}, node {k}"), sources)?);
        }
        let results = list(fields.take("results")?, &place)?.iter().map(value).collect::<Result<_, _>>().at(&place)?;
        let body = Body { params, nodes, results };
        let depth = self.reader.inside + 1;
        if depth > MAX_DEPTH {
            return error(&place, format!("bodies are nested deeper than {MAX_DEPTH} levels"));
        }
        self.reader.depths.push(depth);
        Ok(body)
    }

    fn node(&mut self, json: &Json, place: String, sources: usize) -> Read<Node> {
        let [operands, attributes, bodies] = Place::ALL.map(Place::name);
        let known = ["op", operands, attributes, bodies, "results", "source", "location"];
        let mut fields = object(json, &place, &known)?;
        let op = fields.take("op")?.as_str().ok_or("`op` is no text".to_string()).at(&place)?;
        let place = &format!("{place} ({op})");
        let mut given = Given { fields: Default::default(), reader: &mut self.reader };
        for (to, p) in given.fields.iter_mut().zip(Place::ALL) {
            if let Some(found) = json.get(p.name()) {
                *to = found.as_object().ok_or_else(|| format!("`{}` is no object", p.name())).at(place)?.clone();
            }
        }
        let op = ops::read(op, &mut given).at(place)?;
        if let Some((left, p)) = given.fields.iter().zip(Place::ALL).find_map(|(f, p)| Some((f.keys().next()?, p))) {
            return error(place, format!("there is no `{left}` among the {}", p.name()));
        }
        let source = natural(fields.take("source")?).at(place)?;
        if source as usize >= sources {
            return error(place, format!("there is no source {source}"));
        }
        let loc = self.location(fields.take("location")?, place)?;
        Ok(Node { results: self.definitions(fields.take("results")?, place)?.into(), op, source, loc })
    }

    /// Values that are defined, with their types. Shapes follow from the graph, and are not read.
    fn definitions(&mut self, json: &Json, place: &str) -> Read<Vec<Value>> {
        let mut out = Vec::new();
        for item in list(json, place)? {
            let mut fields = object(item, place, &["value", "type", "shape"])?;
            let v = value(fields.take("value")?).at(place)?;
            let ty = fields.take("type")?;
            let found = ty.as_str().and_then(type_of).ok_or_else(|| format!("{ty} is no type of a value")).at(place)?;
            if let Type::Tensor { rank, .. } = found
                && rank > MAX_RANK
            {
                return error(place, format!("the rank of {v} is above {MAX_RANK}"));
            }
            self.types.push((v, found));
            out.push(v);
        }
        Ok(out)
    }

    fn location(&mut self, json: &Json, place: &str) -> Read<Loc> {
        if json.is_null() {
            return Ok(Loc::unknown());
        }
        let mut fields = object(json, place, &["file", "line", "column"])?;
        let file = fields.take("file")?.as_str().ok_or("`file` is no text".to_string()).at(place)?;
        let file = self.files.entry(file.to_string()).or_insert_with(|| file.into()).clone();
        Ok(Loc::new(file, natural(fields.take("line")?).at(place)?, natural(fields.take("column")?).at(place)?))
    }
}

/// `size`, `token`, or a scalar type with a rank, `f32[2]`.
fn type_of(text: &str) -> Option<Type> {
    match text {
        "size" => Some(Type::Size),
        "token" => Some(Type::Token),
        _ => {
            let (scalar, rank) = text.strip_suffix(']')?.split_once('[')?;
            Some(Type::Tensor { scalar: ScalarType::from_name(scalar)?, rank: rank.parse::<u16>().ok()?.into() })
        }
    }
}
