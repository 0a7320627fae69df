use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = generate(10, |i: Exp<i64>| xs.index(i.to::<f32>()));
}
