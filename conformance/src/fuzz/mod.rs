//! Random programs, and what must hold of them.
//!
//! * [`program`]: well-typed programs with two runs, from a seed or from the bytes of a fuzzing engine.
//! * [`oracle`]: what must hold; [`interval`]: where floats may lie.
//! * [`derivatives`]: what must hold of their derivatives.
//! * [`shrink`]: a program that shows a difference made small.
//! * [`statistics`]: what the programs were made of.
//! * [`hostile`]: inputs that are nearly right, for everything that reads inputs from outside.
//!
//! The command `acc fuzz` and the target in `fuzz/` are glue around [`run`] and [`check`].

mod arrays;
mod blocks;
pub mod derivatives;
mod generate;
pub mod hostile;
mod idioms;
pub mod interval;
mod literal;
mod operators;
pub mod oracle;
mod scalar;
pub mod schedules;
pub mod shrink;
pub mod statistics;

pub use conformance_cases::choices::Choices;
pub use generate::{Mode, program};

use acc_core::data::ArrayData;
use acc_core::text::{Data, Expect, Run, TestFile, parse_test_file};
use acc_core::verify::verify;
use oracle::{Findings, Oracle, Variation};
use shrink::Sample;
use statistics::Statistics;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// After so many programs those that executors keep are dropped: none comes again.
const PROGRAMS_IN_CACHES: u64 = 100;

/// A program that executors do not agree on.
pub struct Difference {
    /// Where it comes from.
    pub seed: u64,
    /// The program, as a test file.
    pub text: String,
    /// The executor that differs.
    pub executor: String,
    /// How the program was compiled and run.
    pub variation: Variation,
    /// What floats it computes with.
    pub mode: Mode,
    /// What differs.
    pub why: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} on {} {}: {}", self.seed, self.executor, self.variation, self.why)
    }
}

/// The mode of the program with this number: every sixth is tolerant.
pub fn mode_of(seed: u64) -> Mode {
    if seed % 6 == 5 { Mode::Tolerant } else { Mode::Exact }
}

/// Makes the program of a decision source and checks it; an error if it is not even well formed.
pub fn check(oracle: &Oracle, choices: Choices, mode: Mode, variation: Variation) -> (String, Result<Checked, String>) {
    let text = program(choices, mode);
    let file = match parse_test_file("random.acc", &text) {
        Ok(file) => file,
        Err(e) => return (text, Err(e.to_string())),
    };
    if let Err(e) = verify(&file.program, None) {
        return (text, Err(e.to_string()));
    }
    let findings = oracle.check(&file, mode, variation);
    (text, Ok(Checked { file, findings }))
}

/// A program, and what was found of it.
pub struct Checked {
    /// The program.
    pub file: TestFile,
    /// What was found.
    pub findings: Findings,
}

/// Checks so many programs, of a seed and those that follow it, each under the variation of its number, on so many threads, until there
/// are too many differences. After the last seed comes 0. `watch` is told of each program how many were begun before it, and where
/// executors differ on it.
pub fn run(
    oracle: &Oracle,
    first: u64,
    programs: u64,
    jobs: usize,
    most_differences: usize,
    vary: fn(u64) -> Variation,
    watch: impl Fn(u64, &[Difference]) + Sync,
) -> (Statistics, Vec<Difference>) {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new((Statistics::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                let mut statistics = Statistics::default();
                while !stop.load(Ordering::Relaxed) {
                    let done = next.fetch_add(1, Ordering::Relaxed);
                    if done >= programs {
                        break;
                    }
                    if done % PROGRAMS_IN_CACHES == 0 {
                        oracle.clear_caches();
                    }
                    let differences = one(oracle, first.wrapping_add(done), vary, &mut statistics);
                    watch(done, &differences);
                    if !differences.is_empty() {
                        let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        total.1.extend(differences);
                        stop.store(total.1.len() >= most_differences, Ordering::Relaxed);
                    }
                }
                total.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0.add(statistics);
            });
        }
    });
    total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(oracle: &Oracle, seed: u64, vary: fn(u64) -> Variation, statistics: &mut Statistics) -> Vec<Difference> {
    let (mode, variation) = (mode_of(seed), vary(seed / 6));
    let (text, checked) = check(oracle, Choices::seeded(seed), mode, variation);
    let difference =
        |executor: String, variation, why| Difference { seed, text: text.clone(), executor, variation, mode, why };
    match checked {
        Ok(Checked { file, findings }) => {
            // Every fourth, all of which are exact, and all of the tolerant ones.
            statistics.see(&file.program, seed.is_multiple_of(4) || seed % 6 == 5);
            statistics.valid += u64::from(findings.valid);
            statistics.elements += findings.elements;
            statistics.excluded += findings.excluded;
            findings.schedules.iter().for_each(|kind| *statistics.schedules.entry(kind).or_default() += 1);
            findings.differences.into_iter().map(|(e, v, why)| difference(e, v, why)).collect()
        }
        Err(e) => vec![difference("generator".into(), Variation::Plain, e)],
    }
}

/// The program of a difference made small, as a test file.
pub fn minimised(oracle: &Oracle, d: &Difference) -> String {
    /// Enough for a program of the generator's size.
    const MAX_ATTEMPTS: usize = 3000;
    let Ok(file) = parse_test_file("random.acc", &d.text) else { return d.text.clone() };
    let oracle = oracle.impatient();
    let differs = |file: &TestFile| {
        let found = oracle.check(file, d.mode, d.variation);
        found.differences.iter().any(|(executor, variation, _)| *executor == d.executor && *variation == d.variation)
    };
    let alone = |s: &Sample| {
        let run = |args: &Vec<ArrayData>| Run {
            name: None,
            line: 0,
            args: args.iter().cloned().map(Data::from).collect(),
            expect: Expect::Agree,
            tolerance: None,
            deadline_ms: None,
        };
        // On other extents, the program was compiled for these before.
        let runs = if d.variation == Variation::OtherExtents { vec![run(&s.args); 2] } else { vec![run(&s.args)] };
        TestFile { program: s.program.clone(), runs, ..file.clone() }
    };
    let samples =
        file.runs.iter().filter_map(|r| Some(Sample { program: file.program.clone(), args: r.arrays().ok()? }));
    match samples.into_iter().find(|s| differs(&alone(s))) {
        Some(sample) => shrink::shrink(&sample, MAX_ATTEMPTS, |s| differs(&alone(s))).text(),
        None => d.text.clone(),
    }
}
