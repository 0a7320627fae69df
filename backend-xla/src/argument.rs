//! Arguments and results of runs, on the host or on the devices of a mesh.

use crate::device::Device;
use crate::layout::Layout;
use crate::tensors::{Held, HeldArray, Tensor, extents_of};
use acc_core::data::ArrayData;
use acc_core::{Error, RunLimits};
use backend_graph::specialise::Cutting;
use std::hash::{DefaultHasher, Hash, Hasher};

/// An argument of a run.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// Of which every process has all; cut along an axis, or not, if it is said, and otherwise by the rule.
    Host(&'a ArrayData, Option<Option<usize>>),
    /// On the devices.
    Held(&'a HeldArray),
}

impl Argument<'_> {
    /// Its extents and columns, on the device.
    pub(crate) fn held(
        &self,
        device: &Device,
        cutting: Option<Cutting>,
        limits: &RunLimits,
    ) -> Result<Vec<Held>, Error> {
        let shape = match self {
            Argument::Host(array, _) => array.shape(),
            Argument::Held(array) => &array.shape,
        };
        let extents = extents_of(shape);
        let mut out: Vec<Held> = extents.iter().copied().map(Held::Number).collect();
        match self {
            Argument::Host(array, said) => {
                for column in array.columns() {
                    let ty = column.ty();
                    let cut = said.unwrap_or_else(|| cutting.and_then(|c| c.axis(&extents, ty)));
                    let layout = Layout { extents: extents.clone(), ty, cut };
                    out.push(Held::Tensor(Tensor::of_column(device, column, layout, limits)?));
                }
            }
            Argument::Held(array) => out.extend(array.columns.iter().cloned().map(Held::Tensor)),
        }
        Ok(out)
    }

    /// What all processes must have the same: extents, how it is cut, and the elements where they are few.
    pub(crate) fn described(&self, cutting: Cutting) -> String {
        match self {
            Argument::Host(array, said) => {
                let mut elements = DefaultHasher::new();
                if (array.bytes() as u64) < backend_graph::specialise::MIN_CUT_BYTES {
                    array.columns().iter().for_each(|c| crate::ffi::bytes(c.slice()).hash(&mut elements));
                }
                let cut = match said {
                    Some(said) => format!("{said:?}"),
                    None => format!("by the rule from {} bytes on", cutting.min_bytes),
                };
                format!("{} of {:?}, cut {cut}, elements {:016x}", array.elt(), array.shape(), elements.finish())
            }
            Argument::Held(array) => {
                let cut = array.columns.iter().map(|t| t.layout.cut);
                format!("{} of {:?} on the devices, cut {:?}", array.elt, array.shape, cut.collect::<Vec<_>>())
            }
        }
    }

    /// The array, of which every process has all.
    pub(crate) fn on_host(&self, device: &Device, limits: &RunLimits) -> Result<ArrayData, Error> {
        match self {
            Argument::Host(array, _) => Ok((*array).clone()),
            Argument::Held(array) => array.whole(device, limits),
        }
    }
}
