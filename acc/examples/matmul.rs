//! A product of matrices from plain combinators: it runs as one, without the intermediate arrays.
//!
//! ```text
//! [[19.0, 22.0], [43.0, 50.0]]
//! ```

use acc_array::prelude::*;

/// Every row of `a` times every column of `b`.
pub fn product(a: &Acc<Matrix<f32>>, b: &Acc<Matrix<f32>>) -> Acc<Matrix<f32>> {
    let ((rows, _), (_, columns)) = (a.shape(), b.shape());
    let (a, b) = (a.replicate((All, columns, All)), b.transpose().replicate((rows, All, All)));
    a.zip_with(&b, |x, y| x * y).sum()
}

fn main() -> Result<(), Error> {
    let a = use_(&Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
    let b = use_(&Matrix::from([[5.0, 6.0], [7.0, 8.0]]));
    println!("{:?}", run(product(&a, &b))?.to_ndarray().outer_iter().map(|r| r.to_vec()).collect::<Vec<_>>());
    Ok(())
}
