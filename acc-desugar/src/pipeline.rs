//! The passes of each executor, in order.
//!
//! ```text
//! conjugate ─ differentiate ─ scan_segments ─ simplify ─ pad_windows
//!   ├ sink_transposes ─ separate_schedules ─ regroup ─ canonical ─ fuse ─ lower     native code and tiles
//!   └ flatten ─ rewrite_graph ─ plan                                                graphs, run by libtorch
//! ```
//!
//! The interpreter runs programs as they are. A program that an executor gets has been verified; what each pass makes is
//! verified in debug builds, and elsewhere where the environment says `ACC_VERIFY=1`. `acc print FILE --after PASS` prints
//! it.
//!
//! What holds before and after a pass is said by the numbers of the verifiers' rules: V of programs (`acc_core::verify`), F of
//! fusion (`fuse/verify.rs`), K of kernels and N of plans (`kernel/verify.rs` and `lower/verify.rs` of `backend-native`), G of
//! graphs (`graph/verify.rs`, `graph/shape/verify.rs`), P of their plans (`plan/verify.rs` of `backend-graph`).
//!
//! When a run meets a fault, a second one finds out which fault is the first in the order of the program
//! ([`Replay`](acc_core::exec::replay::Replay)). What that one runs has been through the `.._EXACT` passes: no program is
//! simplified or fused, and derivatives evaluate nothing that the function did not.
//!
//! Derivatives are expanded early, so that nothing else knows of them, but after operators became sums, whose derivatives are
//! simple. Segmented folds are replaced before simplification, since what replaces them is simplified, too.

use crate::pass::{Pass, Run, Stage};
use crate::passes::{
    conjugate, differentiate, pad_windows, regroup, scan_segments, separate_schedules, simplify, sink_transposes,
};
use crate::settings::{Faults, Rules, Settings};
use crate::{flatten, fuse, graph};
use acc_core::ir::Program;
use acc_core::{Error, RunLimits};
use std::borrow::Cow;

/// The passes of the native executor.
pub const NATIVE: &[Pass] = &[
    CONJUGATE,
    DIFFERENTIATE,
    SCAN_SEGMENTS,
    SIMPLIFY,
    PAD_WINDOWS,
    SINK_TRANSPOSES,
    SEPARATE_SCHEDULES,
    REGROUP,
    CANONICAL,
    FUSE,
    LOWER,
];

/// Those of its run after a fault.
pub const NATIVE_EXACT: &[Pass] = &[DIFFERENTIATE_EXACT, SCAN_SEGMENTS, FUSE, LOWER];

/// The passes of the graph executor, and of exports of graphs.
pub const GRAPH: &[Pass] =
    &[CONJUGATE, DIFFERENTIATE, SCAN_SEGMENTS, SIMPLIFY, PAD_WINDOWS, FLATTEN, REWRITE_GRAPH, PLAN];

/// Those of its run after a fault.
pub const GRAPH_EXACT: &[Pass] = &[DIFFERENTIATE_EXACT, SCAN_SEGMENTS, FLATTEN, REWRITE_GRAPH, PLAN];

/// The rules of programs: `acc_core::verify`.
const PROGRAMS: &str = "V1 to V10";
/// The rules of fusion: `fuse/verify.rs`.
const FUSIONS: &str = "F1 to F6";
/// The rules of graphs: `graph/verify.rs`.
const GRAPHS: &str = "G1 to G5";

const CONJUGATE: Pass = Pass {
    name: "conjugate",
    what: "folds and scans by sums of transformed operands become sums of transformed elements",
    before: PROGRAMS,
    after: PROGRAMS,
    run: Run::Program(conjugate::pass),
};

const DIFFERENTIATE: Pass = Pass {
    name: "differentiate",
    what: "derivatives become ordinary code",
    before: PROGRAMS,
    after: "V1 to V10; no derivative is left",
    run: Run::Program(differentiate::pass),
};

const DIFFERENTIATE_EXACT: Pass = Pass {
    what: "derivatives become ordinary code that has no fault but those of the function",
    run: Run::Program(differentiate::exact),
    ..DIFFERENTIATE
};

const SCAN_SEGMENTS: Pass = Pass {
    name: "scan_segments",
    what: "segmented folds become scans with flags where the executor has nothing better for their operator",
    before: PROGRAMS,
    after: "V1 to V10; the executor takes the operators of the segmented folds that are left",
    run: Run::Program(scan_segments::pass),
};

pub(crate) const SIMPLIFY: Pass = Pass {
    name: "simplify",
    what: "rewrites, eliminates common and dead code, and moves invariants out of loops, by rules that can be switched off",
    before: PROGRAMS,
    after: PROGRAMS,
    run: Run::Repeat(SIMPLIFICATIONS, MAX_ROUNDS),
};

/// Enough for rules that enable one another; what is left after that is small.
const MAX_ROUNDS: usize = 4;

const SIMPLIFICATIONS: &[Pass] = &[
    part("bounds", "comparisons of coordinates with the bounds of their axes go", simplify::bounds::pass),
    part("conditions", "bounds that a condition keeps go from its branches", simplify::conditions::pass),
    part("rewrite", "local rules", simplify::rewrite::pass),
    part("hoist", "invariants leave loops", simplify::hoist::pass),
    part("hoist_arrays", "arrays that no step changes are made before a loop", simplify::hoist_arrays::pass),
    part("dead_scalars", "unused scalar values go", simplify::dead_scalars::pass),
    part("aliases", "arrays that are other ones go", simplify::aliases::pass),
    part("common", "array operations done before are not done again", simplify::common::pass),
    part("dead_arrays", "unused statements go", simplify::dead_arrays::pass),
];

const fn part(
    name: &'static str,
    what: &'static str,
    run: for<'p> fn(&'p Program, &Settings<'_>) -> Result<Cow<'p, Program>, Error>,
) -> Pass {
    Pass { name, what, before: PROGRAMS, after: PROGRAMS, run: Run::Program(run) }
}

const PAD_WINDOWS: Pass = Pass {
    name: "pad_windows",
    what: "arrays that windows read beyond their edges are stored with their padding",
    before: PROGRAMS,
    after: PROGRAMS,
    run: Run::Program(pad_windows::pass),
};

const SINK_TRANSPOSES: Pass = Pass {
    name: "sink_transposes",
    what: "element-wise statements over transposed arrays become transpositions of their results",
    before: PROGRAMS,
    after: PROGRAMS,
    run: Run::Program(sink_transposes::pass),
};

const SEPARATE_SCHEDULES: Pass = Pass {
    name: "separate_schedules",
    what: "arrays with several schedules are computed once for each",
    before: PROGRAMS,
    after: "V1 to V10; an array has one schedule at most",
    run: Run::Program(separate_schedules::pass),
};

const REGROUP: Pass = Pass {
    name: "regroup",
    what: "folds by partial results, where a schedule says so, become folds of folds",
    before: "V1 to V10; an array has one schedule at most",
    after: "V1 to V10; no schedule has partial results",
    run: Run::Program(regroup::pass),
};

const CANONICAL: Pass = Pass {
    name: "canonical",
    what: "arrays and values are numbered in the order of their definitions",
    before: PROGRAMS,
    after: "V1 to V10; arrays and values have the numbers that they are printed with",
    run: Run::Program(|p, _| Ok(Cow::Owned(acc_core::text::canonical(p)))),
};

const FUSE: Pass = Pass {
    name: "fuse",
    what: "decides which statements become one kernel, and which are computed where they are read",
    before: PROGRAMS,
    after: FUSIONS,
    run: Run::Translate(|p, settings| {
        let fusion = fuse::fuse(&p, settings)?;
        Ok(Stage::Fused(p, Box::new(fusion)))
    }),
};

const LOWER: Pass = Pass {
    name: "lower",
    what: "makes kernels of fused statements, and bytecode of kernels",
    before: FUSIONS,
    after: "K1 to K8 of each kernel; N1 to N3 of the plan",
    run: Run::Executor,
};

const FLATTEN: Pass = Pass {
    name: "flatten",
    what: "functions over index spaces become operations on tensors",
    before: "V1 to V10; the graph takes the operators of the segmented folds that are left",
    after: GRAPHS,
    run: Run::Translate(|p, settings| Ok(Stage::Graph(flatten::flatten(&p, settings)?))),
};

const REWRITE_GRAPH: Pass = Pass {
    name: "rewrite_graph",
    what: "several operations become one that libraries have, by rules that can be switched off",
    before: GRAPHS,
    after: GRAPHS,
    run: Run::Graph(graph::rules::pass),
};

const PLAN: Pass = Pass {
    name: "plan",
    what: "decides in which order operations run, when tensors are freed, and which memory is written again",
    before: GRAPHS,
    after: "P1 to P5",
    run: Run::Executor,
};

/// What passes of [`GRAPH`] are told for a graph that does this about faults.
pub fn graph_settings<'a>(rules: &'a Rules, faults: Faults, limits: &'a RunLimits) -> Settings<'a> {
    Settings { segmented: flatten::segmented, faults, ..Settings::new(rules, limits) }
}
