//! The regression tests of Accelerate's own suite, by number: control flow, laziness, simplification, memory.

use crate::cases::{Case, case, host};
use crate::compare::Near;
use acc_core::prelude::*;

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
enum Nine {
    A,
    B,
    C,
    D,
    E,
    F,
    G,
    H,
    I,
}

const NINE: [Nine; 9] = [Nine::A, Nine::B, Nine::C, Nine::D, Nine::E, Nine::F, Nine::G, Nine::H, Nine::I];

fn number(c: NineExp) -> i32 {
    match c {
        NineExp::A => 0,
        NineExp::B => 1,
        NineExp::C => 2,
        NineExp::D => 3,
        NineExp::E => 4,
        NineExp::F => 5,
        NineExp::G => 6,
        NineExp::H => 7,
        NineExp::I => 8,
    }
}

pub fn cases() -> Vec<Case> {
    [flow(), simplification(), memory()].concat()
}

fn flow() -> Vec<Case> {
    vec![
        case("nofib/168-iterate-that-permutes-a-tuple", "NOFIB-168 FLW-05", |t| {
            type Two = (i64, i64);
            type Six = (i64, i64, i64, i64, i64, i64);
            let n = 5i64;
            let fibonacci = |(a, b): (Exp<i64>, Exp<i64>)| (b, a + b);
            // The step in Rust.
            let mut two: Two = (1, 2);
            (0..n).for_each(|_| two = (two.1, two.0 + two.1));
            t.maps(|p: (Exp<i64>, Exp<i64>)| iterate::<Two, _>(n, p, fibonacci), &[((1i64, 2i64), two)]);
            t.maps(
                |p: (Exp<i64>, Exp<i64>)| fibonacci(fibonacci(fibonacci(fibonacci(fibonacci(p))))),
                &[((1i64, 2i64), two)],
            );
            let mut six: Six = (1, 2, 3, 4, 5, 6);
            (0..n).for_each(|_| six = (six.5, six.0, six.1 + six.2, six.1, six.3 - six.4, six.2));
            t.maps(
                |n: Exp<i64>| iterate::<Six, _>(n, (1, 2, 3, 4, 5, 6), |(a, b, c, d, e, f)| (f, a, b + c, b, d - e, c)),
                &[(n, six), (0, (1, 2, 3, 4, 5, 6))],
            );
        }),
        case("nofib/184-guarded-indexing", "NOFIB-184 FLW-03 LOG-01 LOG-02", |t| {
            let xs = use_(&Vector::from([10i64, 20, 30]));
            let before = |i: Exp<i64>| i - 1;
            let guarded = generate(3, |i| i.eq(0).then_else(0, xs.index(before(i))));
            t.gives(guarded, Vector::from([0, 10, 20]));
            t.gives(generate(3, |i| i.eq(0).or(xs.index(before(i)).gt(10))), Vector::from([true, false, true]));
            t.gives(generate(3, |i| i.gt(0).and(xs.index(before(i)).gt(10))), Vector::from([false, false, true]));
            t.gives(generate(0, |i| i.gt(0).and(xs.index(i - 100).gt(10))), Vector::from([true; 0]));
            t.faults(generate(3, |i| xs.index(before(i)).gt(10).and(i.gt(0))), "index_out_of_bounds");
        }),
        case("nofib/187-short-circuit-at-rank-0", "NOFIB-187 LOG-01 LOG-02 IDX-03", |t| {
            let xs = use_(&Vector::from([1i64, 2, 3]));
            let yes = |read: Exp<i64>| lift(true).or(xs.index(read).gt(0));
            t.gives(generate((), |()| yes(lift(-1))), Scalar::scalar(true));
            t.gives(generate((), |()| lift(false).and(xs.index(lift(-1i64)).gt(0))), Scalar::scalar(false));
            let at = use_(&Scalar::scalar(-1i64));
            t.gives(generate((), |()| at.the().lt(0).or(xs.index(at.the()).gt(0))), Scalar::scalar(true));
            t.gives(generate((), |()| at.the().ge(0).and(xs.index(at.the()).gt(0))), Scalar::scalar(false));
            t.shape(generate((), |()| yes(lift(-1))), []);
        }),
        case("nofib/288-while-with-a-false-condition", "NOFIB-288 FLW-04 CMP-03", |t| {
            t.maps(
                |p: (Exp<i64>, Exp<i64>)| while_::<(i64, i64), _, _>(p, |_| lift(false), |(a, b)| (b, a)),
                &[((1i64, 2i64), (1i64, 2i64)), ((-3, 5), (-3, 5))],
            );
            let xs = Vector::from_iter([(1i64, 2i64), (3, 4)]);
            t.gives(awhile(&xs, |_| lift(false), |xs| xs.map(|(a, b)| (b, a))), xs);
        }),
        case("nofib/439-compute-map-compute-fill", "NOFIB-439 CMP-06 CON-04", |t| {
            t.gives(fill(10, 2i64).compute().map(|x| x * 3).compute(), Vector::from([6; 10]));
            t.gives(fill((2, 0), 2i64).compute().map(|x| x * 3).compute(), host((2, 0), [0; 0]));
        }),
        case("nofib/517-semigroup-of-option", "NOFIB-517 MON-02 MON-03", |t| {
            let both = |a: Exp<Option<Sum<i64>>>, b: Exp<Option<Sum<i64>>>| a.mappend(b);
            t.maps2(
                both,
                &[
                    (None, None, None),
                    (Some(Sum(3)), None, Some(Sum(3))),
                    (None, Some(Sum(5)), Some(Sum(5))),
                    (Some(Sum(3)), Some(Sum(5)), Some(Sum(8))),
                ],
            );
            // The fifth: constants on both sides, so that all of it can be done while the program is simplified.
            t.gives(unit(both(some(Sum(3i64)), some(Sum(-3)))), Scalar::scalar(Some(Sum(0))));
        }),
        case("nofib/551-enums-are-matched-and-equal-as-they-are", "NOFIB-551 FLW-02 EQO-02", |t| {
            let cells = (0..81).map(|k| (NINE[k / 9], NINE[k % 9]));
            let pairs: Array<DIM2, (Nine, Nine)> = host((9, 9), cells);
            let numbers = use_(&pairs).map(|(a, b)| {
                let (a, b) = (a.match_(|a| lift(number(a))), b.match_(|b| lift(number(b))));
                (a * 9 + b, a.eq(b))
            });
            t.gives(numbers, host((9, 9), (0..81).map(|k| (k, k / 9 == k % 9))));
            // Both in one match, and a match that names some of the cases alone.
            let matched = use_(&pairs).map(|(a, b)| (a, b).match_(|(a, b)| lift(number(a) == number(b))));
            t.gives(matched, host((9, 9), (0..81).map(|k| k / 9 == k % 9)));
            let some_alone = |c: Exp<Nine>| {
                c.match_(|c| match c {
                    NineExp::B => lift(1i32),
                    NineExp::H => lift(7),
                    _ => lift(-1),
                })
            };
            t.maps(some_alone, &NINE.map(|c| (c, [-1, 1, -1, -1, -1, -1, -1, 7, -1][c as usize])));
        }),
    ]
}

fn simplification() -> Vec<Case> {
    vec![
        case("nofib/264-negation-twice", "NOFIB-264 NUM-05", |t| {
            macro_rules! types {
                ($($t:ty: $($x:expr),*;)*) => { $( t.maps(|x: Exp<$t>| -(-x), &[$(($x as $t, $x as $t)),*]); )* };
            }
            types! {
                i8: 3, -128; i16: 3, i16::MIN; i32: 3, i32::MIN; i64: 3, i64::MIN;
                u8: 3, 255; u16: 3, u16::MAX; u32: 3, u32::MAX; u64: 3, u64::MAX;
                f32: 0.5, -0.0, f32::INFINITY, f32::NAN; f64: 0.5, -0.0, f64::INFINITY, f64::NAN;
            }
            let halves = [0.5f32, -0.0, 65504.0].map(f16::from_f32);
            t.maps(|x: Exp<f16>| -(-x), &halves.map(|x| (x, x)));
        }),
        case("nofib/264-not-twice-and-De-Morgan", "NOFIB-264 LOG-01 LOG-02 LOG-03", |t| {
            t.maps(|x: Exp<bool>| !!x, &[(true, true), (false, false)]);
            let four = [(false, false), (false, true), (true, false), (true, true)];
            let table = |f: fn(bool, bool) -> bool| four.map(|(x, y)| (x, y, f(x, y)));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !(x & y), &table(|x, y| !(x && y)));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !(x | y), &table(|x, y| !(x || y)));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !x.and(y), &table(|x, y| !(x && y)));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !x.or(y), &table(|x, y| !(x || y)));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !((!x).or(!y)), &table(|x, y| x && y));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !x & !y, &table(|x, y| !x && !y));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !x | !y, &table(|x, y| !x || !y));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !(!x & !y), &table(|x, y| x || y));
            t.maps2(|x: Exp<bool>, y: Exp<bool>| !(!x | !y), &table(|x, y| x && y));
        }),
        case("nofib/407-isNaN-and-isInfinite", "NOFIB-407 RFL-10 RFL-11", |t| {
            macro_rules! types {
                ($($t:ident),*) => { $(
                    for (x, y, want) in [
                        (0.0, 0.0, (true, false)),
                        (-2.0, 0.0, (false, true)),
                        (-0.0, 0.0, (true, false)),
                        (0.0, -0.0, (true, false)),
                        (1.0, 0.0, (false, true)),
                        (1.0, 3.0, (false, false)),
                        (0.0, 2.0, (false, false)),
                    ] {
                        let (x, y) = (x as $t, y as $t);
                        // Of constants, and of what is known only when the program runs.
                        let quotient = constant(x) / constant(y);
                        t.gives(unit((quotient.is_nan(), quotient.is_infinite())), Scalar::scalar(want));
                        t.maps2(|x: Exp<$t>, y: Exp<$t>| ((x / y).is_nan(), (x / y).is_infinite()), &[(x, y, want)]);
                    }
                )* };
            }
            types!(f32, f64);
        }),
        case("nofib/409-recip-and-tanh-in-a-row", "NOFIB-409 FLO-11", |t| {
            let xs = [0.25f64, 1.0, -3.0, 20.0];
            let chain = |x: f64| {
                let y = x.recip().tanh();
                (y, (y * y).recip().tanh().recip())
            };
            let near = Near::Relative(1e-5);
            t.maps_within(
                |x: Exp<f64>| {
                    let y = x.recip().tanh();
                    (y, (y * y).recip().tanh().recip())
                },
                &xs.map(|x| (x, chain(x))),
                near,
            );
            let fused = use_(&Vector::from(xs.map(|x| x as f32))).map(|x| x.recip()).map(|x| x.tanh());
            let fused = fused.map(|y| (y * y).recip()).map(|x| x.tanh()).map(|x| x.recip());
            t.gives_within(fused, xs.into_iter().map(|x| chain(x).1 as f32).collect(), near);
        }),
    ]
}

fn memory() -> Vec<Case> {
    vec![
        case("nofib/255-loops-over-large-vectors", "NOFIB-255 CMP-03", |t| {
            // Each round makes two vectors.
            for n in [20_000i64, 0] {
                let (rounds, last) = awhile(
                    (unit(0i64), enum_from(n as usize, 0i64)),
                    |(k, _)| k.the().lt(200),
                    |(k, xs)| {
                        let ahead = xs.reverse().compute();
                        (k.map(|k| k + 1), ahead.map(|x| x + 1))
                    },
                );
                t.gives(rounds, Scalar::scalar(200));
                let found = t.run(last);
                let right = |xs: Vector<i64>| xs.iter().eq((0..n).map(|x| x + 200));
                t.check(found.is_some_and(right), "an even number of reversals, and 200 more everywhere");
            }
        }),
        case("nofib/255-loops-with-sums", "NOFIB-255 CMP-03 FLD-01", |t| {
            let n = 20_000i64;
            let (_, total) = awhile(
                (unit(0i64), unit(0i64)),
                |(k, _)| k.the().lt(120),
                |(k, total)| {
                    let xs = generate(n as usize, |i| i + k.the()).compute();
                    let sum = xs.scanl1(|a, b| a + b).slice((n as usize - 1,));
                    (k.map(|k| k + 1), sum.zip_with(total, |a, b| a + b))
                },
            );
            t.shape(&total, []);
            t.gives(total, Scalar::scalar(120 * (n * (n - 1) / 2) + n * (119 * 120 / 2)));
        }),
        case("nofib/437-identity", "NOFIB-437 CON-01", |t| {
            let xs: Vector<i64> = (0..1000).collect();
            t.gives(use_(&xs), xs.clone());
            t.gives(use_(&Vector::from([0i64; 0])), Vector::from([0; 0]));
            let (here, there) = (xs.as_slice().as_ptr(), t.run(use_(&xs)));
            let shared = there.is_some_and(|ys| ys.as_slice().as_ptr() == here);
            t.check(shared || t.executor_name().starts_with("graph"), "the result is the input itself, not a copy");
        }),
    ]
}
