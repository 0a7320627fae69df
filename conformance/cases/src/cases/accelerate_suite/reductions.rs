//! The regression tests of Accelerate's own suite, by number: folds and scans.

use crate::cases::{Case, case, host};
use crate::compare::Near;
use acc_core::prelude::*;

type Pair = (Exp<f64>, Exp<f64>);

/// A sum with the error of its rounding beside it (Knuth's two-sum).
fn two_sum((a, ea): Pair, (b, eb): Pair) -> Pair {
    let sum = a + b;
    let of_b = sum - a;
    (sum, ea + eb + ((a - (sum - of_b)) + (b - of_b)))
}

type Interval = (i64, i64);

/// Intervals that meet are joined; where they do not, the right one is kept. Associative, not commutative.
fn join((a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)) -> (Exp<i64>, Exp<i64>) {
    ((b + 1).eq(c).then_else(a, c), d)
}

/// A product of 2 x 2 matrices modulo a prime: associative, not commutative.
fn product(a: [i64; 4], b: [i64; 4]) -> [i64; 4] {
    [
        (a[0] * b[0] + a[1] * b[2]) % 10007,
        (a[0] * b[1] + a[1] * b[3]) % 10007,
        (a[2] * b[0] + a[3] * b[2]) % 10007,
        (a[2] * b[1] + a[3] * b[3]) % 10007,
    ]
}

fn numbers(n: usize) -> Vec<i64> {
    (0..n as i64).map(|i| i * i * 31 % 1013 - 500).collect()
}

/// Rows of numbers, and the sum of all.
fn table(rows: usize, columns: usize) -> (Matrix<i64>, i64) {
    let values = numbers(rows * columns);
    let sum = values.iter().sum();
    (host((rows, columns), values), sum)
}

/// Segments of 0 to 22 elements, 750 or so in all: their lengths, and themselves.
fn irregular() -> (Vec<i64>, Vec<Vec<i64>>) {
    let lengths: Vec<i64> = (0..90i64).map(|k| (k * k * 13 + k * 5) % 23 * i64::from(k % 4 != 1)).collect();
    let mut values = numbers(lengths.iter().sum::<i64>() as usize).into_iter();
    let segments = lengths.iter().map(|n| values.by_ref().take(*n as usize).collect()).collect();
    (lengths, segments)
}

/// What each segment becomes, one after the other.
fn each(segments: &[Vec<i64>], f: impl Fn(&[i64]) -> Vec<i64>) -> Vector<i64> {
    segments.iter().flat_map(|s| f(s)).collect()
}

fn sum(xs: &[i64]) -> i64 {
    xs.iter().sum()
}

pub fn cases() -> Vec<Case> {
    [folds(), irregular_segments(), scans()].concat()
}

fn folds() -> Vec<Case> {
    vec![
        case("nofib/102-reshape-flatten-fold-replicate", "NOFIB-102 MOD-01 MOD-02 MOD-03 FLD-01", |t| {
            // The sums of a discrete Fourier transform, with integers for the roots of unity.
            for n in [4usize, 7, 0] {
                let signal = numbers(n);
                let roots = |k: usize, j: usize| (k * j) as i64 % 5 - 2;
                let want: Vec<i64> = (0..n).map(|k| (0..n).map(|j| signal[j] * roots(k, j)).sum()).collect();
                let square = use_(&Vector::from(signal)).replicate((n, All));
                let weights = generate((n, n), |(k, j)| (k * j).rem(5) - 2);
                let products = square.zip_with(weights, |x, w| x * w);
                let (rows, columns) = products.shape();
                let sums = products.flatten().reshape((rows, columns)).fold(0, |a, b| a + b);
                t.gives(sums.reshape((1, n)).flatten(), Vector::from(want));
            }
        }),
        case("nofib/114-compensated-sum", "NOFIB-114 FLD-02 SCN-02", |t| {
            let xs: Acc<Vector<(f64, f64)>> = fill(100, (1.01, 0.0));
            let near = Near::Relative(1e-15);
            t.gives_within(xs.fold1(two_sum).map(|(sum, error)| sum + error), Scalar::scalar(101.0), near);
            let sums = xs.scanl1(two_sum).map(|(sum, error)| sum + error);
            t.gives_within(sums, (1..=100).map(|n| n as f64 * 1.01).collect(), near);
            t.gives(xs.take(0).scanl1(two_sum), Vector::from_iter([(0.0, 0.0); 0]));
        }),
        case("nofib/119-A-D-fold-all-of-odd-sizes", "NOFIB-119 FLD-03", |t| {
            for (rows, columns) in [(5, 28), (28, 5), (4, 34), (27, 5)] {
                let (m, sum) = table(rows, columns);
                t.gives(use_(&m).fold_all(0, |a, b| a + b), Scalar::scalar(sum));
            }
            t.gives(fill((0, 5), 1i64).fold_all(0, |a, b| a + b), Scalar::scalar(0));
            t.shape(fill((5, 28), 1i64).fold_all(0, |a, b| a + b), []);
        }),
        case("nofib/119-E-fold-of-one-long-row", "NOFIB-119 FLD-01", |t| {
            let (m, sum) = table(1, 130);
            t.gives(use_(&m).fold(0, |a, b| a + b), Vector::from([sum]));
            t.shape(use_(&m).fold(0, |a, b| a + b), [1]);
        }),
        case("nofib/123-fold-of-fill", "NOFIB-123 FLD-01 CON-04", |t| {
            t.gives(fill(100, 1i64).fold(0, |a, b| a + b), Scalar::scalar(100));
            t.gives(fill(100, 1.0f32).fold(0.0, |a, b| a + b), Scalar::scalar(100.0));
            t.gives(fill(0, 1i64).fold(0, |a, b| a + b), Scalar::scalar(0));
            t.gives(fill((0, 100), 1i64).fold(0, |a, b| a + b), Vector::from([0; 0]));
        }),
        case("nofib/228-fold-of-a-non-commutative-operator", "NOFIB-228 FLD-01 FLD-02", |t| {
            // The first of the left pair, the second of the right one.
            for n in [1usize, 2, 33, 1000, 5000] {
                let pairs: Vector<Interval> = numbers(n).into_iter().map(|x| (x, x + 1)).collect();
                let want = (pairs.to_vec()[0].0, pairs.to_vec()[n - 1].1);
                t.gives(use_(&pairs).fold1(|(a, _), (_, d)| (a, d)), Scalar::scalar(want));
                // Intervals in a row: (0, 0), (1, 1), ... are joined to one; a gap in the middle cuts off what is before.
                let gap = n as i64 / 2;
                let row: Vector<Interval> = (0..n as i64).map(|i| i + i64::from(i >= gap)).map(|i| (i, i)).collect();
                t.gives(use_(&row).fold1(join), Scalar::scalar((gap + 1, n as i64)));
                t.gives(
                    use_(&row).fold((-1, -1), join),
                    Scalar::scalar((if gap == 0 { 1 } else { gap + 1 }, n as i64)),
                );
                let last: Acc<Scalar<Interval>> = use_(&row).take(gap as usize).fold((-1, -1), join);
                t.gives(last, Scalar::scalar((-1, gap - 1)));
            }
            t.gives(fill((0, 3), (0i64, 0i64)).fold1(join), Vector::from_iter([(0, 0); 0]));
        }),
    ]
}

fn irregular_segments() -> Vec<Case> {
    vec![
        case("nofib/119-F-scanl1-seg", "NOFIB-119 SSC-02", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let scan = use_(&each(&segments, <[_]>::to_vec)).scanl1_seg(&Vector::from(lengths), |a, b| a + b);
                t.gives(scan, each(&segments, |s| (1..=s.len()).map(|i| sum(&s[..i])).collect()));
            }
        }),
        case("nofib/119-G-scanr1-seg", "NOFIB-119 SSC-07", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let scan = use_(&each(&segments, <[_]>::to_vec)).scanr1_seg(&Vector::from(lengths), |a, b| a + b);
                t.gives(scan, each(&segments, |s| (0..s.len()).map(|i| sum(&s[i..])).collect()));
            }
        }),
        case("nofib/119-H-scanl-seg", "NOFIB-119 SSC-01", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let scan = use_(&each(&segments, <[_]>::to_vec)).scanl_seg(&Vector::from(lengths), 7, |a, b| a + b);
                t.gives(scan, each(&segments, |s| (0..=s.len()).map(|i| 7 + sum(&s[..i])).collect()));
            }
        }),
        case("nofib/119-I-scanr-seg", "NOFIB-119 SSC-06", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let scan = use_(&each(&segments, <[_]>::to_vec)).scanr_seg(&Vector::from(lengths), 7, |a, b| a + b);
                t.gives(scan, each(&segments, |s| (0..=s.len()).map(|i| 7 + sum(&s[i..])).collect()));
            }
        }),
        case("nofib/119-J-scanl-with-total-seg", "NOFIB-119 SSC-03", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let xs = use_(&each(&segments, <[_]>::to_vec));
                let scan = each(&segments, |s| (0..s.len()).map(|i| 7 + sum(&s[..i])).collect());
                let totals = each(&segments, |s| vec![7 + sum(s)]);
                t.gives(xs.scanl_with_total_seg(&Vector::from(lengths), 7, |a, b| a + b), (scan, totals));
            }
        }),
        case("nofib/119-K-scanr-with-total-seg", "NOFIB-119 SSC-08", |t| {
            for (lengths, segments) in [irregular(), (vec![], vec![])] {
                let xs = use_(&each(&segments, <[_]>::to_vec));
                let scan = each(&segments, |s| (1..=s.len()).map(|i| 7 + sum(&s[i..])).collect());
                let totals = each(&segments, |s| vec![7 + sum(s)]);
                t.gives(xs.scanr_with_total_seg(&Vector::from(lengths), 7, |a, b| a + b), (scan, totals));
            }
        }),
    ]
}

fn scans() -> Vec<Case> {
    vec![
        case("nofib/287-scans-of-6-tuples", "NOFIB-287 SCN-02 SSC-02", |t| {
            type Six = (i64, i64, f64, i32, u8, f32);
            let six = |i: i64| -> Six { (i, -i, i as f64 * 0.5, i as i32 * 3, i as u8, i as f32 * 2.0) };
            let totals = |from: i64, to: i64| -> Six {
                let s: i64 = (from..=to).sum();
                (s, -s, s as f64 * 0.5, s as i32 * 3, s as u8, s as f32 * 2.0)
            };
            macro_rules! add {
                () => {
                    |(a, b, c, d, e, f), (g, h, i, j, k, l)| (a + g, b + h, c + i, d + j, e + k, f + l)
                };
            }
            for n in [10i64, 100, 1000] {
                let xs: Vector<Six> = (0..n).map(six).collect();
                t.gives(use_(&xs).scanl1(add!()), (0..n).map(|i| totals(0, i)).collect());
            }
            let xs: Vector<Six> = (0..100).map(six).collect();
            let lengths = Vector::from([40i64, 0, 1, 59]);
            let want = (0..100).map(|i| totals([0, 40, 41][usize::from(i >= 40) + usize::from(i >= 41)], i)).collect();
            t.gives(use_(&xs).scanl1_seg(&lengths, add!()), want);
            t.gives(use_(&xs).take(0).scanl1(add!()), (0..0).map(six).collect());
        }),
        case("nofib/362-scanl1-of-4-and-5-tuples", "NOFIB-362 SCN-02", |t| {
            for n in [1usize, 16, 100, 1030] {
                let matrices: Vec<[i64; 4]> = (0..n as i64).map(|i| [i % 7 + 1, i % 3, i % 5, i % 11 + 1]).collect();
                let mut want: Vec<[i64; 4]> = Vec::new();
                for m in &matrices {
                    want.push(want.last().map_or(*m, |w| product(*w, *m)));
                }
                let tuples = |m: &[[i64; 4]]| m.iter().map(|&[a, b, c, d]| (a, b, c, d)).collect::<Vector<_>>();
                let scan = use_(&tuples(&matrices)).scanl1(|(a, b, c, d), (e, f, g, h)| {
                    let dot = |x: Exp<i64>, y: Exp<i64>, z: Exp<i64>, w: Exp<i64>| (x * y + z * w).rem(10007);
                    (dot(a, e, b, g), dot(a, f, b, h), dot(c, e, d, g), dot(c, f, d, h))
                });
                t.gives(scan, tuples(&want));
            }
            let five: Vector<(i64, i32, u8, f32, bool)> = (0..70).map(|i| (i, 2, 3, i as f32, i % 16 != 9)).collect();
            let scan = use_(&five).scanl1(|(a, b, c, d, e), (f, g, h, i, j)| (a + f, b + g, c + h, d.max(i), e & j));
            let want = (0..70i64).map(|i| {
                let n = i + 1;
                (i * n / 2, n as i32 * 2, (n * 3) as u8, i as f32, i < 9)
            });
            t.gives(scan, want.collect());
            t.shape(use_(&five).take(0).scanl1(|_, b| b), [0]);
        }),
        case("nofib/364-scans-at-the-width-of-a-chunk", "NOFIB-364 SCN-01 SCN-02 SCN-04", |t| {
            for n in [0i64, 1, 63, 64, 65, 128, 129] {
                let row: Vector<Interval> = (0..n).map(|i| (i, i)).collect();
                t.gives(use_(&row).scanl1(join), (0..n).map(|i| (0, i)).collect());
                t.gives(use_(&row).scanl((-1, -1), join), (-1..n).map(|i| (-1, i)).collect());
                t.gives(use_(&row).scanr((n, n), join), (0..=n).map(|i| (i, n)).collect());
                // With a gap at every multiple of five.
                let gaps: Vector<Interval> = (0..n).map(|i| i + i / 5).map(|i| (i, i)).collect();
                t.gives(use_(&gaps).scanl1(join), (0..n).map(|i| (i / 5 * 6, i + i / 5)).collect());
            }
        }),
    ]
}
