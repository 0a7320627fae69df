use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let k = unit(2.0);
    let _ = xs.map(|x| x * k.the());
}
