//! The Mandelbrot set: how many steps each point takes to leave.

use crate::lanes::{Lanes, on_widest};
use crate::pool::{Shared, each};
use crate::row::{Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| mandelbrot(1024, 256))]
}

/// Rows of points that are in flight at a time, a vector of each.
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
        // Rows near the real axis take longest, so threads take rows one after the other.
        each(n / U, |j| {
            // SAFETY: each row is one thread's.
            escape(unsafe { out.part(j * U * n..(j + 1) * U * n) }, j * U, step, limit);
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

on_widest! {
    /// The steps until each point of some rows leaves the circle of radius 2.
    fn escape(out: &mut [i32], j: usize, step: f32, limit: i32) = escape_in;
}

#[inline(always)]
unsafe fn escape_in<V: Lanes>(out: &mut [i32], j: usize, step: f32, limit: i32) {
    let n = out.len() / U;
    let iota: [f32; 16] = std::array::from_fn(|k| k as f32);
    // SAFETY: by the contract; row `k` has `V::LANES` places from `i` on.
    unsafe {
        let place = |k: V, low: f32| k * V::all(step) + V::all(low);
        let mut cy = [V::all(0.0); U];
        for k in 0..U {
            cy[k] = place(V::all((j + k) as f32), -1.5);
        }
        for i in (0..n).step_by(V::LANES) {
            let cx = place(V::all(i as f32) + V::load(iota.as_ptr()), -2.0);
            let (mut zx, mut zy, mut count) = ([V::all(0.0); U], [V::all(0.0); U], [V::counts(); U]);
            for _ in 0..limit / STEPS {
                let mut on = false;
                for _ in 0..STEPS {
                    on = false;
                    for k in 0..U {
                        let (xx, yy) = (zx[k] * zx[k], zy[k] * zy[k]);
                        // A lane that has left stays out: its count stops, and its other values do not matter.
                        on |= (xx + yy).count_at_most(V::all(4.0), &mut count[k]);
                        // In the order of the complex product, each operation rounded.
                        let xy = zx[k] * zy[k];
                        zy[k] = (xy + xy) + cy[k];
                        zx[k] = (xx - yy) + cx;
                    }
                }
                if !on {
                    break;
                }
            }
            for k in 0..U {
                V::store_counts(count[k], out.as_mut_ptr().add(k * n + i));
            }
        }
    }
}
