use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.map(|x| x.gt(0.0).then_else(1.0, -1.0) * x);
}
