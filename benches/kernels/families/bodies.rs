//! Bodies that attract each other.

use super::vector;
use crate::data::floats;
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use crate::vectors::{all, store};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| bodies(2048))]
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
        split(n, 8, |r| {
            // SAFETY: the parts are disjoint; the caller has seen the features.
            unsafe {
                let [ax, ay, az] = &out;
                let parts = [ax.part(r.clone()), ay.part(r.clone()), az.part(r.clone())];
                accelerations(parts, r.start, [&x, &y, &z, &mass]);
            }
        });
    });
    Row {
        name: "n-body",
        size: n.to_string(),
        read: 16.0 * n as f64,
        written: 12.0 * n as f64,
        flops: 20.0 * (n * n) as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// What eight bodies at a time, whose number is a multiple of eight, feel of all others.
#[target_feature(enable = "avx2,fma")]
fn accelerations(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4]) {
    let n = of[0].len();
    for i in (0..out[0].len()).step_by(8) {
        let mut here = [all(0.0); 3];
        for c in 0..3 {
            // SAFETY: lanes from `start + i` on are in bounds of all inputs.
            here[c] = unsafe { _mm256_loadu_ps(of[c].as_ptr().add(start + i)) };
        }
        let mut sums = [all(0.0); 3];
        for j in 0..n {
            let mut d = [all(0.0); 3];
            for c in 0..3 {
                d[c] = _mm256_sub_ps(all(of[c][j]), here[c]);
            }
            let square = _mm256_fmadd_ps(d[0], d[0], all(SOFTENING));
            let square = _mm256_fmadd_ps(d[2], d[2], _mm256_fmadd_ps(d[1], d[1], square));
            // One step of Newton's method on the estimate of 1 / sqrt.
            let e = _mm256_rsqrt_ps(square);
            let ee = _mm256_mul_ps(e, e);
            let inverse = _mm256_mul_ps(e, _mm256_fnmadd_ps(_mm256_mul_ps(square, all(0.5)), ee, all(1.5)));
            let g = _mm256_mul_ps(_mm256_mul_ps(inverse, inverse), _mm256_mul_ps(inverse, all(of[3][j])));
            for c in 0..3 {
                sums[c] = _mm256_fmadd_ps(g, d[c], sums[c]);
            }
        }
        for c in 0..3 {
            // SAFETY: each has eight elements from `i` on.
            unsafe { store::<false>(out[c].as_mut_ptr().add(i), sums[c]) };
        }
    }
}
