//! Black-Scholes: the prices of options.

use super::{label, vector};
use crate::data::floats;
use crate::functions::{exp, ln, polynomial};
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| black_scholes(1_000_000))]
}

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;
/// Abramowitz and Stegun, 26.2.17.
static TAIL: [f32; 5] = [1.330_274_4, -1.821_256, 1.781_478, -0.356_563_78, 0.319_381_54];

fn normal(x: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let sum = TAIL.iter().fold(constant(0.0), |p, c| (p + *c) * k);
    let tail = (-0.5 * x * x).exp() * 0.398_942_3 * sum;
    x.gt(0.0).then_else(1.0 - tail, tail)
}

fn black_scholes(n: usize) -> Row {
    let (price, strike) = (floats(6, n, 5.0, 30.0), floats(7, n, 1.0, 100.0));
    let years = floats(8, n, 0.25, 10.0);
    let (program, args) = program(
        |price: Acc<Vector<f32>>, strike: Acc<Vector<f32>>, years: Acc<Vector<f32>>| {
            price.zip_with3(&strike, &years, |price, strike, years| {
                let root = VOLATILITY * years.sqrt();
                let d1 = ((price / strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / root;
                let d2 = d1 - root;
                let discounted = strike * (-RATE * years).exp();
                let call = price * normal(d1) - discounted * normal(d2);
                (call, call + discounted - price)
            })
        },
        (&vector(&price), &vector(&strike), &vector(&years)).into_data(),
    );
    let hand = hand((vec![0f32; n], vec![0f32; n]), move |(call, put)| {
        let (call, put) = (Shared::new(call), Shared::new(put));
        split(n, 16, |r| {
            // SAFETY: the parts are disjoint.
            let (call, put) = unsafe { (call.part(r.clone()), put.part(r.clone())) };
            options(call, put, [&price[r.clone()], &strike[r.clone()], &years[r]]);
        });
    });
    Row {
        name: "Black-Scholes",
        size: label(n),
        read: 12.0 * n as f64,
        written: 8.0 * n as f64,
        flops: 90.0 * n as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// The standard normal distribution.
#[inline(always)]
unsafe fn cumulative<V: Lanes>(x: V) -> V {
    // SAFETY: by the contract.
    unsafe {
        let k = V::all(1.0) / x.abs().mul_add(V::all(0.231_641_9), V::all(1.0));
        let density = exp(x * x * V::all(-0.5));
        let tail = (density * V::all(0.398_942_3)) * (polynomial(k, &TAIL) * k);
        (V::all(1.0) - tail).or_if_negative(tail, x)
    }
}

/// Options that are computed together, step by step: a step alone is short enough for the processor to work at many
/// options at a time, which it could not with all steps of one.
const BLOCK: usize = 256;

/// A step, a vector of options at a time; their number is a multiple of the lanes.
#[inline(always)]
unsafe fn step<V: Lanes, const N: usize>(out: &mut [f32], from: [&[f32]; N], f: impl Fn([V; N]) -> V) {
    for i in (0..out.len()).step_by(V::LANES) {
        // SAFETY: by the contract; all have a vector from `i` on.
        unsafe { f(from.map(|from| V::load(from.as_ptr().add(i)))).store(out.as_mut_ptr().add(i)) };
    }
}

on_widest! {
    /// The prices of options.
    fn options(call: &mut [f32], put: &mut [f32], of: [&[f32]; 3]) = options_in;
}

#[inline(always)]
unsafe fn options_in<V: Lanes>(call: &mut [f32], put: &mut [f32], [price, strike, years]: [&[f32]; 3]) {
    let mut memory = [[0f32; BLOCK]; 7];
    for start in (0..call.len()).step_by(BLOCK) {
        let r = start..call.len().min(start + BLOCK);
        let [root, inverse, moneyness, d1, n1, n2, discounted] = memory.each_mut().map(|m| &mut m[..r.len()]);
        let (price, strike, years) = (&price[r.clone()], &strike[r.clone()], &years[r.clone()]);
        let (call, put) = (&mut call[r.clone()], &mut put[r]);
        // SAFETY: by the contract.
        unsafe {
            step(root, [years], |[t]: [V; 1]| V::all(VOLATILITY) * t.sqrt());
            // Both quotients, by the strike and by the root, from one division.
            step(inverse, [strike, root], |[k, r]: [V; 2]| V::all(1.0) / (k * r));
            step(moneyness, [price, inverse, root], |[s, i, r]: [V; 3]| ln(s * (i * r)));
            step(d1, [moneyness, years, inverse, strike], |[m, t, i, k]: [V; 4]| {
                V::all(RATE + 0.5 * VOLATILITY * VOLATILITY).mul_add(t, m) * (i * k)
            });
            step(n1, [d1], |[d]: [V; 1]| cumulative(d));
            step(n2, [d1, root], |[d, r]: [V; 2]| cumulative(d - r));
            step(discounted, [strike, years], |[k, t]: [V; 2]| k * exp(V::all(-RATE) * t));
            step(call, [price, n1, discounted, n2], |[s, a, k, b]: [V; 4]| s * a - k * b);
            step(put, [call, discounted, price], |[c, k, s]: [V; 3]| c + k - s);
        }
    }
}
