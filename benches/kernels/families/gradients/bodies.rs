//! Bodies that attract each other: the loss is the sum of the squares of their accelerations, the gradient by their
//! positions.

use super::super::bodies::{accelerations, between, forces};
use super::{What, both, vector};
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, split};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    both(|what| bodies(what, 2048))
}

type Positions = (Acc<Vector<f32>>, Acc<Vector<f32>>, Acc<Vector<f32>>);

fn loss((x, y, z): Positions, mass: &Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    forces(&x, &y, &z, mass).map(|(x, y, z)| x * x + y * y + z * z).sum()
}

fn bodies(what: What, n: usize) -> Row {
    let [x, y, z] = [49, 50, 51].map(|seed| floats(seed, n, -1.0, 1.0));
    let mass = floats(52, n, 0.1, 1.0);
    let arrays = (&vector(&x), &vector(&y), &vector(&z), &vector(&mass)).into_data();
    let (program, args) = match what {
        What::Loss => program(
            |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, z: Acc<Vector<f32>>, mass: Acc<Vector<f32>>| {
                loss((x, y, z), &mass)
            },
            arrays,
        ),
        What::WithGradient => program(
            |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>, z: Acc<Vector<f32>>, mass: Acc<Vector<f32>>| {
                value_and_grad((&x, &y, &z), |at| loss(at, &mass))
            },
            arrays,
        ),
    };
    let mut by_hand = ByHand { of: [x, y, z, mass], accelerations: [(); 3].map(|()| vec![0f32; n]) };
    let hand = match what {
        What::Loss => hand(0f32, move |out| *out = by_hand.loss()),
        What::WithGradient => {
            let gradient = (vec![0f32; n], vec![0f32; n], vec![0f32; n]);
            hand((0f32, gradient), move |(out, (x, y, z))| {
                *out = by_hand.loss();
                by_hand.gradient([x, y, z]);
            })
        }
    };
    let pairs = (n * n) as f64;
    Row {
        name: match what {
            What::Loss => "gradient: n-body (loss)",
            What::WithGradient => "gradient: n-body (with gradient)",
        },
        size: n.to_string(),
        read: 16.0 * n as f64,
        written: if what == What::Loss { 0.0 } else { 12.0 * n as f64 },
        flops: if what == What::Loss { 20.0 * pairs } else { 57.0 * pairs },
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

/// The kernels by hand.
struct ByHand {
    /// Positions and masses.
    of: [Vec<f32>; 4],
    accelerations: [Vec<f32>; 3],
}

impl ByHand {
    fn loss(&mut self) -> f32 {
        let of = self.of.each_ref().map(|v| &v[..]);
        let out = self.accelerations.each_mut().map(|v| Shared::new(v));
        split(of[0].len(), 16, |r| {
            // SAFETY: the parts are disjoint.
            let parts = out.each_ref().map(|out| unsafe { out.part(r.clone()) });
            accelerations(parts, r.start, of);
        });
        self.accelerations.iter().flatten().map(|a| a * a).sum()
    }

    /// After the accelerations.
    fn gradient(&self, out: [&mut Vec<f32>; 3]) {
        let (of, accelerations) = (self.of.each_ref().map(|v| &v[..]), self.accelerations.each_ref().map(|v| &v[..]));
        let out = out.map(|v| Shared::new(v));
        split(of[0].len(), 16, |r| {
            // SAFETY: the parts are disjoint.
            let parts = out.each_ref().map(|out| unsafe { out.part(r.clone()) });
            adjoints(parts, r.start, of, accelerations);
        });
    }
}

on_widest! {
    /// The adjoints of the positions of these bodies, as each acts on all others and is acted upon.
    fn adjoints(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4], accelerations: [&[f32]; 3]) = adjoints_in;
}

/// With `a` half the adjoints of the accelerations, which are these themselves, `d` from here to the other and `w` the
/// other's `a` times the mass here less the `a` here times the other's mass, the sum of `w / r^3 - 3 (w . d) d / r^5`.
#[inline(always)]
unsafe fn adjoints_in<V: Lanes>(out: [&mut [f32]; 3], start: usize, of: [&[f32]; 4], accelerations: [&[f32]; 3]) {
    // SAFETY: by the contract; all inputs have a vector from `start + i` on, all outputs from `i` on.
    unsafe {
        for i in (0..out[0].len()).step_by(V::LANES) {
            let (mut here, mut own) = ([V::all(0.0); 3], [V::all(0.0); 3]);
            for c in 0..3 {
                here[c] = V::load(of[c].as_ptr().add(start + i));
                own[c] = V::load(accelerations[c].as_ptr().add(start + i));
            }
            let mass = V::load(of[3].as_ptr().add(start + i));
            let mut sums = [V::all(0.0); 3];
            for j in 0..of[0].len() {
                let (d, inverse) = between(here, of, j);
                let minus = V::all(-of[3][j]);
                let mut w = d;
                for c in 0..3 {
                    w[c] = own[c].mul_add(minus, mass * V::all(accelerations[c][j]));
                }
                let square = inverse * inverse;
                let cube = square * inverse;
                let dot = w[2].mul_add(d[2], w[1].mul_add(d[1], w[0] * d[0]));
                let back = dot * (square * cube) * V::all(-3.0);
                for c in 0..3 {
                    sums[c] = w[c].mul_add(cube, d[c].mul_add(back, sums[c]));
                }
            }
            for c in 0..3 {
                (sums[c] + sums[c]).store(out[c].as_mut_ptr().add(i));
            }
        }
    }
}
