//! Kepler's equation `e = m + 0.3 sin e` for many planets at once, by Newton's method: the slope comes from `deriv`.
//!
//! ```text
//! m = 0.00: e = 0.000000
//! m = 0.50: e = 0.691250
//! m = 1.00: e = 1.288091
//! m = 1.50: e = 1.792648
//! ```

use acc_array::derivative::deriv;
use acc_array::prelude::*;

/// A zero of `f`, from a number near it, in so many steps of Newton's method.
pub fn zero(steps: i64, start: Exp<f64>, f: impl Fn(Exp<f64>) -> Exp<f64>) -> Exp<f64> {
    iterate(steps, start, |x| {
        let (y, slope) = deriv(x, &f);
        x - y / slope
    })
}

/// Where each planet is, of how far it would be on a circle.
pub fn anomalies(means: &Acc<Vector<f64>>) -> Acc<Vector<f64>> {
    means.map(|m| zero(8, m, |e| e - e.sin() * 0.3 - m))
}

fn main() -> Result<(), Error> {
    let means = Vector::from([0.0, 0.5, 1.0, 1.5]);
    for (m, e) in means.iter().zip(run(anomalies(&use_(&means)))?.iter()) {
        println!("m = {m:.2}: e = {e:.6}");
    }
    Ok(())
}
