//! The executor.

use crate::argument::Argument;
use crate::device::Device;
use crate::find::{HOW_TO_GET_ONE, found};
use crate::mesh::Mesh;
use crate::run::Run;
use crate::stages::Stages;
use crate::tensors::{Held, arrays};
use crate::worker::is_launched;
use acc_core::data::ArrayData;
use acc_core::exec::replay::{Ended, Replay};
use acc_core::ir::{ArrayType, Program};
use acc_core::{Backend, Error, Executor, Interpreter, LimitError, ProgramCache, RunLimits};
use acc_desugar::Rules;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The name in messages and tables.
const NAME: &str = "xla";

/// Runs programs, flattened to graphs, on XLA. A cheap handle: clones share their compiled programs.
///
/// A module is compiled for the extents of its arguments: a program that is called with others is compiled again.
///
/// ```no_run
/// use acc_core::prelude::*;
/// use backend_xla::Xla;
/// let xs = Vector::from([1.0f32, 2.0, 3.0]);
/// let dot = use_(&xs).zip_with(&xs, |x, y| x * y).sum();
/// assert_eq!(Xla::local()?.run(dot)?.value(), 14.0);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Xla {
    pub(crate) device: Device,
    pub(crate) mesh: Option<Mesh>,
    cache: Arc<ProgramCache<Prepared>>,
}

/// A program made ready for XLA.
pub struct Prepared {
    forms: Replay<Form>,
    program: Arc<Program>,
    results: Vec<ArrayType>,
    /// The same for equal programs, on every process.
    fingerprint: u64,
}

/// How a program runs.
enum Form {
    /// As stages of its graph, which tells whether there is a fault.
    Staged(Box<Stages>),
    /// By the interpreter, which tells which one.
    Interpreted,
}

impl Xla {
    /// On the device of the plugin that this process finds; an error if it finds none, that says how to get one.
    pub fn local() -> Result<Xla, Error> {
        let found = found();
        let Some(client) = &found.client else {
            let tried: Vec<String> = found.refused.iter().map(|(p, why)| format!("{}: {why}", p.display())).collect();
            let tried = if tried.is_empty() { "no plugin of PJRT is found".to_string() } else { tried.join("; ") };
            return Err(Error::Device { executor: NAME, message: format!("{tried}\n  help: {HOW_TO_GET_ONE}") });
        };
        Ok(Xla { device: Device::Plugin(client.clone()), mesh: None, cache: Arc::default() })
    }

    /// On a mesh. Programs that its processes run take and yield whole arrays, of which each process has all; what is large is
    /// cut between them. All must run the same programs in the same order.
    pub fn on(mesh: &Mesh) -> Result<Xla, Error> {
        let device = Device::Mesh(mesh.worker.clone());
        Ok(Xla { device, mesh: Some(mesh.clone()), cache: Arc::default() })
    }

    /// On the mesh of this process's launch ([`Mesh::from_env`]), or, if nothing has launched it, on the device of a plugin.
    pub fn from_env() -> Result<Xla, Error> {
        if is_launched() { Xla::on(&Mesh::from_env()?) } else { Xla::local() }
    }

    /// Runs a program on arguments, on the host or on the devices; its results.
    pub(crate) fn results<R>(
        &self,
        program: &Prepared,
        args: &[Argument<'_>],
        whole_results: bool,
        limits: &RunLimits,
        take: impl Fn(&[ArrayType], Given) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if let Some(mesh) = &self.mesh {
            let args = args.iter().map(|a| a.described(mesh.cutting)).collect::<Vec<_>>().join("; ");
            let what = format!("program {:016x} on {args}", program.fingerprint);
            mesh.worker.agree(&what, limits)?;
        }
        let run = |form: &Form| match form {
            Form::Staged(stages) => {
                let cutting = self.mesh.as_ref().map(|m| m.cutting);
                let run = Run { device: &self.device, cutting, whole_results, stages, limits, meter: limits.meter() };
                take(&program.results, Given::Held(run.graph(args)?)).map_err(Ended::from)
            }
            Form::Interpreted => {
                let args = args.iter().map(|a| a.on_host(&self.device, limits)).collect::<Result<Vec<_>, _>>();
                let args = args.map_err(Ended::from)?;
                let results = Interpreter::new().run_untyped(&program.program, &args, limits).map_err(Ended::from)?;
                take(&program.results, Given::Host(results)).map_err(Ended::from)
            }
        };
        let results = program.forms.run(run, || Ok(Form::Interpreted));
        if let (Some(mesh), Err(e)) = (&self.mesh, &results) {
            // Faults, and arrays that are too large, are found by all processes.
            if !matches!(e, Error::Fault { .. } | Error::Limit(LimitError::Memory { .. })) {
                mesh.worker.give_up(e);
            }
        }
        results
    }
}

/// The results of a program: on the devices, or, of the interpreter, on the host.
pub(crate) enum Given {
    Held(Vec<Held>),
    Host(Vec<ArrayData>),
}

impl Backend for Xla {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        NAME
    }

    fn cache(&self) -> &ProgramCache<Prepared> {
        &self.cache
    }

    fn prepare(&self, program: &Arc<Program>, limits: &RunLimits) -> Result<Prepared, Error> {
        let graph = backend_graph::graph_within(program, &Rules::all(), limits)?;
        let results = program.result_types().cloned().collect();
        let forms = Replay::new(Form::Staged(Box::new(Stages::new(graph))));
        let mut fingerprint = DefaultHasher::new();
        program.hash(&mut fingerprint);
        Ok(Prepared { forms, program: program.clone(), results, fingerprint: fingerprint.finish() })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let args: Vec<Argument<'_>> = args.iter().map(|a| Argument::Host(a, None)).collect();
        self.results(program, &args, true, limits, |types, given| match given {
            Given::Held(held) => arrays(types, &held),
            Given::Host(results) => Ok(results),
        })
    }
}
