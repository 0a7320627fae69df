//! `acc export (FILE | --program NAME)`

use crate::output::{read_program, say, write_file};
use acc_core::ir::Program;
use backend_graph::Format;
use conformance::{suite, tour};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Write the first-order graph that a program becomes.
#[derive(clap::Args)]
#[command(override_usage = "acc export (FILE | --program NAME) --format FORMAT [-o OUTPUT]")]
pub struct Args {
    /// A program or test file in text form.
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    file: Option<PathBuf>,
    /// A program that comes with acc, by the name that `acc list` shows.
    #[arg(long)]
    program: Option<String>,
    /// `dot` for Graphviz, `json` for programs, `text` for reading, `onnx` for Netron and ONNX runtimes.
    #[arg(long, value_parser = ["dot", "json", "text", "onnx"])]
    format: String,
    /// The file to write; the standard output if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let program = program(args)?;
    let graph = backend_graph::graph_of(&program).map_err(|e| e.to_string())?;
    if args.format == "onnx" {
        let inputs: Vec<_> = program.param_types().cloned().collect();
        let outputs: Vec<_> = program.body.results.iter().map(|a| program.ty(*a).clone()).collect();
        let model = backend_graph::onnx(&graph, &inputs, &outputs).map_err(|e| e.to_string())?;
        match &args.output {
            Some(path) => write_file(path, &model)?,
            None => std::io::stdout().write_all(&model).map_err(|e| e.to_string())?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let format: Format = args.format.parse()?;
    let text = backend_graph::export(&graph, format);
    match &args.output {
        Some(path) => write_file(path, text.as_bytes())?,
        None => say!("{}", text.trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}

fn program(args: &Args) -> Result<Arc<Program>, String> {
    match (&args.file, &args.program) {
        (Some(file), _) => Ok(read_program(file)?.program),
        (None, Some(name)) => {
            let input = tour::Input::small().map_err(|e| e.to_string())?;
            let examples = tour::examples(&input).map_err(|e| e.to_string())?;
            if let Some(e) = examples.into_iter().find(|e| e.name == *name) {
                return Ok(e.program);
            }
            let tests = suite::load(None).map_err(|e| e.to_string())?;
            let found = tests.iter().find(|t| t.name == *name);
            found
                .and_then(|t| t.file())
                .map(|file| file.program.clone())
                .ok_or_else(|| format!("there is no program `{name}`; `acc list` shows those there are"))
        }
        (None, None) => Err("name a FILE or a --program".into()),
    }
}
