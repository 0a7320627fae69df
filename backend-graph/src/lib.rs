//! The graph backend: programs flattened to first-order tensor operations, planned, exported, and run with libtorch.
//!
//! Running needs the cargo feature `libtorch` (see `docs/GRAPHS.md` in the repository); flattening, planning and
//! exporting do not.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod counts;
pub mod export;
mod plan;
pub mod specialise;
#[cfg(feature = "libtorch")]
pub mod torch;

#[cfg(feature = "libtorch")]
pub use torch::{Device, Libtorch, Options};

pub use acc_desugar::Rules;
pub use acc_desugar::graph::Graph;
pub use counts::Counts;
pub use export::json::{JsonError, from_json};
pub use export::onnx::{Unsupported, onnx};
pub use export::stablehlo::{ModuleError, stablehlo};
pub use export::{Format, export};
pub use plan::{Bytes, Peak, Plan};
pub use specialise::Specialisation;

use acc_core::api::Compiled;
use acc_core::ir::Program;
use acc_core::{Backend, Cause, Error, RunLimits};
use acc_desugar::pass::{self, Pass, Stage};
use acc_desugar::{Faults, Settings, pipeline};

/// The graph that a program becomes, simplified first; verified.
pub fn graph_of(program: &Program) -> Result<Graph, Error> {
    graph_with(program, &Rules::all(), true)
}

/// The graph that a program becomes whose faults are exact: it clamps every position, guards every divisor, and looks
/// for faults where something is evaluated only. Simplified first; verified. What [`onnx`] writes.
pub fn graph_with_exact_faults(program: &Program) -> Result<Graph, Error> {
    let (rules, limits) = (Rules::all(), RunLimits::none());
    flattened(pipeline::GRAPH, program, &without_histories(pipeline::graph_settings(&rules, Faults::Report, &limits)))
}

/// The graph that a program becomes, simplified by these rules first, with or without checks for faults; verified.
pub fn graph_with(program: &Program, rules: &Rules, checks: bool) -> Result<Graph, Error> {
    let faults = if checks { Faults::Detect } else { Faults::Ignore };
    flattened(pipeline::GRAPH, program, &pipeline::graph_settings(rules, faults, &RunLimits::none()))
}

/// The graph that a program becomes by these rules, which detects faults, until a limit; verified. What XLA runs.
pub fn graph_within(program: &Program, rules: &Rules, limits: &RunLimits) -> Result<Graph, Error> {
    flattened(pipeline::GRAPH, program, &without_histories(pipeline::graph_settings(rules, Faults::Detect, limits)))
}

/// For executors that copy an array in order to change a row of it, or run loops step by step from the host.
fn without_histories(settings: Settings<'_>) -> Settings<'_> {
    Settings { histories: false, ..settings }
}

/// The graph that a program becomes by these passes; verified.
pub(crate) fn flattened(passes: &[Pass], program: &Program, settings: &Settings<'_>) -> Result<Graph, Error> {
    let Stage::Graph(graph) = pass::run(passes, program, settings)? else {
        return Err(Error::defect("graph", "the passes before planning do not end with flattening"));
    };
    // In release builds, too: exports go elsewhere.
    if !pass::verifies() {
        acc_desugar::graph::verify(&graph).map_err(|e| Error::defect("graph", format!("flattening: {e}")))?;
    }
    Ok(graph)
}

/// The plan of a run of the graph that a program becomes; verified.
pub fn plan_of(program: &Program) -> Result<Plan, Error> {
    plan_with(program, &Rules::all())
}

/// The plan of a run of the graph that a program becomes by these rules; verified.
pub fn plan_with(program: &Program, rules: &Rules) -> Result<Plan, Error> {
    planned(pipeline::GRAPH, program, &pipeline::graph_settings(rules, Faults::Detect, &RunLimits::none()))
}

/// The plan of a run of what a program becomes by these passes.
pub(crate) fn planned(passes: &[Pass], program: &Program, settings: &Settings<'_>) -> Result<Plan, Error> {
    let graph = flattened(passes, program, settings)?;
    pass::finish("plan", settings, || Plan::within(graph, settings.limits), Plan::verify)
}

/// Compiled programs that are graphs: `compiled.graph()`.
pub trait HasGraph {
    /// The graph.
    fn graph(&self) -> &Graph;
}

impl<B: Backend, Args, Out> HasGraph for Compiled<B, Args, Out>
where
    B::Prepared: HasGraph,
{
    fn graph(&self) -> &Graph {
        self.prepared().graph()
    }
}

/// Compiled programs, on whatever backend, as graphs: `compiled.export(Format::Dot)`.
///
/// ```
/// use acc_core::prelude::*;
/// use backend_graph::{Export, Format};
/// let total = Interpreter::new().compile(|xs: Acc<Vector<f32>>| xs.sum())?;
/// assert!(total.export(Format::Text)?.contains("reduce"));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait Export {
    /// The graph that the program becomes, simplified and with checks for faults, in a format.
    fn export(&self, format: Format) -> Result<String, Error>;
    /// The program as a module of StableHLO for arguments of these extents.
    fn export_stablehlo(&self, arguments: &[specialise::Argument]) -> Result<String, Error>;
    /// The program as an ONNX model, the bytes of its file: of the graph whose faults are exact.
    fn export_onnx(&self) -> Result<Vec<u8>, Error>;
}

impl<B: Backend, Args, Out> Export for Compiled<B, Args, Out> {
    fn export(&self, format: Format) -> Result<String, Error> {
        Ok(export(&graph_of(self.program())?, format))
    }

    fn export_stablehlo(&self, arguments: &[specialise::Argument]) -> Result<String, Error> {
        stablehlo_of(self.program(), arguments)
    }

    fn export_onnx(&self) -> Result<Vec<u8>, Error> {
        onnx_of(self.program())
    }
}

/// The ONNX model of the graph that a program becomes whose faults are exact, the bytes of its file.
pub fn onnx_of(program: &Program) -> Result<Vec<u8>, Error> {
    let inputs: Vec<_> = program.param_types().cloned().collect();
    let outputs: Vec<_> = program.result_types().cloned().collect();
    onnx(&graph_with_exact_faults(program)?, &inputs, &outputs)
        .map_err(|e| Error::Export { format: "ONNX", source: Cause::new(e) })
}

/// The module of StableHLO that a program becomes for arguments of these extents, one for each parameter.
pub fn stablehlo_of(program: &Program, arguments: &[specialise::Argument]) -> Result<String, Error> {
    let inputs: Vec<_> = program.param_types().cloned().collect();
    let outputs: Vec<_> = program.result_types().cloned().collect();
    let graph = graph_of(program)?;
    let known = Specialisation::new(&graph, &inputs, arguments);
    stablehlo(&graph, &inputs, &outputs, &known, None)
        .map_err(|e| Error::Export { format: "StableHLO", source: Cause::new(e) })
}

/// The same for several processes: parameters are cut along these axes, or, if none are said, by the rule.
pub fn stablehlo_cut(
    program: &Program,
    arguments: &[specialise::Argument],
    cutting: specialise::Cutting,
    axes: Option<&[Option<usize>]>,
) -> Result<String, Error> {
    let inputs: Vec<_> = program.param_types().cloned().collect();
    let outputs: Vec<_> = program.result_types().cloned().collect();
    let graph = graph_of(program)?;
    let mut known = Specialisation::new(&graph, &inputs, arguments);
    known.cut_arguments(&graph, &inputs, cutting, axes);
    stablehlo(&graph, &inputs, &outputs, &known, Some(cutting))
        .map_err(|e| Error::Export { format: "StableHLO", source: Cause::new(e) })
}
