use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.map(|x| {
        let (y, _) = while_((x, 0), |(_, i)| i.lt(10), |(y, i)| (y * y, i + 1));
        y
    });
}
