//! The executors run the passes that `acc_desugar::pipeline` lists, in that order, and nothing else.

use acc_core::ir::Program;
use acc_core::text::parse;
use acc_core::timeline::{self, Kind};
use acc_core::{Backend, RunLimits};
use acc_desugar::pass::Pass;
use acc_desugar::pipeline;
use backend_native::Native;
use std::sync::{Arc, Mutex, PoisonError};

/// Recordings take the spans of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

const PROGRAM: &str = "program(m: [2]f32, offsets: [1]i64, xs: [1]f32) {
    t: [2]f32 = backpermute(m, shape: || (extent(m, 1), extent(m, 0)), index: |%i: i64, %j: i64| (%j, %i))
    d: [2]f32 = map(t, f: |%x: f32| add(%x, mul(%x, 1f32)))
    s: [1]f32 = fold_seg(xs, offsets: offsets, f: |%x: f32, %y: f32| sub(%x, %y), init: || 0f32)
    yield d, s
  }";

/// The names of the passes that a piece of work runs, those inside of others left out.
fn passes_of(work: impl FnOnce(&Arc<Program>)) -> Vec<String> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Parsing is a pass, too, and not to be recorded, in no test.
    let program = Arc::new(parse("p.acc", PROGRAM).unwrap());
    let recording = timeline::record();
    work(&program);
    let timeline = recording.stop();
    let mut spans: Vec<_> = timeline.spans.iter().filter(|s| s.kind == Kind::Pass).collect();
    spans.sort_by_key(|s| s.start);
    let is_inner = |s: &timeline::SpanRecord| {
        let around = |o: &timeline::SpanRecord| {
            o.name != "prepare" && o.start <= s.start && o.start + o.duration >= s.start + s.duration
        };
        spans.iter().any(|o| !std::ptr::eq(*o, s) && o.thread == s.thread && around(o))
    };
    spans.iter().filter(|s| !is_inner(s) && s.name != "prepare").map(|s| s.name.clone()).collect()
}

fn names(passes: &[Pass]) -> Vec<&str> {
    passes.iter().map(|p| p.name).collect()
}

#[test]
fn the_native_executor_runs_the_listed_passes() {
    let ran = passes_of(|program| {
        Native::tiles().prepare(program, &RunLimits::none()).unwrap();
    });
    assert_eq!(ran, names(pipeline::NATIVE));
}

#[test]
fn graphs_are_made_by_the_listed_passes() {
    let ran = passes_of(|program| {
        backend_graph::plan_of(program).unwrap();
    });
    assert_eq!(ran, names(pipeline::GRAPH));
}

#[cfg(feature = "libtorch")]
#[test]
fn the_graph_executor_runs_the_listed_passes() {
    let ran = passes_of(|program| {
        backend_graph::Libtorch::cpu().prepare(program, &RunLimits::none()).unwrap();
    });
    assert_eq!(ran, names(pipeline::GRAPH));
}
