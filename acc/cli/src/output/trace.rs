//! Traces: of this process, or of all processes of a launch, put side by side in one file.

use super::write_file;
use acc_core::timeline::{self, BEGAN, SPANS_LOST};
use backend_xla::{trace_file, trace_name, variables};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The key in `otherData` of the processes that left no trace.
const MISSING: &str = "processes without a trace";

/// Runs a command, and writes what this process did to a file: the one that is asked for, or that of a launch.
pub fn of_this_process(path: Option<&Path>, command: impl FnOnce() -> crate::Outcome) -> crate::Outcome {
    let Some(path) = path.map(Path::to_path_buf).or_else(trace_file) else { return command() };
    let recording = timeline::record();
    let outcome = command();
    finished(outcome, write_file(&path, recording.stop().to_chrome().as_bytes()))
}

/// Runs a command that starts so many processes, and writes what all of them did to a file.
pub fn of_processes(path: &Path, processes: u32, command: impl FnOnce(&Parts) -> crate::Outcome) -> crate::Outcome {
    let folder = TempDir::new().map_err(|e| format!("cannot make a folder for traces: {e}"))?;
    let parts = Parts { folder };
    let outcome = command(&parts);
    let written = parts.read(processes).and_then(|parts| merged(&parts)).and_then(|t| write_file(path, t.as_bytes()));
    finished(outcome, written)
}

/// The first of two errors.
fn finished(outcome: crate::Outcome, written: Result<(), String>) -> crate::Outcome {
    outcome.and_then(|code| written.map(|()| code))
}

/// The traces of the processes of a launch.
pub struct Parts {
    folder: TempDir,
}

impl Parts {
    /// Makes a command leave its trace here.
    pub fn ask(&self, command: &mut Command) {
        command.env(variables::TRACE, self.folder.path());
    }

    /// The trace of each process, if it left one.
    fn read(&self, processes: u32) -> Result<Vec<Option<String>>, String> {
        let read = |process: u32| {
            let file = self.folder.path().join(trace_name(process));
            if !file.exists() {
                return Ok(None);
            }
            std::fs::read_to_string(&file).map(Some).map_err(|e| format!("the trace of process {process}: {e}"))
        };
        (0..processes).map(read).collect()
    }
}

/// One trace of those of processes: each has its number as `pid`, and times count from when the first of them began.
fn merged(parts: &[Option<String>]) -> Result<String, String> {
    let mut traces = Vec::new();
    let mut missing = Vec::new();
    for (process, part) in parts.iter().enumerate() {
        match part {
            None => missing.push(process.to_string()),
            Some(text) => {
                let defect = |e| format!("the trace of process {process}: {e}");
                traces.push((process, Part::parse(text).map_err(defect)?));
            }
        }
    }
    let first = traces.iter().map(|(_, part)| part.began).min().unwrap_or(0);
    let mut events = Vec::new();
    let mut lost = 0;
    for (process, part) in traces {
        let name = format!("process {process} of {}", parts.len());
        events.push(json!({ "ph": "M", "pid": process, "name": "process_name", "args": { "name": name } }));
        events.push(
            json!({ "ph": "M", "pid": process, "name": "process_sort_index", "args": { "sort_index": process } }),
        );
        lost += part.lost;
        for mut event in part.events {
            event.insert("pid".to_string(), json!(process));
            if let Some(time) = event.get_mut("ts") {
                *time = later(time, part.began - first);
            }
            events.push(event.into());
        }
    }
    let mut other = json!({ BEGAN: first.to_string(), SPANS_LOST: lost.to_string() });
    if !missing.is_empty() {
        other[MISSING] = json!(missing.join(", "));
    }
    Ok(json!({ "displayTimeUnit": "ns", "otherData": other, "traceEvents": events }).to_string())
}

/// A time in microseconds, so many nanoseconds later.
fn later(time: &Value, nanoseconds: u64) -> Value {
    // Times of a recording are exact in nanoseconds, and so are sums of them.
    let time = (time.as_f64().unwrap_or(0.0) * 1000.0).round() + nanoseconds as f64;
    json!(time / 1000.0)
}

/// The trace of one process.
struct Part {
    /// When it began, in nanoseconds since 1970.
    began: u64,
    lost: u64,
    events: Vec<Map<String, Value>>,
}

impl Part {
    fn parse(text: &str) -> Result<Part, String> {
        let mut trace: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let number = |key: &str| {
            let text = trace["otherData"][key].as_str().ok_or_else(|| format!("`{key}` is missing"))?;
            text.parse::<u64>().map_err(|e| format!("`{key}`: {e}"))
        };
        let (began, lost) = (number(BEGAN)?, number(SPANS_LOST)?);
        let Value::Array(all) = trace["traceEvents"].take() else { return Err("it has no events".to_string()) };
        let object = |event| match event {
            Value::Object(event) => Ok(event),
            _ => Err("an event is no object".to_string()),
        };
        Ok(Part { began, lost, events: all.into_iter().map(object).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(began: &str, thread: &str, name: &str, ts: f64) -> Option<String> {
        let events = json!([
            { "ph": "M", "pid": 1, "tid": 4, "name": "thread_name", "args": { "name": thread } },
            { "ph": "X", "pid": 1, "tid": 4, "cat": "pass", "name": name, "ts": ts, "dur": 2.5, "args": { "bytes": "8" } },
        ]);
        Some(json!({ "otherData": { "began": began, "spans lost": "2" }, "traceEvents": events }).to_string())
    }

    #[test]
    fn parts_are_put_side_by_side() {
        let second = part("1764504745000002001", "main", "lower", 1.25);
        let parts = [second, None, part("1764504745000000001", "acc-compile", "compile", 0.007), None];
        let trace: Value = serde_json::from_str(&merged(&parts).unwrap()).unwrap();
        assert_eq!(
            trace["otherData"],
            json!({ "began": "1764504745000000001", "spans lost": "4", "processes without a trace": "1, 3" })
        );
        let of = |process: u32| -> Vec<&Value> {
            trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["pid"] == process).collect()
        };
        let named = |e: &Value| e["ph"] == "M" && e["name"] == "process_name";
        for (process, name, thread, pass, ts) in
            [(0, "process 0 of 4", "main", "lower", 3.25), (2, "process 2 of 4", "acc-compile", "compile", 0.007)]
        {
            let events = of(process);
            assert_eq!(events.iter().find(|e| named(e)).unwrap()["args"]["name"], name);
            assert_eq!(events.iter().find(|e| e["name"] == "thread_name").unwrap()["args"]["name"], thread);
            let span = events.iter().find(|e| e["ph"] == "X").unwrap();
            assert_eq!((&span["name"], &span["ts"], &span["dur"]), (&json!(pass), &json!(ts), &json!(2.5)));
            assert_eq!((&span["tid"], &span["args"]["bytes"]), (&json!(4), &json!("8")));
        }
        assert!(of(1).is_empty() && of(3).is_empty());
    }

    #[test]
    fn a_trace_without_parts_says_so() {
        let trace: Value = serde_json::from_str(&merged(&[None, None]).unwrap()).unwrap();
        assert_eq!((&trace["otherData"][MISSING], &trace["traceEvents"]), (&json!("0, 1"), &json!([])));
    }

    #[test]
    fn a_broken_part_is_told() {
        let why = |text: &str| merged(&[part("1", "main", "lower", 1.0), Some(text.to_string())]).unwrap_err();
        assert!(why("{").contains("the trace of process 1: "), "{}", why("{"));
        assert!(why("{}").contains("`began` is missing"), "{}", why("{}"));
    }
}
