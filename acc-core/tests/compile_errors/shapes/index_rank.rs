use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let m = use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]));
    let _ = generate((3, 4), |(i, j)| m.index(i) + xs.index((i, j)));
}
