//! `acc matrix`

use crate::output::{say, write_file};
use conformance::{executors, matrix, suite};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run every test program on every executor and print which components pass.
#[derive(clap::Args)]
pub struct Args {
    /// Write the matrix as JSON to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Only the test programs in this folder.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Put the table of categories into this file, between `<!-- matrix -->` and `<!-- end of the matrix -->`.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let tests = suite::load(args.programs.as_deref()).map_err(|e| e.to_string())?;
    if tests.is_empty() {
        let folder = args.programs.as_deref().unwrap_or(std::path::Path::new(".")).display();
        return Err(format!(
            "there is no test program in {folder}\n  help: test programs are files whose names end in .acc"
        ));
    }
    let bar = indicatif::ProgressBar::new(0);
    let matrix = matrix::run(&tests, executors::all(), |runs| {
        bar.set_length(runs as u64);
        bar.inc(1);
    });
    bar.finish_and_clear();
    if let Some(path) = &args.json {
        write_file(path, format!("{:#}\n", matrix.to_json()).as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let text = matrix.put_into(&text).ok_or_else(|| format!("{} has no place for the matrix", path.display()))?;
        write_file(path, text.as_bytes())?;
    }
    say!("{}", matrix.to_text().trim_end());
    Ok(if matrix.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
