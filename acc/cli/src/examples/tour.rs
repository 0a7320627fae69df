//! `acc tour`

use super::{check_folder, make_folder};
use crate::output::{say, write_file};
use acc_core::data::ArrayData;
use acc_core::{Executor, RunLimits};
use backend_graph::Format;
use conformance::compare::compare;
use conformance::executors::{self, Registered, State};
use conformance::tour::{Example, Input, examples};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Run eleven example programs on every executor, on an image and a set of points.
#[derive(clap::Args)]
pub struct Args {
    /// A PNG image in place of the one that comes with acc.
    #[arg(long)]
    image: Option<PathBuf>,
    /// A .npy file of points, float32 or float64 of shape (n, 2), in place of the one that comes with acc.
    #[arg(long)]
    npy: Option<PathBuf>,
    /// The folder for images and graphs.
    #[arg(long, default_value = "target/tour")]
    out: PathBuf,
}

pub fn main(args: &Args) -> crate::Outcome {
    let (image, points) = Input::shipped();
    let input = Input::read(args.image.as_deref().unwrap_or(&image), args.npy.as_deref().unwrap_or(&points))?;
    check_folder(&args.out, "images and graphs")?;
    let examples = examples(&input).map_err(|e| e.to_string())?;
    let registered = executors::all();
    let present: Vec<&Registered> = registered.iter().filter(|r| r.present().is_some()).collect();
    for r in &registered {
        if let State::Absent { what, why } = &r.state {
            say!("{}: {what} ({why})", r.name);
        }
    }

    let bar = ProgressBar::new((examples.len() * present.len()) as u64);
    if let Ok(style) = ProgressStyle::with_template("[{bar:40}] {pos}/{len} {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let mut files = Vec::new();
    let mut wrong = 0;
    for e in &examples {
        let line = compare_executors(e, &present, &bar, &mut files)?;
        wrong += line.wrong;
        bar.suspend(|| say!("{}", line.text));
        files.extend(graphs(e)?);
    }
    bar.finish_and_clear();

    // Nothing is written before everything is computed.
    make_folder(&args.out)?;
    for (name, contents) in &files {
        write_file(&args.out.join(name), contents)?;
    }
    say!("images and graphs are in {}", args.out.display());
    let what = format!("tour: {} programs, {} executors", examples.len(), present.len());
    match wrong {
        0 => say!("{what}, all agree"),
        n => say!("{what}, {n} runs failed or disagree"),
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Files = Vec<(String, Vec<u8>)>;

struct Line {
    text: String,
    wrong: usize,
}

/// Runs a program on every executor, the reference first.
fn compare_executors(
    e: &Example,
    present: &[&Registered],
    bar: &ProgressBar,
    files: &mut Files,
) -> Result<Line, String> {
    let mut times = Vec::new();
    let mut faults = Vec::new();
    let mut reference: Option<Vec<ArrayData>> = None;
    for r in present {
        let Some(executor) = r.present() else { continue };
        bar.set_message(format!("{} on {}", e.name, r.name));
        let outcome = run(e, executor.as_ref());
        bar.inc(1);
        let (got, time) = match outcome {
            Ok(done) => done,
            Err(m) => {
                faults.push(format!("{} on {}: {m}", e.name, r.name));
                continue;
            }
        };
        times.push(format!("{} {:.1} ms", r.name, time.as_secs_f64() * 1e3));
        match &reference {
            None => {
                if let Some(p) = e.picture.and_then(|draw| draw(&got)) {
                    let mut png = Vec::new();
                    p.write_png(&mut png)?;
                    files.push((format!("{}.png", e.name), png));
                }
                reference = Some(got);
            }
            Some(want) => {
                let pairs = got.iter().zip(want);
                if let Some(m) = pairs.filter_map(|(g, w)| compare(g, w, e.near).err()).next() {
                    faults.push(format!("{} on {} differs: {m}", e.name, r.name));
                }
            }
        }
    }
    let verdict = if faults.is_empty() { "agree" } else { "WRONG" };
    let mut text = format!("{:<15} {}\n{:15} {}: {verdict}", e.name, e.what, "", times.join(", "));
    for m in &faults {
        text += &format!("\n{:15} {m}", "");
    }
    Ok(Line { text, wrong: faults.len() })
}

/// Compiles the program, then times a run.
fn run(e: &Example, executor: &dyn Executor) -> Result<(Vec<ArrayData>, Duration), String> {
    let run = || executor.run_untyped(&e.program, &e.args, &RunLimits::none()).map_err(|e| e.to_string());
    // The interpreter has nothing to compile or to warm up, and is slow.
    if executor.name() != executors::REFERENCE {
        run()?;
    }
    let start = Instant::now();
    let results = run()?;
    Ok((results, start.elapsed()))
}

fn graphs(e: &Example) -> Result<Files, String> {
    let graph = backend_graph::graph_of(&e.program).map_err(|m| format!("{}: {m}", e.name))?;
    let export = |(format, end)| (format!("{}.{end}", e.name), backend_graph::export(&graph, format).into_bytes());
    Ok([(Format::Text, "txt"), (Format::Dot, "dot"), (Format::Json, "json"), (Format::Mermaid, "mmd")]
        .map(export)
        .into())
}
