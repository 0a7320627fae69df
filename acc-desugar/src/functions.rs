//! Single passes as functions from a program to what they make.

use crate::fuse::{self, Fusion};
use crate::graph::Graph;
use crate::pass::{self, Stage};
use crate::pipeline::{GRAPH_EXACT, SIMPLIFY, graph_settings};
use crate::settings::{Faults, Rules, Settings};
use acc_core::ir::Program;
use acc_core::{Error, RunLimits};

/// Simplifies a verified program by all rules. Its parameters stay.
///
/// ```
/// let program = acc_core::text::parse("p.acc", "
///     program(xs: [1]i64) {
///       ys: [1]i64 = map(xs, f: |%x: i64| mul(add(%x, 0i64), 1i64))
///       yield ys
///     }")?;
/// // The map changes nothing, and goes.
/// assert!(acc_desugar::simplify(&program).body.stmts.is_empty());
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn simplify(program: &Program) -> Program {
    simplify_with(program, &Rules::all())
}

/// Simplifies a verified program by the rules that are on.
pub fn simplify_with(program: &Program, rules: &Rules) -> Program {
    unlimited(simplify_within(program, rules, &RunLimits::none()))
}

/// The same, until a deadline passes or the run is cancelled.
pub fn simplify_within(program: &Program, rules: &Rules, limits: &RunLimits) -> Result<Program, Error> {
    match pass::run(&[SIMPLIFY], program, &Settings::new(rules, limits))? {
        Stage::Program(p) => Ok(p.into_owned()),
        Stage::Fused(..) | Stage::Graph(_) => Err(Error::defect("simplify", "no program is left")),
    }
}

/// Flattens a verified program to a graph that detects faults.
pub fn flatten(program: &Program) -> Graph {
    unlimited(flatten_with(program, Faults::Detect, &RunLimits::none()))
}

/// Flattens a verified program, until a deadline passes or the run that needs it is cancelled.
pub fn flatten_with(program: &Program, faults: Faults, limits: &RunLimits) -> Result<Graph, Error> {
    match pass::run(GRAPH_EXACT, program, &graph_settings(&Rules::all(), faults, limits))? {
        Stage::Graph(graph) => Ok(graph),
        Stage::Program(_) | Stage::Fused(..) => Err(Error::defect("graph", "no pass has made a graph")),
    }
}

/// Decides which statements of a verified program become one kernel.
pub fn fuse(program: &Program) -> Fusion {
    unlimited(fuse_within(program, &RunLimits::none()))
}

/// The same, until a deadline passes or the run is cancelled.
pub fn fuse_within(program: &Program, limits: &RunLimits) -> Result<Fusion, Error> {
    fuse::fuse(program, &Settings::new(&Rules::all(), limits))
}

/// What a pass makes where nothing limits it.
fn unlimited<T>(outcome: Result<T, Error>) -> T {
    outcome.unwrap_or_else(|e| unreachable!("there are no limits, but: {e}"))
}
