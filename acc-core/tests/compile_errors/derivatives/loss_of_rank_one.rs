use acc_core::prelude::*;

fn main() {
    let xs = Vector::from([1.0f32, 2.0]);
    let _ = grad(&xs, |xs| xs.map(|x| x * x));
}
