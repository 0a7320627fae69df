//! The properties, regression tests and programs of Accelerate's own suite, `accelerate-nofib`.

mod control;
mod data;
mod elementwise;
mod folds;
mod movements;
mod permutes;
mod programs;
mod reductions;
mod scans;
mod sharing;
mod stencils;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    [
        control::cases(),
        elementwise::cases(),
        folds::cases(),
        movements::cases(),
        permutes::cases(),
        programs::cases(),
        reductions::cases(),
        scans::cases(),
        sharing::cases(),
        stencils::cases(),
    ]
    .concat()
}
