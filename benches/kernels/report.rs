//! The table, as text while it is made and as a page of `docs/` in the end.

use crate::FASTEST;
use crate::measure::{Timed, geometric_mean, median};
use crate::roofline::Roofline;
use crate::row::Row;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The measurements of a row.
pub struct Line {
    pub name: &'static str,
    pub size: String,
    /// Milliseconds of the kernel by hand.
    pub hand: f64,
    /// Milliseconds that moving the bytes takes at least.
    pub memory: f64,
    /// Milliseconds that the arithmetic takes at least.
    pub arithmetic: f64,
    /// Of each executor: milliseconds, and the ratio to the limit; or why there are none.
    pub executors: Vec<(&'static str, Result<(f64, f64), String>)>,
    /// How many times the kernel by hand each executor takes, in the same round.
    pub of_hand: BTreeMap<&'static str, f64>,
    /// Milliseconds of other libraries, scaled from an earlier run to this one by the times of ours in both.
    pub peers: BTreeMap<String, f64>,
}

impl Line {
    pub fn new(row: &Row, timed: &Timed, roof: &Roofline, peers: BTreeMap<String, f64>) -> Line {
        let hand = median(&timed.hand);
        let peers = as_now(peers, timed);
        let memory = row.read / roof.read + row.written / roof.write();
        let arithmetic = row.flops / roof.flops;
        let bound = memory.max(arithmetic);
        let best_peer = peers.values().copied().fold(f64::INFINITY, f64::min) / 1e3;
        // The roofline is a limit where it is what limits.
        let limit =
            if bound > 0.8 * hand.min(best_peer) { hand.min(best_peer).min(bound) } else { hand.min(best_peer) };
        let of_hand = |times: &[f64]| median(&times.iter().zip(&timed.hand).map(|(t, h)| t / h).collect::<Vec<_>>());
        let executors = timed
            .contenders
            .iter()
            .map(|(name, times)| {
                let ratio = |times: &Vec<f64>| (1e3 * median(times), of_hand(times) * hand / limit);
                (*name, times.as_ref().map(ratio).map_err(Clone::clone))
            })
            .collect();
        let ran = timed.contenders.iter().filter_map(|(name, times)| Some((*name, times.as_ref().ok()?)));
        let of_hand = ran.map(|(name, times)| (name, of_hand(times))).collect();
        let [hand, memory, arithmetic] = [hand, memory, arithmetic].map(|s| 1e3 * s);
        Line { name: row.name, size: row.size.clone(), hand, memory, arithmetic, executors, of_hand, peers }
    }

    /// What bounds the kernel by hand.
    pub fn bound(&self) -> &'static str {
        let share = 0.8 * self.hand;
        match (self.memory > share, self.arithmetic > share) {
            (true, _) => "memory",
            (false, true) => "arithmetic",
            (false, false) if self.hand < 0.01 => "latency",
            (false, false) => "neither alone",
        }
    }

    /// Whether the row counts in the mean: short ones show what a call costs.
    pub fn counts(&self) -> bool {
        self.hand >= 0.01
    }
}

/// Milliseconds of other libraries scaled to this run, in which the machine may be slower or faster than in theirs.
fn as_now(mut peers: BTreeMap<String, f64>, timed: &Timed) -> BTreeMap<String, f64> {
    let ours = timed.contenders.iter().find(|(name, _)| *name == FASTEST).and_then(|(_, times)| times.as_ref().ok());
    match (peers.remove("ours"), ours) {
        (Some(then), Some(now)) => peers.into_iter().map(|(p, ms)| (p, ms * 1e3 * median(now) / then)).collect(),
        (Some(_), None) | (None, _) => BTreeMap::new(),
    }
}

pub fn cell(ms: f64) -> String {
    match ms {
        ms if ms < 0.1 => format!("{ms:.4}"),
        ms if ms < 10.0 => format!("{ms:.3}"),
        ms => format!("{ms:.1}"),
    }
}

/// A row as it is printed while the benchmark runs.
pub fn text(line: &Line) -> String {
    let mut out = format!("{:<28} {:<24} by hand {:>9} ms", line.name, line.size, cell(line.hand));
    for (name, result) in &line.executors {
        let _ = match result {
            Ok((ms, ratio)) => write!(out, "  {name} {:>9} ms x{ratio:<6.2}", cell(*ms)),
            Err(why) => write!(out, "  {name} FAILS: {why}"),
        };
    }
    out
}

/// The ratios of an executor in the rows that count.
fn ratios<'a>(lines: &'a [Line], executor: &str) -> Vec<(f64, &'a Line)> {
    let of = |l: &'a Line| {
        let (_, result) = l.executors.iter().find(|(name, _)| *name == executor)?;
        result.as_ref().ok().map(|(_, ratio)| (*ratio, l))
    };
    lines.iter().filter(|l| l.counts()).filter_map(of).collect()
}

/// Below this ratio a limit is too weak.
const MIN_RATIO: f64 = 0.95;

/// The last line: the geometric mean of an executor's ratios, and the worst.
pub fn summary(lines: &[Line], executor: &str) -> String {
    let ratios = ratios(lines, executor);
    let Some((worst, line)) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return format!("bench: no kernel ran on {executor}");
    };
    let mean = geometric_mean(&ratios.iter().map(|(r, _)| *r).collect::<Vec<_>>());
    format!(
        "bench: {} kernels, geometric mean {mean:.2} of the limit, worst {} {} at {worst:.2}",
        ratios.len(),
        line.name,
        line.size
    )
}

/// The section of `docs/BENCHMARKS.md`.
pub fn markdown(lines: &[Line], roof: &Roofline, rounds: usize, about: &str) -> String {
    let executors: Vec<&str> =
        lines.iter().flat_map(|l| l.executors.iter().map(|(n, _)| *n)).fold(Vec::new(), |mut all, n| {
            if !all.contains(&n) {
                all.push(n);
            }
            all
        });
    let peers: Vec<&String> = lines.iter().flat_map(|l| l.peers.keys()).fold(Vec::new(), |mut all, n| {
        if !all.contains(&n) {
            all.push(n);
        }
        all
    });
    let mut out = format!(
        "{about}\n\nMedians of {rounds} interleaved rounds, in milliseconds; in brackets the ratio to the row's limit: the fastest of \
         the kernel written by hand, the other libraries, and, where memory or arithmetic takes most of that time, the \
         roofline. Measured in the same run: {:.1} GB/s reading, {:.1} GB/s copying with non-temporal stores, {:.0} GFLOP/s.\n\n",
        roof.read / 1e9,
        roof.copy / 1e9,
        roof.flops / 1e9
    );
    let head: Vec<&str> = ["kernel", "size", "bound by", "by hand"]
        .into_iter()
        .chain(executors.iter().copied())
        .chain(peers.iter().map(|p| p.as_str()))
        .collect();
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|---|---|---|{}", "--:|".repeat(head.len() - 3));
    for l in lines {
        let mut cells = vec![l.name.to_string(), l.size.clone(), l.bound().to_string(), cell(l.hand)];
        for e in &executors {
            cells.push(match l.executors.iter().find(|(n, _)| n == e) {
                Some((_, Ok((ms, ratio)))) => format!("{} ({ratio:.2})", cell(*ms)),
                Some((_, Err(_))) => "fails".into(),
                None => "".into(),
            });
        }
        cells.extend(peers.iter().map(|p| l.peers.get(*p).map(|ms| cell(*ms)).unwrap_or_default()));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
    for e in executors {
        let _ = writeln!(out, "{e}: `{}`\n", summary(lines, e));
    }
    let under: Vec<String> = ratios(lines, FASTEST)
        .into_iter()
        .filter(|(ratio, _)| *ratio < MIN_RATIO)
        .map(|(ratio, l)| format!("{} {} ({ratio:.2})", l.name, l.size))
        .collect();
    if !under.is_empty() {
        let _ = writeln!(out, "More than 5 % under the limit, which is no limit then: {}.\n", under.join(", "));
    }
    for l in lines {
        for (name, result) in &l.executors {
            if let Err(why) = result {
                let _ = writeln!(out, "* {} {} fails on {name}: {why}", l.name, l.size);
            }
        }
    }
    out
}
