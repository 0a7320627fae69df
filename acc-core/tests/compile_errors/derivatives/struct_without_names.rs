use acc_core::prelude::*;

#[derive(Arrays)]
struct Model(Vector<f64>, Scalar<f64>);

fn main() {}
