//! Launches that scan the innermost axis.
//!
//! Many rows, and operators that can fault, run with rows as lanes, element after element. Otherwise a row is cut into
//! chunks of fixed length: each is scanned on its own and stored, the totals of the chunks are scanned one after the
//! other, and each chunk is combined with what comes before it. Grouping does not depend on the number of threads.

use super::fold::{CHUNK, combine_one, known, rows_as_lanes, step};
use super::launch::{Combiner, Job, Piece, finish, first_event, pieces, task_len};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::AxisKind;
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome, Space, Stop};
use crate::tile::reduce;
use acc_core::data::Column;
use acc_core::ir::Dir;
use smallvec::SmallVec;

pub(crate) fn scan(job: &Job<'_>) -> Result<SmallVec<[Column; 2]>, Stop> {
    let (Some((&row, outer)), Some(AxisKind::Scan(dir))) = (job.extents.split_last(), job.launch.kernel.axes.last())
    else {
        return Ok(SmallVec::new());
    };
    let rows: usize = outer.iter().product();
    let width = row + usize::from(job.init.is_some());
    let mut out = job.cx.columns(&job.types, rows * width).map_err(Stop::Error)?;
    if rows * width > 0 {
        if job.launch.combine_partial || rows >= 64 || (rows > 1 && rows_as_lanes(job, rows, row)) {
            by_rows(job, *dir, rows, row, &mut out)?;
        } else {
            by_chunks(job, *dir, rows, row, &mut out)?;
        }
    }
    Ok(finish(out))
}

fn by_rows(job: &Job<'_>, dir: Dir, rows: usize, row: usize, out: &mut [AnyBuffer]) -> Result<(), Stop> {
    let axis = job.extents.len() - 1;
    let width = row + usize::from(job.init.is_some());
    let space = Space { extents: job.extents.clone(), lo: 0, hi: axis };
    let lanes = job.lanes().min(256);
    let parallel = job.cx.parallel(rows.saturating_mul(row), job.launch.cost);
    let len = if parallel { task_len(rows, lanes, job.cx.threads.count() * 2) } else { rows };
    let worker = || {
        let acc: Vec<Lanes> = job.types.iter().map(|&t| Lanes::new(t, lanes)).collect();
        (job.machine(&space), job.combiner(), acc)
    };
    // Where the result of element k stands in its row.
    let place = |k: usize| if dir == Dir::Left { k + width - row } else { k };
    job.cx.tasks(parallel, pieces(out, rows * width, len * width), worker, |(m, c, acc), mut piece: Piece<'_>| {
        let (first, count) = (piece.start / width, piece.len / width);
        let mut done = 0;
        while done < count {
            let start = first + done;
            let n = lanes.min(count - done);
            first_event(&mut *m, n, |m, n| {
                let mut begun = false;
                if let Some(init) = &job.init {
                    let at = if dir == Dir::Left { 0 } else { row };
                    for (k, (a, &bits)) in acc.iter_mut().zip(init).enumerate() {
                        a.fill(n, bits);
                        lanes::store_strided(a.slice(n), piece.from(k, 0), done * width + at, width);
                    }
                    begun = true;
                }
                for t in 0..row {
                    let t = if dir == Dir::Left { t } else { row - 1 - t };
                    m.fixed[axis] = t as i64;
                    m.tile(start, n)?;
                    if begun {
                        step(job, m, c, acc, n, dir == Dir::Right)?;
                    } else {
                        for (k, a) in acc.iter_mut().enumerate() {
                            lanes::copy(m.get(m.tape.results[k], n), a.out());
                        }
                        begun = true;
                    }
                    for (k, a) in acc.iter().enumerate() {
                        lanes::store_strided(a.slice(n), piece.from(k, 0), done * width + place(t), width);
                    }
                }
                Ok(())
            })?;
            done += n;
        }
        Ok(())
    })
}

/// A chunk of a row: its row, its first element, and the memory of its results.
struct Chunk<'a> {
    row: usize,
    from: usize,
    len: usize,
    outs: SmallVec<[OutSlice<'a>; 2]>,
}

impl Chunk<'_> {
    fn part(&mut self, k: usize, at: usize, n: usize) -> OutSlice<'_> {
        self.outs[k].reborrow().split_at(at).1.split_at(n).0
    }
}

fn by_chunks(job: &Job<'_>, dir: Dir, rows: usize, row: usize, out: &mut [AnyBuffer]) -> Result<(), Stop> {
    let axis = job.extents.len() - 1;
    let space = Space { extents: job.extents.clone(), lo: axis, hi: axis + 1 };
    let parallel = job.cx.parallel(rows.saturating_mul(row), job.launch.cost + 2);
    let worker = || {
        let acc: Vec<Lanes> = job.types.iter().map(|&t| Lanes::new(t, job.lanes())).collect();
        (job.machine(&space), job.combiner(), acc)
    };
    let outer = &job.extents[..axis];
    job.cx.tasks(parallel, chunks(job, dir, rows, row, out), worker, |(m, c, acc), mut chunk| {
        m.fixed[..axis].copy_from_slice(&acc_core::data::unlinear_index(outer, chunk.row));
        local(job, dir, m, c, acc, &mut chunk)
    })?;
    // The totals, in the order of the scan, give what comes before each chunk.
    let Some(mut c) = job.combiner() else { return Ok(()) };
    let all = chunks(job, dir, rows, row, out);
    let mut before: Vec<Option<Vec<u64>>> = vec![None; all.len()];
    let per_row = row.div_ceil(CHUNK);
    for r in 0..rows {
        let mut carry = job.init.clone();
        for k in 0..per_row {
            let k = if dir == Dir::Left { k } else { per_row - 1 - k };
            let chunk = &all[r * per_row + k];
            before[r * per_row + k] = carry.clone();
            let at = if dir == Dir::Left { chunk.len - 1 } else { 0 };
            let total: Vec<u64> = chunk.outs.iter().map(|o| lanes::bits_at(o, at)).collect();
            carry = Some(match &carry {
                None => total,
                Some(b) if dir == Dir::Left => {
                    combine_one(&mut c, &job.types, known(job), b, &total).map_err(|e| e.stop)?
                }
                Some(b) => combine_one(&mut c, &job.types, known(job), &total, b).map_err(|e| e.stop)?,
            });
        }
    }
    let tasks: Vec<_> = all.into_iter().zip(before).filter_map(|(c, b)| b.map(|b| (c, b))).collect();
    job.cx.tasks(parallel, tasks, || job.combiner(), |c, (mut chunk, before)| prepend(job, dir, c, &mut chunk, &before))
}

/// The chunks of all rows, in order. Writes the initial values.
fn chunks<'a>(job: &Job<'_>, dir: Dir, rows: usize, row: usize, out: &'a mut [AnyBuffer]) -> Vec<Chunk<'a>> {
    let mut rest: SmallVec<[OutSlice<'a>; 2]> = out.iter_mut().map(AnyBuffer::as_out).collect();
    let mut result = Vec::new();
    let mut take = |n: usize| -> SmallVec<[OutSlice<'a>; 2]> {
        let mut outs = SmallVec::new();
        rest = std::mem::take(&mut rest)
            .into_iter()
            .map(|s| {
                let (a, b) = s.split_at(n);
                outs.push(a);
                b
            })
            .collect();
        outs
    };
    for r in 0..rows {
        if job.init.is_some() && dir == Dir::Left {
            take(1).into_iter().zip(job.init.iter().flatten()).for_each(|(o, &bits)| lanes::fill(o, bits));
        }
        let mut from = 0;
        while from < row {
            let len = CHUNK.min(row - from);
            result.push(Chunk { row: r, from, len, outs: take(len) });
            from += len;
        }
        if job.init.is_some() && dir == Dir::Right {
            take(1).into_iter().zip(job.init.iter().flatten()).for_each(|(o, &bits)| lanes::fill(o, bits));
        }
    }
    result
}

/// Computes a chunk's elements and scans them on their own.
fn local(
    job: &Job<'_>,
    dir: Dir,
    m: &mut Machine<'_>,
    c: &mut Option<Combiner<'_>>,
    acc: &mut [Lanes],
    chunk: &mut Chunk<'_>,
) -> Result<(), Stop> {
    let lanes = job.lanes();
    if let (Some(ops), Dir::Left) = (known(job), dir) {
        // Straight from the tile, while it is in the cache.
        let mut carry: Vec<Option<u64>> = vec![None; ops.len()];
        let mut done = 0;
        while done < chunk.len {
            let n = lanes.min(chunk.len - done);
            first_event(&mut *m, n, |m, n| m.tile(chunk.from + done, n))?;
            for (k, (&op, carry)) in ops.iter().zip(&mut carry).enumerate() {
                *carry = reduce::scan(op, m.get(m.tape.results[k], n), chunk.part(k, done, n), *carry, dir);
            }
            done += n;
        }
        return Ok(());
    }
    // Events are found in the order of elements, so that elements come first, then the scan.
    let mut done = 0;
    while done < chunk.len {
        let n = lanes.min(chunk.len - done);
        first_event(&mut *m, n, |m, n| m.tile(chunk.from + done, n))?;
        for k in 0..acc.len() {
            lanes::copy(m.get(m.tape.results[k], n), chunk.part(k, done, n));
        }
        done += n;
    }
    let mut carry: Option<Vec<u64>> = None;
    let mut done = 0;
    while done < chunk.len {
        let n = lanes.min(chunk.len - done);
        let at = if dir == Dir::Left { done } else { chunk.len - done - n };
        if let Some(ops) = known(job) {
            let mut next = Vec::with_capacity(ops.len());
            for (k, (&op, a)) in ops.iter().zip(acc.iter_mut()).enumerate() {
                lanes::copy_out(chunk.part(k, at, n), a.out());
                let start = carry.as_ref().map(|c| c[k]);
                next.extend(reduce::scan(op, a.slice(n), chunk.part(k, at, n), start, dir));
            }
            carry = Some(next);
        } else if let Some(c) = c {
            for (k, a) in acc.iter_mut().enumerate() {
                lanes::copy_out(chunk.part(k, at, n), a.out());
                if dir == Dir::Right {
                    lanes::reverse(a.out().split_at(n).0);
                }
            }
            scan_tile(job, dir, c, acc, n, carry.as_deref()).map_err(|e| e.stop)?;
            carry = Some(acc.iter().map(|a| lanes::first_bits(lanes::part(a.slice(n), n - 1, 1))).collect());
            for (k, a) in acc.iter_mut().enumerate() {
                if dir == Dir::Right {
                    lanes::reverse(a.out().split_at(n).0);
                }
                lanes::copy(a.slice(n), chunk.part(k, at, n));
            }
        }
        done += n;
    }
    Ok(())
}

/// Scans the first `n` lanes with any operator: columns of consecutive lanes step by step, then the columns one after
/// the other.
fn scan_tile(
    job: &Job<'_>,
    dir: Dir,
    c: &mut Combiner<'_>,
    values: &mut [Lanes],
    n: usize,
    carry: Option<&[u64]>,
) -> Outcome {
    const COLUMNS: usize = 32;
    let leaves = job.types.len();
    let (first, second) = if dir == Dir::Left { (0, leaves) } else { (leaves, 0) };
    let len = n.div_ceil(COLUMNS);
    for t in 1..len {
        let count = (n - t).div_ceil(len);
        for (k, v) in values.iter().enumerate() {
            c.set(first + k, |o| lanes::strided(v.slice(n), t - 1, len as isize, count, o));
            c.set(second + k, |o| lanes::strided(v.slice(n), t, len as isize, count, o));
        }
        c.call(count)?;
        for (k, v) in values.iter_mut().enumerate() {
            lanes::store_strided(c.machine.get(c.machine.tape.results[k], count), v.out(), t, len);
        }
    }
    let mut carry: Option<Vec<u64>> = carry.map(<[u64]>::to_vec);
    let mut at = 0;
    while at < n {
        let count = len.min(n - at);
        if let Some(before) = &carry {
            for (k, v) in values.iter().enumerate() {
                c.set(first + k, |o| lanes::fill(o.split_at(count).0, before[k]));
                c.set(second + k, |o| lanes::copy(lanes::part(v.slice(n), at, count), o));
            }
            c.call(count)?;
            for (k, v) in values.iter_mut().enumerate() {
                c.result(k, count, v.out().split_at(at).1);
            }
        }
        at += count;
        carry = Some(values.iter().map(|v| lanes::first_bits(lanes::part(v.slice(n), at - 1, 1))).collect());
    }
    Ok(())
}

/// Combines a chunk with what comes before it.
fn prepend(
    job: &Job<'_>,
    dir: Dir,
    c: &mut Option<Combiner<'_>>,
    chunk: &mut Chunk<'_>,
    before: &[u64],
) -> Result<(), Stop> {
    if let Some(ops) = known(job) {
        for (k, &op) in ops.iter().enumerate() {
            reduce::prepend(op, chunk.part(k, 0, chunk.len), before[k]);
        }
        return job.cx.limits.check().map_err(Stop::Error);
    }
    let Some(c) = c else { return Ok(()) };
    let leaves = job.types.len();
    let (first, second) = if dir == Dir::Left { (0, leaves) } else { (leaves, 0) };
    let mut done = 0;
    while done < chunk.len {
        let n = job.lanes().min(chunk.len - done);
        for (k, &bits) in before.iter().enumerate() {
            c.set(first + k, |o| lanes::fill(o.split_at(n).0, bits));
            c.set(second + k, |o| lanes::copy_out(chunk.part(k, done, n), o));
        }
        c.call(n).map_err(|e| e.stop)?;
        for k in 0..leaves {
            c.result(k, n, chunk.part(k, done, n));
        }
        done += n;
    }
    Ok(())
}
