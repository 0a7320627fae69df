//! `acc check FILE`

use crate::output::read_program;
use crate::output::say;
use std::path::PathBuf;
use std::process::ExitCode;

/// Read a program and check that it is well formed.
#[derive(clap::Args)]
pub struct Args {
    /// A program or test file in text form.
    file: PathBuf,
}

pub fn main(args: &Args) -> crate::Outcome {
    let file = read_program(&args.file)?;
    let params: Vec<String> =
        file.params.iter().zip(file.program.param_types()).map(|(n, t)| format!("{n}: {t}")).collect();
    let results: Vec<String> = file.program.result_types().map(ToString::to_string).collect();
    say!(
        "{}: well formed: ({}) -> ({}), {} statements, {} runs",
        args.file.display(),
        params.join(", "),
        results.join(", "),
        file.program.body.stmts.len(),
        file.runs.len()
    );
    Ok(ExitCode::SUCCESS)
}
