//! A sparse matrix times a vector: rows of different lengths as segments.
//!
//! ```text
//! [7.0, 0.0, 18.0]
//! ```

use acc_array::prelude::*;

/// A matrix in compressed rows: `lengths` tells how many entries each row has, `columns` and `values` list them.
pub fn spmv(
    lengths: &Acc<Vector<i32>>,
    columns: &Acc<Vector<i32>>,
    values: &Acc<Vector<f64>>,
    x: &Acc<Vector<f64>>,
) -> Acc<Vector<f64>> {
    values.zip_with(columns, |v, c| v * x.index(c)).fold_seg(lengths, 0.0, |a, b| a + b)
}

fn main() -> Result<(), Error> {
    // 1 0 2
    // 0 0 0
    // 0 6 2
    let lengths = use_(&Vector::from([2, 0, 2]));
    let columns = use_(&Vector::from([0, 2, 1, 2]));
    let values = use_(&Vector::from([1.0, 2.0, 6.0, 2.0]));
    let x = use_(&Vector::from([1.0, 2.0, 3.0]));
    println!("{:?}", run(spmv(&lengths, &columns, &values, &x))?.to_vec());
    Ok(())
}
