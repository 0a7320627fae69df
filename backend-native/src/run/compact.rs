//! Launches that keep some elements: counted chunk by chunk, then written, each chunk from where those before it end.
//!
//! An epilogue is computed of the elements as they are written.

use super::launch::{Columns, Job, JobEpilogue, JobOutput, Outs, finish, first_event, give, take};
use crate::buffer::AnyBuffer;
use crate::llvm::Form;
use crate::llvm::code::{Call, Memory, Part};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Space, Stop};

/// Elements of a chunk.
const CHUNK: usize = 1 << 16;

/// How many elements are kept before each chunk, and in the end of all.
pub(crate) struct Counts(Vec<usize>);

impl Counts {
    /// The elements kept.
    pub(crate) fn total(&self) -> usize {
        self.0.last().copied().unwrap_or(0)
    }
}

/// A chunk to be written.
struct Chunk<'a> {
    /// Its first element.
    first: usize,
    /// The place of the first element kept.
    place: usize,
    /// The elements kept.
    kept: usize,
    /// The memory of each result that is stored.
    outs: Vec<Outs<'a>>,
}

/// What a thread writes with.
struct Writer<'b> {
    machine: Machine<'b>,
    after: Option<Machine<'b>>,
    /// The elements of a tile that are kept.
    kept: Vec<Lanes>,
    list: Vec<u32>,
}

fn points(job: &Job<'_>) -> usize {
    job.extents.iter().product()
}

fn space(job: &Job<'_>) -> Space {
    Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() }
}

/// Counts the elements that are kept.
pub(crate) fn count(job: &Job<'_>) -> Result<Counts, Stop> {
    let (n, space) = (points(job), space(job));
    let Some(o) = job.outputs.first() else { return Ok(Counts(vec![0])) };
    let mut kept = vec![0usize; n.div_ceil(CHUNK)];
    let call = job.call(Form::Count);
    job.cx.tasks(
        job.cx.parallel(n, job.launch.cost),
        kept.iter_mut().enumerate().collect(),
        || None,
        |machine, (chunk, kept)| {
            let (first, end) = (chunk * CHUNK, n.min((chunk + 1) * CHUNK));
            if let Some(count) = compiled_count(job, call.as_ref(), first, end)? {
                *kept = count;
                return Ok(());
            }
            let m = machine.get_or_insert_with(|| job.machine(&space));
            let mut start = first;
            while start < end {
                let len = job.lanes().min(end - start);
                first_event(&mut *m, len, |m, len| m.tile(start, len))?;
                *kept += m.typed::<u8>(o.slot(m, 0), len).iter().filter(|f| **f != 0).count();
                start += len;
            }
            Ok(())
        },
    )?;
    let mut counts = vec![0];
    let mut total = 0;
    for k in kept {
        total += k;
        counts.push(total);
    }
    Ok(Counts(counts))
}

fn part(job: &Job<'_>, first: usize, end: usize) -> Part {
    Part::of(first..end, points(job).max(1))
}

/// Counts a chunk by machine code, if that can be done.
fn compiled_count(job: &Job<'_>, call: Option<&Call<'_>>, first: usize, end: usize) -> Result<Option<usize>, Stop> {
    let Some(call) = call else { return Ok(None) };
    let mut totals = [0];
    let mut memory = Memory { totals: &mut totals, ..Memory::default() };
    let done = job.ended(call.run(part(job, first, end), &mut memory))?;
    Ok(done.then_some(totals[0] as usize))
}

/// Writes the elements that are kept, and what the epilogue makes of them.
pub(crate) fn compact(job: &Job<'_>, counts: &Counts) -> Result<Vec<Columns>, Stop> {
    let (n, space, total) = (points(job), space(job), counts.total());
    let after_space = Space { extents: smallvec::smallvec![total], lo: 0, hi: 1 };
    let Some(o) = job.outputs.first() else { return Ok(Vec::new()) };
    let own = if o.output.stored { job.cx.columns(&o.types, total).map_err(Stop::Error)? } else { Vec::new() };
    let mut out = vec![own];
    if let Some(e) = &job.epilogue {
        out.extend(e.columns(job.cx, total)?);
    }
    let call = job.call(Form::Compact);
    let writer = || Writer {
        machine: job.machine(&space),
        after: job.epilogue.as_ref().map(|e| e.machine(&after_space)),
        kept: o.types.iter().map(|&t| Lanes::new(t, job.lanes())).collect(),
        list: Vec::new(),
    };
    job.cx.tasks(
        job.cx.parallel(n, job.launch.cost),
        chunks(&mut out, counts),
        || None,
        |worker, mut chunk| {
            let end = n.min(chunk.first + CHUNK);
            if chunk.kept == 0 || compiled(job, o, call.as_ref(), &mut chunk, end)? {
                return Ok(());
            }
            worker.get_or_insert_with(writer).write(job, o, &mut chunk, end)
        },
    )?;
    Ok(out.into_iter().map(finish).collect())
}

/// Cuts results where chunks begin.
fn chunks<'a>(out: &'a mut [Vec<AnyBuffer>], counts: &Counts) -> Vec<Chunk<'a>> {
    let mut rest: Vec<Outs<'a>> = out.iter_mut().map(|o| o.iter_mut().map(AnyBuffer::as_out).collect()).collect();
    let ends = counts.0.iter().zip(counts.0.iter().skip(1)).enumerate();
    ends.map(|(k, (&place, &end))| {
        let outs = rest.iter_mut().map(|rest| take(rest, end - place)).collect();
        Chunk { first: k * CHUNK, place, kept: end - place, outs }
    })
    .collect()
}

/// Writes a chunk by machine code; whether that is done.
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
    job.ended(call.run(part(job, chunk.first, end), &mut memory))
}

impl Writer<'_> {
    /// Writes a chunk, tile by tile.
    fn write(&mut self, job: &Job<'_>, o: &JobOutput<'_>, chunk: &mut Chunk<'_>, end: usize) -> Result<(), Stop> {
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
                    give(m, 1, kept.iter().map(|k| k.slice(n)));
                    m.tile(place, n)
                })?;
                finished(e, after, n, written, others);
            }
            written += n;
            start += len;
        }
        Ok(())
    }
}

/// Copies the results of an epilogue.
fn finished(e: &JobEpilogue<'_>, after: &Machine<'_>, n: usize, at: usize, outs: &mut [Outs<'_>]) {
    for ((values, _), outs) in e.outputs.iter().zip(outs) {
        for (r, out) in values.clone().zip(outs) {
            lanes::copy(after.get(after.tape.results[r], n), out.reborrow().split_at(at).1);
        }
    }
}
