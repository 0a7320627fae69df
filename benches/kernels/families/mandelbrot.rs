//! The Mandelbrot set: how many steps each point takes to leave.

use crate::pool::{Shared, each};
use crate::row::{Row, hand, program};
use crate::vectors::all;
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| mandelbrot(1024, 256))]
}

/// Rows of points that are in flight at a time, eight points of each.
const U: usize = 4;
/// Steps between two looks at whether all have left. The numbers of rows, columns and steps are multiples of these.
const STEPS: i32 = 4;

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
        // Rows near the real axis take longest: each thread takes the next ones.
        each(n / U, |j| {
            // SAFETY: each row is one thread's; the caller has seen the features.
            unsafe { escape(out.part(j * U * n..(j + 1) * U * n), j * U, step, limit) }
        });
    });
    // The mean of what the points take.
    let steps = 60.0 * (n * n) as f64;
    Row {
        name: "Mandelbrot",
        size: format!("{n}², {limit} steps"),
        read: 0.0,
        written: 4.0 * (n * n) as f64,
        flops: 10.0 * steps,
        program,
        args,
        hand,
        tolerance: 0.0,
    }
}

/// The steps until each point of some rows leaves the circle of radius 2.
#[target_feature(enable = "avx2,fma")]
fn escape(out: &mut [i32], j: usize, step: f32, limit: i32) {
    let n = out.len() / U;
    let iota = _mm256_setr_ps(0., 1., 2., 3., 4., 5., 6., 7.);
    let place = |k: __m256, low| _mm256_add_ps(_mm256_mul_ps(k, all(step)), all(low));
    let mut cy = [all(0.0); U];
    for k in 0..U {
        cy[k] = place(all((j + k) as f32), -1.5);
    }
    for i in (0..n).step_by(8) {
        let cx = place(_mm256_add_ps(all(i as f32), iota), -2.0);
        let (mut zx, mut zy, mut count) = ([all(0.0); U], [all(0.0); U], [_mm256_setzero_si256(); U]);
        for _ in 0..limit / STEPS {
            let mut on = all(0.0);
            for _ in 0..STEPS {
                on = all(0.0);
                for k in 0..U {
                    let (xx, yy) = (_mm256_mul_ps(zx[k], zx[k]), _mm256_mul_ps(zy[k], zy[k]));
                    // Who has left never comes back: the count stops, and the rest need not.
                    let inside = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_add_ps(xx, yy), all(4.0));
                    count[k] = _mm256_sub_epi32(count[k], _mm256_castps_si256(inside));
                    // In the order of the complex product, each operation rounded.
                    let xy = _mm256_mul_ps(zx[k], zy[k]);
                    zy[k] = _mm256_add_ps(_mm256_add_ps(xy, xy), cy[k]);
                    zx[k] = _mm256_add_ps(_mm256_sub_ps(xx, yy), cx);
                    on = _mm256_or_ps(on, inside);
                }
            }
            if _mm256_testz_ps(on, on) == 1 {
                break;
            }
        }
        for k in 0..U {
            // SAFETY: row `k` has eight places from `i` on.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(k * n + i).cast(), count[k]) };
        }
    }
}
