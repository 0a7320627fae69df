//! A scan of `ln(exp(a) + exp(b))`: the loss is the sum of all its results.

use super::{What, both, label, vector};
use crate::data::floats;
use crate::functions::{exp, ln};
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, each};
use crate::row::{Row, hand, program};
use crate::vectors::columns;
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    both(|what| scan(what, 4_000_000))
}

fn loss(x: &Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    x.scanl1(|a, b| a.max(b) + (1.0 + (-(a - b).abs()).exp()).ln()).sum()
}

fn scan(what: What, n: usize) -> Row {
    let x = floats(54, n, -1.0, 1.0);
    let arrays = (&vector(&x),).into_data();
    let (program, args) = match what {
        What::Loss => program(|x: Acc<Vector<f32>>| loss(&x), arrays),
        What::WithGradient => program(|x: Acc<Vector<f32>>| value_and_grad(&x, |x| loss(&x)), arrays),
    };
    let mut by_hand = ByHand::new(x);
    let hand = match what {
        What::Loss => hand(0f32, move |out| *out = by_hand.loss()),
        What::WithGradient => hand((0f32, vec![0f32; n]), move |(out, gradient)| {
            *out = by_hand.loss();
            by_hand.gradient(gradient);
        }),
    };
    Row {
        name: match what {
            What::Loss => "gradient: log-sum-exp scan (loss)",
            What::WithGradient => "gradient: log-sum-exp scan (with gradient)",
        },
        size: label(n),
        read: 4.0 * n as f64,
        written: if what == What::Loss { 0.0 } else { 4.0 * n as f64 },
        flops: if what == What::Loss { 70.0 * n as f64 } else { 130.0 * n as f64 },
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

/// Runs of elements that are gone through side by side, one in each lane of several vectors.
const RUNS: usize = 64;
const LENGTH: usize = 250;
/// The number of elements is a multiple of it.
const TILE: usize = RUNS * LENGTH;

/// Vectors that are computed side by side.
const SIDE: usize = 4;

/// Less than anything, with no share in a sum of exponentials.
const NOTHING: f32 = -1e30;

/// The kernels by hand: the runs of each tile first, then from tile to tile, and once more all runs, with what comes before
/// them, or after. The numbers of a tile are transposed, so that the `k`-th ones of all runs are side by side.
///
/// With `y` the results, the adjoint of one is `a = 1 + exp(y - next y) * next a`, and that of a number
/// `exp(x - y) * a`. No exponent is positive.
struct ByHand {
    x: Vec<f32>,
    y: Vec<f32>,
    /// What comes before each run within its tile, and before each tile.
    before: [Vec<f32>; 2],
    /// The adjoint of each run's first result is the first of these, and the second one times what comes after; the same of
    /// the tiles.
    after: [Vec<[f32; 2]>; 2],
    losses: Vec<f64>,
}

fn log_add(a: f32, b: f32) -> f32 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

impl ByHand {
    fn new(x: Vec<f32>) -> ByHand {
        assert!(x.len().is_multiple_of(TILE));
        let (y, runs, tiles) = (vec![0.0; x.len()], x.len() / LENGTH, x.len() / TILE);
        let after = [vec![[0.0; 2]; runs], vec![[0.0; 2]; tiles]];
        ByHand { x, y, before: [vec![0.0; runs], vec![0.0; tiles]], after, losses: vec![0.0; tiles] }
    }

    fn loss(&mut self) -> f32 {
        let ByHand { x, y, before: [runs, tiles], losses, .. } = self;
        let count = tiles.len();
        let (of_runs, of_tiles) = (Shared::new(runs), Shared::new(tiles));
        each(count, |t| {
            // SAFETY: each tile is one thread's.
            let (before, total) = unsafe { (of_runs.part(RUNS * t..RUNS * (t + 1)), of_tiles.part(t..t + 1)) };
            totals(before, &x[TILE * t..][..TILE]);
            let mut sum = NOTHING;
            for run in before {
                (*run, sum) = (sum, log_add(sum, *run));
            }
            total[0] = sum;
        });
        let mut sum = NOTHING;
        for tile in tiles.iter_mut() {
            (*tile, sum) = (sum, log_add(sum, *tile));
        }
        let (y, losses_of) = (Shared::new(y), Shared::new(losses));
        each(count, |t| {
            // SAFETY: each tile is one thread's.
            let (y, loss) = unsafe { (y.part(TILE * t..TILE * (t + 1)), losses_of.part(t..t + 1)) };
            results(y, &mut loss[0], &x[TILE * t..][..TILE], &runs[RUNS * t..][..RUNS], tiles[t]);
        });
        losses.iter().sum::<f64>() as f32
    }

    /// After the loss.
    fn gradient(&mut self, out: &mut [f32]) {
        let ByHand { x, y, after: [runs, tiles], .. } = self;
        let count = tiles.len();
        let (of_runs, of_tiles) = (Shared::new(runs), Shared::new(tiles));
        each(count, |t| {
            // SAFETY: each tile is one thread's.
            let (after, total) = unsafe { (of_runs.part(RUNS * t..RUNS * (t + 1)), of_tiles.part(t..t + 1)) };
            let next = y.get(TILE * (t + 1)).copied();
            own_adjoints(after, &y[TILE * t..][..TILE], next.unwrap_or(f32::MAX));
            let composed = |[own, factor]: [f32; 2], run: &[f32; 2]| [run[0] + run[1] * own, run[1] * factor];
            total[0] = after.iter().rev().fold([0.0, 1.0], composed);
        });
        let mut carry = 0.0;
        for tile in tiles.iter_mut().rev() {
            let [own, factor] = *tile;
            tile[0] = carry;
            carry = own + factor * carry;
        }
        let out = Shared::new(out);
        each(count, |t| {
            // SAFETY: each tile is one thread's.
            let (out, runs) = unsafe { (out.part(TILE * t..TILE * (t + 1)), of_runs.part(RUNS * t..RUNS * (t + 1))) };
            let (mut carry, mut carries) = (tiles[t][0], [0f32; RUNS]);
            for (run, at) in runs.iter().zip(&mut carries).rev() {
                (*at, carry) = (carry, run[0] + run[1] * carry);
            }
            let next = y.get(TILE * (t + 1)).copied();
            adjoints(out, [&x[TILE * t..][..TILE], &y[TILE * t..][..TILE]], &carries, next.unwrap_or(f32::MAX));
        });
    }
}

on_widest! {
    /// The logarithm of the sum of exponentials of each run.
    fn totals(out: &mut [f32], x: &[f32]) = totals_in;
}
on_widest! {
    /// The results of a tile, transposed, and their sum.
    fn results(y: &mut [f32], loss: &mut f64, x: &[f32], runs: &[f32], before: f32) = results_in;
}
on_widest! {
    /// Of each run the adjoint of its first result if nothing came after, and the factor of what does.
    fn own_adjoints(out: &mut [[f32; 2]], y: &[f32], next: f32) = own_adjoints_in;
}
on_widest! {
    /// The adjoints of a tile's numbers, by the adjoint of what comes after each run.
    fn adjoints(out: &mut [f32], of: [&[f32]; 2], carries: &[f32], next: f32) = adjoints_in;
}

/// The logarithm of the sum of two exponentials.
#[inline(always)]
unsafe fn log_add_in<V: Lanes>(a: V, b: V) -> V {
    // SAFETY: by the contract.
    unsafe { a.max(b) + ln(exp(V::all(0.0) - (a - b).abs()) + V::all(1.0)) }
}

#[inline(always)]
unsafe fn totals_in<V: Lanes>(out: &mut [f32], x: &[f32]) {
    let mut tile = [0f32; TILE];
    // SAFETY: by the contract; rows of the tile have whole vectors side by side.
    unsafe {
        columns(&mut tile, RUNS, x, LENGTH);
        for at in (0..RUNS).step_by(V::LANES) {
            let mut most = V::all(NOTHING);
            for k in 0..LENGTH {
                most = most.max(V::load(tile.as_ptr().add(k * RUNS + at)));
            }
            let mut sum = V::all(0.0);
            for k in 0..LENGTH {
                sum = sum + exp(V::load(tile.as_ptr().add(k * RUNS + at)) - most);
            }
            (ln(sum) + most).store(out.as_mut_ptr().add(at));
        }
    }
}

#[inline(always)]
unsafe fn results_in<V: Lanes>(y: &mut [f32], loss: &mut f64, x: &[f32], runs: &[f32], before: f32) {
    let (mut tile, mut sums) = ([0f32; TILE], [0f32; RUNS]);
    // SAFETY: by the contract; rows of the tile have whole vectors side by side.
    unsafe {
        columns(&mut tile, RUNS, x, LENGTH);
        for at in (0..RUNS).step_by(SIDE * V::LANES) {
            let (mut last, mut sum) = ([V::all(0.0); SIDE], [V::all(0.0); SIDE]);
            for s in 0..SIDE {
                last[s] = log_add_in(V::load(runs.as_ptr().add(at + s * V::LANES)), V::all(before));
            }
            for k in 0..LENGTH {
                for s in 0..SIDE {
                    let here = tile.as_mut_ptr().add(k * RUNS + at + s * V::LANES);
                    last[s] = log_add_in(last[s], V::load(here));
                    sum[s] = sum[s] + last[s];
                    last[s].store(here);
                }
            }
            for s in 0..SIDE {
                sum[s].store(sums.as_mut_ptr().add(at + s * V::LANES));
            }
        }
        columns(y, LENGTH, &tile, RUNS);
    }
    *loss = sums.iter().map(|s| f64::from(*s)).sum();
}

/// The first results of the runs after each run.
fn firsts(y: &[f32], next: f32) -> [f32; RUNS] {
    let mut firsts = [next; RUNS];
    for run in 1..RUNS {
        firsts[run - 1] = y[run * LENGTH];
    }
    firsts
}

#[inline(always)]
unsafe fn own_adjoints_in<V: Lanes>(out: &mut [[f32; 2]], y: &[f32], next: f32) {
    let mut tile = [0f32; TILE];
    let (mut own, mut factor, nexts) = ([0f32; RUNS], [0f32; RUNS], firsts(y, next));
    // SAFETY: by the contract; rows of the tile have whole vectors.
    unsafe {
        columns(&mut tile, RUNS, y, LENGTH);
        for at in (0..RUNS).step_by(V::LANES) {
            let first = V::load(tile.as_ptr().add(at));
            let mut sum = V::all(0.0);
            for k in 0..LENGTH {
                sum = sum + exp(first - V::load(tile.as_ptr().add(k * RUNS + at)));
            }
            sum.store(own.as_mut_ptr().add(at));
            exp(first - V::load(nexts.as_ptr().add(at))).store(factor.as_mut_ptr().add(at));
        }
    }
    for run in 0..RUNS {
        out[run] = [own[run], factor[run]];
    }
}

#[inline(always)]
unsafe fn adjoints_in<V: Lanes>(out: &mut [f32], [x, y]: [&[f32]; 2], carries: &[f32], next: f32) {
    let (mut tile, mut results, nexts) = ([0f32; TILE], [0f32; TILE], firsts(y, next));
    // SAFETY: by the contract; rows of the tile have whole vectors side by side.
    unsafe {
        columns(&mut tile, RUNS, x, LENGTH);
        columns(&mut results, RUNS, y, LENGTH);
        for at in (0..RUNS).step_by(SIDE * V::LANES) {
            let (mut a, mut after) = ([V::all(0.0); SIDE], [V::all(0.0); SIDE]);
            for s in 0..SIDE {
                a[s] = V::load(carries.as_ptr().add(at + s * V::LANES));
                after[s] = V::load(nexts.as_ptr().add(at + s * V::LANES));
            }
            for k in (0..LENGTH).rev() {
                for s in 0..SIDE {
                    let place = k * RUNS + at + s * V::LANES;
                    let y = V::load(results.as_ptr().add(place));
                    a[s] = exp(y - after[s]).mul_add(a[s], V::all(1.0));
                    after[s] = y;
                    let x = tile.as_mut_ptr().add(place);
                    (exp(V::load(x) - y) * a[s]).store(x);
                }
            }
        }
        columns(out, LENGTH, &tile, RUNS);
    }
}
