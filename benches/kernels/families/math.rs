//! Kernels bound by arithmetic: Black-Scholes, Mandelbrot, n-body.

use super::{label, vector};
use crate::data::floats;
use crate::pool::{Shared, run, split};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::*;
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| black_scholes(1_000_000)), Box::new(|| mandelbrot(1024, 256)), Box::new(|| bodies(2048))]
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
        split(n, 64, |r| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe {
                let (call, put) = (call.part(r.clone()), put.part(r.clone()));
                options(call, put, &price[r.clone()], &strike[r.clone()], &years[r]);
            }
        });
    });
    let (bytes, flops) = (20.0 * n as f64, 90.0 * n as f64);
    Row { name: "Black-Scholes", size: label(n), bytes, flops, program, args, hand, tolerance: 1e-4 }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn all(x: f32) -> __m256 {
    _mm256_set1_ps(x)
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

#[inline]
#[target_feature(enable = "avx2,fma")]
fn cumulative(x: __m256) -> __m256 {
    let magnitude = _mm256_andnot_ps(all(-0.0), x);
    let k = _mm256_div_ps(all(1.0), _mm256_fmadd_ps(magnitude, all(0.231_641_9), all(1.0)));
    let sum = _mm256_mul_ps(horner(k, &TAIL), k);
    let tail = _mm256_mul_ps(_mm256_mul_ps(exp(_mm256_mul_ps(_mm256_mul_ps(x, x), all(-0.5))), all(0.398_942_3)), sum);
    _mm256_blendv_ps(tail, _mm256_sub_ps(all(1.0), tail), _mm256_cmp_ps::<_CMP_LT_OQ>(all(0.0), x))
}

#[target_feature(enable = "avx2,fma")]
fn options(call: &mut [f32], put: &mut [f32], price: &[f32], strike: &[f32], years: &[f32]) {
    let one = |price: __m256, strike: __m256, years: __m256| {
        let root = _mm256_mul_ps(all(VOLATILITY), _mm256_sqrt_ps(years));
        let drift = all(RATE + 0.5 * VOLATILITY * VOLATILITY);
        let d1 = _mm256_div_ps(_mm256_fmadd_ps(drift, years, ln(_mm256_div_ps(price, strike))), root);
        let d2 = _mm256_sub_ps(d1, root);
        let discounted = _mm256_mul_ps(strike, exp(_mm256_mul_ps(all(-RATE), years)));
        let call = _mm256_fmsub_ps(price, cumulative(d1), _mm256_mul_ps(discounted, cumulative(d2)));
        (call, _mm256_sub_ps(_mm256_add_ps(call, discounted), price))
    };
    let n = call.len();
    let mut i = 0;
    while i + 8 <= n {
        // SAFETY: all five have `n` elements.
        unsafe {
            let load = |v: &[f32]| _mm256_loadu_ps(v.as_ptr().add(i));
            let (c, p) = one(load(price), load(strike), load(years));
            _mm256_storeu_ps(call.as_mut_ptr().add(i), c);
            _mm256_storeu_ps(put.as_mut_ptr().add(i), p);
        }
        i += 8;
    }
    for k in i..n {
        let (c, p) = one(all(price[k]), all(strike[k]), all(years[k]));
        (call[k], put[k]) = (_mm256_cvtss_f32(c), _mm256_cvtss_f32(p));
    }
}

fn mandelbrot(n: usize, limit: i32) -> Row {
    let step = 3.0 / n as f32;
    let (program, args) = program(
        move || {
            generate((n, n), move |(j, i)| {
                let c = complex(i.to::<f32>() * step - 2.0, j.to::<f32>() * step - 1.5);
                let start = complex(constant(0f32), constant(0f32));
                let inside = move |(z, k): (Exp<Complex<f32>>, Exp<i32>)| z.norm_sqr().le(4.0).and(k.lt(limit));
                while_((start, 0i32), inside, move |(z, k)| (z * z + c, k + 1)).1
            })
        },
        Vec::new(),
    );
    let hand = hand(vec![0i32; n * n], move |out| {
        let out = Shared::new(out);
        // Rows near the real axis take longest: each thread takes the next one.
        let next = AtomicUsize::new(0);
        run(&|_| {
            loop {
                let j = next.fetch_add(1, Ordering::Relaxed);
                if j >= n {
                    break;
                }
                // SAFETY: each row is one thread's; the caller has seen the features.
                unsafe { escape(out.part(j * n..(j + 1) * n), j, step, limit) }
            }
        });
    });
    let steps = f64::from(u32::try_from(n * n).unwrap_or(u32::MAX)) * 60.0;
    Row {
        name: "Mandelbrot",
        size: format!("{n}², {limit} steps"),
        bytes: 4.0 * (n * n) as f64,
        flops: 10.0 * steps,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// The steps until each point of a row leaves the circle of radius 2.
#[target_feature(enable = "avx2,fma")]
fn escape(out: &mut [i32], j: usize, step: f32, limit: i32) {
    const U: usize = 2;
    let iota = _mm256_setr_ps(0., 1., 2., 3., 4., 5., 6., 7.);
    let cy = all(j as f32 * step - 1.5);
    for c in (0..out.len()).step_by(8 * U) {
        let x =
            |k: usize| _mm256_add_ps(_mm256_mul_ps(_mm256_add_ps(all((c + 8 * k) as f32), iota), all(step)), all(-2.0));
        let cx: [__m256; U] = std::array::from_fn(x);
        let (mut zx, mut zy) = ([all(0.0); U], [all(0.0); U]);
        let mut count = [_mm256_setzero_si256(); U];
        let mut on = [_mm256_castsi256_ps(_mm256_set1_epi32(-1)); U];
        // A point that has left goes on to infinity: only the count must stop.
        for _ in 0..limit {
            let mut any = 0;
            for k in 0..U {
                let (xx, yy) = (_mm256_mul_ps(zx[k], zx[k]), _mm256_mul_ps(zy[k], zy[k]));
                on[k] = _mm256_and_ps(on[k], _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_add_ps(xx, yy), all(4.0)));
                count[k] = _mm256_sub_epi32(count[k], _mm256_castps_si256(on[k]));
                // In the order of the complex product, each operation rounded.
                let xy = _mm256_mul_ps(zx[k], zy[k]);
                zy[k] = _mm256_add_ps(_mm256_add_ps(xy, xy), cy);
                zx[k] = _mm256_add_ps(_mm256_sub_ps(xx, yy), cx[k]);
                any |= _mm256_movemask_ps(on[k]);
            }
            if any == 0 {
                break;
            }
        }
        for (k, count) in count.into_iter().enumerate() {
            let mut lanes = [0i32; 8];
            // SAFETY: eight lanes fit.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), count) };
            for (o, l) in out[c + 8 * k..].iter_mut().zip(lanes) {
                *o = l;
            }
        }
    }
}

/// Keeps bodies that are very near each other from flying apart.
const SOFTENING: f32 = 1e-3;

fn bodies(n: usize) -> Row {
    let [x, y, z] = [9, 10, 11].map(|seed| floats(seed, n, -1.0, 1.0));
    let mass = floats(12, n, 0.1, 1.0);
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, z: Acc<Vector<f32>>, mass: Acc<Vector<f32>>| {
            let n = x.length();
            let bodies = x.zip4(&y, &z, &mass);
            let (these, others) = (bodies.replicate((All, n)), bodies.replicate((n, All)));
            let pull = these.zip_with(&others, |(x, y, z, _), (x2, y2, z2, mass)| {
                let (dx, dy, dz) = (x2 - x, y2 - y, z2 - z);
                let square = dx * dx + dy * dy + dz * dz + SOFTENING;
                let inverse = 1.0 / square.sqrt();
                let g = mass * inverse * inverse * inverse;
                (g * dx, g * dy, g * dz)
            });
            pull.fold((0.0, 0.0, 0.0), |(a, b, c), (d, e, f)| (a + d, b + e, c + f))
        },
        (&vector(&x), &vector(&y), &vector(&z), &vector(&mass)).into_data(),
    );
    let hand = hand((vec![0f32; n], vec![0f32; n], vec![0f32; n]), move |(ax, ay, az)| {
        let out = [ax, ay, az].map(|v| Shared::new(v));
        split(n, 16, |r| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe {
                let [ax, ay, az] = &out;
                let parts = [ax.part(r.clone()), ay.part(r.clone()), az.part(r.clone())];
                accelerations(parts, r.start, [&x, &y, &z, &mass]);
            }
        });
    });
    let pairs = (n * n) as f64;
    Row {
        name: "n-body",
        size: n.to_string(),
        bytes: 28.0 * n as f64,
        flops: 20.0 * pairs,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

#[target_feature(enable = "avx2,fma")]
fn accelerations(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4]) {
    const U: usize = 2;
    let n = of[0].len();
    let mut done = 0;
    while done + 8 * U <= out[0].len() {
        // SAFETY: lanes from `start + done` on are in bounds of all inputs.
        let lanes = |c: usize, k: usize| unsafe { _mm256_loadu_ps(of[c].as_ptr().add(start + done + 8 * k)) };
        let here: [[__m256; 3]; U] = std::array::from_fn(|k| std::array::from_fn(|c| lanes(c, k)));
        let mut sums = [[all(0.0); 3]; U];
        for j in 0..n {
            let [x, y, z, m] = std::array::from_fn(|c| all(of[c][j]));
            for k in 0..U {
                let d = [_mm256_sub_ps(x, here[k][0]), _mm256_sub_ps(y, here[k][1]), _mm256_sub_ps(z, here[k][2])];
                let square = _mm256_fmadd_ps(
                    d[2],
                    d[2],
                    _mm256_fmadd_ps(d[1], d[1], _mm256_fmadd_ps(d[0], d[0], all(SOFTENING))),
                );
                // One step of Newton's method on the estimate of 1 / sqrt.
                let e = _mm256_rsqrt_ps(square);
                let half = _mm256_mul_ps(square, all(-0.5));
                let inverse = _mm256_mul_ps(e, _mm256_fmadd_ps(half, _mm256_mul_ps(e, e), all(1.5)));
                let g = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(inverse, inverse), inverse), m);
                for c in 0..3 {
                    sums[k][c] = _mm256_fmadd_ps(g, d[c], sums[k][c]);
                }
            }
        }
        for k in 0..U {
            for c in 0..3 {
                // SAFETY: as above.
                unsafe { _mm256_storeu_ps(out[c].as_mut_ptr().add(done + 8 * k), sums[k][c]) };
            }
        }
        done += 8 * U;
    }
}
