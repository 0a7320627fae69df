//! Kernels as programs on every executor, against the same kernels written by hand for this machine.
//!
//! `cargo bench --bench kernels -- [--rounds N] [--only TEXT] [--executors NAME,..] [--markdown FILE] [--peers FILE] [--serve]`

// The kernels written by hand run through several arrays at once.
#![allow(clippy::needless_range_loop, reason = "kernels written by hand run through several arrays at once")]

mod chain;
mod data;
mod families;
mod functions;
mod gradients;
mod lanes;
mod measure;
mod pages;
mod pool;
mod report;
mod roofline;
mod row;
mod serve;
mod vectors;

use backend_native::Native;
use measure::Contender;
use report::Line;
use roofline::Roofline;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// So that all arrays lie in memory of one kind.
#[global_allocator]
static MEMORY: pages::HugePages = pages::HugePages;

struct Options {
    rounds: usize,
    only: Option<String>,
    executors: Option<String>,
    markdown: Option<PathBuf>,
    peers: Option<PathBuf>,
    serve: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options { rounds: 7, only: None, executors: None, markdown: None, peers: None, serve: false };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} takes a value"));
        match arg.as_str() {
            "--rounds" => options.rounds = value()?.parse().map_err(|e| format!("--rounds: {e}"))?,
            "--only" => options.only = Some(value()?),
            "--executors" => options.executors = Some(value()?),
            "--markdown" => options.markdown = Some(value()?.into()),
            "--peers" => options.peers = Some(value()?.into()),
            "--serve" => options.serve = true,
            // What cargo hands to every benchmark.
            "--bench" => {}
            other => return Err(format!("there is no option {other}")),
        }
    }
    Ok(options)
}

/// Milliseconds of other libraries by row, and by library, ours among them.
type Peers = BTreeMap<String, BTreeMap<String, f64>>;

/// What `peers/run.py` has recorded.
fn peers(file: Option<&PathBuf>) -> Result<Peers, String> {
    let Some(file) = file else { return Ok(Peers::new()) };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let records: BTreeMap<String, Value> =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let milliseconds = |record: &Value| {
        let of = record["milliseconds"].as_object().into_iter().flatten();
        of.filter_map(|(library, ms)| Some((library.clone(), ms.as_f64()?))).collect()
    };
    Ok(records.iter().map(|(row, record)| (row.clone(), milliseconds(record))).collect())
}

/// Compiles a row for an executor.
type Compile = fn(&row::Row) -> Result<Contender, acc_core::Error>;

/// The executors, by name.
fn executors() -> Vec<(&'static str, Compile)> {
    vec![
        (FASTEST, fastest),
        ("native-relaxed", |row| {
            let relaxed = compiled().relaxed(true);
            Contender::new("native-relaxed", &Native::with(relaxed)?, row)
        }),
        ("native-unchecked", |row| {
            let unchecked = compiled().checks(false);
            Contender::new("native-unchecked", &Native::with(unchecked)?, row)
        }),
        ("native-tile", |row| Contender::new("native-tile", &Native::tiles(), row)),
        #[cfg(feature = "libtorch")]
        ("graph", |row| Contender::new("graph", &backend_graph::Libtorch::cpu(), row)),
    ]
}

/// The options of [`Native::compiled`].
fn compiled() -> backend_native::Options {
    backend_native::Options::new().compile(backend_native::Compile::Now)
}

fn fastest(row: &row::Row) -> Result<Contender, acc_core::Error> {
    Contender::new(FASTEST, &Native::compiled(), row)
}

/// The executor whose summary is the last line.
const FASTEST: &str = "native";

fn main() -> Result<(), String> {
    let options = options()?;
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return Err("the kernels written by hand need AVX2 and FMA".into());
    }
    if options.serve {
        return serve::serve(fastest);
    }
    let peers = peers(options.peers.as_ref())?;
    let roof = Roofline::measure();
    let mut lines = Vec::new();
    for make in families::all() {
        let mut row = make();
        let id = row.id();
        if options.only.as_ref().is_some_and(|only| !id.contains(only.as_str())) {
            continue;
        }
        let wanted = |name: &&str| options.executors.as_ref().is_none_or(|e| e.split(',').any(|e| e == *name));
        let contenders = executors().into_iter().filter(|(name, _)| wanted(name)).map(|(_, compile)| compile(&row));
        let contenders = contenders.collect::<Result<_, _>>().map_err(|e| format!("{id}: {e}"))?;
        let timed = measure::time(&mut row, contenders, options.rounds);
        let line = Line::new(&row, &timed, &roof, peers.get(&id).cloned().unwrap_or_default());
        println!("{}", report::text(&line));
        lines.push(line);
    }
    let (gradients, lines): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|l| gradients::is(l.name));
    if let Some(file) = &options.markdown {
        let threads = pool::threads();
        let about = format!("{threads} thread{}, {}.", if threads == 1 { "" } else { "s" }, machine());
        // Sections of which no row ran stay as they are.
        if !lines.is_empty() {
            acc_benches::page::replace(file, "kernels", &report::markdown(&lines, &roof, options.rounds, &about))?;
        }
        if !gradients.is_empty() {
            let text = gradients::markdown(&gradients, FASTEST, options.rounds, &about);
            acc_benches::page::replace(file, "gradients", &text)?;
        }
    }
    if !gradients.is_empty() {
        println!("{}", gradients::summary(&gradients, FASTEST));
    }
    if !lines.is_empty() || gradients.is_empty() {
        println!("{}", report::summary(&lines, FASTEST));
    }
    Ok(())
}

/// The processor's name, as the system knows it.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, n)| n.to_string()));
    name.unwrap_or_else(|| std::env::consts::ARCH.to_string())
}
