use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.map(|x| while_(x, |y| y.lt(10.0), |y| (y * y, 1)));
}
