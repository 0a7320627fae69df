//! Times of programs that differ in their schedules alone.

use crate::Native;
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::{Error, Executor, RunLimits};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Times of a program, in nanoseconds of a run.
#[derive(Clone, Debug)]
pub struct Times {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// Whether its results have the bits of the program as it is.
    pub same_bits: bool,
}

/// A program that takes longer is measured once: it is not the fastest.
const MAX_REPEATED: Duration = Duration::from_millis(500);

/// The times of programs, each run so often, in turn; the first one is that whose bits the others should have.
pub(crate) fn interleaved(
    native: &Native,
    programs: &[Arc<Program>],
    args: &[ArrayData],
    rounds: usize,
    limits: &RunLimits,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Times>, Error> {
    let rounds = rounds.max(1);
    let total = programs.len() * (rounds + 1);
    let mut done = 0;
    let mut report = |progress: &mut dyn FnMut(usize, usize), n: usize| {
        done += n;
        progress(done, total);
    };
    let run = |program: &Arc<Program>| {
        let start = Instant::now();
        let results = native.run_untyped(program, args, limits)?;
        Ok::<_, Error>((start.elapsed(), results))
    };
    let mut want: Option<Vec<ArrayData>> = None;
    let mut times: Vec<(Vec<Duration>, bool)> = Vec::new();
    // The first run compiles.
    for program in programs {
        let (_, results) = run(program)?;
        let (warm, _) = if times.is_empty() { run(program)? } else { (Duration::ZERO, Vec::new()) };
        let same = want.as_ref().is_none_or(|want| *want == results);
        want.get_or_insert(results);
        times.push((if warm.is_zero() { Vec::new() } else { vec![warm] }, same));
        report(progress, 1);
    }
    for round in 0..rounds {
        for (program, (times, _)) in programs.iter().zip(&mut times) {
            let is_slow = round > 0 && times.last().is_some_and(|t| *t > MAX_REPEATED);
            if !is_slow {
                times.push(run(program)?.0);
            }
            report(progress, 1);
        }
    }
    let nanoseconds = |t: &Duration| t.as_secs_f64() * 1e9;
    Ok(times
        .into_iter()
        .map(|(mut times, same_bits)| {
            times.sort_unstable();
            let median = times.get(times.len() / 2).map_or(f64::INFINITY, nanoseconds);
            Times { median, least: times.first().map_or(f64::INFINITY, nanoseconds), same_bits }
        })
        .collect())
}
