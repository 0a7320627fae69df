use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1i32, 2]));
    let _ = xs.map(|x| (x, x.gt(0)).match_(|_| lift(1)));
}
