//! `acc fuzz`

use crate::output::{say, write_file};
use conformance::executors;
use conformance::fuzz::oracle::{Oracle, Variation};
use conformance::fuzz::{self, Difference, derivatives, minimised};
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Run random programs on every executor, and make small those on which executors differ.
#[derive(clap::Args)]
pub struct Args {
    /// How many programs.
    #[arg(long, default_value_t = 10_000)]
    programs: u64,
    /// The first program's seed; the others follow it.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only this executor; all that are there if not given.
    #[arg(long)]
    executor: Option<String>,
    /// So many programs at the same time; as many as there are cores if not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    differences: usize,
    /// Where to write the small programs that show differences, as test files.
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Print the program of the first seed, and run nothing.
    #[arg(long)]
    show: bool,
    /// Check the programs' derivatives, and not the programs.
    #[arg(long)]
    derivatives: bool,
    /// Give the arrays of every program random schedules, which one program in some has otherwise.
    #[arg(long, conflicts_with = "derivatives")]
    schedules: bool,
}

pub fn main(args: &Args) -> crate::Outcome {
    if args.show {
        let text = match args.derivatives {
            true => derivatives::Kind::of(args.seed).program(args.seed),
            false => fuzz::program(fuzz::Choices::seeded(args.seed), fuzz::mode_of(args.seed)),
        };
        say!("{}", text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if args.derivatives {
        return of_derivatives(args);
    }
    let oracle = Oracle::new(executors::select(args.executor.as_deref())?).map_err(|e| e.to_string())?;
    let bar = indicatif::ProgressBar::new(args.programs);
    let start = Instant::now();
    let watch = |done: u64, differences: &[Difference]| progress(&bar, done, differences);
    let vary = if args.schedules { Variation::Scheduled } else { Variation::draw };
    let (statistics, differences) =
        fuzz::run(&oracle, args.seed, args.programs, args.jobs(), args.differences, vary, watch);
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    for d in &differences {
        args.show_small(d, &minimised(&oracle, d), &format!("seed-{}-{}.acc", d.seed, d.executor))?;
    }
    say!("{statistics}");
    say!("{:.0} programs a second", statistics.programs as f64 / seconds.max(1e-9));
    let (programs, excluded) = (statistics.programs, statistics.excluded);
    say!("fuzz: {programs} programs, {} differences, {excluded} excluded elements", differences.len());
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `acc fuzz --derivatives`
fn of_derivatives(args: &Args) -> crate::Outcome {
    let executors = executors::select(args.executor.as_deref())?;
    let bar = indicatif::ProgressBar::new(args.programs);
    let start = Instant::now();
    let watch = |done: u64, differences: &[derivatives::Difference]| progress(&bar, done, differences);
    let found = derivatives::run(&executors, args.seed, args.programs, args.jobs(), args.differences, watch)
        .map_err(|e| e.to_string())?;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    for d in &found.differences {
        let name = format!("derivative-{}-{}.acc", d.seed, d.executor);
        let small = derivatives::minimised(&executors, d).map_err(|e| e.to_string())?;
        args.show_small(d, &small, &name)?;
    }
    say!("{found}");
    say!("{:.0} programs a second", found.programs as f64 / seconds.max(1e-9));
    say!("fuzz: {} programs, {} differences", found.programs, found.differences.len());
    Ok(if found.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn progress(bar: &indicatif::ProgressBar, done: u64, differences: &[impl Display]) {
    if done.is_multiple_of(64) {
        bar.set_position(done);
    }
    // At once: a run may take hours, and be stopped.
    if !differences.is_empty() {
        bar.suspend(|| differences.iter().for_each(|d| say!("{d}")));
    }
}

impl Args {
    fn jobs(&self) -> usize {
        self.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1)
    }

    /// Prints a difference and its program made small, and saves that if so wanted.
    fn show_small(&self, difference: &impl Display, small: &str, name: &str) -> Result<(), String> {
        say!("{difference}, made small:");
        say!("{}", small.trim_end());
        if let Some(folder) = &self.save {
            std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
            write_file(&folder.join(name), small.as_bytes())?;
        }
        Ok(())
    }
}
