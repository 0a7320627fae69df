use acc_core::prelude::*;

fn main() {
    let (a, b) = (use_(&Matrix::from([[1.0]])), use_(&Matrix::from([[1.0]])));
    let _ = tensor!([i, j] sum[k](a[i, k, j] * b[k, j]));
}
