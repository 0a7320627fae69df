//! Times and memory of a run.

use acc_core::text::{Expect, Run, TestFile};
use acc_core::timeline::{self, Kind, SpanRecord};
use acc_core::{Error, Executor};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a run on one executor took.
pub struct Measured {
    /// The executor.
    pub executor: &'static str,
    /// The whole run.
    pub total: Duration,
    /// Kernels by their titles, or steps by the values that they define.
    pub parts: BTreeMap<String, Part>,
}

/// A kernel or step.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// How often it ran.
    pub times: u64,
    /// How long, all times together, with what ran inside of it.
    pub time: Duration,
    /// The bytes of its results, the last time.
    pub bytes: u64,
    /// Where it comes from, if it is said.
    pub source: String,
}

/// The run of this name, or the first that is expected to succeed.
pub fn choose<'a>(file: &'a TestFile, name: Option<&str>) -> Result<Option<&'a Run>, String> {
    match name {
        Some(name) => match file.runs.iter().find(|r| r.name.as_deref() == Some(name)) {
            Some(run) => Ok(Some(run)),
            None => Err(format!("the file has no run named `{name}`")),
        },
        None => Ok(file.runs.iter().find(|r| match r.expect {
            Expect::Values(_) | Expect::Agree => true,
            Expect::Fault { .. } | Expect::Stopped => false,
        })),
    }
}

/// Runs a program twice, and says what the second run took: the first one compiles. The error is what stopped it.
pub fn measure(executor: &dyn Executor, name: &'static str, file: &TestFile, run: &Run) -> Result<Measured, Error> {
    let once = || crate::runner::execute(executor, file, run);
    once()?;
    let recording = timeline::record();
    once()?;
    let spans = recording.stop().spans;
    let note = |s: &SpanRecord, key: &str| s.notes.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
    let mut measured = Measured { executor: name, total: Duration::ZERO, parts: BTreeMap::new() };
    for s in &spans {
        let time = Duration::from_nanos(s.duration);
        let key = match s.kind {
            Kind::Run => {
                measured.total += time;
                continue;
            }
            Kind::Pass | Kind::Transfer | Kind::Wait => continue,
            Kind::Kernel => s.name.clone(),
            Kind::Tensor => match note(s, "values").and_then(|v| v.split(' ').next().map(str::to_string)) {
                Some(first) => first,
                None => continue,
            },
        };
        let part = measured.parts.entry(key).or_default();
        part.name.clone_from(&s.name);
        part.times += 1;
        part.time += time;
        part.bytes = note(s, "bytes").and_then(|b| b.parse().ok()).unwrap_or(0);
        part.source = note(s, "source").unwrap_or_default();
    }
    Ok(measured)
}

impl Measured {
    /// Which part of the run's time this took.
    pub fn share(&self, part: &Part) -> f64 {
        part.time.as_secs_f64() / self.total.as_secs_f64().max(1e-9)
    }
}

impl Part {
    /// Its time, in one word or two.
    pub fn shown(&self) -> String {
        let times = if self.times > 1 { format!(", {} times", self.times) } else { String::new() };
        format!("{}{times}", show_time(self.time))
    }
}

/// A time with a fitting unit.
pub fn show_time(t: Duration) -> String {
    match t.as_nanos() {
        ns @ 0..1_000 => format!("{ns} ns"),
        ns @ 1_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        ns @ 1_000_000..1_000_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        ns => format!("{:.2} s", ns as f64 / 1e9),
    }
}

/// Bytes with a fitting unit.
pub fn show_bytes(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0),
    }
}
