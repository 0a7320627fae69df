use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.zip(&xs).map(|p| p * 2.0);
}
