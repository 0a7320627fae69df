//! `acc export (FILE | --program NAME)`

use crate::output::{bytes, read_program, write_file};
use acc_core::ir::Program;
use backend_graph::specialise::{Cutting, cut_axes};
use backend_graph::{Format, Graph};
use conformance::{suite, tour};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Write the first-order graph that a program becomes.
#[derive(clap::Args)]
#[command(override_usage = "acc export (FILE | --program NAME) --format FORMAT [--extents EXTENTS] [-o OUTPUT]")]
pub struct Args {
    /// A program or test file in text form, or a graph as JSON (`*.json`).
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    file: Option<PathBuf>,
    /// A program that comes with acc, by the name that `acc list` shows.
    #[arg(long)]
    program: Option<String>,
    /// `dot` for Graphviz, `mermaid` for Markdown, `json` for programs, `text` for reading, `onnx` for Netron and ONNX
    /// runtimes, `onnx-text` for reading what that holds, `stablehlo` for XLA and IREE.
    #[arg(long, value_parser = ["dot", "mermaid", "json", "text", "onnx", "onnx-text", "stablehlo"])]
    format: String,
    /// The extents that a module of StableHLO is for, `xs=1024x10,ys=10` by the names of parameters; `n=5` is the number
    /// that one of rank 0 holds, where an extent depends on it.
    #[arg(long, default_value = "", hide_default_value = true)]
    extents: String,
    /// Make a module of StableHLO for so many processes.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// The parameters that are cut between the processes, with the axis of each, `xs:0,ys:1`; if not given, those that
    /// executors cut.
    #[arg(long, requires = "processes")]
    cut: Option<String>,
    /// The file to write; the standard output if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let contents = match args.format.as_str() {
        "onnx" => model(args)?,
        "stablehlo" => module(args)?.into_bytes(),
        "onnx-text" => backend_graph::export::onnx::text(&model(args)?)?.into_bytes(),
        name => {
            let format: Format = name.parse()?;
            backend_graph::export(&graph(args)?, format).into_bytes()
        }
    };
    match &args.output {
        Some(path) => write_file(path, &contents)?,
        None => bytes(&contents),
    }
    Ok(ExitCode::SUCCESS)
}

/// A program as an ONNX model.
fn model(args: &Args) -> Result<Vec<u8>, String> {
    backend_graph::onnx_of(program_of_model(args)?.as_ref()).map_err(|e| e.to_string())
}

/// A program as a module of StableHLO.
fn module(args: &Args) -> Result<String, String> {
    let program = program_of_model(args)?;
    let arguments = backend_graph::specialise::arguments(&program, &args.extents).map_err(|e| e.to_string())?;
    let Some(processes) = args.processes else {
        return backend_graph::stablehlo_of(&program, &arguments).map_err(|e| e.to_string());
    };
    let axes = args.cut.as_ref().map(|text| cut_axes(&program, text)).transpose().map_err(|e| e.to_string())?;
    let cutting = Cutting::over(processes);
    backend_graph::stablehlo_cut(&program, &arguments, cutting, axes.as_deref()).map_err(|e| e.to_string())
}

/// The program of a format that needs more than its graph.
fn program_of_model(args: &Args) -> Result<Arc<Program>, String> {
    if let Some(file) = args.file.as_ref().filter(|f| is_json(f)) {
        return Err(format!(
            "{} is a graph, and a model needs the arrays of its program\n  help: give the file of the program",
            file.display()
        ));
    }
    program(args)
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "json")
}

/// The graph of a program, or one that was exported as JSON.
fn graph(args: &Args) -> Result<Graph, String> {
    match &args.file {
        Some(file) if is_json(file) => {
            let name = file.display();
            let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {name}: {e}"))?;
            backend_graph::from_json(&text).map_err(|e| format!("{name}: {e}"))
        }
        _ => backend_graph::graph_of(program(args)?.as_ref()).map_err(|e| e.to_string()),
    }
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
