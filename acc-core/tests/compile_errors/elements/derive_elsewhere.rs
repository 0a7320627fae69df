use acc_core::prelude::*;

#[derive(Elt, Clone, Copy)]
struct Point {
    x: f32,
    y: f32,
}

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    // The message says nothing of points.
    let _ = xs.map(|x| x + "one");
}
