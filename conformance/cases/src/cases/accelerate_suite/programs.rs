//! The small programs of Accelerate's own suite: sums and products, option prices, sparse matrices, sorting by digits.

use super::data::Sample;
use crate::cases::{Case, Check, case};
use crate::choices::Choices;
use crate::compare::Near;
use acc_core::prelude::*;

/// The lengths of the vectors: none, one, what does not divide, and many.
const LENGTHS: [usize; 5] = [0, 1, 65, 1000, 16384];

fn numbers<E: Sample>(c: &mut Choices, n: usize) -> Vec<E> {
    (0..n).map(|_| E::sample(c)).collect()
}

macro_rules! linear_algebra {
    ($name:ident, $t:ty) => {
        /// The sum of the magnitudes, `a x + y`, and the inner product: all of them exact.
        fn $name(t: &mut Check<'_>) {
            let c = &mut Choices::seeded(100);
            for n in LENGTHS {
                let (xs, ys): (Vec<$t>, Vec<$t>) = (numbers(c, n), numbers(c, n));
                let a = <$t>::sample(c);
                let sasum = xs.iter().map(|x| x.abs()).sum::<$t>() + 0.0;
                let saxpy = xs.iter().zip(&ys).map(|(x, y)| a * x + y).collect();
                let dot = xs.iter().zip(&ys).map(|(x, y)| x * y).sum::<$t>();
                let (xs, ys) = (use_(&Vector::from(xs)), Vector::from(ys));
                t.gives_within(xs.map(|x| x.abs()).sum(), Scalar::scalar(sasum), Near::Equal);
                t.gives_within(xs.zip_with(&ys, |x, y| a * x + y), saxpy, Near::Equal);
                t.gives_within(xs.zip_with(&ys, |x, y| x * y).sum(), Scalar::scalar(dot), Near::Equal);
            }
        }
    };
}
linear_algebra!(of_f32, f32);
linear_algebra!(of_f64, f64);

/// The cumulative normal distribution by the polynomial of Abramowitz and Stegun 26.2.17.
const NORMAL: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
const RISKFREE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

macro_rules! option_prices {
    ($name:ident, $t:ty, $near:expr) => {
        fn $name(t: &mut Check<'_>) {
            let root = (2.0 * std::f64::consts::PI).sqrt();
            let (riskfree, volatility) = (RISKFREE as $t, VOLATILITY as $t);
            let normal = |d: Exp<$t>| {
                let k = (d.abs() * (0.2316419 as $t) + 1.0).recip();
                let poly = NORMAL.iter().rev().fold(lift(0.0 as $t), |p, w| p * k + *w as $t) * k;
                let tail = (d * d * -0.5).exp() * ((1.0 / root) as $t) * poly;
                d.gt(0.0).then_else(lift(1.0 as $t) - tail, tail)
            };
            let prices = |(price, strike, years): (Exp<$t>, Exp<$t>, Exp<$t>)| {
                let spread = years.sqrt() * volatility;
                let d1 = ((price / strike).ln() + years * (riskfree + 0.5 * volatility * volatility)) / spread;
                let (n1, n2) = (normal(d1), normal(d1 - spread));
                let strike = strike * (years * -riskfree).exp();
                (price * n1 - strike * n2, strike * (lift(1.0 as $t) - n2) - price * (lift(1.0 as $t) - n1))
            };
            let host_normal = |d: f64| {
                let k = 1.0 / (1.0 + 0.2316419 * d.abs());
                let poly = NORMAL.iter().rev().fold(0.0, |p, w| p * k + w) * k;
                let tail = (-0.5 * d * d).exp() / root * poly;
                if d > 0.0 { 1.0 - tail } else { tail }
            };
            let host_prices = |price: f64, strike: f64, years: f64| {
                let spread = VOLATILITY * years.sqrt();
                let d1 = ((price / strike).ln() + (RISKFREE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread;
                let (n1, n2) = (host_normal(d1), host_normal(d1 - spread));
                let strike = strike * (-RISKFREE * years).exp();
                (price * n1 - strike * n2, strike * (1.0 - n2) - price * (1.0 - n1))
            };
            let c = &mut Choices::seeded(110);
            let mut between = |low: f64, high: f64| (low + (high - low) * c.below(1 << 20) as f64 / 1048576.0) as $t;
            for n in [0, 1, 65, 1000] {
                let options: Vec<($t, $t, $t)> =
                    (0..n).map(|_| (between(5.0, 30.0), between(1.0, 100.0), between(0.25, 10.0))).collect();
                let want = options.iter().map(|(p, s, y)| host_prices(*p as f64, *s as f64, *y as f64));
                let want: Vector<($t, $t)> = want.map(|(call, put)| (call as $t, put as $t)).collect();
                let options: Vector<($t, $t, $t)> = options.into_iter().collect();
                t.gives_within(use_(&options).map(prices), want, $near);
            }
        }
    };
}
// The prices are differences of numbers up to 100: that is what the last places are of.
option_prices!(prices_f32, f32, Near::Absolute(2e-4));
option_prices!(prices_f64, f64, Near::Absolute(1e-12));

/// A sparse matrix in compressed rows, times a vector: a gather, a product, a segmented sum.
fn sparse_product<E: Sample + std::ops::Mul<Output = E>>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(120);
    for (rows, columns) in [(0, 5), (1, 1), (40, 17), (200, 300)] {
        let lengths: Vec<usize> = (0..rows).map(|_| if c.chance(20) { 0 } else { c.below(20) }).collect();
        let xs: Vec<E> = numbers(c, columns);
        let matrix: Vec<Vec<(usize, E)>> =
            lengths.iter().map(|n| (0..*n).map(|_| (c.below(columns), E::sample(c))).collect()).collect();
        let dot = |row: &Vec<(usize, E)>| row.iter().fold(E::from_i64(0), |a, (j, x)| a.plus(*x * xs[*j]));
        let want: Vector<E> = matrix.iter().map(dot).collect();
        let places: Vector<i64> = matrix.iter().flatten().map(|(j, _)| *j as i64).collect();
        let values: Vector<E> = matrix.iter().flatten().map(|(_, x)| *x).collect();
        let lengths: Vector<i32> = lengths.iter().map(|n| *n as i32).collect();
        let products = use_(&Vector::from(xs)).gather(&places).zip_with(&values, |x, a| a * x);
        t.gives_within(products.fold_seg(&lengths, E::from_i64(0), |a, b| a + b), want, Near::Equal);
    }
}

/// Keys with what goes with them.
type Keyed = Vector<(u32, i64)>;

/// Stable partition: the numbers whose bit is not set come first.
fn split(xs: &Acc<Keyed>, bit: impl Fn(Exp<u32>) -> Exp<bool>) -> Acc<Keyed> {
    let set = xs.map(|(key, _)| bit(key));
    let zeros = set.map(|s| s.then_else(0i64, 1i64));
    let (down, count) = zeros.scanl_with_total(0, |a, b| a + b);
    let place = |i: Exp<i64>| -> Exp<i64> {
        let before = down.index(i);
        set.index(i).then_else(count.the() + i - before, before)
    };
    xs.permute(fill(xs.extent(), (0u32, 0i64)), |new, _| new, |i| Some(place(i)))
}

/// Ascending, by one bit after the other: written out, and as a loop.
fn radix_sorts(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(130);
    for n in [0, 1, 2, 33, 1000] {
        // The bits that are sorted by are few, so that keys repeat.
        let keys: Vec<i32> = (0..n).map(|_| (c.bits() as i32) >> c.below(32)).collect();
        let flipped = |k: i32| (k as u32) ^ (1 << 31);
        let keyed: Keyed = keys.iter().zip(0..).map(|(k, i)| (flipped(*k), i)).collect();
        let mut order: Vec<(i32, i64)> = keys.iter().copied().zip(0..).collect();
        order.sort_by_key(|(k, _)| *k);
        let want: Keyed = order.iter().map(|(k, i)| (flipped(*k), *i)).collect();
        let (_, sorted) = awhile(
            (unit(0i64), &keyed),
            |(bit, _)| bit.the().lt(32),
            |(bit, xs)| (bit.map(|b| b + 1), split(&xs, |key| key.test_bit(bit.the()))),
        );
        t.gives(sorted, want);
        // Descending is ascending by the complement.
        order.sort_by_key(|(k, i)| (std::cmp::Reverse(*k), *i));
        let want: Keyed = order.iter().map(|(k, i)| (!flipped(*k), *i)).collect();
        let (_, sorted) = awhile(
            (unit(0i64), use_(&keyed).map(|(key, i)| (!key, i))),
            |(bit, _)| bit.the().lt(32),
            |(bit, xs)| (bit.map(|b| b + 1), split(&xs, |key| key.test_bit(bit.the()))),
        );
        t.gives(sorted, want);
        let bytes: Keyed = keys.iter().zip(0..).map(|(k, i)| (*k as u32 & 63, i)).collect();
        let mut want: Vec<(u32, i64)> = bytes.to_vec();
        want.sort_by_key(|(k, _)| *k);
        let unrolled = (0..6).fold(use_(&bytes), |xs, b: i64| split(&xs, |key| key.test_bit(b)));
        t.gives(unrolled, want.into_iter().collect());
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/sums-and-inner-products-f32", "RED-05", of_f32),
        case("nofib/sums-and-inner-products-f64", "RED-05", of_f64),
        case("nofib/black-scholes-f32", "FLW-01", prices_f32),
        case("nofib/black-scholes-f64", "FLW-01", prices_f64),
        case("nofib/sparse-matrix-times-vector", "SEG-01 PRM-04", |t| {
            sparse_product::<f32>(t);
            sparse_product::<f64>(t);
        }),
        case("nofib/radix-sort", "PRM-01 SCN-03 CMP-03 BIT-12", radix_sorts),
        case("nofib/programs-that-differ-in-a-size-alone", "CON-03 PRM-03", |t| {
            let n = use_(&Scalar::scalar(3i64));
            let numbers = |n: Exp<i64>| generate(n, |i| i);
            t.gives(numbers(n.the()), Vector::from([0, 1, 2]));
            t.gives(numbers(n.the() + 1), Vector::from([0, 1, 2, 3]));
            let xs = enum_from(5, 10i64);
            t.gives(xs.backpermute(n.the(), |i: Exp<i64>| i), Vector::from([10, 11, 12]));
            t.gives(xs.backpermute(n.the() - 3, |i: Exp<i64>| i), Vector::from([0; 0]));
            let both = (xs.backpermute(n.the(), |i: Exp<i64>| i), xs.backpermute(n.the() + 2, |i: Exp<i64>| i));
            t.gives(both, (Vector::from([10, 11, 12]), Vector::from([10, 11, 12, 13, 14])));
        }),
    ]
}
