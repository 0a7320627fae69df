//! `acc check FILE`

pub mod executor;
pub mod onnx;

use crate::output::{program_of, read_text, say};
use backend_native::Kernels;
use std::path::PathBuf;
use std::process::ExitCode;

/// Read a program, or the kernels that `acc print --after lower` writes, and check that it is well formed.
#[derive(clap::Args)]
pub struct Args {
    /// A program, test file or kernels in text form; `-` is standard input.
    file: PathBuf,
}

pub fn main(args: &Args) -> crate::Outcome {
    let (name, text) = read_text(&args.file)?;
    if Kernels::are_in(&text) {
        let kernels = Kernels::parse(&name, &text).map_err(|e| e.to_string())?;
        kernels.verify().map_err(|e| e.to_string())?;
        say!("{name}: well formed: {} kernels", kernels.count());
        return Ok(ExitCode::SUCCESS);
    }
    let file = program_of(&name, &text)?;
    let params: Vec<String> =
        file.params.iter().zip(file.program.param_types()).map(|(n, t)| format!("{n}: {t}")).collect();
    let results: Vec<String> = file.program.result_types().map(ToString::to_string).collect();
    say!(
        "{name}: well formed: ({}) -> ({}), {} statements, {} runs",
        params.join(", "),
        results.join(", "),
        file.program.body.stmts.len(),
        file.runs.len()
    );
    Ok(ExitCode::SUCCESS)
}
