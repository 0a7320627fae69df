//! The first program: a dot product.
//!
//! ```text
//! 32
//! ```

use acc_array::prelude::*;

/// The sum of products.
pub fn dot(xs: &Acc<Vector<f64>>, ys: &Acc<Vector<f64>>) -> Acc<Scalar<f64>> {
    xs.zip_with(ys, |x, y| x * y).sum()
}

fn main() -> Result<(), Error> {
    let xs = use_(&Vector::from([1.0, 2.0, 3.0]));
    let ys = use_(&Vector::from([4.0, 5.0, 6.0]));
    println!("{}", run(dot(&xs, &ys))?.value());
    Ok(())
}
