//! Launches that fold the innermost axis.
//!
//! Two ways, chosen by extents and by how the body reads, never by the number of threads:
//!
//! * *Rows as lanes*: a lane folds its row from left to right, all lanes of a tile in step. For many rows, and for
//!   operators that can fault, whose faults then come in order.
//! * *Elements as lanes*: a row is cut into chunks of fixed length, each reduced tile by tile; a known operator keeps
//!   [`WIDTH`] partial results, any other combines neighbours pairwise. Chunks are combined from left to right.

use super::launch::{Combiner, Cut, Job, Piece, finish, first_event, pieces, task_len};
use crate::kernel::{AxisKind, Finish, Ix, Op};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome, Space, Stop};
use crate::tile::reduce::{self, WIDTH};
use acc_core::data::{Column, ScalarType};
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// Elements of a chunk: the unit of parallel work on a long row.
pub(super) const CHUNK: usize = 1 << 16;
/// Rows shorter than this are folded as lanes.
const SHORT_ROW: usize = 64;
/// Rows from which on lanes are worth filling with them.
const MANY_ROWS: usize = 64;

/// Whether rows run as lanes.
pub(super) fn rows_as_lanes(job: &Job<'_>, rows: usize, row: usize) -> bool {
    if job.launch.combine_partial || (rows > 1 && row < SHORT_ROW) {
        return true;
    }
    if rows < MANY_ROWS {
        return false;
    }
    // Lanes should run along the axis that lies one after the other in memory.
    let (along, across) = directions(job);
    across > 0 && across >= along
}

/// A known operator per leaf.
pub(super) fn known<'a>(job: &'a Job<'_>) -> Option<&'a [PrimOp]> {
    match &job.launch.kernel.finish {
        Finish::Fold { known, .. } | Finish::Scan { known, .. } => known.as_deref(),
        Finish::Store | Finish::Scatter { .. } => None,
    }
}

pub(crate) fn fold(job: &Job<'_>) -> Result<SmallVec<[Column; 2]>, Stop> {
    debug_assert_eq!(job.launch.kernel.axes.last(), Some(&AxisKind::Reduction));
    let Some((&row, outer)) = job.extents.split_last() else { return Ok(SmallVec::new()) };
    let rows: usize = outer.iter().product();
    let mut out = job.cx.columns(&job.types, rows).map_err(Stop::Error)?;
    if rows == 0 {
        return Ok(finish(out));
    }
    if row == 0 {
        for (o, bits) in out.iter_mut().zip(job.init.iter().flatten()) {
            lanes::fill(o.as_out(), *bits);
        }
        return Ok(finish(out));
    }
    if rows_as_lanes(job, rows, row) {
        by_rows(job, rows, row, &mut out)?;
    } else {
        by_chunks(job, rows, row, &mut out)?;
    }
    Ok(finish(out))
}

/// Combines `element`, lane by lane, into `acc`.
pub(super) fn step(
    job: &Job<'_>,
    m: &Machine<'_>,
    c: &mut Option<Combiner<'_>>,
    acc: &mut [Lanes],
    n: usize,
    swapped: bool,
) -> Outcome {
    let leaves = acc.len();
    if let Some(ops) = known(job) {
        for (k, (acc, op)) in acc.iter_mut().zip(ops).enumerate() {
            reduce::accumulate(*op, acc, m.get(m.tape.results[k], n));
        }
        return Ok(());
    }
    let Some(c) = c else { return Ok(()) };
    let (first, second) = if swapped { (leaves, 0) } else { (0, leaves) };
    for (k, a) in acc.iter().enumerate() {
        c.set(first + k, |o| lanes::copy(a.slice(n), o));
        c.set(second + k, |o| lanes::copy(m.get(m.tape.results[k], n), o));
    }
    c.call(n)?;
    for (k, a) in acc.iter_mut().enumerate() {
        c.result(k, n, a.out());
    }
    Ok(())
}

/// Rows per tile: full tiles where neighbouring rows lie side by side in memory, else few enough that the cache lines
/// of all of them stay until their next element is read.
pub(super) fn row_lanes(job: &Job<'_>) -> usize {
    let (along, across) = directions(job);
    if across > 0 && across >= along { job.lanes() } else { job.lanes().min(256) }
}

/// How many loads run along the reduced axis, and how many along the innermost parallel one.
fn directions(job: &Job<'_>) -> (usize, usize) {
    let kernel = &job.launch.kernel;
    let inner = kernel.axes.len() as u32 - 1;
    let (mut along, mut across) = (0, 0);
    kernel.element.region.visit(0, &mut |n, _| {
        if let Op::Load(l) = &n.op
            && let Some(Ix::Affine { axis, scale: 1, .. }) = l.index.last()
        {
            along += usize::from(*axis == inner);
            across += usize::from(*axis + 1 == inner);
        }
    });
    (along, across)
}

fn by_rows(job: &Job<'_>, rows: usize, row: usize, out: &mut [crate::buffer::AnyBuffer]) -> Result<(), Stop> {
    let axis = job.extents.len() - 1;
    let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
    let lanes = row_lanes(job);
    let cut = Cut::new(&job.extents[..axis], lanes);
    let parallel = job.cx.parallel(rows.saturating_mul(row), job.launch.cost);
    let len = if parallel { task_len(rows, lanes, job.cx.threads.count() * 2) } else { rows };
    let worker = || {
        let acc: Vec<Lanes> = job.types.iter().map(|&t| Lanes::new(t, lanes)).collect();
        (job.machine(&space), job.combiner(), acc)
    };
    job.cx.tasks(parallel, pieces(out, rows, len), worker, |(m, c, acc), mut piece: Piece<'_>| {
        let mut done = 0;
        while done < piece.len {
            let start = piece.start + done;
            let n = cut.len(start, piece.len - done);
            first_event(&mut *m, n, |m, n| {
                let first = match &job.init {
                    Some(init) => {
                        acc.iter_mut().zip(init).for_each(|(a, &bits)| a.fill(n, bits));
                        0
                    }
                    None => {
                        m.fixed[axis] = 0;
                        m.tile(start, n)?;
                        for (k, a) in acc.iter_mut().enumerate() {
                            lanes::copy(m.get(m.tape.results[k], n), a.out());
                        }
                        1
                    }
                };
                for k in first..row {
                    m.fixed[axis] = k as i64;
                    m.tile(start, n)?;
                    step(job, m, c, acc, n, false)?;
                }
                Ok(())
            })?;
            for (k, a) in acc.iter().enumerate() {
                lanes::copy(a.slice(n), piece.from(k, done));
            }
            done += n;
        }
        Ok(())
    })
}

/// Reduces the first `n` lanes of `values`, neighbours pairwise; the values end up in lane 0.
pub(super) fn tree(c: &mut Combiner<'_>, values: &mut [Lanes], mut n: usize) -> Outcome {
    let leaves = values.len();
    while n > 1 {
        let half = n / 2;
        for (k, v) in values.iter().enumerate() {
            c.set(k, |o| lanes::strided(v.slice(n), 0, 2, half, o));
            c.set(leaves + k, |o| lanes::strided(v.slice(n), 1, 2, half, o));
        }
        c.call(half)?;
        for (k, v) in values.iter_mut().enumerate() {
            if n % 2 == 1 {
                lanes::squeeze_one(v, n - 1, half);
            }
            c.result(k, half, v.out());
        }
        n = half + n % 2;
    }
    Ok(())
}

/// `f(a, b)` of single elements given as bits.
pub(super) fn combine_one(
    c: &mut Combiner<'_>,
    types: &[ScalarType],
    known: Option<&[PrimOp]>,
    a: &[u64],
    b: &[u64],
) -> Outcome<Vec<u64>> {
    if let Some(ops) = known {
        let all = ops.iter().zip(types).zip(a.iter().zip(b));
        return Ok(all.map(|((&op, &ty), (&a, &b))| reduce::combine_bits(op, ty, a, b)).collect());
    }
    for (k, &bits) in a.iter().chain(b).enumerate() {
        c.set(k, |o| lanes::fill_first(o, bits));
    }
    c.call(1)?;
    let m = &c.machine;
    Ok((0..types.len()).map(|k| lanes::first_bits(m.get(m.tape.results[k], 1))).collect())
}

fn by_chunks(job: &Job<'_>, rows: usize, row: usize, out: &mut [crate::buffer::AnyBuffer]) -> Result<(), Stop> {
    let axis = job.extents.len() - 1;
    let leaves = job.types.len();
    let space = Space { extents: job.extents.clone(), lo: axis, hi: axis + 1 };
    let outer = &job.extents[..axis];
    let per_row = row.div_ceil(CHUNK);
    let units = rows * per_row;
    let known = known(job);
    let mut partial = vec![0u64; units * leaves];
    let parallel = job.cx.parallel(rows.saturating_mul(row), job.launch.cost);
    let len = if parallel { (units / (job.cx.threads.count() * 4)).max(1) } else { units };
    let tasks: Vec<(usize, &mut [u64])> = if leaves == 0 {
        (0..units).step_by(len).map(|u| (u, Default::default())).collect()
    } else {
        partial.chunks_mut(len * leaves).enumerate().map(|(k, p)| (k * len, p)).collect()
    };
    let width = if known.is_some() { WIDTH } else { job.lanes() };
    let worker = || {
        let acc: Vec<Lanes> = job.types.iter().map(|&t| Lanes::new(t, width)).collect();
        (job.machine(&space), job.combiner(), acc)
    };
    job.cx.tasks(parallel, tasks, worker, |(m, c, acc), (first, partial)| {
        let end = (first + len).min(units);
        for unit in first..end {
            let index = acc_core::data::unlinear_index(outer, unit / per_row);
            m.fixed[..axis].copy_from_slice(&index);
            let from = unit % per_row * CHUNK;
            let n = CHUNK.min(row - from);
            let total = chunk(job, m, c, acc, from, n)?;
            let at = (unit - first) * leaves;
            if let Some(p) = partial.get_mut(at..at + leaves) {
                p.copy_from_slice(&total);
            }
        }
        Ok(())
    })?;
    let Some(mut c) = job.combiner() else { return Ok(()) };
    let single = |e: Box<crate::tile::machine::Event>| e.stop;
    for r in 0..rows {
        let mut chunks = (0..per_row).map(|k| &partial[(r * per_row + k) * leaves..][..leaves]);
        let mut total: Vec<u64> = match &job.init {
            Some(init) => init.clone(),
            None => chunks.next().unwrap_or(&[]).to_vec(),
        };
        for p in chunks {
            total = combine_one(&mut c, &job.types, known, &total, p).map_err(single)?;
        }
        for (o, bits) in out.iter_mut().zip(total) {
            lanes::fill_first(o.as_out().split_at(r).1, bits);
        }
    }
    Ok(())
}

/// Reduces elements `from..from + n` of the current row.
fn chunk(
    job: &Job<'_>,
    m: &mut Machine<'_>,
    c: &mut Option<Combiner<'_>>,
    acc: &mut [Lanes],
    from: usize,
    n: usize,
) -> Result<Vec<u64>, Stop> {
    let lanes = job.lanes();
    if let Some(ops) = known(job) {
        for (a, (&op, &ty)) in acc.iter_mut().zip(ops.iter().zip(&job.types)) {
            a.fill(WIDTH, reduce::identity(op, ty));
        }
        let mut done = 0;
        while done < n {
            let len = lanes.min(n - done);
            first_event(&mut *m, len, |m, len| m.tile(from + done, len))?;
            for (k, (a, &op)) in acc.iter_mut().zip(ops).enumerate() {
                reduce::reduce(op, a, m.get(m.tape.results[k], len));
            }
            done += len;
        }
        return Ok(acc.iter_mut().zip(ops).map(|(a, &op)| reduce::collapse(op, a)).collect());
    }
    let Some(c) = c else { return Ok(Vec::new()) };
    let mut total: Option<Vec<u64>> = None;
    let mut done = 0;
    while done < n {
        let len = lanes.min(n - done);
        first_event(&mut *m, len, |m, len| m.tile(from + done, len))?;
        for (k, a) in acc.iter_mut().enumerate() {
            lanes::copy(m.get(m.tape.results[k], len), a.out());
        }
        let combined = tree(c, acc, len).and_then(|()| {
            let here: Vec<u64> = acc.iter().map(|a| lanes::first_bits(a.slice(1))).collect();
            match &total {
                Some(t) => combine_one(c, &job.types, None, t, &here),
                None => Ok(here),
            }
        });
        total = Some(combined.map_err(|e| e.stop)?);
        done += len;
    }
    Ok(total.unwrap_or_default())
}
