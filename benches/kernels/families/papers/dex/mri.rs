//! MRI-Q: a matrix of magnetic resonance imaging, of each voxel a sum over the samples of the scanner.

use super::super::super::vector;
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use acc_benches::papers::dex as papers;
use acc_core::prelude::*;
use std::f32::consts::TAU;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| mri(32, 3072)), Box::new(|| mri(64, 2048))]
}

fn vectors(of: [&[f32]; 3]) -> papers::Points {
    let [x, y, z] = of.map(vector);
    (x, y, z)
}

fn mri(side: usize, samples: usize) -> Row {
    let voxels = side.pow(3);
    let at = [94, 95, 96].map(|seed| floats(seed, voxels, -0.5, 0.5));
    let [kx, ky, kz] = [97, 98, 99].map(|seed| floats(seed, samples, -8.0, 8.0));
    let of = [kx, ky, kz, floats(100, samples, 0.0, 1.0)];
    let (program, args) = program(
        papers::mri,
        (&vectors([&at[0], &at[1], &at[2]]), &vectors([&of[0], &of[1], &of[2]]), &vector(&of[3])).into_data(),
    );
    let hand = hand((vec![0f32; voxels], vec![0f32; voxels]), move |(real, imaginary)| {
        let (real, imaginary) = (Shared::new(real), Shared::new(imaginary));
        split(voxels, 64, |r| {
            // SAFETY: the parts are disjoint.
            let out = unsafe { [real.part(r.clone()), imaginary.part(r.clone())] };
            sums(out, at.each_ref().map(|at| &at[r.clone()]), &of);
        });
    });
    Row {
        name: "dex: MRI-Q",
        size: format!("{side}³, {samples} samples"),
        read: 12.0 * voxels as f64,
        written: 8.0 * voxels as f64,
        flops: 36.0 * (voxels * samples) as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

on_widest! {
    /// The sums of some voxels, two vectors at a time; their number is a multiple of these.
    fn sums(out: [&mut [f32]; 2], at: [&[f32]; 3], of: &[Vec<f32>; 4]) = sums_in;
}

/// Vectors side by side.
const SIDE: usize = 2;

#[inline(always)]
unsafe fn sums_in<V: Lanes>(out: [&mut [f32]; 2], at: [&[f32]; 3], of: &[Vec<f32>; 4]) {
    for i in (0..at[0].len()).step_by(SIDE * V::LANES) {
        // SAFETY: by the contract.
        unsafe {
            let (mut here, mut sums) = ([[V::all(0.0); 3]; SIDE], [[V::all(0.0); 2]; SIDE]);
            for s in 0..SIDE {
                for c in 0..3 {
                    here[s][c] = V::load(at[c].as_ptr().add(i + s * V::LANES));
                }
            }
            for k in 0..of[0].len() {
                let [x, y, z, magnitude] = [0, 1, 2, 3].map(|c| V::all(*of[c].get_unchecked(k)));
                for s in 0..SIDE {
                    let turns = x.mul_add(here[s][0], y.mul_add(here[s][1], z * here[s][2]));
                    let (sin, cos) = sin_cos(turns);
                    sums[s][0] = magnitude.mul_add(cos, sums[s][0]);
                    sums[s][1] = magnitude.mul_add(sin, sums[s][1]);
                }
            }
            for s in 0..SIDE {
                for c in 0..2 {
                    sums[s][c].store(out[c].as_mut_ptr().add(i + s * V::LANES));
                }
            }
        }
    }
}

/// Sine and cosine of turns, by those of half the angle, which is a right one at most.
#[inline(always)]
unsafe fn sin_cos<V: Lanes>(turns: V) -> (V, V) {
    const TWICE_SIN: [f32; 5] = [0.155_311_82, -1.196_580_8, 5.100_155, -10.335_42, TAU];
    const COS: [f32; 5] = [0.219_682_42, -1.331_873, 4.058_410_6, -4.934_793, 0.999_999_95];
    let turns = turns - turns.round();
    let square = turns * turns;
    // SAFETY: by the contract.
    unsafe {
        let horner = |c: &[f32; 5]| c[1..].iter().fold(V::all(c[0]), |sum, c| sum.mul_add(square, V::all(*c)));
        let (twice_sin, cos) = (horner(&TWICE_SIN) * turns, horner(&COS));
        (twice_sin * cos, (twice_sin * V::all(-0.5)).mul_add(twice_sin, V::all(1.0)))
    }
}
