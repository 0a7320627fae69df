use acc_core::prelude::*;

fn main() {
    let (a, b) = (use_(&Matrix::from([[1.0]])), use_(&Matrix::from([[1.0]])));
    let _ = tensor!([] fold[i, j](0.0, |x, y| x + y, a[i, j]));
}
