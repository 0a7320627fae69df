//! The table of losses and their gradients.

use crate::measure::geometric_mean;
use crate::report::{Line, cell};
use std::fmt::Write;

/// How the names of these rows begin.
const PREFIX: &str = "gradient: ";
/// How they end: the loss alone, and with its gradient.
const ENDS: [&str; 2] = [" (loss)", " (with gradient)"];

/// Whether a row is one of a gradient.
pub fn is(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Milliseconds of a problem.
struct Pair<'a> {
    name: &'a str,
    size: &'a str,
    /// Of the loss and of both, by hand.
    hand: [f64; 2],
    /// The same of the executor, or why there are none.
    ours: [Result<f64, &'a str>; 2],
}

fn pairs<'a>(lines: &'a [Line], executor: &str) -> Vec<Pair<'a>> {
    let ours = |l: &'a Line| match l.executors.iter().find(|(name, _)| *name == executor) {
        Some((_, result)) => result.as_ref().map(|(ms, _)| *ms).map_err(String::as_str),
        None => Err("not run"),
    };
    let pair = |loss: &'a Line| {
        let name = loss.name.strip_suffix(ENDS[0])?;
        let both = lines.iter().find(|l| l.size == loss.size && l.name.strip_suffix(ENDS[1]) == Some(name))?;
        Some(Pair {
            name: name.strip_prefix(PREFIX)?,
            size: &loss.size,
            hand: [loss.hand, both.hand],
            ours: [ours(loss), ours(both)],
        })
    };
    lines.iter().filter_map(pair).collect()
}

/// How many times the loss the loss with its gradient takes, and how many times by hand, of each problem that ran.
fn ratios(pairs: &[Pair<'_>]) -> Vec<[f64; 2]> {
    let of = |p: &Pair<'_>| Some([p.ours[1].ok()? / p.ours[0].ok()?, p.ours[1].ok()? / p.hand[1]]);
    pairs.iter().filter_map(of).collect()
}

/// The geometric means.
pub fn summary(lines: &[Line], executor: &str) -> String {
    let ratios = ratios(&pairs(lines, executor));
    let mean = |which: usize| geometric_mean(&ratios.iter().map(|r| r[which]).collect::<Vec<_>>());
    format!(
        "gradients: {} problems, geometric mean {:.2} of the loss, {:.2} of the gradient by hand",
        ratios.len(),
        mean(0),
        mean(1)
    )
}

/// The section of `docs/BENCHMARKS.md`.
pub fn markdown(lines: &[Line], executor: &str, rounds: usize, about: &str) -> String {
    let pairs = pairs(lines, executor);
    let mut out = format!(
        "{about} Medians of {rounds} interleaved rounds, in milliseconds.\n\n\
         | problem | size | loss by hand | loss | of by hand | with gradient by hand | of the loss by hand | with gradient | \
         of the loss | of by hand |\n|---|---|{}\n",
        "--:|".repeat(8)
    );
    for p in &pairs {
        let ours = |which: usize| p.ours[which].map_or("fails".into(), cell);
        let ratio = |ours: Result<f64, &str>, of: Result<f64, &str>| match (ours, of) {
            (Ok(ms), Ok(of)) => format!("{:.2}", ms / of),
            _ => String::new(),
        };
        let cells = [
            p.name.to_string(),
            p.size.to_string(),
            cell(p.hand[0]),
            ours(0),
            ratio(p.ours[0], Ok(p.hand[0])),
            cell(p.hand[1]),
            ratio(Ok(p.hand[1]), Ok(p.hand[0])),
            ours(1),
            ratio(p.ours[1], p.ours[0]),
            ratio(p.ours[1], Ok(p.hand[1])),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let _ = writeln!(out, "\n`{}`", summary(lines, executor));
    for p in &pairs {
        for why in p.ours.iter().filter_map(|r| r.err()) {
            let _ = writeln!(out, "* {} {} fails: {why}", p.name, p.size);
        }
    }
    out
}
