//! `acc check-onnx`

use crate::output::{complain, say};
use conformance::onnx::OnnxRuntime;
use conformance::suite;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Run every test program as an ONNX model in onnxruntime, and compare.
#[derive(clap::Args)]
pub struct Args {
    /// A Python that has onnxruntime.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The worker's script.
    #[arg(long, default_value = "scripts/onnx_worker.py")]
    worker: PathBuf,
    /// Only tests whose names contain this.
    #[arg(long)]
    only: Option<String>,
    /// Say each test's name when it is done.
    #[arg(short, long)]
    verbose: bool,
    /// Fewer than so many percent are a failure.
    #[arg(long, default_value_t = 85.0)]
    least: f64,
}

/// The tests that fail for one reason.
type Reasons = BTreeMap<String, Vec<String>>;

pub fn main(args: &Args) -> crate::Outcome {
    let tests = suite::load(None).map_err(|e| e.to_string())?;
    let runtime = OnnxRuntime::new(&args.python, &args.worker);
    let (mut all, mut agree) = (0, 0);
    let mut reasons = Reasons::new();
    for test in &tests {
        if !test.is_for("graph") || args.only.as_ref().is_some_and(|only| !test.name.contains(only.as_str())) {
            continue;
        }
        all += 1;
        let start = Instant::now();
        let outcome = test.run(&runtime);
        if args.verbose {
            let word = if outcome.failures.is_empty() { "agrees" } else { "FAILS" };
            complain!("{}: {word} in {:.1} s", test.name, start.elapsed().as_secs_f64());
        }
        match outcome.failures.first() {
            None => agree += 1,
            Some(why) => reasons.entry(reason(&test.name, why)).or_default().push(format!("{}: {why}", test.name)),
        }
    }
    for (reason, tests) in &reasons {
        say!("{} tests: {reason}", tests.len());
        for t in tests.iter().take(if reason == OTHER || args.only.is_some() { usize::MAX } else { 3 }) {
            say!("    {}", t.replace('\n', " "));
        }
    }
    let percent = 100.0 * f64::from(agree) / f64::from(all.max(1));
    say!("onnx: {agree} of {all} programs run in onnxruntime and agree ({percent:.1} %)");
    Ok(if percent >= args.least { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Failures that name nothing that is missing.
const OTHER: &str = "disagree or fail";

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
