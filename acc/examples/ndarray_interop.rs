//! Arrays of the crate `ndarray` in and out, without copies where these lie in rows.
//!
//! ```text
//! [[0, 10], [20, 30], [40, 50]]
//! 150
//! ```

use acc_array::prelude::*;
use ndarray::Array2;

fn main() -> Result<(), Error> {
    let counted = Array2::from_shape_fn((3, 2), |(i, j)| (2 * i + j) as i64);
    let tens = run(use_(&Matrix::from(counted)).map(|x| x * 10))?;
    println!("{}", tens.view().to_string().replace("],\n ", "], "));
    println!("{}", tens.view().sum());
    Ok(())
}
