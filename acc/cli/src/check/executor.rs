//! `acc check-executor NAME`

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
    #[command(flatten)]
    tests: Tests,
}

/// Which tests run, and how many may fail.
#[derive(clap::Args)]
pub struct Tests {
    /// Only tests whose names contain this.
    #[arg(long)]
    only: Option<String>,
    /// Say each test's name when it is done.
    #[arg(short, long)]
    verbose: bool,
    /// Fewer than so many percent are a failure.
    #[arg(long, default_value_t = 98.0)]
    least: f64,
}

pub fn main(args: &Args) -> crate::Outcome {
    let found = executors::select(Some(&args.name))?;
    let executor = found.first().and_then(|r| r.present()).ok_or("the executor is not there")?;
    args.tests.measure(&args.name, &args.name, &**executor, |_, _| OTHER.to_string())
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
        for test in &tests {
            if !test.is_for(name) || self.only.as_ref().is_some_and(|only| !test.name.contains(only.as_str())) {
                continue;
            }
            all += 1;
            let start = Instant::now();
            let outcome = test.run(executor);
            if self.verbose {
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
            for t in tests.iter().take(if reason == OTHER || self.only.is_some() { usize::MAX } else { 3 }) {
                say!("    {}", t.replace('\n', " "));
            }
        }
        let percent = 100.0 * f64::from(agree) / f64::from(all.max(1));
        say!("{title}: {agree} of {all} programs run and agree ({percent:.1} %)");
        Ok(if percent >= self.least { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
