//! Black-Scholes prices of European options.

use super::{Example, example, scatter};
use crate::compare::Near;
use acc_core::prelude::*;

const N: usize = 20_000;
const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.30;

/// The cumulative normal distribution: Abramowitz and Stegun, 26.2.17.
fn normal(x: Exp<f64>) -> Exp<f64> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let poly = coefficients.iter().fold(constant(0.0), |p, c| (p + *c) * k);
    let tail = (-0.5 * x * x).exp() * 0.398_942_280_401_432_7 * poly;
    x.gt(0.0).then_else(1.0 - tail, tail)
}

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Deal {
    price: f64,
    strike: f64,
    years: f64,
}

/// The prices of a call and a put.
fn prices(d: DealExp) -> (Exp<f64>, Exp<f64>) {
    let root = d.years.sqrt();
    let d1 = ((d.price / d.strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * d.years) / (VOLATILITY * root);
    let d2 = d1 - VOLATILITY * root;
    let discounted = d.strike * (-RATE * d.years).exp();
    let call = d.price * normal(d1) - discounted * normal(d2);
    (call, call + discounted - d.price)
}

pub(super) fn black_scholes() -> Result<Example, Error> {
    let parts: Vec<f64> = scatter(3 * N).collect();
    let deals: Vector<Deal> = parts
        .chunks_exact(3)
        .map(|p| Deal { price: 5.0 + 25.0 * p[0], strike: 1.0 + 99.0 * p[1], years: 0.25 + 9.75 * p[2] })
        .collect();
    example(
        "black_scholes",
        format!("Black-Scholes prices of {N} options"),
        |deals: Acc<Vector<Deal>>| deals.map(prices),
        (&deals,).into_data(),
        // Prices are at most 100; exp, ln and sqrt differ by a few units in the last place, 1e-16.
        Near::Absolute(1e-11),
    )
}
