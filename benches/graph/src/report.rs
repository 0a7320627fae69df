//! The table.

use crate::row::{PAPER, Row, on_cpu};
use crate::{Measured, Summary};
use std::fmt::Write;

/// What a run has its own section for.
fn section() -> &'static str {
    if on_cpu() { "bench-graph" } else { "bench-graph-cuda" }
}

/// What is timed beside, as a heading and as a phrase.
fn reference() -> &'static str {
    if on_cpu() { "interpreter" } else { "copies" }
}

/// A row counts for the means if it has as many elements,
const MIN_ELEMENTS: usize = 1_000_000;
/// and if the code by hand takes as long: what takes less moves no element.
const MIN_NANOSECONDS: f64 = 20_000.0;

/// One row while it is measured.
pub(crate) fn line(row: &Row, m: &Measured) -> String {
    format!(
        "{:<28} {:>9}  hand {:>11.1} us  checked {:>11.1} us ({:.2})  unchecked {:>11.1} us ({:.2})  {} {:>12.1} us ({:.2})  {} launches, compiled in {:.1} ms",
        row.name,
        row.size,
        m.hand / 1e3,
        m.checked / 1e3,
        m.checked_of_hand,
        m.unchecked / 1e3,
        m.unchecked_of_hand,
        reference(),
        m.reference / 1e3,
        m.reference / m.checked,
        row.launches,
        row.compile.as_secs_f64() * 1e3
    )
}

fn geometric_mean(xs: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = xs.fold((0.0, 0), |(s, n), x| (s + x.ln(), n + 1));
    if n == 0 { f64::NAN } else { (sum / f64::from(n)).exp() }
}

/// The section of the document.
// Writing to a string cannot fail, so the results of `writeln!` say nothing.
pub(crate) fn report(rows: &[(Summary, Measured)], overhead: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "| program | elements | launches | by hand (µs) | checked | of hand | unchecked | of hand | {} / checked |",
        reference()
    );
    let _ = writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (s, m) in rows {
        let _ = writeln!(
            out,
            "| {}: {} | {} | {} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} | {} |",
            s.group,
            s.name,
            s.size,
            s.launches,
            m.hand / 1e3,
            m.checked / 1e3,
            m.checked_of_hand,
            m.unchecked / 1e3,
            m.unchecked_of_hand,
            if m.reference.is_nan() { String::new() } else { format!("{:.2}", m.reference / m.checked) }
        );
    }
    let _ = writeln!(out, "\nBy hand:\n");
    let mut seen = Vec::new();
    for (s, _) in rows {
        if !seen.contains(&&s.name) {
            seen.push(&s.name);
            let source = s.source.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "* {}: `{source}`", s.name);
        }
    }
    let small: Vec<&(Summary, Measured)> = rows.iter().filter(|(s, _)| s.size < 100).collect();
    if !small.is_empty() {
        let mean =
            |f: &dyn Fn(&(Summary, Measured)) -> f64| small.iter().map(|r| f(r)).sum::<f64>() / small.len() as f64;
        let mut compile: Vec<f64> = small.iter().map(|(s, _)| s.compile.as_secs_f64() * 1e3).collect();
        compile.sort_by(f64::total_cmp);
        let _ = writeln!(
            out,
            "\nAt the thesis's sizes a cached call takes {:.1} µs in the mean ({:.1} µs by hand), compilation {:.2} ms in the median.",
            mean(&|r| r.1.checked) / 1e3,
            mean(&|r| r.1.hand) / 1e3,
            compile[compile.len() / 2]
        );
    }
    let _ = writeln!(out, "\n{overhead}");
    let large = || rows.iter().filter(|(s, m)| s.group != PAPER && s.size >= MIN_ELEMENTS && m.hand >= MIN_NANOSECONDS);
    let threads = backend_graph::torch::Setup::default().apply().threads;
    let _ = writeln!(out, "\nlibtorch ran on {threads} {}.", if threads == 1 { "thread" } else { "threads" });
    let worst = large().max_by(|a, b| a.1.checked_of_hand.total_cmp(&b.1.checked_of_hand));
    if let Some((s, m)) = worst {
        let _ = writeln!(
            out,
            "\nOf the rows of at least a million elements the worst is {}, at {:.2} of by hand.",
            s.name, m.checked_of_hand
        );
    }
    let papers = || rows.iter().filter(|(s, _)| s.group == PAPER);
    if let Some((s, m)) = papers().max_by(|a, b| a.1.checked_of_hand.total_cmp(&b.1.checked_of_hand)) {
        let _ = writeln!(
            out,
            "\nThe rows of the papers are at {:.2} of by hand in the geometric mean; the worst is {}, at {:.2}.",
            geometric_mean(papers().map(|(_, m)| m.checked_of_hand)),
            s.name,
            m.checked_of_hand
        );
    }
    let _ = writeln!(
        out,
        "\n{}: geometric mean {:.2} of hand-written tch, {:.2} of the {}",
        section(),
        geometric_mean(large().map(|(_, m)| m.checked_of_hand)),
        geometric_mean(large().map(|(_, m)| m.reference / m.checked)),
        reference()
    );
    out
}

/// Puts the section into a document, in place of the one before.
pub(crate) fn write(file: &str, text: &str) {
    let old = std::fs::read_to_string(file).unwrap_or_default();
    let (begin, end) = (format!("<!-- {} -->", section()), format!("<!-- end of {} -->", section()));
    let section = format!("{begin}\n{text}{end}\n");
    let new = match (old.find(&begin), old.find(&end)) {
        (Some(a), Some(b)) if a < b => {
            format!("{}{section}{}", &old[..a], old[b + end.len()..].trim_start_matches('\n'))
        }
        _ => format!("{old}\n{section}"),
    };
    if let Err(e) = std::fs::write(file, new) {
        eprintln!("{file}: {e}");
    }
}
