//! Values of a graph between stages: tensors on the device, and what the host knows.

use crate::device::{Buffer, Device};
use crate::layout::Layout;
use crate::stages::module_error;
use acc_core::data::{ArrayData, Column, EltType, Lit, Prim, ScalarType};
use acc_core::ir::ArrayType;
use acc_core::{Charge, Error, Meter, RunLimits, timeline};
use acc_desugar::graph::Value;
use backend_graph::Specialisation;
use backend_graph::export::stablehlo::stage::gathered;
use backend_graph::specialise::Cutting;
use std::collections::HashMap;
use std::sync::Arc;

/// A tensor on the device.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) layout: Layout,
    /// The bytes that it counts for.
    pub(crate) charge: Option<Arc<Charge>>,
}

impl Tensor {
    /// What a module made, charged for what this process has of it.
    pub(crate) fn made(buffer: Buffer, layout: Layout, processes: u32, meter: &Meter) -> Result<Tensor, Error> {
        let charge = meter.charge(layout.part_bytes(processes))?;
        Ok(Tensor { buffer: Arc::new(buffer), layout, charge: Some(Arc::new(charge)) })
    }

    /// What counts for nothing: of an argument.
    pub(crate) fn of_argument(buffer: Buffer, layout: Layout) -> Tensor {
        Tensor { buffer: Arc::new(buffer), layout, charge: None }
    }

    /// A column of an argument, of which every process has all.
    pub(crate) fn of_column(
        device: &Device,
        column: &Column,
        layout: Layout,
        limits: &RunLimits,
    ) -> Result<Tensor, Error> {
        let mut span = timeline::span(timeline::Kind::Transfer, || "argument");
        span.note("bytes", || column.len() * column.ty().size());
        Ok(Tensor::of_argument(device.upload(column.slice(), &layout, limits)?, layout))
    }

    /// A size.
    pub(crate) fn of_number(device: &Device, n: i64, limits: &RunLimits) -> Result<Tensor, Error> {
        Tensor::of_column(device, &Column::from_vec(vec![n]), Layout::whole(&[], ScalarType::I64), limits)
    }

    /// Its elements: of one that is cut those of this process.
    pub(crate) fn column(&self) -> Result<Column, Error> {
        let mut span = timeline::span(timeline::Kind::Transfer, || "result");
        let column = self.buffer.own(&self.layout)?;
        span.note("bytes", || column.len() * column.ty().size());
        Ok(column)
    }

    /// The one number that it holds.
    pub(crate) fn number(&self) -> Result<i64, Error> {
        let first: Option<Lit> = self.column()?.slice().get(0);
        first.map(|l| i64::from_bits64(l.bits)).ok_or_else(|| Error::defect("xla", "a number without a value"))
    }

    /// The tensor, of which every process has all.
    pub(crate) fn whole(&self, device: &Device, limits: &RunLimits) -> Result<Tensor, Error> {
        let Some(axis) = self.layout.cut else { return Ok(self.clone()) };
        let Layout { extents, ty, .. } = &self.layout;
        let layout = Layout::whole(extents, *ty);
        let stage = gathered(extents, *ty, axis, Cutting::over(device.processes())).map_err(module_error)?;
        let module = device.compile(stage.text.as_deref().unwrap_or_default(), limits)?;
        // A module also tells its fault, of which this one has none.
        let results = [layout.clone(), Layout::whole(&[], ScalarType::I64)];
        let made = device.run(&module, &[&*self.buffer], &results, limits)?;
        let buffer = made.into_iter().next().ok_or_else(|| Error::defect("xla", "a module without a result"))?;
        Ok(Tensor { buffer: Arc::new(buffer), layout, charge: self.charge.clone() })
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
    /// The same, of which every process has all.
    pub(crate) fn whole(self, device: &Device, limits: &RunLimits) -> Result<Held, Error> {
        match self {
            Held::Tensor(t) => t.whole(device, limits).map(Held::Tensor),
            number => Ok(number),
        }
    }

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
                Held::Tensor(t) => {
                    out.cut.extend(t.layout.cut.map(|axis| (*v, axis)));
                    out.shapes.insert(*v, t.layout.extents.clone()).map(|_| ())
                }
            };
        }
        out.numbers.extend(layer.looked_at.iter().map(|(v, n)| (*v, *n)));
    }
    out
}

/// Arrays of these types, whose extents and columns come one after the other, and of which every process has all.
pub(crate) fn arrays(types: &[ArrayType], held: &[Held]) -> Result<Vec<ArrayData>, Error> {
    let of = |array: HeldArray| {
        let columns = array.columns.iter().map(Tensor::column).collect::<Result<Vec<_>, _>>()?;
        let array = ArrayData::new(array.shape, array.elt, columns);
        array.map_err(|e| Error::defect("xla", format!("a result: {e}")))
    };
    HeldArray::of(types, held)?.into_iter().map(of).collect()
}

/// An array on the devices of a mesh.
#[derive(Clone)]
pub(crate) struct HeldArray {
    pub(crate) shape: Vec<usize>,
    pub(crate) elt: EltType,
    pub(crate) columns: Vec<Tensor>,
}

pub(crate) fn extents_of(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect()
}

impl HeldArray {
    /// Arrays of these types, whose extents and columns come one after the other.
    pub(crate) fn of(types: &[ArrayType], held: &[Held]) -> Result<Vec<HeldArray>, Error> {
        let missing = || Error::defect("xla", "a result is missing");
        let mut held = held.iter();
        let mut out = Vec::new();
        for ty in types {
            let mut shape = Vec::new();
            for n in held.by_ref().take(ty.rank) {
                shape.push(usize::try_from(n.number()?).unwrap_or(0));
            }
            let mut columns = Vec::new();
            for leaf in ty.elt.leaves() {
                let Held::Tensor(t) = held.next().ok_or_else(missing)? else { return Err(missing()) };
                let layout = Layout { ty: leaf, ..t.layout.clone() };
                columns.push(Tensor { layout, ..t.clone() });
            }
            out.push(HeldArray { shape, elt: ty.elt.clone(), columns });
        }
        Ok(out)
    }

    /// All of it, on every process.
    pub(crate) fn whole(&self, device: &Device, limits: &RunLimits) -> Result<ArrayData, Error> {
        let mut held: Vec<Held> = extents_of(&self.shape).into_iter().map(Held::Number).collect();
        for t in &self.columns {
            held.push(Held::Tensor(t.whole(device, limits)?));
        }
        let ty = ArrayType { rank: self.shape.len(), elt: self.elt.clone() };
        let all = arrays(std::slice::from_ref(&ty), &held)?;
        all.into_iter().next().ok_or_else(|| Error::defect("xla", "an array is missing"))
    }
}
