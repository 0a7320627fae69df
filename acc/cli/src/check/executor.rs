//! `acc check-executor NAME`

use crate::launch;
use crate::output::trace::Parts;
use crate::output::{complain, say};
use acc_core::Executor;
use conformance::{executors, suite};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// Run every test program on one executor, and say how many are as expected.
#[derive(clap::Args)]
pub struct Args {
    /// The executor.
    name: String,
    /// On so many processes, between which all arrays are cut that have a row for each; without tests that stop runs, which
    /// end a mesh, and tests of traces, which the first process prints.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    #[command(flatten)]
    tests: Tests,
}

/// Which tests run, and how many may fail.
#[derive(clap::Args)]
pub struct Tests {
    /// Only tests whose names contain this.
    #[arg(long)]
    only: Option<String>,
    /// About one in so many of them: the same ones, whatever other tests there are.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Say each test's name when it is done.
    #[arg(short, long)]
    verbose: bool,
    /// Fewer than so many percent are a failure.
    #[arg(long, default_value_t = 98.0)]
    least: f64,
}

pub fn main(args: &Args, parts: Option<&Parts>) -> crate::Outcome {
    if let Some(processes) = args.processes {
        return launched(args, processes, parts);
    }
    let found = executors::select(Some(&args.name))?;
    let executor = found.first().and_then(|r| r.present()).ok_or("the executor is not there")?;
    args.tests.measure(&args.name, &args.name, &**executor, |_, _| OTHER.to_string())
}

/// This command as several processes, of which the first one prints.
fn launched(args: &Args, processes: u32, parts: Option<&Parts>) -> crate::Outcome {
    launch::this_command(processes, parts, |command| {
        command.args(["check-executor", &args.name]).env(backend_xla::variables::MIN_CUT_BYTES, "0");
        let tests = &args.tests;
        command.args(["--least", &tests.least.to_string(), "--every", &tests.every.to_string()]);
        command.args(tests.only.iter().flat_map(|only| ["--only", only]));
        if tests.verbose {
            command.arg("--verbose");
        }
    })
}

/// A hash that is the same in every build: FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Failures that have no reason of their own.
pub const OTHER: &str = "disagree or fail";

/// The tests that fail for one reason.
type Reasons = BTreeMap<String, Vec<String>>;

impl Tests {
    /// Runs the tests that are for an executor of a name, on this one; `reason` says why a test fails, by its name and
    /// message.
    pub fn measure(
        &self,
        title: &str,
        name: &str,
        executor: &dyn Executor,
        reason: impl Fn(&str, &str) -> String,
    ) -> crate::Outcome {
        let tests = suite::load(None).map_err(|e| e.to_string())?;
        let (mut all, mut agree) = (0, 0);
        let mut reasons = Reasons::new();
        let is_launched = backend_xla::is_launched();
        let selected = tests.iter().filter(|test| {
            let only = self.only.as_ref().is_none_or(|only| test.name.contains(only.as_str()));
            let part = hash(&test.name).is_multiple_of(self.every);
            only && part && test.is_for(name) && !(is_launched && test.needs_one_process())
        });
        for test in selected {
            all += 1;
            let start = Instant::now();
            let outcome = test.run(executor);
            if self.verbose {
                let word = if outcome.failures.is_empty() { "agrees" } else { "FAILS" };
                complain!("{}: {word} in {:.1} s", test.name, start.elapsed().as_secs_f64());
            }
            // Of several processes the first one prints, and tests may fail on others.
            if let Some(why) = outcome.failures.first().filter(|_| is_launched) {
                complain!("{}: {why}", test.name);
            }
            match outcome.failures.first() {
                None => agree += 1,
                Some(why) => reasons.entry(reason(&test.name, why)).or_default().push(format!("{}: {why}", test.name)),
            }
        }
        for (reason, tests) in &reasons {
            say!("{} tests: {reason}", tests.len());
            for t in tests.iter().take(if reason == OTHER || self.only.is_some() { usize::MAX } else { 3 }) {
                say!("    {}", t.replace('\n', " "));
            }
        }
        let percent = 100.0 * f64::from(agree) / f64::from(all.max(1));
        say!("{title}: {agree} of {all} programs run and agree ({percent:.1} %)");
        Ok(if percent >= self.least { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
