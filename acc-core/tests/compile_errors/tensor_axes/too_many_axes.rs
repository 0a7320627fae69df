use acc_core::prelude::*;

fn main() {
    let (a, b) = (use_(&Matrix::from([[1.0]])), use_(&Matrix::from([[1.0]])));
    let _ = tensor!([c, d, e, f] sum[g, h, i, j, k, l](a[c, d] * b[e, f] * a[g, h] * b[i, j] * a[k, l]));
}
