//! The graph backend.

use super::Device;
use super::error::BACKEND;
use super::exec::Executable;
use super::options::Options;
use acc_core::data::ArrayData;
use acc_core::exec::replay::{Ended, Replay};
use acc_core::ir::{ArrayType, Program};
use acc_core::{Backend, Error, ProgramCache, RunLimits};
use acc_desugar::graph::Graph;
use acc_desugar::pass::Pass;
use acc_desugar::{Faults, Settings, pipeline};
use std::sync::Arc;

/// Runs programs, flattened to first-order tensor operations, with libtorch. A cheap handle: clones share their
/// compiled programs.
///
/// ```
/// use acc_core::prelude::*;
/// use backend_graph::Libtorch;
/// let xs = Vector::from([1.0f32, 2.0, 3.0]);
/// let dot = use_(&xs).zip_with(&xs, |x, y| x * y).sum();
/// assert_eq!(Libtorch::cpu().run(dot)?.value(), 14.0);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Libtorch {
    options: Arc<Options>,
    cache: Arc<ProgramCache<Prepared>>,
}

/// A program compiled for libtorch.
pub struct Prepared {
    executable: Replay<Executable>,
    /// The program as it was written.
    program: Arc<Program>,
    results: Vec<ArrayType>,
}

impl Prepared {
    /// The graph it became.
    pub fn graph(&self) -> &Graph {
        self.executable.fast().plan().graph()
    }
}

impl Prepared {
    /// What a run costs in calls of libtorch.
    pub fn counts(&self) -> crate::Counts {
        crate::Counts::of(self.graph())
    }
}

impl crate::HasGraph for Prepared {
    fn graph(&self) -> &Graph {
        Prepared::graph(self)
    }
}

impl Libtorch {
    /// On the CPU.
    pub fn cpu() -> Libtorch {
        Libtorch::on(Options::new())
    }

    fn on(options: Options) -> Libtorch {
        Libtorch { options: Arc::new(options), cache: Arc::default() }
    }

    /// On a device, which must be one of [`Device::available`].
    pub fn new(device: Device) -> Result<Libtorch, Error> {
        Libtorch::with(Options::new().device(device))
    }

    /// An executor with these options; an error if the device is none of [`Device::available`].
    pub fn with(options: Options) -> Result<Libtorch, Error> {
        let (available, device) = (Device::available(), options.device);
        if available.contains(&device) {
            return Ok(Libtorch::on(options));
        }
        let names: Vec<String> = available.iter().map(Device::to_string).collect();
        let message = format!(
            "this libtorch finds no device {device}, only {}; see docs/GRAPHS.md for how to use CUDA",
            names.join(", ")
        );
        Err(Error::Device { executor: BACKEND, message })
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.options.device
    }
}

impl Backend for Libtorch {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        match self.options.device {
            Device::Cpu => "graph",
            Device::Cuda(_) => "graph-cuda",
        }
    }

    fn cache(&self) -> &ProgramCache<Prepared> {
        &self.cache
    }

    fn prepare(&self, program: &Arc<Program>, limits: &RunLimits) -> Result<Prepared, Error> {
        let faults = if self.options.checks { Faults::Detect } else { Faults::Ignore };
        let executable = self.executable(pipeline::GRAPH, program, faults, limits)?;
        let results = program.result_types().cloned().collect();
        Ok(Prepared { executable: Replay::new(executable), program: program.clone(), results })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let run = |e: &Executable| e.run(args, &program.results, limits).map_err(Ended::from);
        program.executable.run(run, || {
            // Without checks it is no report, but a run that nothing stops.
            let faults = if self.options.checks { Faults::Report } else { Faults::Mend };
            self.executable(pipeline::GRAPH_EXACT, &program.program, faults, limits)
        })
    }
}

impl Libtorch {
    fn executable(
        &self,
        passes: &[Pass],
        program: &Program,
        faults: Faults,
        limits: &RunLimits,
    ) -> Result<Executable, Error> {
        let settings = pipeline::graph_settings(&self.options.rules, faults, limits);
        let settings = Settings { kept_states: self.options.kept_states, ..settings };
        let plan = crate::planned(passes, program, &settings)?;
        let params: Vec<ArrayType> = program.param_types().cloned().collect();
        Executable::new(plan, self.options.device, faults, self.options.block_bytes, &params)
    }
}
