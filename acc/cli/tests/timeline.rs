//! `--trace`: what a command did when, as a Chrome trace.

use acc_core::Executor;
use acc_core::prelude::*;
use acc_core::text::verified_test_file;
use acc_core::timeline::{self, Kind};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn acc(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_acc")).args(args).output().expect("acc starts");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn program(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name).display().to_string()
}

/// The complete events of a trace: category, name, thread, beginning and end in nanoseconds.
type Event = (String, String, u64, u64, u64);

fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).expect("the trace is there");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Those of the one process that is traced.
fn events(path: &Path) -> Vec<Event> {
    events_of(&read(path), 1)
}

/// Those of one process, by its `pid`.
fn events_of(trace: &Json, process: u64) -> Vec<Event> {
    let nanoseconds = |j: &Json| (j.as_f64().expect("a number") * 1000.0).round() as u64;
    let mut out = Vec::new();
    for e in trace["traceEvents"].as_array().expect("events").iter().filter(|e| e["pid"] == process) {
        match e["ph"].as_str() {
            Some("M") => assert!(["thread_name", "process_name", "process_sort_index"].iter().any(|n| e["name"] == *n)),
            Some("X") => {
                let (from, name) = (nanoseconds(&e["ts"]), e["name"].as_str().expect("a name"));
                let category = e["cat"].as_str().expect("a category");
                let thread = e["tid"].as_u64().expect("a thread");
                out.push((category.to_string(), name.to_string(), thread, from, from + nanoseconds(&e["dur"])));
            }
            other => panic!("an event {other:?}"),
        }
    }
    out
}

/// Spans of one thread lie inside of each other, or apart.
fn well_nested(events: &[Event]) {
    let mut threads: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
    events.iter().for_each(|e| threads.entry(e.2).or_default().push(e));
    for mut of_thread in threads.into_values() {
        of_thread.sort_by_key(|e| (e.3, std::cmp::Reverse(e.4)));
        let mut open: Vec<&Event> = Vec::new();
        for e in of_thread {
            while open.last().is_some_and(|o| o.4 <= e.3) {
                open.pop();
            }
            assert!(open.last().is_none_or(|o| e.4 <= o.4), "{e:?} ends after {:?}", open.last());
            open.push(e);
        }
    }
}

/// The names of the processes of a trace, in their order.
fn processes(trace: &Json) -> Vec<&str> {
    let all = trace["traceEvents"].as_array().expect("events").iter().filter(|e| e["name"] == "process_name");
    all.map(|e| e["args"]["name"].as_str().expect("a name")).collect()
}

fn names<'a>(events: &'a [Event], category: &str) -> Vec<&'a str> {
    events.iter().filter(|e| e.0 == category).map(|e| e.1.as_str()).collect()
}

#[test]
fn a_trace_names_every_pass_and_every_kernel_that_is_explained() {
    let folder = TempDir::new().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let at = trace.display().to_string();
    for name in ["programs/scan/segmented.acc", "programs/permute/histogram.acc", "tests/formats/golden/norm.acc"] {
        let file = program(name);
        acc(&["run", &file, "--executor", "native-tile", "--trace", &at]);
        let events = events(&trace);
        well_nested(&events);
        for pass in ["parse", "verify", "prepare", "simplify", "rewrite", "fuse", "lower"] {
            assert!(names(&events, "pass").contains(&pass), "{name}: {pass} is missing in {events:?}");
        }
        assert!(names(&events, "run").contains(&"native-tile"));
        let explained = acc(&["explain", &file]);
        let titles: Vec<&str> = explained
            .lines()
            .map(str::trim_start)
            .filter(|l| l.starts_with("kernel "))
            .filter_map(|l| l.split_once("): "))
            .map(|l| l.1)
            .collect();
        assert!(!titles.is_empty(), "{explained}");
        for title in titles {
            assert!(names(&events, "kernel").contains(&title), "{name}: {title} is missing in {events:?}");
        }
    }
}

#[test]
fn every_command_can_be_traced() {
    let folder = TempDir::new().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let at = trace.display().to_string();
    let tour = folder.path().join("tour").display().to_string();
    acc(&["--trace", &at, "tour", "--out", &tour]);
    let toured = events(&trace);
    well_nested(&toured);
    assert!(names(&toured, "pass").contains(&"build") && names(&toured, "pass").contains(&"flatten"));
    assert!(names(&toured, "kernel").len() > 10);
    acc(&["export", &program("programs/fold/sum.acc"), "--format", "text", "--trace", &at]);
    assert!(names(&events(&trace), "pass").contains(&"flatten"));
    // A run that fails is traced, too.
    let broken = folder.path().join("broken.acc");
    std::fs::write(&broken, "program(").expect("a file");
    let out = Command::new(env!("CARGO_BIN_EXE_acc"))
        .args(["run", &broken.display().to_string(), "--trace", &at])
        .output()
        .expect("acc starts");
    assert!(!out.status.success());
    assert_eq!(names(&events(&trace), "pass"), ["parse"]);
}

#[test]
fn a_launch_puts_the_traces_of_its_processes_side_by_side() {
    let folder = TempDir::new().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let at = trace.display().to_string();
    let (here, file) = (env!("CARGO_BIN_EXE_acc"), program("programs/fold/sum.acc"));
    acc(&["launch", "-n", "2", "--trace", &at, "--", here, "check", &file]);
    let found = read(&trace);
    assert_eq!(processes(&found), ["process 0 of 2", "process 1 of 2"]);
    for process in [0, 1] {
        let events = events_of(&found, process);
        well_nested(&events);
        assert!(names(&events, "pass").contains(&"parse"), "{found}");
    }
    // A program without a mesh has nothing to tell.
    acc(&["launch", "-n", "2", "--trace", &at, "--", "true"]);
    assert_eq!(read(&trace)["otherData"]["processes without a trace"], "0, 1");
}

#[test]
fn processes_of_a_run_are_traced_by_one_clock() {
    if backend_xla::jaxlib_folder().is_none() {
        eprintln!("not run: {}", backend_xla::HOW_TO_GET_JAXLIB);
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let at = trace.display().to_string();
    let file = program("programs/permute/histogram.acc");
    acc(&["run", &file, "--executor", "xla", "--processes", "2", "--trace", &at]);
    let found = read(&trace);
    assert_eq!(processes(&found), ["process 0 of 2", "process 1 of 2"]);
    assert!(found["otherData"]["processes without a trace"].is_null(), "{found}");
    let of = |process: u64| {
        let events = events_of(&found, process);
        well_nested(&events);
        for (category, name) in [("pass", "parse"), ("wait", "connect"), ("pass", "compile"), ("tensor", "stage")] {
            assert!(names(&events, category).contains(&name), "{name} is missing on process {process}: {events:?}");
        }
        events.into_iter().filter(|e| e.1 == "agree").collect::<Vec<Event>>()
    };
    let (first, second) = (of(0), of(1));
    assert!(first.len() > 1 && first.len() == second.len(), "{first:?} {second:?}");
    // To agree ends when both have begun to.
    for (first, second) in first.iter().zip(&second) {
        assert!(first.3 <= second.4 && second.3 <= first.4, "{first:?} and {second:?}");
    }
    acc(&["check-executor", "xla", "--only", "fold/sum", "--processes", "2", "--trace", &at]);
    assert_eq!(processes(&read(&trace)).len(), 2);
}

#[test]
fn kernels_are_traced_on_the_threads_that_compile_them() {
    if backend_native::llvm::status().library.is_none() {
        // Without an LLVM nothing is compiled, and the executor is not there.
        return;
    }
    let native = backend_native::Native::compiled();
    let recording = timeline::record();
    native.run(use_(&Vector::from([1.5f32, 2.5])).map(|x| x * 3.25f32 + 7.75f32).sum()).expect("a sum");
    let timeline = recording.stop();
    let kernels: Vec<&str> =
        timeline.spans.iter().filter(|s| s.kind == Kind::Kernel).map(|s| s.name.as_str()).collect();
    assert!(!kernels.is_empty(), "{timeline:?}");
    // Compiled now, or read from what is kept on the disk.
    for s in timeline.spans.iter().filter(|s| s.name == "compile") {
        assert!(timeline.threads.contains(&(s.thread, "acc-compile".to_string())), "{timeline:?}");
    }
}

/// Every step of a graph without control that becomes calls of libtorch.
#[cfg(feature = "libtorch")]
#[test]
fn a_trace_names_every_step_that_launches_work() {
    let path = program("tests/formats/golden/norm.acc");
    let text = std::fs::read_to_string(&path).expect("the program");
    let file = verified_test_file(&path, &text).unwrap_or_else(|e| panic!("{e}"));
    let libtorch = backend_graph::Libtorch::cpu();
    let run = |args| libtorch.run_untyped(&file.program, args, &acc_core::RunLimits::none());
    let recording = timeline::record();
    run(&file.runs[0].arrays().unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let timeline = recording.stop();
    let note = |s: &timeline::SpanRecord, key: &str| {
        s.notes.iter().find(|(k, _)| *k == key).map_or(String::new(), |(_, v)| v.clone())
    };
    let graph = backend_graph::graph_of(&file.program).unwrap_or_else(|e| panic!("{e}"));
    let costs = backend_graph::Counts::of_nodes(&graph);
    let mut steps = 0;
    for n in &graph.body.nodes {
        let Some(v) = n.results.first() else { continue };
        if costs.get(v).is_none_or(|c| c.launches + c.views == 0) {
            continue;
        }
        steps += 1;
        let found = timeline.spans.iter().find(|s| {
            s.kind == Kind::Tensor
                && s.name == n.op.name()
                && note(s, "values").split(' ').next() == Some(&v.to_string())
        });
        let found = found.unwrap_or_else(|| panic!("{v} = {} is missing in {timeline:?}", n.op.name()));
        assert!(note(found, "source").contains("norm.acc:"), "{found:?}");
        assert!(note(found, "bytes").parse::<u64>().is_ok(), "{found:?}");
    }
    assert!(steps >= 3, "{steps}");
    let transfers: Vec<&str> =
        timeline.spans.iter().filter(|s| s.kind == Kind::Transfer).map(|s| s.name.as_str()).collect();
    assert_eq!(transfers, ["argument", "argument", "result"]);
}

/// Spans of runs on several threads stay apart.
#[test]
fn runs_on_several_threads_are_well_nested() {
    let text = std::fs::read_to_string(program("tests/formats/golden/norm.acc")).expect("the program");
    let file = verified_test_file("norm.acc", &text).unwrap_or_else(|e| panic!("{e}"));
    let tiles = backend_native::Native::tiles();
    let recording = timeline::record();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..5 {
                    let limits = acc_core::RunLimits::none();
                    tiles
                        .run_untyped(&file.program, &file.runs[0].arrays().unwrap(), &limits)
                        .unwrap_or_else(|e| panic!("{e}"));
                }
            });
        }
    });
    let timeline = recording.stop();
    let runs = timeline.spans.iter().filter(|s| s.kind == Kind::Run && s.name == "native-tile").count();
    assert!(runs >= 20, "{runs}");
    let events: Vec<Event> = timeline
        .spans
        .iter()
        .map(|s| (s.kind.name().to_string(), s.name.clone(), s.thread, s.start, s.start + s.duration))
        .collect();
    well_nested(&events);
}
