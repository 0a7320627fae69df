//! Many steps, each of which computes each row from that row and those beside it: several steps in one sweep over the rows,
//! each a row behind the one before, so that rows between steps stay in the cache (after Wonnacott: Time Skewing for
//! Parallel Computers, 1999). Threads compute the rows beside their own, too, and wait for each other once a sweep.

use crate::pool::{Shared, part, run, threads};
use std::ops::Range;

/// A row of the next step, from the row before, the row itself and the row after, and its number. Beside the first and the
/// last row are themselves.
pub trait Step: Sync {
    /// # Safety
    ///
    /// There are so many elements as a row has.
    unsafe fn row(&self, to: *mut f32, from: [*const f32; 3], row: usize);
}

/// What is computed, and the memory for it.
pub struct Grid {
    rows: usize,
    /// Elements of a row.
    size: usize,
    /// Steps of a sweep.
    depth: usize,
    /// Every other sweep's result.
    other: Vec<f32>,
    /// Of each thread the last rows of odd and of even steps.
    own: Vec<Vec<f32>>,
}

/// A sweep of a thread.
pub struct Sweep<'a> {
    grid: [usize; 2],
    steps: usize,
    own: Range<usize>,
    from: *const f32,
    to: Shared<f32>,
    memory: &'a mut [f32],
}

impl Grid {
    pub fn new(rows: usize, size: usize, depth: usize) -> Grid {
        let own = (0..threads()).map(|_| vec![0.0; 2 * (depth + 3).next_power_of_two() * size]).collect();
        Grid { rows, size, depth, other: vec![0.0; rows * size], own }
    }

    /// Goes so many steps from a state; `sweep` calls [`Sweep::run`].
    pub fn steps(&mut self, count: usize, out: &mut [f32], start: &[f32], sweep: impl Fn(Sweep<'_>) + Sync) {
        assert!(out.len() == self.rows * self.size && start.len() == out.len());
        let (other, out) = (Shared::new(&mut self.other), Shared::new(out));
        let own = Shared::new(&mut self.own);
        let sweeps = count.div_ceil(self.depth);
        for k in 0..sweeps {
            // The last one is that into `out`.
            let [to, from] = if (sweeps - k) % 2 == 1 { [&out, &other] } else { [&other, &out] };
            run(&|t| {
                // SAFETY: each thread has its own memory.
                let memory = unsafe { &mut own.part(t..t + 1)[0] };
                sweep(Sweep {
                    grid: [self.rows, self.size],
                    steps: self.depth.min(count - k * self.depth),
                    own: part(self.rows, 1, t),
                    from: if k == 0 { start.as_ptr() } else { from.start() },
                    to: *to,
                    memory,
                });
            });
        }
    }
}

impl Sweep<'_> {
    /// Computes the rows of a thread.
    #[inline(always)]
    pub fn run(self, step: impl Step) {
        let Sweep { grid: [rows, size], steps, own, from, to, memory } = self;
        // A power of two, and larger than the distance of rows that are needed at the same time.
        let ring = memory.len() / size / 2;
        let memory = memory.as_mut_ptr();
        let needed = |k: usize| own.start.saturating_sub(steps - 1 - k)..rows.min(own.end + steps - 1 - k);
        // SAFETY: the rows of a ring are in the memory, and others are in their arrays; threads write their own rows alone.
        unsafe {
            let kept = |k: usize, row: usize| memory.add((k % 2 * ring + (row & (ring - 1))) * size);
            for front in needed(0).start..needed(0).end + steps - 1 {
                for k in 0..steps {
                    let Some(row) = front.checked_sub(k).filter(|row| needed(k).contains(row)) else { continue };
                    let from = [row.saturating_sub(1), row, (row + 1).min(rows - 1)]
                        .map(|row| if k == 0 { from.add(row * size) } else { kept(k - 1, row).cast_const() });
                    let to = if k == steps - 1 { to.start().add(row * size) } else { kept(k, row) };
                    step.row(to, from, row);
                }
            }
        }
    }
}
