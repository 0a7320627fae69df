//! Timing: everything once a round, in one process, so that a slow moment of the machine meets all.

use crate::row::Row;
use acc_core::data::ArrayData;
use acc_core::exec::Ready;
use acc_core::{Backend, Error, RunLimits};
use std::time::{Duration, Instant};

/// A measurement shorter than this repeats what it measures.
const LEAST_SECONDS: f64 = 5e-3;

/// An executor of a row.
pub struct Contender {
    pub name: &'static str,
    run: Box<dyn Fn(&[ArrayData]) -> Result<Vec<ArrayData>, Error>>,
}

impl Contender {
    /// A program compiled for a backend.
    pub fn new<B: Backend>(name: &'static str, backend: &B, row: &Row) -> Result<Contender, Error> {
        let ready = Ready::new(backend, &row.program)?;
        Ok(Contender { name, run: Box::new(move |args| ready.run(args, &RunLimits::none())) })
    }
}

/// Seconds of a row: by hand, and of each contender, one for each round.
pub struct Timed {
    pub hand: Vec<f64>,
    pub contenders: Vec<(&'static str, Result<Vec<f64>, String>)>,
}

/// Longer than idle threads of the contender before watch for work, on processors that the next one needs.
const REST_BEFORE_CALLS: Duration = Duration::from_millis(2);

/// Seconds that one call takes, from `times` in a row, after a rest, and one that brings its threads and its memory back
/// from what ran before.
fn seconds(times: usize, call: &mut dyn FnMut()) -> f64 {
    std::thread::sleep(REST_BEFORE_CALLS);
    call();
    let start = Instant::now();
    for _ in 0..times {
        call();
    }
    start.elapsed().as_secs_f64() / times as f64
}

/// How often a call is repeated for one measurement.
fn repeats(call: &mut dyn FnMut()) -> usize {
    let once = seconds(1, call);
    (LEAST_SECONDS / once.max(1e-9)).ceil().clamp(1.0, 10_000.0) as usize
}

/// A contender that gives the right results, with its arguments.
pub struct Prepared {
    run: Box<dyn Fn(&[ArrayData]) -> Result<Vec<ArrayData>, Error>>,
    args: Vec<ArrayData>,
    times: usize,
}

impl Prepared {
    /// Runs a contender for the first time; an error if it fails or is wrong.
    pub fn new(row: &Row, contender: Contender) -> Result<Prepared, String> {
        let results = (contender.run)(&row.args).map_err(|e| e.to_string())?;
        row.difference(&results).map_or(Ok(()), Err)?;
        drop(results);
        let mut prepared = Prepared { run: contender.run, args: row.args.clone(), times: 1 };
        prepared.times = repeats(&mut || prepared.call());
        Ok(prepared)
    }

    fn call(&self) {
        drop((self.run)(&self.args));
    }

    /// Seconds of a call.
    pub fn seconds(&self) -> f64 {
        seconds(self.times, &mut || self.call())
    }
}

/// Times a row for so many rounds. A contender that fails, or is wrong, is not timed; its error says why.
pub fn time(row: &mut Row, contenders: Vec<Contender>, rounds: usize) -> Timed {
    let by_hand = repeats(&mut || row.hand.run());
    let mut timed = Timed { hand: Vec::new(), contenders: Vec::new() };
    let mut running = Vec::new();
    for c in contenders {
        let name = c.name;
        let prepared = Prepared::new(row, c);
        timed.contenders.push((name, prepared.as_ref().map(|_| Vec::new()).map_err(Clone::clone)));
        running.push(prepared);
    }
    for round in 0..rounds {
        for who in order(running.len() + 1, round) {
            let Some(contender) = who.checked_sub(1) else {
                timed.hand.push(seconds(by_hand, &mut || row.hand.run()));
                continue;
            };
            if let (Ok(prepared), Ok(times)) = (&running[contender], &mut timed.contenders[contender].1) {
                times.push(prepared.seconds());
            }
        }
    }
    timed
}

/// In which order `n` contenders are measured in a round. Each finds memory, caches and the processor as its predecessor
/// left them, so the predecessors change from round to round: the step from one to the next runs through the numbers that
/// have no divisor in common with `n`.
fn order(n: usize, round: usize) -> impl Iterator<Item = usize> {
    let coprime = |step: &usize| (2..=n).all(|d| !(n.is_multiple_of(d) && step.is_multiple_of(d)));
    let steps: Vec<usize> = (1..n.max(2)).filter(coprime).collect();
    let step = steps[round % steps.len()];
    (0..n).map(move |k| (round + k * step) % n)
}

/// The middle of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The geometric mean.
pub fn geometric_mean(numbers: &[f64]) -> f64 {
    (numbers.iter().map(|x| x.ln()).sum::<f64>() / numbers.len() as f64).exp()
}
