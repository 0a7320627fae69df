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

/// A polynomial, the highest coefficient first: its even and its odd powers each by Horner's rule, side by side.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn polynomial<const N: usize>(x: __m256, coefficients: &[f32; N]) -> __m256 {
    let square = _mm256_mul_ps(x, x);
    let (mut sum, mut other) = (all(coefficients[0]), all(coefficients[1]));
    for k in 2..N {
        (sum, other) = (other, _mm256_fmadd_ps(sum, square, all(coefficients[k])));
    }
    _mm256_fmadd_ps(sum, x, other)
}

/// The exponential of what is not positive: Cephes' `expf`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exp(x: __m256) -> __m256 {
    let x = _mm256_max_ps(x, all(-87.3));
    let n = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(_mm256_mul_ps(
        x,
        all(std::f32::consts::LOG2_E),
    ));
    let r = _mm256_fmadd_ps(n, all(2.121_944_4e-4), _mm256_fmadd_ps(n, all(-0.693_359_4), x));
    let p = polynomial(r, &[1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5]);
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
    let p = polynomial(
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

/// The standard normal distribution.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn cumulative(x: __m256) -> __m256 {
    let k = _mm256_fmadd_ps(_mm256_andnot_ps(all(-0.0), x), all(0.231_641_9), all(1.0));
    let k = _mm256_div_ps(all(1.0), k);
    let density = exp(_mm256_mul_ps(_mm256_mul_ps(x, x), all(-0.5)));
    let tail = _mm256_mul_ps(_mm256_mul_ps(density, all(0.398_942_3)), _mm256_mul_ps(polynomial(k, &TAIL), k));
    // Where x is negative its sign chooses the tail itself.
    _mm256_blendv_ps(_mm256_sub_ps(all(1.0), tail), tail, x)
}

/// Options that are computed together, step by step: a step alone is short enough for the processor to work at many
/// options at a time, which it could not with all steps of one.
const BLOCK: usize = 256;

/// A step, eight options at a time. Their number is a multiple of eight.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn step<const N: usize>(out: &mut [f32], from: [&[f32]; N], f: impl Fn([__m256; N]) -> __m256) {
    for i in (0..out.len()).step_by(8) {
        let mut x = [all(0.0); N];
        for (x, from) in x.iter_mut().zip(from) {
            // SAFETY: all have eight elements from `i` on.
            *x = unsafe { _mm256_loadu_ps(from.as_ptr().add(i)) };
        }
        // SAFETY: as above.
        unsafe { store::<false>(out.as_mut_ptr().add(i), f(x)) };
    }
}

/// The prices of options.
#[target_feature(enable = "avx2,fma")]
fn options(call: &mut [f32], put: &mut [f32], [price, strike, years]: [&[f32]; 3]) {
    let mut memory = [[0f32; BLOCK]; 7];
    for start in (0..call.len()).step_by(BLOCK) {
        let r = start..call.len().min(start + BLOCK);
        let [root, inverse, moneyness, d1, n1, n2, discounted] = memory.each_mut().map(|m| &mut m[..r.len()]);
        let (price, strike, years) = (&price[r.clone()], &strike[r.clone()], &years[r.clone()]);
        let (call, put) = (&mut call[r.clone()], &mut put[r]);
        step(root, [years], |[t]| _mm256_mul_ps(all(VOLATILITY), _mm256_sqrt_ps(t)));
        // Both quotients, by the strike and by the root, from one division.
        step(inverse, [strike, root], |[k, r]| _mm256_div_ps(all(1.0), _mm256_mul_ps(k, r)));
        step(moneyness, [price, inverse, root], |[s, i, r]| ln(_mm256_mul_ps(s, _mm256_mul_ps(i, r))));
        step(d1, [moneyness, years, inverse, strike], |[m, t, i, k]| {
            let drift = all(RATE + 0.5 * VOLATILITY * VOLATILITY);
            _mm256_mul_ps(_mm256_fmadd_ps(drift, t, m), _mm256_mul_ps(i, k))
        });
        step(n1, [d1], |[d]| cumulative(d));
        step(n2, [d1, root], |[d, r]| cumulative(_mm256_sub_ps(d, r)));
        step(discounted, [strike, years], |[k, t]| _mm256_mul_ps(k, exp(_mm256_mul_ps(all(-RATE), t))));
        step(call, [price, n1, discounted, n2], |[s, a, k, b]| _mm256_fmsub_ps(s, a, _mm256_mul_ps(k, b)));
        step(put, [call, discounted, price], |[c, k, s]| _mm256_sub_ps(_mm256_add_ps(c, k), s));
    }
}
