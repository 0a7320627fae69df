use acc_core::prelude::*;

fn main() {
    let xs = Vector::from([1.0f32, 2.0]);
    let dx = Matrix::from([[1.0f32, 2.0]]);
    let _ = jvp(&xs, &dx, |xs| xs.map(|x| x * x));
}
