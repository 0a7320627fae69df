//! The product of two matrices.

use super::{Example, example, scatter, tour_error};
use crate::compare::Near;
use acc_core::prelude::*;

const N: usize = 72;

/// Every row of `a` times every column of `b`.
fn product(a: &Acc<Matrix<f32>>, b: &Acc<Matrix<f32>>) -> Acc<Matrix<f32>> {
    let ((rows, _), (_, columns)) = (a.shape(), b.shape());
    let (a, b) = (a.replicate((All, columns, All)), b.transpose().replicate((rows, All, All)));
    a.zip_with(&b, |x, y| x * y).sum()
}

pub(super) fn matmul() -> Result<Example, Error> {
    let rows = |skip: usize| scatter(2 * N * N).skip(skip).take(N * N).map(|x| x as f32 - 0.5).collect();
    let matrix = |skip| Matrix::from_vec((N, N), rows(skip)).map_err(tour_error);
    let (a, b) = (matrix(0)?, matrix(N * N)?);
    example(
        "matmul",
        format!("product of two {N} x {N} matrices"),
        |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| product(&a, &b),
        (&a, &b).into_data(),
        // Half a unit for each addition of a row, in two orders.
        Near::ColumnUlp(N as u64),
    )
}
