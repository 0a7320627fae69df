use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let m = use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]));
    let _ = xs.zip_with(&m, |a, b| a + b);
}
