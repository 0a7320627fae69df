//! Arithmetic of numbers: `Enum`, `Bounded`, `Num`, `Integral` and what is made of them.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn h(x: f32) -> f16 {
    f16::from_f32(x)
}

pub fn cases() -> Vec<Case> {
    vec![
        case(
            "num/E-IN-01-division",
            "INT-01 INT-02 INT-03 INT-04 INT-05 INT-06 INT-07 E-IN-01 E-IN-02 E-IN-03 E-IN-04 E-IN-05 E-IN-06",
            |t| {
                each!([i8, i16, i32, i64] T {
                    let rows: [(T, T, (T, T, T, T)); 5] = [
                        (7, 2, (3, 1, 3, 1)),
                        (-7, 2, (-3, -1, -4, 1)),
                        (7, -2, (-3, 1, -4, -1)),
                        (-7, -2, (3, -1, 3, -1)),
                        (-6, 3, (-2, 0, -2, 0)),
                    ];
                    t.table2(|x: Exp<T>, y: Exp<T>| (x.quot(y), x.rem(y), x.div_floor(y), x.mod_floor(y)), &rows);
                    t.table2(
                        |x: Exp<T>, y: Exp<T>| {
                            let ((q, r), (d, m)) = (x.quot_rem(y), x.div_mod(y));
                            (q, r, d, m)
                        },
                        &rows,
                    );
                });
                each!([u8, u16, u32, u64] T {
                    t.table2(|x: Exp<T>, y: Exp<T>| x.quot_rem(y), &[(7, 2, (3, 1)), (T::MAX, 10, (T::MAX / 10, 5))]);
                    t.table2(|x: Exp<T>, y: Exp<T>| x.div_mod(y), &[(7, 2, (3, 1)), (T::MAX, T::MAX, (1, 0))]);
                });
            },
        ),
        case("num/E-IN-07-division-by-zero", "INT-06 INT-07 E-IN-07", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                let zero = Vector::from([0 as T, 1]);
                t.faults(use_(&zero).map(|y| constant(5 as T).quot_rem(y)), "division_by_zero");
                t.faults(use_(&zero).map(|y| constant(5 as T).div_mod(y)), "division_by_zero");
                // A branch that is not taken divides nothing.
                t.gives(use_(&zero).map(|y| y.eq(0).then_else(9, 8 / y)), Vector::from([9 as T, 8]));
            });
        }),
        case("num/E-IN-08-least-by-minus-one", "INT-02 INT-03 INT-04 INT-05 E-IN-08 E-IN-09", |t| {
            each!([i8, i16, i32, i64] T {
                let f = |x: Exp<T>, y: Exp<T>| (x.quot(y), x.div_floor(y), x.rem(y), x.mod_floor(y));
                t.table2(f, &[(T::MIN, -1, (T::MIN, T::MIN, 0, 0))]);
            });
        }),
        case("num/E-IN-10-wrap", "NUM-01 NUM-02 NUM-03 NUM-04 NUM-05 NUM-06 E-IN-10 E-IN-11 E-IN-12", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                let f = |x: Exp<T>, y: Exp<T>| (x + y, x - y, x * y, -x, x.abs());
                t.table2(f, &[
                    (T::MAX, 1, (T::MIN, T::MAX - 1, T::MAX, T::MAX.wrapping_neg(), T::MAX)),
                    (T::MIN, 1, (T::MIN + 1, T::MAX, T::MIN, T::MIN.wrapping_neg(), T::MIN)),
                    (1, 2, (3, (1 as T).wrapping_sub(2), 2, (0 as T).wrapping_sub(1), 1)),
                ]);
            });
            t.table(|x: Exp<u8>| -x, &[(1, 255)]);
        }),
        case("num/E-IN-13-signum", "NUM-06 NUM-07 E-IN-13 E-FP-06 E-FP-07 BUG-14", |t| {
            each!([i8, i16, i32, i64] T {
                t.table(|x: Exp<T>| (x.signum(), x.abs()), &[(-9, (-1, 9)), (0, (0, 0)), (9, (1, 9)), (T::MIN, (-1, T::MIN))]);
            });
            each!([u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| (x.signum(), x.abs()), &[(0, (0, 0)), (9, (1, 9)), (T::MAX, (1, T::MAX))]);
            });
            each!([f32, f64] T {
                t.table(|x: Exp<T>| (x.signum(), x.abs()), &[
                    (-2.5, (-1.0, 2.5)), (3.5, (1.0, 3.5)), (-0.0, (-0.0, 0.0)), (0.0, (0.0, 0.0)),
                    (T::NAN, (T::NAN, T::NAN)), (T::NEG_INFINITY, (-1.0, T::INFINITY)),
                ]);
            });
            t.table(
                |x: Exp<f16>| (x.signum(), x.abs()),
                &[(h(-2.5), (h(-1.0), h(2.5))), (h(-0.0), (h(-0.0), h(0.0))), (f16::NAN, (f16::NAN, f16::NAN))],
            );
        }),
        case("num/float-arithmetic", "NUM-02 NUM-03 NUM-04 NUM-05 NUM-08", |t| {
            each!([f32, f64] T {
                let f = |x: Exp<T>, y: Exp<T>| (x + y, x - y, x * y, -x);
                t.table2(f, &[(1.5, 0.25, (1.75, 1.25, 0.375, -1.5)), (0.0, -0.0, (0.0, 0.0, -0.0, -0.0))]);
                t.table(|x: Exp<T>| x + T::from_i64(3), &[(0.5, 3.5)]);
            });
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| x + T::from_i64(3), &[(5, 8)]);
            });
            t.table(|x: Exp<f16>| (x + f16::from_i64(3), -x), &[(h(0.5), (h(3.5), h(-0.5)))]);
        }),
        case("num/E-IN-14-succ-and-pred", "ENB-01 ENB-02 ENB-03 E-IN-14", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| (x.succ(), x.pred()), &[
                    (5, (6, 4)), (T::MAX, (T::MIN, T::MAX - 1)), (T::MIN, (T::MIN + 1, T::MAX)),
                ]);
            });
            each!([f32, f64] T {
                t.table(|x: Exp<T>| (x.succ(), x.pred()), &[(1.5, (2.5, 0.5))]);
            });
            t.table(|x: Exp<f16>| (x.succ(), x.pred()), &[(h(1.5), (h(2.5), h(0.5)))]);
            t.table(
                |c: Exp<char>| (c.succ(), c.pred()),
                &[
                    ('b', ('c', 'a')),
                    ('\u{D7FF}', ('\u{E000}', '\u{D7FE}')),
                    ('\u{E000}', ('\u{E001}', '\u{D7FF}')),
                    (char::MAX, ('\0', '\u{10FFFE}')),
                    ('\0', ('\u{1}', char::MAX)),
                ],
            );
            t.table(|b: Exp<bool>| (b.succ(), b.pred()), &[(false, (true, true)), (true, (false, false))]);
        }),
        case("num/BUG-12-bounds", "ENB-04 ENB-05 ENB-06 BUG-12", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64, bool, char] T {
                t.table(|_: Exp<bool>| (min_value::<T>(), max_value::<T>()), &[(true, (T::MIN_VALUE, T::MAX_VALUE))]);
            });
            t.gives(unit(max_value::<char>()), Scalar::scalar('\u{10FFFF}'));
            t.gives(unit(max_value::<(i8, (bool, u16))>()), Scalar::scalar((127, (true, 65535))));
            t.gives(unit(min_value::<(i8, (bool, u16))>()), Scalar::scalar((-128, (false, 0))));
            t.gives(unit(min_value::<()>()), Scalar::scalar(()));
        }),
        case("num/E-IN-15-powers", "NOP-06 E-IN-15", |t| {
            t.table2(
                |x: Exp<i64>, n: Exp<i64>| x.pow(n),
                &[
                    (2, 0, 1),
                    (2, 10, 1024),
                    (2, -1, 1),
                    (-3, 3, -27),
                    (3, 41, 36472996377170786403u128 as i64),
                    (0, 0, 1),
                ],
            );
            each!([i8, i16, i32, u8, u16, u32, u64] T {
                t.table2(|x: Exp<T>, n: Exp<u8>| x.pow(n), &[(2, 0, 1), (3, 3, 27), (2, 6, 64), (2, 200, 0)]);
                t.table(|x: Exp<T>| (x.pow(0), x.pow(1), x.pow(3)), &[(2, (1, 2, 8)), (5, (1, 5, 125))]);
            });
            each!([f32, f64] T {
                t.table2(|x: Exp<T>, n: Exp<i32>| x.pow(n), &[(1.5, 3, 3.375), (-2.0, 5, -32.0), (2.0, -2, 1.0), (2.0, 0, 1.0)]);
            });
            t.table2(|x: Exp<f16>, n: Exp<i8>| x.pow(n), &[(h(1.5), 3, h(3.375))]);
            // The branch that is not taken does not loop.
            t.table2(|x: Exp<i32>, n: Exp<i32>| n.gt(5).then_else(0, x.pow(n)), &[(2, 3, 8), (2, i32::MAX, 0)]);
        }),
        case("num/E-FP-11-integer-powers-of-fractions", "NOP-07 E-FP-11", |t| {
            each!([f32, f64] T {
                t.table2(|x: Exp<T>, n: Exp<i64>| x.powi(n), &[(0.0, -1, T::INFINITY), (2.0, -2, 0.25), (2.0, 3, 8.0), (5.0, 0, 1.0), (1.0, i64::MIN, 1.0), (2.0, i64::MIN, 0.0)]);
                t.table(|x: Exp<T>| (x.powi(-2), x.powi(3), x.powi(0)), &[(2.0, (0.25, 8.0, 1.0))]);
                t.table2(|x: Exp<T>, n: Exp<u8>| x.powi(n), &[(2.0, 3, 8.0)]);
            });
            t.table2(|x: Exp<f16>, n: Exp<i16>| x.powi(n), &[(h(2.0), -2, h(0.25))]);
        }),
        case("num/E-IN-16-gcd-and-lcm", "NOP-04 NOP-05 E-IN-16", |t| {
            each!([i8, i16, i32, i64] T {
                t.table2(|x: Exp<T>, y: Exp<T>| x.gcd(y), &[(-4, 6, 2), (0, 0, 0), (0, 5, 5), (5, 0, 5), (-7, -21, 7), (T::MIN, 6, 2)]);
                t.table2(|x: Exp<T>, y: Exp<T>| x.lcm(y), &[(4, -6, 12), (0, 5, 0), (5, 0, 0), (0, 0, 0), (3, 7, 21)]);
            });
            each!([u8, u16, u32, u64] T {
                t.table2(|x: Exp<T>, y: Exp<T>| x.gcd(y), &[(4, 6, 2), (0, 0, 0), (T::MAX, T::MAX, T::MAX), (T::MAX, 1, 1), (200, 120, 40)]);
                t.table2(|x: Exp<T>, y: Exp<T>| x.lcm(y), &[(4, 6, 12), (0, 5, 0), (T::MAX, T::MAX, T::MAX)]);
            });
        }),
        case("num/E-IN-17-even-and-odd", "NOP-02 NOP-03 E-IN-17", |t| {
            each!([i8, i16, i32, i64] T {
                t.table(|x: Exp<T>| (x.even(), x.odd()), &[(-3, (false, true)), (0, (true, false)), (T::MIN, (true, false)), (T::MAX, (false, true))]);
            });
            each!([u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| (x.even(), x.odd()), &[(3, (false, true)), (0, (true, false)), (T::MAX, (false, true))]);
            });
        }),
        case("num/E-IN-18-subtract", "NOP-01 E-IN-18", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table2(|x: Exp<T>, y: Exp<T>| x.subtract(y), &[(3, 10, 7), (1, 0, (0 as T).wrapping_sub(1))]);
            });
            each!([f32, f64] T {
                t.table2(|x: Exp<T>, y: Exp<T>| x.subtract(y), &[(3.0, 10.5, 7.5)]);
            });
            t.table2(|x: Exp<f16>, y: Exp<f16>| x.subtract(y), &[(h(3.0), h(10.5), h(7.5))]);
        }),
    ]
}
