//! Heat along a rod, step by step: the loss is the sum of the squares of the last state, the gradient by the first one.

use super::{What, both, label, vector};
use crate::data::floats;
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use crate::vectors::{all, store};
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
        What::WithGradient => {
            program(|start: Acc<Vector<f32>>| value_and_grad(&start, |start| loss(&start)), arrays)
        }
    };
    let mut by_hand = ByHand { start, states: [vec![0f32; n], vec![0f32; n]] };
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

/// The kernels by hand. A step is a symmetric matrix, at the ends, too: it takes adjoints back as it takes states on, and
/// needs no state for it.
struct ByHand {
    start: Vec<f32>,
    states: [Vec<f32>; 2],
}

impl ByHand {
    fn loss(&mut self) -> f32 {
        let [a, b] = &mut self.states;
        step(b, &self.start);
        for _ in 1..STEPS {
            std::mem::swap(a, b);
            step(b, a);
        }
        b.iter().map(|x| x * x).sum()
    }

    /// After the loss.
    fn gradient(&mut self, out: &mut [f32]) {
        let [a, b] = &mut self.states;
        b.iter_mut().for_each(|x| *x *= 2.0);
        for _ in 1..STEPS {
            std::mem::swap(a, b);
            step(b, a);
        }
        step(out, b);
    }
}

/// A step on all threads; the number of cells is a multiple of eight.
fn step(out: &mut [f32], from: &[f32]) {
    let out = Shared::new(out);
    split(from.len(), 8, |r| {
        // SAFETY: the parts are disjoint; the caller has seen the features.
        unsafe { cells(out.part(r.clone()), from, r.start) };
    });
}

#[target_feature(enable = "avx2,fma")]
fn cells(out: &mut [f32], from: &[f32], start: usize) {
    let n = from.len();
    let (left, right) = (_mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
    for at in (0..out.len()).step_by(8) {
        let i = start + at;
        // SAFETY: there are eight cells from here on, one before them unless they are the first, and one after them
        // unless they are the last.
        unsafe {
            let cells = from.as_ptr().add(i);
            let here = _mm256_loadu_ps(cells);
            let before = if i == 0 { _mm256_permutevar8x32_ps(here, left) } else { _mm256_loadu_ps(cells.sub(1)) };
            let after = if i + 8 == n { _mm256_permutevar8x32_ps(here, right) } else { _mm256_loadu_ps(cells.add(1)) };
            let sum = _mm256_fmadd_ps(all(-2.0), here, _mm256_add_ps(before, after));
            store::<false>(out.as_mut_ptr().add(at), _mm256_fmadd_ps(all(RATE), sum, here));
        }
    }
}
