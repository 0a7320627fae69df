use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f64, 2.0]));
    // The adjoint of the sum, where that of the vector is wanted.
    let _ = with_vjp(&xs, |xs| (xs.sum(), ()), |(), ybar| ybar);
}
