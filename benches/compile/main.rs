//! How long compilation takes, and what it keeps.
//!
//! `cargo bench --bench compile -- [--rounds N] [--programs N] [--markdown FILE]`

mod kernels;
mod program;
mod restart;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

struct Options {
    /// Of the large program.
    rounds: usize,
    /// Distinct programs, over which memory is to stay flat.
    programs: usize,
    markdown: Option<PathBuf>,
    /// The work of a process of its own.
    part: Option<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { rounds: 15, programs: 2_000, markdown: None, part: None };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} takes a value"));
        match arg.as_str() {
            "--rounds" => options.rounds = value()?.parse().map_err(|e| format!("--rounds: {e}"))?,
            "--programs" => options.programs = value()?.parse().map_err(|e| format!("--programs: {e}"))?,
            "--markdown" => options.markdown = Some(value()?.into()),
            "--part" => options.part = Some(value()?),
            // What cargo hands to every benchmark.
            "--bench" => {}
            other => return Err(format!("there is no option {other}")),
        }
    }
    Ok(options)
}

/// Runs a part of the benchmark in a process of its own, whose kernels are kept on the disk in `cache`; its output.
fn part(name: &str, options: &Options, cache: &str) -> Result<String, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let (rounds, programs) = (options.rounds.to_string(), options.programs.to_string());
    let out = Command::new(this)
        .args(["--part", name, "--rounds", &rounds, "--programs", &programs])
        .env("ACC_CACHE", cache)
        .output()
        .map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(format!(
            "{name}: {}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        ));
    }
    String::from_utf8(out.stdout).map_err(|e| e.to_string())
}

fn main() -> Result<(), String> {
    let options = options()?;
    match options.part.as_deref() {
        Some("kernels") => return kernels::measure(),
        Some("program") => return program::measure(options.rounds),
        Some("memory") => return restart::memory(options.programs),
        Some("start") => return restart::start(),
        Some(other) => return Err(format!("there is no part {other}")),
        None => {}
    }
    let mut page = String::new();
    for name in ["kernels", "program", "memory"] {
        let text = part(name, &options, "off")?;
        println!("{text}");
        let _ = writeln!(page, "{text}");
    }
    let cache = tempfile::tempdir().map_err(|e| e.to_string())?;
    let cache = cache.path().display().to_string();
    for process in ["first", "second"] {
        let text = format!("The {process} process: {}", part("start", &options, &cache)?);
        println!("{text}");
        let _ = writeln!(page, "{text}");
    }
    match &options.markdown {
        Some(file) => acc_benches::page::replace(file, "compile", &page),
        None => Ok(()),
    }
}

/// The middle of some durations, and that below which nine in ten of them are, in milliseconds.
fn quantiles(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort();
    let at = |part: f64| {
        let k = (times.len().saturating_sub(1) as f64 * part).round() as usize;
        times.get(k).map_or(f64::NAN, |t| 1e3 * t.as_secs_f64())
    };
    [at(0.5), at(0.9)]
}
