//! A stencil of seven points in space, whose boundary stays as it is.

use super::wavefront::{Grid, Step, Sweep};
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::row::{Row, hand, program};
use acc_benches::papers::dex as papers;
use acc_core::prelude::*;
use papers::stencil::{BESIDE, CENTRE};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    // A fifth of the steps of the large one, so that it takes no minute.
    vec![Box::new(|| stencil([128, 128, 32], 100)), Box::new(|| stencil([512, 512, 64], 20))]
}

fn stencil([n, m, p]: [usize; 3], steps: i32) -> Row {
    let start = floats(92, n * m * p, 0.0, 1.0);
    let array = Array::from_vec((n, m, p), start.clone()).unwrap_or_else(|e| panic!("a block: {e}"));
    let (program, args) = program(papers::stencil(steps), (&array,).into_data());
    let mut grid = Grid::new(n, m * p, DEPTH);
    let hand = hand(vec![0f32; n * m * p], move |out| {
        grid.steps(steps as usize, out, &start, |s| sweep(s, [n, m, p]));
    });
    let cells = (n * m * p) as f64;
    Row {
        name: "dex: stencil",
        size: format!("{n}x{m}x{p}, {steps} steps"),
        read: 4.0 * cells,
        written: 4.0 * cells,
        flops: 8.0 * f64::from(steps) * cells,
        program,
        args,
        hand,
        tolerance: 1e-5,
    }
}

/// Steps of a sweep.
const DEPTH: usize = 4;

on_widest! {
    /// The planes of a thread in some steps.
    fn sweep(sweep: Sweep<'_>, extents: [usize; 3]) = sweep_in;
}

#[inline(always)]
unsafe fn sweep_in<V: Lanes>(sweep: Sweep<'_>, extents: [usize; 3]) {
    sweep.run(Plane::<V> { extents, lanes: std::marker::PhantomData });
}

/// A plane of a step; its rows are multiples of the lanes.
struct Plane<V> {
    extents: [usize; 3],
    lanes: std::marker::PhantomData<fn(V)>,
}

impl<V: Lanes> Step for Plane<V> {
    #[inline(always)]
    unsafe fn row(&self, to: *mut f32, [before, here, after]: [*const f32; 3], plane: usize) {
        let [n, m, p] = self.extents;
        // SAFETY: by the contract; there is a step alone where the machine has the features of its lanes, and all rows but the
        // first and the last of a plane have elements beside them.
        unsafe {
            if plane == 0 || plane == n - 1 {
                return to.copy_from_nonoverlapping(here, m * p);
            }
            for j in [0, m - 1] {
                to.add(j * p).copy_from_nonoverlapping(here.add(j * p), p);
            }
            for j in 1..m - 1 {
                let row = j * p;
                for at in (row..row + p).step_by(V::LANES) {
                    let [x, y, z, u, v, w] = [
                        before.add(at),
                        after.add(at),
                        here.add(at - p),
                        here.add(at + p),
                        here.add(at - 1),
                        here.add(at + 1),
                    ]
                    .map(|from| V::load(from));
                    let sum = ((x + y) + (z + u)) + (v + w);
                    sum.mul_add(V::all(BESIDE), V::load(here.add(at)) * V::all(CENTRE)).store(to.add(at));
                }
                for at in [row, row + p - 1] {
                    *to.add(at) = *here.add(at);
                }
            }
        }
    }
}
