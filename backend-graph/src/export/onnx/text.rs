//! Models as text, for people: one node a line, bodies indented.

use super::proto::{Attribute, Extent, Graph, Model, Node, Tensor, ValueInfo};
use prost::Message;
use std::fmt::Write;

/// A model, the bytes of its file, as text; the error says why they are no model.
pub fn text(model: &[u8]) -> Result<String, String> {
    let model = Model::decode(model).map_err(|e| format!("this is no ONNX model: {e}"))?;
    let opsets: Vec<String> = model.opset_import.iter().map(|o| o.version.to_string()).collect();
    let mut out = format!("onnx model, IR version {}, opset {}\n", model.ir_version, opsets.join(", "));
    if let Some(g) = &model.graph {
        graph(g, 0, &mut out);
    }
    Ok(out)
}

// Writing to a string cannot fail, so the results of `writeln!` say nothing.
fn graph(g: &Graph, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let typed = |values: &[ValueInfo]| values.iter().map(value).collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "{pad}{}({}) -> ({}) {{", g.name, typed(&g.input), typed(&g.output));
    for t in &g.initializer {
        let _ = writeln!(out, "{pad}  {} = {}", t.name, tensor(t));
    }
    for n in &g.node {
        node(n, depth + 1, out);
    }
    let _ = writeln!(out, "{pad}}}");
}

fn node(n: &Node, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let plain: Vec<String> = n.attribute.iter().filter(|a| a.g.is_none()).map(attribute).collect();
    let plain = if plain.is_empty() { String::new() } else { format!(" [{}]", plain.join(", ")) };
    let doc = if n.doc_string.is_empty() { String::new() } else { format!("  // {}", n.doc_string) };
    let _ = writeln!(out, "{pad}{} = {}({}){plain}{doc}", n.output.join(", "), n.op_type, n.input.join(", "));
    for a in &n.attribute {
        if let Some(g) = &a.g {
            let _ = writeln!(out, "{pad}  {}:", a.name);
            acc_core::grow_stack(|| graph(g, depth + 1, out));
        }
    }
}

fn attribute(a: &Attribute) -> String {
    match a.i {
        Some(i) => format!("{} = {i}", a.name),
        None if a.s.is_empty() => format!("{} = {:?}", a.name, a.ints),
        None => format!("{} = {:?}", a.name, String::from_utf8_lossy(&a.s)),
    }
}

/// The names of the types of elements, by their numbers.
const TYPES: [&str; 14] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
];

fn type_name(number: i32) -> &'static str {
    usize::try_from(number).ok().and_then(|n| TYPES.get(n)).copied().unwrap_or("undefined")
}

/// A constant: type, extents, and its bytes.
fn tensor(t: &Tensor) -> String {
    let bytes: String = t.raw_data.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}{:?} 0x{bytes}", type_name(t.data_type), t.dims)
}

fn value(v: &ValueInfo) -> String {
    let Some(t) = v.ty.as_ref().and_then(|ty| ty.tensor.as_ref()) else { return v.name.clone() };
    let extents = t.shape.iter().flat_map(|s| &s.dim).map(|d| match &d.value {
        Some(Extent::Value(n)) => n.to_string(),
        Some(Extent::Param(name)) => name.clone(),
        None => "?".to_string(),
    });
    format!("{}: {}[{}]", v.name, type_name(t.element), extents.collect::<Vec<_>>().join(", "))
}
