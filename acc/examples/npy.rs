//! NumPy's files in and out.
//!
//! ```text
//! <f8 (2, 3): the means of the columns are [2.5, 3.5, 4.5]
//! an array of another type: its elements are of type <f8, not i32
//! ```

use acc_array::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.npy");
    Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).write_npy(&path)?;

    let table = Matrix::<f64>::read_npy(&path)?;
    let Dim([rows, columns]) = table.shape();
    let means = run(use_(&table).transpose().sum().map(|sum| sum / rows as f64))?;
    println!("<f8 ({rows}, {columns}): the means of the columns are {:?}", means.to_vec());
    if let Err(error) = Matrix::<i32>::read_npy(&path) {
        let text = error.to_string();
        println!("an array of another type{}", text.strip_prefix(&path.display().to_string()).unwrap_or(&text));
    }
    Ok(())
}
