use acc_core::prelude::*;

struct Model {
    weights: Acc<Matrix<f64>>,
}

fn main() {
    let m = Model { weights: use_(&Matrix::from([[1.0]])) };
    let _ = tensor!([i, j] m.weights[i, j]);
}
