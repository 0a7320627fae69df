//! Heat along a rod, step by step: the loss is the sum of the squares of the last state, the gradient by the first one.

use super::{What, both, label, vector};
use crate::data::floats;
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::{across, all, store};
use acc_core::prelude::*;
use std::arch::x86_64::*;

const STEPS: i32 = 100;
/// How much of the curvature a step adds.
const RATE: f32 = 0.2;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    both(|what| heat(what, 100_000))
}

fn loss(start: &Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    let (_, end) = awhile(
        (unit(0i32), start),
        |(step, _)| step.the().lt(STEPS),
        |(step, state)| {
            let next = state.stencil(Edge::Clamp, |Window1([left, here, right]): Stencil3<f32>| {
                here + RATE * (left - 2.0 * here + right)
            });
            (step.map(|step| step + 1), next)
        },
    );
    end.map(|x| x * x).sum()
}

fn heat(what: What, n: usize) -> Row {
    let start = floats(53, n, 0.0, 1.0);
    let arrays = (&vector(&start),).into_data();
    let (program, args) = match what {
        What::Loss => program(|start: Acc<Vector<f32>>| loss(&start), arrays),
        What::WithGradient => program(|start: Acc<Vector<f32>>| value_and_grad(&start, |start| loss(&start)), arrays),
    };
    let mut by_hand = ByHand::new(start);
    let hand = match what {
        What::Loss => hand(0f32, move |out| *out = by_hand.loss()),
        What::WithGradient => hand((0f32, vec![0f32; n]), move |(out, gradient)| {
            *out = by_hand.loss();
            by_hand.gradient(gradient);
        }),
    };
    let cells = f64::from(STEPS) * n as f64;
    Row {
        name: match what {
            What::Loss => "gradient: heat (loss)",
            What::WithGradient => "gradient: heat (with gradient)",
        },
        size: format!("{}, {STEPS} steps", label(n)),
        read: 4.0 * n as f64,
        written: if what == What::Loss { 0.0 } else { 4.0 * n as f64 },
        flops: if what == What::Loss { 5.0 * cells } else { 10.0 * cells },
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// Cells beside its own that a thread computes, too: at least as many as there are steps, and whole vectors. What is wrong at
/// the ends of these does not come as far as its own.
const BESIDE: usize = 104;

/// The kernels by hand: threads wait for each other once in all steps. A step is a symmetric matrix, at the ends, too: it
/// takes adjoints back as it takes states on, and needs no state for it.
struct ByHand {
    start: Vec<f32>,
    end: Vec<f32>,
    /// Of each thread the states before and after a step.
    own: Vec<[Vec<f32>; 2]>,
    sums: Vec<f32>,
}

impl ByHand {
    fn new(start: Vec<f32>) -> ByHand {
        let n = start.len();
        let own = (0..threads()).map(|_| [vec![0.0; n], vec![0.0; n]]).collect();
        ByHand { start, end: vec![0.0; n], own, sums: vec![0.0; threads()] }
    }

    fn loss(&mut self) -> f32 {
        steps(&mut self.end, &self.start, &mut self.own, &mut self.sums);
        self.sums.iter().sum()
    }

    /// After the loss, of which half the gradient by the last state is that state.
    fn gradient(&mut self, out: &mut [f32]) {
        steps(out, &self.end, &mut self.own, &mut self.sums);
        out.iter_mut().for_each(|x| *x *= 2.0);
    }
}

/// All steps on all threads, and each thread's sum of squares of what comes of them; the number of cells is a multiple of
/// eight.
fn steps(out: &mut [f32], from: &[f32], own: &mut [[Vec<f32>; 2]], sums: &mut [f32]) {
    let (n, out, own, sums) = (from.len(), Shared::new(out), Shared::new(own), Shared::new(sums));
    run(&|t| {
        let r = part(n, 8, t);
        let around = r.start.saturating_sub(BESIDE)..n.min(r.end + BESIDE);
        // SAFETY: each thread has its own; the caller has seen the features.
        unsafe {
            let [a, b] = &mut own.part(t..t + 1)[0];
            let (mut a, mut b) = (&mut a[..around.len()], &mut b[..around.len()]);
            step(b, &from[around.clone()]);
            for _ in 1..STEPS {
                std::mem::swap(&mut a, &mut b);
                step(b, a);
            }
            let found = &b[r.start - around.start..][..r.len()];
            out.part(r).copy_from_slice(found);
            sums.part(t..t + 1)[0] = squares(found);
        }
    });
}

#[target_feature(enable = "avx2,fma")]
fn squares(x: &[f32]) -> f32 {
    let mut sums = [all(0.0); 4];
    for x in x.as_chunks::<8>().0.chunks(4) {
        for (sum, x) in sums.iter_mut().zip(x) {
            // SAFETY: there are eight.
            let x = unsafe { _mm256_loadu_ps(x.as_ptr()) };
            *sum = _mm256_fmadd_ps(x, x, *sum);
        }
    }
    sums.into_iter().map(|s| across(s)).sum()
}

/// A step of as many cells as there are in eights.
#[target_feature(enable = "avx2,fma")]
fn step(out: &mut [f32], from: &[f32]) {
    let n = out.len().min(from.len());
    let (left, right) = (_mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
    for i in (0..n).step_by(8) {
        // SAFETY: there are eight cells from here on, one before them unless they are the first, and one after them
        // unless they are the last.
        unsafe {
            let cells = from.as_ptr().add(i);
            let here = _mm256_loadu_ps(cells);
            let before = if i == 0 { _mm256_permutevar8x32_ps(here, left) } else { _mm256_loadu_ps(cells.sub(1)) };
            let after = if i + 8 == n { _mm256_permutevar8x32_ps(here, right) } else { _mm256_loadu_ps(cells.add(1)) };
            let sum = _mm256_fmadd_ps(all(-2.0), here, _mm256_add_ps(before, after));
            store::<false>(out.as_mut_ptr().add(i), _mm256_fmadd_ps(all(RATE), sum, here));
        }
    }
}
