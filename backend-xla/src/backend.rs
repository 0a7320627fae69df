//! The executor.

use crate::ffi::Client;
use crate::find::{HOW_TO_GET_ONE, found};
use crate::run::Run;
use crate::stages::Stages;
use acc_core::data::ArrayData;
use acc_core::exec::replay::{Ended, Replay};
use acc_core::ir::{ArrayType, Program};
use acc_core::{Backend, Error, Executor, Interpreter, ProgramCache, RunLimits};
use acc_desugar::Rules;
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
    client: Arc<Client>,
    cache: Arc<ProgramCache<Prepared>>,
}

/// A program made ready for XLA.
pub struct Prepared {
    forms: Replay<Form>,
    program: Arc<Program>,
    results: Vec<ArrayType>,
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
        Ok(Xla { client: client.clone(), cache: Arc::default() })
    }
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
        Ok(Prepared { forms, program: program.clone(), results })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let run = |form: &Form| match form {
            Form::Staged(stages) => {
                let run = Run { client: &self.client, stages, limits, meter: limits.meter() };
                run.graph(args, &program.results)
            }
            Form::Interpreted => Interpreter::new().run_untyped(&program.program, args, limits).map_err(Ended::from),
        };
        program.forms.run(run, || Ok(Form::Interpreted))
    }
}
