//! The log-likelihood of a mixture of Gaussians with diagonal covariances, as in ADBench (Srajer, Kukelova, Fitzgibbon: A
//! benchmark of selected algorithmic differentiation tools, 2018), by its weights, means and covariances.

use super::{What, both, rows_of, vector};
use crate::data::floats;
use crate::functions::{exp, ln};
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use crate::vectors::columns;
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [(10, 25, 1000), (32, 25, 10_000), (64, 50, 10_000)]
        .into_iter()
        .flat_map(|(dimensions, centres, points)| both(move |what| mixture(what, dimensions, centres, points)))
        .collect()
}

/// Logarithms of the weights, the means, and the logarithms of the inverse deviations.
type Model = (Acc<Vector<f32>>, Acc<Matrix<f32>>, Acc<Matrix<f32>>);

/// Without what is constant. The prior is Wishart's with ADBench's parameters (1 and 0).
fn loss(x: &Acc<Matrix<f32>>, (weights, means, scales): Model) -> Acc<Scalar<f32>> {
    let (n, k) = (x.shape().0, weights.length());
    let inverse = scales.map(|s| s.exp());
    let (x, means) = (x.replicate((All, k, All)), means.replicate((n, All, All)));
    let square = x.zip_with3(&means, inverse.replicate((n, All, All)), |x, mean, q| {
        let t = (x - mean) * q;
        t * t
    });
    let constant = weights.zip_with(scales.sum(), |w, s| w + s);
    let terms = constant.replicate((n, All)).zip_with(square.sum(), |c, square| c - 0.5 * square);
    let most = terms.maximum();
    let sums = terms.zip_with(most.replicate((All, k)), |t, most| (t - most).exp()).sum();
    let points = sums.zip_with(&most, |sum, most| sum.ln() + most).sum();
    let all_weights = weights.map(|w| w.exp()).sum();
    let prior = inverse.map(|q| 0.5 * q * q).flatten().sum();
    points.zip_with3(&all_weights, &prior, |points, sum, prior| points - n.to::<f32>() * sum.ln() + prior)
}

fn mixture(what: What, dimensions: usize, centres: usize, points: usize) -> Row {
    let (d, k) = (dimensions, centres);
    let x = floats(40, points * d, 0.0, 1.0);
    let (weights, means) = (floats(41, k, -1.0, 1.0), floats(42, k * d, 0.0, 1.0));
    let scales = floats(43, k * d, -0.5, 0.5);
    let arrays = (&rows_of(d, &x), &vector(&weights), &rows_of(d, &means), &rows_of(d, &scales)).into_data();
    let (program, args) = match what {
        What::Loss => program(
            |x: Acc<Matrix<f32>>, weights: Acc<Vector<f32>>, means: Acc<Matrix<f32>>, scales: Acc<Matrix<f32>>| {
                loss(&x, (weights, means, scales))
            },
            arrays,
        ),
        What::WithGradient => program(
            |x: Acc<Matrix<f32>>, weights: Acc<Vector<f32>>, means: Acc<Matrix<f32>>, scales: Acc<Matrix<f32>>| {
                value_and_grad((&weights, &means, &scales), |model| loss(&x, model))
            },
            arrays,
        ),
    };
    let mut by_hand = ByHand::new(k, d, x, weights, means, scales);
    let hand = match what {
        What::Loss => hand(0f32, move |out| *out = by_hand.loss()),
        What::WithGradient => {
            let gradient = (vec![0f32; k], vec![0f32; k * d], vec![0f32; k * d]);
            hand((0f32, gradient), move |(out, gradient)| *out = by_hand.with_gradient(gradient))
        }
    };
    // Of each dimension of each centre of each point.
    let inner = (points * k * d) as f64;
    Row {
        name: match what {
            What::Loss => "gradient: mixture (loss)",
            What::WithGradient => "gradient: mixture (with gradient)",
        },
        size: format!("{d} dimensions, {k} centres, {points} points"),
        read: 4.0 * (points * d) as f64,
        written: 0.0,
        flops: if what == What::Loss { 4.0 * inner } else { 11.0 * inner },
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

/// Points that are computed together: of a thread they stay in its L2 cache, as columns.
const BLOCK: usize = 256;

/// The kernels by hand: with `t = (x - mean) * q`, the gradient is made of the sums over points of the centre's share `p`
/// of the point, of `p * t` and of `p * t * t`.
struct ByHand {
    k: usize,
    d: usize,
    x: Vec<f32>,
    weights: Vec<f32>,
    means: Vec<f32>,
    scales: Vec<f32>,
    /// The inverse deviations, the products of means with them negated, and what is constant of a centre.
    model: [Vec<f32>; 3],
    /// Of each thread.
    own: Vec<Own>,
}

/// What a thread has for itself.
struct Own {
    loss: f64,
    columns: Vec<f32>,
    /// By centre and point: terms, and then shares.
    terms: Vec<f32>,
    /// The sums of the gradient.
    sums: [Vec<f32>; 3],
}

impl ByHand {
    fn new(k: usize, d: usize, x: Vec<f32>, weights: Vec<f32>, means: Vec<f32>, scales: Vec<f32>) -> ByHand {
        let own = |_| Own {
            loss: 0.0,
            columns: vec![0.0; d * BLOCK],
            terms: vec![0.0; k * BLOCK],
            sums: [k, k * d, k * d].map(|n| vec![0.0; n]),
        };
        let model = [k * d, k * d, k].map(|n| vec![0.0; n]);
        ByHand { k, d, x, weights, means, scales, model, own: (0..threads()).map(own).collect() }
    }

    fn points(&mut self, gradient: bool) {
        let (k, d) = (self.k, self.d);
        let [q, shift, constant] = &mut self.model;
        for at in 0..k * d {
            q[at] = self.scales[at].exp();
            shift[at] = -self.means[at] * q[at];
        }
        for c in 0..k {
            constant[c] = self.weights[c] + self.scales[c * d..][..d].iter().sum::<f32>();
        }
        let (x, model) = (&self.x, &self.model);
        let shared = Shared::new(&mut self.own);
        run(&|t| {
            // SAFETY: each thread has its own.
            let own = unsafe { &mut shared.part(t..t + 1)[0] };
            own.loss = 0.0;
            own.sums.iter_mut().for_each(|s| s.fill(0.0));
            for points in x[part(x.len(), BLOCK * d, t)].chunks(BLOCK * d) {
                block(own, model, points, gradient);
            }
        });
    }

    /// What does not come of points.
    fn total(&self) -> (f32, f32) {
        let points: f64 = self.own.iter().map(|own| own.loss).sum();
        let sum: f32 = self.weights.iter().map(|w| w.exp()).sum();
        let prior: f32 = self.model[0].iter().map(|q| 0.5 * q * q).sum();
        let n = (self.x.len() / self.d) as f64;
        ((points - n * f64::from(sum.ln()) + f64::from(prior)) as f32, n as f32 / sum)
    }

    fn loss(&mut self) -> f32 {
        self.points(false);
        self.total().0
    }

    fn with_gradient(&mut self, (weights, means, scales): &mut (Vec<f32>, Vec<f32>, Vec<f32>)) -> f32 {
        self.points(true);
        let (loss, n_by_sum) = self.total();
        let q = &self.model[0];
        let of = |which: usize, at: usize| self.own.iter().map(|own| own.sums[which][at]).sum::<f32>();
        for c in 0..self.k {
            let share = of(0, c);
            weights[c] = share - self.weights[c].exp() * n_by_sum;
            for at in c * self.d..(c + 1) * self.d {
                means[at] = q[at] * of(1, at);
                scales[at] = share - of(2, at) + q[at] * q[at];
            }
        }
        loss
    }
}

on_widest! {
    /// Adds a block of points to a thread's sums.
    fn block(own: &mut Own, model: &[Vec<f32>; 3], points: &[f32], gradient: bool) = block_in;
}

/// Vectors that are computed side by side.
const SIDE: usize = 4;

#[inline(always)]
unsafe fn block_in<V: Lanes>(own: &mut Own, [q, shift, constant]: &[Vec<f32>; 3], points: &[f32], gradient: bool) {
    let (k, d) = (constant.len(), q.len() / constant.len());
    let count = points.len() / d;
    // SAFETY: by the contract.
    unsafe { columns(&mut own.columns, BLOCK, points, d) };
    let (x, terms) = (own.columns.as_ptr(), own.terms.as_mut_ptr());
    // SAFETY: by the contract; both have so many points, a whole number of vectors side by side.
    unsafe {
        for c in 0..k {
            for at in (0..BLOCK).step_by(SIDE * V::LANES) {
                let mut squares = [V::all(0.0); SIDE];
                for j in 0..d {
                    let (q, shift) = (V::all(q[c * d + j]), V::all(shift[c * d + j]));
                    for s in 0..SIDE {
                        let t = V::load(x.add(j * BLOCK + at + s * V::LANES)).mul_add(q, shift);
                        squares[s] = t.mul_add(t, squares[s]);
                    }
                }
                for s in 0..SIDE {
                    let term = squares[s].mul_add(V::all(-0.5), V::all(constant[c]));
                    term.store(terms.add(c * BLOCK + at + s * V::LANES));
                }
            }
        }
        let mut losses = [0f32; BLOCK];
        for at in (0..BLOCK).step_by(V::LANES) {
            let term = |c: usize| terms.add(c * BLOCK + at);
            let mut most = V::load(term(0));
            for c in 1..k {
                most = most.max(V::load(term(c)));
            }
            let mut sum = V::all(0.0);
            for c in 0..k {
                let e = exp(V::load(term(c)) - most);
                sum = sum + e;
                if gradient {
                    e.store(term(c));
                }
            }
            (ln(sum) + most).store(losses.as_mut_ptr().add(at));
            if gradient {
                // Beyond the last point there are no shares.
                let mut there = [0f32; 16];
                there.iter_mut().take(count.saturating_sub(at)).for_each(|t| *t = 1.0);
                let inverse = V::load(there.as_ptr()) / sum;
                for c in 0..k {
                    (V::load(term(c)) * inverse).store(term(c));
                }
            }
        }
        own.loss += losses[..count].iter().map(|x| f64::from(*x)).sum::<f64>();
        if !gradient {
            return;
        }
        for c in 0..k {
            let mut shares = V::all(0.0);
            for at in (0..BLOCK).step_by(V::LANES) {
                shares = shares + V::load(terms.add(c * BLOCK + at));
            }
            own.sums[0][c] += shares.total();
            for j in 0..d {
                let (q, shift) = (V::all(q[c * d + j]), V::all(shift[c * d + j]));
                let (mut first, mut second) = ([V::all(0.0); SIDE], [V::all(0.0); SIDE]);
                for at in (0..BLOCK).step_by(SIDE * V::LANES) {
                    for s in 0..SIDE {
                        let at = at + s * V::LANES;
                        let t = V::load(x.add(j * BLOCK + at)).mul_add(q, shift);
                        let pt = V::load(terms.add(c * BLOCK + at)) * t;
                        first[s] = first[s] + pt;
                        second[s] = pt.mul_add(t, second[s]);
                    }
                }
                let total = |v: [V; SIDE]| ((v[0] + v[1]) + (v[2] + v[3])).total();
                own.sums[1][c * d + j] += total(first);
                own.sums[2][c * d + j] += total(second);
            }
        }
    }
}
