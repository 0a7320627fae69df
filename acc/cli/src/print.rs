//! `acc print FILE`

use crate::output::{read_program, say};
use acc_core::ir::Program;
use acc_core::{Backend, Error, RunLimits};
use acc_desugar::pass::{self, Pass, Stage};
use acc_desugar::{Faults, RULES, Rules, pipeline};
use backend_native::{Native, Options};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Print a program in text form.
#[derive(clap::Args)]
pub struct Args {
    /// A program or test file in text form; `-` is standard input.
    #[arg(required_unless_present = "passes")]
    file: Option<PathBuf>,
    /// After this pass and those before it; `--passes` lists them.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// After the passes of this executor. If not given, of the native one, or the one that has the pass.
    #[arg(long, value_name = "EXECUTOR")]
    executor: Option<Executor>,
    /// Without this rule of simplification or of graphs; may be given several times. `acc print --passes` lists the rules, too.
    #[arg(long, value_name = "RULE", requires = "after")]
    without: Vec<String>,
    /// With the source location of every operation.
    #[arg(long)]
    locations: bool,
    /// List the passes of each executor, in order, and the rules, instead.
    #[arg(long)]
    passes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Executor {
    Native,
    Graph,
}

impl Executor {
    fn name(self) -> &'static str {
        match self {
            Executor::Native => "native",
            Executor::Graph => "graph",
        }
    }

    fn passes(self) -> &'static [Pass] {
        match self {
            Executor::Native => pipeline::NATIVE,
            Executor::Graph => pipeline::GRAPH,
        }
    }

    fn has(self, name: &str) -> bool {
        pass::with_parts(self.passes()).any(|p| p.name == name)
    }
}

const EXECUTORS: [Executor; 2] = [Executor::Native, Executor::Graph];

pub fn main(args: &Args) -> crate::Outcome {
    let Some(file) = args.file.as_ref().filter(|_| !args.passes) else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let program = read_program(file)?.program;
    let text = match &args.after {
        None => show(&program, args.locations),
        Some(name) => {
            let asked = args.executor.map_or(EXECUTORS.to_vec(), |e| vec![e]);
            let executor = asked.iter().copied().find(|e| e.has(name)).ok_or_else(|| unknown(name, &asked))?;
            after(&program, executor, name, rules(&args.without)?, args.locations).map_err(|e| e.to_string())?
        }
    };
    say!("{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn show(p: &Program, locations: bool) -> String {
    if locations { p.to_string() } else { format!("{p:#}") }
}

/// What a program is after a pass of an executor.
fn after(
    program: &Arc<Program>,
    executor: Executor,
    name: &str,
    rules: Rules,
    locations: bool,
) -> Result<String, Error> {
    let limits = RunLimits::none();
    let settings = match executor {
        Executor::Native => backend_native::pass_settings(&rules, &limits),
        Executor::Graph => pipeline::graph_settings(&rules, Faults::Detect, &limits),
    };
    match pass::until(executor.passes(), name, program, &settings) {
        Some(Ok(Stage::Program(p))) => Ok(show(&p, locations)),
        Some(Ok(Stage::Fused(p, fusion))) => Ok(format!("{}{fusion}", show(&p, locations))),
        Some(Ok(Stage::Graph(g))) => Ok(backend_graph::export(&g, backend_graph::Format::Text)),
        Some(Err(e)) => Err(e),
        // The executor's own pass.
        None => match executor {
            Executor::Native => {
                let native = Native::with(Options::new().rules(rules))?;
                let kernels = native.prepare(program, &limits)?.explain().all_kernels();
                Ok(if locations { kernels.to_string() } else { format!("{kernels:#}") })
            }
            Executor::Graph => Ok(backend_graph::plan_with(program, &rules)?.to_string()),
        },
    }
}

/// All rules but these.
fn rules(without: &[String]) -> Result<Rules, String> {
    without.iter().try_fold(Rules::all(), |rules, name| {
        rules.without(name).ok_or_else(|| {
            let names: Vec<&str> = RULES.iter().map(|r| r.name).collect();
            format!("there is no rule `{name}`; there are: {}", names.join(", "))
        })
    })
}

fn unknown(name: &str, executors: &[Executor]) -> String {
    let mut names: Vec<&str> = executors.iter().flat_map(|e| pass::with_parts(e.passes())).map(|p| p.name).collect();
    let mut met = std::collections::HashSet::new();
    names.retain(|n| met.insert(*n));
    let of = match executors {
        [one] => format!(" of the {} executor", one.name()),
        _ => String::new(),
    };
    format!("there is no pass `{name}`{of}; there are: {}", names.join(", "))
}

fn list() {
    for executor in EXECUTORS {
        say!("{}:", executor.name());
        for pass in executor.passes() {
            show_pass(pass, "  ");
            pass.parts().iter().for_each(|part| show_pass(part, "    "));
        }
    }
    say!("rules, each of which `--without` leaves out:");
    RULES.iter().for_each(|rule| say!("  {:<16} {}", rule.name, rule.what));
}

fn show_pass(pass: &Pass, indent: &str) {
    say!("{indent}{:<16} {}", pass.name, pass.what);
    say!("{indent}{:<16}   {} -> {}", "", pass.before, pass.after);
}
