//! The structure of the code that executors make of a program, as test files expect it: how many kernels, arrays, calls.

use acc_core::ir::Program;
use acc_core::text::{KernelShape, Structure, TestFile};
use acc_core::{Backend, Error, RunLimits};
use backend_graph::{Counts, graph_of};
use backend_native::Native;
use std::sync::Arc;

/// An executor whose code has a structure.
struct Counted {
    executor: &'static str,
    /// What is counted of its code.
    names: &'static [&'static str],
    /// How many there are of each, and the kernels.
    count: fn(&Arc<Program>) -> Result<(Vec<usize>, Vec<KernelShape>), Error>,
}

const COUNTED: [Counted; 2] = [
    Counted { executor: "native", names: &["kernels", "intermediates"], count: native },
    Counted { executor: "graph", names: &["launches", "views", "checks"], count: graph },
];

/// The executors whose code has a structure.
pub fn executors() -> impl Iterator<Item = &'static str> {
    COUNTED.iter().map(|counted| counted.executor)
}

/// The first word of what a file expects that names nothing: where it is, and what there is.
pub(crate) fn unknown(expected: &Structure) -> Option<((u32, u32), String)> {
    let name = &expected.executor;
    let Some(Counted { names, .. }) = counted(&name.text) else {
        return Some(((name.line, name.col), no_structure(&name.text)));
    };
    let (word, _) = expected.counts.iter().find(|(word, _)| !names.contains(&&word.text[..]))?;
    Some(((word.line, word.col), format!("`{}` is not counted; what is: {}", word.text, names.join(", "))))
}

fn counted(executor: &str) -> Option<&'static Counted> {
    COUNTED.iter().find(|counted| counted.executor == executor)
}

fn no_structure(executor: &str) -> String {
    let names: Vec<&str> = executors().collect();
    format!("the code of `{executor}` has no structure; that of {} has", names.join(", "))
}

/// The structure of the code that an executor makes of a program; the error says why there is none.
pub fn of(executor: &str, program: &Arc<Program>) -> Result<Structure, String> {
    let Counted { names, count, .. } = counted(executor).ok_or_else(|| no_structure(executor))?;
    let (numbers, kernels) = count(program).map_err(|e| e.to_string())?;
    let counts = names.iter().zip(numbers).map(|(name, n)| ((*name).into(), n as u64)).collect();
    Ok(Structure { executor: executor.into(), counts, kernels })
}

fn native(program: &Arc<Program>) -> Result<(Vec<usize>, Vec<KernelShape>), Error> {
    let explained = Native::tiles().prepare(program, &RunLimits::none())?.explain();
    let kernels = explained.kernels.iter().map(|kernel| {
        let axes = kernel.axes.split(", ").filter(|axis| !axis.is_empty());
        KernelShape {
            stores: kernel.results.iter().map(|(_, op)| op.to_string()).collect(),
            axes: axes.map(|axis| axis.replace(' ', "_")).collect(),
            reads: kernel.accesses.iter().filter_map(|r| Some(r.along.last()?.name().to_string())).collect(),
        }
    });
    Ok((vec![explained.kernels.len(), explained.intermediates.len()], kernels.collect()))
}

fn graph(program: &Arc<Program>) -> Result<(Vec<usize>, Vec<KernelShape>), Error> {
    let Counts { launches, views, checks, .. } = Counts::of(&graph_of(program)?);
    Ok((vec![launches, views, checks], Vec::new()))
}

/// Compares what a file expects of an executor's code with what that makes; the error says what differs.
pub fn check(file: &TestFile, expected: &Structure) -> Result<(), String> {
    expected.compare(&of(&expected.executor.text, &file.program)?)
}
