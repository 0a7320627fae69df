//! Equality and order: of scalars, tuples and indices.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn h(x: f32) -> f16 {
    f16::from_f32(x)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("compare/scalars", "EQO-01 EQO-02 EQO-03 EQO-04 EQO-05 EQO-06 EQO-07 EQO-08 EQO-09 EQO-10", |t| {
            macro_rules! each {
                ($($t:ty: $a:expr, $b:expr;)*) => { $(
                    t.table2(|x: Exp<$t>, y: Exp<$t>| (x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y)), &[
                        ($a, $b, (false, true, true, true, false, false)),
                        ($b, $a, (false, true, false, false, true, true)),
                        ($a, $a, (true, false, false, true, false, true)),
                    ]);
                    t.table2(|x: Exp<$t>, y: Exp<$t>| (x.min(y), x.max(y)), &[($a, $b, ($a, $b)), ($b, $a, ($a, $b)), ($b, $b, ($b, $b))]);
                )* };
            }
            each! {
                i8: -100, 100; i16: i16::MIN, 0; i32: -1, i32::MAX; i64: i64::MIN, i64::MAX;
                u8: 1, 200; u16: 1, u16::MAX; u32: 7, 1 << 31; u64: 7, u64::MAX;
                f16: h(-1.0), h(2.5); f32: f32::NEG_INFINITY, 1.0; f64: 1.0, 1.0f64.next_up();
                bool: false, true; char: 'a', '\u{10FFFF}';
            }
        }),
        case("compare/E-FP-01-nan", "EQO-02 EQO-03 EQO-05 EQO-06 EQO-07 EQO-08 E-FP-01 E-FP-05", |t| {
            macro_rules! each {
                ($t:ty, $nan:expr, $one:expr, $zero:expr) => {
                    let f = |x: Exp<$t>, y: Exp<$t>| (x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y));
                    let unordered = (false, true, false, false, false, false);
                    t.table2(
                        f,
                        &[
                            ($nan, $one, unordered),
                            ($one, $nan, unordered),
                            ($nan, $nan, unordered),
                            ($zero, -$zero, (true, false, false, true, false, true)),
                        ],
                    );
                };
            }
            each!(f16, f16::NAN, h(1.0), h(0.0));
            each!(f32, f32::NAN, 1.0, 0.0f32);
            each!(f64, f64::NAN, 1.0, 0.0f64);
        }),
        case("compare/E-FP-03-min-and-max-of-nan", "EQO-09 EQO-10 E-FP-03 E-FP-04", |t| {
            let f = |x: Exp<f64>, y: Exp<f64>| (x.min(y), x.max(y));
            let nan = (f64::NAN, f64::NAN);
            t.table2(f, &[(f64::NAN, 1.0, nan), (1.0, f64::NAN, nan), (f64::NAN, f64::NAN, nan)]);
            t.table2(
                |x: Exp<f16>, y: Exp<f16>| x.min(y),
                &[(f16::NAN, h(1.0), f16::NAN), (h(1.0), f16::NAN, f16::NAN)],
            );
            let xs = Vector::from([3.0f32, f32::NAN, 1.0]);
            t.gives(use_(&xs).minimum(), Scalar::scalar(f32::NAN));
            t.gives(use_(&xs).maximum(), Scalar::scalar(f32::NAN));
        }),
        case(
            "compare/E-TY-03-tuples-are-compared-lexicographically",
            "EQO-02 EQO-03 EQO-05 EQO-06 EQO-07 EQO-08 EQO-09 EQO-10 E-TY-03 BUG-05",
            |t| {
                let f = |(a, b): (Exp<i32>, Exp<f32>), (c, d): (Exp<i32>, Exp<f32>)| {
                    let (x, y) = (lift::<(i32, f32)>((a, b)), (c, d));
                    (x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y))
                };
                t.table2(
                    f,
                    &[
                        ((1, 3.0), (2, 1.0), (false, true, true, true, false, false)),
                        ((1, 3.0), (1, 1.0), (false, true, false, false, true, true)),
                        // Equal tuples are less or equal.
                        ((1, 3.0), (1, 3.0), (true, false, false, true, false, true)),
                        ((1, f32::NAN), (1, 3.0), (false, true, false, false, false, false)),
                        ((0, f32::NAN), (1, 3.0), (false, true, true, true, false, false)),
                    ],
                );
                let both = |p: (Exp<i32>, Exp<f32>), q: (Exp<i32>, Exp<f32>)| {
                    let (x, y) = (lift::<(i32, f32)>(p), lift::<(i32, f32)>(q));
                    (x.min(y), x.max(y))
                };
                t.table2(
                    both,
                    &[((1, 3.0), (1, 2.0), ((1, 2.0), (1, 3.0))), ((0, 9.0), (1, 2.0), ((0, 9.0), (1, 2.0)))],
                );
                let nested = |p: (Exp<u8>, (Exp<bool>, Exp<char>)), q: (Exp<u8>, (Exp<bool>, Exp<char>))| {
                    lift::<(u8, (bool, char))>(p).le(q)
                };
                t.table2(
                    nested,
                    &[
                        ((1, (true, 'b')), (1, (true, 'a')), false),
                        ((1, (false, 'b')), (1, (true, 'a')), true),
                        ((1, (true, 'a')), (1, (true, 'a')), true),
                    ],
                );
                t.gives(unit(constant(()).eq(())), Scalar::scalar(true));
                t.gives(unit(constant(()).lt(())), Scalar::scalar(false));
                t.gives(unit(constant(()).le(())), Scalar::scalar(true));
                let pairs: Vector<(i64, i64)> = [(2, 1), (1, 9), (1, 3), (2, 0)].into_iter().collect();
                t.gives(use_(&pairs).minimum(), Scalar::scalar((1, 3)));
                t.gives(use_(&pairs).maximum(), Scalar::scalar((2, 1)));
            },
        ),
        case("compare/E-TY-01-twelve-components", "EQO-05 EQO-07 E-TY-03 BUG-05", |t| {
            type T12 = (i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, bool, char);
            let one: T12 = (1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, true, 'l');
            let two: T12 = (1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, true, 'm');
            let f = |x: ExpOf<T12>, y: ExpOf<T12>| {
                let (x, y) = (lift::<T12>(x), lift::<T12>(y));
                (x.lt(y), x.le(y), x.gt(y), x.ge(y), x.eq(y))
            };
            t.maps2(
                f,
                &[
                    (one, two, (true, true, false, false, false)),
                    (two, one, (false, false, true, true, false)),
                    (one, one, (false, true, false, true, true)),
                ],
            );
        }),
        case("compare/E-TY-04-indices", "EQO-05 EQO-07 EQO-08 E-TY-04", |t| {
            // Lexicographic, the order of the elements in memory.
            let f = |(a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)| {
                let x = lift::<(i64, i64)>((a, b));
                (x.lt((c, d)), x.le((c, d)), x.gt((c, d)), x.ge((c, d)))
            };
            t.table2(f, &[((1, 3), (2, 1), (true, true, false, false)), ((2, 1), (2, 1), (false, true, false, true))]);
            let first = generate((3, 4), |(i, j)| (i, j))
                .flatten()
                .fold1(|(a, b), (c, d)| lift::<(i64, i64)>((a, b)).max((c, d)));
            t.gives(first, Scalar::scalar((2, 3)));
        }),
        case("compare/E-TY-05-bool", "EQO-02 EQO-03 E-TY-05 REX-12", |t| {
            t.table2(
                |x: Exp<bool>, y: Exp<bool>| (x.eq(y), x.lt(y), x.max(y)),
                &[
                    (false, true, (false, true, true)),
                    (true, true, (true, false, true)),
                    (true, false, (false, false, true)),
                ],
            );
        }),
        case("compare/logic", "LOG-01 LOG-02 LOG-03 E-CF-03", |t| {
            t.table2(
                |x: Exp<bool>, y: Exp<bool>| (x.and(y), x.or(y), x & y, x | y, x ^ y, !x),
                &[
                    (false, false, (false, false, false, false, false, true)),
                    (false, true, (false, true, false, true, true, true)),
                    (true, false, (false, true, false, true, true, false)),
                    (true, true, (true, true, true, true, false, false)),
                ],
            );
            let xs = Vector::from([1i64, 2, 3]);
            let xs = use_(&xs);
            t.gives(generate(5, |i| i.lt(3).and(xs.index(i).gt(1))), Vector::from([false, true, true, false, false]));
            t.gives(generate(5, |i| i.ge(3).or(xs.index(i).gt(1))), Vector::from([false, true, true, true, true]));
            t.faults(generate(5, |i| i.lt(3) & xs.index(i).gt(1)), "index_out_of_bounds");
            t.faults(generate(5, |i| i.ge(3) | xs.index(i).gt(1)), "index_out_of_bounds");
        }),
    ]
}
