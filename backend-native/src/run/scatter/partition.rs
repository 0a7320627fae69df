//! Scatters into many targets on several threads: elements are first partitioned by ranges of the result; then each
//! range is combined by one thread, in the order of the elements. So the result is that of sequential execution for any
//! combination, and no two threads write the same cache line.

use super::{Targets, positions};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::Update;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory, Part};
use crate::run::launch::lists::{collected, filled};
use crate::run::launch::{Job, JobOutput, WORK_PER_CALL, first_event, pieces};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Space, Stop};
use crate::tile::scatter::update;
use acc_core::data::{ColumnSlice, ScalarType};
use smallvec::SmallVec;
use std::ops::Range;

/// Elements partitioned at a time: a few hundred per range.
const PIECE_ELEMENTS: usize = 1 << 17;
/// Elements whose targets are computed at a time, in the first-level cache.
const BLOCK_ELEMENTS: usize = 1 << 12;
/// The most ranges: partitioning writes to one cache line per range.
const MAX_RANGES: usize = 256;
/// Bytes of the result, times threads, from which on partitioning pays off. Per thread it takes two to three times as
/// long as combining in order if the result is in the second-level cache (7 ns and 3 ns per element), and little longer
/// where each element misses that cache.
const MIN_PARTITIONED_BYTES: usize = 16 << 20;

/// Whether a scatter of `n` elements into a result of `size` targets is faster with partitioning.
pub(super) fn is_profitable(job: &Job<'_>, o: &JobOutput<'_>, n: usize, size: usize) -> bool {
    let bytes = o.types.iter().map(|t| t.size()).max().unwrap_or(0).saturating_mul(size);
    let threads = job.cx.threads.count();
    threads > 1
        && job.cx.parallel(n, job.launch.cost + 4)
        && n >= 2 * PIECE_ELEMENTS
        && bytes.saturating_mul(threads) >= MIN_PARTITIONED_BYTES
        && u32::try_from(size).is_ok()
}

/// A partitioned piece of the elements.
struct Distributed<'a> {
    elements: Range<usize>,
    /// The targets of the elements kept, range by range.
    targets: &'a mut [u32],
    /// Their leaves.
    values: SmallVec<[OutSlice<'a>; 2]>,
    /// The start of each range, and the end of the last one.
    starts: &'a mut [u32],
}

/// Combines all elements into `out`, a result of this shape; false, without any effect, if the run's limits leave no
/// memory for partitioning.
pub(super) fn partitioned(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    shape: &[usize],
    updates: &[Update],
    out: &mut [AnyBuffer],
) -> Result<bool, Stop> {
    let n: usize = job.extents.iter().product();
    let size: usize = shape.iter().product();
    let (Ok(mut targets), Ok(mut values)) = (job.cx.columns(&[ScalarType::U32], n), job.cx.columns(&o.types, n)) else {
        return Ok(false);
    };
    // Ranges of equal length, a power of two.
    let shift = (0..usize::BITS).find(|&s| (size - 1) >> s < MAX_RANGES).unwrap_or(0);
    let ranges = ((size - 1) >> shift) + 1;
    let count = n.div_ceil(PIECE_ELEMENTS);
    let mut starts = filled(0u32, count * (ranges + 1))?;
    let Some(OutSlice::U32(all)) = targets.first_mut().map(AnyBuffer::as_out) else { return Ok(false) };
    let memory = pieces(&mut values, n, PIECE_ELEMENTS)?
        .into_iter()
        .zip(all.chunks_mut(PIECE_ELEMENTS))
        .zip(starts.chunks_mut(ranges + 1));
    let tasks = memory.map(|((piece, targets), starts)| {
        let elements = piece.start..piece.start + piece.len;
        Distributed { elements, targets, values: piece.outs, starts }
    });
    let space = Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() };
    let call = job.call(Variant::ScatterTargets);
    job.cx.tasks(
        true,
        collected(tasks)?,
        || Finder::new(job, o, shape, &space, call.as_ref()),
        |finder, piece| {
            job.cx.limits.check().map_err(Stop::Error)?;
            finder.find(piece.elements.clone())?;
            finder.distribute(piece, shift, ranges);
            Ok(())
        },
    )?;
    let Some(ColumnSlice::U32(targets)) = targets.first().map(AnyBuffer::as_slice) else { return Ok(false) };
    job.cx.tasks(true, pieces(out, size, 1 << shift)?, Vec::new, |at: &mut Vec<usize>, mut range| {
        job.cx.limits.check().map_err(Stop::Error)?;
        let number = range.start >> shift;
        for (piece, starts) in starts.chunks(ranges + 1).enumerate() {
            let [from, to] = [starts[number], starts[number + 1]].map(|k| piece * PIECE_ELEMENTS + k as usize);
            at.clear();
            at.extend(targets[from..to].iter().map(|&t| t as usize - range.start));
            for ((u, values), out) in updates.iter().zip(&values).zip(&mut range.outs) {
                update(*u, lanes::part(values.as_slice(), from, to - from), None, at, out.reborrow());
            }
        }
        Ok(())
    })?;
    Ok(true)
}

/// Computes the targets and values of elements.
struct Finder<'a> {
    job: &'a Job<'a>,
    o: &'a JobOutput<'a>,
    shape: &'a [usize],
    space: &'a Space,
    call: Option<&'a Call<'a>>,
    machine: Option<Machine<'a>>,
    /// Whether each element of a block is kept, and its index.
    located: Vec<Lanes>,
    own: Targets,
    /// The targets of a piece's elements that are kept, and their leaves.
    targets: Vec<u32>,
    values: Vec<Lanes>,
    /// Per range the number of elements, then the position of the next one; per element its position.
    next: Vec<u32>,
    places: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(
        job: &'a Job<'a>,
        o: &'a JobOutput<'a>,
        shape: &'a [usize],
        space: &'a Space,
        call: Option<&'a Call<'a>>,
    ) -> Finder<'a> {
        let of_index = std::iter::repeat_n(ScalarType::I64, shape.len());
        Finder {
            job,
            o,
            shape,
            space,
            call,
            machine: None,
            located: std::iter::once(ScalarType::U8).chain(of_index).map(|t| Lanes::new(t, BLOCK_ELEMENTS)).collect(),
            own: Targets::default(),
            targets: Vec::with_capacity(PIECE_ELEMENTS),
            values: o.types.iter().map(|&t| Lanes::new(t, PIECE_ELEMENTS)).collect(),
            next: Vec::new(),
            places: Vec::with_capacity(PIECE_ELEMENTS),
        }
    }

    /// Computes the elements of a piece; returns the first event.
    fn find(&mut self, elements: Range<usize>) -> Result<(), Stop> {
        self.targets.clear();
        for start in elements.clone().step_by(BLOCK_ELEMENTS) {
            let block = start..elements.end.min(start + BLOCK_ELEMENTS);
            if !self.compiled(block.clone())? {
                self.over_tiles(block)?;
            }
        }
        Ok(())
    }

    /// Computes a block by machine code; false if it bailed out.
    fn compiled(&mut self, block: Range<usize>) -> Result<bool, Stop> {
        let Some(call) = self.call else { return Ok(false) };
        let (n, done) = (block.len(), self.targets.len());
        let own = self.located.iter_mut().map(|l| Some(l.out()));
        let values = self.values.iter_mut().map(|v| Some(v.out().split_at(done).1));
        let mut outs: SmallVec<[_; 8]> = own.chain(values).collect();
        let part = Part {
            most: WORK_PER_CALL / (self.job.launch.cost + 8),
            ..Part::of(block, self.job.extents.last().copied().unwrap_or(1))
        };
        let ended = call.run(part, &mut Memory { outs: &mut outs, ..Memory::default() });
        if !self.job.is_done(ended)? {
            return Ok(false);
        }
        drop(outs);
        let Some(ColumnSlice::U8(keep)) = self.located.first().map(|l| l.slice(n)) else { return Ok(false) };
        let mut outside = false;
        self.targets.resize(done + n, 0);
        for (index, &extent) in self.located[1..].iter().zip(self.shape) {
            let ColumnSlice::I64(index) = index.slice(n) else { return Ok(false) };
            for ((target, &i), &keep) in self.targets[done..].iter_mut().zip(index).zip(keep) {
                outside |= keep != 0 && i as u64 >= extent as u64;
                // Indices out of bounds are dropped below; all others fit.
                *target = target.wrapping_mul(extent as u32).wrapping_add(i as u32);
            }
        }
        if outside {
            self.targets.truncate(done);
            return Ok(false);
        }
        if keep.contains(&0) {
            lanes::chosen(keep.iter().map(|k| *k != 0), &mut self.own.kept);
            for (k, &from) in self.own.kept.iter().enumerate() {
                self.targets[done + k] = self.targets[done + from as usize];
            }
            for values in &mut self.values {
                lanes::squeeze(values.out().split_at(done).1, &self.own.kept);
            }
            self.targets.truncate(done + self.own.kept.len());
        }
        Ok(true)
    }

    /// Computes a block by the tile executor.
    fn over_tiles(&mut self, block: Range<usize>) -> Result<(), Stop> {
        let Finder { job, o, shape, own, .. } = self;
        let m = self.machine.get_or_insert_with(|| job.machine(self.space));
        let mut start = block.start;
        while start < block.end {
            let n = job.lanes().min(block.end - start);
            first_event(&mut *m, n, |m, n| {
                m.tile(start, n)?;
                positions(job, o, m, shape, n, own)
            })?;
            let done = self.targets.len();
            self.targets.extend(own.at.iter().map(|&at| at as u32));
            for (k, values) in self.values.iter_mut().enumerate() {
                let (leaf, to) = (o.leaf(m, 1 + shape.len() + k, n), values.out().split_at(done).1);
                if own.at.len() < n { lanes::gather(leaf, &own.kept, to) } else { lanes::copy(leaf, to) }
            }
            start += n;
        }
        Ok(())
    }

    /// Permutes the elements of a piece into the order of ranges.
    fn distribute(&mut self, piece: Distributed<'_>, shift: u32, ranges: usize) {
        let Finder { targets, values, next, places, .. } = self;
        next.clear();
        next.resize(ranges, 0);
        for t in &*targets {
            next[(t >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for (start, next) in piece.starts.iter_mut().zip(&mut *next) {
            *start = sum;
            sum += std::mem::replace(next, sum);
        }
        if let Some(end) = piece.starts.last_mut() {
            *end = sum;
        }
        places.clear();
        places.extend(targets.iter().map(|t| {
            let next = &mut next[(t >> shift) as usize];
            let place = *next;
            *next += 1;
            place
        }));
        for (t, &place) in targets.iter().zip(&*places) {
            piece.targets[place as usize] = *t;
        }
        for (values, to) in values.iter().zip(piece.values) {
            lanes::scatter(values.slice(targets.len()), places, to);
        }
    }
}
