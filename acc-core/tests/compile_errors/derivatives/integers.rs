use acc_core::prelude::*;

fn main() {
    let xs = Vector::from([1i32, 2]);
    let _ = grad(&xs, |xs| xs.map(|x| x.to::<f32>()).sum());
}
