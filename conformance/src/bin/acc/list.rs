//! `acc list`

use crate::output::say;
use conformance::executors::{self, State};
use conformance::{matrix, suite, tour};
use std::path::PathBuf;
use std::process::ExitCode;

/// List the executors, programs and components.
#[derive(clap::Args)]
pub struct Args {
    /// Only the test programs in this folder.
    #[arg(long)]
    programs: Option<PathBuf>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let tests = suite::load(args.programs.as_deref()).map_err(|e| e.to_string())?;
    say!("executors");
    for e in executors::all() {
        match &e.state {
            State::Present(_) => say!("  {}", e.name),
            State::Absent { what, why } => say!("  {} ({what}: {why})", e.name),
        }
    }
    let input = tour::Input::small().map_err(|e| e.to_string())?;
    say!("programs of the tour");
    for e in tour::examples(&input).map_err(|e| e.to_string())? {
        say!("  {}", e.name);
    }
    say!("test programs ({})", tests.len());
    for t in &tests {
        let rows: Vec<&str> = t.file.components.iter().chain(&t.file.cases).map(String::as_str).collect();
        say!("  {}: {}", t.name, rows.join(" "));
    }
    let covered = |id: &str| tests.iter().filter(|t| t.file.components.iter().any(|c| c == id)).count();
    say!("components with tests");
    for (id, name, _) in matrix::components() {
        let n = covered(id);
        if n > 0 {
            say!("  {id} {name}: {n} test programs");
        }
    }
    Ok(ExitCode::SUCCESS)
}
