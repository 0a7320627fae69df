//! Launches that combine each element into its target, with the semantics of sequential row-major order.

mod partition;
mod privatized;

use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::{Sink, Update};
use crate::llvm::Variant;
use crate::llvm::call::{BoundCall, Call, Memory, Part};
use crate::run::launch::{Columns, Context, Job, JobOutput, WORK_PER_CALL, finish, first_event};
use crate::tile::access::load::out_of_bounds;
use crate::tile::access::position;
use crate::tile::lanes;
use crate::tile::machine::{Machine, Outcome, Space, Stop, event};
use crate::tile::scatter::update;
use acc_core::data::{ColumnSlice, ScalarType};
use acc_core::ir::ArrayId;
use smallvec::SmallVec;
use std::ops::Range;

/// The targets of a tile's elements that are kept.
#[derive(Default)]
pub(super) struct Targets {
    /// Positions in the result.
    pub at: Vec<usize>,
    /// Lanes of the tile, ascending; meaningless if all lanes are kept.
    pub kept: Vec<u32>,
}

pub(crate) fn scatter(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    shape: &[usize],
    mut out: Vec<AnyBuffer>,
) -> Result<Columns, Stop> {
    let Sink::Scatter { builtin, .. } = &o.output.sink else { return Ok(Columns::new()) };
    let size: usize = shape.iter().product();
    let n: usize = job.extents.iter().product();
    let space = Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() };
    if let Some(updates) = builtin
        && privatized::is_profitable(job, updates, n, size)
        && privatized::combine(job, o, shape, &space, updates, &mut out)?
    {
        return Ok(finish(out));
    }
    if let Some(updates) = builtin
        && partition::is_profitable(job, o, n, size)
        && partition::partitioned(job, o, shape, updates, &mut out)?
    {
        return Ok(finish(out));
    }
    // Where machine code bails out the tile executor continues, to find the event.
    let call = job.call(Variant::Scatter);
    let mut start = run(job, call.as_ref(), shape, 0..n, &mut out)?;
    if start == n {
        return Ok(finish(out));
    }
    let mut m = job.machine(&space);
    let mut targets = Targets::default();
    let mut combiner = match builtin {
        Some(_) => None,
        None => Some(General::new(o)),
    };
    while start < n {
        let len = job.lanes().min(n - start);
        let mut good = 0;
        // Elements before the first event are combined, since their combination may stop earlier.
        let stop = first_event(&mut m, len, |m, len| {
            good = 0;
            m.tile(start, len)?;
            positions(job, o, m, shape, len, &mut targets)?;
            good = len;
            Ok(())
        });
        match stop {
            // If the combination cannot stop, this is the first event.
            Err(stop) if !job.launch.combine_partial || matches!(stop, Stop::Error(_)) => return Err(stop),
            Ok(()) | Err(_) => {}
        }
        if good > 0 {
            match (&mut combiner, builtin) {
                (Some(g), _) => g.combine(job, o, &m, &targets, good, &mut out)?,
                (None, Some(updates)) => simple(o, &m, updates, shape.len(), &targets, good, &mut out),
                (None, None) => {}
            }
        }
        stop?;
        start += len;
    }
    drop(m);
    Ok(finish(out))
}

/// Combines a range of elements by machine code; returns the first element that is not combined.
pub(super) fn run(
    job: &Job<'_>,
    call: Option<&Call<'_>>,
    shape: &[usize],
    elements: Range<usize>,
    out: &mut [AnyBuffer],
) -> Result<usize, Stop> {
    let Some(call) = call else { return Ok(elements.start) };
    let mut outs: SmallVec<[_; 4]> = out.iter_mut().map(|o| Some(o.as_out())).collect();
    let mut memory = Memory { outs: &mut outs, target: shape, ..Memory::default() };
    let ended = call.run(part(job, elements.clone()), &mut memory);
    let done = elements.start + memory.progress as usize;
    Ok(if job.is_done(ended)? { elements.end } else { done })
}

fn part(job: &Job<'_>, elements: Range<usize>) -> Part {
    let most = WORK_PER_CALL / (job.launch.cost + 8);
    Part { most, ..Part::of(elements, job.extents.last().copied().unwrap_or(1)) }
}

/// The call that combines all elements into memory of this shape, to be repeated; `column` is as for [`Call::bind`].
pub(super) fn bound<'a>(
    job: &Job<'_>,
    call: &Call<'a>,
    shape: &[usize],
    mut outs: SmallVec<[Option<OutSlice<'_>>; 4]>,
    column: impl Fn(ArrayId, u32) -> Option<u64>,
) -> BoundCall<'a> {
    let elements = 0..job.extents.iter().product();
    call.bind(part(job, elements), &mut Memory { outs: &mut outs, target: shape, ..Memory::default() }, column)
}

/// Copies the initial array of a scatter.
pub(crate) fn copied(
    cx: Context<'_>,
    types: &[ScalarType],
    size: usize,
    array: &[ColumnSlice<'_>],
) -> Result<Vec<AnyBuffer>, Stop> {
    let mut out = cx.columns(types, size).map_err(Stop::Error)?;
    for (o, d) in out.iter_mut().zip(array) {
        lanes::copy(*d, o.as_out());
    }
    Ok(out)
}

/// Computes the targets of the first `n` lanes; an event at the first one out of bounds.
pub(super) fn positions(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    m: &Machine<'_>,
    shape: &[usize],
    n: usize,
    targets: &mut Targets,
) -> Outcome {
    let results = &m.bytecode.results[o.output.values.start..];
    let flags = m.typed::<u8>(results[0], n);
    targets.at.clear();
    targets.at.resize(n, 0);
    targets.kept.clear();
    if !job.launch.checks && shape.contains(&0) {
        targets.at.clear();
        return Ok(());
    }
    let mut bad = false;
    for (d, &extent) in shape.iter().enumerate() {
        if !job.launch.checks {
            position::nearest(d, m.typed::<i64>(results[1 + d], n), extent, &mut targets.at);
            continue;
        }
        bad |= position::along(d, m.typed::<i64>(results[1 + d], n), extent, &mut targets.at);
    }
    let all = !flags.contains(&0);
    if bad {
        for (lane, &flag) in flags.iter().enumerate() {
            let index: Vec<i64> = (0..shape.len()).map(|d| m.typed::<i64>(results[1 + d], n)[lane]).collect();
            if flag != 0 && index.iter().zip(shape).any(|(&i, &n)| i as u64 >= n as u64) {
                let fault = out_of_bounds(o.output.result, &index, shape);
                return event(lane, Stop::Fault(fault, o.output.loc.clone()));
            }
        }
    }
    if !all {
        lanes::chosen(flags.iter().map(|f| *f != 0), &mut targets.kept);
        for (j, &k) in targets.kept.iter().enumerate() {
            targets.at[j] = targets.at[k as usize];
        }
        targets.at.truncate(targets.kept.len());
    }
    Ok(())
}

/// Combines leaf by leaf with built-in operations.
pub(super) fn simple(
    o: &JobOutput<'_>,
    m: &Machine<'_>,
    updates: &[Update],
    rank: usize,
    targets: &Targets,
    n: usize,
    out: &mut [AnyBuffer],
) {
    debug_assert_eq!(updates.len(), o.types.len());
    for ((k, u), out) in updates.iter().enumerate().zip(out) {
        let values = o.leaf(m, 1 + rank + k, n);
        let list = if targets.at.len() < n { Some(&targets.kept[..]) } else { None };
        update(*u, values, list, &targets.at, out.as_out());
    }
}

/// Scatter with an arbitrary combination: runs of lanes with distinct targets are combined together.
struct General<'a> {
    combiner: Option<crate::run::launch::Combiner<'a>>,
    /// Per hash of a target: the last run in which it occurred.
    seen: Vec<(usize, u64)>,
    run: u64,
}

impl<'a> General<'a> {
    const HASH_SLOTS: usize = 4096;

    fn new(o: &'a JobOutput<'_>) -> General<'a> {
        General { combiner: o.combiner(), seen: vec![(0, 0); Self::HASH_SLOTS], run: 0 }
    }

    fn combine(
        &mut self,
        job: &Job<'_>,
        o: &JobOutput<'_>,
        m: &Machine<'_>,
        targets: &Targets,
        n: usize,
        out: &mut [AnyBuffer],
    ) -> Result<(), Stop> {
        let rank = o.output.values.len() - 1 - o.types.len();
        let mut from = 0;
        while from < targets.at.len() {
            self.run += 1;
            let mut to = from;
            while let Some(&t) = targets.at.get(to) {
                // A hash collision ends a run early, which is harmless.
                let seen = &mut self.seen[t.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52];
                if seen.1 == self.run || to - from >= job.lanes() {
                    break;
                }
                *seen = (t, self.run);
                to += 1;
            }
            let list: Vec<u32> = match targets.at.len() < n {
                true => targets.kept[from..to].to_vec(),
                false => (from as u32..to as u32).collect(),
            };
            self.run_of(o, m, rank, &list, &targets.at[from..to], out)?;
            from = to;
        }
        Ok(())
    }

    fn run_of(
        &mut self,
        o: &JobOutput<'_>,
        m: &Machine<'_>,
        rank: usize,
        list: &[u32],
        at: &[usize],
        out: &mut [AnyBuffer],
    ) -> Result<(), Stop> {
        let Some(c) = &mut self.combiner else { return Ok(()) };
        let leaves = o.types.len();
        for (k, out) in out.iter().enumerate() {
            c.set(k, |to| lanes::gather(o.leaf(m, 1 + rank + k, usize::MAX), list, to));
            c.set(leaves + k, |to| lanes::gather_at(out.as_slice(), at, to));
        }
        first_event(&mut *c, list.len(), |c, n| c.call(n))?;
        for (k, o) in out.iter_mut().enumerate() {
            lanes::scatter_at(c.machine.get(c.machine.bytecode.results[k], at.len()), at, o.as_out());
        }
        Ok(())
    }
}
