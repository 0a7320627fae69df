//! Scatters into few targets with privatized results: each thread combines some elements into its own copy of the
//! result; the copies are then combined in order.

use super::{Targets, positions, run, simple};
use crate::buffer::AnyBuffer;
use crate::kernel::{Record, Update};
use crate::llvm::Variant;
use crate::run::launch::{Job, JobOutput, first_event, is_large, pieces, task_len};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Space, Stop};
use crate::tile::reduce;
use crate::tile::scatter::update;
use acc_core::Error;
use acc_core::data::ScalarType;
use std::ops::Range;

/// The least elements per target for privatization. Filling and combining copies accesses memory sequentially, which
/// takes a fraction of the time of a random access per element.
const MIN_ELEMENTS_PER_TARGET: usize = 2;
/// The least elements of a part per target, if there are more than two parts: each part costs time proportional to the
/// targets.
const MIN_PART_ELEMENTS_PER_TARGET: usize = 4;
/// The most parts, that is, copies of the result.
const MAX_PARTS: usize = 32;
/// The least elements of a part, if there are more than two parts.
const MIN_PART_ELEMENTS: usize = 1 << 15;

/// Whether a scatter of so many elements into so many targets is faster with privatization.
pub(super) fn is_profitable(job: &Job<'_>, updates: &[Update], n: usize, size: usize) -> bool {
    updates.iter().all(is_combination)
        && size.saturating_mul(MIN_ELEMENTS_PER_TARGET) <= n
        && is_large(n, job.launch.cost + 4)
}

/// Whether values for a target may be combined with each other before they are combined with the initial value. For
/// floats the order of additions may change, as long as it does not depend on the number of threads.
fn is_combination(u: &Update) -> bool {
    match u {
        Update::Old => true,
        Update::New => false,
        Update::Prim(p) | Update::PrimOldFirst(p) => p.is_reduction(),
    }
}

/// The number of parts. Where the order of combination is observable, it does not depend on the number of threads.
fn parts(job: &Job<'_>, o: &JobOutput<'_>, n: usize, size: usize) -> usize {
    let parts = (n / (size * MIN_PART_ELEMENTS_PER_TARGET).max(MIN_PART_ELEMENTS)).clamp(2, MAX_PARTS);
    // A power of two, so that 2, 4, 8 … threads get equal shares.
    let parts = 1 << parts.ilog2();
    if o.types.iter().any(|t| t.is_float()) {
        return parts;
    }
    // The targets of a part cost no more steps than its elements.
    parts.max(job.cx.threads.count().min(n / (2 * size).max(MIN_PART_ELEMENTS)))
}

/// Combines all elements into `out`, a result of this shape; false, without any effect, if the run's limits leave no
/// memory for the copies.
pub(super) fn combine(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    shape: &[usize],
    space: &Space,
    updates: &[Update],
    out: &mut [AnyBuffer],
) -> Result<bool, Stop> {
    let n: usize = job.extents.iter().product();
    let size: usize = shape.iter().product();
    let layout = match job.launch.kernel.record() {
        Some(record) => Layout::Records(record),
        None => Layout::Columns(&o.types),
    };
    let len = n.div_ceil(parts(job, o, n, size)).next_multiple_of(job.lanes());
    let mut targets: Vec<(usize, Vec<AnyBuffer>)> = Vec::new();
    for first in (0..n).step_by(len) {
        let Ok(own) = layout.memory(job, size) else { return Ok(false) };
        targets.push((first, own));
    }
    let tasks: Vec<_> = targets.iter_mut().map(|(first, own)| (*first, own)).collect();
    let call = job.call(layout.variant());
    job.cx.tasks(
        job.cx.parallel(n, job.launch.cost + 4),
        tasks,
        || None,
        |m, (first, own)| {
            layout.begin(updates, own);
            let end = n.min(first + len);
            let start = run(job, call.as_ref(), shape, first..end, own)?;
            if start == end {
                return Ok(());
            }
            let m = m.get_or_insert_with(|| job.machine(space));
            over_tiles(job, o, m, shape, (updates, layout), start..end, own)
        },
    )?;
    let parallel = job.cx.parallel(size * targets.len(), 1);
    let len = if parallel { task_len(size, job.lanes(), job.cx.threads.count()) } else { size.max(1) };
    job.cx.tasks(
        parallel,
        pieces(out, size, len)?,
        || layout.column(len),
        |column, mut piece| {
            for (_, own) in &targets {
                for (k, (result, u)) in piece.outs.iter_mut().zip(updates).enumerate() {
                    if let Update::Prim(p) | Update::PrimOldFirst(p) = u {
                        let own = match layout {
                            Layout::Columns(_) => lanes::part(own[k].as_slice(), piece.start, piece.len),
                            Layout::Records(Record { places, .. }) => {
                                let (from, first) = (own[0].as_slice(), piece.start * places + k);
                                lanes::strided(from, first, places as isize, piece.len, column.out());
                                column.slice(piece.len)
                            }
                        };
                        reduce::merge(*p, result.reborrow(), own);
                    }
                }
            }
            Ok(())
        },
    )?;
    Ok(true)
}

/// Combines a range of elements into a part's copy by the tile executor.
fn over_tiles(
    job: &Job<'_>,
    o: &JobOutput<'_>,
    m: &mut Machine<'_>,
    shape: &[usize],
    (updates, layout): (&[Update], Layout<'_>),
    elements: Range<usize>,
    own: &mut [AnyBuffer],
) -> Result<(), Stop> {
    let mut targets = Targets::default();
    for start in elements.clone().step_by(job.lanes()) {
        let count = job.lanes().min(elements.end - start);
        first_event(&mut *m, count, |m, count| {
            m.tile(start, count)?;
            positions(job, o, m, shape, count, &mut targets)
        })?;
        let Layout::Records(Record { places, .. }) = layout else {
            simple(o, m, updates, shape.len(), &targets, count, own);
            continue;
        };
        targets.at.iter_mut().for_each(|at| *at *= places);
        let list = (targets.at.len() < count).then_some(&targets.kept[..]);
        for (k, u) in updates.iter().enumerate() {
            update(*u, o.leaf(m, 1 + shape.len() + k, count), list, &targets.at, own[0].as_out());
            targets.at.iter_mut().for_each(|at| *at += 1);
        }
    }
    Ok(())
}

/// The layout of a part's copy.
#[derive(Clone, Copy)]
enum Layout<'a> {
    /// Structure of arrays: a column of each type.
    Columns(&'a [ScalarType]),
    /// Array of structures: one column of records.
    Records(Record),
}

impl Layout<'_> {
    fn variant(self) -> Variant {
        match self {
            Layout::Columns(_) => Variant::Scatter,
            Layout::Records(_) => Variant::AosScatter,
        }
    }

    /// Allocates a copy of `size` targets.
    fn memory(self, job: &Job<'_>, size: usize) -> Result<Vec<AnyBuffer>, Error> {
        match self {
            Layout::Columns(types) => job.cx.columns(types, size),
            Layout::Records(Record { ty, places, .. }) => job.cx.columns(&[ty], size * places),
        }
    }

    /// Fills a copy with neutral elements.
    fn begin(self, updates: &[Update], own: &mut [AnyBuffer]) {
        match self {
            Layout::Columns(types) => {
                for (own, (u, &ty)) in own.iter_mut().zip(updates.iter().zip(types)) {
                    if let Update::Prim(p) | Update::PrimOldFirst(p) = u {
                        lanes::fill(own.as_out(), reduce::identity(*p, ty));
                    }
                }
            }
            Layout::Records(Record { op, ty, .. }) => {
                own.iter_mut().for_each(|own| lanes::fill(own.as_out(), reduce::identity(op, ty)));
            }
        }
    }

    /// Scratch memory for a leaf of `n` records.
    fn column(self, n: usize) -> Lanes {
        match self {
            Layout::Columns(_) => Lanes::default(),
            Layout::Records(Record { ty, .. }) => Lanes::new(ty, n),
        }
    }
}
