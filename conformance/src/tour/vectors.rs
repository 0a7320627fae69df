//! Sums and maps of vectors.

use super::{Example, example, scatter};
use crate::compare::Near;
use acc_core::prelude::*;

/// The sum of products.
pub(super) fn dot() -> Result<Example, Error> {
    const N: usize = 200_000;
    let xs: Vector<f64> = scatter(N).collect();
    let ys: Vector<f64> = scatter(N).map(|x| 1.0 - x).collect();
    example(
        "dot",
        format!("dot product of {N} pairs"),
        |xs: Acc<Vector<f64>>, ys: Acc<Vector<f64>>| xs.zip_with(&ys, |x, y| x * y).sum(),
        (&xs, &ys).into_data(),
        // Half a unit in the last place for each addition, in two orders.
        Near::ColumnUlp(N as u64),
    )
}

/// `a x + y`.
pub(super) fn saxpy() -> Result<Example, Error> {
    const N: usize = 200_000;
    let xs: Vector<f32> = scatter(N).map(|x| x as f32).collect();
    let ys: Vector<f32> = scatter(N).map(|x| 10.0 - x as f32).collect();
    example(
        "saxpy",
        format!("a x + y over {N} elements"),
        |a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| xs.zip_with(&ys, |x, y| x * &a + y),
        (&Scalar::scalar(2.5f32), &xs, &ys).into_data(),
        Near::Exact,
    )
}

/// The sum of each segment so far, by one scan of pairs: a flag starts a new segment.
pub(super) fn segmented_sums() -> Result<Example, Error> {
    const N: usize = 100_000;
    let flags: Vector<bool> = scatter(N).map(|x| x < 0.02).collect();
    let xs: Vector<i64> = scatter(N).map(|x| (x * 1000.0) as i64 - 500).collect();
    example(
        "segmented_sums",
        format!("sums within segments of {N} elements, by scan"),
        |flags: Acc<Vector<bool>>, xs: Acc<Vector<i64>>| {
            flags.zip(&xs).scanl1(|(fa, a), (fb, b)| (fa | fb, fb.then_else(b, a + b))).map(|(_, sum)| sum)
        },
        (&flags, &xs).into_data(),
        Near::Exact,
    )
}
