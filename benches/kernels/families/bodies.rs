//! Bodies that attract each other.

use super::vector;
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| bodies(2048))]
}

/// Keeps bodies that are very near each other from flying apart.
const SOFTENING: f32 = 1e-3;

/// The acceleration of each body, as a program.
pub fn forces(
    x: &Acc<Vector<f32>>,
    y: &Acc<Vector<f32>>,
    z: &Acc<Vector<f32>>,
    mass: &Acc<Vector<f32>>,
) -> Acc<Vector<(f32, f32, f32)>> {
    let n = x.length();
    let bodies = x.zip4(y, z, mass);
    let (these, others) = (bodies.replicate((All, n)), bodies.replicate((n, All)));
    let pull = these.zip_with(&others, |(x, y, z, _), (x2, y2, z2, mass)| {
        let (dx, dy, dz) = (x2 - x, y2 - y, z2 - z);
        let square = dx * dx + dy * dy + dz * dz + SOFTENING;
        let inverse = 1.0 / square.sqrt();
        let g = mass * inverse * inverse * inverse;
        (g * dx, g * dy, g * dz)
    });
    pull.fold((0.0, 0.0, 0.0), |(a, b, c), (d, e, f)| (a + d, b + e, c + f))
}

fn bodies(n: usize) -> Row {
    let [x, y, z] = [9, 10, 11].map(|seed| floats(seed, n, -1.0, 1.0));
    let mass = floats(12, n, 0.1, 1.0);
    let (program, args) = program(
        |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, z: Acc<Vector<f32>>, mass: Acc<Vector<f32>>| {
            forces(&x, &y, &z, &mass)
        },
        (&vector(&x), &vector(&y), &vector(&z), &vector(&mass)).into_data(),
    );
    let hand = hand((vec![0f32; n], vec![0f32; n], vec![0f32; n]), move |(ax, ay, az)| {
        let out = [ax, ay, az].map(|v| Shared::new(v));
        split(n, 16, |r| {
            let [ax, ay, az] = &out;
            // SAFETY: the parts are disjoint.
            let parts = unsafe { [ax.part(r.clone()), ay.part(r.clone()), az.part(r.clone())] };
            accelerations(parts, r.start, [&x, &y, &z, &mass]);
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

on_widest! {
    /// The forces of all bodies on each of these, a vector at a time; their number is a multiple of the lanes.
    pub fn accelerations(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4]) = accelerations_in;
}

/// From these positions to that of a body, and the inverse of the distance, from one step of Newton's method on an estimate.
///
/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
pub unsafe fn between<V: Lanes>(here: [V; 3], of: [&[f32]; 4], body: usize) -> ([V; 3], V) {
    // SAFETY: by the contract.
    unsafe {
        let mut d = here;
        for c in 0..3 {
            d[c] = V::all(of[c][body]) - here[c];
        }
        let square = d[0].mul_add(d[0], V::all(SOFTENING));
        let square = d[2].mul_add(d[2], d[1].mul_add(d[1], square));
        let e = square.inverse_root();
        (d, e * (square * V::all(-0.5)).mul_add(e * e, V::all(1.5)))
    }
}

#[inline(always)]
unsafe fn accelerations_in<V: Lanes>(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4]) {
    // SAFETY: by the contract; all inputs have a vector from `start + i` on, all outputs from `i` on.
    unsafe {
        for i in (0..out[0].len()).step_by(V::LANES) {
            let mut here = [V::all(0.0); 3];
            for c in 0..3 {
                here[c] = V::load(of[c].as_ptr().add(start + i));
            }
            let mut sums = [V::all(0.0); 3];
            for j in 0..of[0].len() {
                let (d, inverse) = between(here, of, j);
                let g = (inverse * inverse) * (inverse * V::all(of[3][j]));
                for c in 0..3 {
                    sums[c] = g.mul_add(d[c], sums[c]);
                }
            }
            for c in 0..3 {
                sums[c].store(out[c].as_mut_ptr().add(i));
            }
        }
    }
}
