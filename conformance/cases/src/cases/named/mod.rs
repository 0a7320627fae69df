//! Arrays with named axes, beside the same programs in combinators.

mod accumulated;
mod programs;

use super::{Case, Check, case, host};
use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden, Query, Key, Point, Cluster, Bin);

/// Every case of the folder.
pub fn cases() -> Vec<Case> {
    [accumulated::cases(), programs::cases()].concat()
}

/// Numbers between -1 and 1 without a pattern.
fn matrix(seed: usize, rows: usize, columns: usize) -> Matrix<f64> {
    host((rows, columns), (0..rows * columns).map(|k| ((k * k * 31 + k * 17 + seed * 7) % 41) as f64 / 20.0 - 1.0))
}
