//! Two normal distributions fitted to numbers that come from both, by the gradient of the likelihood: a point of several
//! arrays, and rows of which the logarithm of a sum of exponentials is taken.
//!
//! ```text
//! means [-2.00, 3.00], deviations [0.50, 1.00], weights [0.50, 0.50]
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
pub fn loss((weights, means, widths): ExpOfArrays, xs: &Acc<Vector<f64>>) -> Acc<Scalar<f64>> {
    let n = xs.length().to::<f64>();
    let total = log_sum_exp(&weights.reshape((1, weights.length()))).sum();
    let each = generate((xs.length(), means.length()), |(i, k)| {
        let z = (xs.index(i) - means.index(k)) / widths.index(k).exp();
        weights.index(k) - total.the() - widths.index(k) - z * z * 0.5
    });
    log_sum_exp(&each).sum().map(|sum| -sum / n)
}

type ExpOfArrays = (Acc<Vector<f64>>, Acc<Vector<f64>>, Acc<Vector<f64>>);

/// All parameters a step further down.
pub fn step(at: ExpOfArrays, xs: &Acc<Vector<f64>>) -> ExpOfArrays {
    let (w, m, s) = grad(at.clone(), |at| loss(at, xs));
    let down = |a: Acc<Vector<f64>>, d: Acc<Vector<f64>>| a.zip_with(d, |a, d| a - d * 0.5);
    (down(at.0, w), down(at.1, m), down(at.2, s))
}

fn main() -> Result<(), Error> {
    // As numbers of the two distributions lie: at the middle of each of 100 parts of equal likelihood.
    let normal = |k: i32| {
        let p = (f64::from(k) + 0.5) / 100.0;
        // The logistic distribution is near enough to start with; Newton's method goes the rest.
        (0..20).fold(0.0, |x: f64, _| x - (cumulative(x) - p) / ((-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()))
    };
    let numbers = (0..100).flat_map(|k| [normal(k) * 0.5 - 2.0, normal(k) + 3.0]);
    let xs = numbers.collect::<Vector<f64>>();
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

/// The normal distribution's cumulative function, by Simpson's rule.
fn cumulative(x: f64) -> f64 {
    let steps = 200;
    let h = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let weight = |k: i32| match k {
        0 => 1.0,
        k if k == steps => 1.0,
        k if k % 2 == 1 => 4.0,
        _ => 2.0,
    };
    0.5 + (0..=steps).map(|k| weight(k) * density(f64::from(k) * h)).sum::<f64>() * h / 3.0
}
