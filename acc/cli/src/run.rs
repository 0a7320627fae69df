//! `acc run FILE`

use crate::launch;
use crate::output::trace::Parts;
use crate::output::{progress, read_program, say};
use acc_core::text::{TestFile, show_array};
use conformance::executors::{Registered, State};
use conformance::{executors, headers, runner, structure};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// The executor that runs on several processes.
const ON_PROCESSES: &str = "xla";

/// Run the program of a test file on its inputs and compare the results with what it expects.
///
/// On a terminal, a run that takes more than a second shows what it is doing.
#[derive(clap::Args)]
pub struct Args {
    /// A test file: a program with `run { ... }` sections (docs/TEXT.md).
    file: PathBuf,
    /// Only this executor; if not given, all that are there and that the file is for (`executors:`).
    #[arg(long)]
    executor: Option<String>,
    /// The most elements to print of each result.
    #[arg(long, default_value_t = 100)]
    elements: usize,
    /// On so many processes of this machine, each with its part of the arrays; with `--executor xla` only.
    #[arg(long, requires = "executor", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
}

pub fn main(args: &Args, parts: Option<&Parts>) -> crate::Outcome {
    if let Some(processes) = args.processes {
        return launched(args, processes, parts);
    }
    let file = read_program(&args.file)?;
    let selected = selected(&file, args)?;
    if file.runs.is_empty() && file.structures.is_empty() {
        return Err(format!(
            "{} has nothing to run\n  help: add a section `run {{ name = [extents] type {{ ... }}  expect agree }}` after the program",
            args.file.display()
        ));
    }
    let mut failed = 0;
    for expected in &file.structures {
        let executor = &expected.executor.text;
        match structure::check(&file, expected) {
            Ok(()) => say!("structure for {executor}: as expected"),
            Err(why) => {
                failed += 1;
                say!("structure for {executor}: NOT as expected: {why}");
            }
        }
    }
    for run in &file.runs {
        say!("run {} at line {}", run.name.as_deref().unwrap_or("without a name"), run.line);
        let mut shown: Option<String> = None;
        for registered in &selected {
            let Some(executor) = registered.present() else { continue };
            let start = Instant::now();
            let outcome = progress::during(|| runner::execute(&**executor, &file, run));
            let time = start.elapsed();
            let text = match &outcome {
                Ok(results) => {
                    let results: Vec<String> = results.iter().map(|a| show_array(a, args.elements)).collect();
                    results.join("\n  ")
                }
                Err(e) => e.to_string(),
            };
            // Printed only if it differs from what the executor before gave.
            if shown.as_ref() != Some(&text) {
                say!("  {text}");
                shown = Some(text);
            }
            match runner::judge(&file, run, &outcome, time) {
                Ok(()) => say!("  {}: as expected, {time:.1?}", registered.name),
                Err(why) => {
                    failed += 1;
                    say!("  {}: NOT as expected: {why}", registered.name);
                }
            }
        }
    }
    if failed > 0 {
        return Err(format!("{failed} results are not as expected"));
    }
    Ok(ExitCode::SUCCESS)
}

/// This command as several processes, of which the first one prints.
fn launched(args: &Args, processes: u32, parts: Option<&Parts>) -> crate::Outcome {
    if args.executor.as_deref() != Some(ON_PROCESSES) {
        return Err(format!("--processes is for --executor {ON_PROCESSES} only"));
    }
    launch::this_command(processes, parts, |command| {
        command.arg("run").arg(&args.file).args(["--executor", ON_PROCESSES]);
        command.args(["--elements", &args.elements.to_string()]);
    })
}

/// The executors that are asked for, which the file is for; an error if none of them is there.
fn selected(file: &TestFile, args: &Args) -> Result<Vec<Registered>, String> {
    let mut selected = executors::select(args.executor.as_deref())?;
    let (name, wanted) = (args.file.display(), file.executors.join(", "));
    selected.retain(|r| headers::is_for(file, r.name));
    if let (Some(executor), []) = (&args.executor, &selected[..]) {
        return Err(format!("{name} is not for the executor `{executor}`: its header says `executors: {wanted}`"));
    }
    if selected.iter().all(|r| r.present().is_none()) {
        let absent = selected.iter().filter_map(|r| match &r.state {
            State::Present(_) => None,
            State::Absent { what, why } => Some(format!("\n  {} is {what}: {why}", r.name)),
        });
        let absent: String = absent.collect();
        return Err(format!("{name} is for executors that are not there (`executors: {wanted}`){absent}"));
    }
    Ok(selected)
}
