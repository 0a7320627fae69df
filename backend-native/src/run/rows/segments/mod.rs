//! Segmented folds with built-in operators, and with those that keep one of two elements whole ([`reduction`]).
//!
//! Rows are split into blocks of fixed length, independent of segment lengths. A block's elements are computed into the
//! second-level cache, and its segments are reduced from there. A segment that spans several blocks is reduced per
//! block; these partial results are combined in order when all blocks are done. Blocks of the same elements of several
//! rows are consecutive tasks: where rows read adjacent data, such as one record of a table per element, it is in the
//! cache for all rows but the first.

mod reduction;

use crate::buffer::AnyBuffer;
use crate::kernel::Sink;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory, Part};
use crate::run::launch::lists::collected;
use crate::run::launch::{Columns, Cut, Job, JobOutput, Outs, WORK_PER_CALL, finish, first_event, take};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Space, Stop};
use acc_core::data::ColumnElt;
use reduction::{READ_BEYOND, Reduction, Scratch, Segments};
use smallvec::SmallVec;
use std::ops::Range;

/// Elements of a block. The reduction tree of a segment that spans several blocks depends on it.
const BLOCK_ELEMENTS: usize = 1 << 13;
/// The cost of reducing an element, besides computing it.
const REDUCTION_COST: usize = 4;

/// A block, and what it computes.
struct Block<'a> {
    row: usize,
    /// Its range of elements in the row.
    elements: Range<usize>,
    /// The segments that begin in it.
    segments: Range<usize>,
    outs: Outs<'a>,
}

/// A block's partial results of segments that span several blocks, leaf by leaf.
#[derive(Default)]
struct Ends {
    /// Of the segment that began in an earlier block, and whether it ends in this one.
    head: Option<(Vec<u64>, bool)>,
    /// Of the segment that continues in the next block.
    tail: Option<Vec<u64>>,
}

/// The folds of a launch.
struct Folds<'a> {
    job: &'a Job<'a>,
    o: &'a JobOutput<'a>,
    reduction: Reduction<'a>,
    offsets: &'a [i64],
    row: usize,
}

/// The state of a thread.
struct Worker<'b> {
    machine: Option<Machine<'b>>,
    /// The elements of a block, leaf by leaf.
    elements: Vec<Lanes>,
    scratch: Scratch,
}

pub(crate) fn segments(job: &Job<'_>, o: &JobOutput<'_>) -> Result<Columns, Stop> {
    let (Sink::Segments { offsets, operator, .. }, Some((&row, outer))) = (&o.output.sink, job.extents.split_last())
    else {
        return Ok(Columns::new());
    };
    let input = job.names.input(*offsets).ok_or(Stop::Demand(*offsets))?;
    let offsets = input.columns.first().and_then(|c| i64::of_slice(c.slice())).unwrap_or(&[]);
    let (rows, count) = (outer.iter().product::<usize>(), offsets.len().saturating_sub(1));
    let mut out = job.cx.columns(&o.types, rows * count).map_err(Stop::Error)?;
    if count == 0 {
        return Ok(finish(out));
    }
    let folds = Folds { job, o, reduction: Reduction::new(operator, &o.types), offsets, row };
    let blocks = folds.blocks(rows, &mut out)?;
    let spans = collected(blocks.iter().map(|b| (b.row, b.segments.clone())))?;
    let mut ends = collected(blocks.iter().map(|_| Ends::default()))?;
    let space = Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() };
    let call = job.call(Variant::Store { flat: false, stream: false, transposed: false });
    let mut tasks = collected(blocks.into_iter().zip(&mut ends))?;
    // The first of several faults is found by a run without fusion.
    tasks.sort_by_key(|(block, _)| block.elements.start);
    job.cx.tasks(
        job.cx.parallel(rows * row, job.launch.cost + REDUCTION_COST),
        tasks,
        || Worker {
            machine: None,
            elements: o.types.iter().map(|&t| Lanes::new(t, BLOCK_ELEMENTS.min(row) + READ_BEYOND)).collect(),
            scratch: folds.reduction.scratch(BLOCK_ELEMENTS.min(row)),
        },
        |worker, (mut block, ends)| {
            job.cx.limits.check().map_err(Stop::Error)?;
            folds.elements(worker, &block, call.as_ref(), &space)?;
            *ends = folds.reduce(worker, &mut block);
            Ok(())
        },
    )?;
    folds.join(&spans, ends, &mut out);
    Ok(finish(out))
}

impl Folds<'_> {
    /// The blocks of all rows.
    fn blocks<'b>(&self, rows: usize, out: &'b mut [AnyBuffer]) -> Result<Vec<Block<'b>>, Stop> {
        let count = self.offsets.len() - 1;
        let starts = collected((0..self.row).step_by(BLOCK_ELEMENTS).chain((self.row == 0).then_some(0)))?;
        // The segments that begin before each block; the first block includes those that begin before the row does, and
        // the last one those that begin at its end.
        let mut last = 0;
        let begun = starts.iter().skip(1).map(|&start| {
            last = last.max(self.offsets[..count].partition_point(|&o| o < start as i64));
            last
        });
        let first = collected(std::iter::once(0).chain(begun).chain([count]))?;
        let mut rest: Outs<'b> = out.iter_mut().map(AnyBuffer::as_out).collect();
        collected((0..rows * starts.len()).map(|number| {
            let (row, k) = (number / starts.len(), number % starts.len());
            let segments = first[k]..first[k + 1];
            let outs = take(&mut rest, segments.len());
            Block { row, elements: starts[k]..self.row.min(starts[k] + BLOCK_ELEMENTS), segments, outs }
        }))
    }

    /// Computes a block's elements.
    fn elements<'b>(
        &'b self,
        worker: &mut Worker<'b>,
        block: &Block<'_>,
        call: Option<&Call<'_>>,
        space: &'b Space,
    ) -> Result<(), Stop> {
        let job = self.job;
        let Worker { machine, elements, .. } = worker;
        let (start, len) = (block.row * self.row + block.elements.start, block.elements.len());
        if let Some(call) = call {
            let mut outs: SmallVec<[_; 2]> = elements.iter_mut().map(|e| Some(e.out().split_at(len).0)).collect();
            let part = Part { most: WORK_PER_CALL / job.launch.cost.max(1), ..Part::of(start..start + len, self.row) };
            if job.is_done(call.run(part, &mut Memory { outs: &mut outs, ..Memory::default() }))? {
                return Ok(());
            }
        }
        let m = machine.get_or_insert_with(|| job.machine(space));
        let cut = Cut::new(&job.extents, job.launch.code.element.lanes);
        let mut done = 0;
        while done < len {
            let n = cut.len(start + done, len - done);
            first_event(&mut *m, n, |m, n| m.tile(start + done, n))?;
            for (k, to) in elements.iter_mut().enumerate() {
                lanes::copy(self.o.leaf(m, k, n), to.out().split_at(done).1);
            }
            done += n;
        }
        Ok(())
    }

    /// Reduces a block's parts of segments.
    fn reduce(&self, worker: &mut Worker<'_>, block: &mut Block<'_>) -> Ends {
        let (offsets, segments) = (self.offsets, &block.segments);
        let (from, to) = (block.elements.start as i64, block.elements.end as i64);
        let mut ends = Ends::default();
        let goes_on = !segments.is_empty() && offsets[segments.end] > to;
        let whole = segments.len() - usize::from(goes_on);
        let Worker { elements, scratch, .. } = worker;
        let elements: &[Lanes] = elements;
        self.reduction.begin(elements, block.elements.len(), scratch);
        let own = Segments { elements, offsets: &offsets[segments.start..=segments.start + whole], origin: from };
        let mut outs = block.outs.iter_mut().map(|out| out.reborrow().split_at(whole).0);
        self.reduction.segments(own, self.o.init.as_deref(), &mut outs, scratch);
        let mut part = |start: i64, end: i64| {
            let mut totals: Vec<Lanes> = self.o.types.iter().map(|&ty| Lanes::new(ty, 1)).collect();
            let own = Segments { elements, offsets: &[start, end], origin: from };
            self.reduction.segments(own, None, &mut totals.iter_mut().map(Lanes::out), scratch);
            totals.iter().map(|total| lanes::first_bits(total.slice(1))).collect::<Vec<u64>>()
        };
        if segments.start > 0 && offsets[segments.start] > from {
            let end = offsets[segments.start];
            ends.head = Some((part(from, end.min(to)), end <= to));
        }
        if goes_on {
            ends.tail = Some(part(offsets[segments.end - 1], to));
        }
        ends
    }

    /// Combines the partial results of segments that span several blocks.
    fn join(&self, spans: &[(usize, Range<usize>)], ends: Vec<Ends>, out: &mut [AnyBuffer]) {
        let count = self.offsets.len() - 1;
        // The segment under combination, and its value so far.
        let mut open: Option<(usize, Vec<u64>)> = None;
        for ((row, segments), Ends { head, tail }) in spans.iter().zip(ends) {
            if let Some((head, ends)) = head
                && let Some((segment, total)) = open.take()
            {
                let total = self.reduction.combined(&total, &head);
                if !ends {
                    open = Some((segment, total));
                } else {
                    let all = self.o.init.as_ref().map_or(total.clone(), |init| self.reduction.combined(init, &total));
                    for (column, bits) in out.iter_mut().zip(all) {
                        lanes::fill_first(column.as_out().split_at(row * count + segment).1, bits);
                    }
                }
            }
            if let Some(tail) = tail {
                open = Some((segments.end - 1, tail));
            }
        }
    }
}
