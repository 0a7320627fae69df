//! `acc search FILE`

mod picture;

use crate::output::{read_program, say, write_file};
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayId, Program, Schedule};
use backend_native::Options;
use backend_native::search::{Found, RULES, SearchOptions, SearchReport, Space, Times, search};
use backend_native::tune::{self, Chosen};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Look for the loops that compute an array fastest on the native executor.
///
/// The nests of the kernel that stores the array are listed with the time that each is expected to take and, for the best of them, the
/// time that it takes. All have the same bits. The fastest one is printed as a schedule, for `compute(.., loops: ..)` or
/// `"..".parse::<Schedule>()`.
#[derive(clap::Args)]
pub struct Args {
    /// A test file: a program with a `run { ... }` section (docs/TEXT.md).
    #[arg(required_unless_present = "rules")]
    file: Option<PathBuf>,
    /// The array. [default: the first that the program yields]
    #[arg(long, value_name = "NAME")]
    array: Option<String>,
    /// Compare the orders of the loops over the axes, instead of register tiles.
    #[arg(long)]
    orders: bool,
    /// Subdivide an axis, `i2=16`: tiles of so many iterations. With several for one axis, from the points outwards.
    #[arg(long, value_name = "AXIS=SIZE", value_parser = split, requires = "orders")]
    split: Vec<(usize, usize)>,
    /// Measure so many nests: those expected to be the fastest.
    #[arg(long, value_name = "N", default_value_t = 12)]
    measure: usize,
    /// Measure all nests.
    #[arg(long, conflicts_with = "measure")]
    all: bool,
    /// Measure each so often, in turn.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Threads. [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print so many nests.
    #[arg(long, value_name = "N", default_value_t = 100)]
    rows: usize,
    /// Draw expected against measured times.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Keep the fastest schedule for later runs of the program on arguments of these extents, with the same number of threads, where no
    /// schedule of the array changes a bit.
    #[arg(long)]
    keep: bool,
    /// Print the rules that make nests of nests.
    #[arg(long)]
    rules: bool,
}

fn split(text: &str) -> Result<(usize, usize), String> {
    let parts =
        text.split_once('=').and_then(|(axis, size)| Some((axis.strip_prefix('i')?.parse().ok()?, size.parse().ok()?)));
    parts
        .filter(|(_, size)| *size > 1)
        .ok_or_else(|| "expected an axis and a size of at least 2, as in `i2=16`".to_string())
}

pub fn main(args: &Args) -> crate::Outcome {
    if args.rules {
        RULES.iter().for_each(|rule| say!("{rule}"));
    }
    let Some(path) = &args.file else { return Ok(ExitCode::SUCCESS) };
    let file = read_program(path)?;
    let Some(run) = file.runs.first() else {
        return Err(format!(
            "{} has no arguments to run on\n  help: add a section `run {{ name = [extents] type {{ ... }}  expect agree }}` after the program",
            path.display()
        ));
    };
    let array = array_of(&file.program, args.array.as_deref())?;
    let mut options = SearchOptions::default();
    if args.orders {
        options.space = Space::Orders(args.split.clone());
    }
    options.measured = if args.all { usize::MAX } else { args.measure };
    options.rounds = args.rounds;
    options.threads = args.threads;
    let bar = ProgressBar::new(1).with_style(
        ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left").map_err(|e| e.to_string())?,
    );
    let mut progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let arguments = run.arrays().map_err(|e| e.to_string())?;
    let found = search(&file.program, array, &arguments, &options, &mut progress);
    bar.finish_and_clear();
    let report = found.map_err(|e| e.to_string())?;
    show(&report, args.rows, args.orders);
    if args.keep {
        keep(&file.program, array, &arguments, &report, args.threads)?;
    }
    if let Some(path) = &args.svg {
        write_file(path, picture::svg(&report).as_bytes())?;
        say!("{} shows expected against measured times", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the fastest nest, if it is faster than the program as it is.
fn keep(
    program: &Arc<Program>,
    array: ArrayId,
    arguments: &[ArrayData],
    report: &SearchReport,
    threads: Option<usize>,
) -> Result<(), String> {
    let before = report.default.median;
    let fastest = report.nests.iter().find_map(|found| Some((found.schedule.clone(), found.measured.as_ref()?.median)));
    match fastest {
        Some((schedule, median)) if median < before => {
            let chosen = Chosen { array, schedule, median, before };
            let file = tune::keep(&Options::new().threads(threads), program, arguments, chosen)?;
            say!("kept in {}", file.display());
        }
        Some(_) | None => say!("nothing is kept: no nest is faster than the program as it is"),
    }
    Ok(())
}

/// The array of a name; the first that the program yields, if there is none.
fn array_of(program: &Program, name: Option<&str>) -> Result<ArrayId, String> {
    let all = || (0..program.types.len()).filter_map(|k| u32::try_from(k).ok().map(ArrayId));
    match name {
        None => program.body.results.first().copied().ok_or_else(|| "the program yields no array".to_string()),
        Some(name) => {
            let is_it = |a: &ArrayId| program.names.get(*a).is_some_and(|n| **n == *name) || a.to_string() == name;
            all().find(is_it).ok_or_else(|| format!("there is no array `{name}` in the program"))
        }
    }
}

fn milliseconds(nanoseconds: f64) -> String {
    format!("{:.3}", nanoseconds / 1e6)
}

fn show(report: &SearchReport, rows: usize, with_words: bool) {
    let measured = |found: &&Found| found.measured.is_some();
    let times = || report.nests.iter().filter_map(|found| found.measured.as_ref());
    let best = times().map(|t| t.median).fold(f64::INFINITY, f64::min);
    let own_best = best.min(report.default.median);
    let mut table: Vec<[String; 6]> = Vec::new();
    table.push(["order", "loops", "expected ms", "median ms", "least ms", "of best"].map(String::from));
    let ratio = |t: &Times| format!("{:.2}", t.median / own_best);
    let default = &report.default;
    table.push([
        "as it is".into(),
        report.default_loops.clone(),
        String::new(),
        milliseconds(default.median),
        milliseconds(default.least),
        ratio(default),
    ]);
    for found in report.nests.iter().take(rows) {
        let words = if with_words { found.words(&report.folded) } else { String::new() };
        let [median, least, of_best] = match &found.measured {
            Some(t) => [milliseconds(t.median), milliseconds(t.least), ratio(t)],
            None => ["-"; 3].map(String::from),
        };
        table.push([words, found.schedule.to_string(), milliseconds(found.predicted), median, least, of_best]);
    }
    print_table(&table);
    let count = report.nests.iter().filter(measured).count();
    say!("{} nests, {count} of them measured", report.nests.len());
    if times().all(|t| t.same_bits) {
        say!("all have the bits of the program as it is");
    } else {
        say!("the program as it is adds in another order: some nests have other last bits than it");
    }
    let worst = times().map(|t| t.median).fold(0.0, f64::max);
    if count > 1 {
        say!("the slowest takes {:.1} times as long as the fastest", worst / best);
    }
    let fastest: Option<&Schedule> = report.nests.iter().find(measured).map(|found| &found.schedule);
    if let Some(schedule) = fastest {
        say!("fastest: {schedule}");
    }
}

/// Columns side by side; numbers to the right.
fn print_table(rows: &[[String; 6]]) {
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate().filter(|(_, (_, width))| **width > 0) {
            let _ = if column < 2 { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        say!("{}", line.trim_end());
    }
}
