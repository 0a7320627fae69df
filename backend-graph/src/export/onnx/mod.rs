//! Graphs as ONNX models (<https://onnx.ai/onnx/repo-docs/IR.html>), opset 21, or 26 where bits are cast.
//!
//! A model computes what the graph does, by operations and types that runtimes have: integers in `int64` with explicit
//! wrap-around (`stored`), loops and branches as `Loop` and `If`, folds and scans with other operators as loops. Lanes
//! that are off are masked as in the graph.
//!
//! Inputs are the columns of the program's arrays, `in<array>_<column>`, with symbolic extents; an array without
//! columns has its extents instead. Outputs are `out<array>_<column>` likewise, and `fault`: whether the run has a
//! fault, so that the other outputs mean nothing.

mod body;
mod control;
mod ops;
mod proto;
mod rows;
mod scalar;
mod stored;
mod tensor;
mod text;
mod windows;
mod writer;

use acc_core::ir::ArrayType;
use acc_desugar::graph::{Extent, Graph, Shapes, Value};
use body::Exporter;
use prost::Message;
use proto::{DataType, Dimension, Model, OperatorSet, Shape, TensorType, ValueInfo, ValueType};
use stored::{natural, stored};
pub use text::text;

/// What has no form in ONNX, or none that runtimes compute.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("ONNX runtimes lack {what}")]
pub struct Unsupported {
    /// The operation and its type.
    pub what: String,
}

/// A graph as an ONNX model, the bytes of its file. `inputs` and `outputs` are the types of the program's arrays.
pub fn onnx(graph: &Graph, inputs: &[ArrayType], outputs: &[ArrayType]) -> Result<Vec<u8>, Unsupported> {
    let mut e = Exporter::new(graph);
    let mut infos = Vec::new();
    let mut params = graph.body.params.iter();
    for (k, ty) in inputs.iter().enumerate() {
        let extents: Vec<Value> = params.by_ref().take(ty.rank).copied().collect();
        let leaves = ty.elt.leaves();
        let columns: Vec<Value> = params.by_ref().take(leaves.len()).copied().collect();
        for (c, (v, leaf)) in columns.iter().zip(&leaves).enumerate() {
            let name = format!("in{k}_{c}");
            let dims = extents.iter().map(|n| Dimension { value: Some(proto::Extent::Param(n.to_string())) });
            infos.push(info(&name, natural(*leaf), dims.collect()));
            let x = e.w.convert(&name, natural(*leaf), stored(*leaf));
            e.define(*v, x);
            if c == 0 {
                let shape = e.w.op1("Shape", &name);
                for (axis, n) in extents.iter().enumerate() {
                    let at = e.w.int(axis as i64);
                    let x = e.w.op2("Gather", &shape, &at);
                    e.define(*n, x);
                }
            }
        }
        if leaves.is_empty() {
            for (axis, n) in extents.iter().enumerate() {
                let name = format!("in{k}_extent{axis}");
                infos.push(info(&name, DataType::Int64, Vec::new()));
                e.define(*n, name);
            }
        }
    }
    let (results, fault) = e.outermost(&graph.body)?;
    let mut results = results.into_iter().zip(&graph.body.results);
    let mut out = Vec::new();
    for (k, ty) in outputs.iter().enumerate() {
        let extents: Vec<_> = results.by_ref().take(ty.rank).collect();
        let leaves = ty.elt.leaves();
        for (c, leaf) in leaves.iter().enumerate() {
            let Some((x, v)) = results.next() else { continue };
            let name = format!("out{k}_{c}");
            let y = e.w.convert(&x, stored(*leaf), natural(*leaf));
            e.w.node_into("Identity", &[&y], Vec::new(), vec![name.clone()]);
            out.push(info(&name, natural(*leaf), dimensions(&e.shapes, *v)));
        }
        if leaves.is_empty() {
            for (axis, (x, _)) in extents.iter().enumerate() {
                let name = format!("out{k}_extent{axis}");
                e.w.node_into("Identity", &[x], Vec::new(), vec![name.clone()]);
                out.push(info(&name, DataType::Int64, Vec::new()));
            }
        }
    }
    e.w.node_into("Identity", &[&fault], Vec::new(), vec!["fault".to_string()]);
    out.push(info("fault", DataType::Bool, Vec::new()));
    let versions = e.w.versions;
    let model = Model {
        ir_version: versions.ir,
        producer_name: "acc".to_string(),
        producer_version: env!("CARGO_PKG_VERSION").to_string(),
        graph: Some(e.w.finish("program", infos, out)),
        opset_import: vec![OperatorSet { domain: String::new(), version: versions.opset }],
    };
    Ok(model.encode_to_vec())
}

fn info(name: &str, element: DataType, dim: Vec<Dimension>) -> ValueInfo {
    let tensor = TensorType { element: element as i32, shape: Some(Shape { dim }) };
    ValueInfo { name: name.to_string(), ty: Some(ValueType { tensor: Some(tensor) }) }
}

/// The extents of a result: numbers, names of the inputs' extents, or unknown.
fn dimensions(shapes: &Shapes, v: Value) -> Vec<Dimension> {
    let dimension = |e: &Extent| match e {
        Extent::Const(n) => Some(proto::Extent::Value(*n)),
        Extent::Size(size) => Some(proto::Extent::Param(size.to_string())),
        Extent::Unknown => None,
    };
    shapes.get(v).iter().map(|e| Dimension { value: dimension(e) }).collect()
}
