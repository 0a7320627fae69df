//! Helpers for tests of how plans run.

use super::launch::Context;
use crate::buffer::Pool;
use crate::prepare::Executable;
use crate::prepare::Plan;
use crate::run::pool::thread_pool::ThreadPool;
use crate::{Compile, llvm, run};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::text::parse_test_file;
use acc_core::{Error, RunLimits};
use acc_desugar::{Rules, pipeline};
use std::sync::Arc;

/// A test file's program, lowered, and the arguments of its runs.
pub(super) fn lowered(name: &str, text: &str) -> (Plan, Vec<Vec<ArrayData>>) {
    let file = parse_test_file(name, text).unwrap();
    (plan(&file.program).unwrap(), file.runs.iter().map(|r| r.arrays().unwrap()).collect())
}

/// A program, lowered.
pub(super) fn plan(program: &Program) -> Result<Plan, Error> {
    let (rules, settings) = (Rules::all(), crate::Options::default().settings());
    Executable::new(pipeline::NATIVE, program, &rules, settings, &RunLimits::none()).map(|executable| executable.plan)
}

/// A program, fused but not simplified.
pub(super) fn unsimplified(name: &str, text: &str) -> Plan {
    let program = acc_core::text::parse(name, text).unwrap();
    let (rules, settings) = (Rules::none(), crate::Options::default().settings());
    Executable::new(pipeline::NATIVE_EXACT, &program, &rules, settings, &RunLimits::none()).unwrap().plan
}

/// The bits of a run's results.
pub(super) fn evaluate(plan: &Plan, args: &[ArrayData], threads: &ThreadPool) -> Result<String, Error> {
    evaluate_with(plan, args, threads, Compile::Now)
}

/// The same by machine code, or without any.
pub(super) fn evaluate_with(
    plan: &Plan,
    args: &[ArrayData],
    threads: &ThreadPool,
    compile: Compile,
) -> Result<String, Error> {
    let limits = RunLimits::none();
    let (memory, meter) = (Arc::new(Pool::default()), limits.meter());
    let cx = Context { threads, memory: &memory, limits: &limits, meter: &meter, compile, in_order: false };
    run::run(plan, args, cx).map(|arrays| format!("{arrays:?}"))
}

/// Whether an LLVM was found; a test that needs one reports that it is skipped.
pub(super) fn has_llvm() -> bool {
    let found = llvm::status().library.is_some();
    if !found {
        println!("not run: no LLVM is found");
    }
    found
}
