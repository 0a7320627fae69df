//! Black-Scholes prices of European options: arrays of a struct of one's own.
//!
//! ```text
//! call 2.20, put 1.91
//! call 0.01, put 7.81
//! ```

use acc_array::prelude::*;

const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.30;

/// An option: the price of the share, the price agreed on, and the time until then.
#[derive(Elt, Clone, Copy, Debug, PartialEq)]
pub struct Deal {
    /// Of the share today.
    pub price: f64,
    /// Agreed on.
    pub strike: f64,
    /// Until the option ends.
    pub years: f64,
}

/// The cumulative normal distribution: Abramowitz and Stegun, 26.2.17.
fn normal(x: Exp<f64>) -> Exp<f64> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let poly = coefficients.iter().fold(constant(0.0), |p, c| (p + *c) * k);
    let tail = (-0.5 * x * x).exp() * 0.398_942_280_401_432_7 * poly;
    x.gt(0.0).then_else(1.0 - tail, tail)
}

/// The prices of a call and a put.
pub fn prices(d: DealExp) -> (Exp<f64>, Exp<f64>) {
    let root = d.years.sqrt();
    let d1 = ((d.price / d.strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * d.years) / (VOLATILITY * root);
    let d2 = d1 - VOLATILITY * root;
    let discounted = d.strike * (-RATE * d.years).exp();
    let call = d.price * normal(d1) - discounted * normal(d2);
    (call, call + discounted - d.price)
}

fn main() -> Result<(), Error> {
    let deals: Vector<Deal> =
        [(20.0, 20.0, 0.75), (12.0, 20.0, 0.5)].map(|(price, strike, years)| Deal { price, strike, years }).into();
    for (call, put) in run(use_(&deals).map(prices))?.to_vec() {
        println!("call {call:.2}, put {put:.2}");
    }
    Ok(())
}
