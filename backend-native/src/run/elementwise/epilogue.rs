//! Epilogues: evaluated elementwise over the results of a fold, scan or scatter once these are complete.

use crate::bind::{Input, Names, SparseFlags};
use crate::kernel::Output;
use crate::kernel::grouping::TermBlocks;
use crate::run::elementwise::store::store;
use crate::run::launch::{Binding, Columns, Job, JobOutput};
use crate::tile::machine::Stop;
use acc_core::ir::ArrayId;

/// Appends the results of the epilogue, unless it has already run, over results of this shape.
pub(crate) fn epilogue(job: &Job<'_>, shape: &[usize], mut columns: Vec<Columns>) -> Result<Vec<Columns>, Stop> {
    let Some(launch) = &job.launch.epilogue else { return Ok(columns) };
    let of_output = |output| {
        let types = launch.kernel.values(output).iter().map(|&v| launch.kernel.element.ty(v)).collect();
        JobOutput { output, combine: None, init: None, types }
    };
    let combined = job.outputs.iter().zip(&columns).filter(|(o, _)| o.is_combined());
    let results = combined.map(|(o, columns)| (o.output, columns)).collect();
    let permuted = job.launch.permuted.as_ref().and_then(|t| t.epilogue.as_ref()?.order.as_ref());
    let extents = match permuted {
        Some(order) => order.iter().filter_map(|&axis| shape.get(axis).copied()).collect(),
        None => shape.into(),
    };
    let names = Completed { before: job.names, results, shape };
    let after = Job {
        launch,
        element: Binding::new(&launch.code.element, &names, job.cx.limits),
        outputs: launch.kernel.outputs.iter().map(of_output).collect(),
        epilogue: None,
        extents,
        terms: TermBlocks::of(&[]),
        names: &names,
        cx: job.cx,
    };
    let all = store(&after)?;
    columns.extend(all);
    Ok(columns)
}

/// The arrays that a launch reads, and its results.
struct Completed<'a> {
    before: &'a dyn Names,
    results: Vec<(&'a Output, &'a Columns)>,
    shape: &'a [usize],
}

impl Names for Completed<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        match self.results.iter().find(|(o, _)| o.result == a) {
            Some((_, columns)) => Some(Input { shape: self.shape, columns }),
            None => self.before.input(a),
        }
    }

    fn flags(&self, a: ArrayId) -> Option<(&SparseFlags, usize)> {
        self.before.flags(a)
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        self.before.scalar(a, position)
    }
}
