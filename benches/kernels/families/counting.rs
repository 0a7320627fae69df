//! Many elements into few places: histograms, a step of k-means.

use super::{label, vector};
use crate::data::{Numbers, floats};
use crate::pool::{Shared, part, run, threads};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;
use std::arch::x86_64::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| histogram(16_000_000, 256)),
        Box::new(|| histogram(16_000_000, 1_000_000)),
        Box::new(|| kmeans(1_000_000)),
    ]
}

fn histogram(n: usize, bins: usize) -> Row {
    let mut numbers = Numbers::new(23);
    let keys: Vec<u32> = (0..n).map(|_| numbers.below(bins as u32)).collect();
    let (program, args) = program(
        move |keys: Acc<Vector<u32>>| {
            let ones = keys.map(|_| 1u32);
            ones.permute(fill(bins, 0u32), |a, b| a + b, |i| Some(keys.index(i).to::<i64>()))
        },
        (&vector(&keys),).into_data(),
    );
    // Four for each thread, so that equal neighbours do not wait for each other; one where they are large.
    let copies = if bins <= 4096 { 4 } else { 1 };
    let mut counts = vec![0u32; bins * copies * threads()];
    let hand = hand(vec![0u32; bins], move |out| {
        counts.fill(0);
        let shared = Shared::new(&mut counts);
        run(&|t| {
            // SAFETY: each thread has counts of its own.
            let own = unsafe { shared.part(t * copies * bins..(t + 1) * copies * bins) };
            for keys in keys[part(n, 64, t)].chunks(copies) {
                for (k, key) in keys.iter().enumerate() {
                    own[k * bins + *key as usize] += 1;
                }
            }
        });
        for (k, o) in out.iter_mut().enumerate() {
            *o = counts.iter().skip(k).step_by(bins).sum();
        }
    });
    let bytes = (4 * n + 4 * bins) as f64;
    let size = format!("{}, {} bins", label(n), label(bins));
    Row { name: "histogram", size, bytes, flops: 0.0, program, args, hand, tolerance: 0.0 }
}

const CENTRES: usize = 16;

/// The nearest of the centres for each point, and the mean of the points of each.
fn kmeans(n: usize) -> Row {
    let (x, y) = (floats(24, n, 0.0, 1.0), floats(25, n, 0.0, 1.0));
    let (cx, cy) = (floats(26, CENTRES, 0.0, 1.0), floats(27, CENTRES, 0.0, 1.0));
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, cx: Acc<Vector<f32>>, cy: Acc<Vector<f32>>| {
            let label = x.zip_with(&y, |x, y| {
                let step = |(k, best, least): (Exp<i64>, Exp<i64>, Exp<f32>)| {
                    let (dx, dy) = (x - cx.index(k), y - cy.index(k));
                    let d = dx * dx + dy * dy;
                    let closer = d.lt(least);
                    (k + 1, closer.then_else(k, best), closer.then_else(d, least))
                };
                while_((0i64, 0i64, f32::MAX), |(k, _, _)| k.lt(CENTRES as i64), step).1
            });
            let one = x.zip_with(&y, |x, y| (x, y, 1f32));
            let sums = one.permute(
                fill(CENTRES, (0f32, 0f32, 0f32)),
                |(a, b, n), (c, d, m)| (a + c, b + d, n + m),
                |i| Some(label.index(i)),
            );
            sums.map(|(x, y, n)| (x / n, y / n))
        },
        (&vector(&x), &vector(&y), &vector(&cx), &vector(&cy)).into_data(),
    );
    let mut sums = vec![[0f32; 3]; CENTRES * threads()];
    let hand = hand((vec![0f32; CENTRES], vec![0f32; CENTRES]), move |(mx, my)| {
        sums.fill([0.0; 3]);
        let shared = Shared::new(&mut sums);
        run(&|t| {
            let r = part(n, 8, t);
            // SAFETY: each thread has sums of its own; the caller has seen the features.
            unsafe { assign(shared.part(t * CENTRES..(t + 1) * CENTRES), [&x[r.clone()], &y[r]], [&cx, &cy]) };
        });
        for k in 0..CENTRES {
            let of = |c: usize| sums.iter().skip(k).step_by(CENTRES).map(|s| s[c]).sum::<f32>();
            (mx[k], my[k]) = (of(0) / of(2), of(1) / of(2));
        }
    });
    let (bytes, flops) = (8.0 * n as f64, (6 * CENTRES * n) as f64);
    Row {
        name: "k-means step",
        size: format!("{}, {CENTRES} centres", label(n)),
        bytes,
        flops,
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

#[target_feature(enable = "avx2,fma")]
fn assign(sums: &mut [[f32; 3]], [x, y]: [&[f32]; 2], [cx, cy]: [&[f32]; 2]) {
    let n = x.len() / 8 * 8;
    let mut labels = [0i32; 8];
    for i in (0..n).step_by(8) {
        // SAFETY: both have eight elements from `i` on.
        let (px, py) = unsafe { (_mm256_loadu_ps(x.as_ptr().add(i)), _mm256_loadu_ps(y.as_ptr().add(i))) };
        let (mut least, mut best) = (_mm256_set1_ps(f32::MAX), _mm256_setzero_si256());
        for k in 0..CENTRES {
            let (dx, dy) = (_mm256_sub_ps(px, _mm256_set1_ps(cx[k])), _mm256_sub_ps(py, _mm256_set1_ps(cy[k])));
            let d = _mm256_fmadd_ps(dx, dx, _mm256_mul_ps(dy, dy));
            let closer = _mm256_cmp_ps::<_CMP_LT_OQ>(d, least);
            least = _mm256_min_ps(d, least);
            best = _mm256_blendv_epi8(best, _mm256_set1_epi32(k as i32), _mm256_castps_si256(closer));
        }
        // SAFETY: eight lanes fit.
        unsafe { _mm256_storeu_si256(labels.as_mut_ptr().cast(), best) };
        for (k, label) in labels.iter().enumerate() {
            let s = &mut sums[*label as usize];
            (s[0], s[1], s[2]) = (s[0] + x[i + k], s[1] + y[i + k], s[2] + 1.0);
        }
    }
    for i in n..x.len() {
        let apart = |k: &usize| (x[i] - cx[*k]).powi(2) + (y[i] - cy[*k]).powi(2);
        let nearest = (0..CENTRES).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(0);
        let s = &mut sums[nearest];
        (s[0], s[1], s[2]) = (s[0] + x[i], s[1] + y[i], s[2] + 1.0);
    }
}
