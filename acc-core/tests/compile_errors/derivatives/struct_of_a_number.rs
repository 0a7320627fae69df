use acc_core::prelude::*;

#[derive(Arrays)]
struct Model {
    weights: Vector<f64>,
    steps: i64,
}

fn main() {}
