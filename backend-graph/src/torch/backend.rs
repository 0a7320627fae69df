//! The graph backend.

use super::Device;
use super::error::BACKEND;
use super::exec::{Executable, Stop};
use super::options::Options;
use crate::plan::Plan;
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayType, Program};
use acc_core::{Backend, Error, ProgramCache, RunLimits};
use acc_desugar::graph::Graph;
use acc_desugar::{Faults, Rules};
use std::sync::{Arc, OnceLock};

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
    executable: Executable,
    /// The program as it was written, and what it becomes when nothing is simplified and every fault is looked at, made
    /// when a run may have one.
    program: Arc<Program>,
    exact: OnceLock<Result<Executable, Error>>,
    results: Vec<ArrayType>,
}

impl Prepared {
    /// The graph it became.
    pub fn graph(&self) -> &Graph {
        self.executable.plan().graph()
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
            "this libtorch finds no device {device}, only {}; see docs/LIBTORCH.md for how to use CUDA",
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
        Ok(Prepared {
            executable: self.executable(program, &self.options.rules, faults, limits)?,
            program: program.clone(),
            exact: OnceLock::new(),
            results: program.result_types().cloned().collect(),
        })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let outcome = program.executable.run(args, &program.results, limits);
        let suspected = match outcome {
            Ok(results) => return Ok(results),
            Err(Stop::Error(e)) if !matches!(e, Error::Fault { .. }) => return Err(e),
            Err(Stop::Error(e)) => Some(e),
            Err(Stop::Suspected(e)) => e,
        };
        // The report is that of the program as it was written: simplification may change which fault is the first, and
        // the numbers of arrays. Without checks it is no report, but a run that nothing stops.
        let exact = match program.exact.get() {
            Some(exact) => exact,
            None => {
                let faults = if self.options.checks { Faults::Report } else { Faults::Mend };
                match self.executable(&program.program, &Rules::none(), faults, limits) {
                    // Another run may have more time.
                    Err(Error::Limit(limit)) => return Err(Error::Limit(limit)),
                    made => program.exact.get_or_init(|| made),
                }
            }
        };
        match exact.as_ref().map_err(Error::clone)?.run(args, &program.results, limits) {
            Ok(results) => Ok(results),
            // libtorch may be given what the fault is about, as a shape that cannot be.
            Err(Stop::Suspected(None) | Stop::Error(Error::Library { .. } | Error::OutOfMemory { .. }))
                if suspected.is_some() =>
            {
                Err(suspected.unwrap_or_else(fault_lost))
            }
            Err(Stop::Error(e)) | Err(Stop::Suspected(Some(e))) => Err(e),
            Err(Stop::Suspected(None)) => Err(fault_lost()),
        }
    }
}

/// Two runs of one program differ in whether it has a fault: a defect.
fn fault_lost() -> Error {
    Error::defect(BACKEND, "a fault was found that a second run does not have")
}

impl Libtorch {
    fn executable(
        &self,
        program: &Program,
        rules: &Rules,
        faults: Faults,
        limits: &RunLimits,
    ) -> Result<Executable, Error> {
        let plan = Plan::within(crate::flattened(program, rules, faults, limits)?, limits)?;
        let params: Vec<ArrayType> = program.param_types().cloned().collect();
        Executable::new(plan, self.options.device, faults, self.options.block_bytes, &params)
    }
}
