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
    /// The same of the executor, and how many times by hand that is in the same round; or why there are none.
    ours: [Result<[f64; 2], &'a str>; 2],
}

fn pairs<'a>(lines: &'a [Line], executor: &str) -> Vec<Pair<'a>> {
    let ours = |l: &'a Line| match l.executors.iter().find(|(name, _)| *name == executor) {
        Some((name, result)) => {
            let of_hand = l.of_hand.get(name).copied().unwrap_or(f64::NAN);
            result.as_ref().map(|(ms, _)| [*ms, of_hand]).map_err(String::as_str)
        }
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
    let of = |p: &Pair<'_>| {
        let ([loss, _], [both, of_hand]) = (p.ours[0].ok()?, p.ours[1].ok()?);
        Some([both / loss, of_hand])
    };
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
        "{about} Medians of {rounds} interleaved rounds, in milliseconds; *of by hand* are medians of the ratios of each \
         round.\n\n\
         | problem | size | loss by hand | loss | of by hand | with gradient by hand | of the loss by hand | with gradient | \
         of the loss | of by hand |\n|---|---|{}\n",
        "--:|".repeat(8)
    );
    for p in &pairs {
        let ms = |which: usize| p.ours[which].map_or("fails".into(), |[ms, _]| cell(ms));
        let of_hand = |which: usize| p.ours[which].map_or(String::new(), |[_, ratio]| format!("{ratio:.2}"));
        let of_loss = match p.ours {
            [Ok([loss, _]), Ok([both, _])] => format!("{:.2}", both / loss),
            _ => String::new(),
        };
        let cells = [
            p.name.to_string(),
            p.size.to_string(),
            cell(p.hand[0]),
            ms(0),
            of_hand(0),
            cell(p.hand[1]),
            format!("{:.2}", p.hand[1] / p.hand[0]),
            ms(1),
            of_loss,
            of_hand(1),
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
