use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let n = use_(&Vector::from([1i32, 2]));
    let _ = xs.zip_with(&n, |a, b| a * b);
}
