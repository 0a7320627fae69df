//! Black-Scholes: the prices of options.

use super::{label, vector};
use crate::data::floats;
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use crate::vectors::{all, store};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| black_scholes(1_000_000))]
}

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;
/// Abramowitz and Stegun, 26.2.17.
const TAIL: [f32; 5] = [1.330_274_4, -1.821_256, 1.781_478, -0.356_563_78, 0.319_381_54];

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
        split(n, 8, |r| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe {
                let (call, put) = (call.part(r.clone()), put.part(r.clone()));
                options(call, put, [&price[r.clone()], &strike[r.clone()], &years[r]]);
            }
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

/// A polynomial by Horner's rule, the highest coefficient first.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn horner(x: __m256, coefficients: &[f32]) -> __m256 {
    let mut sum = all(coefficients[0]);
    for c in &coefficients[1..] {
        sum = _mm256_fmadd_ps(sum, x, all(*c));
    }
    sum
}

/// The exponential: Cephes' `expf`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exp(x: __m256) -> __m256 {
    let x = _mm256_min_ps(_mm256_max_ps(x, all(-87.3)), all(88.7));
    let n = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(_mm256_mul_ps(
        x,
        all(std::f32::consts::LOG2_E),
    ));
    let r = _mm256_fmadd_ps(n, all(2.121_944_4e-4), _mm256_fmadd_ps(n, all(-0.693_359_4), x));
    let p = horner(r, &[1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5]);
    let y = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, all(1.0)));
    let power = _mm256_slli_epi32::<23>(_mm256_cvttps_epi32(n));
    _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power))
}

/// The logarithm of positive normal numbers: Cephes' `logf`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn ln(x: __m256) -> __m256 {
    let bits = _mm256_castps_si256(x);
    let shifted = _mm256_sub_epi32(bits, _mm256_castps_si256(all(std::f32::consts::FRAC_1_SQRT_2)));
    let e = _mm256_srai_epi32::<23>(shifted);
    let m = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e)));
    let (e, v) = (_mm256_cvtepi32_ps(e), _mm256_sub_ps(m, all(1.0)));
    let p = horner(
        v,
        &[
            7.037_683_6e-2,
            -0.115_146_1,
            0.116_769_98,
            -0.124_201_41,
            0.142_493_23,
            -0.166_680_58,
            0.200_007_14,
            -0.249_999_94,
            0.333_333_3,
        ],
    );
    let square = _mm256_mul_ps(v, v);
    let y = _mm256_mul_ps(_mm256_mul_ps(p, v), square);
    let y = _mm256_fmadd_ps(e, all(-2.121_944_4e-4), y);
    let y = _mm256_fmadd_ps(square, all(-0.5), y);
    _mm256_fmadd_ps(e, all(0.693_359_4), _mm256_add_ps(v, y))
}

/// The standard normal distribution at each of two places, whose divisions are one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn cumulative(x: [__m256; 2]) -> [__m256; 2] {
    let part = |x| _mm256_fmadd_ps(_mm256_andnot_ps(all(-0.0), x), all(0.231_641_9), all(1.0));
    let (a, b) = (part(x[0]), part(x[1]));
    let inverse = _mm256_div_ps(all(1.0), _mm256_mul_ps(a, b));
    let one = |x, k| {
        let density = exp(_mm256_mul_ps(_mm256_mul_ps(x, x), all(-0.5)));
        let tail = _mm256_mul_ps(_mm256_mul_ps(density, all(0.398_942_3)), _mm256_mul_ps(horner(k, &TAIL), k));
        // Where x is negative its sign chooses the tail itself.
        _mm256_blendv_ps(_mm256_sub_ps(all(1.0), tail), tail, x)
    };
    [one(x[0], _mm256_mul_ps(inverse, b)), one(x[1], _mm256_mul_ps(inverse, a))]
}

/// The prices of eight options.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn prices(price: __m256, strike: __m256, years: __m256) -> [__m256; 2] {
    let root = _mm256_mul_ps(all(VOLATILITY), _mm256_sqrt_ps(years));
    // Both quotients, by the strike and by the root, from one division.
    let inverse = _mm256_div_ps(all(1.0), _mm256_mul_ps(strike, root));
    let moneyness = ln(_mm256_mul_ps(price, _mm256_mul_ps(inverse, root)));
    let drift = all(RATE + 0.5 * VOLATILITY * VOLATILITY);
    let d1 = _mm256_mul_ps(_mm256_fmadd_ps(drift, years, moneyness), _mm256_mul_ps(inverse, strike));
    let discounted = _mm256_mul_ps(strike, exp(_mm256_mul_ps(all(-RATE), years)));
    let [n1, n2] = cumulative([d1, _mm256_sub_ps(d1, root)]);
    let call = _mm256_fmsub_ps(price, n1, _mm256_mul_ps(discounted, n2));
    [call, _mm256_sub_ps(_mm256_add_ps(call, discounted), price)]
}

#[target_feature(enable = "avx2,fma")]
fn options(call: &mut [f32], put: &mut [f32], [price, strike, years]: [&[f32]; 3]) {
    // The last eight may be some of those before again; there are eight or more.
    let last = call.len() - 8;
    for i in (0..call.len()).step_by(8).map(|i| i.min(last)) {
        // SAFETY: all five have eight elements from `i` on.
        unsafe {
            let load = |v: &[f32]| _mm256_loadu_ps(v.as_ptr().add(i));
            let [c, p] = prices(load(price), load(strike), load(years));
            store::<false>(call.as_mut_ptr().add(i), c);
            store::<false>(put.as_mut_ptr().add(i), p);
        }
    }
}
