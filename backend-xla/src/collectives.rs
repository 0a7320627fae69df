//! What processes send each other when they run a program together.

use crate::worker::{Collective, Place, Worker};
use acc_core::ir::Program;
use acc_core::{Error, RunLimits};
use backend_graph::specialise::{Argument, Cutting};
use std::sync::Arc;

/// The collectives of a program for arguments of these extents, as XLA compiles it for so many processes; those in a loop
/// are made in each of its steps. Nothing runs: one process compiles for all. Parameters are cut along these axes, or, if none
/// are said, as executors cut them.
pub fn collectives(
    program: &Program,
    arguments: &[Argument],
    cutting: Cutting,
    axes: Option<&[Option<usize>]>,
) -> Result<Vec<Collective>, Error> {
    let text = backend_graph::stablehlo_cut(program, arguments, cutting, axes)?;
    let worker = Arc::new(Worker::with_devices(Place::alone(), cutting.processes)?);
    let module = worker.compile(&text, &RunLimits::none())?;
    Ok(module.collectives.clone())
}
