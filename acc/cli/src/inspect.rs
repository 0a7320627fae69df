//! `acc inspect FILE`

use crate::output::{read_program_text, say, write_file};
use conformance::inspect;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a page that shows a program, what every stage makes of it, and times and memory from a run, or what stopped it.
#[derive(clap::Args)]
pub struct Args {
    /// A program or test file in text form; with `run { ... }` sections, one of them is measured.
    file: PathBuf,
    /// The page to write; beside the current folder's other files, and named after FILE, if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// The name of the run to measure; the first that is expected to succeed if not given.
    #[arg(long)]
    run: Option<String>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let (file, text) = read_program_text(&args.file)?;
    let page = inspect::page(&file, &args.file.display().to_string(), &text, args.run.as_deref())?;
    let named = || PathBuf::from(args.file.with_extension("html").file_name().unwrap_or_default());
    let output = args.output.clone().unwrap_or_else(named);
    write_file(&output, page.html.as_bytes())?;
    say!("{}", output.display());
    page.stopped.map_or(Ok(ExitCode::SUCCESS), Err)
}
