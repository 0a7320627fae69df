//! Values of a graph between stages: tensors on the device, and what the host knows.

use crate::ffi::{Buffer, Client};
use acc_core::data::{ArrayData, Column, Lit, Prim, ScalarType};
use acc_core::ir::ArrayType;

use acc_core::{Cause, Charge, Error, Meter, timeline};
use acc_desugar::graph::Value;
use backend_graph::Specialisation;
use std::collections::HashMap;
use std::sync::Arc;

/// An error of the plugin.
pub(crate) fn failed(message: impl Into<String>) -> Error {
    let message: String = message.into();
    let memory = ["RESOURCE_EXHAUSTED", "Out of memory"].iter().any(|text| message.contains(text));
    if memory {
        return Error::OutOfMemory { what: "a tensor on the device".to_string(), bytes: None, at: None };
    }
    Error::Library { library: "XLA", source: Cause::new(message), at: None }
}

/// A tensor on the device.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) extents: Vec<i64>,
    pub(crate) ty: ScalarType,
    /// The bytes that it counts for.
    _charge: Option<Arc<Charge>>,
}

impl Tensor {
    /// What a module made, charged.
    pub(crate) fn made(buffer: Buffer, extents: &[i64], ty: ScalarType, meter: &Meter) -> Result<Tensor, Error> {
        let count = extents.iter().fold(1u64, |n, e| n.saturating_mul(u64::try_from(*e).unwrap_or(0)));
        let charge = meter.charge(count.saturating_mul(ty.size() as u64))?;
        Ok(Tensor { buffer: Arc::new(buffer), extents: extents.to_vec(), ty, _charge: Some(Arc::new(charge)) })
    }

    /// A column of an argument.
    pub(crate) fn of_column(client: &Arc<Client>, column: &Column, extents: &[i64]) -> Result<Tensor, Error> {
        let mut span = timeline::span(timeline::Kind::Transfer, || "argument");
        span.note("bytes", || column.len() * column.ty().size());
        let buffer = client.upload(column.slice(), extents).map_err(failed)?;
        Ok(Tensor { buffer: Arc::new(buffer), extents: extents.to_vec(), ty: column.ty(), _charge: None })
    }

    /// A size.
    pub(crate) fn of_number(client: &Arc<Client>, n: i64) -> Result<Tensor, Error> {
        Tensor::of_column(client, &Column::from_vec(vec![n]), &[])
    }

    pub(crate) fn column(&self) -> Result<Column, Error> {
        let count: usize = self.extents.iter().map(|e| usize::try_from(*e).unwrap_or(0)).product();
        let mut span = timeline::span(timeline::Kind::Transfer, || "result");
        span.note("bytes", || count * self.ty.size());
        self.buffer.download(self.ty, count).map_err(failed)
    }

    /// The one number that it holds.
    pub(crate) fn number(&self) -> Result<i64, Error> {
        let first: Option<Lit> = self.column()?.slice().get(0);
        first.map(|l| i64::from_bits64(l.bits)).ok_or_else(|| Error::defect("xla", "a number without a value"))
    }
}

/// A value that is known.
#[derive(Clone)]
pub(crate) enum Held {
    /// A size, or that a check was made.
    Number(i64),
    /// A tensor, or a size on the device.
    Tensor(Tensor),
}

impl Held {
    /// A size, or a condition.
    pub(crate) fn number(&self) -> Result<i64, Error> {
        match self {
            Held::Number(n) => Ok(*n),
            Held::Tensor(t) => t.number(),
        }
    }
}

/// What is known in a body while it runs.
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) held: HashMap<Value, Held>,
    /// Numbers of tensors that the host has looked at.
    pub(crate) looked_at: HashMap<Value, i64>,
}

/// A value in the innermost layer that knows it.
pub(crate) fn find(layers: &[Layer], v: Value) -> Option<&Held> {
    layers.iter().rev().find_map(|layer| layer.held.get(&v))
}

/// What a stage is specialised to.
pub(crate) fn specialisation(layers: &[Layer]) -> Specialisation {
    let mut out = Specialisation::default();
    for layer in layers {
        for (v, held) in &layer.held {
            match held {
                Held::Number(n) => out.numbers.insert(*v, *n).map(|_| ()),
                Held::Tensor(t) => out.shapes.insert(*v, t.extents.clone()).map(|_| ()),
            };
        }
        out.numbers.extend(layer.looked_at.iter().map(|(v, n)| (*v, *n)));
    }
    out
}

/// Arrays of these types, whose extents and columns come one after the other.
pub(crate) fn arrays(types: &[ArrayType], held: &[Held]) -> Result<Vec<ArrayData>, Error> {
    let mut held = held.iter();
    let missing = || Error::defect("xla", "a result is missing");
    let mut out = Vec::new();
    for ty in types {
        let mut shape = Vec::new();
        for n in held.by_ref().take(ty.rank) {
            shape.push(usize::try_from(n.number()?).unwrap_or(0));
        }
        let mut columns = Vec::new();
        for leaf in ty.elt.leaves() {
            let Held::Tensor(t) = held.next().ok_or_else(missing)? else { return Err(missing()) };
            columns.push(Tensor { ty: leaf, ..t.clone() }.column()?);
        }
        let array = ArrayData::new(shape, ty.elt.clone(), columns);
        out.push(array.map_err(|e| Error::defect("xla", format!("a result: {e}")))?);
    }
    Ok(out)
}
