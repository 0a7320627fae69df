//! `acc list`

use crate::output::say;
use conformance::executors::{self, State};
use conformance::suite::{self, Test};
use conformance::{components, tour};
use std::path::PathBuf;
use std::process::ExitCode;

/// List the executors, programs and components.
#[derive(clap::Args)]
pub struct Args {
    /// Only the test programs in this folder.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Print docs/ACCELERATE.md instead: what the names of Accelerate are here.
    #[arg(long)]
    accelerate: bool,
}

pub fn main(args: &Args) -> crate::Outcome {
    if args.accelerate {
        say!("{}", components::to_markdown().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
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
    let (programs, cases): (Vec<&Test>, Vec<&Test>) = tests.iter().partition(|t| t.file().is_some());
    for (title, tests) in [("test programs", programs), ("cases of the typed API", cases)] {
        say!("{title} ({})", tests.len());
        for t in tests {
            say!("  {}: {}", t.name, t.rows.join(" "));
        }
    }
    let covered = |id: &str| tests.iter().filter(|t| t.rows.iter().any(|row| row == id)).count();
    say!("components, and how many tests name them");
    for c in components::components() {
        say!("  {} {}: {}", c.id, c.name, covered(c.id));
    }
    say!("edge cases, and how many tests name them");
    for (id, _) in components::edge_cases() {
        say!("  {id}: {}", covered(id));
    }
    Ok(ExitCode::SUCCESS)
}
