//! Matrix products: contractions of sufficient extents, computed by the `gemm` crate.
//!
//! The result is split into blocks, one call on one thread each; a long inner dimension over a small result is split
//! into parts whose products are added pairwise. How it is split depends on the extents only, so that results are the
//! same for any number of threads. Multiplication and addition may be fused (one rounding for both).

use crate::buffer::{AnyBuffer, OutSlice, PoolElt};
use crate::prepare::Launch;
use crate::run::Value;
use crate::run::launch::lists::{collected, filled};
use crate::run::launch::{Columns, Job, finish};
use crate::tile::machine::Stop;
use acc_core::data::{ColumnElt, ColumnSlice};
use acc_desugar::analysis::contraction::{Contraction, Factor};
use std::marker::PhantomData;
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
/// Terms of a part of the inner dimension; the other constant is the result size up to which it is split.
const TERMS_PER_PART: usize = 4096;
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
pub(in crate::run) struct Plan {
    /// Rows, columns, terms.
    extents: [usize; 3],
    /// Of the first factor along rows and terms, the second along terms and columns, the result along rows and columns.
    strides: [[usize; 2]; 3],
    /// The other axes, each index of which is a product of its own.
    loops: Vec<Dim>,
}

/// How `gemm` computes a contraction; none if the fold does so faster, or an index is out of bounds.
pub(in crate::run) fn plan(launch: &Launch, values: &[Option<Value>]) -> Option<Plan> {
    let c = launch.product.as_ref()?;
    let extents = &values[launch.over.index()].as_ref()?.shape;
    let plan = layout(c, extents, values)?;
    let [m, n, k] = plan.extents;
    let few =
        k < MIN_TERMS || (k < MIN_TERMS_WITHOUT_TILES && m.saturating_mul(n).saturating_mul(k) < MIN_MULTIPLICATIONS);
    (m.min(n) >= MIN_EXTENT && !few).then_some(plan)
}

/// The result of a matrix product.
pub(in crate::run) fn product(job: &Job<'_>, plan: &Plan, values: &[Option<Value>]) -> Result<Option<Columns>, Stop> {
    let ([o], Some(c)) = (&job.outputs[..], &job.launch.product) else { return Ok(None) };
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

/// A scalar type that `gemm` multiplies.
trait Number: ColumnElt + PoolElt + std::ops::Add<Output = Self> {
    const ONE: Self;
    const ZERO: Self;
}
impl Number for f32 {
    const ONE: f32 = 1.0;
    const ZERO: f32 = 0.0;
}
impl Number for f64 {
    const ONE: f64 = 1.0;
    const ZERO: f64 = 0.0;
}

/// The memory of a matrix whose blocks are computed by separate tasks.
struct Target<'a, T> {
    start: *mut T,
    len: usize,
    init: T,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: tasks write through it to elements that no other task accesses (the contract of `block`), as if each had a
// unique borrow of them; `T: Send` lets values go to other threads.
unsafe impl<T: Send> Sync for Target<'_, T> {}

impl<'a, T: Number> Target<'a, T> {
    fn new(memory: &'a mut [T], init: T) -> Target<'a, T> {
        Target { start: memory.as_mut_ptr(), len: memory.len(), init, of: PhantomData }
    }

    /// Adds a product of `extents` rows, columns and terms to the initial value, and stores it from element `at[2]` on;
    /// the factors start at `at[0]` and `at[1]`. False if any element would be outside of its memory.
    ///
    /// # Safety
    ///
    /// No other thread uses the elements `at[2] + i * strides[2][0] + j * strides[2][1]` during the call, and they are
    /// distinct.
    unsafe fn block(&self, a: &[T], b: &[T], at: [usize; 3], extents: [usize; 3], strides: &[[usize; 2]; 3]) -> bool {
        let [m, n, k] = extents;
        if m == 0 || n == 0 || k == 0 {
            return false;
        }
        let last = |at: usize, counts: [usize; 2], s: [usize; 2]| at + (counts[0] - 1) * s[0] + (counts[1] - 1) * s[1];
        let inside = last(at[0], [m, k], strides[0]) < a.len()
            && last(at[1], [k, n], strides[1]) < b.len()
            && last(at[2], [m, n], strides[2]) < self.len;
        if !inside {
            return false;
        }
        let s = strides.map(|s| s.map(|s| s as isize));
        // SAFETY: all elements read and written are inside `a`, `b` and the target (checked above for the last one of
        // each, which is the farthest from the first, since strides are positive). Nobody else uses those written (the
        // contract). The types are those that `gemm` supports.
        unsafe {
            let start = self.start.add(at[2]);
            for i in 0..m {
                for j in 0..n {
                    start.add(i * strides[2][0] + j * strides[2][1]).write(self.init);
                }
            }
            gemm::gemm(
                m,
                n,
                k,
                start,
                s[2][1],
                s[2][0],
                true,
                a.as_ptr().add(at[0]),
                s[0][1],
                s[0][0],
                b.as_ptr().add(at[1]),
                s[1][1],
                s[1][0],
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
        true
    }
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

/// Sets `out` to the product. False if an element would be outside of its memory, which is a defect of the plan.
fn multiply<T: Number>(job: &Job<'_>, p: &Plan, init: u64, a: &[T], b: &[T], out: &mut [T]) -> Result<bool, Stop> {
    let [m, n, k] = p.extents;
    let times: usize = p.loops.iter().map(|d| d.extent).product();
    let parallel = job.cx.parallel(times * m * n, k);
    let parts = if m * n <= MAX_SPLIT_RESULTS && times == 1 { k.div_ceil(TERMS_PER_PART) } else { 1 };
    if parts > 1 {
        return by_parts(job, p, T::from_bits64(init), (parts, parallel), a, b, out);
    }
    let [rows, columns] = block_of(p, times);
    let blocks = (0..times).flat_map(|iteration| {
        let at = p.at(iteration);
        let row = move |i: usize| (0..n).step_by(columns).map(move |j| [at[0], at[1], at[2], i, j]);
        (0..m).step_by(rows).flat_map(row)
    });
    let blocks: Vec<[usize; 5]> = collected(blocks)?;
    let target = Target::new(out, T::from_bits64(init));
    let inside = AtomicBool::new(true);
    job.cx.tasks(
        parallel,
        collected(blocks.chunks(MIN_TASK_MULTIPLICATIONS.div_ceil(rows * columns * k)))?,
        || (),
        |(), blocks| {
            job.cx.limits.check().map_err(Stop::Error)?;
            let [sa, sb, sc] = p.strides;
            for &[a0, b0, c0, i, j] in blocks {
                let at = [a0 + i * sa[0], b0 + j * sb[1], c0 + i * sc[0] + j * sc[1]];
                // SAFETY: a block's elements are those of the result at one index of the batch, rows from `i` on and
                // columns from `j` on. Blocks do not overlap, and the strides of the result are those of a row-major
                // array, so that different indices are different elements.
                let ok = unsafe { target.block(a, b, at, [rows.min(m - i), columns.min(n - j), k], &p.strides) };
                inside.fetch_and(ok, Ordering::Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(inside.into_inner())
}

impl Plan {
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
    (parts, parallel): (usize, bool),
    a: &[T],
    b: &[T],
    out: &mut [T],
) -> Result<bool, Stop> {
    let [m, n, k] = p.extents;
    let _charge = job.cx.meter.charge((parts * m * n * size_of::<T>()) as u64).map_err(Stop::Error)?;
    let size = (m * n).max(1);
    let mut sums = filled(T::ZERO, parts * size)?;
    let tasks = collected(sums.chunks_mut(size).enumerate())?;
    let inside = AtomicBool::new(true);
    job.cx.tasks(
        parallel,
        tasks,
        || (),
        |(), (part, sum)| {
            job.cx.limits.check().map_err(Stop::Error)?;
            let from = part * TERMS_PER_PART;
            let at = [from * p.strides[0][1], from * p.strides[1][0], 0];
            let strides = [p.strides[0], p.strides[1], [n, 1]];
            // SAFETY: the sum belongs to this task only.
            let ok =
                unsafe { Target::new(sum, T::ZERO).block(a, b, at, [m, n, TERMS_PER_PART.min(k - from)], &strides) };
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
