//! `acc check-onnx`

use super::executor::{OTHER, Tests};
use conformance::onnx::OnnxRuntime;
use std::path::PathBuf;

/// Run every test program as an ONNX model in onnxruntime, and compare.
#[derive(clap::Args)]
pub struct Args {
    /// A Python that has onnxruntime.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The worker's script.
    #[arg(long, default_value = "scripts/onnx_worker.py")]
    worker: PathBuf,
    #[command(flatten)]
    tests: Tests,
}

pub fn main(args: &Args) -> crate::Outcome {
    let runtime = OnnxRuntime::new(&args.python, &args.worker);
    args.tests.measure("onnx", "graph", &runtime, reason)
}

/// What a test's failure says is missing.
fn reason(test: &str, why: &str) -> String {
    let line = |what: &str| what.lines().next().unwrap_or(what).to_string();
    if let Some((_, what)) = why.split_once("ONNX runtimes lack ") {
        return format!("ONNX runtimes lack {}", line(what));
    }
    if let Some((_, what)) = why.split_once("NOT_IMPLEMENTED : ") {
        return format!("onnxruntime lacks {}", line(what));
    }
    if let Some((_, what)) = why.split_once("returned while running ") {
        let node = what.split_once(' ').map_or(what, |(node, _)| node);
        return format!("onnxruntime ends the run in {node}, where the program has a fault");
    }
    match test.split_once('/') {
        Some(("trace", _)) => "ONNX has no operation that prints".to_string(),
        Some(("runs", _)) => "onnxruntime has no runs in the background, and no limits".to_string(),
        Some(_) | None => OTHER.to_string(),
    }
}
