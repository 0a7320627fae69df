//! The fields of operations: how each kind is written, read, and described by the schema.

use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, PrimOp};
use acc_core::text::{parse_array_type, parse_literal, show_literal};
use acc_desugar::graph::{Body, FaultKind, PadMode, ReduceOp, ScatterMode, SizeOp, Value, Values};
use serde_json::{Map, Value as Json, json};
use smallvec::SmallVec;
use std::sync::Arc;

/// In which object of a node a field stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Operands,
    Attributes,
    Bodies,
}

impl Place {
    pub(super) const ALL: [Place; 3] = [Place::Operands, Place::Attributes, Place::Bodies];

    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Operands => "operands",
            Place::Attributes => "attributes",
            Place::Bodies => "bodies",
        }
    }
}

/// The fields of a node that is written.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) operands: Map<String, Json>,
    pub(super) attributes: Map<String, Json>,
    pub(super) bodies: Vec<(&'static str, &'a Body)>,
}

/// What a field is read from beside its JSON.
#[derive(Default)]
pub(super) struct Reader {
    /// The bodies read so far that no node has taken.
    pub(super) bodies: Vec<Option<Body>>,
    /// How many bodies are inside of one another in each of them, itself included.
    pub(super) depths: Vec<usize>,
    /// The greatest depth of those that the nodes of the current body have taken.
    pub(super) inside: usize,
}

pub(super) type Read<T> = Result<T, String>;

/// A kind of field.
pub(super) trait Field: Sized {
    const PLACE: Place;
    fn write<'a>(&'a self, name: &'static str, out: &mut Fields<'a>);
    fn read(json: &Json, from: &mut Reader) -> Read<Self>;
    fn schema() -> Json;
}

/// What a text says that names one of several things.
fn one_of<T>(json: &Json, what: &str, find: impl FnOnce(&str) -> Option<T>) -> Read<T> {
    let name = json.as_str().ok_or_else(|| format!("{json} is no {what}"))?;
    find(name).ok_or_else(|| format!("there is no {what} `{name}`"))
}

pub(super) fn value(json: &Json) -> Read<Value> {
    let number = json.as_str().and_then(|s| s.strip_prefix('t')).and_then(|n| n.parse().ok());
    number.map(Value).ok_or_else(|| format!("{json} is no value; values are named \"t0\", \"t1\" and so on"))
}

fn items(json: &Json) -> Read<&[Json]> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| format!("{json} is no list"))
}

pub(super) fn natural(json: &Json) -> Read<u32> {
    let number = json.as_u64().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| format!("{json} is no number from 0 on"))
}

fn list_of(schema: Json) -> Json {
    json!({ "type": "array", "items": schema })
}

macro_rules! operands {
    ($($T:ty, $schema:expr, |$x:ident| $write:expr, |$j:ident| $read:expr;)*) => { $(
        impl Field for $T {
            const PLACE: Place = Place::Operands;
            fn write<'a>(&'a self, name: &'static str, out: &mut Fields<'a>) {
                let $x = self;
                out.operands.insert(name.to_string(), $write);
            }
            fn read($j: &Json, _: &mut Reader) -> Read<$T> { $read }
            fn schema() -> Json { $schema }
        }
    )* };
}

/// The schema of a name of a value.
fn value_schema() -> Json {
    json!({ "$ref": "#/$defs/name" })
}

operands! {
    Value, value_schema(), |v| v.to_string().into(), |j| value(j);
    Option<Value>, json!({ "oneOf": [value_schema(), { "type": "null" }] }), |v| v.map_or(Json::Null, |v| v.to_string().into()),
        |j| if j.is_null() { Ok(None) } else { value(j).map(Some) };
    Values, list_of(value_schema()), |v| v.iter().map(Value::to_string).collect(), |j| items(j)?.iter().map(value).collect();
    Vec<Value>, list_of(value_schema()), |v| v.iter().map(Value::to_string).collect(), |j| items(j)?.iter().map(value).collect();
}

/// Attributes are plain data.
macro_rules! attributes {
    ($($T:ty, $schema:expr, |$x:ident| $write:expr, |$j:ident| $read:expr;)*) => { $(
        impl Field for $T {
            const PLACE: Place = Place::Attributes;
            fn write<'a>(&'a self, name: &'static str, out: &mut Fields<'a>) {
                let $x = self;
                out.attributes.insert(name.to_string(), $write);
            }
            fn read($j: &Json, _: &mut Reader) -> Read<$T> { $read }
            fn schema() -> Json { $schema }
        }
    )* };
}

/// The schema of one of these words.
fn words(names: impl IntoIterator<Item = &'static str>) -> Json {
    json!({ "enum": names.into_iter().collect::<Vec<_>>() })
}

fn scalar_types() -> impl Iterator<Item = &'static str> {
    ScalarType::ALL.iter().map(|t| t.name())
}

attributes! {
    i64, json!({ "type": "integer" }), |n| (*n).into(), |j| j.as_i64().ok_or_else(|| format!("{j} is no integer"));
    u32, json!({ "type": "integer", "minimum": 0 }), |n| (*n).into(), |j| natural(j);
    bool, json!({ "type": "boolean" }), |b| (*b).into(), |j| j.as_bool().ok_or_else(|| format!("{j} is not true or false"));
    SmallVec<[u32; 4]>, list_of(u32::schema()), |l| json!(l[..]), |j| items(j)?.iter().map(natural).collect();
    SmallVec<[bool; 4]>, list_of(bool::schema()), |l| json!(l[..]),
        |j| items(j)?.iter().map(|b| b.as_bool().ok_or_else(|| format!("{b} is not true or false"))).collect();
    ScalarType, words(scalar_types()), |t| t.name().into(), |j| one_of(j, "scalar type", ScalarType::from_name);
    SizeOp, words(SizeOp::ALL.map(SizeOp::name)), |o| o.name().into(),
        |j| one_of(j, "operation on sizes", |n| SizeOp::ALL.into_iter().find(|o| o.name() == n));
    PrimOp, words(PrimOp::ALL.iter().map(|p| p.name())), |p| p.name().into(),
        |j| one_of(j, "primitive operation", PrimOp::from_name);
    ReduceOp, words(ReduceOp::ALL.map(ReduceOp::name)), |k| k.name().into(),
        |j| one_of(j, "known operation", |n| ReduceOp::ALL.into_iter().find(|k| k.name() == n));
    PadMode, words(PadMode::ALL.map(PadMode::name)), |m| m.name().into(),
        |j| one_of(j, "way to pad", |n| PadMode::ALL.into_iter().find(|m| m.name() == n));
    ScatterMode, words(ScatterMode::all().map(ScatterMode::name)), |m| m.name().into(),
        |j| one_of(j, "way to put values", |n| ScatterMode::all().find(|m| m.name() == n));
    Lit, json!({
            "type": "object",
            "properties": { "type": words(scalar_types()), "value": { "type": "string" } },
            "required": ["type", "value"],
            "additionalProperties": false,
        }),
        |l| json!({ "type": l.ty.name(), "value": show_literal(*l) }),
        |j| {
            let ty = one_of(&j["type"], "scalar type", ScalarType::from_name)?;
            let text = j["value"].as_str().ok_or("a literal has a `value`, a text")?;
            parse_literal(ty, text).map_err(|_| format!("{text:?} is no literal of type {ty}"))
        };
    Arc<str>, json!({ "type": "string" }), |s| s.to_string().into(),
        |j| j.as_str().map(Arc::from).ok_or_else(|| format!("{j} is no text"));
    Vec<ArrayType>, list_of(json!({ "type": "string", "pattern": r"^\[[0-9]+\]" })),
        |l| l.iter().map(ArrayType::to_string).collect(),
        |j| items(j)?.iter().map(|t| one_of(t, "type of arrays", |t| parse_array_type(t).ok())).collect();
    FaultKind, fault_schema(), |k| fault(k), |j| read_fault(j);
}

/// A kind of fault: its name, and one number or text for those that have it.
fn fault(kind: &FaultKind) -> Json {
    match kind {
        FaultKind::IndexOutOfBounds { array } => json!({ "name": "index_out_of_bounds", "array": array }),
        FaultKind::DivisionByZero => json!({ "name": "division_by_zero" }),
        FaultKind::NegativeExtent => json!({ "name": "negative_extent" }),
        FaultKind::ShapeOverflow => json!({ "name": "shape_overflow" }),
        FaultKind::EmptyFold => json!({ "name": "empty_fold" }),
        FaultKind::ReshapeSize { from } => json!({ "name": "reshape_size", "from": from }),
        FaultKind::StencilExtent { boundary } => json!({ "name": "stencil_extent", "boundary": boundary }),
        FaultKind::CheckFailed { message } => json!({ "name": "check_failed", "message": &**message }),
    }
}

fn read_fault(json: &Json) -> Read<FaultKind> {
    let name = json["name"].as_str().unwrap_or_default();
    Ok(match name {
        "index_out_of_bounds" => FaultKind::IndexOutOfBounds { array: natural(&json["array"])? },
        "division_by_zero" => FaultKind::DivisionByZero,
        "negative_extent" => FaultKind::NegativeExtent,
        "shape_overflow" => FaultKind::ShapeOverflow,
        "empty_fold" => FaultKind::EmptyFold,
        "reshape_size" => FaultKind::ReshapeSize { from: natural(&json["from"])? },
        "stencil_extent" => {
            let boundary = one_of(&json["boundary"], "boundary", |n| ["mirror", "wrap"].into_iter().find(|b| *b == n))?;
            FaultKind::StencilExtent { boundary }
        }
        "check_failed" => {
            let message = json["message"].as_str().ok_or("a check has a `message`, a text")?;
            FaultKind::CheckFailed { message: message.into() }
        }
        _ => return Err(format!("{json} is no kind of fault")),
    })
}

fn fault_schema() -> Json {
    let kind = |name: &str, field: Option<(&str, Json)>| {
        let mut properties = json!({ "name": { "const": name } });
        let mut required = vec!["name"];
        if let Some((name, schema)) = field {
            properties[name] = schema;
            required.push(name);
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    json!({ "oneOf": [
        kind("index_out_of_bounds", Some(("array", u32::schema()))),
        kind("division_by_zero", None),
        kind("negative_extent", None),
        kind("shape_overflow", None),
        kind("empty_fold", None),
        kind("reshape_size", Some(("from", u32::schema()))),
        kind("stencil_extent", Some(("boundary", words(["mirror", "wrap"])))),
        kind("check_failed", Some(("message", json!({ "type": "string" })))),
    ] })
}

impl Field for Body {
    const PLACE: Place = Place::Bodies;
    fn write<'a>(&'a self, name: &'static str, out: &mut Fields<'a>) {
        out.bodies.push((name, self));
    }
    fn read(json: &Json, from: &mut Reader) -> Read<Body> {
        let at = natural(json)?;
        let missing = || format!("body {at} is not one that stands before and belongs to no other node");
        let body = from.bodies.get_mut(at as usize).and_then(Option::take).ok_or_else(missing)?;
        from.inside = from.inside.max(from.depths.get(at as usize).copied().unwrap_or(0));
        Ok(body)
    }
    fn schema() -> Json {
        u32::schema()
    }
}
