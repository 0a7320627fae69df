//! Matrix products: contractions of sufficient extents, computed by the `gemm` crate, or by the kernel itself where that is not
//! [as exact](super::gemm::is_usable). Both have the same bits (`kernel::grouping`).
//!
//! The result is split into blocks, computed on one thread each; a long inner dimension over a small result is split
//! into parts whose products are added pairwise. How it is split depends on the extents only, so that results are the
//! same for any number of threads.

use super::gemm::{self, Number, Target};
use crate::buffer::{AnyBuffer, OutSlice};
use crate::kernel::grouping::TermBlocks;
use crate::prepare::Launch;
use crate::run::Value;
use crate::run::launch::lists::{collected, filled};
use crate::run::launch::{Columns, Job, finish};
use crate::tile::machine::Stop;
use acc_core::data::ColumnSlice;
use acc_desugar::analysis::contraction::{Contraction, Factor};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most rows of a block; the other bounds are the least rows, and the most columns. For 512² and 1024² results,
/// blocks of 512 by 128 take as long as a single call; blocks of 128 by 128 take 2 to 6 % longer, and blocks of 128 by
/// 1024 up to 10 % (f32 and f64, AVX-512).
const MAX_BLOCK_ROWS: usize = 512;
const MIN_BLOCK_ROWS: usize = 128;
const MAX_BLOCK_COLUMNS: usize = 128;
/// Block extents are multiples of this, so that they consist of whole vectors.
const BLOCK_MULTIPLE: usize = 16;
/// With fewer blocks than this, blocks get fewer rows: so many threads should have one each.
const MIN_BLOCKS: usize = 16;
/// The least multiplications of a task, which has several blocks if these are small.
const MIN_TASK_MULTIPLICATIONS: usize = 1 << 18;
/// The result size up to which the inner dimension is split into parts.
const MAX_SPLIT_RESULTS: usize = 1 << 16;
/// With fewer rows or columns than this, the generic fold is as fast.
const MIN_EXTENT: usize = 4;
/// With fewer terms or multiplications than this, register tiles are faster: a call takes as long as some thousand
/// multiplications, and its tiles load and store all results for few terms. Three products of 7 terms, 343 results for
/// each of 50,000 elements, take 0.3 of the time.
const MIN_TERMS: usize = 16;
const MIN_MULTIPLICATIONS: usize = 1 << 15;
/// With so many terms there are no tiles, unless lanes lie side by side.
const MIN_TERMS_WITHOUT_TILES: usize = super::MIN_CHUNKED_ROW;
/// From so many rows or columns on it matters more that they are contiguous than how many there are.
const MIN_LONG_EXTENT: usize = 32;

/// The memory layout of a matrix product. Strides are in elements.
#[derive(Clone)]
pub(in crate::run) struct Plan {
    /// Rows, columns, terms.
    extents: [usize; 3],
    /// Of the first factor along rows and terms, the second along terms and columns, the result along rows and columns.
    strides: [[usize; 2]; 3],
    /// The other axes, each index of which is a product of its own.
    loops: Vec<Dim>,
}

/// The number of a product, and some of its rows and columns.
pub(in crate::run) type Block = (usize, [Range<usize>; 2]);

/// How `gemm` computes a contraction; none if the fold does so faster, or an index is out of bounds. Extents alone decide.
pub(in crate::run) fn plan(launch: &Launch, values: &[Option<Value>]) -> Option<Plan> {
    let c = launch.product.as_ref().filter(|_| launch.kernel.outputs.iter().all(|o| o.sink.is_fused()))?;
    let extents = &values[launch.over.index()].as_ref()?.shape;
    let plan = layout(c, extents, values)?;
    let [m, n, k] = plan.extents;
    let few =
        k < MIN_TERMS || (k < MIN_TERMS_WITHOUT_TILES && m.saturating_mul(n).saturating_mul(k) < MIN_MULTIPLICATIONS);
    let by_lanes = plan.is_along_memory() && m.saturating_mul(n) <= gemm::MAX_RESULTS_SUMMED_BY_LANES;
    (m.min(n) >= MIN_EXTENT && !few && !by_lanes).then_some(plan)
}

/// The result of a matrix product; none if `gemm` does not compute it.
pub(in crate::run) fn product(job: &Job<'_>, plan: &Plan, values: &[Option<Value>]) -> Result<Option<Columns>, Stop> {
    let ([o], Some(c)) = (&job.outputs[..], &job.launch.product) else { return Ok(None) };
    if !gemm::is_usable() {
        return Ok(None);
    }
    let Some((_, outer)) = job.extents.split_last() else { return Ok(None) };
    let init = o.init.as_ref().and_then(|bits| bits.first()).copied().unwrap_or(0);
    let column = |f: &Factor| values[f.array.index()].as_ref()?.columns.as_ref()?.get(f.leaf as usize);
    let (Some(a), Some(b)) = (column(&c.factors[0]), column(&c.factors[1])) else { return Ok(None) };
    let mut out = job.cx.columns(&o.types, outer.iter().product()).map_err(Stop::Error)?;
    let done = match (a.slice(), b.slice(), out.first_mut().map(AnyBuffer::as_out)) {
        (ColumnSlice::F32(a), ColumnSlice::F32(b), Some(OutSlice::F32(out))) => multiply(job, plan, init, a, b, out)?,
        (ColumnSlice::F64(a), ColumnSlice::F64(b), Some(OutSlice::F64(out))) => multiply(job, plan, init, a, b, out)?,
        _ => false,
    };
    Ok(done.then(|| finish(out)))
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut out = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        out[d - 1] = out[d] * shape[d];
    }
    out
}

/// One or several axes whose indices are contiguous with each other in the factors and the result: the number of indices,
/// and the strides of both factors and the result.
#[derive(Clone, Copy)]
struct Dim {
    extent: usize,
    strides: [usize; 3],
}

/// The memory layout of a contraction; none if an index may be out of bounds, or there are no rows or no columns.
fn layout(c: &Contraction, extents: &[usize], values: &[Option<Value>]) -> Option<Plan> {
    let inner = extents.len() - 1;
    // The stride of a factor along an axis of the index space; none if an index may be out of bounds.
    let along = |f: &Factor| {
        let shape = &values[f.array.index()].as_ref()?.shape;
        let mut strides = vec![0; extents.len()];
        for ((&axis, &extent), stride) in f.axes.iter().zip(shape).zip(row_major(shape)) {
            if *extents.get(axis)? > extent {
                return None;
            }
            strides[axis] = stride;
        }
        Some(strides)
    };
    let (a, b) = (along(&c.factors[0])?, along(&c.factors[1])?);
    let out = row_major(&extents[..inner]);
    let joined = |axes: &[usize]| {
        let mut dims: Vec<Dim> = Vec::new();
        for &axis in axes {
            let (extent, strides) = (extents[axis], [a[axis], b[axis], out[axis]]);
            match dims.last_mut() {
                Some(d) if d.strides == strides.map(|s| s * extent) => {
                    *d = Dim { extent: d.extent * extent, strides };
                }
                _ => dims.push(Dim { extent, strides }),
            }
        }
        dims
    };
    let [mut rows, mut columns, mut loops] = c.roles().map(|axes| joined(&axes));
    let best = |dims: &mut Vec<Dim>| {
        let key = |d: &Dim| (d.extent.min(MIN_LONG_EXTENT), d.strides.contains(&1), d.extent);
        let at = (0..dims.len()).max_by_key(|&at| (key(&dims[at]), at))?;
        Some(dims.remove(at))
    };
    let (row, column) = (best(&mut rows)?, best(&mut columns)?);
    loops.splice(0..0, rows.into_iter().chain(columns));
    Some(Plan {
        extents: [row.extent, column.extent, extents[inner]],
        strides: [[row.strides[0], a[inner]], [b[inner], column.strides[1]], [row.strides[2], column.strides[2]]],
        loops,
    })
}

/// The rows and columns of a block, for `times` products of `m` rows and `n` columns.
fn block_of(p: &Plan, times: usize) -> [usize; 2] {
    let [m, n, _] = p.extents;
    // A call packs its columns of the second factor slowly where they are not next to each other: few calls do that then.
    let least = if p.strides[1][1] == 1 { MIN_BLOCK_ROWS } else { MAX_BLOCK_ROWS };
    // Blocks of equal size, in whole vectors.
    let even = |n: usize, most: usize| n.div_ceil(n.div_ceil(most)).next_multiple_of(BLOCK_MULTIPLE);
    let columns = even(n, MAX_BLOCK_COLUMNS);
    let mut rows = MAX_BLOCK_ROWS;
    while rows > least && times * m.div_ceil(rows) * n.div_ceil(columns) < MIN_BLOCKS {
        rows /= 2;
    }
    [even(m, rows), columns]
}

/// Ranges of so many indices; the last one is not of fewer than `least`.
fn cuts(n: usize, size: usize, least: usize) -> Vec<Range<usize>> {
    let mut cuts: Vec<_> = (0..n).step_by(size).map(|from| from..n.min(from + size)).collect();
    if let [.., before, last] = &mut cuts[..]
        && last.len() < least
    {
        before.end = n;
        cuts.pop();
    }
    cuts
}

/// The blocks of a result of `m` rows and `n` columns, rows by columns: none has one row or column, nor so few results that `gemm`
/// sums across lanes, if all have more together.
fn blocks_of(m: usize, n: usize, [rows, columns]: [usize; 2]) -> Vec<[Range<usize>; 2]> {
    let more = gemm::MAX_RESULTS_SUMMED_BY_LANES + 1;
    let least_rows = more.div_ceil(n.min(BLOCK_MULTIPLE));
    let columns = cuts(n, columns, more.div_ceil(m.min(more.div_ceil(BLOCK_MULTIPLE))));
    let rows = cuts(m, rows, least_rows);
    rows.iter().flat_map(|r| columns.iter().map(|c| [r.clone(), c.clone()])).collect()
}

/// Sets `out` to the product. False if an element would be outside of its memory, which is a defect of the plan.
fn multiply<T: Number>(job: &Job<'_>, p: &Plan, init: u64, a: &[T], b: &[T], out: &mut [T]) -> Result<bool, Stop> {
    let parallel = p.is_parallel(job);
    if p.is_in_parts() {
        return by_parts(job, p, T::from_bits64(init), parallel, a, b, out);
    }
    let ([rows, columns], blocks) = (block_of(p, p.times()), p.blocks()?);
    let target = Target::new(out, T::from_bits64(init));
    let inside = AtomicBool::new(true);
    job.cx.tasks(
        parallel,
        collected(blocks.chunks(MIN_TASK_MULTIPLICATIONS.div_ceil(rows * columns * p.extents[2])))?,
        || (),
        |(), blocks| {
            job.cx.limits.check().map_err(Stop::Error)?;
            for block in blocks {
                // SAFETY: blocks do not overlap.
                let ok = unsafe { p.block(&target, a, b, block) };
                inside.fetch_and(ok, Ordering::Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(inside.into_inner())
}

impl Plan {
    /// Whether the terms are summed in parts, which are added pairwise.
    pub(in crate::run) fn is_in_parts(&self) -> bool {
        let ([m, n, k], times) = (self.extents, self.times());
        m * n <= MAX_SPLIT_RESULTS && times == 1 && TermBlocks::parts().end(0, k) < k
    }

    /// The blocks of all products: the number of the product, rows and columns.
    pub(in crate::run) fn blocks(&self) -> Result<Vec<Block>, Stop> {
        let ([m, n, _], times) = (self.extents, self.times());
        let of_result = blocks_of(m, n, block_of(self, times));
        collected((0..times).flat_map(|iteration| of_result.iter().map(move |block| (iteration, block.clone()))))
    }

    /// Computes a block of one product; false if an element would be outside of its memory.
    ///
    /// # Safety
    ///
    /// No other thread computes a block that overlaps with it.
    pub(in crate::run) unsafe fn block<T: Number>(
        &self,
        target: &Target<'_, T>,
        a: &[T],
        b: &[T],
        (iteration, [rows, columns]): &Block,
    ) -> bool {
        let ([sa, sb, sc], [a0, b0, c0]) = (self.strides, self.at(*iteration));
        let (i, j) = (rows.start, columns.start);
        let at = [a0 + i * sa[0], b0 + j * sb[1], c0 + i * sc[0] + j * sc[1]];
        // SAFETY: a block's elements are those of the result at one index of the batch, in these rows and columns. The strides of the
        // result are those of a row-major array, so that different indices are different elements.
        unsafe { target.block(a, b, at, [rows.len(), columns.len(), self.extents[2]], &self.strides) }
    }

    /// Whether threads share the work of a launch.
    pub(in crate::run) fn is_parallel(&self, job: &Job<'_>) -> bool {
        let [m, n, k] = self.extents;
        job.cx.parallel(self.times() * m * n, k)
    }

    /// The number of products.
    fn times(&self) -> usize {
        self.loops.iter().map(|d| d.extent).product()
    }

    /// Whether the terms of both factors are contiguous.
    fn is_along_memory(&self) -> bool {
        self.strides[0][1] == 1 && self.strides[1][0] == 1
    }

    /// Whether register tiles of machine code take no more time than `gemm`: with few terms, where the columns of the second factor
    /// and of the result are contiguous. 8192 products of 72 by 26 by 72 take 0.7 of the time. Both add in the same order.
    fn is_for_tiles(&self) -> bool {
        self.extents[2] < MIN_TERMS_WITHOUT_TILES && self.strides[1][1] == 1 && self.strides[2][1] == 1
    }

    /// Whether `gemm` computes a launch: unless its loops are those of a schedule, or there is machine code in register tiles
    /// that is for this product.
    pub(in crate::run) fn is_called(&self, job: &Job<'_>) -> bool {
        let kernel = &job.launch.kernel;
        let in_tiles = || self.is_for_tiles() && kernel.is_scheduled() && job.call_in_tiles(false).is_some();
        !kernel.has_schedule && !in_tiles()
    }

    /// Where factors and result begin at one index of the batch.
    fn at(&self, iteration: usize) -> [usize; 3] {
        let (mut left, mut at) = (iteration, [0; 3]);
        for Dim { extent, strides } in self.loops.iter().rev() {
            (0..3).for_each(|f| at[f] += left % extent * strides[f]);
            left /= extent;
        }
        at
    }
}

/// Like [`multiply`], with the inner dimension split into parts.
fn by_parts<T: Number>(
    job: &Job<'_>,
    p: &Plan,
    init: T,
    parallel: bool,
    a: &[T],
    b: &[T],
    out: &mut [T],
) -> Result<bool, Stop> {
    let [m, n, k] = p.extents;
    let ranges: Vec<Range<usize>> = collected(TermBlocks::parts().blocks(0..k))?;
    let parts = ranges.len();
    let _charge = job.cx.meter.charge((parts * m * n * size_of::<T>()) as u64).map_err(Stop::Error)?;
    let size = (m * n).max(1);
    let mut sums = filled(T::NEUTRAL, parts * size)?;
    let tasks = collected(sums.chunks_mut(size).zip(&ranges))?;
    let inside = AtomicBool::new(true);
    job.cx.tasks(
        parallel,
        tasks,
        || (),
        |(), (sum, terms)| {
            job.cx.limits.check().map_err(Stop::Error)?;
            let at = [terms.start * p.strides[0][1], terms.start * p.strides[1][0], 0];
            let strides = [p.strides[0], p.strides[1], [n, 1]];
            // SAFETY: the sum belongs to this task only.
            let ok = unsafe { Target::new(sum, T::NEUTRAL).block(a, b, at, [m, n, terms.len()], &strides) };
            inside.fetch_and(ok, Ordering::Relaxed);
            Ok(())
        },
    )?;
    // Pairwise sum of neighbours; the tree depends on the number of parts only.
    let mut step = 1;
    while step < parts {
        for left in (0..parts - step).step_by(2 * step) {
            let (first, second) = sums.split_at_mut((left + step) * size);
            first[left * size..].iter_mut().zip(&second[..size]).for_each(|(x, y)| *x = *x + *y);
        }
        step *= 2;
    }
    let [row, column] = p.strides[2];
    for (at, sum) in sums[..m * n].iter().enumerate() {
        out[at / n * row + at % n * column] = init + *sum;
    }
    Ok(inside.into_inner())
}

#[cfg(test)]
mod tests {
    use super::{blocks_of, gemm};

    #[test]
    fn blocks_cover_a_result_and_none_is_small() {
        for m in (4..40).chain([127, 128, 129, 513, 1025, 1026, 1030]) {
            for n in (4..40).chain([127, 128, 129, 257, 1025, 1027, 1050]) {
                for size in [[128, 80], [512, 128], [352, 128]] {
                    let blocks = blocks_of(m, n, size);
                    let points = |b: &[std::ops::Range<usize>; 2]| b[0].len() * b[1].len();
                    assert_eq!(blocks.iter().map(points).sum::<usize>(), m * n);
                    let most = gemm::MAX_RESULTS_SUMMED_BY_LANES;
                    assert!(m * n <= most || blocks.iter().all(|b| points(b) > most), "{m} {n} {blocks:?}");
                    assert!(blocks.iter().flatten().all(|r| r.len() > 1));
                }
            }
        }
    }
}
