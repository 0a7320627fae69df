//! How rows are folded. Kernel and extents decide, never loops, machine or threads.

use super::Rows;
use super::column_blocks::{Joining, RowBlocks};
use super::product::Plan;
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::grouping::TermBlocks;
use crate::kernel::{Bits, Output, Sink};
use crate::prepare::Launch;
use crate::run::Value;
use crate::run::launch::{Job, Outs};
use crate::tile::lanes;
use crate::tile::machine::Stop;
use crate::tile::reduce;
use acc_core::ir::PrimOp;
use std::ops::Range;

/// How the elements of rows are grouped.
pub(super) enum Grouping {
    /// In order; sums of products in blocks of terms. Rows become lanes.
    InOrder,
    /// Blocks of consecutive indices, each in order.
    Blocks(RowBlocks),
    /// With partial results, as elements of a row become lanes.
    AlongMemory,
}

impl Rows<'_> {
    /// The grouping of the rows of a launch, which may be a matrix product.
    pub(super) fn grouping(&self, product: Option<&Plan>) -> Grouping {
        let parts = || TermBlocks::parts().blocks(0..self.row).collect();
        match product {
            Some(p) if p.is_in_parts() => Grouping::Blocks(RowBlocks { ranges: parts(), joining: Joining::Pairwise }),
            Some(_) => Grouping::InOrder,
            None if self.job.launch.kernel.has_schedule => Grouping::InOrder,
            None => match self.column_blocks() {
                Some(blocks) => Grouping::Blocks(blocks),
                None if self.as_lanes() => Grouping::InOrder,
                None => Grouping::AlongMemory,
            },
        }
    }
}

/// Whether the results of a launch have the same bits with each schedule as without one, for these extents of its index space and of
/// the arrays.
pub(crate) fn schedules_keep_bits(launch: &Launch, extents: &[usize], values: &[Option<Value>]) -> bool {
    let kernel = &launch.kernel;
    let adds_terms = |o: &Output| o.sink.is_fused() || matches!(o.sink, Sink::Store);
    let (outer, folded) = extents.split_at(extents.len() - kernel.folded());
    let points = outer.iter().product::<usize>();
    let in_order = || match folded {
        [] => true,
        // Rows that are shorter than any block become lanes.
        [row] => (points > 1 && *row < super::MIN_CHUNKED_ROW) || super::product::plan(launch, values).is_some(),
        [_, _, ..] => points >= super::nested::MIN_SHARED_LANES,
    };
    kernel.folds_exactly() || kernel.outputs.iter().all(adds_terms) && in_order()
}

/// Whether a kernel has a fused fold of rows that are longer than a block of terms.
pub(in crate::run) fn has_several_term_blocks(job: &Job<'_>, along: &Range<usize>) -> bool {
    job.outputs.iter().any(|o| o.is_fused()) && job.terms.end(along.start, along.end) < along.end
}

/// Folds a range of the first folded axis by machine code that adds the terms of a block to what is in memory: block by block, the
/// sums of which are added here. `fold` is given a block, the memory of the results, and initial values; false if it bailed out.
pub(in crate::run) fn by_term_blocks(
    job: &Job<'_>,
    along: &Range<usize>,
    outs: &mut Outs<'_>,
    before: &[u64],
    mut fold: impl FnMut(&Range<usize>, &mut [Option<OutSlice<'_>>], &[u64]) -> Result<bool, Stop>,
) -> Result<bool, Stop> {
    if !job.outputs.iter().any(|o| o.is_fused()) {
        let mut memory: Vec<_> = outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        return fold(along, &mut memory, before);
    }
    let mut within = Bits::from_slice(before);
    let mut sums: Vec<Option<AnyBuffer>> = Vec::new();
    for o in &job.outputs {
        for &ty in &o.types {
            let k = sums.len();
            if !o.is_fused() {
                sums.push(None);
                continue;
            }
            let mut sum = job.cx.columns(&[ty], outs[k].as_slice().len()).map_err(Stop::Error)?.pop();
            let neutral = reduce::identity(PrimOp::AddP, ty);
            let start = if o.init.is_some() { before[k] } else { neutral };
            sum.iter_mut().for_each(|sum| lanes::fill(sum.as_out(), start));
            sums.push(sum);
            within[k] = neutral;
        }
    }
    for block in job.terms.blocks(along.clone()) {
        let fused = outs.iter_mut().zip(&sums).filter(|(_, sum)| sum.is_some());
        fused.for_each(|(out, _)| lanes::fill(out.reborrow(), 0));
        let mut memory: Vec<_> = outs.iter_mut().map(|o| Some(o.reborrow())).collect();
        if !fold(&block, &mut memory, &within)? {
            return Ok(false);
        }
        for (sum, out) in sums.iter_mut().zip(outs.iter()) {
            sum.iter_mut().for_each(|sum| reduce::merge(PrimOp::AddP, sum.as_out(), out.as_slice()));
        }
    }
    for (sum, out) in sums.iter().zip(outs) {
        sum.iter().for_each(|sum| lanes::copy(sum.as_slice(), out.reborrow()));
    }
    Ok(true)
}
