//! Hotspot: how warm the parts of a processor become.

use super::super::super::matrix;
use super::wavefront::{Grid, Step, Sweep};
use crate::data::floats;
use crate::lanes::{Lanes, on_widest};
use crate::row::{Row, hand, program};
use acc_benches::papers::dex as papers;
use acc_core::prelude::*;
use papers::hotspot::{AMBIENT, HORIZONTAL, OUTSIDE, RATE, STEPS, VERTICAL};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [64, 512, 1024].into_iter().map(|n| Box::new(move || hotspot(n)) as Box<dyn Fn() -> Row>).collect()
}

fn hotspot(n: usize) -> Row {
    let (start, power) = (floats(90, n * n, 320.0, 330.0), floats(91, n * n, 0.0, 5.0));
    let (program, args) = program(papers::hotspot, (&matrix(n, &start), &matrix(n, &power)).into_data());
    let padded = n + 2 * PAD;
    let mut grid = Grid::new(n, padded, DEPTH);
    let mut states = [vec![0f32; n * padded], vec![0f32; n * padded]];
    let hand = hand(vec![0f32; n * n], move |out| {
        let [from, to] = &mut states;
        for (row, start) in from.chunks_exact_mut(padded).zip(start.chunks_exact(n)) {
            row[PAD..PAD + n].copy_from_slice(start);
            row[PAD - 1] = start[0];
            row[PAD + n] = start[n - 1];
        }
        grid.steps(STEPS as usize, to, from, |s| sweep(s, &power));
        for (row, out) in to.chunks_exact(padded).zip(out.chunks_exact_mut(n)) {
            out.copy_from_slice(&row[PAD..PAD + n]);
        }
    });
    let cells = (n * n) as f64;
    Row {
        name: "dex: hotspot",
        size: format!("{n}², {STEPS} steps"),
        read: 8.0 * cells,
        written: 4.0 * cells,
        flops: 12.0 * f64::from(STEPS) * cells,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}

/// Elements beside a row, where its first and its last one are repeated.
const PAD: usize = 16;
/// Steps of a sweep.
const DEPTH: usize = 8;

on_widest! {
    /// The rows of a thread in some steps.
    fn sweep(sweep: Sweep<'_>, power: &[f32]) = sweep_in;
}

#[inline(always)]
unsafe fn sweep_in<V: Lanes>(sweep: Sweep<'_>, power: &[f32]) {
    let n = power.len().isqrt();
    sweep.run(Flow::<V> { n, power, lanes: std::marker::PhantomData });
}

/// A row of a step; its length is a multiple of the lanes.
struct Flow<'a, V> {
    n: usize,
    power: &'a [f32],
    lanes: std::marker::PhantomData<fn(V)>,
}

impl<V: Lanes> Step for Flow<'_, V> {
    #[inline(always)]
    unsafe fn row(&self, to: *mut f32, from: [*const f32; 3], row: usize) {
        const WEIGHT_OF_OWN: f32 = 1.0 - RATE * (2.0 * VERTICAL + 2.0 * HORIZONTAL + OUTSIDE);
        // SAFETY: by the contract; rows are padded, and there is a step alone where the machine has the features of its lanes.
        unsafe {
            let power = self.power.as_ptr().add(row * self.n);
            let (to, [above, here, below]) = (to.add(PAD), from.map(|row| row.add(PAD)));
            for j in (0..self.n).step_by(V::LANES) {
                let at = |row: *const f32| V::load(row.add(j));
                let sum = at(power).mul_add(V::all(RATE), V::all(RATE * OUTSIDE * AMBIENT));
                let sum = (at(above) + at(below)).mul_add(V::all(RATE * VERTICAL), sum);
                let sum = (at(here.sub(1)) + at(here.add(1))).mul_add(V::all(RATE * HORIZONTAL), sum);
                at(here).mul_add(V::all(WEIGHT_OF_OWN), sum).store(to.add(j));
            }
            *to.sub(1) = *to;
            *to.add(self.n) = *to.add(self.n - 1);
        }
    }
}
