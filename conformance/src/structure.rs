//! The structure of the code that executors make of a program, as test files expect it: how many kernels, arrays, calls.

use acc_core::ir::Program;
use acc_core::text::{KernelShape, Structure, TestFile};
use acc_core::{Backend, Error, RunLimits};
use backend_graph::{Counts, graph_of};
use backend_native::Native;
use std::sync::Arc;

/// Executors whose code has a structure, and what is counted of it.
const COUNTED: [(&str, &[&str]); 2] =
    [("native", &["kernels", "intermediates"]), ("graph", &["launches", "views", "checks"])];

/// The first word of what a file expects that names nothing: where it is, and what there is.
pub(crate) fn unknown(expected: &Structure) -> Option<((u32, u32), String)> {
    let name = &expected.executor;
    let Some((_, counted)) = COUNTED.iter().find(|(executor, _)| *executor == name.text) else {
        let names = COUNTED.map(|(executor, _)| executor).join(", ");
        return Some((
            (name.line, name.col),
            format!("the code of `{}` has no structure; that of {names} has", name.text),
        ));
    };
    let (word, _) = expected.counts.iter().find(|(word, _)| !counted.contains(&&word.text[..]))?;
    Some(((word.line, word.col), format!("`{}` is not counted; what is: {}", word.text, counted.join(", "))))
}

/// The structure of the code that an executor makes of a program.
pub fn of(executor: &str, program: &Arc<Program>) -> Result<Structure, Error> {
    let mut out = Structure { executor: executor.into(), ..Structure::default() };
    if executor == "graph" {
        let Counts { launches, views, checks, .. } = Counts::of(&graph_of(program)?);
        let counted = [("launches", launches), ("views", views), ("checks", checks)];
        out.counts = counted.map(|(name, n)| (name.into(), n as u64)).to_vec();
        return Ok(out);
    }
    let explained = Native::tiles().prepare(program, &RunLimits::none())?.explain();
    let counted = [("kernels", explained.kernels.len()), ("intermediates", explained.intermediates.len())];
    out.counts = counted.map(|(name, n)| (name.into(), n as u64)).to_vec();
    for kernel in &explained.kernels {
        let axes = kernel.axes.split(", ").filter(|axis| !axis.is_empty());
        out.kernels.push(KernelShape {
            stores: kernel.results.iter().map(|(_, op)| op.to_string()).collect(),
            axes: axes.map(|axis| axis.replace(' ', "_")).collect(),
        });
    }
    Ok(out)
}

/// Compares what a file expects of an executor's code with what that makes; the error says what differs.
pub fn check(file: &TestFile, expected: &Structure) -> Result<(), String> {
    let made = of(&expected.executor.text, &file.program).map_err(|e| e.to_string())?;
    expected.compare(&made)
}
