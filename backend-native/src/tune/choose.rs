//! Which arrays of a program are computed by which schedules.

use crate::search::{self, SearchOptions};
use crate::{Compile, Native, Options};
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayId, Program, Schedule};
use acc_core::{Error, RunLimits};
use std::sync::Arc;

/// A schedule of an array, and the times of the program with it and without.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The array.
    pub array: ArrayId,
    /// The loops that compute it.
    pub schedule: Schedule,
    /// The median of the program's times, in nanoseconds.
    pub median: f64,
    /// The median without this schedule.
    pub before: f64,
}

/// A program that takes less, in nanoseconds, is not tuned.
const MIN_TUNED_NANOSECONDS: f64 = 100e3;
/// A schedule is taken if the program takes at most this part of its time before.
const MAX_PART_OF_TIME: f64 = 0.95;

/// The schedules that make a program faster on these arguments: each in two comparisons.
pub(super) fn choose(options: &Options, program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<Chosen>, Error> {
    let native = Native::with(options.clone().compile(Compile::Now))?;
    let limits = RunLimits::none();
    let mut program = program.clone();
    let mut chosen = Vec::new();
    let settings = SearchOptions::default();
    let as_it_is = search::measure::interleaved(&native, &[program.clone()], args, 1, &limits, &mut |_, _| {})?;
    if as_it_is.iter().all(|t| t.least < MIN_TUNED_NANOSECONDS) {
        return Ok(chosen);
    }
    for array in search::tunable(&program, args)? {
        let report = search::on(&native, &program, array, args, &settings, &mut |_, _| {})?;
        let is_faster = |now: f64, before: f64| now <= MAX_PART_OF_TIME * before;
        let found = report.nests.into_iter().find_map(|found| Some((found.schedule, found.measured?)));
        let Some((schedule, times)) = found else { continue };
        if !times.same_bits || !is_faster(times.median, report.default.median) {
            continue;
        }
        let Some(with) = program.with_schedule(array, schedule.clone()).map(Arc::new) else { continue };
        let both = [program.clone(), with.clone()];
        let again = search::measure::interleaved(&native, &both, args, settings.rounds, &limits, &mut |_, _| {})?;
        if let [before, now] = &again[..]
            && now.same_bits
            && is_faster(now.median, before.median)
        {
            chosen.push(Chosen { array, schedule, median: now.median, before: before.median });
            program = with;
        }
    }
    Ok(chosen)
}
