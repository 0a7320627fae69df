//! `a x + y`, compiled once and called often, with arrays of any length.
//!
//! ```text
//! [3.0, 5.0, 7.0]
//! [12.5]
//! ```

use acc_array::prelude::*;

/// `a x + y`.
pub fn saxpy(a: &Acc<Scalar<f32>>, xs: &Acc<Vector<f32>>, ys: &Acc<Vector<f32>>) -> Acc<Vector<f32>> {
    xs.zip_with(ys, |x, y| x * a + y)
}

fn main() -> Result<(), Error> {
    let saxpy = compile(|a, xs, ys| saxpy(&a, &xs, &ys))?;
    let (two, ones) = (Scalar::scalar(2.0), Vector::from([1.0; 3]));
    println!("{:?}", saxpy.call((&two, &Vector::from([1.0, 2.0, 3.0]), &ones))?.to_vec());
    println!("{:?}", saxpy.call((&two, &Vector::from([6.0]), &Vector::from([0.5])))?.to_vec());
    Ok(())
}
