//! Where modules run: on the device of a plugin in this process, or on those of the processes of a mesh.

use crate::ffi::{self, Client};
use crate::layout::{Layout, failed, product};
use crate::worker::{Remote, Worker};
use acc_core::data::{Column, ColumnSlice};
use acc_core::{Error, RunLimits};
use std::sync::Arc;

/// A device, or those of a mesh.
#[derive(Clone)]
pub(crate) enum Device {
    Plugin(Arc<Client>),
    Mesh(Arc<Worker>),
}

/// A compiled module.
pub(crate) enum Module {
    Plugin(ffi::Executable),
    Mesh(Remote),
}

/// The elements of a tensor.
pub(crate) enum Buffer {
    Plugin(ffi::Buffer),
    Mesh(Remote),
}

impl Device {
    /// How many processes there are.
    pub(crate) fn processes(&self) -> u32 {
        match self {
            Device::Plugin(_) => 1,
            Device::Mesh(worker) => worker.place.processes,
        }
    }

    /// Whether this is the process that speaks for all.
    pub(crate) fn is_first(&self) -> bool {
        match self {
            Device::Plugin(_) => true,
            Device::Mesh(worker) => worker.place.process == 0,
        }
    }

    pub(crate) fn compile(&self, text: &str, limits: &RunLimits) -> Result<Module, Error> {
        match self {
            Device::Plugin(client) => client.compile(text).map(Module::Plugin).map_err(failed),
            Device::Mesh(worker) => worker.compile(text, limits).map(Module::Mesh),
        }
    }

    /// A tensor of elements that every process has.
    pub(crate) fn upload(
        &self,
        elements: ColumnSlice<'_>,
        layout: &Layout,
        limits: &RunLimits,
    ) -> Result<Buffer, Error> {
        match self {
            Device::Plugin(client) => client.upload(elements, &layout.extents).map(Buffer::Plugin).map_err(failed),
            Device::Mesh(worker) => worker.put(elements, layout, true, limits).map(Buffer::Mesh),
        }
    }

    /// Runs a module, whose results are these.
    pub(crate) fn run(
        &self,
        module: &Module,
        arguments: &[&Buffer],
        results: &[Layout],
        limits: &RunLimits,
    ) -> Result<Vec<Buffer>, Error> {
        let mixed = || Error::defect("xla", "a module and tensors of different devices");
        match (self, module) {
            (Device::Plugin(_), Module::Plugin(module)) => {
                let mut of_plugin = Vec::new();
                for b in arguments {
                    let Buffer::Plugin(buffer) = b else { return Err(mixed()) };
                    of_plugin.push(buffer);
                }
                let made = module.run(&of_plugin, results.len()).map_err(failed)?;
                Ok(made.into_iter().map(Buffer::Plugin).collect())
            }
            (Device::Mesh(worker), Module::Mesh(module)) => {
                let mut ids = Vec::new();
                for b in arguments {
                    let Buffer::Mesh(remote) = b else { return Err(mixed()) };
                    ids.push(remote.id);
                }
                Ok(worker.run(module, &ids, results, limits)?.into_iter().map(Buffer::Mesh).collect())
            }
            _ => Err(mixed()),
        }
    }
}

impl Buffer {
    /// The elements that this process has, without padding.
    pub(crate) fn own(&self, layout: &Layout) -> Result<Column, Error> {
        match self {
            Buffer::Plugin(buffer) => buffer.download(layout.ty, product(&layout.extents)).map_err(failed),
            Buffer::Mesh(remote) => remote.own(layout),
        }
    }
}
