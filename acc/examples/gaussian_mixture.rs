//! Two normal distributions fitted to numbers that come from both, by the gradient of the likelihood: a point of several
//! arrays, and rows of which the logarithm of a sum of exponentials is taken.
//!
//! ```text
//! means [-2.00, 3.00], deviations [0.46, 0.92], weights [0.50, 0.50]
//! ```

use acc_array::derivative::grad;
use acc_array::prelude::*;

/// Of each distribution the logarithm of its weight but for a factor, the mean, and the logarithm of the deviation.
type Mixture = (Vector<f64>, Vector<f64>, Vector<f64>);

/// The logarithm of the sum of exponentials of each row.
fn log_sum_exp(rows: &Acc<Matrix<f64>>) -> Acc<Vector<f64>> {
    let greatest = rows.maximum();
    let sums = rows.imap(|(i, _), x| (x - greatest.index(i)).exp()).sum();
    sums.zip_with(greatest, |sum, most| sum.ln() + most)
}

/// The mean of the negative logarithms of the numbers' likelihood, but for a constant.
pub fn loss((weights, means, widths): Parameters, xs: &Acc<Vector<f64>>) -> Acc<Scalar<f64>> {
    let n = xs.length().to::<f64>();
    let total = weights.map(|w| w.exp()).sum().map(|sum| sum.ln());
    let each = generate((xs.length(), means.length()), |(i, k)| {
        let z = (xs.index(i) - means.index(k)) / widths.index(k).exp();
        weights.index(k) - total.the() - widths.index(k) - z * z * 0.5
    });
    log_sum_exp(&each).sum().map(|sum| -sum / n)
}

type Parameters = (Acc<Vector<f64>>, Acc<Vector<f64>>, Acc<Vector<f64>>);

/// All parameters a step further down.
pub fn step(at: Parameters, xs: &Acc<Vector<f64>>) -> Parameters {
    let (w, m, s) = grad(at.clone(), |at| loss(at, xs));
    let down = |a: Acc<Vector<f64>>, d: Acc<Vector<f64>>| a.zip_with(d, |a, d| a - d * 0.5);
    (down(at.0, w), down(at.1, m), down(at.2, s))
}

fn main() -> Result<(), Error> {
    // As numbers of a normal distribution lie, of the deviation 1 around 0.
    let spread = [-1.53, -0.89, -0.49, -0.16, 0.16, 0.49, 0.89, 1.53];
    let xs = spread.iter().flat_map(|z| [z * 0.5 - 2.0, z + 3.0]).collect::<Vector<f64>>();
    let descend = compile(|w: Acc<Vector<f64>>, m: Acc<Vector<f64>>, s: Acc<Vector<f64>>, xs: Acc<Vector<f64>>| {
        step((w, m, s), &xs)
    })?;
    let mut at: Mixture = (Vector::from([0.0, 0.0]), Vector::from([-1.0, 1.0]), Vector::from([0.0, 0.0]));
    for _ in 0..500 {
        at = descend.call((&at.0, &at.1, &at.2, &xs))?;
    }
    let shown = |xs: Vec<f64>| xs.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(", ");
    let weights: Vec<f64> = at.0.iter().map(|w| w.exp()).collect();
    let total: f64 = weights.iter().sum();
    let (means, widths) = (shown(at.1.to_vec()), shown(at.2.iter().map(|s| s.exp()).collect()));
    let weights = shown(weights.iter().map(|w| w / total).collect());
    println!("means [{means}], deviations [{widths}], weights [{weights}]");
    Ok(())
}
