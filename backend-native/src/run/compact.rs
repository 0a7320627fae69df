//! Compactions: launches that keep a subset of the elements. Elements are counted chunk by chunk, then written; each
//! chunk is written from where the one before it ends. Large inputs are counted and written in one pass.
//!
//! An epilogue is computed for each element as it is written.

use super::launch::{Columns, Job, JobEpilogue, JobOutput, Outs, bind_leaves, finish, first_event, take};
use crate::buffer::AnyBuffer;
use crate::kernel::Epilogue;
use crate::llvm::Variant;
use crate::llvm::call::{Call, Memory, Part};
use crate::run::elementwise::store::MIN_STREAMED_BYTES;
use crate::run::launch::lists::{collected, filled};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Space, Stop};
use crate::tile::memory;
use acc_core::data::ScalarType;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Elements of a chunk.
const CHUNK_ELEMENTS: usize = 1 << 16;
/// Elements of a chunk that is counted and then written in one pass, while its elements are in the second-level cache.
const CACHED_CHUNK_ELEMENTS: usize = 1 << 14;
/// A one-pass compaction allocates its results for the case that all elements are kept: at most this many times the
/// memory of the elements that are.
const MAX_RESULT_SLACK: usize = 4;

/// Exclusive prefix sum of the elements kept per chunk, with the total as its last entry.
pub(crate) struct Counts(Vec<usize>);

impl Counts {
    /// The number of elements kept.
    pub(crate) fn total(&self) -> usize {
        self.0.last().copied().unwrap_or(0)
    }
}

/// A chunk to be written.
struct Chunk<'a> {
    /// Its first element.
    first: usize,
    /// The index in the result of the first element kept.
    place: usize,
    /// The number of elements kept.
    kept: usize,
    /// The memory of each stored result.
    outs: Vec<Outs<'a>>,
}

/// The state with which a thread writes chunks.
struct Writer<'b> {
    machine: Machine<'b>,
    after: Option<Machine<'b>>,
    /// The elements kept of a tile.
    kept: Vec<Lanes>,
    list: Vec<u32>,
}

fn points(job: &Job<'_>) -> usize {
    job.extents.iter().product()
}

fn space(job: &Job<'_>) -> Space {
    Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() }
}

/// Counts the elements kept.
pub(crate) fn count(job: &Job<'_>) -> Result<Counts, Stop> {
    let (n, space) = (points(job), space(job));
    let Some(o) = job.outputs.first() else { return Ok(Counts(vec![0])) };
    let mut kept = filled(0usize, n.div_ceil(CHUNK_ELEMENTS))?;
    let call = job.call(Variant::CompactCount);
    job.cx.tasks(
        job.cx.parallel(n, job.launch.cost),
        collected(kept.iter_mut().enumerate())?,
        || None,
        |machine, (chunk, kept)| {
            let (first, end) = (chunk * CHUNK_ELEMENTS, n.min((chunk + 1) * CHUNK_ELEMENTS));
            if let Some(count) = compiled_count(job, call.as_ref(), first, end)? {
                *kept = count;
                return Ok(());
            }
            *kept = tiles_count(job, o, machine.get_or_insert_with(|| job.machine(&space)), first, end)?;
            Ok(())
        },
    )?;
    let mut total = 0;
    let sums = kept.iter().map(|k| {
        total += k;
        total
    });
    Ok(Counts(collected(std::iter::once(0).chain(sums))?))
}

fn part(job: &Job<'_>, first: usize, end: usize) -> Part {
    Part::of(first..end, points(job).max(1))
}

/// Counts a chunk by machine code, if there is any and it does not bail out.
fn compiled_count(job: &Job<'_>, call: Option<&Call<'_>>, first: usize, end: usize) -> Result<Option<usize>, Stop> {
    let Some(call) = call else { return Ok(None) };
    let mut totals = [0];
    let mut memory = Memory { totals: &mut totals, ..Memory::default() };
    let done = job.is_done(call.run(part(job, first, end), &mut memory))?;
    Ok(done.then_some(totals[0] as usize))
}

/// Writes the elements kept, and the epilogue of each.
pub(crate) fn compact(job: &Job<'_>, counts: &Counts) -> Result<Vec<Columns>, Stop> {
    let (n, space, total) = (points(job), space(job), counts.total());
    let after_space = Space { extents: smallvec::smallvec![total], lo: 0, hi: 1 };
    let Some(o) = job.outputs.first() else { return Ok(Vec::new()) };
    let own = if o.output.stored { job.cx.columns(&o.types, total).map_err(Stop::Error)? } else { Vec::new() };
    let mut out = vec![own];
    if let Some(e) = &job.epilogue {
        out.extend(e.columns(job.cx, total)?);
    }
    let call = job.call(Variant::Compact);
    let writer = || Writer::new(job, o, &space, job.epilogue.as_ref().map(|e| e.machine(&after_space)));
    job.cx.tasks(
        job.cx.parallel(n, job.launch.cost),
        chunks(&mut out, counts),
        || None,
        |worker, mut chunk| {
            let end = n.min(chunk.first + CHUNK_ELEMENTS);
            if chunk.kept == 0 || compiled(job, o, call.as_ref(), &mut chunk, end)? {
                return Ok(());
            }
            worker.get_or_insert_with(writer).write(job, o, &mut chunk, end).map(drop)
        },
    )?;
    Ok(out.into_iter().map(finish).collect())
}

/// What a chunk hands to the next one: the number of elements kept before, and the remaining memory of the results.
type Handover<'o> = OnceLock<Mutex<(usize, Vec<Outs<'o>>)>>;

fn publish<'o>(to: &Handover<'o>, place: usize, rest: Vec<Outs<'o>>) {
    // Only this chunk sets it.
    let _ = to.set(Mutex::new((place, rest)));
}

/// The state of a thread that counts and writes in one pass.
struct ThreadState<'b> {
    writer: Writer<'b>,
    /// The results of a chunk, staged before they are copied to their final index.
    staged: Vec<Vec<Lanes>>,
}

/// Whether the epilogue, if there is one, may run before the count of elements kept is known and before all elements
/// are computed: it cannot fault, since the faults of the compaction come first.
fn epilogue_may_run_early(job: &Job<'_>) -> bool {
    let free = |e: &Epilogue| e.is_placeless() && !e.body.is_partial();
    let bound = |e: &JobEpilogue<'_>| {
        e.body.code.bytecode.scalars.is_empty() && e.body.bound.inputs.iter().all(Option::is_some)
    };
    job.launch.kernel.epilogue.as_ref().is_none_or(free) && job.epilogue.as_ref().is_none_or(bound)
}

/// Counts and writes in one pass, each chunk while its elements are in the second-level cache. None where counts must
/// come first, where results as long as the input take too much memory, or where the input is too small to matter.
pub(crate) fn count_and_write(job: &Job<'_>) -> Result<Option<(Counts, Vec<Columns>)>, Stop> {
    let (n, space) = (points(job), space(job));
    let Some(o) = job.outputs.first().filter(|_| epilogue_may_run_early(job)) else { return Ok(None) };
    let after = job.epilogue.iter().flat_map(|e| e.outputs.iter().map(|(_, types)| &types[..]));
    let types: Vec<&[ScalarType]> =
        std::iter::once(if o.output.stored { &o.types[..] } else { &[] }).chain(after).collect();
    let bytes: usize = types.iter().copied().flatten().map(|t| t.size()).sum();
    if n.saturating_mul(bytes) < MIN_STREAMED_BYTES {
        return Ok(None);
    }
    let (counting, writing) = (job.call(Variant::CompactCount), job.call(Variant::Compact));
    // Counting by machine code is so fast that it pays off to allocate exactly the memory of the results.
    if job.epilogue.is_some() && counting.is_some() {
        return Ok(None);
    }
    let columns = types.iter().map(|types| job.cx.columns(types, n));
    let Ok(mut out) = columns.collect::<Result<Vec<_>, _>>() else { return Ok(None) };
    let count = n.div_ceil(CACHED_CHUNK_ELEMENTS);
    let all: Vec<Outs<'_>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
    let chain: Vec<Handover<'_>> = collected((0..=count).map(|_| OnceLock::new()))?;
    publish(&chain[0], 0, all);
    let staged =
        || types.iter().map(|types| types.iter().map(|&t| Lanes::new(t, CACHED_CHUNK_ELEMENTS)).collect()).collect();
    // The space of an upper bound: the epilogue does not depend on indices.
    let places = Space { extents: smallvec::smallvec![n], lo: 0, hi: 1 };
    let after = || job.epilogue.as_ref().map(|e| e.machine(&places));
    let worker = || ThreadState { writer: Writer::new(job, o, &space, after()), staged: staged() };
    job.cx.tasks_in_order(
        job.cx.parallel(n, job.launch.cost),
        collected(0..count)?,
        || None,
        |own: &mut Option<ThreadState<'_>>, task_order, k| {
            let (first, end) = (k * CACHED_CHUNK_ELEMENTS, n.min((k + 1) * CACHED_CHUNK_ELEMENTS));
            let counted = compiled_count(job, counting.as_ref(), first, end)?;
            let kept = match counted {
                Some(kept) => kept,
                None => {
                    // The tile executor stages the results in its own buffers.
                    let own = own.get_or_insert_with(worker);
                    let outs = own.staged.iter_mut().map(|o| o.iter_mut().map(Lanes::out).collect()).collect();
                    own.writer.write(job, o, &mut Chunk { first, place: 0, kept: CACHED_CHUNK_ELEMENTS, outs }, end)?
                }
            };
            let Some(before) = task_order.wait(&chain[k]) else { return Ok(()) };
            let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
            let (place, mut rest) = (before.0, std::mem::take(&mut before.1));
            let outs = rest.iter_mut().map(|rest| take(rest, kept)).collect();
            let mut chunk = Chunk { first, place, kept, outs };
            publish(&chain[k + 1], place + kept, rest);
            if counted.is_none() {
                let staged = own.iter().flat_map(|own| &own.staged).flatten();
                staged
                    .zip(chunk.outs.iter_mut().flatten())
                    .for_each(|(from, to)| memory::stream(from.slice(kept), to.reborrow()));
                memory::finish();
                return Ok(());
            }
            if kept == 0 || compiled(job, o, writing.as_ref(), &mut chunk, end)? {
                return Ok(());
            }
            own.get_or_insert_with(worker).writer.write(job, o, &mut chunk, end).map(drop)
        },
    )?;
    let last = chain.into_iter().next_back().and_then(OnceLock::into_inner);
    let total = last.map_or(0, |last| last.into_inner().unwrap_or_else(PoisonError::into_inner).0);
    for (out, types) in out.iter_mut().zip(&types) {
        if total < n / MAX_RESULT_SLACK {
            let mut own = job.cx.columns(types, total).map_err(Stop::Error)?;
            for (from, to) in out.iter().zip(&mut own) {
                lanes::copy(lanes::prefix(from.as_slice(), total), to.as_out());
            }
            *out = own;
        } else {
            out.iter_mut().try_for_each(|column| column.truncate(total, job.cx.meter)).map_err(Stop::Error)?;
        }
    }
    Ok(Some((Counts(vec![0, total]), out.into_iter().map(finish).collect())))
}

/// Counts the elements kept of a chunk by the tile executor.
fn tiles_count(job: &Job<'_>, o: &JobOutput<'_>, m: &mut Machine<'_>, first: usize, end: usize) -> Result<usize, Stop> {
    let (mut start, mut kept) = (first, 0);
    while start < end {
        let len = job.lanes().min(end - start);
        first_event(&mut *m, len, |m, len| m.tile(start, len))?;
        kept += lanes::count_kept(m.typed::<u8>(o.slot(m, 0), len));
        start += len;
    }
    Ok(kept)
}

/// Splits the results where chunks begin.
fn chunks<'a>(out: &'a mut [Vec<AnyBuffer>], counts: &Counts) -> Vec<Chunk<'a>> {
    let mut rest: Vec<Outs<'a>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
    let ends = counts.0.iter().zip(counts.0.iter().skip(1)).enumerate();
    ends.map(|(k, (&place, &end))| {
        let outs = rest.iter_mut().map(|rest| take(rest, end - place)).collect();
        Chunk { first: k * CHUNK_ELEMENTS, place, kept: end - place, outs }
    })
    .collect()
}

/// Writes a chunk by machine code; false if it bailed out.
fn compiled(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    call: Option<&Call<'_>>,
    chunk: &mut Chunk<'_>,
    end: usize,
) -> Result<bool, Stop> {
    let Some(call) = call else { return Ok(false) };
    let mut outs: Vec<_> = if o.output.stored { Vec::new() } else { o.types.iter().map(|_| None).collect() };
    outs.extend(chunk.outs.iter_mut().flatten().map(|o| Some(o.reborrow())));
    let target = [chunk.kept];
    let mut memory = Memory { outs: &mut outs, target: &target, ..Memory::default() };
    job.is_done(call.run(part(job, chunk.first, end), &mut memory))
}

impl<'b> Writer<'b> {
    fn new(job: &'b Job<'_>, o: &JobOutput<'_>, space: &'b Space, after: Option<Machine<'b>>) -> Writer<'b> {
        let kept = o.types.iter().map(|&t| Lanes::new(t, job.lanes())).collect();
        Writer { machine: job.machine(space), after, kept, list: Vec::new() }
    }

    /// Writes a chunk tile by tile; returns how many elements it keeps.
    fn write(&mut self, job: &Job<'_>, o: &JobOutput<'_>, chunk: &mut Chunk<'_>, end: usize) -> Result<usize, Stop> {
        let Writer { machine: m, after, kept, list } = self;
        let (mut start, mut written) = (chunk.first, 0);
        while start < end {
            let len = job.lanes().min(end - start);
            first_event(&mut *m, len, |m, len| m.tile(start, len))?;
            let flags = m.typed::<u8>(o.slot(m, 0), len);
            lanes::chosen(flags.iter().map(|f| *f != 0), list);
            for (k, kept) in kept.iter_mut().enumerate() {
                lanes::gather(o.leaf(m, 1 + k, len), list, kept.out());
            }
            let n = list.len();
            let (own, others) = chunk.outs.split_at_mut(1);
            for (kept, out) in kept.iter().zip(own.iter_mut().flatten()) {
                lanes::copy(kept.slice(n), out.reborrow().split_at(written).1);
            }
            if let (Some(after), Some(e)) = (after.as_mut(), &job.epilogue) {
                let place = chunk.place + written;
                first_event(&mut *after, n, |m, n| {
                    bind_leaves(m, 1, kept.iter().map(|k| k.slice(n)));
                    m.tile(place, n)
                })?;
                finished(e, after, n, written, others);
            }
            written += n;
            start += len;
        }
        Ok(written)
    }
}

/// Copies the results of an epilogue into memory.
fn finished(e: &JobEpilogue<'_>, after: &Machine<'_>, n: usize, at: usize, outs: &mut [Outs<'_>]) {
    for ((values, _), outs) in e.outputs.iter().zip(outs) {
        for (r, out) in values.clone().zip(outs) {
            lanes::copy(after.get(after.bytecode.results[r], n), out.reborrow().split_at(at).1);
        }
    }
}
