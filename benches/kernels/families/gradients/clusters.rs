//! The loss of k-means: the sum over points of the squared distance to the nearest centre, by the centres.

use super::{What, both, rows_of};
use crate::data::{Numbers, floats};
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::columns;
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [(35, 5, 494_019), (256, 1024, 10_000)]
        .into_iter()
        .flat_map(|(dimensions, centres, points)| both(move |what| clusters(what, dimensions, centres, points)))
        .collect()
}

fn loss(points: &Acc<Matrix<f32>>, centres: &Acc<Matrix<f32>>) -> Acc<Scalar<f32>> {
    let (n, k) = (points.shape().0, centres.shape().0);
    let (points, centres) = (points.replicate((All, k, All)), centres.replicate((n, All, All)));
    let distances = points.zip_with(&centres, |x, c| (x - c) * (x - c)).sum();
    distances.minimum().sum()
}

/// Points near centres, and centres that are not in the middle of them.
fn data(d: usize, k: usize, n: usize) -> (Vec<f32>, Vec<f32>) {
    let middles = floats(44, k * d, 0.0, 1.0);
    let mut numbers = Numbers::new(45);
    let points = (0..n * d).map(|at| middles[at / d % k * d + at % d] + (numbers.unit() * 0.6 - 0.3) as f32);
    let points = points.collect();
    (points, middles.iter().map(|x| x + (numbers.unit() * 0.1) as f32).collect())
}

fn clusters(what: What, d: usize, k: usize, n: usize) -> Row {
    let (points, centres) = data(d, k, n);
    let arrays = (&rows_of(d, &points), &rows_of(d, &centres)).into_data();
    let (program, args) = match what {
        What::Loss => program(|points: Acc<Matrix<f32>>, centres: Acc<Matrix<f32>>| loss(&points, &centres), arrays),
        What::WithGradient => program(
            |points: Acc<Matrix<f32>>, centres: Acc<Matrix<f32>>| {
                value_and_grad(&centres, |centres| loss(&points, &centres))
            },
            arrays,
        ),
    };
    let mut by_hand = ByHand::new(d, points, centres);
    let hand = match what {
        What::Loss => hand(0f32, move |out| *out = by_hand.run(false)),
        What::WithGradient => hand((0f32, vec![0f32; k * d]), move |(out, gradient)| {
            *out = by_hand.run(true);
            for at in 0..k * d {
                gradient[at] = -2.0 * by_hand.own.iter().map(|own| own.sums[at]).sum::<f32>();
            }
        }),
    };
    Row {
        name: match what {
            What::Loss => "gradient: k-means (loss)",
            What::WithGradient => "gradient: k-means (with gradient)",
        },
        size: format!("{d} dimensions, {k} centres, {n} points"),
        read: 4.0 * (n * d) as f64,
        written: 0.0,
        flops: (2 * n * d * k) as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// Points that are computed together, as columns.
const BLOCK: usize = 64;

/// The kernels by hand: what all distances of a point have in common, its square, is added in the end.
struct ByHand {
    d: usize,
    points: Vec<f32>,
    centres: Vec<f32>,
    /// Of each centre -2 times it, and its square.
    model: [Vec<f32>; 2],
    /// Of each thread.
    own: Vec<Own>,
}

/// What a thread has for itself.
struct Own {
    loss: f64,
    columns: Vec<f32>,
    /// Of each centre the sum of the differences of its points from it.
    sums: Vec<f32>,
}

impl ByHand {
    fn new(d: usize, points: Vec<f32>, centres: Vec<f32>) -> ByHand {
        let own = |_| Own { loss: 0.0, columns: vec![0.0; d * BLOCK], sums: vec![0.0; centres.len()] };
        let own = (0..threads()).map(own).collect();
        let model = [vec![0.0; centres.len()], vec![0.0; centres.len() / d]];
        ByHand { d, points, centres, model, own }
    }

    fn run(&mut self, gradient: bool) -> f32 {
        let d = self.d;
        for (at, c) in self.centres.iter().enumerate() {
            self.model[0][at] = -2.0 * c;
        }
        for (square, c) in self.model[1].iter_mut().zip(self.centres.chunks_exact(d)) {
            *square = c.iter().map(|x| x * x).sum();
        }
        let (points, centres, model) = (&self.points, &self.centres, &self.model);
        let shared = Shared::new(&mut self.own);
        run(&|t| {
            // SAFETY: each thread has its own.
            let own = unsafe { &mut shared.part(t..t + 1)[0] };
            own.loss = 0.0;
            own.sums.fill(0.0);
            for points in points[part(points.len(), BLOCK * d, t)].chunks(BLOCK * d) {
                block(own, centres, model, points, gradient);
            }
        });
        self.own.iter().map(|own| own.loss).sum::<f64>() as f32
    }
}

on_widest! {
    /// Adds a block of points to a thread's sums.
    fn block(own: &mut Own, centres: &[f32], model: &[Vec<f32>; 2], points: &[f32], gradient: bool) = block_in;
}

/// Vectors that are computed side by side, of each of several centres.
const SIDE: usize = 4;

/// The nearest of the centres for the vectors of a block from `at` on, and its distance less the square of the point.
///
/// # Safety
///
/// The machine has the features of the lanes, and the columns have vectors from there on.
#[inline(always)]
unsafe fn nearest<V: Lanes, const CENTRES: usize>(
    columns: *const f32,
    [double, squares]: &[Vec<f32>; 2],
    first: usize,
    least: &mut [V; SIDE],
    labels: &mut [V::Counts; SIDE],
) {
    let d = double.len() / squares.len();
    // SAFETY: by the contract.
    unsafe {
        let mut sums = [[V::all(0.0); SIDE]; CENTRES];
        for c in 0..CENTRES {
            sums[c] = [V::all(squares[first + c]); SIDE];
        }
        for j in 0..d {
            for s in 0..SIDE {
                let x = V::load(columns.add(j * BLOCK + s * V::LANES));
                for c in 0..CENTRES {
                    sums[c][s] = x.mul_add(V::all(double[(first + c) * d + j]), sums[c][s]);
                }
            }
        }
        for c in 0..CENTRES {
            for s in 0..SIDE {
                sums[c][s].least((first + c) as i32, &mut least[s], &mut labels[s]);
            }
        }
    }
}

#[inline(always)]
unsafe fn block_in<V: Lanes>(own: &mut Own, centres: &[f32], model: &[Vec<f32>; 2], points: &[f32], gradient: bool) {
    let k = model[1].len();
    let d = centres.len() / k;
    let count = points.len() / d;
    let mut square = [0f32; BLOCK];
    // SAFETY: by the contract.
    unsafe { columns(&mut own.columns, BLOCK, points, d) };
    for column in own.columns.as_chunks::<BLOCK>().0 {
        for (square, x) in square.iter_mut().zip(column) {
            *square += x * x;
        }
    }
    let (mut distances, mut labels) = ([0f32; BLOCK], [0i32; BLOCK]);
    for at in (0..BLOCK).step_by(SIDE * V::LANES) {
        // SAFETY: by the contract; a block is a whole number of vectors side by side.
        unsafe {
            let (mut least, mut label) = ([V::all(f32::MAX); SIDE], [V::counts(); SIDE]);
            let columns = own.columns.as_ptr().add(at);
            for c in (0..k / 2 * 2).step_by(2) {
                nearest::<V, 2>(columns, model, c, &mut least, &mut label);
            }
            if k % 2 == 1 {
                nearest::<V, 1>(columns, model, k - 1, &mut least, &mut label);
            }
            for s in 0..SIDE {
                least[s].store(distances.as_mut_ptr().add(at + s * V::LANES));
                V::store_counts(label[s], labels.as_mut_ptr().add(at + s * V::LANES));
            }
        }
    }
    own.loss += (0..count).map(|i| f64::from(distances[i] + square[i])).sum::<f64>();
    if gradient {
        for (x, label) in points.chunks_exact(d).zip(labels) {
            let at = label as usize * d;
            for ((sum, x), c) in own.sums[at..at + d].iter_mut().zip(x).zip(&centres[at..at + d]) {
                *sum += x - c;
            }
        }
    }
}
